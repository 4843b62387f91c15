"""What a scene is, once read, and its simple solids as meshes: plain data, the same for every engine.

Metres, radians, REP 103 axes (z up). Colours are linear RGB with Rec. 709 primaries; the sRGB values of a scene's file
are decoded when it is read. Radiant units are relative: a white diffuse surface (albedo 1) that faces a lamp of
intensity I at distance d has radiance I / (pi d^2), and radiance 1 is an image's full scale at gain 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, ShortRepr
from simjudge.geometry.poses import Pose

if TYPE_CHECKING:
    from simjudge.geometry.keyframes import Keyframes


@dataclass(frozen=True, eq=False, repr=False)
class MotionPath(ShortRepr):
    """Poses along a path, by time. Before its first keyframe a thing stands there, after the last one as well."""

    keyframes: Keyframes  # of one body, in the world, seconds since the start of the scene
    closed: bool = False  # whether the path begins again when it is over, and was never anything else before

    @property
    def duration(self) -> float:
        """Seconds from the first keyframe to the last."""
        return float(self.keyframes.time[-1] - self.keyframes.time[0])

    def pose_at(self, seconds: float) -> Pose:
        """Where the thing is."""
        if self.closed:
            first = float(self.keyframes.time[0])
            seconds = first + (seconds - first) % self.duration
        return self.keyframes.pose_at(seconds)


Colour = tuple[float, float, float]
Motion = Literal["static", "free", "scripted", "driven"]
NO_CLASS = 0  # Class id of what nobody labels: walls, floor, the car
NO_INSTANCE = 0  # Instance id of what is not labelled, in label images


@dataclass(frozen=True, eq=False, repr=False)
class Mesh(ShortRepr):
    """Triangles in the thing's own frame."""

    vertices: FloatArray  # float64 (V, 3), metres
    faces: npt.NDArray[np.int64]  # int64 (F, 3), counter-clockwise seen from outside
    uv: FloatArray  # float64 (V, 2), texture coordinates, v upwards as in OBJ; beyond 0..1 the texture repeats
    normals: FloatArray  # float64 (V, 3), unit, per vertex; at sharp edges the vertices are doubled


@dataclass(frozen=True)
class Retroreflection:
    """What sends a lidar's light back to where it came from, as sheeting of signs and vests does."""

    factor: float  # times as much as a matt surface of its reflectance sends back, 1 or more
    acceptance: float  # largest angle between the beam and the surface's normal at which it does, radians


@dataclass(frozen=True, eq=False, repr=False)
class Surface(ShortRepr):
    """What a thing is made of: a dielectric or metal in the metallic-roughness convention (Cook-Torrance, GGX)."""

    colour: Colour = (0.8, 0.8, 0.8)  # linear RGB albedo; multiplies the texture
    # float32 (H, W, 3), linear RGB, row 0 at v = 1; None for plain colour.
    texture: npt.NDArray[np.float32] | None = None
    roughness: float = 0.7  # 0 (mirror) to 1; GGX alpha is its square
    metallic: float = 0.0  # 0 to 1
    reflectance: float | None = None  # of a lidar's light, 0 to 1; None: that of visible light, see `reflectance_map`
    # Linear RGB radiance that it sends out by itself, equally in all directions; multiplies the texture.
    emission: Colour = (0.0, 0.0, 0.0)
    # float32 (H, W, 3), unit normals in tangent space (x along u, y along v, z outward), row 0 at v = 1; None: that of
    # the mesh.
    normal_map: npt.NDArray[np.float32] | None = None
    # Of clear glass, 1 or more; None: it is opaque. Of clear glass only the colour counts otherwise: what passes
    # through has it.
    refractive_index: float | None = None
    retroreflection: Retroreflection | None = None  # None: it sends light back as matt surfaces do
    # Share of a radar wave's power that it reflects when met squarely, 0 to 1; None: see `radar_reflectance`.
    radar_reflectance: float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Paint(ShortRepr):
    """The surfaces of a thing that has several."""

    surfaces: tuple[Surface, ...]
    of_face: npt.NDArray[np.int64]  # int64 (F,), which of them each face of the mesh has


@dataclass(frozen=True, repr=False)
class Collider(ShortRepr):
    """The simple solid that stands for a thing in physics, in the thing's own frame."""

    # "box" (size x, y, z), "cylinder" (radius, height), "hull" (convex hull of the mesh), "plane" (infinite, normal +z
    # through the origin), "ground" (size x, y; `heights` on a grid over it) or "none".
    kind: Literal["box", "cylinder", "hull", "plane", "ground", "none"] = "none"
    size: tuple[float, ...] = ()  # metres, see kind
    centre: tuple[float, float, float] = (0.0, 0.0, 0.0)  # of box, cylinder and ground, in the thing's frame
    # float64 (rows along y, columns along x), of a ground, z in the thing's frame, edges included.
    heights: FloatArray | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, eq=False)
class Thing:
    """One thing of a scene."""

    name: str
    mesh: Mesh
    surface: Surface  # what they are made of; where there is paint, the one with the largest area
    pose: Pose = field(default_factory=Pose)  # of its frame in the world, at the start
    class_id: int = NO_CLASS  # NO_CLASS where it is not labelled
    # Above 0 for things that are counted, the same for all parts of one; NO_INSTANCE where there is no class, and where
    # the class is stuff (road, sky), which nobody counts.
    instance: int = NO_INSTANCE
    # "static" things never move; "free" ones obey physics, and can be placed; "scripted" ones follow `path`, whatever
    # is in their way; "driven" ones are a car's body and wheels.
    motion: Motion = "static"
    mass: float = 0.0  # kg, of free things
    collider: Collider = field(default_factory=Collider)
    path: MotionPath | None = None  # of scripted things; None for all others
    paint: Paint | None = None  # its surfaces by face, where there are several

    def parts(self) -> tuple[Thing, ...]:
        """The same thing in as many things as it has surfaces, each with its faces."""
        if self.paint is None:
            return (self,)
        return tuple(
            replace(self, mesh=_some_faces(self.mesh, self.paint.of_face == index), surface=surface, paint=None)
            for index, surface in enumerate(self.paint.surfaces)
            if np.any(self.paint.of_face == index)
        )


def _some_faces(mesh: Mesh, chosen: npt.NDArray[np.bool_]) -> Mesh:
    """A mesh of some of the faces, with their vertices only."""
    used, index = np.unique(mesh.faces[chosen], return_inverse=True)
    return Mesh(mesh.vertices[used], index.reshape(-1, 3).astype(np.int64), mesh.uv[used], mesh.normals[used])


@dataclass(frozen=True)
class PointLight:
    """A lamp that shines equally in all directions."""

    position: tuple[float, float, float]  # metres, world
    # Linear RGB. At distance d a surface that faces the lamp gets irradiance intensity / d^2 (exactly, up to 0.9
    # ranges; from there it goes smoothly to 0 at the range).
    intensity: Colour
    range: float  # metres beyond which it does not shine


@dataclass(frozen=True)
class Sun:
    """A light so far away that its rays are parallel; its shadows are hard."""

    direction: tuple[float, float, float]  # unit vector from the scene towards it, world
    # Linear RGB. A surface that faces it gets this much, a white one has the radiance irradiance / pi.
    irradiance: Colour


@dataclass(frozen=True, eq=False, repr=False)
class Sky(ShortRepr):
    """What is seen, and what lights the scene, from infinitely far away in every direction."""

    # float32 (H, W, 3), equirectangular, linear RGB radiance: the upper edge is straight up, the lower one straight
    # down, the middle column is ahead (+x), and what is on the left there is on the left here.
    image: npt.NDArray[np.float32]
    yaw: float = 0.0  # radians by which it is turned to the left
    # Linear RGB radiance at the zenith and at the horizon, where the image changes linearly with the sine of the
    # elevation from one to the other; None: it is a picture.
    gradient: tuple[Colour, Colour] | None = None


@dataclass(frozen=True)
class Fog:
    """Fog of the same density everywhere, below its ceiling."""

    density: float  # extinction coefficient beta, 1/m: after d metres exp(-beta d) of the light is left (Koschmieder)
    radiance: Colour  # linear RGB, of the fog itself, where nothing can be seen through it
    ceiling: float = math.inf  # metres, height above which there is none


@dataclass(frozen=True, eq=False, repr=False)
class Course(ShortRepr):
    """A way to drive: where the car starts, and the line it is meant to follow."""

    centre_line: FloatArray  # float64 (P, 2), x and y in metres, from the start to the finish
    width: float  # metres between what stands on its left and on its right
    # Whether it comes back to its start, to be driven in laps; the last point is then the first again.
    closed: bool = False

    def start(self, height: float = 0.0) -> Pose:
        """The pose at the line's first point, facing along it (height: z of the pose, metres)."""
        return self.pose_at(0.0, height)

    def pose_at(self, distance: float, height: float = 0.0) -> Pose:
        """The pose on the line, `distance` metres from its first point and `height` metres up, facing along it."""
        steps = np.diff(self.centre_line, axis=0)
        lengths = np.linalg.norm(steps, axis=1)
        starts = np.concatenate([[0.0], np.cumsum(lengths)])
        row = min(max(int(np.searchsorted(starts, distance, side="right")) - 1, 0), len(steps) - 1)
        x, y = self.centre_line[row] + steps[row] / lengths[row] * (distance - starts[row])
        return Pose.from_euler(float(x), float(y), height, yaw=float(np.arctan2(steps[row, 1], steps[row, 0])))


STOPPED = 0.03  # Metres from where a car ought to stand within which its driver stops


@dataclass(frozen=True, eq=False, repr=False)
class CarRoute(ShortRepr):
    """Where a car of a scene drives by itself, and how fast."""

    course: Course  # the line that it follows, from its start
    speeds: FloatArray  # float64 (N, 2): from each time on (seconds since the start) this speed (m/s)
    # float64 (N, 3): seconds, metres along the line, m/s of a recorded trajectory, in place of the speeds; None: none.
    schedule: FloatArray | None = None

    @property
    def length(self) -> float:
        """Metres of the line."""
        return float(np.linalg.norm(np.diff(self.course.centre_line, axis=0), axis=1).sum())


@dataclass(frozen=True, eq=False)
class SceneCar:
    """A car of a scene, which physics moves and a driver of its own drives."""

    name: str
    vehicle: str | Path | None  # file or name of its figures; None: the scene's, or the default car
    start: Pose  # of its base_link in the world
    route: CarRoute | None = None  # None: it is parked, with its brakes on
    colour: Colour | None = None  # linear RGB, of its paint; None: the default car's
    # class_id, instance: as of `Thing`, of the body and the wheels.
    class_id: int = NO_CLASS
    instance: int = NO_INSTANCE


RAY_DEPTH = 8  # Surfaces of clear glass that a ray passes, where a scene does not say


@dataclass(frozen=True, eq=False)
class Scene:
    """A world at its start."""

    name: str
    things: tuple[Thing, ...]
    lights: tuple[PointLight, ...]  # all of them; every one casts shadows
    ambient: Colour = (0.0, 0.0, 0.0)  # linear RGB radiance that comes equally from everywhere, unshadowed
    background: Colour = (0.0, 0.0, 0.0)  # linear RGB radiance of rays that hit nothing, where there is no sky
    class_names: Mapping[int, str] = field(default_factory=dict)
    background_class: int = NO_CLASS  # class of what is seen where nothing is hit; NO_CLASS where it has none
    course: Course | None = None  # None where there is none
    vehicle: str | Path | None = None  # file or name of the car that is at home here; None: of no particular one
    # X0, y0, x1, y1, metres: the part of the floor where random cameras and cones may stand; None: nowhere.
    area: tuple[float, float, float, float] | None = None
    path: Path | None = None  # the file it was read from; None where it was made in code
    seed: int = 0
    sun: Sun | None = None  # a light from one direction; None: no sun
    sky: Sky | None = None  # what is seen, and lights, where nothing is; None: `background`, which lights nothing
    fog: Fog | None = None  # None: none
    # Surfaces that throw light on, one after the other, before ambient light stands for the rest; 0: ambient light
    # takes the place of all light that surfaces throw on each other.
    bounces: int = 0
    ray_depth: int = (
        RAY_DEPTH  # surfaces of clear glass that a ray passes; behind more it sees what is behind everything
    )
    # Other cars than the one that carries the camera; an engine that has them adds their parts to `things`.
    cars: tuple[SceneCar, ...] = ()

    def labelled(self) -> tuple[Thing, ...]:
        """The things that are counted: those with a class that is not stuff. Parts of one share their instance."""
        return tuple(thing for thing in self.things if thing.instance != NO_INSTANCE)

    def scripted_poses(self, seconds: float) -> dict[str, Pose]:
        """Where the scripted things are, by name."""
        moving = [(thing.name, thing.path) for thing in self.things if thing.path is not None]
        # Parts of one thing share its path.
        poses = {id(path): path.pose_at(seconds) for path in {id(path): path for _, path in moving}.values()}
        return {name: poses[id(path)] for name, path in moving}


SEGMENTS = 32  # Sides of what is round
_AXES = {"+x": (1, 2), "-x": (1, 2), "+y": (0, 2), "-y": (0, 2), "+z": (0, 1), "-z": (0, 1)}


def box(x: float, y: float, z: float) -> Mesh:
    """A box of six faces, sizes in metres, each textured from its lower left corner as seen from outside."""
    low, high = np.array([-x / 2, -y / 2, 0]), np.array([x / 2, y / 2, z])
    parts = []
    for side, (across, up) in _AXES.items():
        axis = 3 - across - up
        normal = np.zeros(3)
        normal[axis] = 1 if side[0] == "+" else -1
        start = np.where(normal > 0, high, low)
        right = np.zeros(3)
        # On +y, -x and -z the texture's right is against the axis, or it would be mirrored.
        backwards = side in {"+y", "-x", "-z"}
        right[across] = -1 if backwards else 1
        start[across], start[up] = (high if backwards else low)[across], low[up]
        top = np.zeros(3)
        top[up] = 1
        size = high - low
        parts.append(_rectangle(start, right * size[across], top * size[up], normal))
    return join(parts)


def plane(x: float, y: float) -> Mesh:
    """A rectangle in the plane z = 0, centred, that faces +z; sizes in metres, textured from its corner at -x, -y."""
    corner, across, up = np.array([-x / 2, -y / 2, 0]), np.array([x, 0, 0]), np.array([0, y, 0])
    return _rectangle(corner, across, up, np.array([0.0, 0, 1]))


def cylinder(radius: float, height: float, segments: int = SEGMENTS) -> Mesh:
    """A closed cylinder; the texture goes around it, u = arc length, v = height (radius: metres; height: metres)."""
    return cone(radius, height, radius, segments)


def cone(radius: float, height: float, top: float = 0.0, segments: int = SEGMENTS) -> Mesh:
    """A closed cone or, with a radius at the top, the frustum of one; u = arc length at the base, v = slant length."""
    angle = np.linspace(0, 2 * math.pi, segments + 1)
    ring = np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)], 1)
    slant = math.hypot(height, radius - top)
    normal = np.stack([np.cos(angle) * height, np.sin(angle) * height, np.full_like(angle, radius - top)], 1) / slant
    lower, upper = ring * radius, ring * top + [0, 0, height]
    around = angle * radius
    lower_uv, upper_uv = (np.stack([around, np.full_like(angle, v)], 1) for v in (0.0, slant))
    uv = np.concatenate([lower_uv, upper_uv])
    k = np.arange(segments)
    faces = [np.stack([k, k + 1, k + segments + 2], 1)]
    if top > 0:
        faces.append(np.stack([k, k + segments + 2, k + segments + 1], 1))
    side = Mesh(np.concatenate([lower, upper]), np.concatenate(faces), uv, np.concatenate([normal, normal]))
    parts = [side, _disk(lower[:-1], up=False)]
    if top > 0:
        parts.append(_disk(upper[:-1], up=True))
    return join(parts)


def join(parts: Sequence[Mesh]) -> Mesh:
    """Several meshes as one."""
    starts = np.cumsum([0, *(len(part.vertices) for part in parts)])
    return Mesh(
        np.concatenate([part.vertices for part in parts]),
        np.concatenate([part.faces + start for part, start in zip(parts, starts, strict=False)]),
        np.concatenate([part.uv for part in parts]),
        np.concatenate([part.normals for part in parts]),
    )


def move(mesh: Mesh, pose: Pose) -> Mesh:
    """A mesh elsewhere in the same frame."""
    return Mesh(pose.to_world(mesh.vertices), mesh.faces, mesh.uv, mesh.normals @ pose.rotation_matrix().T)


def repeat_texture(mesh: Mesh, repeat: tuple[float, float]) -> Mesh:
    """A mesh whose texture repeats every so many units of its coordinates."""
    return Mesh(mesh.vertices, mesh.faces, mesh.uv / repeat, mesh.normals)


def map_box(mesh: Mesh) -> Mesh:
    """A mesh with texture coordinates in metres, from the side (of the six of a box) that each triangle faces."""
    corners = mesh.vertices[mesh.faces]
    facet = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    axis = np.argmax(np.abs(facet), axis=1)
    sign = np.sign(np.take_along_axis(facet, axis[:, None], 1))
    pairs = np.array([[1, 2], [0, 2], [0, 1]])[axis]
    uv = np.take_along_axis(corners, pairs[:, None, :].repeat(3, 1), 2)
    # As on a box: to the right and up, seen from outside.
    uv[:, :, 0] *= np.where(axis[:, None] == 1, -sign, sign)
    faces = np.arange(mesh.faces.size).reshape(-1, 3)
    return Mesh(corners.reshape(-1, 3), faces, uv.reshape(-1, 2), mesh.normals[mesh.faces].reshape(-1, 3))


def _rectangle(
    corner: npt.NDArray[np.floating], across: npt.NDArray[np.floating], up: npt.NDArray[np.floating], normal: FloatArray
) -> Mesh:
    vertices = np.array([corner, corner + across, corner + across + up, corner + up], np.float64)
    width, height = float(np.linalg.norm(across)), float(np.linalg.norm(up))
    uv = np.array([[0, 0], [width, 0], [width, height], [0, height]])
    return Mesh(vertices, np.array([[0, 1, 2], [0, 2, 3]]), uv, np.tile(normal, (4, 1)))


def _disk(ring: FloatArray, *, up: bool) -> Mesh:
    """A fan about the middle of a ring that goes counter-clockwise seen from above."""
    count = len(ring)
    vertices = np.concatenate([ring, ring.mean(0, keepdims=True)])
    k = np.arange(count)
    after, middle = (k + 1) % count, np.full(count, count)
    faces = np.stack([k, after, middle] if up else [after, k, middle], 1)
    normal = np.tile([0.0, 0, 1 if up else -1], (count + 1, 1))
    return Mesh(vertices, faces, vertices[:, :2] * [1 if up else -1, 1], normal)
