"""How much the box of an object jitters from frame to frame: beyond its motion, or while the camera stands."""

from __future__ import annotations

import math

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray

WINDOW = 5
"""Neighbouring frames of the smooth fit."""
_DEGREE = 2
_MIDDLE = WINDOW // 2


def flicker_in_motion(time: FloatArray, box: FloatArray) -> FloatArray:
    """Box flicker relative to a smooth fit, for cameras that may move.

    A parabola over time is fitted to each edge in five neighbouring frames; the residual of the middle frame, divided
    by the square root of 1 less its leverage, estimates the noise of the edge. The flicker is the root mean square of
    the four edges. Edges that jitter independently with a standard deviation of s pixels have a flicker with a root
    mean square of s over many frames, however fast they move at steady acceleration.

    Args:
        time: float64 (F,), seconds, strictly ascending.
        box: float64 (F, 4), x0, y0, x1, y1 in pixels; NaN where the object is not seen.

    Returns:
        float64 (F,), pixels; NaN where one of the five frames does not show the object.

    Source:
        Least squares on a moving window as in A. Savitzky and M. J. E. Golay, 1964; leverage as in D. A. Belsley,
        E. Kuh and R. E. Welsch, Regression Diagnostics, 1980, section 2.1.
    """
    out = np.full(len(time), np.nan)
    if len(time) < WINDOW:
        return out
    moment = np.lib.stride_tricks.sliding_window_view(time, WINDOW)
    edges = np.lib.stride_tricks.sliding_window_view(box, WINDOW, axis=0)  # (windows, 4, WINDOW)
    scaled = (moment - moment[:, [_MIDDLE]]) / np.ptp(moment, axis=1, keepdims=True)
    design = scaled[:, :, None] ** np.arange(_DEGREE + 1)
    weights = np.linalg.pinv(design)[:, 0, :]  # at the middle frame the fit is its constant
    residual = edges[:, :, _MIDDLE] - np.einsum("wet,wt->we", edges, weights)
    noise = residual / np.sqrt(1 - weights[:, [_MIDDLE]])
    out[_MIDDLE : len(time) - _MIDDLE] = np.sqrt(np.mean(noise**2, axis=1))
    return out


def flicker_while_standing(box: FloatArray, standing: BoolArray) -> FloatArray:
    """Box flicker between neighbouring frames during which the camera stands.

    Args:
        box: float64 (F, 4), x0, y0, x1, y1 in pixels; NaN where the object is not seen.
        standing: bool (F,), whether the camera has the pose of the frame before.

    Returns:
        float64 (F,), pixels: the root mean square of the four edges' changes since the frame before, over the square
        root of 2, so that edges that jitter with a standard deviation of s pixels have a flicker of s; NaN where the
        camera moves, or one of the two frames does not show the object.
    """
    out = np.full(len(box), np.nan)
    change = np.sqrt(np.mean(np.diff(box, axis=0) ** 2, axis=1)) / math.sqrt(2)
    out[1:] = np.where(standing[1:], change, np.nan)
    return out


def sight_changes(seen: BoolArray) -> FloatArray:
    """Tell where an object appears or vanishes between its first and its last sight.

    Args:
        seen: bool (F,), whether each frame shows the object.

    Returns:
        float64 (F,): 1 where the frame before showed the object and this one does not, or the other way round, else
        0; NaN up to the first sight, and after the last one.
    """
    out = np.full(len(seen), np.nan)
    shown = np.flatnonzero(seen)
    if len(shown):
        first, last = shown[0], shown[-1]
        out[first + 1 : last + 1] = np.diff(seen[first : last + 1]) != 0
    return out
