"""A camera on a car, in lock-step with physics: what happens, in order of time, however long anybody takes over it.

Physics goes in whole steps. Where the car and all things are at a stamp or at an instant of an exposure, which lies
between two steps, is interpolated from both.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simjudge.capture.exposure import pose_between
from simjudge.engines.contract import Engine, Poses, SceneState
from simjudge.geometry.poses import Pose
from simjudge.sensors.camera.camera import Camera
from simjudge.sensors.camera.shutter import SECOND, due, exposure_stamps, middle_stamp, ready_stamp
from simjudge.vehicle.vehicle import VehicleState


@dataclass(frozen=True)
class Moved:
    """The car has moved: a sample for odometry.

    Attributes:
        time: nanoseconds of simulated time.
        state: how it moves then.
    """

    time: int
    state: VehicleState


@dataclass(frozen=True)
class Taken:
    """A frame that is handed over; its picture can be made from it at any time.

    Attributes:
        number: 0 for the first.
        stamp: nanoseconds of simulated time, when its exposure began.
        time: nanoseconds, when it is handed over: the first whole step of physics from which on it may be.
        state: how the car moved at the stamp.
        middle: camera and bodies in the middle of the exposure, which the labels are of.
        scene_states: camera and bodies at the instants of the exposure.
    """

    number: int
    stamp: int
    time: int
    state: VehicleState
    middle: SceneState
    scene_states: tuple[SceneState, ...]


@dataclass(frozen=True)
class _Instant:
    """Everything at one time, nanoseconds."""

    time: int
    bodies: Poses
    state: VehicleState


class LockStep:
    """Lets physics run, and tells what happens.

    Between two events the world stands still for whoever takes them: a command that is given to the engine then holds
    from that time on.
    """

    def __init__(self, engine: Engine, camera: Camera, mount: Pose, period: float = 0.02) -> None:
        """Begin where the engine is; the first frame is due one period of the camera later.

        Args:
            engine: with a car in it.
            camera: with its rate, lag and exposure.
            mount: pose of the camera's body (x ahead) in base_link.
            period: seconds between samples of the car's motion; each stamp of a frame is one, too.
        """
        self._engine, self._seat = engine, mount.optical_frame()
        self._step = round(engine.step_size * SECOND)
        self._tick = round(engine.time * SECOND / self._step)
        self._period = max(round(period * SECOND / self._step), 1)
        self._camera, self._start = camera, self.time
        self._waiting: deque[Taken] = deque()
        self._before = self._now = self._look()

    @property
    def time(self) -> int:
        """Simulated time, nanoseconds."""
        return self._tick * self._step

    def events(self) -> Iterator[Moved | Taken]:
        """What happens, in order of time, without an end. A sample of the motion comes before a frame of its time."""
        yield Moved(self.time, self._now.state)
        sample = self._tick + self._period
        number, wanted, seen = 0, self._looks(0), {}
        while True:
            ready = [self._first_step(self._waiting[0].time)] if self._waiting else []
            look = self._first_step(wanted[0])
            self._run_to(min(sample, look, *ready), look=look)
            tell = self._tick >= sample
            while wanted[0] <= self.time:
                time = wanted.pop(0)
                seen[time] = self._instant(time)
                if time == self._stamp(number) == self.time:
                    tell = True
                elif time == self._stamp(number):
                    yield Moved(time, seen[time].state)
                if not wanted:
                    self._waiting.append(self._taken(number, seen))
                    number, seen = number + 1, {}
                    wanted = self._looks(number)
            handed = [self._waiting.popleft() for _ in range(sum(each.time <= self.time for each in self._waiting))]
            if handed or tell:
                yield Moved(self.time, self._state())
            yield from handed
            sample = self._tick + self._period if self._tick >= sample else sample

    def _stamp(self, number: int) -> int:
        return self._start + due(self._camera.rate, number + 1)

    def _looks(self, number: int) -> list[int]:
        """When the world is looked at for a frame, nanoseconds, in order."""
        stamp = self._stamp(number)
        return sorted({stamp, middle_stamp(self._camera, stamp), *exposure_stamps(self._camera, stamp)})

    def _taken(self, number: int, seen: dict[int, _Instant]) -> Taken:
        stamp = self._stamp(number)
        scene_states = tuple(self._scene_state(seen[time]) for time in exposure_stamps(self._camera, stamp))
        middle = self._scene_state(seen[middle_stamp(self._camera, stamp)])
        time = self._first_step(ready_stamp(self._camera, stamp)) * self._step
        return Taken(number, stamp, time, seen[stamp].state, middle, scene_states)

    def _first_step(self, time: int) -> int:
        """The first whole step at or after a time, but no past one."""
        return max(-(-time // self._step), self._tick)

    def _run_to(self, tick: int, look: int) -> None:
        """Let physics run up to a step; if it is the step `look`, look at the world before and after the last one."""
        if tick == self._tick:
            return
        if tick == look:
            self._step_to(tick - 1)
            self._before = self._look()
            self._step_to(tick)
            self._now = self._look()
        self._step_to(tick)

    def _step_to(self, tick: int) -> None:
        if tick > self._tick:
            self._engine.step((tick - self._tick) * self._step / SECOND)
            self._tick = tick

    def _look(self) -> _Instant:
        return _Instant(self.time, self._engine.poses(), self._state())

    def _state(self) -> VehicleState:
        # Its time is the very number that a message's stamp becomes again.
        return replace(self._engine.vehicle_state(), time=self.time / SECOND)

    def _instant(self, time: int) -> _Instant:
        """The world at a time between the last two looks."""
        before, now = self._before, self._now
        if time == now.time:
            return now
        share = (time - before.time) / (now.time - before.time)
        bodies = {name: pose_between(before.bodies[name], pose, share) for name, pose in now.bodies.items()}
        return _Instant(time, bodies, _state_between(before.state, now.state, share, time / SECOND))

    def _scene_state(self, instant: _Instant) -> SceneState:
        return SceneState(instant.state.pose @ self._seat, instant.bodies)


def _state_between(one: VehicleState, other: VehicleState, share: float, time: float) -> VehicleState:
    def mixed(name: str) -> Any:
        pair = np.array([getattr(one, name), getattr(other, name)])
        return tuple(((1 - share) * pair[0] + share * pair[1]).tolist())

    return VehicleState(
        time,
        pose_between(one.pose, other.pose, share),
        mixed("velocity"),
        mixed("angular_velocity"),
        mixed("acceleration"),
        (1 - share) * one.steering_angle + share * other.steering_angle,
        mixed("wheel_speeds"),
    )
