"""What performance is to be expected of an object of a given size: the model that makes unlike objects comparable.

Below a threshold of about 0.8 a batch holds objects of unlike size. If A's are mostly small and B's mostly large, W1 is
of sizes, not of the two sets. So each sample is moved to the covariates of the batch's context by the expected
performance of found objects and the expected share of objects found. Both are curves of the covariates, fitted to A and
B together with a term for the set, which they leave out: a gap is not taken for size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.method.penalized_fit import (
    CurveBasis,
    PenalizedProblem,
    bounded_minimum,
    fit_penalized,
    logistic_share,
)

MOST_SAMPLES = 10_000
"""Samples of each set that the curves are fitted to, at most: drawn at random where there are more."""
FEWEST_FOUND = 20
"""Found samples below which no curve is fitted."""
FEWEST_MISSED = 10
"""Missed samples (or found ones) below which the share found is taken as the same everywhere."""
_SMOOTHING = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
"""Weights of the roughness between which cross-validation chooses; at 1 curves are almost straight."""
_RIDGE = 1e-5
"""Weight of the squared parameters, which settles what the samples leave open."""
_LEAST_SHARE = 0.01


@dataclass(frozen=True, repr=False)
class PerformanceModel(ShortRepr):
    """Expected performance of the samples of one class at their own covariates, without the set's term.

    Attributes:
        found_mean: float64 (N,), the expected performance of a found object at the covariates of each sample (A's
            samples, then B's).
        found_share: float64 (N,), the expected share of objects found there, in [0.01, 0.99].
    """

    found_mean: FloatArray
    found_share: FloatArray


def fit_performance(
    performance: FloatArray,
    covariates: FloatArray,
    in_b: BoolArray,
    unit: IntArray,
    *,
    folds: int = 5,
    seed: int = 0,
) -> PerformanceModel:
    """Fit the expected performance of one class; no sample's own unit takes part in what is expected of it.

    Args:
        performance: (N,), in [0, 1]; 0 is an object that was missed.
        covariates: (N, K), such as the logarithm of the box area, without NaN.
        in_b: (N,), which samples are B's.
        unit: (N,), the sampling unit of each sample; A and B may share units.
        folds: parts into which the units are dealt; fewer where a set has fewer units, none where it has one.
        seed: of the dealing, and of the choice of samples where there are very many.
    """
    random = np.random.default_rng(seed)
    fold = _deal_units(in_b, unit, folds, random)
    found = performance > 0
    mean = np.full(len(performance), performance[found].mean() if found.any() else 0.0)
    if found.sum() >= FEWEST_FOUND:
        mean = _expect(performance, covariates, in_b, fold, _choose(found, in_b, random), logistic=False)
    share = np.full(len(performance), found.mean() if len(found) else 0.0)
    if min(found.sum(), (~found).sum()) >= FEWEST_MISSED:
        chosen = _choose(np.ones(len(found), np.bool_), in_b, random)
        share = logistic_share(_expect(found.astype(np.float64), covariates, in_b, fold, chosen, logistic=True))
    return PerformanceModel(mean, np.clip(share, _LEAST_SHARE, 1 - _LEAST_SHARE))


@dataclass(frozen=True)
class _Shape:
    """What curves are fitted.

    Attributes:
        by_set: whether the gap between the sets may change with the covariates, linearly.
        sign: for each covariate 1 or -1 where its curve only rises or falls, 0 where it is free.
    """

    smoothing: float
    by_set: bool
    sign: tuple[int, ...]


class _CurveFit:
    """The samples that curves are fitted to, and how they are fitted."""

    def __init__(
        self, target: FloatArray, covariates: FloatArray, in_b: BoolArray, fold: IntArray, *, logistic: bool
    ) -> None:
        self.basis = CurveBasis.of_samples(covariates, in_b)
        curves = self.basis.design(covariates)
        self.slope_count = curves.shape[1]
        self._fold, self._target, self._logistic = fold, target, logistic
        # The set's term is 0 halfway between A and B, so that the curves are the mean of both sets' curves.
        code = np.where(in_b, 0.5, -0.5)[:, None]
        gap = code * self.basis.standardize(covariates)
        self._design = np.concatenate([curves, np.ones((len(target), 1)), code, gap], axis=1)
        self._moments = self._fold_moments()

    def parameters(self, shape: _Shape, start: FloatArray | None = None, left_out: int = -1) -> FloatArray:
        """Slopes of the curves, then the other terms, fitted without a fold."""
        kept, problem = self._fold != left_out, self._problem(shape)
        return fit_penalized(self._design[kept, : len(problem.sign)], self._target[kept], problem, start)

    def mean_curve(self, slopes: FloatArray) -> float:
        """Mean of what curves of such slopes give for the samples."""
        return float((self._design[:, : self.slope_count] @ slopes).mean())

    def error(self, shape: _Shape) -> float:
        """Mean squared error of the samples of each fold under what is fitted without it; of all where it is one."""
        problem, count = self._problem(shape), len(self._target)
        size, total = len(problem.sign), 0.0
        whole = sum(self._moments[1:], start=self._moments[0])
        for own in self._moments:
            rest = (whole - own if len(self._moments) > 1 else whole) / count
            found = bounded_minimum(rest[:size, :size] + problem.penalty, rest[:size, -1], problem.sign)
            # Of the moments of design and target together, the squared error is the quadratic form of (-found, 1).
            factors = np.concatenate([-found, np.zeros(len(own) - size - 1), [1.0]])
            total += float(factors @ own @ factors)
        return total / count

    def _fold_moments(self) -> list[FloatArray]:
        """Second moments of design and target (last), for each fold.

        A logistic fit is replaced by the least squares problem that it is near its solution, which spares
        cross-validation many fits.
        """
        target, weight = self._target, np.ones(len(self._target))
        if self._logistic:
            first = _Shape(_SMOOTHING[2], by_set=True, sign=(0,) * len(self.basis.knots))
            linear = self._design @ self.parameters(first)
            share = np.clip(logistic_share(linear), _LEAST_SHARE / 10, 1 - _LEAST_SHARE / 10)
            weight = share * (1 - share)
            target = linear + (target - share) / weight
        both = np.concatenate([self._design, target[:, None]], axis=1) * np.sqrt(weight)[:, None]
        return [both[self._fold == number].T @ both[self._fold == number] for number in np.unique(self._fold)]

    def best_shape(self) -> _Shape:
        """The shape of the least cross-validated error; curves are monotone where that does not add to it."""
        free = (0,) * len(self.basis.knots)
        tried = [_Shape(weight, by_set=False, sign=free) for weight in _SMOOTHING]
        errors = [self.error(shape) for shape in tried]
        best, least = tried[int(np.argmin(errors))], min(errors)
        parted = replace(best, by_set=True)
        if (error := self.error(parted)) < least:
            best, least = parted, error
        slopes, covariate = self.parameters(best)[: self.slope_count], self.basis.covariate
        for number, knots in enumerate(self.basis.knots):
            if len(knots) < 2:
                continue
            rise = float(slopes[covariate == number] @ np.diff(knots))
            sign = (*best.sign[:number], 1 if rise > 0 else -1, *best.sign[number + 1 :])
            monotone = replace(best, sign=sign)
            if (error := self.error(monotone)) <= least:
                best, least = monotone, error
        return best

    def _problem(self, shape: _Shape) -> PenalizedProblem:
        size, curves = self._design.shape[1] if shape.by_set else self.slope_count + 2, slice(self.slope_count)
        # Where one set has found all, a logit without a penalty of about one sample would be endless.
        penalty = np.eye(size) * (max(_RIDGE, 1 / len(self._target)) if self._logistic else _RIDGE)
        penalty[curves, curves] += shape.smoothing * self.basis.roughness()
        sign = np.zeros(size, np.int64)
        sign[curves] = np.array(shape.sign)[self.basis.covariate] if self.slope_count else 0
        return PenalizedProblem(penalty, sign, self._logistic)


def _expect(
    target: FloatArray, covariates: FloatArray, in_b: BoolArray, fold: IntArray, chosen: IntArray, *, logistic: bool
) -> FloatArray:
    """What is expected of all samples, from the chosen ones of other folds; a logit where the fit is logistic."""
    fit = _CurveFit(target[chosen], covariates[chosen], in_b[chosen], fold[chosen], logistic=logistic)
    shape, slopes = fit.best_shape(), slice(fit.slope_count)
    whole = fit.parameters(shape)
    level = fit.mean_curve(whole[slopes]) + float(whole[fit.slope_count])
    out = np.empty(len(target))
    numbers = np.unique(fold)
    for number in numbers:
        inside = np.flatnonzero(fold == number)
        own = (fit.parameters(shape, whole, number) if len(numbers) > 1 else whole)[slopes]
        # All folds share one level: only differences between covariates are used, never those between folds.
        out[inside] = fit.basis.design(covariates[inside]) @ own + level - fit.mean_curve(own)
    return out


def _choose(wanted: BoolArray, in_b: BoolArray, random: np.random.Generator) -> IntArray:
    """The wanted samples, or as many of each set, drawn at random, as curves are fitted to."""
    parts = []
    for side in (~in_b, in_b):
        rows = np.flatnonzero(wanted & side)
        parts.append(rows if len(rows) <= MOST_SAMPLES else random.choice(rows, MOST_SAMPLES, replace=False))
    return np.sort(np.concatenate(parts))


def _deal_units(in_b: BoolArray, unit: IntArray, folds: int, random: np.random.Generator) -> IntArray:
    """The fold of each sample: units are dealt in turn, first A's, then those of both, then B's, the largest first."""
    _, number, size = np.unique(unit, return_inverse=True, return_counts=True)
    number = number.reshape(-1)
    of_b = np.bincount(number, in_b, len(size)) / np.maximum(size, 1)
    kind = np.where(of_b == 0, 0, np.where(of_b == 1, 2, 1))
    count = min(folds, int((kind < 2).sum()), int((kind > 0).sum()))
    if count < 2:
        return np.zeros(len(unit), np.int64)
    order = np.lexsort([random.random(len(size)), -size, kind])
    dealt = np.empty(len(size), np.int64)
    dealt[order] = np.arange(len(size)) % count
    return dealt[number]
