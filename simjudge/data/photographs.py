"""The photograph that an image was made from: augmented data sets hold several variants of one."""

from __future__ import annotations

import re

_ROBOFLOW_NAME = re.compile(r"^(?P<source>.+)_(?:jpe?g|png|bmp|webp|tiff?)\.rf\..+$", re.IGNORECASE)
"""Roboflow names the variants of photo.jpg photo_jpg.rf.<hash>."""


def source_photograph(frame_name: str) -> str:
    """Find the photograph that an image was made from.

    Args:
        frame_name: the name of a frame, such as the image's file name without its suffix.

    Returns:
        What Roboflow's names keep before `_jpg.rf.`; the whole name where it is none of Roboflow's.
    """
    found = _ROBOFLOW_NAME.match(frame_name)
    return found["source"] if found else frame_name
