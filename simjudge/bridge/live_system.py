"""A program's own Chrono system: what is labelled in it and looks how, where its bodies are, how its car moves.

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
from simjudge.sim.engines.chrono.modules import Modules, Release, frame_pose
from simjudge.sim.engines.chrono.wheeled_car import SPINDLES, bicycle_angle, wheel_angles, wheel_spins
from simjudge.sim.engines.contract import STANDING, BodyMotion, Hits, Poses
from simjudge.sim.scene.model import NO_INSTANCE, Mesh, Scene, Surface, Thing
from simjudge.sim.sensors.sensor_spec import CAR
from simjudge.sim.vehicle.vehicle import WHEELS, VehicleState
from simjudge.sim.vehicle.vehicle_messages import JointAngles, JointTracker, WheelFigures

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


_AXLES = 2
_CALLS = ("GetNumberAxles", "GetSpindlePos", "GetSpindleRot", "GetSpindleAngVel", "GetTire", "GetChassisBody")


class LiveWheels:
    """The wheels of a wheeled vehicle with two axles.

    Attributes:
        figures: of each wheel of `WHEELS`, centres in base_link as they were when this was made.
    """

    def __init__(self, wheeled: Any, base: Pose) -> None:
        """Measure the wheels (base: base_link in the frame of the chassis)."""
        self._wheeled, self._base, self._tracker = wheeled, base, JointTracker()
        self.figures: dict[str, WheelFigures] = {}
        for (name, centre), (axle, side) in zip(self.centres().items(), SPINDLES, strict=True):
            tyre = wheeled.GetTire(axle, side)
            self.figures[name] = WheelFigures(centre, float(tyre.GetRadius()), float(tyre.GetWidth()))

    def centres(self) -> dict[str, tuple[float, float, float]]:
        """Where the wheels are in base_link now, metres: springs and steering move them (a HMMWV's by 0.12 m)."""
        into = (reference_pose(self._wheeled.GetChassisBody()) @ self._base).inverse()
        found = {}
        for name, (axle, side) in zip(WHEELS, SPINDLES, strict=True):
            at = self._wheeled.GetSpindlePos(axle, side)
            found[name] = (into @ Pose((float(at.x), float(at.y), float(at.z)))).position
        return found

    def motion(self) -> tuple[float, tuple[float, float, float, float]]:
        """The angle of the bicycle's front wheel (radians, left positive) and the wheels' speeds (rad/s) now."""
        front_left, front_right, rear_left, rear_right = wheel_spins(self._wheeled).tolist()
        return bicycle_angle(*wheel_angles(self._wheeled)), (front_left, front_right, rear_left, rear_right)

    def joints(self, time: float) -> JointAngles:
        """The joints now (time: simulated seconds, later than at the call before)."""
        return self._tracker.follow(time, wheel_angles(self._wheeled), self.motion()[1])


def find_wheels(vehicle: Any, base: Pose) -> LiveWheels | None:
    """The wheels of what a program calls its vehicle; None for a body, tracks, or a vehicle without tyres."""
    wheeled = vehicle.GetVehicle() if hasattr(vehicle, "GetVehicle") else vehicle
    if not all(hasattr(wheeled, name) for name in _CALLS) or int(wheeled.GetNumberAxles()) != _AXLES:
        return None
    if any(wheeled.GetTire(axle, side) is None for axle, side in SPINDLES):
        return None
    return LiveWheels(wheeled, base)


_MOST_CLASSES = 255
_MOST_INSTANCES = 65535


class LiveSystem:
    """A system that its own program steps.

    Attributes:
        name: of the engine, as messages have it.
        vehicle: the body that carries base_link; None: there is none.
        wheels: of a wheeled vehicle of two axles; None where there are none.
        class_names: of the labels, by class id.
    """

    name = "chrono"

    def __init__(self, modules: Modules, release: Release, system: Any) -> None:
        self.modules, self.release, self.system = modules, release, system
        self.vehicle: Any = None
        self.wheels: LiveWheels | None = None
        self._base = Pose()
        self.things: tuple[Thing, ...] = ()
        self.class_names: dict[int, str] = {}
        self._labelled: list[tuple[Thing, Any]] = []
        self._instances = 0
        self._stuff: set[int] = set()
        self._named: dict[str, Any] = {}
        self.unseen: dict[str, tuple[str, ...]] = {}

    @property
    def time(self) -> float:
        """Simulated seconds."""
        return float(self.system.GetChTime())

    def set_vehicle(self, vehicle: Any, base: Pose | None = None) -> None:
        """Say what the odometry is of: a vehicle, a model of one or a body, `base` being base_link in its frame."""
        body = vehicle.GetChassisBody() if hasattr(vehicle, "GetChassisBody") else vehicle
        if not hasattr(body, "GetFrameRefToAbs"):
            raise UsageError(f"vehicle: a Chrono::Vehicle or a ChBody is needed; this is a {type(vehicle).__name__}")
        self.vehicle, self._base = body, base or Pose()
        self.wheels = find_wheels(vehicle, self._base)

    def mount_on(self, body: Any, pose: Pose) -> tuple[str, Pose]:
        """The name of a body that carries a sensor, and the sensor's pose in the frame of that name."""
        if body is None:
            if self.vehicle is None:
                raise UsageError("there is no vehicle: give the body that carries the sensor, or call vehicle() before")
            return CAR, pose
        if self.vehicle is not None and body.GetIdentifier() == self.vehicle.GetIdentifier():
            return CAR, self._base.inverse() @ pose
        name = body.GetName() or f"body_{body.GetIdentifier()}"
        other = self._named.get(name)
        if other is not None and other.GetIdentifier() != body.GetIdentifier():
            name = f"{name}_{body.GetIdentifier()}"
        self._named[name] = body
        return name, pose

    def carrier(self, body: Any, pose: Pose) -> tuple[Any, Pose]:
        """The ChBody that carries a sensor, and the sensor's pose in its reference frame (body: a ChBody; None)."""
        return (self.vehicle, self._base @ pose) if body is None else (body, pose)

    def label(self, bodies: Sequence[Any], class_name: str, *, counted: bool = True) -> int:
        """Label bodies as one object, or (not counted) as stuff with a class in the semantic image and no box."""
        numbers = {name: number for number, name in self.class_names.items()}
        class_id = numbers.get(class_name, len(numbers) + 1)
        instance = self._instances + 1 if counted else NO_INSTANCE
        if class_id > _MOST_CLASSES or instance > _MOST_INSTANCES:
            raise UsageError(f"label: {_MOST_CLASSES} classes and {_MOST_INSTANCES} objects at most")
        unpainted = 1.0 if hasattr(self.modules.sensor, "ChOptixSensor") else 0.5
        soil = next((body for body in bodies if not hasattr(body, "GetFrameRefToAbs")), None)
        if counted and soil is not None:
            raise UsageError(f"label: a {type(soil).__name__} is no body: give counted=False: a class without boxes")
        for body in bodies:
            label_body(self.modules.core, body, class_id, instance, unpainted=unpainted)
        self.class_names[class_id] = class_name
        if not counted:
            self._stuff.add(class_id)
            return NO_INSTANCE
        self._instances = instance
        for part, body in enumerate(bodies):
            name = f"{body.GetName() or class_name}_{instance}" + (f"/{part}" if part else "")
            mesh, unseen = body_mesh(self.modules.core, body)
            if unseen:
                self.unseen[name] = unseen
            thing = Thing(name, mesh, Surface(reflectance=1.0), class_id=class_id, instance=instance, motion="free")
            self._labelled.append((thing, body))
        self.things = tuple(thing for thing, _ in self._labelled)
        return instance

    def check_labels(self) -> None:
        """Make sure that every labelled body still has its own labels."""
        for thing, body in self._labelled:
            if labels_of(body) != {(thing.class_id, thing.instance)}:
                raise UsageError(
                    f"label: {thing.name} shares a visual shape with another body; Chrono keeps labels on a shape's"
                    " material: give each body a shape of its own"
                )

    def scene(self) -> Scene:
        """What is labelled, as a scene."""
        return Scene("chrono", self.things, (), class_names=dict(self.class_names))

    def own_labels(self, class_id: Any, instance: Any) -> tuple[Any, Any]:
        """Label images, uint8 and uint16 (H, W), without the labels that the program itself has put on materials."""
        classes = np.zeros(_MOST_INSTANCES + 1, np.uint8)
        known = np.zeros(_MOST_INSTANCES + 1, np.uint16)
        for thing in self.things:
            classes[thing.instance], known[thing.instance] = thing.class_id, thing.instance
        stuff = np.isin(class_id, sorted(self._stuff)) & (known[instance] == NO_INSTANCE)
        return np.where(stuff, class_id, classes[instance]), known[instance]

    def object_poses(self) -> dict[str, Pose]:
        """Where the labelled things are now."""
        return {thing.name: reference_pose(body) for thing, body in self._labelled}

    def poses(self) -> Poses:
        """Where everything is now that has a name here."""
        found = {**self.object_poses(), **{name: reference_pose(body) for name, body in self._named.items()}}
        if self.vehicle is not None:
            found[CAR] = reference_pose(self.vehicle) @ self._base
        return found

    def vehicle_state(self) -> VehicleState:
        """How the vehicle moves now; wheel speeds and steering angle are 0 where its wheels are not known."""
        if self.vehicle is None:
            raise UsageError("there is no vehicle: call vehicle() before")
        # From the centre of mass: a chassis's reference frame still has the acceleration of the step before.
        body, base = self.vehicle, reference_pose(self.vehicle) @ self._base
        arm = np.array(base.position) - _vector(body.GetPos())
        turn, twist = _vector(body.GetAngVelParent()), _vector(body.GetAngAccParent())
        velocity = _vector(body.GetPosDt()) + np.cross(turn, arm)
        acceleration = _vector(body.GetPosDt2()) + np.cross(twist, arm) + np.cross(turn, np.cross(turn, arm))
        own = base.rotation_matrix().T
        steering, speeds = (0.0, (0.0, 0.0, 0.0, 0.0)) if self.wheels is None else self.wheels.motion()
        return VehicleState(
            self.time, base, _three(own @ velocity), _three(own @ turn), _three(own @ acceleration), steering, speeds
        )

    def cast_timed_rays(
        self, origins: FloatArray, directions: FloatArray, times: FloatArray, motion: BodyMotion = STANDING
    ) -> Hits:
        """Refused: soils and meshes that bend are Chrono's own; a lidar here is Chrono's (`bridge_devices`)."""
        del origins, directions, times, motion
        raise UsageError("a program's own system answers no rays; add the lidar by lidar()")


def _vector(vector: Any) -> FloatArray:
    return np.array([vector.x, vector.y, vector.z])


def _three(values: FloatArray) -> tuple[float, float, float]:
    x, y, z = values.tolist()
    return x, y, z
