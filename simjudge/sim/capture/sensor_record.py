"""What a recording, or a graph, holds of a car's cameras and sensors, message by message, and the truth beside it.

Topics are those of `simjudge.sim.sensors.sensor_messages`; the truth is on TOPIC/ground_truth, of the same type. A
lidar has the labelled things' boxes on TOPIC/boxes, and where vision_msgs is installed on TOPIC/boxes/vision. Frames
are NAME_link. A gyroscope and an accelerometer of one place share a message where their readings have the same stamp.
Sensors of Chrono's own have neither truth nor boxes; their clouds hold x, y, z and intensity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import FloatArray
from simjudge.core.frames import FrameSet
from simjudge.core.images import EncodedImage, RgbImage
from simjudge.core.object_tables import Predictions
from simjudge.data.rosbag2.cloud_messages import VISION, cloud_message, has_vision_msgs, vision_boxes
from simjudge.data.rosbag2.interfaces import BOXES_3D, CAMERA_INFO, DETECTIONS, LABELS, standard_types
from simjudge.data.rosbag2.live_recording import MessageRecording
from simjudge.data.rosbag2.writing import CAMERA, MessageMaker, camera_topics, optical_frame
from simjudge.detectors.detector import Detections
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.capture import CapturedFrame, CapturedImage
from simjudge.sim.capture.sensor_feed import CapturedScan, ObjectBoxes, SensorEvent
from simjudge.sim.engines.chrono.other_sensors import Reading
from simjudge.sim.scene.model import Scene
from simjudge.sim.sensors.camera.rig import MountedCamera
from simjudge.sim.sensors.inertial.sensor_tables import EncodersSpec, ImuSpec, InertialSpec
from simjudge.sim.sensors.lidar.lidar import LidarSpec
from simjudge.sim.sensors.lidar.scan import makes_laser_scans, point_table, scan_message, true_point_table
from simjudge.sim.sensors.sensor_messages import (
    BOXES,
    TF_TOPIC,
    TRUTH,
    CameraMessages,
    imu_message,
    joint_message,
    laser_topic,
    sensor_topics,
    single_sensor_message,
)
from simjudge.sim.sensors.sensor_spec import SensorSpec
from simjudge.sim.vehicle.vehicle_messages import VehicleMessages

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
    assert not isinstance(reading, CapturedScan)  # noqa: S101 - scans have messages of their own
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
