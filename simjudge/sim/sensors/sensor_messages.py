"""Cameras' calibration and pose, and readings of a car's sensors with the truth beside them, as messages, by topic.

One maker serves recordings (`rosbags`) and nodes (rclpy): it is told how to find a type by its name. Where there is one
sensor of a kind, its topic is the usual one: imu/data, imu/mag, gps/fix, scan/points,
radar/detections, wheels/joint_states; where there
are several, each has its own name in front of the slash. One accelerometer and one gyroscope at one place share
imu/data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.errors import SimjudgeError
from simjudge.core.images import ImageError
from simjudge.data.rosbag2.interfaces import BOXES_3D, CAMERA, CAMERA_INFO, FRAME_ID, IMAGE, RADAR_SCAN, standard_types
from simjudge.data.rosbag2.writing import DEFAULT_TOPICS, camera_topics
from simjudge.geometry.poses import Pose
from simjudge.sim.sensors.camera.calibration import Calibration
from simjudge.sim.sensors.camera.depth_filters import DepthImage, depth_message_fields, depth_topics
from simjudge.sim.sensors.lidar.lidar import LidarSpec
from simjudge.sim.sensors.lidar.scan import SCAN_TYPE, makes_laser_scans
from simjudge.sim.sensors.radar.detections import has_radar_msgs
from simjudge.sim.sensors.sensor_spec import SensorSpec

IMU_TYPE = "sensor_msgs/msg/Imu"
# The message type of each kind of sensor.
TYPES = {
    "accelerometer": IMU_TYPE,
    "gyroscope": IMU_TYPE,
    "imu": IMU_TYPE,
    "magnetometer": "sensor_msgs/msg/MagneticField",
    "gps": "sensor_msgs/msg/NavSatFix",
    "encoders": "sensor_msgs/msg/JointState",
    "lidar": "sensor_msgs/msg/PointCloud2",
    "radar": "sensor_msgs/msg/PointCloud2",
}
_UNKNOWN = -1.0  # First element of a covariance where that part of a message says nothing (sensor_msgs/Imu)
# NavSatStatus.STATUS_FIX, SERVICE_GPS; NavSatFix.COVARIANCE_TYPE_DIAGONAL_KNOWN, COVARIANCE_TYPE_UNKNOWN.
_GPS_FIX, _GPS_SERVICE, _DIAGONAL_KNOWN, _COVARIANCE_UNKNOWN = 0, 1, 2, 0

Find = Callable[[str], Any]
Vector = npt.NDArray[np.float64]


def imu_message(find: Find, header: Any, turn: Vector | None, force: Vector | None, variance: Vector) -> Any:
    """A sensor_msgs/Imu; what is not measured is marked unknown, the orientation always (force (3,); variance (6,))."""
    vector, zero = find("geometry_msgs/msg/Vector3"), np.zeros(3)
    return find(IMU_TYPE)(
        header=header,
        orientation=find("geometry_msgs/msg/Quaternion")(x=0.0, y=0.0, z=0.0, w=1.0),
        orientation_covariance=_covariance(None),
        angular_velocity=_vector(vector, zero if turn is None else turn),
        angular_velocity_covariance=_covariance(None if turn is None else variance[:3]),
        linear_acceleration=_vector(vector, zero if force is None else force),
        linear_acceleration_covariance=_covariance(None if force is None else variance[3:]),
    )


def magnetic_message(find: Find, header: Any, field: Vector, variance: Vector) -> Any:
    """A sensor_msgs/MagneticField (field (3,), tesla; variance (3,), of one reading)."""
    return find(TYPES["magnetometer"])(
        header=header,
        magnetic_field=_vector(find("geometry_msgs/msg/Vector3"), field),
        magnetic_field_covariance=_covariance(variance),
    )


def fix_message(find: Find, header: Any, place: Vector, variance: Vector) -> Any:
    """A sensor_msgs/NavSatFix (place (3,); variance (3,), of one reading, metres squared, east, north, up)."""
    latitude, longitude, altitude = place.tolist()
    return find(TYPES["gps"])(
        header=header,
        status=find("sensor_msgs/msg/NavSatStatus")(status=_GPS_FIX, service=_GPS_SERVICE),
        latitude=latitude,
        longitude=longitude,
        altitude=altitude,
        position_covariance=_covariance(variance),
        # A filter that takes 0 for known divides by it.
        position_covariance_type=_DIAGONAL_KNOWN if np.all(variance > 0) else _COVARIANCE_UNKNOWN,
    )


def joint_message(find: Find, header: Any, names: Sequence[str], angle: Vector) -> Any:
    """A sensor_msgs/JointState of wheels (angle: turned since the start, radians)."""
    nothing = np.zeros(0)
    return find(TYPES["encoders"])(
        header=header, name=list(names), position=np.asarray(angle, np.float64), velocity=nothing, effort=nothing
    )


def single_sensor_message(find: Find, header: Any, kind: str, values: Vector, variance: Vector) -> Any:
    """The message of one reading of a sensor that has one for itself (values of the reading: (3,), of an imu (6,))."""
    nothing = np.zeros(3)
    if kind == "gyroscope":
        return imu_message(find, header, values, None, np.concatenate([variance, nothing]))
    if kind == "accelerometer":
        return imu_message(find, header, None, values, np.concatenate([nothing, variance]))
    if kind == "imu":
        return imu_message(find, header, values[:3], values[3:], variance)
    if kind == "magnetometer":
        return magnetic_message(find, header, values, variance)
    if kind == "gps":
        return fix_message(find, header, values, variance)
    raise SimjudgeError(f"a reading of kind {kind} has no message of its own")


def _vector(vector: Any, values: Vector) -> Any:
    x, y, z = values.tolist()
    return vector(x=x, y=y, z=z)


def _covariance(variance: Vector | None) -> Vector:
    if variance is None:
        return np.array([_UNKNOWN, *[0.0] * 8])
    return np.diag(variance).ravel()


TRUTH = "ground_truth"  # Below a topic: the same without noise and filters
BOXES = "boxes"  # Below a cloud's topic: 3-D boxes of the labelled things in it

_INERTIAL = "imu/data"
_USUAL = {
    "accelerometer": _INERTIAL,
    "gyroscope": _INERTIAL,
    "imu": _INERTIAL,
    "magnetometer": "imu/mag",
    "gps": "gps/fix",
    "encoders": "wheels/joint_states",
    "lidar": "scan/points",
    "radar": "radar/detections",
}


def sensor_topics(specs: Sequence[SensorSpec]) -> dict[str, str]:
    """The topic of each sensor by its name, as the module says."""
    inertial = [spec for spec in specs if _USUAL[spec.kind] == _INERTIAL]
    kinds = [spec.kind for spec in specs]
    topics = {}
    for spec in specs:
        usual = _USUAL[spec.kind]
        one = kinds.count(spec.kind) == 1 if spec not in inertial else len(inertial) == 1 or _are_one(inertial)
        topics[spec.name] = usual if one else f"{spec.name}/{usual.split('/')[1]}"
    return topics


def published_topics(specs: Sequence[SensorSpec]) -> dict[str, str]:
    """All topics that the sensors are published on, and what is beside those that simjudge computes."""
    topics = {}
    for spec in specs:
        topic, kind = sensor_topics(specs)[spec.name], TYPES[spec.kind]
        topics[topic] = kind
        if spec.source == "chrono":
            continue
        topics[f"{topic}/{TRUTH}"] = kind
        if isinstance(spec, LidarSpec):
            topics[f"{topic}/{BOXES}"] = BOXES_3D
            if makes_laser_scans(spec.model()):
                topics[laser_topic(topic)] = SCAN_TYPE
        if spec.kind == "radar" and has_radar_msgs():
            topics[radar_scan_topic(topic)] = RADAR_SCAN
    return topics


def laser_topic(cloud_topic: str) -> str:
    """The topic of a lidar's LaserScans, beside that of its clouds."""
    return f"{cloud_topic.rsplit('/', 1)[0]}/laser"


def radar_scan_topic(topic: str) -> str:
    """The topic of a radar's RadarScans, beside that of its detections."""
    return f"{topic.rsplit('/', 1)[0]}/scan"


def _are_one(inertial: Sequence[SensorSpec]) -> bool:
    mounts = {(spec.body, spec.mount.position, spec.mount.orientation) for spec in inertial}
    return sorted(spec.kind for spec in inertial) == ["accelerometer", "gyroscope"] and len(mounts) == 1


# (H, W): classes as uint8, 0 where there is none; or instances as uint16, 0 where it is nothing that is counted.
LabelImage = npt.NDArray[np.uint8] | npt.NDArray[np.uint16]
LABEL_IMAGES = ("semantic", "instance")  # What the topics and the folders of the two are called
_ENCODINGS: dict[str, tuple[str, np.dtype[Any]]] = {
    "semantic": ("8UC1", np.dtype("u1")),
    "instance": ("16UC1", np.dtype("<u2")),
}


def label_message_fields(kind: str, values: LabelImage) -> dict[str, Any]:
    """The fields of a sensor_msgs/Image of a label image: 8UC1 or little-endian 16UC1 without padding."""
    height, width = values.shape
    encoding, dtype = _ENCODINGS[kind]
    data = np.ascontiguousarray(values, dtype).reshape(-1).view(np.uint8)
    return {
        "height": height,
        "width": width,
        "encoding": encoding,
        "is_bigendian": 0,
        "step": width * dtype.itemsize,
        "data": data,
    }


def encode_label_png(values: LabelImage) -> bytes:
    """A label image as a PNG of one channel, 8 or 16 bits as the array has."""
    done, buffer = cv2.imencode(".png", values, [cv2.IMWRITE_PNG_COMPRESSION, 3])
    if not done:
        raise ImageError("a label image could not be encoded as PNG")
    return buffer.tobytes()


def decode_label_png(data: bytes) -> LabelImage:
    """The label image of a PNG that `encode_label_png` made."""
    return cast("LabelImage", cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED))


CAMERA_INFO_TOPIC = DEFAULT_TOPICS[CAMERA_INFO]
TF_TOPIC = "/tf"


class CameraMessages:
    """Makes the messages of one camera, a frame at a time."""

    def __init__(self, calibration: Calibration, fixed_frame: str, frame_id: str = FRAME_ID) -> None:
        self._types = standard_types().types
        self._calibration, self._fixed_frame, self._frame_id = calibration, fixed_frame, frame_id

    def at(self, stamp: int, pose: Pose, camera: str = CAMERA) -> Iterator[tuple[str, Any]]:
        """Topic and message of camera_info and tf, as `write_recording` takes them."""
        yield camera_topics(camera)[CAMERA_INFO], self.info(stamp)
        yield TF_TOPIC, self.transform(stamp, pose)

    def depth(self, stamp: int, depth: DepthImage, camera: str = CAMERA) -> Iterator[tuple[str, Any]]:
        """Topic and message of a depth image (metres) and of its camera_info, which is the camera's own."""
        image, info = depth_topics(camera)
        yield image, self._new(IMAGE, header=self._header(stamp, self._frame_id), **depth_message_fields(depth))
        yield info, self.info(stamp)

    def label_image(self, stamp: int, kind: str, values: LabelImage, camera: str = CAMERA) -> tuple[str, Any]:
        """Topic and message of a label image, as a simulated camera publishes it."""
        header = self._header(stamp, self._frame_id)
        return f"/{camera}/{kind}", self._new(IMAGE, header=header, **label_message_fields(kind, values))

    def info(self, stamp: int) -> Any:
        """The camera_info (stamp: nanoseconds, of the message's header)."""
        made = self._calibration
        none = self._new(
            "sensor_msgs/msg/RegionOfInterest", x_offset=0, y_offset=0, height=0, width=0, do_rectify=False
        )
        return self._new(
            CAMERA_INFO,
            header=self._header(stamp, self._frame_id),
            height=made.size[1],
            width=made.size[0],
            distortion_model=made.model,
            d=np.asarray(made.distortion, np.float64),
            k=np.asarray(made.matrix, np.float64).reshape(-1),
            r=np.asarray(made.rectification, np.float64).reshape(-1),
            p=np.asarray(made.projection, np.float64).reshape(-1),
            binning_x=0,
            binning_y=0,
            roi=none,
        )

    def transform(self, stamp: int, camera: Pose) -> Any:
        """The pose as a tf2_msgs/TFMessage, from the fixed frame to the optical frame (REP 103)."""
        x, y, z = camera.position
        qx, qy, qz, qw = camera.orientation
        moved = self._new(
            "geometry_msgs/msg/Transform",
            translation=self._new("geometry_msgs/msg/Vector3", x=x, y=y, z=z),
            rotation=self._new("geometry_msgs/msg/Quaternion", x=qx, y=qy, z=qz, w=qw),
        )
        stamped = self._new(
            "geometry_msgs/msg/TransformStamped",
            header=self._header(stamp, self._fixed_frame),
            child_frame_id=self._frame_id,
            transform=moved,
        )
        return self._new("tf2_msgs/msg/TFMessage", transforms=[stamped])

    def _header(self, stamp: int, frame_id: str) -> Any:
        sec, nanosec = divmod(stamp, 1_000_000_000)
        time = self._new("builtin_interfaces/msg/Time", sec=sec, nanosec=nanosec)
        return self._new("std_msgs/msg/Header", stamp=time, frame_id=frame_id)

    def _new(self, kind: str, /, **values: Any) -> Any:
        return self._types[kind](**values)
