"""Messages to and from the library: headers, images, calibrations, detections, markers, and a driver's own."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, PoseStamped, Quaternion
from nav_msgs.msg import Odometry, Path
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import CameraInfo, CompressedImage, Image
from simjudge_msgs.msg import Box, ClassName, Detection, DetectionArray
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import SimjudgeError
from simjudge.core.images import RgbImage
from simjudge.core.names import normalized_name
from simjudge.data.drive_logs import CAR, FIXED, fit_twist
from simjudge.data.rosbag2.cloud_writing import read_cloud
from simjudge.data.rosbag2.image_messages import compressed_to_rgb, raw_to_rgb
from simjudge.data.rosbag2.recorded_poses import header_stamp
from simjudge.data.rosbag2.storage import format_seconds
from simjudge.detectors.detector import Detections
from simjudge.geometry.poses import Pose
from simjudge.sim.driving.cone_driver import ConeMap
from simjudge.sim.driving.cones import ConeShape
from simjudge.sim.driving.line_follower import ScanPoints
from simjudge.sim.sensors.camera.calibration import Calibration
from simjudge.sim.vehicle.vehicle import VehicleState
from simjudge.sim.vehicle.vehicle_messages import ODOMETRY_TOPIC

from .runtime import message_class


def make_header(stamp: int, frame_id: str) -> Header:
    """A header (stamp: nanoseconds; a negative one becomes 0)."""
    seconds, nanoseconds = divmod(max(stamp, 0), 1_000_000_000)
    return Header(stamp=Time(sec=seconds, nanosec=nanoseconds), frame_id=frame_id)


def message_stamp(message: Any) -> int:
    """The stamp of a message, nanoseconds."""
    return header_stamp(message.header)


def describe_message(message: Any, topic: str = "") -> str:
    """A message as people can find it: its topic and stamp."""
    return f"{topic or 'an image'} at {format_seconds(message_stamp(message))}"


_SPACE = 0.5  # Width of a space over the height of a line


def erasing_marker(header: Header, namespace: str = "") -> Marker:
    """A marker that stands first in an array, and takes away what was shown before.

    RViz calls two markers of an array that have one namespace and number an error, this one included: its number, -1,
    is no other's.
    """
    return Marker(header=header, ns=namespace, id=-1, action=Marker.DELETEALL)


def set_text_height(text: Marker, height: float) -> None:
    """Set a text's height, metres; RViz takes the width of a space from `scale.x`, else from a line a metre high."""
    text.scale.x, text.scale.z = _SPACE * height, height


def to_rgb(message: Any, topic: str = "") -> RgbImage:
    """The pixels of a sensor_msgs Image or CompressedImage."""
    where = describe_message(message, topic)
    return compressed_to_rgb(message, where) if isinstance(message, CompressedImage) else raw_to_rgb(message, where)


def image_message(pixels: RgbImage, header: Any) -> Image:
    """An image as an rgb8 message, or a mono8 one (pixels: (H, W, 3) uint8, RGB, or (H, W, 1))."""
    height, width, channels = pixels.shape
    encoding, step = "rgb8" if channels == 3 else "mono8", channels * width
    message = Image(header=header, height=height, width=width, encoding=encoding, is_bigendian=0, step=step)
    # rclpy takes an array of bytes as it is, and checks a NumPy array element by element.
    message.data = array("B", np.ascontiguousarray(pixels, np.uint8).tobytes())
    return message


def flip_rows(message: Image) -> None:
    """Put the rows of a raw image into the opposite order, in place."""
    data = np.frombuffer(message.data, np.uint8)
    if message.height and len(data) == message.step * message.height:
        message.data = array("B", data.reshape(message.height, message.step)[::-1].tobytes())


def camera_info_message(calibration: Calibration) -> CameraInfo:
    """A calibration as a message, without a header."""
    message = CameraInfo(width=calibration.size[0], height=calibration.size[1], distortion_model=calibration.model)
    message.d = calibration.distortion.tolist()
    message.k = calibration.matrix.reshape(-1).tolist()
    message.r = calibration.rectification.reshape(-1).tolist()
    message.p = calibration.projection.reshape(-1).tolist()
    return message


class VisionTypes(NamedTuple):
    """The classes of vision_msgs that are needed here."""

    array: type[Any]
    detection: type[Any]
    hypothesis: type[Any]


def vision_types() -> VisionTypes | None:
    """The classes of vision_msgs, None where it is not installed."""
    names = ("Detection2DArray", "Detection2D", "ObjectHypothesisWithPose")
    try:
        return VisionTypes(*(message_class(f"vision_msgs/msg/{name}") for name in names))
    except SimjudgeError:
        return None


def detection_array(
    found: Detections, class_names: dict[int, str], header: Any, size: tuple[int, int]
) -> DetectionArray:
    """Detections in one image as simjudge_msgs/DetectionArray."""
    out = DetectionArray(header=header, image_width=size[0], image_height=size[1])
    out.class_names = [ClassName(id=number, name=name) for number, name in sorted(class_names.items())]
    rows = zip(found.class_id.tolist(), found.box.tolist(), found.score.tolist(), strict=True)
    out.detections = [
        Detection(
            class_id=number, class_name=class_names.get(number, ""), box=Box(x0=x0, y0=y0, x1=x1, y1=y1), score=score
        )
        for number, (x0, y0, x1, y1), score in rows
    ]
    return out


def vision_array(types: VisionTypes, found: Detections, class_names: dict[int, str], header: Any) -> Any:
    """Detections in one image as vision_msgs/Detection2DArray (found: boxes in pixels of the image)."""
    out = types.array()
    out.header = header
    detections = []
    rows = zip(found.class_id.tolist(), found.box.tolist(), found.score.tolist(), strict=True)
    for number, (x0, y0, x1, y1), score in rows:
        item = types.detection()
        item.header = header
        item.bbox.center.position.x, item.bbox.center.position.y = (x0 + x1) / 2, (y0 + y1) / 2
        item.bbox.size_x, item.bbox.size_y = x1 - x0, y1 - y0
        guess = types.hypothesis()
        guess.hypothesis.class_id, guess.hypothesis.score = class_names.get(number) or str(number), score
        item.results = [guess]
        detections.append(item)
    out.detections = detections
    return out


_RED = (0.85, 0.16, 0.1)  # Colour of cones on the right, RGB, 0 to 1
_GREEN = (0.07, 0.55, 0.25)  # Colour of cones on the left, RGB, 0 to 1
_PALE = 0.35  # Opacity of a cone that does not count yet, 0 to 1


def vehicle_state(message: Odometry) -> VehicleState:
    """How the car moves, from odometry: the state (message: pose in metres and quaternion in the odometry frame)."""
    pose, twist = message.pose.pose, message.twist.twist
    p, q, v, w = pose.position, pose.orientation, twist.linear, twist.angular
    velocity, turning = (v.x, v.y, v.z), (w.x, w.y, w.z)
    if not np.all(np.isfinite([*velocity, *turning])):
        raise SimjudgeError(f"velocity {velocity}, turning {turning}: no motion")
    place = Pose((p.x, p.y, p.z), (q.x, q.y, q.z, q.w))
    return VehicleState(message_stamp(message) / 1e9, place, velocity, turning, (0.0,) * 3, 0.0, (0.0,) * 4)


class OdometryReader:
    """States of a car from its odometry; a twist that the poses show to be in the fixed frame is turned by the yaw."""

    _WINDOW, _EVERY = 250, 25  # Messages whose motion tells the frame, and after how many it is asked again

    def __init__(self, warn: Callable[[str], object]) -> None:
        self._warn = warn
        self._rows: deque[tuple[float, float, float, float, float, float]] = deque(maxlen=self._WINDOW)
        self._count = 0
        self._frame: str | None = CAR

    def state(self, message: Odometry) -> VehicleState:
        """The state with its velocity along the car's axes."""
        now = vehicle_state(message)
        velocity, (yaw, _, _) = now.velocity, now.pose.angles()
        self._rows.append((now.time, *now.pose.position[:2], yaw, *velocity[:2]))
        self._count += 1
        if self._frame == CAR and not self._count % self._EVERY:
            time, x, y, heading, *linear = np.array(self._rows).T
            fit = fit_twist(time, np.stack([x, y], 1), np.unwrap(heading), np.stack(linear, 1))
            if fit is not None and fit.frame != CAR:
                self._frame = fit.frame
                done = "turned by the yaw" if fit.frame == FIXED else "used as it is"
                self._warn(f"{ODOMETRY_TOPIC}: {fit.problem}; it is {done} from now on")
        if self._frame != FIXED:
            return now
        turned = Rotation.from_quat(now.pose.orientation).inv().apply(velocity)
        return replace(now, velocity=tuple(turned.tolist()))


def side_detections(message: Any, sides: Mapping[str, int]) -> Detections:
    """The detections of a simjudge_msgs/DetectionArray that are of a side's class."""
    rows = [
        (sides.get(normalized_name(detection.class_name), sides.get(str(detection.class_id))), detection)
        for detection in message.detections
    ]
    kept = [(number, message) for number, message in rows if number is not None]
    boxes = [(message.box.x0, message.box.y0, message.box.x1, message.box.y1) for _, message in kept]
    return Detections.build([number for number, _ in kept], boxes, [message.score for _, message in kept])


def scan_points(message: Any) -> ScanPoints:
    """The points of a scan (sensor_msgs/PointCloud2), finite ones: x, y, z and perhaps time (from the stamp)."""
    where = describe_message(message, "scan/points")
    table = read_cloud(message, where)
    names = table.dtype.names or ()
    lacking = [name for name in ("x", "y", "z") if name not in names]
    if lacking:
        raise SimjudgeError(f"{where}: the points have no {', '.join(lacking)}")
    points = np.stack([table[name] for name in ("x", "y", "z")], 1).astype(np.float64)
    time = table["time"].astype(np.float64) if "time" in names else np.zeros(len(points))
    kept = np.isfinite(points).all(1) & np.isfinite(time)
    return ScanPoints(points[kept], time[kept])


def path_message(header: Header, line: FloatArray) -> Path:
    """A line as a path, each pose facing the next (header: with the frame of the points; line (P, 2) points)."""
    out = Path(header=header)
    if len(line) < 2:
        return out
    ahead = np.gradient(line, axis=0)
    for (x, y), yaw in zip(line.tolist(), np.arctan2(ahead[:, 1], ahead[:, 0]).tolist(), strict=True):
        place = PoseStamped(header=header)
        place.pose.position = Point(x=x, y=y, z=0.0)
        place.pose.orientation = Quaternion(x=0.0, y=0.0, z=float(np.sin(yaw / 2)), w=float(np.cos(yaw / 2)))
        out.poses.append(place)
    return out


def cone_markers(header: Header, cones: ConeMap, right_class: int, shape: ConeShape) -> MarkerArray:
    """The cones that a driver knows, as cylinders (header: with the frame of the cones; cones: positions in metres)."""
    out = MarkerArray(markers=[erasing_marker(header, "cones")])
    rows = zip(cones.position.tolist(), cones.class_id().tolist(), cones.trusted().tolist(), strict=True)
    for number, ((x, y), class_id, trusted) in enumerate(rows):
        marker = Marker(header=header, ns="cones", id=number, type=Marker.CYLINDER, action=Marker.ADD)
        marker.pose.position = Point(x=x, y=y, z=shape.height / 2)
        marker.pose.orientation.w = 1.0
        marker.scale.x = marker.scale.y = 2 * shape.radius
        marker.scale.z = shape.height
        red, green, blue = _RED if class_id == right_class else _GREEN
        marker.color = ColorRGBA(r=red, g=green, b=blue, a=1.0 if trusted else _PALE)
        out.markers.append(marker)
    return out
