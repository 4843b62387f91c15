"""Histograms of hue, saturation and value of labelled objects and whole pictures: to match a sky's brightness by."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.core.errors import Losses, ProgressBar, no_progress
from simjudge.core.frames import FrameSet
from simjudge.core.images import ImageError, RgbImage, as_rgb
from simjudge.core.object_tables import round_to_pixels
from simjudge.objects.series import WHOLE

CHANNELS = ("hue", "saturation", "value")
BINS = 36
"""Of each histogram: 10 degrees of hue, or 1/36 of the full scale."""
FULL_SCALE = {"hue": 360.0, "saturation": 1.0, "value": 1.0}
UNITS = {"hue": "deg", "saturation": "", "value": ""}
LEVEL_BINS = 64
"""Of the levels of red, green and blue."""
_MOST_PICTURES = 200
"""Of a set, whose levels are counted."""
HALVES = 2
"""A histogram is kept for each half of the frames, so that they can be held against each other."""

_ROUNDING = 1e-3
"""Bins: more than float32 rounds by, less than two values of bytes can differ by. An edge is of the bin above it."""

_BinImage = npt.NDArray[np.intp]


@dataclass(frozen=True, repr=False, eq=False)
class ColourHistogram(ShortRepr):
    """How often pixels have which hue, saturation or value."""

    subject: str  # the class whose objects the pixels are of; WHOLE for whole pictures
    channel: str
    counts: IntArray  # int64 (2, 36), pixels in each bin, in the first and in the second half of the frames

    @property
    def shares(self) -> FloatArray:
        """float64 (36,), the share of all pixels in each bin; NaN where there are no pixels."""
        return _shares(self.counts.sum(axis=0))

    @property
    def edges(self) -> FloatArray:
        """float64 (37,), the ends of the bins."""
        return np.linspace(0, FULL_SCALE[self.channel], BINS + 1)


@dataclass(frozen=True, repr=False, eq=False)
class ColourDifference(ShortRepr):
    """How far a real and a virtual histogram lie apart."""

    subject: str  # subject, channel: as in `ColourHistogram`
    channel: str
    unit: str
    edges: FloatArray  # float64 (37,), the ends of the bins
    real: FloatArray  # real, virtual: float64 (36,), shares of the pixels in each bin
    virtual: FloatArray
    distance: float  # the Wasserstein distance W1 between the two
    # the same of real and real: a second set, or the two halves of the frames; NaN where one has no pixels
    floor: float

    def as_dict(self) -> dict[str, object]:
        """The difference for a saved result: plain values, None where there is none."""
        return {
            "subject": self.subject,
            "channel": self.channel,
            "unit": self.unit,
            "edges": self.edges.tolist(),
            "real": self.real.tolist(),
            "virtual": self.virtual.tolist(),
            "distance": self.distance,
            "floor": None if np.isnan(self.floor) else self.floor,
        }


def colour_histograms(
    frames: FrameSet, *, losses: Losses | None = None, progress: ProgressBar = no_progress
) -> list[ColourHistogram]:
    """Count hue, saturation and value of the pixels of whole pictures and of labelled objects, by class.

    A pixel is an object's where its mask, or else its box, covers it. A gray pixel has no hue and is left out there.
    `frames`: the set, ascending in time; returns three histograms for whole pictures, then three for each class with
    pixels. Empty where the set has no pictures.
    """
    if frames.images is None:
        return []
    losses = Losses() if losses is None else losses
    counts: dict[str, IntArray] = {}
    with progress("colours") as advance:
        for index in range(len(frames)):
            try:
                pixels = frames.images.read(index)
            except ImageError as error:
                losses.add("pictures that cannot be read", str(error))
            else:
                half = HALVES * index // len(frames)
                for subject, found in _frame_counts(frames, index, pixels).items():
                    counts.setdefault(subject, np.zeros((HALVES, len(CHANNELS), BINS), np.int64))[half] += found
            advance(index + 1, len(frames))
    return [
        ColourHistogram(subject, channel, table[:, row])
        for subject, table in sorted(counts.items())
        for row, channel in enumerate(CHANNELS)
        if table[:, row].any()
    ]


def colour_differences(
    real: list[ColourHistogram], virtual: list[ColourHistogram], real_again: list[ColourHistogram] | None = None
) -> list[ColourDifference]:
    """Compare the histograms of two sets; the floor is `real_again`, a second real set, or (None) halves of one."""
    virtuals, again = ({(item.subject, item.channel): item for item in found or ()} for found in (virtual, real_again))
    pairs = [
        (value, virtuals[value.subject, value.channel]) for value in real if (value.subject, value.channel) in virtuals
    ]
    return [
        ColourDifference(
            a.subject,
            a.channel,
            UNITS[a.channel],
            a.edges,
            a.shares,
            b.shares,
            histogram_distance(a.shares, b.shares, a.channel),
            _floor(a, again.get((a.subject, a.channel))),
        )
        for a, b in pairs
    ]


def _floor(real: ColourHistogram, again: ColourHistogram | None) -> float:
    """What real differs by from real: from the second set, or one half from the other where that one lacks it."""
    a, b = (real.shares, again.shares) if again is not None else (_shares(real.counts[0]), _shares(real.counts[1]))
    return histogram_distance(a, b, real.channel)


def count_colours(pixels: RgbImage) -> IntArray:
    """How many of some pixels (N, 3) are in each bin of hue, saturation and value: (3, 36)."""
    bins, coloured = _bin_images(pixels[None])
    return _count(bins, coloured)


def histogram_distance(a: FloatArray, b: FloatArray, channel: str) -> float:
    """The Wasserstein distance W1 between two histograms; of hues, around the circle.

    Source:
        Rabin, Delon and Gousseau, Transportation distances on the circle, J. Math. Imaging and Vision 41, 2011.
    """
    flow = np.cumsum(a - b)
    if channel == "hue":
        flow = flow - np.median(flow)
    return float(np.abs(flow).sum() * FULL_SCALE[channel] / BINS)


def level_shares(frames: FrameSet) -> FloatArray | None:
    """How often red, green and blue have which level: (3, 64) shares, four levels of 255 a bin; None without pictures.

    Of a large set 200 pictures count, evenly chosen. Each picture counts the same.
    """
    images = frames.images
    rows = [] if images is None else [row for row in range(len(frames)) if images.has(row)]
    rows = [rows[k] for k in np.unique(np.linspace(0, len(rows) - 1, min(len(rows), _MOST_PICTURES)).astype(int))]
    total, counted = np.zeros((3, LEVEL_BINS)), 0
    for row in rows:
        try:
            pixels = as_rgb(images.read(row)) if images is not None else None
        except ImageError:
            continue
        if pixels is None:
            continue
        bins = pixels.reshape(-1, 3) // (256 // LEVEL_BINS)
        total += [np.bincount(channel, minlength=LEVEL_BINS) / len(bins) for channel in bins.T]
        counted += 1
    return total / counted if counted else None


def level_distance(a: FloatArray, b: FloatArray) -> FloatArray:
    """The Wasserstein distance W1 of each channel of two `level_shares`, levels of 255: (3,)."""
    distance: FloatArray = np.abs(np.cumsum(a - b, axis=1)).sum(1) * (256 // LEVEL_BINS)
    return distance


def _frame_counts(frames: FrameSet, index: int, pixels: RgbImage) -> dict[str, IntArray]:
    bins, coloured = _bin_images(as_rgb(pixels))
    counts = {WHOLE: _count(bins, coloured)}
    height, width = coloured.shape
    objects = frames.objects
    for row in np.flatnonzero(objects.frame == index):
        x0, y0, x1, y1 = np.clip(round_to_pixels(objects.box[row : row + 1])[0], 0, [width, height, width, height])
        here = np.s_[y0:y1, x0:x1]
        covered = np.ones(coloured[here].shape, np.bool_)
        if objects.masks is not None and objects.masks.has(int(row)):
            here, covered = np.s_[:, :], objects.masks.to_image(int(row), width, height)
        if covered.any():
            class_id = int(objects.class_id[row])
            name = frames.class_names.get(class_id, str(class_id))
            found = _count([bin_number[here][covered] for bin_number in bins], coloured[here][covered])
            counts[name] = counts.get(name, 0) + found
    return counts


def _bin_images(pixels: RgbImage) -> tuple[list[_BinImage], npt.NDArray[np.bool_]]:
    """The number of each pixel's bin in each channel, and whether it has a hue."""
    hsv = cv2.cvtColor(pixels.astype(np.float32) / np.float32(255), cv2.COLOR_RGB2HSV)
    bins = [
        np.minimum((hsv[:, :, i] * (BINS / FULL_SCALE[channel]) + _ROUNDING).astype(np.intp), BINS - 1)
        for i, channel in enumerate(CHANNELS)
    ]
    return bins, hsv[:, :, 1] > 0


def _count(bins: list[_BinImage], coloured: npt.NDArray[np.bool_]) -> IntArray:
    hue, saturation, value = bins
    rows = [np.bincount(channel.ravel(), minlength=BINS) for channel in (hue[coloured], saturation, value)]
    return np.array(rows, np.int64)


def _shares(counts: IntArray) -> FloatArray:
    total = counts.sum()
    return counts / total if total else np.full(len(counts), np.nan)
