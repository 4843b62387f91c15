"""Messages to and from the library: headers, images, calibrations, detections, markers."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from builtin_interfaces.msg import Time
from sensor_msgs.msg import CameraInfo, CompressedImage, Image
from simjudge_msgs.msg import Box, ClassName, Detection, DetectionArray
from std_msgs.msg import Header
from visualization_msgs.msg import Marker

from simjudge.core.errors import SimjudgeError
from simjudge.core.images import RgbImage
from simjudge.data.rosbag2.image_messages import compressed_to_rgb, raw_to_rgb
from simjudge.data.rosbag2.interfaces import header_stamp
from simjudge.data.rosbag2.storage import format_seconds
from simjudge.detectors.detector import Detections

from .runtime import message_class

if TYPE_CHECKING:
    from simjudge.sim.sensors.camera.calibration import Calibration


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
