"""Bounding boxes with labels, and lines of text, drawn on an image."""

from __future__ import annotations

from collections.abc import Sequence

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


def class_colour(class_id: int, name: str = "") -> Colour:
    """The colour of a class (name of the class; if it is itself a colour (red, green, yellow), that colour is used)."""
    return _NAMED.get(name.strip().lower(), _PALETTE[class_id % len(_PALETTE)])


def draw_boxes(
    image: RgbImage,
    boxes: npt.ArrayLike,
    colours: npt.ArrayLike,
    labels: Sequence[str] = (),
    dashed: npt.ArrayLike = False,  # noqa: FBT002 - an array as well
) -> RgbImage:
    """Draw boxes on a copy of an image: (H, W, 3) uint8, RGB (boxes (N, 4); colours: (N, 3) or (3,), RGB, 0-255)."""
    out = np.array(image, np.uint8, order="C", copy=True)
    height, width = out.shape[:2]
    edges = np.asarray(boxes, np.float64).reshape(-1, 4)
    # OpenCV takes 32-bit coordinates: a corner beyond one image size outside is drawn as if it were there.
    far = np.array([width, height, width, height], np.float64)
    corners = np.floor(np.clip(np.nan_to_num(edges), -far - 1, 2 * far + 1) + 0.5).astype(int)
    paints = np.broadcast_to(np.asarray(colours, np.int64).reshape(-1, 3), (len(corners), 3))
    broken = np.broadcast_to(np.asarray(dashed, np.bool_), len(corners))
    thickness = max(1, round(min(height, width) / 360))
    for (x0, y0, x1, y1), paint, dash in zip(corners.tolist(), paints.tolist(), broken.tolist(), strict=True):
        last = (max(x1 - 1, x0), max(y1 - 1, y0))
        if dash:
            _dashed_rectangle(out, (x0, y0), last, paint, thickness)
        else:
            cv2.rectangle(out, (x0, y0), last, paint, thickness)
    for (x0, y0, _, y1), paint, text in zip(corners.tolist(), paints.tolist(), labels, strict=bool(labels)):
        if text:
            _label(out, text, (x0, y0, y1), paint, thickness)
    return out


def draw_lines(image: RgbImage, lines: Sequence[str], colours: Sequence[Colour]) -> None:
    """Write on an image lines of text, each on its colour, from the lower left corner up; the last counts the rest."""
    height = len(image)
    _, line_height, _ = _text_size("W", _text_scale(image))
    room = max(1, height // 2 // line_height)
    shown = list(zip(lines, colours, strict=True))
    if len(shown) > room:
        shown = [*shown[: room - 1], (f"and {len(shown) - room + 1} more", (255, 255, 255))]
    for number, (text, colour) in enumerate(reversed(shown)):
        bottom = height - number * line_height
        _label(image, text, (0, bottom, bottom), colour, 0)


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


def _label(out: RgbImage, text: str, where: tuple[int, int, int], paint: Sequence[float], thickness: int) -> None:
    """A text on its box's colour: above the box, below it where there is no room above, always inside the image."""
    height, width = out.shape[:2]
    scale = _text_scale(out)
    text_width, text_height, below = _text_size(text, scale)
    x0, y0, y1 = where
    left = min(max(x0, 0), max(width - text_width, 0))
    top = y0 - text_height if y0 >= text_height else y1 + thickness
    top = min(max(top, 0), max(height - text_height, 0))
    cv2.rectangle(out, (left, top), (left + text_width, top + text_height - 1), paint, cv2.FILLED)
    bright = 0.299 * paint[0] + 0.587 * paint[1] + 0.114 * paint[2] > _BRIGHT_LUMA
    ink = (0, 0, 0) if bright else (255, 255, 255)
    cv2.putText(out, text, (left, top + text_height - below - 1), _FONT, scale, ink, 1, cv2.LINE_AA)


def _text_scale(image: RgbImage) -> float:
    """The size of text on an image, as OpenCV counts it."""
    return max(0.4, float(min(image.shape[:2])) / 1200)


def _text_size(text: str, scale: float) -> tuple[int, int, int]:
    """Width of a text, height of its line, and what of the height is below the baseline, pixels."""
    (width, height), below = cv2.getTextSize(text, _FONT, scale, 1)
    return width, height + below + 2, below
