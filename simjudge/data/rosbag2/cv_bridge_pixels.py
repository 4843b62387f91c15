"""Encodings that only cv_bridge knows, where a ROS installation has it.

Its interface: https://github.com/ros-perception/vision_opencv, cv_bridge/python/cv_bridge/core.py.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from simjudge.core.images import RgbImage

# What an extension module built for another NumPy or OpenCV raises, on import or on first use.
UNUSABLE = (ImportError, AttributeError, RuntimeError, SystemError, TypeError, ValueError, OSError)


_TRIAL = """
from types import SimpleNamespace
import numpy as np
from cv_bridge import CvBridge
pixel = SimpleNamespace(height=1, width=1, encoding="bgr8", is_bigendian=0, step=3, data=np.zeros(3, np.uint8))
CvBridge().imgmsg_to_cv2(pixel, "rgb8")
"""
"""It is the first conversion that ends a process, not the import."""
_TRIAL_SECONDS = 120


@cache
def load_bridge() -> tuple[Any | None, str]:
    """A CvBridge that was seen to work; else None, and why (empty where it is simply not installed)."""
    reason = _crash_reason()
    if reason:
        return None, reason
    try:
        from cv_bridge import CvBridge  # noqa: PLC0415 - only a ROS installation has it
    except ModuleNotFoundError as error:
        return None, "" if error.name == "cv_bridge" else _line(error)
    except UNUSABLE as error:
        return None, _line(error)
    try:
        found = CvBridge()
        probe = _message(np.array([[[1, 2, 3]]], np.uint8), "bgr8")
        works = np.array_equal(found.imgmsg_to_cv2(probe, "rgb8"), [[[3, 2, 1]]])
    except UNUSABLE as error:
        return None, _line(error)
    return (found, "") if works else (None, "it turns blue, green, red into something else than red, green, blue")


def pixel_type(encoding: str) -> np.dtype[Any] | None:
    """Look up what one pixel of an encoding is made of.

    Returns:
        A NumPy type of shape (channels,); None where cv_bridge does not know it.
    """
    found, _ = load_bridge()
    if found is None:
        return None
    try:
        name, channels = found.encoding_to_dtype_with_channels(encoding)
        return np.dtype((name, (int(channels),)))
    except (*UNUSABLE, KeyError):
        return None


def to_rgb(pixels: npt.NDArray[Any], encoding: str) -> RgbImage | None:
    """Pixels in an encoding as RGB, None where cv_bridge says that they are no image (a depth, say).

    Args:
        pixels: (height, width, channels), in this machine's byte order.
    """
    found, _ = load_bridge()
    if found is None:
        return None
    try:
        image = np.asarray(found.imgmsg_to_cv2(_message(pixels, encoding), "rgb8"))
    except (*UNUSABLE, KeyError):
        return None
    whole = image.shape == (*pixels.shape[:2], 3) and image.dtype == np.uint8
    return np.ascontiguousarray(image) if whole else None


def _message(pixels: npt.NDArray[Any], encoding: str) -> Any:
    """The attributes of sensor_msgs/Image that cv_bridge looks at.

    Its rows have no padding and this machine's byte order: cv_bridge shifts rows whose padding is no whole pixel, and
    on NumPy 2 it cannot swap bytes.
    """
    height, width, channels = pixels.shape
    return SimpleNamespace(
        height=height,
        width=width,
        encoding=encoding,
        is_bigendian=int(sys.byteorder == "big"),
        step=width * channels * pixels.itemsize,
        data=np.ascontiguousarray(pixels).view(np.uint8).reshape(-1),
    )


def _crash_reason() -> str:
    """Why using cv_bridge would end this process, "" where it does not.

    Its extension module, built for NumPy 1, does not fail beside NumPy 2: it ends the process (seen with NumPy 2.4). So
    another process tries first.
    """
    try:
        found = importlib.util.find_spec("cv_bridge")
    except (ImportError, ValueError):
        found = None
    if found is None or "cv_bridge" in sys.modules:
        return ""
    try:
        done = subprocess.run([sys.executable, "-c", _TRIAL], capture_output=True, timeout=_TRIAL_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"it converts nothing within {_TRIAL_SECONDS} s"
    except OSError:
        return ""
    if done.returncode >= 0:
        return ""  # what it raises, it raises here too
    return f"it ends the process that uses it (signal {-done.returncode}); is it built for NumPy {np.__version__}?"


def _line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
