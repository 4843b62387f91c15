"""The templates of all pages, with the colours that their style sheet needs."""

from __future__ import annotations

import base64
from pathlib import Path

import cv2
import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import RgbImage, encode_jpeg
from simjudge.page.palette import DARK, LIGHT, VERDICT_COLOURS, css_variables

_GENERATOR = b'<meta name="generator" content="simjudge report">'
"""Stands near the beginning of every page, so that an older page is known as one."""


def is_report(path: Path) -> bool:
    """Tell whether a file is a page that simjudge wrote."""
    with path.open("rb") as stream:
        return _GENERATOR in stream.read(8192)


def load_template(name: str) -> Template:
    """Load the template of a page.

    Returns:
        The template. What it is given is escaped, and what it is not given is an error.
    """
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        light=css_variables(LIGHT), dark=css_variables(DARK), verdict_colours=tuple(VERDICT_COLOURS.values())
    )
    return environment.get_template(name)


_WIDEST, _JPEG_QUALITY = 420, 85


def frame_uri(frames: FrameSet, share: float) -> str:
    """A picture of a set as a data URI, made small."""
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
