"""Things across the seam of an image that sees all around: its right edge goes on at its left edge.

A box cannot go around. A thing that stands on both sides of the seam is labelled by its larger part, as if the image's
edge had cut the rest off.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import ndimage


def without_smaller_parts(instance: npt.NDArray[np.uint16]) -> npt.NDArray[np.uint16]:
    """Of each instance that stands across the seam, the larger part alone.

    An instance stands across the seam if the widest run of columns without it, counted around, is not the one that
    holds the seam.

    Args:
        instance: uint16 (H, W), 0 where there is nothing; the columns go once around.

    Returns:
        The same image where there is no such instance; else a copy.
    """
    width = instance.shape[1]
    out = instance
    for number, region in enumerate(ndimage.find_objects(instance.astype(np.int32)), start=1):
        # A run within the instance's columns can be the widest only if these are more than half of all.
        if region is None or region[1].stop - region[1].start <= width / 2:
            continue
        begin, end = _widest_gap(np.flatnonzero((instance == number).any(0)))
        if end - begin <= width - (region[1].stop - region[1].start):
            continue
        mask = instance == number
        left_is_larger = np.count_nonzero(mask[:, :begin]) >= np.count_nonzero(mask[:, end:])
        mask[:, slice(None, begin) if left_is_larger else slice(end, None)] = False
        out = np.where(mask, np.uint16(0), out)
    return out


def _widest_gap(columns: npt.NDArray[np.int64]) -> tuple[int, int]:
    """The first widest run of columns between some rising ones: its begin and end."""
    gaps = np.diff(columns)
    if not len(gaps):
        return 0, 0
    k = int(np.argmax(gaps))
    return int(columns[k]) + 1, int(columns[k + 1])
