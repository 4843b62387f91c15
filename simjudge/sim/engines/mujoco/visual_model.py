"""A scene's things as a MuJoCo model that is only looked at: a body each, meshes of small triangles, textures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.sim.scene.model import Mesh, Thing
from simjudge.sim.scene.scene_fields import to_srgb

SPACING = 0.2  # Metres: OpenGL lights corners of triangles and blends between them, so that large ones must be split
_SHADOW_MAP = 2048  # Pixels of a side of the sun's shadow map
_MOST_FACES = 60_000  # Of one thing after splitting, unless it has more already


@dataclass(frozen=True, eq=False, repr=False)
class VisualModel(ShortRepr):
    """A MuJoCo model of a scene's things, and what its geoms are made of."""

    model: mujoco.MjModel
    bodies: dict[str, int]  # row among the mocap bodies by the thing's name
    colour: FloatArray  # float64 (G, 3), linear RGB albedo of each geom, which multiplies its texture
    emission: FloatArray  # float64 (G, 3), linear RGB radiance of each geom, which multiplies its texture too


def build_visual_model(name: str, things: Sequence[Thing], *, lamps: bool) -> VisualModel:
    """The model of a scene's things, each a body that can be put anywhere (lamps: whether lamps light them)."""
    spec = mujoco.MjSpec()
    spec.visual.quality.offsamples = 0  # one sample in a pixel's centre: finer grids are ours to average
    spec.visual.quality.shadowsize = _SHADOW_MAP
    textures, meshes = _Textures(spec), _Meshes(spec, SPACING if lamps else math.inf)
    colour, emission = [], []
    bodies: dict[str, int] = {}
    for thing in things:
        parts = [part for part in thing.parts() if len(part.mesh.faces)]
        body = spec.worldbody.add_body(name=thing.name)
        body.mocap = True
        bodies[thing.name] = len(bodies)
        for number, part in enumerate(parts):
            body.add_geom(
                type=mujoco.mjtGeom.mjGEOM_MESH,
                meshname=meshes.of(part.mesh, (id(thing.mesh), number)),
                material=textures.of(part.surface.texture),
                contype=0,
                conaffinity=0,
            )
            colour.append(part.surface.colour)
            emission.append(part.surface.emission)
    try:
        model = spec.compile()
    except ValueError as error:
        raise SimjudgeError(f"{name}: MuJoCo cannot show it: {' '.join(str(error).split())}") from error
    return VisualModel(model, bodies, np.array(colour).reshape(-1, 3), np.array(emission).reshape(-1, 3))


class _Meshes:
    """Meshes of the model, each made once for all things that share it."""

    def __init__(self, spec: mujoco.MjSpec, longest: float) -> None:
        self._spec, self._longest = spec, longest
        self._names: dict[tuple[int, int], str] = {}

    def of(self, mesh: Mesh, key: tuple[int, int]) -> str:
        if key not in self._names:
            name = f"mesh {len(self._names)}"
            split = split_faces(mesh, self._longest)
            made = self._spec.add_mesh(
                name=name,
                uservert=split.vertices.ravel(),
                userface=split.faces.ravel(),
                usernormal=split.normals.ravel(),
                usertexcoord=split.uv.ravel(),
            )
            # Sheets have no volume; nothing here has a weight.
            made.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
            self._names[key] = name
        return self._names[key]


class _Textures:
    """Materials of the model, one a texture and one for plain colour."""

    def __init__(self, spec: mujoco.MjSpec) -> None:
        self._spec = spec
        self._names: dict[int, str] = {}

    def of(self, texture: npt.NDArray[np.float32] | None) -> str:
        key = 0 if texture is None else id(texture)
        if key not in self._names:
            name = f"material {len(self._names)}"
            material = self._spec.add_material(name=name)
            if texture is not None:
                self._add_texture(name, texture)
                material.textures[int(mujoco.mjtTextureRole.mjTEXROLE_RGB)] = name
            self._names[key] = name
        return self._names[key]

    def _add_texture(self, name: str, texture: npt.NDArray[np.float32]) -> None:
        """Display values in eight bits, which the renderer hands on as they are; row 0 is at v = 0 in MuJoCo."""
        height, width = texture.shape[:2]
        made = self._spec.add_texture(
            name=name, type=mujoco.mjtTexture.mjTEXTURE_2D, width=width, height=height, nchannel=3
        )
        made.data = np.rint(to_srgb(np.clip(texture[::-1], 0, 1)) * 255).astype(np.uint8).tobytes()
        made.colorspace = mujoco.mjtColorSpace.mjCOLORSPACE_LINEAR


def split_faces(mesh: Mesh, longest: float) -> Mesh:
    """A mesh whose faces are split in four, all of them, until no side is longer or they would be too many."""
    vertices, faces, uv, normals = mesh.vertices, mesh.faces, mesh.uv, mesh.normals
    corners = vertices[faces]
    side = float(np.linalg.norm(np.roll(corners, -1, axis=1) - corners, axis=2).max(initial=0.0))
    rounds = math.ceil(math.log2(side / longest)) if side > longest else 0
    for _ in range(rounds):
        if 4 * len(faces) > _MOST_FACES:
            break
        # The middles of sides, once for the two faces that share one
        ends = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
        edges, which = np.unique(ends, axis=0, return_inverse=True)
        middle = len(vertices) + which.reshape(-1, 3)
        vertices, uv, normals = (np.concatenate([values, values[edges].mean(1)]) for values in (vertices, uv, normals))
        a, b, c = faces.T
        ab, bc, ca = middle.T
        faces = np.concatenate([np.stack(three, 1) for three in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))])
    normals = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    return Mesh(vertices, faces, uv, normals)
