"""Pictures of several sets side by side: what each set looks like, at the same share of its frames."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import cv2
import numpy as np

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import ImageError, RgbImage
from simjudge.data.sets import read_set
from simjudge.page.chart_data import NothingToDrawError
from simjudge.page.figures import ReportFigure, add_axes, plain_text, report_style
from simjudge.page.palette import LIGHT
from simjudge.questions.many_sets.saved import ManySetsResult

SHARES = (0.1, 0.37, 0.63, 0.9)
"""Where in a set its pictures are taken from, as a share of its frames."""
LONGER_SIDE = 420
"""Of a picture, pixels."""
_WIDTH, _NAME_HEIGHT = 190.0, 20.0
"""Points: width of a picture in the figure, and the height of the name above a row."""

Pictures = Mapping[str, list[RgbImage]]
"""By name of the set, up to as many pictures as there are SHARES."""


def read_pictures(result: ManySetsResult) -> Pictures:
    """Read a few pictures of every set, from where it was compared.

    Returns:
        Pictures by name of the set. A set that is no longer there, or that has no pictures, is left out.
    """
    out = {}
    for name, about in result.header["sets"].items():
        path = next((str(net["path"]) for net in about["nets"].values() if net.get("path")), "")
        if path and Path(path).exists() and (found := _of_set(Path(path))):
            out[name] = found
    return out


def set_pictures(result: ManySetsResult) -> ReportFigure:
    """Draw pictures of all sets, a row a set."""
    pictures = read_pictures(result)
    if not pictures:
        raise NothingToDrawError("the sets are no longer where they were compared, or have no pictures")
    heights = {name: max(_WIDTH * p.shape[0] / p.shape[1] for p in own) for name, own in pictures.items()}
    with report_style():
        total = sum(heights.values()) + _NAME_HEIGHT * len(pictures)
        figure = ReportFigure(_WIDTH * len(SHARES), total, "Pictures of every set, a row a set.")
        top = 0.0
        for name, own in pictures.items():
            for column, picture in enumerate(own):
                box = (_WIDTH * column, top + _NAME_HEIGHT, _WIDTH, heights[name])
                axes = add_axes(figure, box, (2.0, 2.0, 2.0, 2.0))
                axes.imshow(picture, aspect="auto")
                axes.set_axis_off()
                if column == 0:
                    title = f"{plain_text(name, 40)} ({result.domain(name)})"
                    axes.set_title(title, fontsize=11, pad=4, color=LIGHT["ink"])
            top += heights[name] + _NAME_HEIGHT
    return figure


def _of_set(path: Path) -> list[RgbImage]:
    try:
        frames = read_set(path)
    except SimjudgeError:
        return []
    rows = dict.fromkeys(round(share * (len(frames) - 1)) for share in SHARES) if len(frames) else {}
    return [picture for row in rows if (picture := _picture_or_none(frames, row)) is not None]


def _picture_or_none(frames: FrameSet, row: int) -> RgbImage | None:
    if frames.images is None or not frames.images.has(row):
        return None
    try:
        picture = frames.images.read(row)
    except ImageError:
        return None
    scale = LONGER_SIDE / max(picture.shape[:2])
    if scale >= 1:
        return picture
    size = max(1, round(picture.shape[1] * scale)), max(1, round(picture.shape[0] * scale))
    return np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8)
