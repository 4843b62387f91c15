"""A car's sensors beside the camera along poses that are known: those of a replay or of a rendering.

In a replay the body moves as recorded, through a smooth motion for inertial sensors and pose by pose (linear, slerp)
for lidars; everything else stands where the scene has it. A lidar makes one scan for each cloud of the recording, at
its stamp, and scans at its own rate where the recording has none.

In a rendering it moves along its poses likewise, with a scan for each frame and other readings along a path with
times; everything else is where the scene has it then. Before its first pose, and where its poses are too far apart to
tell how it moved, the body stands during a scan: so it does for the images.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import Losses, UsageError
from simjudge.core.text import nearest_name
from simjudge.data.rosbag2.cloud_messages import CLOUD_TYPE
from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.data.rosbag2.recorded_poses import decoded_messages, header_stamp
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.storage import is_recording
from simjudge.geometry.keyframes import Keyframes
from simjudge.geometry.poses import Pose, Trajectory
from simjudge.geometry.trajectories import DEFAULT_MOTION_LIMITS, MotionLimits, TrajectoryInterpolator
from simjudge.sim.capture.camera_poses import CameraPoses
from simjudge.sim.capture.render_plan import PlacedScene, RenderPlan
from simjudge.sim.capture.sensor_feed import LidarCapture, SensorEvent, scripted_motion
from simjudge.sim.capture.sensor_record import SensorMessages
from simjudge.sim.engines.contract import Engine
from simjudge.sim.sensors.inertial.inertial_sensor import InertialSensor, Readings, WheelEncoders, rolling_wheels
from simjudge.sim.sensors.inertial.motion import SECOND, Motion, motion_of_trajectory
from simjudge.sim.sensors.inertial.sensor_tables import EncodersSpec
from simjudge.sim.sensors.lidar.lidar import LidarSpec
from simjudge.sim.sensors.sensor_messages import TF_TOPIC, TRUTH
from simjudge.sim.sensors.sensor_spec import CAR, SensorSpec
from simjudge.sim.vehicle.vehicle import Vehicle
from simjudge.sim.vehicle.vehicle_messages import Frames, VehicleMessages

_KEYFRAME = 5_000_000  # Nanoseconds between the poses that a turn is interpolated from, at most
WITHOUT_POSES = "scans during whose turn the poses are not known"


@dataclass(frozen=True, eq=False, repr=False)
class SensorReplay(ShortRepr):
    """Sensors on a body with recorded poses."""

    specs: tuple[SensorSpec, ...]
    body: Trajectory  # the recorded poses, in the scene's world, on the clock of the output
    limits: MotionLimits  # how far apart poses may be, and how fast the body may move
    vehicle: Vehicle | None  # whose wheels encoders count; None where no car is known
    seed: int = 0
    # Seconds over which poses are averaged for inertial sensors; 0: the motion goes through every pose.
    smoothing: float = 0.0
    cloud_stamps: IntArray | None = None  # of the recording's own clouds, nanoseconds; None where it has none
    start: int = 0  # stamp at which the scene starts, nanoseconds; what follows a path moves from then on

    def __post_init__(self) -> None:
        check_along_poses(self.specs, self.vehicle)

    def events(self, engine: Engine, losses: Losses) -> Iterator[SensorEvent]:
        """All readings, sensor by sensor."""
        moving = [spec for spec in self.specs if not isinstance(spec, LidarSpec)]
        motion = motion_of_trajectory(self.body, limits=self.limits, smoothing=self.smoothing) if moving else None
        for spec in self.specs:
            if isinstance(spec, LidarSpec):
                yield from self._scans(engine, spec, losses)
            elif motion is not None:
                readings = self._readings(spec, motion)
                for row in range(len(readings)):
                    one = readings.where(np.arange(len(readings)) == row)
                    yield SensorEvent(int(one.available[0]), int(one.stamp[0]), spec, one)

    def _readings(self, spec: SensorSpec, motion: Motion) -> Readings:
        if isinstance(spec, EncodersSpec) and self.vehicle is not None:
            car = self.vehicle
            wheels = rolling_wheels(motion, car.wheelbase, car.track, car.wheel_radius)
            return WheelEncoders(spec, self.seed).read(wheels)
        return InertialSensor(spec, self.seed).read(motion)

    def _scans(self, engine: Engine, spec: LidarSpec, losses: Losses) -> Iterator[SensorEvent]:
        path = TrajectoryInterpolator(self.body, self.limits)
        window, lag = round(spec.window * SECOND), round(spec.lag * SECOND)
        capture = LidarCapture(engine, spec.model(), self.seed, spec.filters)
        for stamp in self._stamps(spec).tolist():
            steps = max(-(-window // _KEYFRAME), 1)
            times = np.unique(stamp - window + np.arange(steps + 1) * window // steps)
            if not path.covers(times).all() or path.in_gap(times).any():
                losses.add(WITHOUT_POSES, f"{spec.name} at {stamp / SECOND:.3f} s")
                continue
            poses = [[pose @ spec.mount] for pose in path.poses(times)]
            seconds = ((times - stamp) / SECOND).tolist()
            motion = scripted_motion(engine.scene, seconds, (stamp - self.start) / SECOND)
            scan = capture.capture(stamp, Keyframes.build(seconds, poses), motion)
            if scan is not None:
                yield SensorEvent(stamp + lag, stamp, spec, scan)

    def _stamps(self, spec: LidarSpec) -> IntArray:
        """Ends of turns: of the recording's clouds, else at the lidar's rate from the first pose on."""
        if self.cloud_stamps is not None:
            return self.cloud_stamps
        first, last = self.body.stamp[[0, -1]].tolist()
        begin = first + round(spec.window * SECOND)
        count = max(int((last - begin) / SECOND * spec.rate) + 1, 0)
        stamps: IntArray = begin + np.rint(np.arange(count) * (SECOND / spec.rate)).astype(np.int64)
        return stamps


def check_along_poses(specs: Sequence[SensorSpec], vehicle: Vehicle | None) -> None:
    """Refuse sensors whose readings poses of one body (the vehicle's, or another's) cannot tell."""
    for spec in specs:
        spec.check_placed()
        if spec.source != "simjudge":
            raise UsageError(f"sensor {spec.name}: source {spec.source}: along given poses simjudge alone computes it")
        if spec.body != CAR:
            raise UsageError(f"sensor {spec.name}: mount.body {spec.body}: the poses are of the car alone")
        if isinstance(spec, EncodersSpec) and vehicle is None:
            raise UsageError(f"sensor {spec.name}: encoders need a car: give --vehicle in place of --mount")


def body_in_scene(trajectory: Trajectory, alignment: Pose, offset: int) -> Trajectory:
    """Recorded poses in the scene's world, on the clock of the output: its stamps plus `offset` nanoseconds."""
    turned = Rotation.from_quat(alignment.orientation) * Rotation.from_quat(trajectory.orientation)
    return replace(
        trajectory,
        stamp=trajectory.stamp - offset,
        position=alignment.to_world(trajectory.position),
        orientation=turned.as_quat(),
    )


def recorded_cloud_stamps(path: Path, topic: str | None, losses: Losses) -> IntArray | None:
    """Stamps of the clouds of a recording: nanoseconds, increasing; None where there are no clouds."""
    recording = Recording(path) if is_recording(path) else None
    infos = [] if recording is None else recording.topic_infos()
    held = [info.topic for info in infos if info.type == CLOUD_TYPE and not info.topic.endswith(f"/{TRUTH}")]
    if topic is not None and topic not in held:
        raise UsageError(f"{path}: {topic} is no topic of clouds{nearest_name(topic, held)}")
    if topic is None and len(held) > 1:
        raise UsageError(f"{path}: has clouds on {', '.join(held)}; name the topic (--cloud-topic)")
    if recording is None or not held:
        return None
    decoded = decoded_messages(recording, {topic or held[0]}, losses)
    stamps = np.array([header_stamp(message.header) for _, message in decoded], np.int64)
    losses.extend(recording.losses)
    return np.unique(stamps)


class SensorTransforms:
    """Where the sensors are in the frame that the poses are recorded in (tf)."""

    def __init__(self, specs: Sequence[SensorSpec], trajectory: Trajectory, fixed_frame: str) -> None:
        """Remember them (trajectory: the body's poses in the fixed frame, on the clock of the output)."""
        types = standard_types().types
        self._maker = VehicleMessages(lambda name: types[name], Frames(odom=fixed_frame))
        self._specs, self._path = specs, TrajectoryInterpolator(trajectory)

    def at(self, stamps: Iterable[int]) -> Iterator[tuple[str, Any]]:
        """Topic and message of all sensors at some times (stamps: nanoseconds, within the time of the poses)."""
        times = sorted(set(stamps))
        for stamp, body in zip(times, self._path.poses(np.array(times, np.int64)), strict=True):
            placed = {f"{spec.name}_link": body @ spec.mount for spec in self._specs}
            yield TF_TOPIC, self._maker.placed(stamp, placed)


class MessagesByFrame:
    """The sensors' messages, dealt to the frames of a replay by the time from which on they can be read."""

    def __init__(
        self,
        events: Sequence[SensorEvent],
        specs: Sequence[SensorSpec],
        frame_stamps: IntArray,
        class_names: Mapping[int, str],
        transforms: SensorTransforms | None = None,
    ) -> None:
        """Deal them: each to the first frame at or after its time, what comes after the last one to that."""
        types = standard_types().types
        self._frame_stamps, self._transforms = frame_stamps, transforms
        self._maker = SensorMessages(lambda name: types[name], specs, class_names)
        self._of_frame: dict[int, list[SensorEvent]] = defaultdict(list)
        ordered = sorted(events, key=lambda event: event.time)
        rows = np.searchsorted(frame_stamps, [event.time for event in ordered])
        for row, event in zip(np.minimum(rows, len(frame_stamps) - 1).tolist(), ordered, strict=True):
            self._of_frame[row].append(event)

    def of(self, index: int) -> Iterator[tuple[str, Any]]:
        """Topic and message of what belongs to a frame."""
        events = self._of_frame[index]
        if self._transforms is not None:
            scans = (event.stamp for event in events if isinstance(event.spec, LidarSpec))
            yield from self._transforms.at((int(self._frame_stamps[index]), *scans))
        for topic, _, message in self._maker.messages(events):
            yield f"/{topic}", message


FIXED_FRAME = "map"  # The scene's own frame in a recording


def check_rendered_sensors(specs: Sequence[SensorSpec], poses: CameraPoses, vehicle: Vehicle | None) -> None:
    """Refuse sensors whose readings these poses (of a vehicle, or of another body) cannot tell."""
    check_along_poses(specs, vehicle)
    moving = [spec for spec in specs if not isinstance(spec, LidarSpec)]
    if moving and poses.path() is None:
        raise UsageError(
            f"sensor {moving[0].name}: {moving[0].kind} needs a body that moves; give --poses path or a file of poses"
            " with times, for random poses have none"
        )


class RenderedSensors:
    """The messages of all sensors, frame by frame, and where the sensors are (tf)."""

    def __init__(self, plan: RenderPlan, placed: PlacedScene) -> None:
        """Compute what needs no scene: the readings along the path."""
        types = standard_types().types
        self._plan, self._placed = plan, placed
        names = placed.engine.scene.class_names
        self._maker = SensorMessages(lambda name: types[name], plan.sensors, names)
        self._transforms = VehicleMessages(lambda name: types[name], Frames(odom=FIXED_FRAME))
        self._lidars = [spec for spec in plan.sensors if isinstance(spec, LidarSpec)]
        path = plan.poses.path()
        self._path = None if path is None or len(path) < 2 else TrajectoryInterpolator(path)
        moving = tuple(spec for spec in plan.sensors if not isinstance(spec, LidarSpec))
        self._readings = None
        if moving and path is not None:
            replayed = SensorReplay(moving, path, DEFAULT_MOTION_LIMITS, plan.vehicle, plan.seed)
            events = list(replayed.events(placed.engine, Losses()))
            stamps = np.array(plan.poses.stamp, np.int64)
            self._readings = MessagesByFrame(events, plan.sensors, stamps, names)

    def messages(self, index: int) -> Iterator[tuple[str, Any]]:
        """Topic and message of what belongs to a frame."""
        stamp, engine = self._plan.poses.stamp[index], self._placed.engine_for(index)
        camera = self._plan.poses.at(index, [stamp], engine)[0]
        body = camera @ self._plan.poses.mount.inverse()
        frames = {f"{spec.name}_link": body @ spec.mount for spec in self._plan.sensors}
        yield TF_TOPIC, self._transforms.placed(stamp, frames)
        if self._readings is not None:
            yield from self._readings.of(index)
        for spec in self._lidars:
            capture = LidarCapture(engine, spec.model(), self._plan.seed, spec.filters)
            # Nanoseconds from the end of a turn at which poses are taken, in order.
            window = round(spec.window * SECOND)
            steps = max(-(-window // _KEYFRAME), 1)
            times = np.unique(-window + np.arange(steps + 1) * window // steps)
            start = (stamp - self._plan.poses.stamp[0]) / SECOND
            motion = scripted_motion(engine.scene, (times / SECOND).tolist(), start)
            scan = capture.capture(stamp, self._during_turn(spec, stamp, times, body), motion)
            if scan is None:
                continue
            for topic, _, message in self._maker.messages([SensorEvent(stamp, stamp, spec, scan)]):
                yield f"/{topic}", message

    def _during_turn(self, spec: LidarSpec, stamp: int, times: IntArray, body: Pose) -> Keyframes:
        """Poses of the lidar from the begin of its turn to the end, seconds from the end."""
        path = self._path
        if path is None:
            return Keyframes.build([0.0], [[body @ spec.mount]])
        first = int(path.trajectory.stamp[0])
        moved = np.unique(np.maximum(stamp + times, first))
        known = path.covers(moved).all() and not path.in_gap(moved).any() and not len(path.jumps(int(moved[0]), stamp))
        if not known:
            return Keyframes.build([0.0], [[body @ spec.mount]])
        poses = [[pose @ spec.mount] for pose in path.poses(moved)]
        return Keyframes.build(((moved - stamp) / SECOND).tolist(), poses)
