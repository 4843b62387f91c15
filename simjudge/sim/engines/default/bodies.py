"""What moves: the bodies of a scene, and perhaps a car, under MuJoCo's physics."""

from __future__ import annotations

import logging
import math
from itertools import compress

import mujoco
import numpy as np
import numpy.typing as npt
from numba import njit

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import Poses
from simjudge.sim.engines.default.car import Car
from simjudge.sim.engines.default.model import STEP, build_model, wxyz
from simjudge.sim.scene.ground import Ground
from simjudge.sim.scene.model import NO_INSTANCE, Scene, Thing
from simjudge.sim.vehicle.car_appearance import PARTS, VEHICLE
from simjudge.sim.vehicle.vehicle import Command, Vehicle, VehicleState

_FATAL = (
    mujoco.mjtWarning.mjWARN_BADQPOS,
    mujoco.mjtWarning.mjWARN_BADQVEL,
    mujoco.mjtWarning.mjWARN_BADQACC,
    mujoco.mjtWarning.mjWARN_CNSTRFULL,
    mujoco.mjtWarning.mjWARN_CONTACTFULL,
)
_CAR = -1
"""Kind of a geom that belongs to the car."""
_OTHER = -2
"""Kind of a geom that is neither the car's nor worth noting when touched."""
_OVERLAP = 0.002
"""Metres by which things may stand in each other at the start without a word."""
_log = logging.getLogger(__name__)
# Else MuJoCo writes MUJOCO_LOG.TXT into whatever folder it is run in.
mujoco.set_mju_user_warning(lambda text: _log.debug("MuJoCo: %s", text))


class Bodies:
    """The bodies of a scene; as in `simjudge.sim.engines.contract.Engine`, without the light.

    Args:
        vehicle: the car's figures; None: no car.
        start: of the car's base_link; None: the start of the scene's course, or the origin.
    """

    def __init__(self, scene: Scene, vehicle: Vehicle | None = None, start: Pose | None = None) -> None:
        """Build the model; raises SimjudgeError where a thing of the scene cannot be a body."""
        if start is None:
            start = Ground.of(scene.things).stand(scene.course.start() if scene.course is not None else Pose())
        self.start = start
        self._scene = scene
        self._model = build_model(scene, vehicle, start)
        self._data = mujoco.MjData(self._model)
        self._car = Car(self._model, self._data, vehicle, scene.things) if vehicle is not None else None
        self._free = {thing.name: self._model.joint(thing.name) for thing in scene.things if thing.motion == "free"}
        names = [*self._free, *(PARTS if self._car else ())]
        self._bodies = {name: int(self._model.body(name).id) for name in names}
        self._last = np.full((len(names), 7), np.nan)
        self._poses: dict[str, Pose] = {}
        # Those that nothing can bump into are no bodies to MuJoCo. Parts of one thing share its path.
        solid = [thing for thing in scene.things if thing.path is not None and thing.collider.kind != "none"]
        numbers: dict[int, list[int]] = {}
        for thing in solid:
            numbers.setdefault(id(thing.path), []).append(int(self._model.body(thing.name).mocapid[0]))
        paths = {id(thing.path): thing.path for thing in solid if thing.path is not None}
        self._scripted = [(numbers[each], path) for each, path in paths.items()]
        self._worth = np.array([thing.name for thing in scene.things if _is_worth_noting(thing)], object)
        self._touched = np.zeros(len(self._worth), bool)
        self._kinds = np.full(self._model.ngeom, _OTHER)
        if self._car:
            self._kinds[self._model.body_rootid[self._model.geom_bodyid] == self._car.root] = _CAR
            for number, name in enumerate(self._worth):
                self._kinds[self._model.geom_bodyid == self._model.body(name).id] = number
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
            self._steps += 1
            if self._car:
                self._car.step()
                _note_touched(self._data.contact.geom.copy(), self._kinds, self._touched)
            else:
                mujoco.mj_step(self._model, self._data)
        if any(self._data.warning[kind].number for kind in _FATAL):
            raise SimjudgeError(f"{self._scene.name}: physics came apart before {self.time:.3f} s; do things overlap?")
        self._place_scripted()
        mujoco.mj_kinematics(self._model, self._data)

    def set_pose(self, name: str, pose: Pose) -> None:
        """Put a free thing, or the car, somewhere, at rest.

        Args:
            pose: in the world, metres; of base_link for the car.
        """
        if name == VEHICLE and self._car:
            self._car.set_pose(pose)
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

    def touched_things(self) -> frozenset[str]:
        """Names of the free and counted things that the car has touched since the start or the last reset."""
        return frozenset(name.split("/")[0] for name in self._worth[self._touched])

    def reset(self) -> None:
        """Everything back to the start."""
        mujoco.mj_resetData(self._model, self._data)
        self._steps = 0
        self._touched[:] = False
        if self._car:
            self._car.start()
        self._place_scripted()
        mujoco.mj_kinematics(self._model, self._data)

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
                of = [self._model.body(self._model.geom_bodyid[geom]).name for geom in contact.geom]
                pair = " and ".join(of)
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
