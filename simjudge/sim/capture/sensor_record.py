"""What a recording, or a graph, holds of a car's cameras and sensors, message by message, and the truth beside it.

Topics are those of `simjudge.sim.sensors.sensor_messages`; the truth is on TOPIC/ground_truth, of the same type. A
lidar has the labelled things' boxes on TOPIC/boxes, and where vision_msgs is installed on TOPIC/boxes/vision. Frames
are NAME_link. A gyroscope and an accelerometer of one place share a message where their readings have the same stamp.
Sensors of Chrono's own have neither truth nor boxes; their clouds hold x, y, z and intensity.

A car's sensors beside the camera along poses that are known: those of a replay or of a rendering.

In a replay the body moves as recorded, through a smooth motion for inertial sensors and pose by pose (linear, slerp)
for lidars; everything else stands where the scene has it. A lidar makes one scan for each cloud of the recording, at
its stamp, and scans at its own rate where the recording has none.

In a rendering it moves along its poses likewise, with a scan for each frame and other readings along a path with
times; everything else is where the scene has it then. Before its first pose, and where its poses are too far apart to
tell how it moved, the body stands during a scan: so it does for the images.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.core.errors import Losses, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.images import EncodedImage, RgbImage
from simjudge.core.object_tables import Predictions
from simjudge.core.text import nearest_name
from simjudge.data.clouds import radar_fields
from simjudge.data.rosbag2.cloud_writing import CLOUD_TYPE, VISION, cloud_message, has_vision_msgs, vision_boxes
from simjudge.data.rosbag2.interfaces import (
    BOXES_3D,
    CAMERA,
    CAMERA_INFO,
    DETECTIONS,
    LABELS,
    header_stamp,
    optical_frame,
    standard_types,
)
from simjudge.data.rosbag2.live_recording import MessageRecording
from simjudge.data.rosbag2.recorded_poses import decoded_messages
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.storage import is_recording
from simjudge.data.rosbag2.writing import MessageMaker, camera_topics
from simjudge.detectors.detector import Detections
from simjudge.geometry.keyframes import Keyframes
from simjudge.geometry.poses import Pose, Trajectory
from simjudge.geometry.trajectories import DEFAULT_MOTION_LIMITS, MotionLimits, TrajectoryInterpolator
from simjudge.sim.capture.camera_poses import CameraPoses
from simjudge.sim.capture.capture import CapturedFrame, CapturedImage
from simjudge.sim.capture.radar_capture import CapturedRadar
from simjudge.sim.capture.render_plan import PlacedScene, RenderPlan
from simjudge.sim.capture.sensor_feed import (
    CapturedScan,
    ObjectBoxes,
    RaySpec,
    SensorEvent,
    ray_capture,
    scripted_motion,
)
from simjudge.sim.engines.chrono.other_sensors import Reading
from simjudge.sim.engines.contract import Engine
from simjudge.sim.scene.model import Scene
from simjudge.sim.sensors.camera.rig import MountedCamera
from simjudge.sim.sensors.inertial.inertial_sensor import InertialSensor, Readings, WheelEncoders, rolling_wheels
from simjudge.sim.sensors.inertial.motion import SECOND, Motion, motion_of_trajectory
from simjudge.sim.sensors.inertial.sensor_tables import EncodersSpec, ImuSpec, InertialSpec
from simjudge.sim.sensors.lidar.lidar import LidarSpec
from simjudge.sim.sensors.lidar.scan import makes_laser_scans, point_table, scan_message, true_point_table
from simjudge.sim.sensors.radar.detections import (
    detection_table,
    has_radar_msgs,
    radar_scan_message,
    true_detection_table,
)
from simjudge.sim.sensors.radar.radar import RadarSpec
from simjudge.sim.sensors.sensor_messages import (
    BOXES,
    TF_TOPIC,
    TRUTH,
    CameraMessages,
    imu_message,
    joint_message,
    laser_topic,
    radar_scan_topic,
    sensor_topics,
    single_sensor_message,
)
from simjudge.sim.sensors.sensor_spec import CAR, SensorSpec
from simjudge.sim.vehicle.vehicle import Vehicle
from simjudge.sim.vehicle.vehicle_messages import Frames, VehicleMessages

_SECOND = 1_000_000_000
_OWN_POINT = np.dtype([(name, "<f4") for name in ("x", "y", "z", "intensity")])


class TopicMessage(NamedTuple):
    """A message and where it belongs."""

    topic: str
    stamp: int  # nanoseconds, of its header
    message: Any  # of the types that the maker was given


class SensorMessages:
    """Makes the messages of a car's sensors."""

    def __init__(
        self,
        find: Callable[[str], Any],
        specs: Sequence[SensorSpec],
        class_names: Mapping[int, str] | None = None,
        frame_prefix: str = "",
    ) -> None:
        self._find, self._class_names = find, dict(class_names or {})
        self._vision = has_vision_msgs()
        self._topic = sensor_topics(specs)
        self._frame: dict[str, str] = {}
        for spec in specs:
            # Sensors of one topic sit at one place: the frame of the first in the file stands for it.
            self._frame.setdefault(self._topic[spec.name], f"{frame_prefix}{spec.name}_link")

    def messages(self, events: Sequence[SensorEvent], offset: int = 0) -> Iterator[TopicMessage]:
        """The messages of readings that are handed over at one time (offset: nanoseconds added to the stamps)."""
        together: dict[tuple[str, int], list[SensorEvent]] = {}
        for event in events:
            together.setdefault((self._topic[event.spec.name], event.stamp + offset), []).append(event)
        for (topic, stamp), readings in together.items():
            header = self._header(topic, stamp)
            if isinstance(readings[0].reading, CapturedScan):
                for name, message in self._scan(topic, stamp, readings[0].reading):
                    yield TopicMessage(name, stamp, message)
                continue
            if isinstance(readings[0].reading, CapturedRadar):
                for name, message in self._detections(topic, header, readings[0].reading):
                    yield TopicMessage(name, stamp, message)
                continue
            if isinstance(readings[0].spec, LidarSpec):
                yield TopicMessage(topic, stamp, cloud_message(self._find, header, _own_points(readings[0].reading)))
                continue
            yield TopicMessage(topic, stamp, self._reading(header, readings, truth=False))
            # Of Chrono's own sensors no truth is known.
            if known := [reading for reading in readings if not isinstance(reading.reading, Reading)]:
                yield TopicMessage(f"{topic}/{TRUTH}", stamp, self._reading(header, known, truth=True))

    def _header(self, topic: str, stamp: int) -> Any:
        seconds, nanoseconds = divmod(stamp, _SECOND)
        time = self._find("builtin_interfaces/msg/Time")(sec=seconds, nanosec=nanoseconds)
        return self._find("std_msgs/msg/Header")(stamp=time, frame_id=self._frame[topic])

    def _reading(self, header: Any, events: Sequence[SensorEvent], *, truth: bool) -> Any:
        parts = {event.spec.kind: (_values(event, truth=truth), _variance(event.spec, truth=truth)) for event in events}
        spec = events[0].spec
        if isinstance(spec, EncodersSpec):
            per_tick = 2 * np.pi / (spec.ticks * spec.gear)
            return joint_message(
                self._find, header, [f"wheel_{wheel}" for wheel in spec.wheels], parts["encoders"][0] * per_tick
            )
        if len(parts) == 1:
            values, variance = parts[spec.kind]
            return single_sensor_message(self._find, header, spec.kind, values, variance)
        (turn, turn_variance), (force, force_variance) = parts["gyroscope"], parts["accelerometer"]
        return imu_message(self._find, header, turn, force, np.concatenate([turn_variance, force_variance]))

    def _scan(self, topic: str, stamp: int, captured: CapturedScan) -> Iterator[tuple[str, Any]]:
        lidar, scan, header = captured.lidar, captured.scan, self._header(topic, stamp)
        yield topic, cloud_message(self._find, header, point_table(scan))
        if makes_laser_scans(lidar):
            first = stamp - round(lidar.window * _SECOND)
            yield laser_topic(topic), scan_message(self._find, self._header(topic, first), lidar, scan)
        table = true_point_table(scan, captured.class_id, captured.instance)
        yield f"{topic}/{TRUTH}", cloud_message(self._find, header, table)
        boxes = self._boxes(header, captured.boxes)
        yield f"{topic}/{BOXES}", boxes
        if self._vision:
            yield f"{topic}/{BOXES}/{VISION}", vision_boxes(self._find, boxes)

    def _detections(self, topic: str, header: Any, captured: CapturedRadar) -> Iterator[tuple[str, Any]]:
        yield topic, cloud_message(self._find, header, detection_table(captured.found))
        table = true_detection_table(captured.found, captured.class_id, captured.instance)
        yield f"{topic}/{TRUTH}", cloud_message(self._find, header, table)
        if has_radar_msgs():
            yield radar_scan_topic(topic), radar_scan_message(self._find, header, captured.found)

    def _boxes(self, header: Any, boxes: ObjectBoxes) -> Any:
        box, pose = self._find("simjudge_msgs/msg/LabelledBox"), self._find("geometry_msgs/msg/Pose")
        point, turn = self._find("geometry_msgs/msg/Point"), self._find("geometry_msgs/msg/Quaternion")
        vector = self._find("geometry_msgs/msg/Vector3")
        made = []
        for row in range(len(boxes)):
            x, y, z, w = Rotation.from_matrix(boxes.rotation[row]).as_quat().tolist()
            class_id = int(boxes.class_id[row])
            made.append(
                box(
                    class_id=class_id,
                    class_name=self._class_names.get(class_id, ""),
                    instance_id=int(boxes.instance[row]),
                    pose=pose(position=_xyz(point, boxes.centre[row]), orientation=turn(x=x, y=y, z=z, w=w)),
                    size=_xyz(vector, boxes.size[row]),
                    points=int(boxes.points[row]),
                )
            )
        return self._find(BOXES_3D)(header=header, boxes=made)


def _xyz(kind: Any, values: FloatArray) -> Any:
    x, y, z = values.tolist()
    return kind(x=x, y=y, z=z)


def _values(event: SensorEvent, *, truth: bool) -> FloatArray:
    reading = event.reading
    assert not isinstance(reading, CapturedScan | CapturedRadar)  # noqa: S101 - scans have messages of their own
    if isinstance(reading, Reading):
        return reading.values
    values: FloatArray = (reading.truth if truth else reading.values)[0]
    return values


def _own_points(reading: object) -> npt.NDArray[np.void]:
    """The table of a cloud of Chrono's own lidar: x, y, z, intensity."""
    assert isinstance(reading, Reading)  # noqa: S101 - other scans were made before
    return np.ascontiguousarray(reading.values, np.float32).view(_OWN_POINT)[:, 0]


def _variance(spec: SensorSpec, *, truth: bool) -> FloatArray:
    """Of one reading's white noise; the truth has none."""
    deviation = np.zeros(3)
    if isinstance(spec, ImuSpec):
        deviation = np.array([*spec.gyroscope.deviation, *spec.accelerometer.deviation])
    elif isinstance(spec, InertialSpec):
        deviation = np.array(spec.deviation)
    return np.zeros_like(deviation) if truth else deviation**2


class CameraRecorder:
    """Writes the frames of one camera: image, camera_info, labels, depth, and what else is asked for."""

    def __init__(
        self,
        recording: MessageRecording,
        mounted: MountedCamera,
        scene: Scene,
        car: VehicleMessages,
        *,
        placed: bool = False,
        label_images: bool = False,
    ) -> None:
        """Remember where to write (label_images: whether the class and the instance of each pixel are written too)."""
        self._placed, self._label_images = placed or mounted.follow is not None, label_images
        self._recording, self._mounted, self._scene, self._car = recording, mounted, scene, car
        self._topics, self._frame_id = camera_topics(mounted.name), optical_frame(mounted.name)
        self._messages = CameraMessages(mounted.calibration(), "", self._frame_id)

    def record(self, time: int, captured: CapturedFrame, detections: Detections | None = None) -> None:
        """Write a frame (time of the recording, nanoseconds; detections: what a detector found)."""
        frames = single_frame_set(captured, self._mounted.camera.lens.size, self._scene, detections)
        maker = MessageMaker(standard_types(), frames, np.array([captured.stamp]), self._frame_id)
        self._recording.write(self._topics[CAMERA_INFO], time, self._messages.info(captured.stamp))
        if self._placed:
            where = self._car.placed(captured.stamp, {self._frame_id: captured.camera_pose})
            self._recording.write(TF_TOPIC, time, where)
        image = maker.image(0)
        if image is not None:
            self._recording.write(self._topics[image[0]], time, image[1])
        if captured.depth is not None:
            for topic, message in self._messages.depth(captured.stamp, captured.depth, self._mounted.name):
                self._recording.write(topic, time, message)
        if self._label_images:
            for kind, values in (("semantic", captured.labels.class_id), ("instance", captured.labels.instance)):
                topic, message = self._messages.label_image(captured.stamp, kind, values, self._mounted.name)
                self._recording.write(topic, time, message)
        self._recording.write(self._topics[LABELS], time, maker.labels(0))
        if detections is not None:
            self._recording.write(self._topics[DETECTIONS], time, maker.detections(0))


def fixed_mounts(mounts: Mapping[str, Pose], cameras: Sequence[MountedCamera]) -> dict[str, Pose]:
    """Where sensors and cameras sit on a car."""
    own = {
        name: pose for name, pose in mounts.items() if name != CAMERA or CAMERA in {camera.name for camera in cameras}
    }
    return {**own, **{camera.name: camera.mount for camera in cameras if camera.follow is None}}


def single_frame_set(
    captured: CapturedFrame, size: tuple[int, int], scene: Scene, detections: Detections | None
) -> FrameSet:
    """A frame of a drive as a set of one frame (size: width and height, pixels; detections: what a detector found)."""
    found = None
    if detections is not None:
        zeros = np.zeros(len(detections))
        found = Predictions.build(zeros, detections.class_id, detections.box, detections.score)
    return FrameSet.build(
        scene.name,
        [size],
        captured.truth.objects,
        found,
        stamp=[captured.stamp],
        class_names=dict(scene.class_names),
        images=_SingleImage(captured.image),
    )


@dataclass(frozen=True)
class _SingleImage:
    """The image of a set of one frame."""

    image: CapturedImage | None

    def __len__(self) -> int:
        return 1

    def has(self, index: int) -> bool:
        """Whether the image was made."""
        return index == 0 and self.image is not None

    def read(self, index: int) -> RgbImage:
        del index
        assert self.image is not None  # noqa: S101 - has() says so
        return self.image.pixels

    def read_encoded(self, index: int) -> EncodedImage | None:
        """The camera's JPEG, else a PNG."""
        del index
        return None if self.image is None else self.image.stored()


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
        moving = [spec for spec in self.specs if not isinstance(spec, RaySpec)]
        motion = motion_of_trajectory(self.body, limits=self.limits, smoothing=self.smoothing) if moving else None
        for spec in self.specs:
            if isinstance(spec, RaySpec):
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

    def _scans(self, engine: Engine, spec: LidarSpec | RadarSpec, losses: Losses) -> Iterator[SensorEvent]:
        path = TrajectoryInterpolator(self.body, self.limits)
        window, lag = round(spec.window * SECOND), round(spec.lag * SECOND)
        capture = ray_capture(engine, spec, self.seed)
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

    def _stamps(self, spec: LidarSpec | RadarSpec) -> IntArray:
        """Ends of scans: a lidar's of the recording's clouds, else at the sensor's rate from the first pose on."""
        if self.cloud_stamps is not None and isinstance(spec, LidarSpec):
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
    """Stamps of the clouds of a recording: nanoseconds, increasing; None where there are no clouds.

    A radar's detections are clouds only where their topic is named.
    """
    recording = Recording(path) if is_recording(path) else None
    infos = [] if recording is None else recording.topic_infos()
    held = [info.topic for info in infos if info.type == CLOUD_TYPE and not info.topic.endswith(f"/{TRUTH}")]
    if topic is not None and topic not in held:
        raise UsageError(f"{path}: {topic} is no topic of clouds{nearest_name(topic, held)}")
    if topic is None and recording is not None:
        held = [name for name in held if not _is_of_radar(recording, name)]
    if topic is None and len(held) > 1:
        raise UsageError(f"{path}: has clouds on {', '.join(held)}; name the topic (--cloud-topic)")
    if recording is None or not held:
        return None
    decoded = decoded_messages(recording, {topic or held[0]}, losses)
    stamps = np.array([header_stamp(message.header) for _, message in decoded], np.int64)
    losses.extend(recording.losses)
    return np.unique(stamps)


def _is_of_radar(recording: Recording, topic: str) -> bool:
    """Whether a topic's first cloud that can be read has the fields of a radar's detections."""
    first = next((message for _, message in decoded_messages(recording, {topic}, Losses())), None)
    return first is not None and radar_fields([field.name for field in first.fields]) is not None


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
            scans = (event.stamp for event in events if isinstance(event.spec, RaySpec))
            yield from self._transforms.at((int(self._frame_stamps[index]), *scans))
        for topic, _, message in self._maker.messages(events):
            yield f"/{topic}", message


FIXED_FRAME = "map"  # The scene's own frame in a recording


def check_rendered_sensors(specs: Sequence[SensorSpec], poses: CameraPoses, vehicle: Vehicle | None) -> None:
    """Refuse sensors whose readings these poses (of a vehicle, or of another body) cannot tell."""
    check_along_poses(specs, vehicle)
    moving = [spec for spec in specs if not isinstance(spec, RaySpec)]
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
        self._scanning = [spec for spec in plan.sensors if isinstance(spec, RaySpec)]
        path = plan.poses.path()
        self._path = None if path is None or len(path) < 2 else TrajectoryInterpolator(path)
        moving = tuple(spec for spec in plan.sensors if not isinstance(spec, RaySpec))
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
        for spec in self._scanning:
            capture = ray_capture(engine, spec, self._plan.seed)
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

    def _during_turn(self, spec: LidarSpec | RadarSpec, stamp: int, times: IntArray, body: Pose) -> Keyframes:
        """Poses of the sensor from the begin of its turn to the end, seconds from the end."""
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
