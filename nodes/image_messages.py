"""Images and camera calibrations as sensor_msgs messages, and images back to pixels."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
from sensor_msgs.msg import CameraInfo, CompressedImage, Image

from simjudge.core.images import RgbImage
from simjudge.data.rosbag2.image_messages import compressed_to_rgb, raw_to_rgb
from simjudge.sim.sensors.camera.calibration import Calibration

from .headers import describe_message


def to_rgb(message: Any, topic: str = "") -> RgbImage:
    """The pixels of a sensor_msgs Image or CompressedImage.

    Args:
        topic: names the culprit, together with the stamp, where the message is damaged.
    """
    where = describe_message(message, topic)
    return compressed_to_rgb(message, where) if isinstance(message, CompressedImage) else raw_to_rgb(message, where)


def image_message(pixels: RgbImage, header: Any) -> Image:
    """An image as an rgb8 message, or a mono8 one.

    Args:
        pixels: (H, W, 3) uint8, RGB, or (H, W, 1).
    """
    height, width, channels = pixels.shape
    encoding, step = "rgb8" if channels == 3 else "mono8", channels * width
    message = Image(header=header, height=height, width=width, encoding=encoding, is_bigendian=0, step=step)
    # rclpy takes an array of bytes as it is, and checks a NumPy array element by element.
    message.data = array("B", np.ascontiguousarray(pixels, np.uint8).tobytes())
    return message


def flip_rows(message: Image) -> None:
    """Put the rows of a raw image into the opposite order, in place.

    Args:
        message: of any encoding; one whose data has the wrong size stays as it is.
    """
    data = np.frombuffer(message.data, np.uint8)
    if message.height and len(data) == message.step * message.height:
        message.data = array("B", data.reshape(message.height, message.step)[::-1].tobytes())


def camera_info_message(calibration: Calibration) -> CameraInfo:
    """A calibration as a message, without a header.

    Args:
        calibration: matrix, distortion, rectification and projection in pixels.
    """
    message = CameraInfo(width=calibration.size[0], height=calibration.size[1], distortion_model=calibration.model)
    message.d = calibration.distortion.tolist()
    message.k = calibration.matrix.reshape(-1).tolist()
    message.r = calibration.rectification.reshape(-1).tolist()
    message.p = calibration.projection.reshape(-1).tolist()
    return message
