"""Linear light as grey levels of sRGB at once: what `filters.as_uint8` makes of `isp.srgb`, by a table."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from simjudge.core.arrays import IntArray
from simjudge.sim.sensors.camera.filters import FULL_SCALE, FloatImage, as_uint8
from simjudge.sim.sensors.camera.isp import srgb

_FIRST = 0x39000000
"""Bits of 2^-13 as float32, from which on the table reaches; what is darker is black."""
_END = 0x3F800000
"""Bits of 1, where it ends; what is brighter is white."""
_SHIFT = 15
"""Bits of a float32 within one row of the table: a row is narrower than any grey level."""
_NEAR = 256
"""Neighbouring float32 on both sides of a level's begin, among which rounding may take some to the wrong side."""
_NEVER = 0x7FFFFFFF


class _Levels(NamedTuple):
    """What float32 become, by their bits; (R,) each.

    Attributes:
        level: uint8, grey level at the row's begin.
        next_level: int32, bits of the first number of the row that is one level above; larger ones have none.
    """

    level: npt.NDArray[np.uint8]
    next_level: npt.NDArray[np.int32]


def srgb_levels(light: FloatImage) -> npt.NDArray[np.uint8]:
    """Encode linear light as 8-bit display values, rounded and saturating.

    The numbers are those of `as_uint8(srgb(light))`, in a sixth of the time.

    Args:
        light: (H, W, 3), linear, floating point with full scale 1.

    Returns:
        Uint8 (H, W, 3), 0 to 255.
    """
    levels = _levels() if light.dtype == np.float32 else None
    if levels is None:
        return as_uint8(srgb(light))
    flat = np.ascontiguousarray(light).ravel()
    found = np.empty(flat.shape, np.uint8)
    if not _look_up(flat, flat.view(np.int32), *levels, found):
        return as_uint8(srgb(light))
    return found.reshape(light.shape)


@cache
def _levels() -> _Levels | None:
    """The table, found by bisection; None where this machine's slow way is not monotone: no table stands for that."""
    wanted = np.arange(1, int(FULL_SCALE) + 1)
    low, high = np.full(len(wanted), _FIRST), np.full(len(wanted), _END)
    while np.any(high - low > 1):
        middle = (low + high) // 2
        reached = _slow_levels(middle) >= wanted
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    around = high[:, None] + np.arange(-_NEAR, _NEAR)
    expected = wanted[:, None] - 1 + (np.arange(-_NEAR, _NEAR) >= 0)
    begins = np.arange(_FIRST, _END, 1 << _SHIFT)
    level, row = _slow_levels(begins), (high - _FIRST) >> _SHIFT
    ends = _slow_levels(np.array([_FIRST, _END])).tolist() == [0, int(FULL_SCALE)]
    if not ends or np.any(_slow_levels(around) != expected) or len(np.unique(row)) < len(row):
        return None
    next_level = np.full(len(begins), _NEVER, np.int32)
    next_level[row] = high
    # A level that begins with its row stands in the row's own entry.
    next_level[begins == next_level] = _NEVER
    return _Levels(level, next_level)


def _slow_levels(bits: IntArray) -> npt.NDArray[np.uint8]:
    return as_uint8(srgb(bits.astype(np.int32).view(np.float32)))


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _look_up(
    light: npt.NDArray[np.float32],
    bits: npt.NDArray[np.int32],
    level: npt.NDArray[np.uint8],
    next_level: npt.NDArray[np.int32],
    found: npt.NDArray[np.uint8],
) -> bool:
    """Write the levels of numbers; whether none was NaN."""
    good = True
    for k in range(len(light)):
        number = bits[k]
        if number >= _END:
            found[k] = 255
            good &= light[k] == light[k]
        elif number < _FIRST:
            found[k] = 0
            good &= light[k] == light[k]
        else:
            row = (number - _FIRST) >> _SHIFT
            found[k] = level[row] + (number >= next_level[row])
    return good
