"""What else than the set performance may go with: size, shape, truncation, distance and visible share of objects."""

from __future__ import annotations

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.core.frames import FrameSet

EDGE_PX = 0.5
"""A box that ends this near the image's edge, or beyond it, is truncated."""


def sample_covariates(
    a: FrameSet, rows_a: IntArray, b: FrameSet, rows_b: IntArray
) -> tuple[FloatArray, tuple[str, ...]]:
    """The covariates of the objects of one class, as both sets know them.

    Args:
        rows_a: (n,), rows of its objects.
        rows_b: (m,), rows of its objects.

    Returns:
        float64 (n + m, K), A's objects, then B's, without NaN: and the K names. Distance and visible share are left
        out where an object of either set lacks them.
    """
    columns = [np.concatenate(pair) for pair in zip(_columns(a, rows_a), _columns(b, rows_b), strict=True)]
    known = [(name, column) for name, column in zip(_NAMES, columns, strict=True) if np.isfinite(column).all()]
    return np.stack([column for _, column in known], axis=1), tuple(name for name, _ in known)


def truncated_objects(frames: FrameSet, rows: IntArray) -> BoolArray:
    """Which boxes reach the edge of their image; the sides of a whole turn are no edges.

    Args:
        rows: (N,), rows of its objects.
    """
    box, size = frames.objects.box[rows], frames.size[frames.objects.frame[rows]]
    at_edge = np.concatenate([box[:, :2] <= EDGE_PX, box[:, 2:] >= size - EDGE_PX], axis=1)
    if frames.cyclic:
        at_edge[:, [0, 2]] = False
    return np.asarray(at_edge.any(axis=1))


_NAMES = ("log box area", "log aspect", "truncated", "visible share", "log distance")


def _columns(frames: FrameSet, rows: IntArray) -> tuple[FloatArray, ...]:
    """The columns of _NAMES; NaN where unknown."""
    objects = frames.objects
    # Less than a pixel is no size that a detector could tell, and a box may be empty.
    sides = np.maximum(objects.box[rows, 2:] - objects.box[rows, :2], 1.0)
    log_width, log_height = np.log(sides).T
    return (
        log_width + log_height,
        log_width - log_height,
        truncated_objects(frames, rows).astype(np.float64),
        objects.visible[rows],
        np.log(np.maximum(objects.distance[rows], 0.1)),
    )
