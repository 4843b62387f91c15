"""What moves under MuJoCo's physics: the bodies of a scene as its model, convex solids, and perhaps a car."""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import compress, pairwise
from typing import NamedTuple

import mujoco
import numpy as np
import numpy.typing as npt
from scipy.spatial import ConvexHull, QhullError

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.numba_cache import njit
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import BodyEngine, Poses
from simjudge.sim.engines.default.car import (
    FIRM,
    FREE,
    GROUND,
    STATIC,
    THINGS,
    Car,
    add_car,
    collision_bits,
    step_cars,
)
from simjudge.sim.scene.ground import Ground
from simjudge.sim.scene.model import NO_INSTANCE, Mesh, Scene, Thing
from simjudge.sim.vehicle.line_driver import RouteDriver
from simjudge.sim.vehicle.other_cars import OtherCar, read_other_cars
from simjudge.sim.vehicle.vehicle import PARTS, VEHICLE, Command, Vehicle, VehicleState, car_parts, car_things

_LOOSE = 0.1  # Share of volume that may be added when two slices are put together into one hull
_MOST_LEVELS = 24  # Heights at which a mesh is cut, at most
_GRAIN = 1e-5  # Metres: heights that differ by less are one


class ConvexSolid(NamedTuple):
    """A convex solid."""

    points: FloatArray  # (N, 3), metres, the corners of its hull
    volume: float


def whole_hull(mesh: Mesh) -> list[ConvexSolid]:
    """The mesh's convex hull; nothing where the mesh is flat (mesh: with vertices (V, 3), metres)."""
    return _solid(mesh.vertices)


def horizontal_slices(mesh: Mesh) -> list[ConvexSolid]:
    """Hulls of horizontal slices of a mesh, from the lowest up; nothing where the mesh is flat.

    It is cut where it has vertices, and put together again as long as that adds less than a tenth of the volume: a box
    stays one solid, a cone on a wide foot becomes two. `mesh`: with vertices (V, 3), metres.
    """
    levels = np.unique(np.round(mesh.vertices[:, 2] / _GRAIN)) * _GRAIN
    if len(levels) > _MOST_LEVELS:
        levels = levels[np.linspace(0, len(levels) - 1, _MOST_LEVELS).round().astype(int)]
    solids: list[ConvexSolid] = []
    for low, high in pairwise(levels):
        for piece in _solid(_slice(mesh, low, high)):
            joined = _solid(np.concatenate([solids[-1].points, piece.points])) if solids else []
            if joined and joined[0].volume < (1 + _LOOSE) * (solids[-1].volume + piece.volume):
                solids[-1] = joined[0]
            else:
                solids.append(piece)
    return solids


def _slice(mesh: Mesh, low: float, high: float) -> FloatArray:
    """Points of a mesh just above one height, just below another, and in between."""
    within = min(0.01 * (high - low), _GRAIN)
    z = mesh.vertices[:, 2]
    between = mesh.vertices[(z > low + within) & (z < high - within)]
    return np.concatenate([_section(mesh, low + within, low), between, _section(mesh, high - within, high)])


def _section(mesh: Mesh, at: float, shown: float) -> FloatArray:
    """Where the mesh's edges pass a height, put at the height `shown`."""
    ends = mesh.vertices[mesh.faces[:, [[0, 1], [1, 2], [2, 0]]]].reshape(-1, 2, 3)
    ends = ends[(ends[:, 0, 2] - at) * (ends[:, 1, 2] - at) < 0]
    part = (at - ends[:, :1, 2]) / (ends[:, 1:, 2] - ends[:, :1, 2])
    points: FloatArray = ends[:, 0] + part * (ends[:, 1] - ends[:, 0])
    points[:, 2] = shown
    return points


def _solid(points: FloatArray) -> list[ConvexSolid]:
    try:
        hull = ConvexHull(points)
    except (QhullError, ValueError):
        return []
    return [ConvexSolid(points[hull.vertices], float(hull.volume))]


STEP = 0.002  # Seconds
GRAVITY = 9.81  # m/s^2
_SLAB = 0.5  # Metres: thickness of a ground below its lowest height


def build_model(scene: Scene, vehicle: Vehicle | None, start: Pose, others: Sequence[OtherCar] = ()) -> mujoco.MjModel:
    """The model of a scene at its start (vehicle: the car; None; start: pose of base_link in the world, metres)."""
    spec = mujoco.MjSpec()
    spec.option.timestep = STEP
    spec.option.gravity = [0, 0, -GRAVITY]
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = 10
    # Things at rest sleep until they are touched: forty cones cost as little as none.
    spec.option.enableflags |= mujoco.mjtEnableBit.mjENBL_SLEEP
    # Physics that comes apart is an error here, never a silent restart.
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    spec.compiler.boundmass, spec.compiler.boundinertia = 1e-6, 1e-12
    solids = _Solids(spec)
    twice = [name for name, count in Counter(thing.name for thing in scene.things).items() if count > 1]
    if twice:
        raise SimjudgeError(f"{scene.name}: two things are called {twice[0]}; rename one")
    if vehicle is not None and any(thing.name.split("/")[0] == VEHICLE for thing in scene.things):
        raise SimjudgeError(f"{scene.name}: a thing is called {VEHICLE!r} as the car is; rename it")
    try:
        for thing in scene.things:
            _add_thing(spec, thing, solids)
        if vehicle is not None:
            add_car(spec, vehicle, start, GRAVITY)
        for other in others:
            add_car(spec, other.vehicle, other.start, GRAVITY, other.name)
        return spec.compile()
    except ValueError as error:
        raise SimjudgeError(f"{scene.name}: MuJoCo takes it for no scene: {' '.join(str(error).split())}") from error


def _add_thing(spec: mujoco.MjSpec, thing: Thing, solids: _Solids) -> None:
    free = thing.motion == "free"
    collider = thing.collider
    if thing.motion == "driven" or (collider.kind == "none" and not free):
        return
    if free and (collider.kind in {"none", "plane"} or not thing.mass > 0):
        raise SimjudgeError(f"{thing.name}: a free thing needs a mass and a collider that is a box, cylinder or hull")
    if not all(size > 0 for size in collider.size):
        raise SimjudgeError(f"{thing.name}: its collider has no size: {collider.size}")
    body = spec.worldbody.add_body(name=thing.name, pos=thing.pose.position, quat=wxyz(thing.pose))
    body.mocap = thing.path is not None
    if free:
        body.add_freejoint(name=thing.name)
    kind = FREE if free else GROUND if collider.kind == "ground" else STATIC
    given = {"condim": 6, "friction": THINGS, "solref": FIRM, **collision_bits(kind)}
    if collider.kind == "hull":
        parts = solids.of(thing)
        for name, share in parts:
            body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=name, mass=share * thing.mass, **given)
        return
    if collider.kind == "plane":
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], **given)
    elif collider.kind == "ground":
        _add_ground(spec, body, thing, given)
    elif collider.kind == "box":
        size = [side / 2 for side in collider.size]
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, pos=collider.centre, size=size, mass=thing.mass, **given)
    else:
        size = [collider.size[0], collider.size[1] / 2, 0]
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_CYLINDER, pos=collider.centre, size=size, mass=thing.mass, **given)


def _add_ground(spec: mujoco.MjSpec, body: mujoco.MjsBody, thing: Thing, given: dict[str, object]) -> None:
    """Heights on a grid: MuJoCo has them from 0 to 1, row by row along y, above a slab."""
    collider, heights = thing.collider, thing.collider.heights
    if heights is None:
        raise SimjudgeError(f"{thing.name}: a ground needs heights")
    low, span = float(heights.min()), max(float(np.ptp(heights)), 1e-6)
    rows, columns = heights.shape
    x, y = collider.size
    spec.add_hfield(
        name=thing.name,
        nrow=rows,
        ncol=columns,
        size=[x / 2, y / 2, span, _SLAB],
        userdata=((heights - low) / span).ravel(),
    )
    pos = [collider.centre[0], collider.centre[1], low]
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_HFIELD, hfieldname=thing.name, pos=pos, **given)


class _Solids:
    """The convex solids of meshes, each mesh's made once."""

    def __init__(self, spec: mujoco.MjSpec) -> None:
        self._spec = spec
        self._made: dict[tuple[int, bool], list[tuple[str, float]]] = {}

    def of(self, thing: Thing) -> list[tuple[str, float]]:
        free = thing.motion == "free"
        key = (id(thing.mesh), free)
        if key not in self._made:
            solids = horizontal_slices(thing.mesh) if free else whole_hull(thing.mesh)
            if not solids:
                raise SimjudgeError(f"{thing.name}: its mesh is flat and has no hull; give it a box for a collider")
            total = sum(solid.volume for solid in solids)
            names = [f"{thing.name} {number}" for number in range(len(solids))]
            for name, solid in zip(names, solids, strict=True):
                mesh = self._spec.add_mesh(name=name, uservert=solid.points.ravel())
                mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX
            self._made[key] = [(name, solid.volume / total) for name, solid in zip(names, solids, strict=True)]
        return self._made[key]


def wxyz(pose: Pose) -> list[float]:
    """A pose's quaternion in MuJoCo's order (pose: orientation as x, y, z, w (ROS))."""
    x, y, z, w = pose.orientation
    return [w, x, y, z]


_FATAL = (
    mujoco.mjtWarning.mjWARN_BADQPOS,
    mujoco.mjtWarning.mjWARN_BADQVEL,
    mujoco.mjtWarning.mjWARN_BADQACC,
    mujoco.mjtWarning.mjWARN_CNSTRFULL,
    mujoco.mjtWarning.mjWARN_CONTACTFULL,
)
_DRIVE_STEPS = 10  # Steps of physics between two commands of the drivers of a scene's cars
_CAR = -1  # Kind of a geom that belongs to the car
_OTHER = -2  # Kind of a geom that is neither the car's nor worth noting when touched
_OVERLAP = 0.002  # Metres by which things may stand in each other at the start without a word
_log = logging.getLogger(__name__)
# Else MuJoCo writes MUJOCO_LOG.TXT into whatever folder it is run in.
mujoco.set_mju_user_warning(lambda text: _log.debug("MuJoCo: %s", text))


class Bodies:
    """The bodies of a scene; as in `simjudge.sim.engines.contract.Engine`, without the light.

    Args:
        vehicle: the car's figures; None: no car.
        start: of the car's base_link; None: the start of the scene's course, or the origin.
        others: the cars of the scene, whose parts are among its things as "driven" ones.
    """

    def __init__(
        self,
        scene: Scene,
        vehicle: Vehicle | None = None,
        start: Pose | None = None,
        others: Sequence[OtherCar] = (),
    ) -> None:
        """Build the model; raises SimjudgeError where a thing of the scene cannot be a body."""
        if start is None:
            start = Ground.of(scene.things).stand(scene.course.start() if scene.course is not None else Pose())
        self.start = start
        self._scene = scene
        self._model = build_model(scene, vehicle, start, others)
        self._data = mujoco.MjData(self._model)
        self._car = Car(self._model, self._data, vehicle, scene.things) if vehicle is not None else None
        self._others = {
            other.name: Car(self._model, self._data, other.vehicle, scene.things, other.name) for other in others
        }
        self._routes = {other.name: (other.vehicle, other.route) for other in others}
        self._cars = [*([self._car] if self._car else []), *self._others.values()]
        self._free = {thing.name: self._model.joint(thing.name) for thing in scene.things if thing.motion == "free"}
        names = [*self._free, *(PARTS if self._car else ())]
        names += [part for name in self._others for part in car_parts(name)]
        self._bodies = {name: int(self._model.body(name).id) for name in names}
        self._last = np.full((len(names), 7), np.nan)
        self._poses: dict[str, Pose] = {}
        # Those that nothing can bump into are no bodies to MuJoCo. Parts of one thing share its path.
        solid = [thing for thing in scene.things if thing.path is not None and thing.collider.kind != "none"]
        numbers: dict[int, list[int]] = {}
        for thing in solid:
            numbers.setdefault(id(thing.path), []).append(int(self._model.body(thing.name).mocapid[0]))
        paths = {id(thing.path): thing.path for thing in solid if thing.path is not None}
        self._scripted = [(numbers[name], path) for name, path in paths.items()]
        self._worth = np.array([thing.name for thing in scene.things if _is_worth_noting(thing)], object)
        self._touched = np.zeros(len(self._worth), bool)
        self._kinds = np.full(self._model.ngeom, _OTHER)
        if self._car:
            self._kinds[self._model.body_rootid[self._model.geom_bodyid] == self._car.root] = _CAR
            for number, name in enumerate(self._worth):
                self._kinds[self._model.geom_bodyid == self._model.body(name).id] = number
            for name, other in self._others.items():
                of_it = self._model.body_rootid[self._model.geom_bodyid] == other.root
                self._kinds[of_it] = np.flatnonzero(self._worth == name)[0]
        self._steps = 0
        self.reset()
        self._warn_of_overlaps()

    @property
    def step_size(self) -> float:
        """Seconds of one step of physics."""
        return STEP

    @property
    def time(self) -> float:
        """Simulated seconds since the start."""
        return self._steps * STEP

    def step(self, seconds: float) -> None:
        """Let physics run."""
        steps = round(seconds / STEP) if math.isfinite(seconds) else 0
        if steps < 1 or abs(steps * STEP - seconds) > 1e-9:
            raise UsageError(f"{seconds} s: a positive multiple of a physics step, {STEP} s, is needed")
        for _ in range(steps):
            self._place_scripted()
            if self._others and self._steps % _DRIVE_STEPS == 0:
                self._drive_others()
            self._steps += 1
            if self._cars:
                step_cars(self._model, self._data, self._cars)
                _note_touched(self._data.contact.geom.copy(), self._kinds, self._touched)
            else:
                mujoco.mj_step(self._model, self._data)
        if any(self._data.warning[kind].number for kind in _FATAL):
            raise SimjudgeError(f"{self._scene.name}: physics came apart before {self.time:.3f} s; do things overlap?")
        self._place_scripted()
        mujoco.mj_kinematics(self._model, self._data)

    def set_pose(self, name: str, pose: Pose) -> None:
        """Put a free thing, or the car, somewhere, at rest (pose: in the world, metres; of base_link for the car)."""
        if name == VEHICLE and self._car:
            self._car.set_pose(pose)
        elif name in self._others:
            self._others[name].set_pose(pose)
            self._make_driver(name)
        elif name in self._free:
            x, y, z, w = pose.orientation
            joint = self._data.joint(name)
            joint.qpos[:] = [*pose.position, w, x, y, z]
            joint.qvel[:] = 0
        else:
            motion = next((thing.motion for thing in self._scene.things if thing.name == name), None)
            what = f"it is {motion} and cannot be placed" if motion else "nothing of that name"
            raise UsageError(f"{name}: {what}")
        mujoco.mj_kinematics(self._model, self._data)

    def poses(self) -> Poses:
        """Where all free and scripted things and the car's parts are now."""
        numbers = [*self._bodies.values()]
        now = np.hstack([self._data.xpos[numbers], self._data.xquat[numbers]])
        # Most things rest: their poses are those of the last time, to the last bit.
        moved = (now.view(np.int64) != self._last.view(np.int64)).any(1)
        for name, (x, y, z, qw, qx, qy, qz) in zip(compress(self._bodies, moved), now[moved].tolist(), strict=True):
            self._poses[name] = Pose((x, y, z), (qx, qy, qz, qw))
        self._last = now
        return self._scene.scripted_poses(self.time) | self._poses

    def drive(self, command: Command) -> None:
        """What the driver does from now on."""
        self._with_car().drive(command)

    def vehicle_state(self) -> VehicleState:
        """How the car moves now."""
        return self._with_car().state(self.time)

    def car_states(self) -> dict[str, VehicleState]:
        """How the cars of the scene move now, by name."""
        return {name: car.state(self.time) for name, car in self._others.items()}

    def touched_things(self) -> frozenset[str]:
        """Names of the free and counted things that the car has touched since the start or the last reset."""
        return frozenset(name.split("/")[0] for name in self._worth[self._touched])

    def reset(self) -> None:
        """Everything back to the start."""
        mujoco.mj_resetData(self._model, self._data)
        self._steps = 0
        self._touched[:] = False
        for car in self._cars:
            car.start()
        self._drivers: dict[str, RouteDriver] = {}
        for name in self._others:
            self._make_driver(name)
        self._place_scripted()
        mujoco.mj_kinematics(self._model, self._data)

    def _make_driver(self, name: str) -> None:
        """A driver who looks where the car is, or the brakes of a parked car."""
        vehicle, route = self._routes[name]
        if route is None:
            self._others[name].drive(Command(braking=1.0))
        else:
            self._drivers[name] = RouteDriver(vehicle, route)

    def _drive_others(self) -> None:
        """Let the drivers of the scene's cars act."""
        for name, driver in self._drivers.items():
            car = self._others[name]
            car.drive(driver.drive(car.state(self.time)))

    def _place_scripted(self) -> None:
        """Put what follows a path where it is now."""
        for numbers, path in self._scripted:
            pose = path.pose_at(self.time)
            self._data.mocap_pos[numbers], self._data.mocap_quat[numbers] = pose.position, wxyz(pose)

    def _warn_of_overlaps(self) -> None:
        """Say which things stand in each other at the start: physics will push them apart, perhaps far."""
        mujoco.mj_forward(self._model, self._data)
        overlaps: dict[str, float] = {}
        for contact in self._data.contact:
            if contact.dist < -_OVERLAP:
                bodies = (self._model.body(self._model.geom_bodyid[geom]).name for geom in contact.geom)
                of = [name.split("/")[0] for name in bodies]  # a car's wheels are told as the car
                pair = " and ".join(sorted(of))
                overlaps[pair] = max(overlaps.get(pair, 0.0), -contact.dist)
        if overlaps:
            named = ", ".join(f"{pair} by {1000 * depth:.0f} mm" for pair, depth in list(overlaps.items())[:3])
            more = f" and {len(overlaps) - 3} more" if len(overlaps) > 3 else ""
            _log.warning("%s: at the start %s%s overlap; physics pushes them apart", self._scene.name, named, more)
        self.reset()

    def _with_car(self) -> Car:
        if self._car is None:
            raise UsageError(f"{self._scene.name}: there is no car in it")
        return self._car


def _is_worth_noting(thing: Thing) -> bool:
    if thing.motion == "driven":
        return "/" not in thing.name  # a car's body stands for its wheels
    return thing.collider.kind != "none" and (thing.motion == "free" or thing.instance != NO_INSTANCE)


@njit(cache=True)  # type: ignore[untyped-decorator]
def _note_touched(pairs: npt.NDArray[np.int32], kinds: npt.NDArray[np.int64], touched: npt.NDArray[np.bool_]) -> None:
    """Mark what the car is in contact with; `kinds` of geoms: _CAR, _OTHER, or the number of what is worth noting."""
    for i in range(len(pairs)):
        first, second = kinds[pairs[i, 0]], kinds[pairs[i, 1]]
        if first == _CAR and second >= 0:
            touched[second] = True
        elif second == _CAR and first >= 0:
            touched[first] = True


class MujocoBodiesEngine(BodyEngine[Bodies]):
    """The part of an engine that moves bodies by MuJoCo, the cars of a scene among them.

    Attributes:
        things: as in `Engine`; the scene's cars are among the scene's things, the car's parts come last.
        names: of the things, in their order.
    """

    def __init__(self, scene: Scene, vehicle: Vehicle | None = None, start: Pose | None = None) -> None:
        """Make the bodies."""
        self.scene, others = read_other_cars(scene)
        self._bodies = Bodies(self.scene, vehicle, start, others)
        self._car = car_things(vehicle, self._bodies.start) if vehicle is not None else ()
        self.things = (*self.scene.things, *self._car)
        self.names = tuple(thing.name for thing in self.things)

    @property
    def step_size(self) -> float:
        """Seconds of one step of physics."""
        return self._moved().step_size

    def car_states(self) -> Mapping[str, VehicleState]:
        """How the cars of the scene move now, by name: see `EngineWithCars.car_states`."""
        return self._moved().car_states()
