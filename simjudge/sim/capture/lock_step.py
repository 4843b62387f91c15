"""A car's cameras in lock-step with physics: events in order of simulated time, however long their user takes.

Physics goes in whole steps. A stamp or an instant of an exposure lies between two steps; the poses of the car and of
all things are interpolated from both. Cameras that look at the same instant share what is known of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.names import stamp_to_name
from simjudge.geometry.poses import Pose, interpolate_pose
from simjudge.sim.capture.capture import FrameExposure
from simjudge.sim.capture.sensor_feed import SensorBatch, SensorFeed
from simjudge.sim.engines.contract import Engine, EngineWithCars, Poses, SceneState
from simjudge.sim.sensors.camera.camera import SECOND, exposure_stamps, frame_stamp_offset, middle_stamp, ready_stamp
from simjudge.sim.sensors.camera.rig import Follow, MountedCamera
from simjudge.sim.vehicle.vehicle import VehicleState


class FollowCamera:
    """Where a camera that follows is, from time to time.

    Its place is `distance` behind and `height` above base_link, whatever the car's pitch and roll. The camera goes
    there by a first-order lag, which is integrated exactly while the place moves in a straight line between two times.
    A car at a steady speed v is therefore distance + v time_constant ahead of it.
    """

    def __init__(self, follow: Follow) -> None:
        self._follow = follow
        self._time = 0
        self._place: FloatArray | None = None
        self._position = np.zeros(3)

    def pose(self, time: int, car: Pose) -> Pose:
        """The optical frame in the world; to be asked for in order of time (time: nanoseconds)."""
        follow, yaw = self._follow, car.angles()[0]
        base = np.array(car.position)
        behind_and_above = (-follow.distance * math.cos(yaw), -follow.distance * math.sin(yaw), follow.height)
        place: FloatArray = base + np.array(behind_and_above)
        if self._place is None or follow.time_constant == 0:
            self._position = place
        elif time > self._time:
            seconds = (time - self._time) / SECOND
            behind = (place - self._place) / seconds * follow.time_constant
            left = math.exp(-seconds / follow.time_constant)
            self._position = place - behind + (self._position - self._place + behind) * left
        self._time, self._place = time, place
        x, y, z = (base + np.array([0.0, 0.0, follow.aim]) - self._position).tolist()
        pitch = math.atan2(-z, math.hypot(x, y))
        eye = self._position.tolist()
        return Pose.from_euler(*eye, yaw=math.atan2(y, x), pitch=pitch, roll=0.0).optical_frame()


@dataclass(frozen=True)
class MotionSample:
    """A sample of the car's motion, for odometry."""

    time: int  # simulated time, nanoseconds
    state: VehicleState
    others: Mapping[str, VehicleState] = field(default_factory=dict)  # how the scene's cars moved then, by name


@dataclass(frozen=True)
class FrameEvent:
    """A frame that the camera hands over; its image can be made from the exposure at any time."""

    camera: str
    number: int  # 0 for the camera's first frame
    time: int  # simulated time of the hand-over, nanoseconds: the first whole step of physics from which on it may be
    state: VehicleState  # how the car moved at the frame's stamp
    exposure: FrameExposure  # where camera and bodies were during the exposure

    @property
    def stamp(self) -> int:
        """Simulated time when the exposure began, nanoseconds."""
        return self.exposure.stamp


@dataclass(frozen=True)
class _Instant:
    """Everything at one time, nanoseconds."""

    time: int
    bodies: Poses
    state: VehicleState
    others: Mapping[str, VehicleState]

    def sample(self) -> MotionSample:
        """The motion of the cars."""
        return MotionSample(self.time, self.state, self.others)


class _FrameClock:
    """The next frame of one camera: when the world is to be observed for it, and what was observed so far."""

    def __init__(self, mounted: MountedCamera, start: int) -> None:
        self._mounted, self._camera, self._start = mounted, mounted.camera, start
        self._mount = mounted.mount.optical_frame()
        self._follow = None if mounted.follow is None else FollowCamera(mounted.follow)
        self._number = 0
        self._seen: dict[int, SceneState] = {}
        self._state: VehicleState | None = None
        self._wanted = self._times()

    @property
    def next_time(self) -> int:
        """When the world is to be observed next, nanoseconds."""
        return self._wanted[0]

    @property
    def stamp(self) -> int:
        """Of the next frame, nanoseconds."""
        return self._start + frame_stamp_offset(self._camera.rate, self._number + 1)

    def observe(self, instant: _Instant) -> FrameEvent | None:
        """Take the world at `next_time`; a frame where that was the last of its instants."""
        time = self._wanted.pop(0)
        car = instant.state.pose
        camera = car @ self._mount if self._follow is None else self._follow.pose(time, car)
        self._seen[time] = SceneState(camera, instant.bodies)
        if time == self.stamp:
            self._state = instant.state
        if self._wanted:
            return None
        stamp, number = self.stamp, self._number
        scene_states = tuple(self._seen[exposure_stamp] for exposure_stamp in exposure_stamps(self._camera, stamp))
        middle = self._seen[middle_stamp(self._camera, stamp)]
        exposure = FrameExposure(stamp_to_name(stamp), stamp, scene_states, middle)
        event = FrameEvent(
            self._mounted.name, number, ready_stamp(self._camera, stamp), self._state or instant.state, exposure
        )
        self._number, self._seen, self._state = number + 1, {}, None
        self._wanted = self._times()
        return event

    def _times(self) -> list[int]:
        """When the world is to be observed for the next frame, nanoseconds, in order."""
        stamp = self.stamp
        return sorted({stamp, middle_stamp(self._camera, stamp), *exposure_stamps(self._camera, stamp)})


class LockStep:
    """Runs physics and yields motion samples and frames.

    Between two events the world stands still: a command that the engine gets then holds from that time on.
    """

    def __init__(
        self, engine: Engine, cameras: Sequence[MountedCamera], period: float = 0.02, feed: SensorFeed | None = None
    ) -> None:
        """Begin where the engine is; a camera's first frame is due one of its periods later (`period` in seconds)."""
        self._feed = feed
        self._engine = engine
        self._step = round(engine.step_size * SECOND)
        self._tick = round(engine.time * SECOND / self._step)
        self._period = max(round(period * SECOND / self._step), 1)
        self._clocks = [_FrameClock(camera, self.time) for camera in cameras]
        self._order = {camera.name: number for number, camera in enumerate(cameras)}
        self._waiting: list[FrameEvent] = []
        self._before = self._now = self._observe()

    @property
    def time(self) -> int:
        """Simulated time, nanoseconds."""
        return self._tick * self._step

    def events(self) -> Iterator[MotionSample | SensorBatch | FrameEvent]:
        """What happens, in order of time, without an end.

        At the same time a motion sample comes first, then readings of sensors, then frames in the cameras' order.
        Frames and scans never come without a motion sample of that time.
        """
        yield self._now.sample()
        sample, said = self._tick + self._period, self.time
        while True:
            ready = [self._first_step(self._waiting[0].time)] if self._waiting else []
            ready += self._sensor_step()
            observed = self._first_step(self._next_observation())
            self._run_to(min(sample, observed, *ready), observed=observed)
            due_sample = self._tick >= sample
            while (time := self._next_observation()) <= self.time:
                instant = self._instant(time)
                if any(clock.stamp == time for clock in self._clocks):
                    if time == self.time:
                        due_sample = True
                    else:
                        yield instant.sample()
                self._observe_for_cameras(instant)
            handed = [event for event in self._waiting if event.time <= self.time]
            self._waiting = self._waiting[len(handed) :]
            batch = None if self._feed is None else self._feed.take(self.time)
            if (handed or due_sample or (batch is not None and batch.has_scan)) and self.time > said:
                said = self.time
                yield MotionSample(said, self._state(), self._others())
            if batch is not None:
                yield batch
            yield from handed
            sample = self._tick + self._period if self._tick >= sample else sample

    def _next_observation(self) -> int:
        return min(clock.next_time for clock in self._clocks)

    def _observe_for_cameras(self, instant: _Instant) -> None:
        """Show the world to the cameras that want it then; frames that are whole wait to be handed over."""
        for clock in self._clocks:
            event = clock.observe(instant) if clock.next_time == instant.time else None
            if event is not None:
                self._waiting.append(replace(event, time=self._first_step(event.time) * self._step))
        self._waiting.sort(key=lambda event: (event.time, self._order[event.camera]))

    def _first_step(self, time: int) -> int:
        """The first whole step at or after a time, but no past one."""
        return max(-(-time // self._step), self._tick)

    def _run_to(self, tick: int, observed: int) -> None:
        """Let physics run up to a step; at the step `observed`, observe the world before and after it."""
        if tick == self._tick:
            return
        if tick == observed:
            self._step_to(tick - 1)
            self._before = self._observe()
            self._step_to(tick)
            self._now = self._observe()
        self._step_to(tick)

    def _sensor_step(self) -> list[int]:
        """The step at which a sensor may hand something over next."""
        time = None if self._feed is None else self._feed.next_time()
        return [] if time is None else [self._first_step(time)]

    def _step_to(self, tick: int) -> None:
        if self._feed is None and tick > self._tick:
            self._engine.step((tick - self._tick) * self._step / SECOND)
            self._tick = tick
        while tick > self._tick:
            self._engine.step(self._step / SECOND)
            self._tick += 1
            if self._feed is not None:
                self._feed.observe(self.time)

    def _observe(self) -> _Instant:
        return _Instant(self.time, self._engine.poses(), self._state(), self._others())

    def _state(self) -> VehicleState:
        # Its time is the very number that a message's stamp becomes again.
        return replace(self._engine.vehicle_state(), time=self.time / SECOND)

    def _others(self) -> Mapping[str, VehicleState]:
        if not isinstance(self._engine, EngineWithCars):
            return {}
        return {name: replace(state, time=self.time / SECOND) for name, state in self._engine.car_states().items()}

    def _instant(self, time: int) -> _Instant:
        before, now = self._before, self._now
        if time == now.time:
            return now
        share = (time - before.time) / (now.time - before.time)
        bodies = {name: interpolate_pose(before.bodies[name], pose, share) for name, pose in now.bodies.items()}
        others = {
            name: _interpolate_state(before.others[name], state, share, time / SECOND)
            for name, state in now.others.items()
        }
        return _Instant(time, bodies, _interpolate_state(before.state, now.state, share, time / SECOND), others)


def _interpolate_state(one: VehicleState, other: VehicleState, share: float, time: float) -> VehicleState:
    def mixed(name: str) -> Any:
        pair = np.array([getattr(one, name), getattr(other, name)])
        return tuple(((1 - share) * pair[0] + share * pair[1]).tolist())

    return VehicleState(
        time,
        interpolate_pose(one.pose, other.pose, share),
        mixed("velocity"),
        mixed("angular_velocity"),
        mixed("acceleration"),
        (1 - share) * one.steering_angle + share * other.steering_angle,
        mixed("wheel_speeds"),
    )
