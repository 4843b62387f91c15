"""Pairs: a real and a simulated trial of one policy and task from the same initial state."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import Losses
from simjudge.questions.policies.trials import PolicyTrials

FEWEST_PAIRS = 2
SAME_STATE = 0.01
"""Share of a number's range by which the two trials of a pair may differ: one state is set up twice."""


def checked_pairs(trials: PolicyTrials, losses: Losses) -> PolicyTrials:
    """Count and leave out trials that stand twice under one pair; count and undo pairs whose initial states differ."""
    if not trials.pair_names:
        return trials
    rows = np.flatnonzero(trials.pair >= 0)
    state = np.stack([trials.policy, trials.task, trials.pair], 1)[rows]
    _, first = np.unique(np.column_stack([state, trials.real[rows]]), axis=0, return_index=True)
    kept = np.ones(len(trials), bool)
    kept[np.delete(rows, first)] = False
    for row in np.flatnonzero(~kept):
        losses.add("trials that stand twice under one pair", _named(trials, int(row)))
    trials = trials.take(kept)
    unlike = _unlike_states(trials)
    for row in np.flatnonzero(unlike & trials.real):
        losses.add("pairs whose initial states differ, taken as unpaired", _named(trials, int(row)))
    return replace(trials, pair=np.where(unlike, -1, trials.pair))


def _named(trials: PolicyTrials, row: int) -> str:
    names = trials.policies[trials.policy[row]], trials.tasks[trials.task[row]], trials.pair_names[trials.pair[row]]
    return " ".join(names)


def _unlike_states(trials: PolicyTrials) -> BoolArray:
    """Which trials belong to a pair whose numbers or words differ."""
    unlike = np.zeros(len(trials), bool)
    real, sim = (np.flatnonzero((trials.pair >= 0) & (trials.real == side)) for side in (True, False))
    state = (trials.policy * len(trials.tasks) + trials.task) * (len(trials.pair_names) + 1) + trials.pair
    _, first, second = np.intersect1d(state[real], state[sim], return_indices=True)
    a, b = real[first], sim[second]
    for values in trials.numbers.values():
        reach = np.nanmax(values) - np.nanmin(values) if np.isfinite(values).any() else 0.0
        unlike[a] |= np.abs(values[a] - values[b]) > SAME_STATE * reach
    for words in trials.words.values():
        unlike[a] |= words[a] != words[b]
    unlike[b] = unlike[a]
    return unlike


@dataclass(frozen=True, eq=False, repr=False)
class PairedTrials(ShortRepr):
    """Outcomes of a policy from the same initial states, and further simulated ones of the same mix of tasks.

    Attributes:
        key: int64 (n,), task and initial state.
    """

    key: IntArray
    real: FloatArray
    sim: FloatArray
    further: FloatArray

    @classmethod
    def of_policy(cls, trials: PolicyTrials, policy: int, seed: int) -> PairedTrials:
        """The pairs of a policy."""
        mine, paired = trials.policy == policy, trials.pair >= 0
        real, sim = (np.flatnonzero(mine & paired & (trials.real == side)) for side in (True, False))
        states = trials.task * (len(trials.pair_names) + 1) + trials.pair
        key, first, second = np.intersect1d(states[real], states[sim], return_indices=True)
        left = np.setdiff1d(np.flatnonzero(mine & ~trials.real), sim[second])
        left = np.random.default_rng([seed, 10]).permutation(left)
        tasks, count = np.unique(trials.task[real[first]], return_counts=True)
        of_task = [left[trials.task[left] == task] for task in tasks]
        # As many for each pair at every task: the simulation's mean is over the mix of the pairs.
        each = min((len(rows) // n for rows, n in zip(of_task, count, strict=True)), default=0)
        further = [trials.outcome[rows[: each * n]] for rows, n in zip(of_task, count, strict=True)]
        values = (trials.outcome[real[first]], trials.outcome[sim[second]])
        return cls(key.astype(np.int64), *values, np.concatenate([np.zeros(0), *further]))

    @property
    def usable(self) -> bool:
        """Whether there are pairs, and as many further trials."""
        return FEWEST_PAIRS <= len(self.key) <= len(self.further)

    def less(self, other: PairedTrials) -> PairedTrials:
        """The differences at the states that both policies have."""
        key, first, second = np.intersect1d(self.key, other.key, return_indices=True)
        count = min(len(self.further), len(other.further)) if len(key) in (len(self.key), len(other.key)) else 0
        return PairedTrials(
            key,
            self.real[first] - other.real[second],
            self.sim[first] - other.sim[second],
            self.further[:count] - other.further[:count],
        )
