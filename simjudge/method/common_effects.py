"""Whether different things that are seen at one time have performance in common: blur, exposure, light."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray

_LAGS = 40
"""Steps up to which performance of different things is held against each other."""
_NEAREST = 1
"""Steps up to which they count as one time in the test."""
_DOUBT = 0.8416
"""Standard errors from which an effect of time is taken into account: a chance of 1 in 5, so in doubt it is."""
_CHANCE = 0.2
"""Chance of an effect that is none to be taken into account."""
_NOISE = 2.0
"""Standard errors above which a covariance belongs to the correlation time."""
BLOCK_TIMES = 5.0
"""Correlation times that a block lasts."""


@dataclass(frozen=True)
class TimeEffect:
    """What different things of one time have in common.

    Attributes:
        score: standard errors by which the covariance of different things at one time is above 0.
        steps: length of a block of time that is independent of the next, steps.
    """

    score: float
    steps: int

    @property
    def there(self) -> bool:
        """Whether an effect of time must be drawn beside that of things."""
        return self.score > _DOUBT


def time_effect(thing: IntArray, slot: IntArray, value: FloatArray, lags: int = _LAGS) -> TimeEffect:
    """Test whether different things go together in time.

    Every thing's mean is taken away first, so that what is left is no matter of the thing. Two things are one piece of
    evidence, however long they are seen together.

    Args:
        thing: int64 (N,), the thing of each sighting.
        slot: int64 (N,), when, in steps; sequences lie far apart.
        value: float64 (N,), performance less what class and size make of it.
        lags: steps up to which neighbours are looked at; 0 where frames follow in no order.
    """
    things, of = np.unique(thing, return_inverse=True)
    times, at = np.unique(slot, return_inverse=True)
    count = np.bincount(of)
    residual = (value - (np.bincount(of, value) / count)[of]) * np.sqrt(count[of] / np.maximum(count[of] - 1, 1))
    # A thing that is seen once is its own mean, and would seem to go with nothing.
    residual = np.where(count[of] > 1, residual, value - value.mean())
    covariance, score = _cross_products(of, at, residual, times, min(_NEAREST, lags), len(things))
    if score <= _DOUBT or lags == 0:
        return TimeEffect(score, 1)
    # Means of things that are seen briefly hold light too: without them its time would come out too short.
    whole = value - value.mean()
    at_once = _lag_product(of, at, whole, times, 0)[0]
    steps = max(_block_steps(of, at, v, times, lags, c) for v, c in ((residual, covariance), (whole, at_once)))
    return TimeEffect(score, steps)


def things_differ(thing: IntArray, value: FloatArray) -> bool:
    """Test whether things have means of their own, by the F test of one-way analysis of variance, in doubt for it.

    Args:
        thing: int64 (N,), the thing of each sighting.
        value: float64 (N,), performance.
    """
    from scipy.stats import f as f_distribution  # noqa: PLC0415 - slow to import

    _, of, count = np.unique(thing, return_inverse=True, return_counts=True)
    groups, rows = len(count), len(value)
    if groups < 2 or rows <= groups:
        return False
    mean = np.bincount(of, value) / count
    between = float((count * (mean - value.mean()) ** 2).sum()) / (groups - 1)
    within = float(((value - mean[of]) ** 2).sum()) / (rows - groups)
    return between > within * float(f_distribution.ppf(1 - _CHANCE, groups - 1, rows - groups))


def _cross_products(
    of: IntArray, at: IntArray, residual: FloatArray, times: IntArray, lags: int, things: int
) -> tuple[float, float]:
    """The mean product at lag 0, and the sum over all lags in standard errors."""
    from scipy.sparse import csr_array  # noqa: PLC0415 - slow to import

    table = csr_array((residual, (of, at)), shape=(things, len(times)))
    near = times[:, None] + np.arange(-lags, lags + 1)
    place = np.minimum(np.searchsorted(times, near), len(times) - 1)
    there = times[place] == near
    row = np.repeat(np.arange(len(times)), there.sum(1))
    band = csr_array((np.ones(len(row)), (row, place[there])), shape=(len(times), len(times)))
    products = (table @ band @ table.T).tocoo()
    other = products.row < products.col
    sums = products.data[other]
    square = float((sums**2).sum())
    if square <= 0:
        return 0.0, 0.0
    return _lag_product(of, at, residual, times, 0)[0], float(sums.sum()) / math.sqrt(square)


def _lag_product(of: IntArray, at: IntArray, residual: FloatArray, times: IntArray, lag: int) -> tuple[float, float]:
    """The mean product of different things so many steps apart, and its standard error."""
    total = np.bincount(at, residual, minlength=len(times))
    power: FloatArray = np.bincount(at, residual**2, minlength=len(times)).astype(np.float64)
    count = np.bincount(at, minlength=len(times)).astype(np.float64)
    partner = np.minimum(np.searchsorted(times, times + lag), len(times) - 1)
    first = np.flatnonzero(times[partner] == times + lag)
    second = partner[first]
    # At one time a thing is its own partner once.
    own, same = (power, count) if lag == 0 else _same_thing(of, at, residual, first, second, len(times))
    product: FloatArray = total[first] * total[second] - own
    pairs: FloatArray = count[first] * count[second] - same
    spread = power[first] * power[second] * (2.0 if lag == 0 else 1.0)
    number = float(pairs.sum())
    if number <= 0:
        return 0.0, np.inf
    return float(product.sum()) / number, math.sqrt(float(spread.sum())) / number


def _same_thing(
    of: IntArray, at: IntArray, residual: FloatArray, first: IntArray, second: IntArray, times: int
) -> tuple[FloatArray, FloatArray]:
    """By pair of times the sum of products of each thing with itself, and how many there are."""
    partner_time = np.full(times, -1, np.int64)
    partner_time[first] = second
    place_of_first = np.full(times, -1, np.int64)
    place_of_first[first] = np.arange(len(first))
    keys = of * times + at
    order = np.argsort(keys, kind="stable")
    wanted = np.where(partner_time[at] >= 0, of * times + partner_time[at], -1)
    found = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
    rows = np.flatnonzero((wanted >= 0) & (keys[order][found] == wanted))
    other = order[found[rows]]
    into = place_of_first[at[rows]]
    products: FloatArray = np.bincount(into, residual[rows] * residual[other], minlength=len(first)).astype(np.float64)
    return products, np.bincount(into, minlength=len(first)).astype(np.float64)


def _block_steps(of: IntArray, at: IntArray, residual: FloatArray, times: IntArray, lags: int, at_once: float) -> int:
    """Five times the integrated correlation time of what different things have in common."""
    first = at_once
    if first <= 0:
        first = max(_lag_product(of, at, residual, times, 1)[0], 1e-12)
    summed, weak = 0.5, 0
    for lag in range(1, lags + 1):
        product, error = _lag_product(of, at, residual, times, lag)
        weak = weak + 1 if product < _NOISE * error else 0
        if weak == 3:
            break
        summed += min(max(product / first, 0.0), 1.0)
    return max(1, math.ceil(BLOCK_TIMES * summed)) if summed > 0.5 + 1e-9 else 1
