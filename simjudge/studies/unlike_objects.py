"""Batches that mix unlike objects: how unlike they are, and what is expected of them for it (method, section 9)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.display import ShortRepr
from simjudge.method.balance import UNBALANCED
from simjudge.method.performance_model import PerformanceModel, fit_performance
from simjudge.method.pool import ClassPair
from simjudge.studies.judged_set import JudgedSet
from simjudge.studies.sample_covariates import sample_covariates


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
    """Name the (K,) mean differences of a class, and fit what is expected of its objects where they are unbalanced."""
    covariates, names = class_covariates(sets, class_id)
    differences = {name: value for name, value in zip(names, balance.tolist(), strict=True) if not math.isnan(value)}
    if all(abs(value) <= UNBALANCED for value in differences.values()):
        return ClassBalance(differences)
    performance = np.concatenate([pair.a.performance, pair.b.performance])
    in_b = np.arange(len(performance)) >= len(pair.a.performance)
    return ClassBalance(differences, fit_performance(performance, covariates, in_b, pair.numbers.unit))
