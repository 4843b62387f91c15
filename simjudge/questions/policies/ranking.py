"""Does the simulation rank the policies as reality does? Correlations, what chance makes of them, and the choice.

MMRV is that of Li et al., "Evaluating real-world robot manipulation policies in simulation" (arXiv 2405.05941).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import combinations, permutations

import numpy as np
from scipy.special import erfc
from scipy.stats import kendalltau, rankdata

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.core.string_enum import StrEnum
from simjudge.method.multiple_tests import holm
from simjudge.questions.policies.cells import JEFFREYS, units_are_trials
from simjudge.questions.policies.trials import PolicyTrials

TAIL = 0.0075
"""Chance below which a measured value is rare at either end. At 0.025 the intervals of r held 84 to 98 %, because the
spread without noise is estimated too; with this they hold 93 % or more (docs/measurements/policies.md)."""
STEPS = 41
DRAWS = 500
MOST_NUMBERS = 200_000_000
LEAST_RELIABILITY = 0.02
"""Where the rates hold no more than noise, hardly any spread is left, and nothing is rare."""
REDRAWN_FROM = 10
"""Policies from which on they are redrawn too."""
_SLACK = 1e-9

Statistic = Callable[[FloatArray, FloatArray], FloatArray]
Interval = tuple[float, float]


def pearson(real: FloatArray, sim: FloatArray) -> FloatArray:
    """Pearson's r along the last axis; NaN where either is constant."""
    first = real - real.mean(-1, keepdims=True)
    second = sim - sim.mean(-1, keepdims=True)
    size = np.sqrt((first**2).sum(-1) * (second**2).sum(-1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(size > 1e-12, (first * second).sum(-1) / size, np.nan))


def spearman(real: FloatArray, sim: FloatArray) -> FloatArray:
    """Spearman's rho; ties have mean ranks."""
    return pearson(rankdata(real, axis=-1), rankdata(sim, axis=-1))


def mmrv(real: FloatArray, sim: FloatArray) -> FloatArray:
    """Mean maximum rank violation along the last axis: mean_i max_j |R_i - R_j| [(S_i > S_j) xor (R_i > R_j)]."""
    ours = real[..., :, np.newaxis] - real[..., np.newaxis, :]
    theirs = sim[..., :, np.newaxis] > sim[..., np.newaxis, :]
    return np.asarray(np.where((ours > 0) ^ theirs, np.abs(ours), 0.0).max(-1).mean(-1))


@dataclass(frozen=True)
class NoiseIntervals:
    """95 % intervals for the noise of the trials; None where something is undefined.

    Attributes:
        r_redrawn: with the policies redrawn as well, as if they were a sample of many; from ten on.
    """

    r: Interval | None = None
    rho: Interval | None = None
    mmrv: Interval | None = None
    r_redrawn: Interval | None = None


def noise_intervals(rates: FloatArray, variance: FloatArray, seed: int = 0) -> NoiseIntervals:
    """The intervals of P policies.

    Args:
        rates: (2, P) real and simulated ones.
        variance: (2, P) of each, by its trials; finite.
    """
    count = rates.shape[1]
    if count < 3 or not (rates.std(1) > 0).all():
        return NoiseIntervals()
    random = np.random.default_rng([seed, 11])
    path = _agreeing_rates(rates, variance, random)
    draws = max(200, min(DRAWS, MOST_NUMBERS // (STEPS * count)))
    noise = random.standard_normal((2, draws, count)) * np.sqrt(variance)[:, np.newaxis]
    few = noise[:, : max(140, min(draws, MOST_NUMBERS // (STEPS * count**2)))]
    redrawn = None
    if count >= REDRAWN_FROM:
        who = random.integers(0, count, (draws, count))
        redrawn = _kept(pearson, rates, path, noise, who)
    return NoiseIntervals(
        _kept(pearson, rates, path, noise),
        _kept(spearman, rates, path, noise),
        _kept(mmrv, rates, path, few),
        redrawn,
    )


def _agreeing_rates(rates: FloatArray, variance: FloatArray, random: np.random.Generator) -> FloatArray:
    """(STEPS, 2, P) rates without noise, whose r falls from 1 to -1."""
    centre = rates - rates.mean(1, keepdims=True)
    size = np.linalg.norm(centre, axis=1)
    reliability = np.maximum(LEAST_RELIABILITY, 1 - variance.mean(1) / rates.var(1, ddof=1))
    ours, theirs = centre / size[:, np.newaxis]
    alike, unlike = _direction(ours + theirs, [], random), ours - theirs
    unlike = _direction(unlike, [alike], random)
    turn = np.linspace(0, math.pi / 2, STEPS)[:, np.newaxis]
    sides = [np.cos(turn) * alike + sign * np.sin(turn) * unlike for sign in (1.0, -1.0)]
    spread = size * np.sqrt(reliability)
    return np.stack([rates[k].mean() + spread[k] * side for k, side in enumerate(sides)], 1)


def _direction(vector: FloatArray, others: list[FloatArray], random: np.random.Generator) -> FloatArray:
    """Of length 1, across all others and without a mean; any such one where the vector has none."""
    for tried in (vector, random.standard_normal(len(vector))):
        left = tried - tried.mean()
        for other in others:
            left = left - (left @ other) * other
        size = float(np.linalg.norm(left))
        if size > 1e-6:
            return np.asarray(left / size)
    raise AssertionError  # three numbers or more have such a direction


def _kept(
    statistic: Statistic, rates: FloatArray, path: FloatArray, noise: FloatArray, who: IntArray | None = None
) -> Interval | None:
    measured = float(statistic(rates[0], rates[1]))
    if not math.isfinite(measured):
        return None
    values, rare = np.empty(len(path)), np.empty(len(path))
    for step, (real, sim) in enumerate(path):
        drawn = real + noise[0], sim + noise[1]
        if who is not None:
            drawn = np.take_along_axis(drawn[0], who, 1), np.take_along_axis(drawn[1], who, 1)
        reached = statistic(*drawn)
        reached = reached[np.isfinite(reached)]
        above, below = (1 + (reached >= measured - _SLACK).sum()), (1 + (reached <= measured + _SLACK).sum())
        values[step], rare[step] = statistic(real, sim), min(above, below) / (1 + len(reached))
    kept = values[rare > TAIL]
    if not len(kept):
        # Between two steps.
        kept = values[[int(rare.argmax())]]
    # What was measured is never outside: where noise alone made a difference, the truth may be any.
    return min(float(kept.min()), measured), max(float(kept.max()), measured)


ALL_ORDERS = 8
"""Up to so many policies every order is tried: 40,320 of them."""
RANDOM_ORDERS = 10_000
POSTERIOR_DRAWS = 20_000
SIGNIFICANCE = 0.05
SLACK = 1e-12
DECIMALS = 12
"""Of mean rates: beyond is rounding, which would break ties."""
MOST_VARIANCE = 0.25
"""Of an outcome in [0, 1]."""
MOST_PAIRS = 10_000_000
"""Of policies, over several orders, that are compared at once."""
DEALT_PAIRS = 500
"""Up to so many pairs of policies trials are dealt anew; beyond, the normal distribution stands for the dealt ones."""


class RankingVerdict(StrEnum):
    """What the simulation is worth for choosing among policies."""

    RANKS = "ranks"
    RANKS_WRONGLY = "ranks_wrongly"
    CANNOT_TELL = "cannot_tell"
    TOO_FEW_POLICIES = "too_few_policies"
    NOT_TESTED = "not_tested"


@dataclass(frozen=True, eq=False, repr=False)
class RankedCells(ShortRepr):
    """The policies that have trials of both sides at every ranked task.

    Attributes:
        policies, tasks: their numbers in the trials.
        rate: float64 (2, P, T), real and simulated.
        variance: float64 (2, P, T), of each rate, by its trials; NaN where their number is unknown.
        outcomes: for each side, policy and task the outcomes; where units hold several trials, the mean of each unit.
        tested: whether all numbers of trials are known.
    """

    policies: IntArray
    tasks: IntArray
    rate: FloatArray
    variance: FloatArray
    outcomes: tuple[tuple[tuple[FloatArray, ...], ...], ...]
    tested: bool

    @property
    def mean(self) -> FloatArray:
        """(2, P) mean rate over tasks, all alike: R and S. Equal ones are equal, whatever the order of their tasks."""
        return np.asarray(self.rate.mean(2).round(DECIMALS))

    @property
    def variance_of_mean(self) -> FloatArray:
        """(2, P) of these means, by their trials."""
        return np.asarray(self.variance.sum(2) / self.rate.shape[2] ** 2)


def ranked_cells(trials: PolicyTrials) -> RankedCells:
    """Rank all policies that both sides have, at the tasks that both sides have for all of them."""
    count = len(trials.policies), len(trials.tasks)
    held: BoolArray = np.zeros((2, *count), bool)
    held[(~trials.real).astype(int), trials.policy, trials.task] = True
    both: BoolArray = held[0] & held[1]
    policies = np.flatnonzero(both.any(1))
    tasks = np.flatnonzero(both[policies].all(0)) if len(policies) else np.empty(0, np.int64)
    # A policy that lacks most tasks would leave none for the others: policies go, from the one with fewest tasks on.
    while len(policies) > 2 and not len(tasks):
        policies = np.delete(policies, int(both[policies].sum(1).argmin()))
        tasks = np.flatnonzero(both[policies].all(0))
    key = (((~trials.real).astype(np.int64) * count[0]) + trials.policy) * count[1] + trials.task
    order = np.argsort(key, kind="stable")
    bounds = np.searchsorted(key[order], np.arange(2 * count[0] * count[1] + 1))

    alone = units_are_trials(trials)

    def outcomes(side: int, policy: int, task: int) -> FloatArray:
        cell = (side * count[0] + policy) * count[1] + task
        rows = order[bounds[cell] : bounds[cell + 1]]
        if alone:
            return trials.outcome[rows]
        unit, trials_of = np.unique(trials.unit[rows], return_inverse=True, return_counts=True)[1:]
        return np.bincount(unit.reshape(-1), trials.outcome[rows]) / trials_of

    found = tuple(tuple(tuple(outcomes(side, int(p), int(t)) for t in tasks) for p in policies) for side in range(2))
    known = not trials.take(np.isin(trials.policy, policies) & np.isin(trials.task, tasks)).has_rates
    shape = (2, len(policies), len(tasks))
    rate, variance = np.empty(shape), np.full(shape, np.nan)
    for side, p, t in np.ndindex(shape):
        values = found[side][p][t]
        rate[side, p, t] = values.mean()
        if known:
            variance[side, p, t] = _variance(values) / len(values)
    return RankedCells(policies, tasks, rate, variance, found, known)


def _variance(values: FloatArray) -> float:
    """Of an outcome. Ten successes of ten do not say that no trial ever fails."""
    if np.isin(values, (0.0, 1.0)).all():
        rate = (float(values.sum()) + JEFFREYS) / (len(values) + 2 * JEFFREYS)
        return rate * (1 - rate)
    return float(values.var(ddof=1)) if len(values) > 1 else MOST_VARIANCE


def _mmrv_of_orders(real: FloatArray, orders: FloatArray) -> FloatArray:
    """MMRV with each row, a part of them at a time."""
    step = max(1, MOST_PAIRS // len(real) ** 2)
    return np.concatenate([mmrv(real, orders[first : first + step]) for first in range(0, len(orders), step)])


@dataclass(frozen=True)
class Correlation:
    """One measure of how alike two rankings are.

    Attributes:
        value: None where it is not defined.
        p_value: one-sided, over all orders of the simulated rates; None where nothing is defined or tested.
        interval: 95 %, for the noise of the trials; None where numbers of trials are unknown.
        redrawn: with the policies redrawn too; None of fewer than ten.
    """

    value: float | None
    p_value: float | None = None
    interval: tuple[float, float] | None = None
    redrawn: tuple[float, float] | None = None


@dataclass(frozen=True)
class PolicyChoice:
    """What comes of deploying the policy that one side ranks first; of several alike the one that loses most.

    Attributes:
        policy: number of the policy in the trials.
        chance_right: that it is really the best; None where numbers of trials are unknown.
        expected_regret: real rate that is expected to be lost.
        regret: the same by the rates as they are measured.
    """

    policy: int
    regret: float
    chance_right: float | None = None
    expected_regret: float | None = None


@dataclass(frozen=True)
class Reversal:
    """Two policies whose order is certain on both sides, and opposite. Differences are first less second."""

    first: int
    second: int
    real_difference: float
    sim_difference: float


@dataclass(frozen=True, eq=False, repr=False)
class Ranking(ShortRepr):
    """How the simulation ranks P policies.

    Attributes:
        policies, tasks: their numbers in the trials.
        real, sim: float64 (P,), mean rates over tasks.
        real_interval, sim_interval: float64 (P, 2), 95 %, of the posterior; NaN where numbers of trials are unknown.
        least_p: the smallest p that so many policies can reach.
        reliability: of the real and of the simulated rates; None where undefined.
        r_without_noise: r divided by the root of both reliabilities; None where one is not above 0.
        by_sim, by_real: the choice by either side.
        order: (P, P), 1 where the order of a pair is certain and the same on both sides, -1 where opposite, else 0.
        kept_without: for each task left out, whether the simulation's winner is the real one of the remaining tasks.
    """

    policies: IntArray
    tasks: IntArray
    real: FloatArray
    sim: FloatArray
    real_interval: FloatArray
    sim_interval: FloatArray
    r: Correlation
    rho: Correlation
    tau: Correlation
    mmrv: Correlation
    least_p: float
    by_sim: PolicyChoice
    by_real: PolicyChoice
    order: FloatArray
    reversals: tuple[Reversal, ...]
    kept_without: BoolArray
    reliability: tuple[float | None, float | None] = (None, None)
    r_without_noise: float | None = None
    verdict: RankingVerdict = RankingVerdict.NOT_TESTED
    notes: tuple[str, ...] = field(default=())


def orders(count: int, seed: int) -> tuple[IntArray, bool]:
    """(M, count) orders, and whether they are all there are."""
    if count <= ALL_ORDERS:
        return np.array(list(permutations(range(count))), np.int64), True
    random = np.random.default_rng([seed, 3])
    return random.permuted(np.tile(np.arange(count), (RANDOM_ORDERS, 1)), axis=1), False


def least_p(sim: FloatArray) -> float:
    """The smallest p that the best order could reach: its ties may be dealt in any way."""
    ties = np.unique(sim, return_counts=True)[1]
    return math.prod(math.factorial(int(tie)) for tie in ties) / math.factorial(len(sim))


def rank_policies(cells: RankedCells, margin: float, seed: int = 0) -> Ranking | None:
    """Rank the policies; None where fewer than two can be ranked."""
    count = len(cells.policies)
    if count < 2 or not len(cells.tasks):
        return None
    real, sim = cells.mean
    noise = noise_intervals(cells.mean, cells.variance_of_mean, seed) if cells.tested else NoiseIntervals()
    tried, whole = orders(count, seed)
    shuffled = sim[tried]

    def chance(values: FloatArray, observed: float, *, least: bool = False) -> float | None:
        if not math.isfinite(observed):
            return None
        reached = values <= observed + SLACK if least else values >= observed - SLACK
        return float(reached.mean() if whole else (1 + reached.sum()) / (1 + len(values)))

    r, rho, violation = float(pearson(real, sim)), float(spearman(real, sim)), float(mmrv(real, sim))
    tau = float(kendalltau(real, sim).statistic)
    posteriors = [_posterior(cells, side, seed) for side in range(2)] if cells.tested else []
    posterior = posteriors[0] if posteriors else None
    intervals = [_interval(*drawn) for drawn in zip(posteriors, cells.mean, strict=False)] or [
        np.full((count, 2), np.nan)
    ] * 2
    choices = [_choice(cells, posterior, side) for side in (sim, real)]
    order, reversals = _orders_of_pairs(cells, seed)
    reliability = _reliability(cells)
    least = least_p(sim)
    found = Ranking(
        cells.policies,
        cells.tasks,
        real,
        sim,
        intervals[0],
        intervals[1],
        Correlation(_or_none(r), chance(pearson(real, shuffled), r), noise.r, noise.r_redrawn),
        Correlation(_or_none(rho), chance(spearman(real, shuffled), rho), noise.rho),
        Correlation(_or_none(tau)),
        Correlation(violation, chance(_mmrv_of_orders(real, shuffled), violation, least=True), noise.mmrv),
        least,
        choices[0],
        choices[1],
        order,
        reversals,
        _kept_without(cells),
        reliability,
        _without_noise(r, reliability),
    )
    return _judged(found, margin)


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _interval(posterior: FloatArray, measured: FloatArray) -> FloatArray:
    """(P, 2); what was measured is in it: of ten successes of ten the rate may be 1."""
    low, high = np.quantile(posterior, [0.025, 0.975], axis=0)
    return np.stack([np.minimum(low, measured), np.maximum(high, measured)], 1)


def _posterior(cells: RankedCells, side: int, seed: int) -> FloatArray:
    """(draws, P) rate of each policy on a side: Jeffreys' prior in a cell of successes, the bootstrap in any other."""
    random = np.random.default_rng([seed, 4, side])
    found = np.zeros((POSTERIOR_DRAWS, len(cells.policies)))
    for p, tasks in enumerate(cells.outcomes[side]):
        for values in tasks:
            if np.isin(values, (0.0, 1.0)).all():
                hits = float(values.sum())
                found[:, p] += random.beta(hits + JEFFREYS, len(values) - hits + JEFFREYS, POSTERIOR_DRAWS)
            else:
                share = random.dirichlet(np.ones(len(values)), POSTERIOR_DRAWS)
                found[:, p] += share @ values
    return found / len(cells.tasks)


def first_choice(by: FloatArray, real: FloatArray) -> int:
    """The policy that one side ranks first; of several alike the one that does worst on the robot."""
    first = np.flatnonzero(by == by.max())
    return int(first[real[first].argmin()])


def _choice(cells: RankedCells, posterior: FloatArray | None, by: FloatArray) -> PolicyChoice:
    real = cells.mean[0]
    chosen = first_choice(by, real)
    regret = float(real.max() - real[chosen])
    if posterior is None:
        return PolicyChoice(int(cells.policies[chosen]), regret)
    first = np.flatnonzero((by == by.max()) & (real == real[chosen]))
    best = posterior.max(1, keepdims=True)
    expected = (best - posterior[:, first]).mean(0)
    chosen = int(first[expected.argmax()])
    right = float((posterior[:, chosen] >= best[:, 0]).mean())
    return PolicyChoice(int(cells.policies[chosen]), regret, right, float(expected.max()))


def _orders_of_pairs(cells: RankedCells, seed: int) -> tuple[FloatArray, tuple[Reversal, ...]]:
    """Which pairs have a certain order on either side (Holm within the side), and which of them are opposite."""
    count = len(cells.policies)
    order = np.zeros((count, count))
    if not cells.tested:
        return order, ()
    pairs = list(combinations(range(count), 2))
    random = np.random.default_rng([seed, 5])
    certain = np.zeros((2, count, count), bool)
    for side in range(2):
        if len(pairs) <= DEALT_PAIRS:
            found = [_pair_p(cells, side, i, j, random) for i, j in pairs]
        else:
            found = _normal_pair_p(cells, side)[np.triu_indices(count, 1)].tolist()
        p_values = holm(found)
        for (i, j), p in zip(pairs, p_values, strict=True):
            certain[side, i, j] = certain[side, j, i] = p is not None and p <= SIGNIFICANCE
    difference = cells.mean[:, :, np.newaxis] - cells.mean[:, np.newaxis, :]
    both = certain.all(0)
    order = np.where(both, np.sign(difference[0] * difference[1]), 0.0)
    opposite = [
        Reversal(int(cells.policies[i]), int(cells.policies[j]), float(difference[0, i, j]), float(difference[1, i, j]))
        for i, j in pairs
        if order[i, j] < 0
    ]
    return order, tuple(opposite)


def _pair_p(cells: RankedCells, side: int, i: int, j: int, random: np.random.Generator) -> float:
    """Two-sided p of a difference of two policies: trials dealt anew within each task."""
    tasks = len(cells.tasks)
    total, observed = np.zeros(RANDOM_ORDERS), 0.0
    for t in range(tasks):
        ours, theirs = cells.outcomes[side][i][t], cells.outcomes[side][j][t]
        values, count = np.concatenate([ours, theirs]), len(ours)
        observed += ours.mean() - theirs.mean()
        levels, of_level = np.unique(values, return_counts=True)
        if len(levels) == 1:
            continue
        if len(levels) == 2:
            few = random.hypergeometric(of_level[0], of_level[1], count, RANDOM_ORDERS)
            mine = few * levels[0] + (count - few) * levels[1]
        else:
            mine = random.multivariate_hypergeometric(of_level, count, RANDOM_ORDERS, method="count") @ levels
        total += mine / count - (values.sum() - mine) / len(theirs)
    return float((1 + (np.abs(total) >= abs(observed) - SLACK).sum()) / (1 + RANDOM_ORDERS))


def _normal_pair_p(cells: RankedCells, side: int) -> FloatArray:
    """(P, P) the same of all pairs, by the variance that dealing trials anew gives a difference."""
    sums = np.array([[(len(y), y.sum(), (y**2).sum()) for y in tasks] for tasks in cells.outcomes[side]], np.float64)
    both = sums[:, np.newaxis] + sums[np.newaxis]
    pooled = (both[..., 2] - both[..., 1] ** 2 / both[..., 0]) / (both[..., 0] - 1)
    each = 1 / sums[..., 0]
    variance = (np.maximum(0.0, pooled) * (each[:, np.newaxis] + each[np.newaxis])).sum(-1)
    rate = (sums[..., 1] * each).sum(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.abs(rate[:, np.newaxis] - rate[np.newaxis]) / np.sqrt(variance)
    return np.asarray(erfc(np.where(variance > 0, z, 0.0) / math.sqrt(2)))


def _kept_without(cells: RankedCells) -> BoolArray:
    """Whether the simulation's winner is the real one, without each task in turn; none where there is one task."""
    tasks = len(cells.tasks)
    if tasks < 2:
        return np.zeros(0, bool)
    left = ((cells.rate.sum(2)[:, :, np.newaxis] - cells.rate) / (tasks - 1)).round(DECIMALS)
    chosen = [first_choice(sim, real) for real, sim in zip(left[0].T, left[1].T, strict=True)]
    return np.asarray(left[0][chosen, np.arange(tasks)] == left[0].max(0))


def _reliability(cells: RankedCells) -> tuple[float | None, float | None]:
    """1 less the share of the sampling variance in the variance of the rates (Spearman, 1904)."""
    noise = cells.variance_of_mean.mean(1)
    spread = cells.mean.var(1, ddof=1)
    found = [
        1 - float(each / all_) if all_ > SLACK and math.isfinite(each) else None
        for each, all_ in zip(noise, spread, strict=True)
    ]
    return found[0], found[1]


def _without_noise(r: float, reliability: tuple[float | None, float | None]) -> float | None:
    first, second = reliability
    if first is None or second is None or min(first, second) <= 0 or not math.isfinite(r):
        return None
    return r / math.sqrt(first * second)


def _judged(found: Ranking, margin: float) -> Ranking:
    chosen = set(found.policies[found.sim == found.sim.max()].tolist())
    if any(chosen & {reversal.first, reversal.second} for reversal in found.reversals):
        verdict = RankingVerdict.RANKS_WRONGLY
    elif found.least_p > SIGNIFICANCE:
        verdict = RankingVerdict.TOO_FEW_POLICIES
    elif found.by_sim.expected_regret is None:
        verdict = RankingVerdict.NOT_TESTED
    elif (
        found.rho.p_value is not None
        and found.rho.p_value <= SIGNIFICANCE
        and found.by_sim.expected_regret <= margin / 2
    ):
        verdict = RankingVerdict.RANKS
    else:
        verdict = RankingVerdict.CANNOT_TELL
    return replace(found, verdict=verdict)
