"""The sensors of a car beside its camera: what each notes after a step of physics and hands over after its lag.

    feed = SensorFeed(engine, read_sensors("art1", places=vehicle.places), seed)
    feed.observe(time)                    # after every step of physics
    batch = feed.take(time)               # what can be read now, each reading once

Readings are due in simulated time alone. Everything that a sensor knows comes from the engine's poses, motion and rays,
so that a sensor means the same in every engine. Those with `source: chrono` alone are read by Chrono.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import FloatArray, ShortRepr
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.text import near_name
from simjudge.geometry.keyframes import Keyframes
from simjudge.sim.capture.lidar_light import lidar_light
from simjudge.sim.capture.radar_capture import CapturedRadar, RadarCapture
from simjudge.sim.engines.chrono.other_sensors import Reading
from simjudge.sim.engines.contract import STANDING, BodyMotion, Hits, Poses, SensedWorld
from simjudge.sim.scene.model import NO_CLASS, NO_INSTANCE, Scene, Thing
from simjudge.sim.sensors.filter_registry import FilterStep
from simjudge.sim.sensors.inertial.inertial_sensor import (
    InertialSensor,
    ReadingClock,
    Readings,
    WheelEncoders,
    WheelMotion,
)
from simjudge.sim.sensors.inertial.motion import SECOND, Motion
from simjudge.sim.sensors.inertial.sensor_tables import EncodersSpec
from simjudge.sim.sensors.lidar.cloud_filters import CloudFilters
from simjudge.sim.sensors.lidar.lidar import Lidar, LidarSpec
from simjudge.sim.sensors.lidar.rays import turn_rays
from simjudge.sim.sensors.lidar.scan import RayHits, Scan, measure
from simjudge.sim.sensors.radar.radar import RadarSpec
from simjudge.sim.sensors.sensor_spec import CAR, SensorSpec

_MOSTLY = 0.5  # Of the first turn's points: more of them on the car itself, and the lidar does not see its surroundings
_FILTERED = 1  # Ends the seed of a scan's filters, which draw other numbers than its noise


@dataclass(frozen=True, eq=False, repr=False)
class ObjectBoxes(ShortRepr):
    """3-D boxes of K counted things that have a point in a scan, in the sensor's frame at the scan's stamp."""

    # class_id, instance: int64 (K,).
    class_id: npt.NDArray[np.int64]
    instance: npt.NDArray[np.int64]
    centre: FloatArray  # (K, 3), metres
    rotation: FloatArray  # (K, 3, 3), the box's axes to the sensor's
    # (K, 3), along the box's own axes, metres: the smallest box along the thing's axes around all its meshes.
    size: FloatArray
    points: npt.NDArray[np.int64]  # int64 (K,), number of the scan's points on it

    def __len__(self) -> int:
        return len(self.class_id)


@dataclass(frozen=True, eq=False, repr=False)
class CapturedScan(ShortRepr):
    """A scan and the truth beside it."""

    lidar: Lidar
    stamp: int  # end of the turn, nanoseconds
    scan: Scan
    # class_id, instance: int64 (P,), of each point; 0 where it lies on nothing labelled.
    class_id: npt.NDArray[np.int64]
    instance: npt.NDArray[np.int64]
    boxes: ObjectBoxes  # of the labelled things that have a point


class LidarCapture:
    """A lidar before an engine."""

    def __init__(self, engine: SensedWorld, lidar: Lidar, seed: int = 0, filters: tuple[FilterStep, ...] = ()) -> None:
        self.engine, self.lidar, self._seed, self._filters = engine, lidar, seed, filters
        things = engine.things
        self._light = lidar_light(tuple(things))
        # The row behind the last, index -1, is for rays that hit nothing.
        self._class_id = np.array([*(thing.class_id for thing in things), NO_CLASS], np.int64)
        self._instance = np.array([*(thing.instance for thing in things), NO_INSTANCE], np.int64)
        self._is_car = np.array([*(thing.name.split("/")[0] == CAR for thing in things), False])
        self._looked = lidar.allow_self
        parts: dict[int, list[Thing]] = {}
        for thing in things:
            if thing.instance != NO_INSTANCE:
                parts.setdefault(thing.instance, []).append(thing)
        self._boxes_of = {instance: (of_it[0], *_own_box(of_it)) for instance, of_it in parts.items()}

    def capture(self, stamp: int, sensor: Keyframes, motion: BodyMotion = STANDING) -> CapturedScan | None:
        """Make one scan (stamp: end of the turn, nanoseconds): the scan; None where a filter loses it."""
        rays = turn_rays(self.lidar, sensor)
        hits = self.engine.cast_timed_rays(rays.origin, rays.direction, rays.time, motion)
        seed = (self._seed, zlib.crc32(self.lidar.name.encode()), stamp)
        filters = CloudFilters(self._filters, stamp, (*seed, _FILTERED))
        reflected = RayHits(hits.distance, hits.thing, self._light.reflected(hits, rays, motion))
        scan = measure(self.lidar, reflected, sensor, np.random.default_rng(seed), filters)
        if scan is None:
            return None
        self._refuse_own_car(scan, hits)
        class_id, instance = self._class_id[scan.thing], self._instance[scan.thing]
        return CapturedScan(self.lidar, stamp, scan, class_id, instance, self._boxes(scan, sensor, motion))

    def _refuse_own_car(self, scan: Scan, hits: Hits) -> None:
        """Refuse a lidar most of whose first points (without any: most of its rays) are on the car that carries it."""
        met = scan.thing if len(scan.thing) else hits.thing[hits.thing >= 0]
        if self._looked or not len(met):
            return
        self._looked = True
        share = float(self._is_car[met].mean())
        if share > _MOSTLY:
            raise SimjudgeError(
                f"sensor {self.lidar.name}: {100 * share:.0f} % of its first turn is the car that carries it; move it"
                " (mount: place roof, hood or bumper, or position, metres in base_link), or write allow_self: true"
            )

    def _boxes(self, scan: Scan, sensor: Keyframes, motion: BodyMotion) -> ObjectBoxes:
        instances, points = np.unique(self._instance[scan.thing], return_counts=True)
        counted = instances != NO_INSTANCE
        instances, points = instances[counted], points[counted]
        (own_rotation,), (own_position,) = sensor.at(np.zeros(1))
        boxes = [self._boxes_of[instance] for instance in instances.tolist()]
        low, high = (np.array([box[end] for box in boxes]).reshape(-1, 3) for end in (1, 2))
        poses = [_pose_at_stamp(first, motion) for first, _, _ in boxes]
        rotation = np.array([pose[0] for pose in poses]).reshape(-1, 3, 3)
        position = np.array([pose[1] for pose in poses]).reshape(-1, 3)
        centre = np.einsum("nij,nj->ni", rotation, (low + high) / 2) + position
        return ObjectBoxes(
            np.array([first.class_id for first, _, _ in boxes], np.int64),
            instances,
            (centre - own_position) @ own_rotation,
            own_rotation.T @ rotation,
            high - low,
            points,
        )


def _own_box(parts: Sequence[Thing]) -> tuple[FloatArray, FloatArray]:
    """The ends of the box around a thing's parts, along the axes of the first; wheels are where they rest."""
    frame = parts[0].pose
    own = (
        part.mesh.vertices if part.pose == frame else frame.to_body(part.pose.to_world(part.mesh.vertices))
        for part in parts
    )
    ends = np.array([(vertices.min(0), vertices.max(0)) for vertices in own])
    return ends[:, 0].min(0), ends[:, 1].max(0)


RaySpec = (LidarSpec, RadarSpec)  # Sensors that look along rays, a scan at a time


def ray_capture(engine: SensedWorld, spec: LidarSpec | RadarSpec, seed: int) -> LidarCapture | RadarCapture:
    """A sensor that looks along rays, before an engine."""
    if isinstance(spec, LidarSpec):
        return LidarCapture(engine, spec.model(), seed, spec.filters)
    return RadarCapture(engine, spec.model(), seed, spec.filters)


def scripted_motion(scene: Scene, times: Sequence[float], stamp: float) -> BodyMotion:
    """How the things of a scene that follow a path move during a turn (seconds from the scan's stamp)."""
    poses = [scene.scripted_poses(stamp + time) for time in times]
    names = tuple(poses[0])
    return BodyMotion(names, Keyframes.build(times, [list(pose.values()) for pose in poses])) if names else STANDING


def _pose_at_stamp(thing: Thing, motion: BodyMotion) -> tuple[FloatArray, FloatArray]:
    if thing.name in motion.names:
        (rotation,), (position,) = motion.keyframes.at(np.zeros(1), motion.names.index(thing.name))
        return rotation, position
    return thing.pose.rotation_matrix(), np.array(thing.pose.position)


_KEYFRAME = 10_000_000  # Nanoseconds between the poses that a turn of a lidar is interpolated from
_MOST_BODIES = 8  # Bodies that a message names
# A row of `Motion`: stamp, position, orientation, velocity, angular velocity.
_Sample = tuple[int, Sequence[float], Sequence[float], Sequence[float] | FloatArray, Sequence[float] | FloatArray]


@dataclass(frozen=True, eq=False)
class SensorEvent:
    """A reading that is handed over."""

    time: int  # nanoseconds of simulated time from which on it can be read
    stamp: int  # nanoseconds, the end of its window
    spec: SensorSpec
    # One reading (a row), a scan, a radar's detections; of a sensor of Chrono's own what Chrono says, without truth.
    reading: Readings | CapturedScan | CapturedRadar | Reading


class SensorReader(Protocol):
    """One sensor that reads."""

    def observe(self, time: int) -> None:
        """Take note of the engine now, after a step of physics."""

    def next_time(self) -> int:
        """Nanoseconds at which something may be handed over next."""

    def take(self, now: int) -> list[SensorEvent]:
        """What can be read now, each reading once."""


def make_readers(engine: SensedWorld, specs: Sequence[SensorSpec], seed: int, start: int) -> list[SensorReader]:
    """Something that reads for each sensor from `start` (nanoseconds) on; one for all those of Chrono's own."""
    for spec in specs:
        spec.check_placed()
    readers = [_reader(engine, spec, seed, start) for spec in specs if spec.source != "chrono"]
    own = [spec for spec in specs if spec.source == "chrono"]
    return [*readers, _OwnReader(engine, own, seed, start)] if own else readers


def _reader(engine: SensedWorld, spec: SensorSpec, seed: int, start: int) -> SensorReader:
    known = {CAR, *engine.poses()}
    if spec.body not in known:
        near = near_name(spec.body, known) or _some_bodies(known)
        lacks = f"there is no body {spec.body!r} that moves{near}"
        raise UsageError(f"sensor {spec.name}: {lacks}")
    if isinstance(spec, RaySpec):
        return _RayReader(engine, spec, seed, start)
    if isinstance(spec, EncodersSpec):
        return _EncoderReader(engine, spec, seed, start)
    return _MotionReader(engine, spec, seed, start)


def _some_bodies(known: set[str]) -> str:
    """The end of a message that names bodies: the car and its parts first, and not every cone."""
    names = sorted(known, key=lambda name: (name.split("/")[0] != CAR, name))
    more = f" and {len(names) - _MOST_BODIES} more" if len(names) > _MOST_BODIES else ""
    return f"; there are {', '.join(names[:_MOST_BODIES])}{more}"


class _Held:
    """Readings whose lag is not over, and when the next one's is."""

    def __init__(self, spec: SensorSpec, start: int, window: float) -> None:
        self._spec, self._waiting = spec, deque[SensorEvent]()
        self._lag = round(spec.lag * SECOND)
        self._clock = ReadingClock(spec.rate, window, start + self._lag)

    def put(self, readings: Readings) -> None:
        for row in range(len(readings)):
            one = readings.where(np.arange(len(readings)) == row)
            self._waiting.append(SensorEvent(int(one.available[0]), int(one.stamp[0]), self._spec, one))

    def put_scan(self, scan: CapturedScan | CapturedRadar) -> None:
        self._waiting.append(SensorEvent(scan.stamp + self._lag, scan.stamp, self._spec, scan))

    def next_time(self) -> int:
        return self._clock.next_stamp()

    def take(self, now: int) -> list[SensorEvent]:
        self._clock.due(now)
        out = []
        while self._waiting and self._waiting[0].time <= now:
            out.append(self._waiting.popleft())
        return out


class _SampleClock:
    """When a sensor should get the samples that were collected: few calls with many samples are quick."""

    def __init__(self, rate: float, window: float, start: int) -> None:
        self._clock, self._again = ReadingClock(rate, window, start), False

    def has_come(self, time: int) -> bool:
        """At a stamp, and at the sample after it: the very first sample alone gives no reading yet."""
        due = len(self._clock.due(time)) > 0
        now, self._again = due or self._again, due
        return now


class _MotionReader:
    """A sensor that is computed from the motion of one body."""

    def __init__(self, engine: SensedWorld, spec: SensorSpec, seed: int, start: int) -> None:
        self._engine, self._spec = engine, spec
        self._sensor = InertialSensor(spec, seed, start)
        self._held = _Held(spec, start, spec.window)
        self._clock = _SampleClock(spec.rate, spec.window, start)
        self._samples: list[_Sample] = []
        self._before: tuple[int, FloatArray, Rotation] | None = None

    def observe(self, time: int) -> None:
        self._samples.append(self._car(time) if self._spec.body == CAR else self._other(time))
        if self._clock.has_come(time):
            stamp, *columns = zip(*self._samples, strict=True)
            self._samples.clear()
            self._held.put(
                self._sensor.read(Motion(np.array(stamp, np.int64), *(np.array(column) for column in columns)))
            )

    def next_time(self) -> int:
        return self._held.next_time()

    def take(self, now: int) -> list[SensorEvent]:
        return self._held.take(now)

    def _car(self, time: int) -> _Sample:
        state = self._engine.vehicle_state()
        # Motion has velocities in the world's axes, the car's state in its own.
        velocity = Rotation.from_quat(state.pose.orientation).apply(state.velocity)
        return time, state.pose.position, state.pose.orientation, velocity, state.angular_velocity

    def _other(self, time: int) -> _Sample:
        """A body of which only poses are known: its velocities are their changes from step to step."""
        pose = self._engine.poses()[self._spec.body]
        position, rotation = np.array(pose.position), Rotation.from_quat(pose.orientation)
        velocity = turn = np.zeros(3)
        if self._before is not None and time > self._before[0]:
            seconds = (time - self._before[0]) / SECOND
            velocity = (position - self._before[1]) / seconds
            turn = (self._before[2].inv() * rotation).as_rotvec() / seconds
        self._before = time, position, rotation
        return time, pose.position, pose.orientation, velocity, turn


class _EncoderReader:
    """Encoders on the car's wheels."""

    def __init__(self, engine: SensedWorld, spec: EncodersSpec, seed: int, start: int) -> None:
        self._engine, self._encoders = engine, WheelEncoders(spec, seed, start)
        self._held, self._clock = _Held(spec, start, 0.0), _SampleClock(spec.rate, 0.0, start)
        self._samples: list[tuple[int, FloatArray]] = []
        self._time, self._angle, self._speed = start, np.zeros(4), np.zeros(4)

    def observe(self, time: int) -> None:
        speed = np.array(self._engine.vehicle_state().wheel_speeds)
        self._angle = self._angle + (self._speed + speed) / 2 * ((time - self._time) / SECOND)
        self._time, self._speed = time, speed
        self._samples.append((time, self._angle))
        if self._clock.has_come(time):
            stamp, angle = zip(*self._samples, strict=True)
            self._samples.clear()
            self._held.put(self._encoders.read(WheelMotion(np.array(stamp, np.int64), np.array(angle))))

    def next_time(self) -> int:
        return self._held.next_time()

    def take(self, now: int) -> list[SensorEvent]:
        return self._held.take(now)


class _RayReader:
    """A lidar or a radar: keyframes of everything that moves, and a scan at the end of each window."""

    def __init__(self, engine: SensedWorld, spec: LidarSpec | RadarSpec, seed: int, start: int) -> None:
        self._engine, self._spec = engine, spec
        self._capture = ray_capture(engine, spec, seed)
        self._held = _Held(spec, start, spec.window)
        self._clock = ReadingClock(spec.rate, spec.window, start)
        self._window = round(spec.window * SECOND)
        self._frames: deque[tuple[int, Poses]] = deque()

    def observe(self, time: int) -> None:
        due = time >= self._clock.next_stamp()
        if due or not self._frames or time >= self._frames[-1][0] + _KEYFRAME:
            self._frames.append((time, self._engine.poses()))
        if due:
            for stamp in self._clock.due(time).tolist():
                scan = self._scan(stamp)
                if scan is not None:
                    self._held.put_scan(scan)
            # Drop keyframes that no turn needs any more: all but the last one at or before its begin.
            before = self._clock.next_stamp() - self._window
            while len(self._frames) > 1 and self._frames[1][0] <= before:
                self._frames.popleft()

    def next_time(self) -> int:
        return self._held.next_time()

    def take(self, now: int) -> list[SensorEvent]:
        return self._held.take(now)

    def _scan(self, stamp: int) -> CapturedScan | CapturedRadar | None:
        frames = [(time, poses) for time, poses in self._frames]
        times = [(time - stamp) / SECOND for time, _ in frames]
        names = tuple(frames[0][1])
        bodies = Keyframes.build(times, [[poses[name] for name in names] for _, poses in frames])
        sensor = Keyframes.build(times, [[poses[self._spec.body] @ self._spec.mount] for _, poses in frames])
        return self._capture.capture(stamp, sensor, BodyMotion(names, bodies))


class _OwnReader:
    """Sensors of Chrono's own: the engine reads them itself, after every step of its physics."""

    def __init__(self, engine: SensedWorld, specs: Sequence[SensorSpec], seed: int, start: int) -> None:
        # PyChrono's part of simjudge is not loaded for those who never asked for it.
        from simjudge.sim.engines.chrono.chrono_engine import ChronoEngine  # noqa: PLC0415
        from simjudge.sim.engines.chrono.other_sensors import CarSensors  # noqa: PLC0415

        if not isinstance(engine, ChronoEngine):
            raise UsageError(
                f"sensor {specs[0].name}: source chrono: only engine chrono has Chrono's own sensors, and this is"
                f" {engine.name}; take engine chrono, or source: simjudge"
            )
        self._spec = {spec.name: spec for spec in specs}
        self._sensors = CarSensors(engine, specs, seed)
        self._time = start

    def observe(self, time: int) -> None:
        self._time = time

    def next_time(self) -> int:
        # After each step something may have come.
        return self._time + 1

    def take(self, now: int) -> list[SensorEvent]:
        del now
        return [self._event(reading) for reading in self._sensors.taken()]

    def _event(self, reading: Reading) -> SensorEvent:
        spec, stamp = self._spec[reading.sensor], round(reading.time * SECOND)
        return SensorEvent(stamp + round(spec.lag * SECOND), stamp, spec, reading)


@dataclass(frozen=True, eq=False)
class SensorBatch:
    """Readings that are handed over together."""

    time: int  # nanoseconds of simulated time
    # In order of the time from which on they can be read, those of one time in the sensors' order.
    events: tuple[SensorEvent, ...]

    @property
    def has_scan(self) -> bool:
        """Whether a lidar's scan is among them."""
        return any(isinstance(event.spec, LidarSpec) for event in self.events)


class SensorFeed:
    """All sensors of a car but its camera."""

    def __init__(self, engine: SensedWorld, specs: Sequence[SensorSpec], seed: int = 0) -> None:
        start = round(engine.time * SECOND)
        self._readers = make_readers(engine, specs, seed, start)
        self.observe(start)

    def observe(self, time: int) -> None:
        """Take note of the engine at `time` (simulated nanoseconds), after every step of physics."""
        for reader in self._readers:
            reader.observe(time)

    def next_time(self) -> int | None:
        """Nanoseconds at which something may be handed over next; None without sensors."""
        return min((reader.next_time() for reader in self._readers), default=None)

    def take(self, now: int) -> SensorBatch | None:
        """Hand over what can be read now, each reading once: the readings (now: nanoseconds of simulated time)."""
        ready = [event for reader in self._readers for event in reader.take(now)]
        return SensorBatch(now, tuple(sorted(ready, key=lambda event: event.time))) if ready else None
