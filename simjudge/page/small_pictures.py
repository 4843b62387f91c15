"""Small pictures of frames for pages."""

from __future__ import annotations

import base64

import cv2
import numpy as np

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import RgbImage, encode_jpeg

_WIDEST, _JPEG_QUALITY = 420, 85


def frame_uri(frames: FrameSet, share: float) -> str:
    """A picture of a set as a data URI, made small.

    Raises:
        SimjudgeError: the set has no pictures, or this one cannot be read.
    """
    if frames.images is None:
        raise SimjudgeError(f"{frames.name}: has no pictures")
    return picture_uri(frames.images.read(int(share * (len(frames) - 1))))


def picture_uri(picture: RgbImage) -> str:
    """A picture as a data URI, made small.

    Args:
        picture: (H, W, 3), uint8 RGB.
    """
    height, width = picture.shape[:2]
    if width > _WIDEST:
        size = (_WIDEST, max(1, round(height * _WIDEST / width)))
        picture = np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8)
    return "data:image/jpeg;base64," + base64.b64encode(encode_jpeg(picture, _JPEG_QUALITY)).decode("ascii")
