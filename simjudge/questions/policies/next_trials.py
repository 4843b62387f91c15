"""Which real trials to run next: those that narrow the rates most, and those that help the choice most.

Robot time is dear. For the rates, each further trial goes where the variance of a mean over tasks falls most (Neyman).
For the choice there are three ways: that one, as many trials for every cell, and top-two Thompson sampling (Russo,
"Simple Bayesian algorithms for best-arm identification", Operations Research 2020), by which a policy gets as many as
the chance that it is the best, or the second best. The trials are drawn from the posterior, again and again, and the
way by which the regret is expected to fall most is taken.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.questions.policies.ranking import JEFFREYS, RankedCells

DRAWS = 20_000
MOST_NUMBERS = 20_000_000
"""Rates of cells that are drawn at once: of many cells fewer draws."""


@dataclass(frozen=True)
class NextTrials:
    """How many further real trials a cell should get.

    Attributes:
        policy, task: their numbers in the trials.
        for_rates: of as many as were asked for, those that narrow the rates most.
        for_choice: likewise those that help to choose the best policy.
    """

    policy: int
    task: int
    for_rates: int
    for_choice: int


@dataclass(frozen=True)
class NextPlan:
    """Further real trials, cell by cell, and what they are expected to do for the choice.

    Attributes:
        regret_now: real rate that choosing by the real trials at hand is expected to cost.
        regret_then: the same after these trials.
    """

    cells: list[NextTrials]
    regret_now: float
    regret_then: float


def next_trials(cells: RankedCells, count: int, seed: int = 0) -> NextPlan:
    """Deal out further real trials; cells that get none are left out."""
    hits, trials = counted_trials(cells)
    rates = _for_rates(hits, trials, count)
    ways = [_top_two(hits, trials, count, seed), rates, _evenly(hits.shape, count)]
    regrets = [expected_regret(hits, trials, way, seed) for way in ways]
    choice = ways[int(np.argmin(regrets))]
    dealt = [
        NextTrials(int(cells.policies[p]), int(cells.tasks[t]), int(rates[p, t]), int(choice[p, t]))
        for p, t in np.ndindex(rates.shape)
        if rates[p, t] or choice[p, t]
    ]
    return NextPlan(dealt, expected_regret(hits, trials, np.zeros_like(rates), seed), min(regrets))


def expected_regret(hits: FloatArray, trials: FloatArray, more: IntArray, seed: int = 0) -> float:
    """The rate that is lost by choosing after (P, T) further trials, over draws of truth and trials."""
    random, draws = np.random.default_rng([seed, 9]), max(200, min(DRAWS, MOST_NUMBERS // hits.size))
    truth = random.beta(hits + JEFFREYS, trials - hits + JEFFREYS, (draws, *hits.shape))
    rate = _posterior_rate(hits + random.binomial(more, truth), trials + more).mean(2)
    real = truth.mean(2)
    return float((real.max(1) - real[np.arange(draws), rate.argmax(1)]).mean())


def counted_trials(cells: RankedCells) -> tuple[FloatArray, FloatArray]:
    """(P, T) successes, progress counted as such, and trials of the real side."""
    hits = np.array([[values.sum() for values in tasks] for tasks in cells.outcomes[0]], np.float64)
    trials = np.array([[len(values) for values in tasks] for tasks in cells.outcomes[0]], np.float64)
    return hits, trials


def _posterior_rate(hits: FloatArray, trials: FloatArray) -> FloatArray:
    return np.asarray((hits + JEFFREYS) / (trials + 2 * JEFFREYS))


def _for_rates(hits: FloatArray, trials: FloatArray, count: int) -> IntArray:
    rate = _posterior_rate(hits, trials)
    spread, held = rate * (1 - rate), trials.copy()
    for _ in range(count):
        gain = spread / held - spread / (held + 1)
        held[np.unravel_index(int(gain.argmax()), gain.shape)] += 1
    return np.asarray(held - trials, np.int64)


def _evenly(shape: tuple[int, ...], count: int) -> IntArray:
    cells = int(np.prod(shape))
    return np.asarray((count // cells + (np.arange(cells) < count % cells)).reshape(shape), np.int64)


def _top_two(hits: FloatArray, trials: FloatArray, count: int, seed: int) -> IntArray:
    random = np.random.default_rng([seed, 7])
    draws = max(200, min(DRAWS, MOST_NUMBERS // hits.size))
    rate = random.beta(hits + JEFFREYS, trials - hits + JEFFREYS, (draws, *hits.shape)).mean(2)
    best_two = np.argsort(-rate, axis=1, kind="stable")[:, :2]
    exact = np.bincount(best_two.reshape(-1), minlength=len(hits)) / best_two.size * count
    given = np.floor(exact).astype(np.int64)
    given[np.argsort(given - exact, kind="stable")[: count - int(given.sum())]] += 1
    return np.stack([_for_rates(hits[p : p + 1], trials[p : p + 1], int(given[p]))[0] for p in range(len(hits))])
