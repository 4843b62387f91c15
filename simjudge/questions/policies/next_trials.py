"""Which real trials to run next: those that narrow the rates most, and those that help the choice most.

Robot time is dear. For the rates, each further trial goes where the variance of a mean over tasks falls most (Neyman).
For the choice, a policy gets as many as the chance that it is the best, or the second best, by draws from the posterior
(top-two Thompson sampling: Russo, "Simple Bayesian algorithms for best-arm identification", Operations Research 2020).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.questions.policies.ranking import JEFFREYS, RankedCells

DRAWS = 20_000


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


def next_trials(cells: RankedCells, count: int, seed: int = 0) -> list[NextTrials]:
    """Deal out further real trials; cells that get none are left out."""
    hits, trials = _counted(cells)
    rates, choice = _for_rates(hits, trials, count), _for_choice(hits, trials, count, seed)
    return [
        NextTrials(int(cells.policies[p]), int(cells.tasks[t]), int(rates[p, t]), int(choice[p, t]))
        for p, t in np.ndindex(rates.shape)
        if rates[p, t] or choice[p, t]
    ]


def _counted(cells: RankedCells) -> tuple[FloatArray, FloatArray]:
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


def _for_choice(hits: FloatArray, trials: FloatArray, count: int, seed: int) -> IntArray:
    random = np.random.default_rng([seed, 7])
    rate = random.beta(hits + JEFFREYS, trials - hits + JEFFREYS, (DRAWS, *hits.shape)).mean(2)
    best_two = np.argsort(-rate, axis=1, kind="stable")[:, :2]
    exact = np.bincount(best_two.reshape(-1), minlength=len(hits)) / best_two.size * count
    given = np.floor(exact).astype(np.int64)
    given[np.argsort(given - exact, kind="stable")[: count - int(given.sum())]] += 1
    return np.stack([_for_rates(hits[p : p + 1], trials[p : p + 1], int(given[p]))[0] for p in range(len(hits))])
