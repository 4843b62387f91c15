"""Bounding boxes with labels, and lines of text, drawn on an image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.images import RgbImage

Colour = tuple[int, int, int]

# Wong, "Points of view: Color blindness", Nature Methods 8 (2011): distinct for colour-blind people too.
_PALETTE: tuple[Colour, ...] = (
    (213, 94, 0),
    (0, 158, 115),
    (86, 180, 233),
    (240, 228, 66),
    (204, 121, 167),
    (230, 159, 0),
    (0, 114, 178),
)
_NAMED: dict[str, Colour] = {"red": (255, 60, 40), "green": (60, 220, 90), "yellow": (255, 220, 40)}
_FONT = cv2.FONT_HERSHEY_SIMPLEX
_DASH_PX = 8  # Length of a dash, and of the gap after it, pixels
_BRIGHT_LUMA = 128  # Luma (ITU-R BT.601, 0-255) above which a label is written in black
_PADDING_PX = 3  # Between a text and the edge of its ground, pixels
_SMALLEST = 0.1  # Size below which no letter can be read, as OpenCV counts it
_Rectangle = tuple[int, int, int, int]  # left, top, right, bottom, pixels


class TextRow(NamedTuple):
    """A line of text on its colour."""

    text: str
    colour: Colour
    size: float = 1.0  # of its letters, times those of a label
    is_wide: bool = False  # its ground is as wide as the image


def class_colour(class_id: int, name: str = "") -> Colour:
    """The colour of a class (name of the class; if it is itself a colour (red, green, yellow), that colour is used)."""
    return _NAMED.get(name.strip().lower(), _PALETTE[class_id % len(_PALETTE)])


def draw_boxes(
    image: RgbImage,
    boxes: npt.ArrayLike,
    colours: npt.ArrayLike,
    labels: Sequence[str] = (),
    dashed: npt.ArrayLike = False,  # noqa: FBT002 - an array as well
    *,
    is_edged: bool = False,
) -> RgbImage:
    """Draw boxes on a copy of an image: (H, W, 3) uint8, RGB (boxes (N, 4); colours: (N, 3) or (3,), RGB, 0-255).

    A label that would cover that of a larger box is left out. `is_edged`: lines have a black edge, to be seen on any
    ground.
    """
    out = np.array(image, np.uint8, order="C", copy=True)
    height, width = out.shape[:2]
    edges = np.asarray(boxes, np.float64).reshape(-1, 4)
    # OpenCV takes 32-bit coordinates: a corner beyond one image size outside is drawn as if it were there.
    far = np.array([width, height, width, height], np.float64)
    corners = np.floor(np.clip(np.nan_to_num(edges), -far - 1, 2 * far + 1) + 0.5).astype(int)
    paints = np.broadcast_to(np.asarray(colours, np.int64).reshape(-1, 3), (len(corners), 3))
    broken = np.broadcast_to(np.asarray(dashed, np.bool_), len(corners))
    thickness = max(1 + is_edged, round(min(height, width) / 360))
    for (x0, y0, x1, y1), paint, dash in zip(corners.tolist(), paints.tolist(), broken.tolist(), strict=True):
        last = (max(x1 - 1, x0), max(y1 - 1, y0))
        draw = _dashed_rectangle if dash else cv2.rectangle
        if is_edged:
            draw(out, (x0, y0), last, (0, 0, 0), thickness + 2)
        draw(out, (x0, y0), last, paint, thickness)
    texts = list(zip(corners.tolist(), paints.tolist(), labels, strict=bool(labels)))
    taken: list[_Rectangle] = []
    for (x0, y0, _, y1), paint, text in sorted(texts, key=lambda each: -_area(each[0])):
        if text:
            _label(out, text, (x0, y0, y1), paint, thickness, taken)
    return out


def draw_rows(image: RgbImage, rows: Sequence[TextRow]) -> None:
    """Write lines of text on an image, from the lower left corner up; letters shrink until a line fits the width.

    They take half the height at most: the last line counts those that have no room.
    """
    height, width = image.shape[:2]
    placed: list[tuple[TextRow, float, int]] = []
    for row in rows:
        scale = _text_scale(image) * row.size
        text_width, _, _ = _text_size(row.text, scale)
        scale *= min(1.0, width / text_width)
        while _text_size(row.text, scale)[0] > width and scale > _SMALLEST:  # letters do not shrink evenly
            scale *= 0.95
        placed.append((row, scale, _text_size(row.text, scale)[1]))
    kept = len(placed)
    while kept > 1 and sum(row_height for _, _, row_height in placed[: kept + (kept < len(placed))]) > height // 2:
        kept -= 1
    if kept < len(placed):
        rest = TextRow(f"and {len(placed) - kept} more", (255, 255, 255))
        placed = [*placed[:kept], (rest, _text_scale(image), _text_size(rest.text, _text_scale(image))[1])]
    bottom = height
    for row, scale, row_height in reversed(placed):
        row_width = width if row.is_wide else _text_size(row.text, scale)[0]
        _write(image, row.text, (0, bottom - row_height, row_width, bottom), row.colour, scale)
        bottom -= row_height


def draw_text(image: RgbImage, text: str, corner: tuple[int, int], colour: Colour) -> tuple[int, int]:
    """Write a text on its colour (corner: left and top, pixels); returns the lower right corner of its ground."""
    scale = _text_scale(image)
    width, height, _ = _text_size(text, scale)
    right, bottom = corner[0] + width, corner[1] + height
    _write(image, text, (*corner, right, bottom), colour, scale)
    return right, bottom


def _dashed_rectangle(
    out: RgbImage, first: tuple[int, int], last: tuple[int, int], paint: Sequence[float], thickness: int
) -> None:
    (x0, y0), (x1, y1) = first, last
    for start in range(x0, x1 + 1, 2 * _DASH_PX):
        for y in (y0, y1):
            cv2.line(out, (start, y), (min(start + _DASH_PX - 1, x1), y), paint, thickness)
    for start in range(y0, y1 + 1, 2 * _DASH_PX):
        for x in (x0, x1):
            cv2.line(out, (x, start), (x, min(start + _DASH_PX - 1, y1)), paint, thickness)


def _area(box: Sequence[int]) -> int:
    return (box[2] - box[0]) * (box[3] - box[1])


def _label(
    out: RgbImage,
    text: str,
    where: tuple[int, int, int],
    paint: Sequence[float],
    thickness: int,
    taken: list[_Rectangle],
) -> None:
    """A text on its box's colour, inside the image: above the box, else below it; left out where others take both."""
    height, width = out.shape[:2]
    scale = _text_scale(out)
    text_width, text_height, _ = _text_size(text, scale)
    x0, y0, y1 = where
    left = min(max(x0, 0), max(width - text_width, 0))
    above, below = y0 - text_height, y1 + thickness
    for top in (above, below) if above >= 0 else (below,):
        inside = min(max(top, 0), max(height - text_height, 0))
        ground = (left, inside, left + text_width, inside + text_height)
        if not any(_overlap(ground, other) for other in taken):
            taken.append(ground)
            _write(out, text, ground, paint, scale)
            return


def _overlap(one: _Rectangle, other: _Rectangle) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _write(out: RgbImage, text: str, ground: _Rectangle, paint: Sequence[float], scale: float) -> None:
    left, top, right, bottom = ground
    cv2.rectangle(out, (left, top), (right - 1, bottom - 1), paint, cv2.FILLED)
    bright = 0.299 * paint[0] + 0.587 * paint[1] + 0.114 * paint[2] > _BRIGHT_LUMA
    ink = (0, 0, 0) if bright else (255, 255, 255)
    _, _, below = _text_size(text, scale)
    thickness = max(1, round(scale * 1.2))
    cv2.putText(out, text, (left + _PADDING_PX, bottom - below - 1), _FONT, scale, ink, thickness, cv2.LINE_AA)


def _text_scale(image: RgbImage) -> float:
    """The size of text on an image, as OpenCV counts it."""
    return max(0.4, float(min(image.shape[:2])) / 1000)


def _text_size(text: str, scale: float) -> tuple[int, int, int]:
    """Width and height of a text's ground, and what of the height is below the baseline, pixels."""
    (width, height), below = cv2.getTextSize(text, _FONT, scale, max(1, round(scale * 1.2)))
    return width + 2 * _PADDING_PX, height + below + 2, below
