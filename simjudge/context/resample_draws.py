"""Drawing the relabellings (permutations) and reweightings (bootstrap) of sampling units, in batches.

Memory stays bounded, and a comparison can end within a given time: it then rests on fewer tries and says how many. How
the tries are cut into batches changes none of them.
"""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt

from simjudge.context.method import MOST_TRIES
from simjudge.context.resample_loops import GROUP
from simjudge.context.resampling import Resamples
from simjudge.core.arrays import FloatArray
from simjudge.core.errors import UsageError

BATCH_BYTES = 256 << 20
"""Memory for the labels, their order and the weights of a batch."""
TRY_BYTES = 11
"""Bytes of a try for each unit: labels of all classes and of one, their order, and the weight."""
TRIAL_TRIES = GROUP
"""Permutations and draws of the first batch under a time limit, by which the others are measured."""
LEAST_TRIES = 10
"""A batch of fewer tries is not worth a join, unless it is the last."""
TIME_KEPT = 0.9
"""Share of the time left that a batch is planned for."""


class ResampleDraws:
    """The random relabellings and reweightings of two sets.

    Args:
        units_a, units_b: sampling units (frames, photographs, blocks of time) of each set.
        seed: of the random numbers.
        paired: unit i of A and unit i of B are a pair: labels are swapped within pairs, and pairs are drawn.

    Attributes:
        propensity: (T, units_a + units_b), for each threshold the log odds by which chance prefers a unit for A; one
            row of 0 at first. It takes no part where sets are paired: pairs show the same contexts.
    """

    def __init__(self, units_a: int, units_b: int, seed: int, *, paired: bool = False) -> None:
        """Start with the first try.

        Raises:
            UsageError: the sets are paired and of different length.
        """
        if paired and units_a != units_b:
            raise UsageError(f"paired sets must have the same frames, not {units_a} and {units_b}")
        self.units_a, self.units_b, self._paired = units_a, units_b, paired
        self.propensity = np.zeros((1, units_a + units_b))
        # Two streams of numbers: how many draws were made before changes no permutation.
        self._labels, self._weights = (np.random.default_rng([seed, part]) for part in range(2))

    def draw(self, permutations: int, bootstrap: int) -> list[Resamples]:
        """Draw the next tries.

        The units of A are drawn without replacement, each with about the probability that its propensity says: the
        smallest of keys with a logistic distribution (Pareto sampling; Rosen, J. Stat. Plan. Inference 62, 1997). Where
        all propensities are the same, every choice is equally likely.

        Args:
            permutations: relabellings beside the truth. The sizes of both sets stay as they are.
            bootstrap: draws with replacement, within each set.

        Returns:
            The tries for each threshold: the same random numbers, with the propensities of each.

        Raises:
            UsageError: a negative or absurd number of tries.
        """
        if not (0 <= permutations <= MOST_TRIES and 0 <= bootstrap <= MOST_TRIES):
            raise UsageError(f"permutations and bootstrap draws must be 0 to {MOST_TRIES}")
        weights = np.ones((self.units_a + self.units_b, 1 + bootstrap if bootstrap else 0), np.uint8)
        tries = 1 + permutations if permutations else 0
        noise = self._swaps(tries) if self._paired else self._noise(tries)
        for d in range(1, weights.shape[1]):
            drawn = _times_drawn(self._weights, self.units_a)
            other = drawn if self._paired else _times_drawn(self._weights, self.units_b)
            weights[:, d] = np.concatenate([drawn, other])
        if self._paired:
            return [Resamples(noise.astype(np.uint8), weights)] * len(self.propensity)
        return [self._choose(noise, propensity, weights) for propensity in self.propensity]

    def _swaps(self, tries: int) -> FloatArray:
        """Of pairs, 1 for what counts for A in each try."""
        swapped = np.zeros((self.units_a, tries))
        for p in range(1, tries):
            swapped[:, p] = self._labels.integers(0, 2, self.units_a)
        return np.concatenate([1 - swapped, swapped])

    def _noise(self, tries: int) -> FloatArray:
        """A logistic random number for each unit and try."""
        count = self.units_a + self.units_b
        noise = np.zeros((count, tries))
        for p in range(1, tries):
            noise[:, p] = self._labels.logistic(size=count)
        return noise

    def _choose(self, noise: FloatArray, propensity: FloatArray, weights: npt.NDArray[np.uint8]) -> Resamples:
        """Give A its units in each try."""
        order = noise - propensity[:, np.newaxis]
        order[:, :1] = np.arange(len(noise))[:, np.newaxis]
        labels = np.zeros(noise.shape, np.uint8)
        for p in range(noise.shape[1]):
            labels[np.argpartition(order[:, p], self.units_a - 1)[: self.units_a], p] = 1
        return Resamples(labels, weights, order)


class ResamplingSchedule:
    """The batches in which tries are made.

    Args:
        draws: the tries themselves.
        permutations, bootstrap: how many to make in all.
        deadline: `time.monotonic` after which no batch begins; None for as long as it takes. The first batch is made
            in any case.

    Attributes:
        permutations_done, bootstrap_done: tries handed out so far.
    """

    def __init__(
        self, draws: ResampleDraws, permutations: int, bootstrap: int, deadline: float | None = None
    ) -> None:
        """Plan all tries."""
        self._draws, self._wanted, self._deadline = draws, (permutations, bootstrap), deadline
        self._most = max(1, permutations, bootstrap)
        columns = BATCH_BYTES // max(1, TRY_BYTES * (draws.units_a + draws.units_b))
        self._memory_share = max(1, columns) / self._most
        self._share_done, self._last_share, self._began = 0.0, 0.0, 0.0
        self.permutations_done = self.bootstrap_done = 0

    @property
    def relabels(self) -> bool:
        """Whether there are permutations to make."""
        return self._wanted[0] > 0

    def prefer(self, propensity: FloatArray) -> None:
        """Let chance prefer some units for A, from the next batch on.

        Args:
            propensity: see `ResampleDraws`.
        """
        self._draws.propensity = propensity
        self._memory_share /= len(propensity)

    def next_batch(self) -> list[Resamples] | None:
        """Draw the next batch; its time counts until the next call.

        Returns:
            The tries for each threshold; None where all are made, or none would be ready in time.
        """
        share = min(self._memory_share, 1.0 - self._share_done, self._share_in_time())
        if share <= 0 or not any(self._wanted):
            return None
        self._began, self._last_share = time.monotonic(), share
        self._share_done = 1.0 if self._share_done + share > 1 - 1e-9 else self._share_done + share
        # At least one of each: the truth stands in the first batch. Groups of permutations stay together.
        least = (GROUP, 1)
        goals = [min(number, max(1, round(number * self._share_done / each)) * each)
                 for number, each in zip(self._wanted, least, strict=True)]  # fmt: skip
        batch = self._draws.draw(goals[0] - self.permutations_done, goals[1] - self.bootstrap_done)
        self.permutations_done, self.bootstrap_done = goals
        return batch

    def _share_in_time(self) -> float:
        """The share of all tries that fits into the time left; 0 where too little does."""
        if self._deadline is None:
            return 1.0
        if self._share_done == 0:
            return TRIAL_TRIES / self._most
        now = time.monotonic()
        left = TIME_KEPT * (self._deadline - now) * self._last_share / max(now - self._began, 1e-9)
        return left if left * self._most >= LEAST_TRIES or left >= 1 - self._share_done else 0.0


def draw_resamples(
    units_a: int, units_b: int, permutations: int, bootstrap: int, seed: int, *, paired: bool = False
) -> Resamples:
    """Draw relabellings and reweightings, all at once.

    Args:
        units_a, units_b, seed, paired: see `ResampleDraws`.
        permutations, bootstrap: see `ResampleDraws.draw`.

    Raises:
        UsageError: a negative or absurd number of tries, or paired sets of different length.
    """
    return ResampleDraws(units_a, units_b, seed, paired=paired).draw(permutations, bootstrap)[0]


def _times_drawn(random: np.random.Generator, count: int) -> FloatArray:
    if count == 0:
        return np.zeros(0)
    return np.minimum(np.bincount(random.integers(0, count, count), minlength=count), 255)
