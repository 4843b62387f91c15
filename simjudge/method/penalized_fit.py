"""Smooth curves of covariates, fitted by penalized least squares or penalized logistic regression.

A curve is piecewise linear with knots at quantiles; its parameters are the slopes between knots. A penalty on the
changes of slope keeps it smooth (Eilers and Marx, Statistical Science 11, 1996), slopes of one sign make it monotone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr

_INNER_KNOTS = 4
"""Inner knots from the quantiles of each set, at most."""
_SAMPLES_A_KNOT = 25
_STEPS = 25
"""Newton steps at most; five are usual."""
_LARGEST_LOGIT = 30.0


@dataclass(frozen=True, repr=False)
class CurveBasis(ShortRepr):
    """The curves of K covariates.

    Attributes:
        mean, spread: float64 (K,), which standardize the covariates.
        knots: of each covariate, standardized, ascending; fewer than two where it is constant and has no curve.
    """

    mean: FloatArray
    spread: FloatArray
    knots: tuple[FloatArray, ...]

    @classmethod
    def of_samples(cls, covariates: FloatArray, in_b: BoolArray) -> CurveBasis:
        """Place the knots so that both sets have them where their samples are.

        Args:
            covariates: (N, K), N > 0.
            in_b: (N,), which samples are B's.
        """
        mean, spread = covariates.mean(axis=0), covariates.std(axis=0)
        # Of a column that repeats one number, rounding leaves a spread.
        spread = np.where(spread > 1e-9 * (1 + np.abs(mean)), spread, 0.0)
        # A constant covariate becomes 0 by division by infinity, without a branch.
        standard = (covariates - mean) / np.where(spread > 0, spread, np.inf)
        knots = []
        for column in standard.T:
            found = [column.min(), column.max()]
            for own in (column[~in_b], column[in_b]):
                inner = min(_INNER_KNOTS, len(own) // _SAMPLES_A_KNOT)
                found += np.quantile(own, np.arange(1, inner + 1) / (inner + 1)).tolist() if inner else []
            knots.append(_distinct(np.sort(found)))
        return cls(mean, spread, tuple(knots))

    @property
    def covariate(self) -> IntArray:
        """int64 (P,), the covariate of each column of the design."""
        return np.repeat(np.arange(len(self.knots)), [max(0, len(knots) - 1) for knots in self.knots])

    def standardize(self, covariates: FloatArray) -> FloatArray:
        """(N, K), with mean 0 and spread 1; 0 where a covariate is constant.

        Args:
            covariates: (N, K).
        """
        standard = (covariates - self.mean) / np.where(self.spread > 0, self.spread, np.inf)
        return np.asarray(standard)

    def design(self, covariates: FloatArray) -> FloatArray:
        """(N, P): how far each sample is into each interval between knots. Curves are flat beyond the outer knots.

        Args:
            covariates: (N, K).
        """
        parts = [
            np.clip(column[:, None] - knots[:-1], 0, np.diff(knots))
            for column, knots in zip(self.standardize(covariates).T, self.knots, strict=True)
        ]
        return np.concatenate([np.empty((len(covariates), 0)), *parts], axis=1)

    def roughness(self) -> FloatArray:
        """(P, P), the quadratic form of the slopes that is the summed squared change of slope per unit of length."""
        out = np.zeros((len(self.covariate), len(self.covariate)))
        at = 0
        for knots in self.knots:
            count, length = max(0, len(knots) - 1), np.diff(knots)
            # Row k takes slope k from slope k + 1.
            change = np.diff(np.eye(count), axis=0) if count else np.zeros((0, 0))
            between = (length[1:] + length[:-1]) / 2
            out[at : at + count, at : at + count] = change.T @ (change / between[:, None])
            at += count
        return out


@dataclass(frozen=True, repr=False)
class PenalizedProblem(ShortRepr):
    """What `fit_penalized` minimizes beside the loss.

    Attributes:
        penalty: (P, P), of the quadratic form of the parameters.
        sign: int64 (P,), 1 or -1 where a parameter may not have the other sign, 0 where it is free.
        logistic: the loss is that of logistic regression; else half the squared error.
    """

    penalty: FloatArray
    sign: IntArray
    logistic: bool


def fit_penalized(
    design: FloatArray, target: FloatArray, problem: PenalizedProblem, start: FloatArray | None = None
) -> FloatArray:
    """Fit by Newton steps, each a quadratic problem with bounds.

    Args:
        design: (N, P), N > 0.
        target: (N,), 0 or 1 where the problem is logistic.
        start: (P,), parameters near the solution, which save steps; None for zeros.

    Returns:
        The parameters, (P,).
    """
    parameters = np.zeros(design.shape[1]) if start is None else np.where(start * problem.sign < 0, 0, start)
    loss = penalized_loss(design, target, parameters, problem)
    for _ in range(_STEPS if problem.logistic else 1):
        linear = design @ parameters
        expected = logistic_share(linear) if problem.logistic else linear
        weight = expected * (1 - expected) if problem.logistic else np.ones(len(target))
        # Iteratively reweighted least squares: the Hessian of the mean loss.
        curvature = (design * weight[:, None]).T @ design / len(target) + problem.penalty
        slope = design.T @ (target - expected) / len(target) - problem.penalty @ parameters
        # Where the quadratic model around the parameters is least within the bounds.
        step = bounded_minimum(curvature, curvature @ parameters + slope, problem.sign) - parameters
        size, previous = 1.0, loss
        # Halved until the loss falls: Newton steps of logistic models may overshoot.
        while (loss := penalized_loss(design, target, parameters + size * step, problem)) > previous and size > 1e-6:
            size /= 2
        if loss > previous:
            return parameters
        parameters = parameters + size * step
        if previous - loss < 1e-9:
            break
    return parameters


def penalized_loss(design: FloatArray, target: FloatArray, parameters: FloatArray, problem: PenalizedProblem) -> float:
    """The mean loss and the penalty.

    Args:
        parameters: (P,).
    """
    linear = design @ parameters
    if problem.logistic:
        linear = np.clip(linear, -_LARGEST_LOGIT, _LARGEST_LOGIT)
        loss = float((np.logaddexp(0, linear) - target * linear).mean())
    else:
        loss = float(((target - linear) ** 2).mean() / 2)
    return loss + float(parameters @ problem.penalty @ parameters) / 2


def bounded_minimum(curvature: FloatArray, linear: FloatArray, sign: IntArray) -> FloatArray:
    """Where x' curvature x / 2 - linear' x is least, by the active sets of Lawson and Hanson (1974, chapter 23).

    Args:
        curvature: (P, P), positive definite.
        linear: (P,).
        sign: (P,), see `PenalizedProblem`.
    """
    # Signs are moved into the problem, so that every bound is x >= 0.
    flip = np.where(sign == 0, 1, sign)
    curvature, linear = curvature * np.outer(flip, flip), linear * flip
    bounded, inside, found = sign != 0, sign == 0, np.zeros(len(linear))
    for _ in range(3 * len(linear) + 1):
        tried = _minimum_of(curvature, linear, inside)
        while (below := inside & bounded & (tried <= 0)).any():
            # As far towards the trial as the first parameter allows that would cross 0.
            part = float((found[below] / np.maximum(found[below] - tried[below], 1e-300)).min())
            found = found + part * (tried - found)
            inside = inside & ~(bounded & (found <= 1e-14))
            found = np.where(inside, found, 0)
            tried = _minimum_of(curvature, linear, inside)
        found = tried
        # The negative gradient of the fixed ones: where it points inwards, a bound is not binding.
        pull = np.where(inside, -np.inf, linear - curvature @ found)
        if inside.all() or pull.max() <= 1e-12 * (1 + np.abs(linear).max()):
            break
        inside[int(pull.argmax())] = True
    return np.asarray(found * flip)


def logistic_share(logit: FloatArray) -> FloatArray:
    """1 / (1 + exp(-logit)).

    Args:
        logit: any shape.
    """
    # scipy.special.expit is the same, and takes a second to import.
    return np.asarray((1 + np.tanh(logit / 2)) / 2)


def _minimum_of(curvature: FloatArray, linear: FloatArray, inside: BoolArray) -> FloatArray:
    """The minimum where all other parameters are 0."""
    found = np.zeros(len(linear))
    found[inside] = np.linalg.solve(curvature[np.ix_(inside, inside)], linear[inside])
    return found


def _distinct(knots: FloatArray) -> FloatArray:
    """The knots that are a hundredth of the spread or more above the one before, the outer ones always."""
    if len(knots) < 2 or knots[-1] - knots[0] <= 0:
        return knots[:1]
    kept = [knots[0]]
    for knot in knots[1:-1]:
        if min(knot - kept[-1], knots[-1] - knot) >= 0.01:
            kept.append(knot)
    return np.array([*kept, knots[-1]])
