"""Live contexts drawn on the camera's image: boxes coloured by W1, a legend, and the numbers of each class."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simjudge.core.box_drawing import Colour, draw_boxes, draw_lines
from simjudge.core.images import RgbImage
from simjudge.method.entry_numbers import ComparisonNumbers, EntryNumbers
from simjudge.method.verdicts import Verdict
from simjudge.page.palette import verdict_colour
from simjudge.results.verdict_words import verdict_words
from simjudge.studies.live.judge import JudgedFrame

LARGEST_W1 = 0.5
"""W1 at which the colour scale ends; a larger W1 has the last colour."""
_SCALE: tuple[Colour, ...] = ((0, 114, 178), (240, 228, 66), (213, 94, 0))
"""Blue, yellow and orange red of the palette of `simjudge.core.box_drawing`."""
NO_W1_COLOUR: Colour = (255, 255, 255)
"""Of a context inside the overlap whose W1 is not known."""
OUTSIDE_COLOUR: Colour = (204, 121, 167)
"""Of a context outside the overlap."""
_LEGEND_WIDTH = 0.25
"""Width of the colour scale as a share of the image's width."""
_LEGEND_STEPS = 64
"""Steps of colour in the legend."""


class SummaryLine(NamedTuple):
    """A line of text with its colour, RGB, 0-255."""

    text: str
    colour: Colour


def summary_lines(numbers: ComparisonNumbers, names: Mapping[str, str]) -> list[SummaryLine]:
    """The numbers so far: a line for all classes together and, where there are several, one for each class.

    Returns:
        W1, overlaps and verdict, in the colour of the verdict; before there is one, in the colour of W1.
    """
    entries = [("all classes", numbers.overall)]
    if len(numbers.by_class) > 1:
        entries += [(names.get(key, key), entry) for key, entry in numbers.by_class.items()]
    return [_summary_line(name, entry) for name, entry in entries]


def w1_colour(w1: float) -> Colour:
    """The colour of a W1 on a scale that is the same in every run.

    Args:
        w1: Wasserstein distance, 0 or more; NaN where it is not known.

    Returns:
        Red, green and blue, 0-255: blue at 0, yellow at 0.25, orange red at 0.5 and beyond; `NO_W1_COLOUR` for NaN.
    """
    if math.isnan(w1):
        return NO_W1_COLOUR
    position = min(max(w1 / LARGEST_W1, 0.0), 1.0) * (len(_SCALE) - 1)
    first = min(int(position), len(_SCALE) - 2)
    share = position - first
    ends = zip(_SCALE[first], _SCALE[first + 1], strict=True)
    red, green, blue = (round((1 - share) * low + share * high) for low, high in ends)
    return red, green, blue


def context_colours(judged: JudgedFrame) -> npt.NDArray[np.int64]:
    """The colours of a frame's contexts.

    Returns:
        (N, 3) RGB, 0-255: by W1; `OUTSIDE_COLOUR` where the reference shows nothing similar.
    """
    known = zip(judged.w1.tolist(), judged.in_overlap.tolist(), strict=True)
    colours = [w1_colour(w1) if shown else OUTSIDE_COLOUR for w1, shown in known]
    return np.array(colours, np.int64).reshape(-1, 3)


def draw_contexts(image: RgbImage, judged: JudgedFrame, lines: Sequence[SummaryLine] = ()) -> RgbImage:
    """Draw a frame's labelled boxes: coloured by W1, dashed outside the overlap, with a legend.

    Args:
        image: (H, W, 3) uint8, RGB; boxes are scaled where the labels were made on another size.

    Returns:
        (H, W, 3) uint8, RGB, a copy.
    """
    height, width = image.shape[:2]
    scale = np.tile(np.array([width, height]) / judged.frames.size[0], 2)
    texts = ["" if np.isnan(w1) else f"{w1:.2f}" for w1 in judged.w1]
    boxes = judged.frames.objects.box * scale
    drawn = _with_legend(draw_boxes(image, boxes, context_colours(judged), texts, dashed=~judged.in_overlap))
    draw_lines(drawn, [line.text for line in lines], [line.colour for line in lines])
    return drawn


def _summary_line(name: str, entry: EntryNumbers) -> SummaryLine:
    w1, verdict = entry.mean_w1, entry.verdict
    text = f"{name}: W1 {_number(w1)}, overlap {_number(entry.overlap_a)} / {_number(entry.overlap_b)}"
    if verdict == Verdict.NOT_TESTED:
        return SummaryLine(text, w1_colour(math.nan if w1 is None else w1))
    return SummaryLine(f"{text}, {verdict_words(verdict, entry.margin)}", verdict_colour(verdict))


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _with_legend(image: RgbImage) -> RgbImage:
    """The colour scale in the upper left corner, with its ends, and the sign for what is outside the overlap."""
    width = image.shape[1]
    step = max(1, round(width * _LEGEND_WIDTH / _LEGEND_STEPS))
    bar = 4 * max(1, round(image.shape[0] / 240))
    shown = image[2 : 2 + bar, 2 : 2 + step * _LEGEND_STEPS]
    colours = [w1_colour(LARGEST_W1 * (column // step + 0.5) / _LEGEND_STEPS) for column in range(shown.shape[1])]
    shown[:] = np.array(colours, np.uint8).reshape(1, -1, 3)
    ends = [w1_colour(0.0), w1_colour(LARGEST_W1), OUTSIDE_COLOUR]
    left = [2, 2 + step * (_LEGEND_STEPS - 12), 2 + step * (_LEGEND_STEPS + 4)]
    below = 4 + bar
    boxes = [(x, below, x + bar, below + bar) for x in left]
    return draw_boxes(image, boxes, ends, ("W1 0", f"{LARGEST_W1:g}+", "no overlap"), dashed=[False, False, True])
