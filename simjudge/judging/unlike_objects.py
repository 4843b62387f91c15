"""Batches that mix unlike objects: how unlike they are, and what is expected of them for it (method, section 9)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.frames import FrameSet
from simjudge.judging.judged_set import JudgedSet
from simjudge.method.balance import UNBALANCED, unlike
from simjudge.method.performance_model import PerformanceModel, fit_performance
from simjudge.method.pool import ClassPair


@dataclass(frozen=True, repr=False)
class ClassBalance(ShortRepr):
    """How unlike the objects of A_c and of B_c are, in standard deviations of the class, by covariate.

    `model` is what is expected of A's objects, then of B's, where they are too unlike to be compared as they are.
    """

    differences: dict[str, float]
    model: PerformanceModel | None = None

    @property
    def largest(self) -> tuple[str, float] | None:
        """The covariate that differs most, and by how much."""
        return max(self.differences.items(), key=lambda item: abs(item[1]), default=None)


def class_covariates(sets: tuple[JudgedSet, JudgedSet], class_id: int) -> tuple[FloatArray, tuple[str, ...]]:
    """(N, K) of the objects of a class, A's first, and the K names."""
    a, b = sets
    if a.contexts is not None or b.contexts is not None:  # patches of label pictures are no objects
        return np.empty((len(a.rows(class_id)) + len(b.rows(class_id)), 0)), ()
    return sample_covariates(a.frames, a.rows(class_id), b.frames, b.rows(class_id))


def class_balance(
    sets: tuple[JudgedSet, JudgedSet], class_id: int, pair: ClassPair, balance: FloatArray
) -> ClassBalance:
    """Name the (K,) mean differences of a class, and fit what is expected of its objects where they are unbalanced.

    Where batches are balanced but the sets are not, each batch leans the same way a little: that too is taken out.
    """
    covariates, names = class_covariates(sets, class_id)
    differences = {name: value for name, value in zip(names, balance.tolist(), strict=True) if not math.isnan(value)}
    count = len(pair.a.performance)
    units = pair.numbers.unit[:count], pair.numbers.unit[count:]
    # Pairs show the same objects: where their sizes differ, labels or lenses do, which is what is judged.
    leans = not np.isin(*units).any() and any(unlike(column[:count], column[count:], units) for column in covariates.T)
    if not leans and all(abs(value) <= UNBALANCED for value in differences.values()):
        return ClassBalance(differences)
    performance = np.concatenate([pair.a.performance, pair.b.performance])
    in_b = np.arange(len(performance)) >= count
    return ClassBalance(differences, fit_performance(performance, covariates, in_b, pair.numbers.unit))


EDGE_PX = 0.5
"""A box that ends this near the image's edge, or beyond it, is truncated."""


def sample_covariates(
    a: FrameSet, rows_a: IntArray, b: FrameSet, rows_b: IntArray
) -> tuple[FloatArray, tuple[str, ...]]:
    """The covariates of the objects of one class, as both sets know them.

    `rows_a`: (n,), rows of its objects; returns float64 (n + m, K), A's objects, then B's, without NaN: and the K
    names. Distance and visible share are left out where an object of either set lacks them.
    """
    columns = [np.concatenate(pair) for pair in zip(_columns(a, rows_a), _columns(b, rows_b), strict=True)]
    known = [(name, column) for name, column in zip(_NAMES, columns, strict=True) if np.isfinite(column).all()]
    return np.stack([column for _, column in known], axis=1), tuple(name for name, _ in known)


def truncated_objects(frames: FrameSet, rows: IntArray) -> BoolArray:
    """Which boxes reach the edge of their image; the sides of a whole turn are no edges.

    `rows`: (N,), rows of its objects.
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
