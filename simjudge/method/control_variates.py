"""The mean performance in reality from few real frames, with the help of many simulated ones: control variates.

Luo et al., Sim2Val: Leveraging Correlation Across Test Platforms for Variance-Reduced Metric Estimation, arXiv
2506.20553. n real frames have simulated twins, k further frames are simulated alone. Their estimator is
mean(F - beta G) over the twins + beta mean(G') over the others, with beta = Cov(F, G) / Var(G) / (1 + n / k). That is
the regression estimator of two-phase sampling, mean(F) - b (mean(G) - mean over all n + k), b = Cov(F, G) / Var(G): the
form used here, whose interval is known (Cochran, Sampling Techniques, 1977, section 12.6).

Performance is a mean over objects, and frames hold different numbers of them. So F and G are the residuals of the ratio
(sum of performance) / (sum of objects) by frame, divided by the mean number of objects (Cochran, section 6.4). Where
each frame has one object they are its performance less the mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy.special import stdtrit

from simjudge.core.arrays import BoolArray, FloatArray, ShortRepr
from simjudge.core.errors import SimjudgeError

FEWEST_PAIRS = 5
"""Pairs of sampling units with objects below which no interval is given."""
_LEVEL = 0.975
_ROUNDING = 1e-24
_FAR = 3.0
"""Standard errors between the twins and the further frames from which they seem to show other things."""


@dataclass(frozen=True, repr=False)
class UnitTotals(ShortRepr):
    """Objects of a set by its U sampling units (frames, or blocks of neighbours).

    Attributes:
        performance: float64 (U,), the sum over the unit's objects.
        objects: float64 (U,), how many there are.
    """

    performance: FloatArray
    objects: FloatArray

    def residuals(self, mean: float) -> FloatArray:
        """By how much each unit moves the mean over all objects, times the number of units."""
        return (self.performance - mean * self.objects) / max(float(self.objects.mean()), 1e-300)

    @property
    def mean(self) -> float:
        """Performance of an object."""
        return float(self.performance.sum() / self.objects.sum())

    def take(self, units: BoolArray) -> UnitTotals:
        """Some of the units.

        Args:
            units: (U,) which.
        """
        return UnitTotals(self.performance[units], self.objects[units])


@dataclass(frozen=True)
class PerformanceInterval:
    """A mean performance with its 95 % interval."""

    mean: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """From end to end."""
        return self.high - self.low


@dataclass(frozen=True)
class ControlVariateEstimate:
    """The mean performance in reality.

    Attributes:
        simulated_mean: over all simulated frames: not an estimate of reality.
        correlation: of the real and the simulated performance of twins, by unit.
        coefficient: b, the change in reality that goes with one in simulation.
        distance: standard errors between the means of the twins and of the further simulated frames; None where there
            are none. Beyond 3 they seem to show other things than the real frames, and the estimate may be biased.
    """

    estimate: PerformanceInterval
    real_alone: PerformanceInterval
    simulated_mean: float
    correlation: float
    coefficient: float
    pairs: int
    simulated: int
    distance: float | None

    @property
    def times_frames(self) -> float:
        """As many times the real frames would give as narrow an interval by themselves."""
        return (self.real_alone.width / self.estimate.width) ** 2 if self.estimate.width > 0 else 1.0

    @property
    def other_scenes(self) -> bool:
        """Whether the further frames seem to show other things than the real ones."""
        return self.distance is not None and abs(self.distance) > _FAR


def estimate_real_mean(real: UnitTotals, twins: UnitTotals, further: UnitTotals) -> ControlVariateEstimate:
    """Estimate the mean performance in reality.

    The further frames must show what the real ones are a sample of: other moments of the same drives, say. That a net
    does better or worse in simulation biases nothing.

    Source:
        arXiv 2506.20553, section 3; Cochran 1977, equation 12.64.
    """
    held = (real.objects > 0) & (twins.objects > 0)
    n = int(held.sum())
    if n < FEWEST_PAIRS:
        raise SimjudgeError(f"{n} pairs of independent frames hold objects; {FEWEST_PAIRS} are needed at least")
    real, twins = real.take(held), twins.take(held)
    further = further.take(further.objects > 0)
    both = UnitTotals(
        np.concatenate([twins.performance, further.performance]), np.concatenate([twins.objects, further.objects])
    )
    # Ratio estimators linearized: each unit's residual stands for what it does to the mean over objects.
    f, residuals = real.residuals(real.mean), both.residuals(both.mean)
    g = residuals[:n]
    spread = g - g.mean()
    squares = float(spread @ spread)
    slope = float(spread @ f) / squares if squares > 0 else 0.0
    left = f - f.mean() - slope * spread
    # Two parameters, mean and slope, are fitted.
    variance = float(left @ left) / (n - 2)
    # Variance of the regression line at the mean of all simulated units (residuals around it are 0 there).
    of_mean = variance * (1 / n + (float(g.mean()) ** 2 / squares if squares > 0 else 0.0))
    # The further simulated units know that mean with an error of their own.
    of_mean += slope**2 * float(residuals.var(ddof=1)) / len(residuals)
    total = float(np.sqrt(squares * (f @ f)))
    return ControlVariateEstimate(
        estimate=_interval(real.mean - slope * float(g.mean()), of_mean, n - 2),
        real_alone=_interval(real.mean, float(f.var(ddof=1)) / n, n - 1),
        simulated_mean=both.mean,
        correlation=float(spread @ f) / total if total > 0 else 0.0,
        coefficient=slope,
        pairs=n,
        simulated=len(residuals),
        distance=_distance(residuals, n),
    )


def _distance(residuals: FloatArray, pairs: int) -> float | None:
    first, others = residuals[:pairs], residuals[pairs:]
    if len(others) < FEWEST_PAIRS:
        return None
    error = sqrt(first.var(ddof=1) / len(first) + others.var(ddof=1) / len(others))
    return float((first.mean() - others.mean()) / error) if error > 0 else None


def _interval(mean: float, variance: float, freedom: int) -> PerformanceInterval:
    # Where no unit differs from another, 1 - 0.025^(1/n) of them may, unseen.
    spread = float(stdtrit(freedom, _LEVEL)) * sqrt(variance)
    half = spread if variance > _ROUNDING else float(1 - (1 - _LEVEL) ** (1 / (freedom + 1)))
    return PerformanceInterval(mean, mean - half, mean + half)
