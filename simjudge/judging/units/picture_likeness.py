"""Whether neighbouring pictures of a set are alike, where names do not tell whether they follow each other."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
from PIL import Image

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.frames import FrameSet
from simjudge.core.images import DAMAGED_IMAGE, IMAGE_FORMATS
from simjudge.data.format_support.image_files import image_file
from simjudge.data.frame_sequences import source_photograph

_SIDE_PX = 16
_PAIRS = 48
"""Pairs of neighbours that are looked at; of more, so many from first to last."""
_FEWEST = 10
"""Photographs below which nothing is told."""
_RARE = 0.95
"""Quantile of the likeness of random pairs above which a pair is alike."""
_ALIKE = 0.2
"""Share of pairs of neighbours above it from which on neighbours are alike; of unrelated pictures 0.05 are."""
_ONE_PLACE = 0.85
"""Correlation of thumbnails above which pictures are of one place whatever other pairs are."""


def alike_neighbours(frames: FrameSet, order: IntArray) -> bool | None:
    """Whether pictures are like those beside them in an order of frames; None where too few are files."""
    photographs = {source_photograph(frames.frame_name[row]): row for row in reversed(order.tolist())}
    files = [image_file(frames.images, row) for row in reversed(photographs.values())]
    paths = [path for path in files if path is not None]
    if len(paths) < max(_FEWEST, len(files)):
        return None
    first = np.unique(np.linspace(0, len(paths) - 2, _PAIRS).astype(np.int64))
    places = np.unique(np.concatenate([first, first + 1]))
    try:
        small = np.stack([_thumbnail(paths[place], paths[place].stat().st_mtime_ns) for place in places.tolist()])
    except DAMAGED_IMAGE:
        return None
    alike = small @ small.T
    beside = alike[np.searchsorted(places, first), np.searchsorted(places, first + 1)]
    apart = alike[np.abs(places[:, np.newaxis] - places) > 1]
    share = float((beside > np.quantile(apart, _RARE)).mean())
    return share >= _ALIKE or float(np.median(beside)) >= _ONE_PLACE


@lru_cache(8192)
def _thumbnail(path: Path, _changed: int) -> FloatArray:
    """A picture in a few grey pixels, of mean 0 and length 1."""
    with Image.open(path, formats=IMAGE_FORMATS) as image:
        image.draft("L", (4 * _SIDE_PX, 4 * _SIDE_PX))
        pixels = np.asarray(image.convert("L").resize((_SIDE_PX, _SIDE_PX), Image.Resampling.BOX), np.float64).ravel()
    pixels -= pixels.mean()
    return np.asarray(pixels / max(float(np.linalg.norm(pixels)), 1e-9))
