"""What a body of a Chrono system looks like: labels on its materials, and its triangles for the visible share.

Chrono's labels live on materials, and programs share materials between bodies. Each labelled shape therefore gets
copies of its materials. PyChrono wraps no copy constructor; a copy takes every property that has a getter and a setter.

A reference that a SWIG wrapper returns dies with its owner: `frame.GetPos()` of a temporary frame is garbage. Owners
are held in variables here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import UsageError
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.chrono.modules import frame_pose
from simjudge.sim.scene.model import Mesh

_SLICES = 96  # Sides of the prism that stands for a round shape: its outline is within 0.06 % of the circle's radius
_IDS = ("ClassID", "InstanceID")


def reference_pose(body: Any) -> Pose:
    """The pose, in the world, of a body's reference frame: its shapes and sensors are placed in it."""
    frame = body.GetFrameRefToAbs()
    return frame_pose(frame)


def chrono_frame(core: Any, pose: Pose) -> Any:
    """A pose as a ChFrame (pose: metres)."""
    x, y, z, w = pose.orientation
    return core.ChFramed(core.ChVector3d(*pose.position), core.ChQuaterniond(w, x, y, z))


def label_body(core: Any, body: Any, class_id: int, instance: int, *, unpainted: float) -> None:
    """Put a class and an instance (0: stuff that is not counted) on all that is seen of a body or an SCMTerrain."""
    shapes = _shapes(body)
    name = f"body {body.GetName()!r}" if hasattr(body, "GetName") else type(body).__name__
    if not shapes:
        raise UsageError(f"label: {name} has no visual shape: nothing of it is seen")
    for shape, _ in shapes:
        if shape.GetType() == core.ChVisualShape.Type_MODELFILE:
            raise UsageError(
                f"label: {name} has a ChVisualShapeModelFile, whose materials are read"
                " from its file, without labels; load it as a ChVisualShapeTriangleMesh"
            )
        for index in range(max(shape.GetNumMaterials(), 1)):
            if index < shape.GetNumMaterials():
                material = copy_material(core, shape.GetMaterial(index))
            else:
                material = core.ChVisualMaterial()
                material.SetDiffuseColor(core.ChColor(unpainted, unpainted, unpainted))
            material.SetClassID(class_id)
            material.SetInstanceID(instance)
            if index < shape.GetNumMaterials():
                shape.SetMaterial(index, material)
            else:
                shape.AddMaterial(material)


def labels_of(body: Any) -> set[tuple[int, int]]:
    """The classes and instances that are on a body's materials now."""
    found = set()
    for shape, _ in _shapes(body):
        for index in range(shape.GetNumMaterials()):
            material = shape.GetMaterial(index)
            found.add((int(material.GetClassID()), int(material.GetInstanceID())))
    return found


def copy_material(core: Any, material: Any) -> Any:
    """A ChVisualMaterial of its own that looks the same."""
    made = core.ChVisualMaterial()
    if getattr(material, "GetUseHapke", lambda: False)():
        names = ("W", "B", "C", "Bs0", "Hs", "Phi", "Roughness")
        # SetHapkeParameters takes w, b, c, B_s0, h_s, phi, theta_p in this order.
        made.SetHapkeParameters(*(getattr(material, f"GetHapke{name}")() for name in names))
    for setter in (name for name in dir(made) if name.startswith("Set")):
        name = setter.removeprefix("Set")
        if name in _IDS or not hasattr(material, f"Get{name}"):
            continue
        value = getattr(material, f"Get{name}")()
        if name.endswith("Texture") and not value:
            continue
        if name == "TextureScale":
            getattr(made, setter)(value.x, value.y)
            continue
        getattr(made, setter)(value)
    return made


def body_mesh(core: Any, body: Any) -> tuple[Mesh, tuple[str, ...]]:
    """The triangles that Chrono::Sensor shows of a body: the triangles in the body's reference frame."""
    parts, unseen = [], []
    for shape, pose in _shapes(body):
        found = _triangles(core, shape)
        if found is None:
            unseen.append(type(shape).__name__ if shape.GetType() == 0 else f"shape type {shape.GetType()}")
            continue
        vertices, faces = found
        parts.append((pose.to_world(vertices), faces))
    return merge_meshes(parts), tuple(unseen)


def merge_meshes(parts: Sequence[tuple[FloatArray, Any]]) -> Mesh:
    """One mesh of several (parts: vertices (V, 3) and faces (F, 3) of each)."""
    offset, vertices, faces = 0, [np.zeros((0, 3))], [np.zeros((0, 3), np.int64)]
    for corners, triangles in parts:
        vertices.append(corners)
        faces.append(np.asarray(triangles, np.int64) + offset)
        offset += len(corners)
    points = np.concatenate(vertices)
    normals = np.tile([0.0, 0.0, 1.0], (len(points), 1))
    return Mesh(points, np.concatenate(faces), np.zeros((len(points), 2)), normals)


def _shapes(body: Any) -> list[tuple[Any, Pose]]:
    """The visible shapes of a body, and where each is in its reference frame; an SCMTerrain's mesh is in the world."""
    if not hasattr(body, "GetVisualModel"):
        mesh = body.GetMesh() if hasattr(body, "GetMesh") else None
        return [] if mesh is None else [(mesh, Pose())]
    model = body.GetVisualModel()
    if model is None:
        return []
    found = []
    instances = model.GetShapeInstances()
    for instance in instances:
        shape, frame = instance.shape, instance.frame
        if shape.IsVisible():
            found.append((shape, frame_pose(frame)))
    return found


def _triangles(core: Any, shape: Any) -> tuple[FloatArray, Any] | None:
    """Vertices and faces in the shape's frame; None for a shape that Chrono::Sensor does not show."""
    kind, kinds = shape.GetType(), core.ChVisualShape
    if kind == kinds.Type_BOX:
        size = core.CastToChVisualShapeBox(shape).GetLengths()
        return box_triangles(size.x, size.y, size.z)
    if kind == kinds.Type_SPHERE:
        return ball_triangles(core.CastToChVisualShapeSphere(shape).GetRadius())
    if kind == kinds.Type_CYLINDER:
        cylinder = core.CastToChVisualShapeCylinder(shape)
        return cylinder_triangles(cylinder.GetRadius(), cylinder.GetHeight())
    if kind == kinds.Type_TRIANGLEMESH:
        cast = core.CastToChVisualShapeTriangleMesh(shape)
        mesh, scale = cast.GetMesh(), cast.GetScale()
        points = np.array([(v.x, v.y, v.z) for v in mesh.GetCoordsVertices()], np.float64).reshape(-1, 3)
        faces = np.array([(f.x, f.y, f.z) for f in mesh.GetIndicesVertices()], np.int64).reshape(-1, 3)
        return points * np.array([scale.x, scale.y, scale.z]), faces
    return None


def box_triangles(x: float, y: float, z: float) -> tuple[FloatArray, Any]:
    """A box around the origin: vertices (8, 3) and faces (12, 3); x, y, z: its sides, metres."""
    corners = np.array([[i, j, k] for i in (-0.5, 0.5) for j in (-0.5, 0.5) for k in (-0.5, 0.5)]) * [x, y, z]
    faces = [
        [0, 1, 3],
        [0, 3, 2],
        [4, 6, 7],
        [4, 7, 5],
        [0, 4, 5],
        [0, 5, 1],
        [2, 3, 7],
        [2, 7, 6],
        [0, 2, 6],
        [0, 6, 4],
        [1, 5, 7],
        [1, 7, 3],
    ]
    return corners, np.array(faces)


def cylinder_triangles(radius: float, height: float) -> tuple[FloatArray, Any]:
    """A cylinder around the origin, its axis along z as Chrono has it (radius, height: metres)."""
    angles = np.arange(_SLICES) / _SLICES * 2 * np.pi
    ring = np.stack([radius * np.cos(angles), radius * np.sin(angles)], 1)
    below, above = (np.column_stack([ring, np.full(_SLICES, side * height / 2)]) for side in (-1, 1))
    middle = [[0, 0, -height / 2], [0, 0, height / 2]]
    one = np.arange(_SLICES)
    two = (one + 1) % _SLICES
    low, high = np.full(_SLICES, 2 * _SLICES), np.full(_SLICES, 2 * _SLICES + 1)
    faces = [
        (one, two, two + _SLICES),
        (one, two + _SLICES, one + _SLICES),
        (low, two, one),
        (high, one + _SLICES, two + _SLICES),
    ]
    return np.concatenate([below, above, middle]), np.concatenate([np.stack(face, 1) for face in faces])


def ball_triangles(radius: float) -> tuple[FloatArray, Any]:
    """A ball around the origin (radius: metres)."""
    rows = _SLICES // 2
    down = np.arange(rows + 1) / rows * np.pi
    around = np.arange(_SLICES) / _SLICES * 2 * np.pi
    sine = np.sin(down)[:, None]
    points = np.stack([sine * np.cos(around), sine * np.sin(around), np.cos(down)[:, None] + 0 * around], -1)
    row, column = (index.ravel() for index in np.indices((rows, _SLICES)))
    here, right = row * _SLICES + column, row * _SLICES + (column + 1) % _SLICES
    faces = np.concatenate(
        [np.stack([here, here + _SLICES, right + _SLICES], 1), np.stack([here, right + _SLICES, right], 1)]
    )
    return radius * points.reshape(-1, 3), faces
