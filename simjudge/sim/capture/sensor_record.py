"""What a recording, or a graph, holds of a car's sensors beside its camera: readings, and the truth beside each.

Topics are those of `simjudge.sim.sensors.sensor_topics`; the truth is on TOPIC/ground_truth, of the same type. A lidar
has the labelled things' boxes on TOPIC/boxes, and where vision_msgs is installed on TOPIC/boxes/vision. Frames are
NAME_link. A gyroscope and an accelerometer of one place share a message where their readings have the same stamp.
Sensors of Chrono's own have neither truth nor boxes; their clouds hold x, y, z and intensity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import FloatArray
from simjudge.data.rosbag2.cloud_messages import VISION, cloud_message, has_vision_msgs, vision_boxes
from simjudge.data.rosbag2.interfaces import BOXES_3D
from simjudge.sim.capture.scanning import CapturedScan, ObjectBoxes
from simjudge.sim.capture.sensor_readers import SensorEvent
from simjudge.sim.engines.chrono.feed import Reading
from simjudge.sim.sensors.inertial.inertial_fields import ImuSpec, InertialSpec
from simjudge.sim.sensors.inertial.position_fields import EncodersSpec
from simjudge.sim.sensors.lidar.laser_scan import makes_laser_scans, scan_message
from simjudge.sim.sensors.lidar.lidar_fields import LidarSpec
from simjudge.sim.sensors.lidar.point_cloud import point_table, true_point_table
from simjudge.sim.sensors.sensor_messages import imu_message, joint_message, single_sensor_message
from simjudge.sim.sensors.sensor_spec import SensorSpec
from simjudge.sim.sensors.sensor_topics import BOXES, TRUTH, laser_topic, sensor_topics

_SECOND = 1_000_000_000
_OWN_POINT = np.dtype([(name, "<f4") for name in ("x", "y", "z", "intensity")])


class TopicMessage(NamedTuple):
    """A message and where it belongs.

    Attributes:
        stamp: nanoseconds, of its header.
        message: of the types that the maker was given.
    """

    topic: str
    stamp: int
    message: Any


class SensorMessages:
    """Makes the messages of a car's sensors."""

    def __init__(
        self, find: Callable[[str], Any], specs: Sequence[SensorSpec], class_names: Mapping[int, str] | None = None,
        frame_prefix: str = "",
    ) -> None:  # fmt: skip
        """Remember the sensors."""
        self._find, self._class_names = find, dict(class_names or {})
        self._vision = has_vision_msgs()
        self._topic = sensor_topics(specs)
        self._frame: dict[str, str] = {}
        for spec in specs:
            # Sensors of one topic sit at one place: the frame of the first in the file stands for it.
            self._frame.setdefault(self._topic[spec.name], f"{frame_prefix}{spec.name}_link")

    def messages(self, events: Sequence[SensorEvent], offset: int = 0) -> Iterator[TopicMessage]:
        """The messages of readings that are handed over at one time.

        Args:
            offset: nanoseconds added to the stamps.
        """
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
            if known := [each for each in readings if not isinstance(each.reading, Reading)]:
                yield TopicMessage(f"{topic}/{TRUTH}", stamp, self._reading(header, known, truth=True))

    def _header(self, topic: str, stamp: int) -> Any:
        seconds, nanoseconds = divmod(stamp, _SECOND)
        time = self._find("builtin_interfaces/msg/Time")(sec=seconds, nanosec=nanoseconds)
        return self._find("std_msgs/msg/Header")(stamp=time, frame_id=self._frame[topic])

    def _reading(self, header: Any, events: Sequence[SensorEvent], *, truth: bool) -> Any:
        """One message of one reading, or of a gyroscope's and an accelerometer's."""
        parts = {event.spec.kind: (_values(event, truth=truth), _variance(event.spec, truth=truth)) for event in events}
        spec = events[0].spec
        if isinstance(spec, EncodersSpec):
            per_tick = 2 * np.pi / (spec.ticks * spec.gear)
            return joint_message(self._find, header, [f"wheel_{wheel}" for wheel in spec.wheels],
                                 parts["encoders"][0] * per_tick)  # fmt: skip
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
