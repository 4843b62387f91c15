"""Few real trials: what simulated ones add (PPI++, arXiv 2311.01453), which to run next, a verdict at any time.

Simulated trials sharpen a mean only through pairs: a real and a simulated trial from the same initial state. From each
real outcome lambda times what the simulation got wrong about this state's luck is taken:
Z_i = Y_i - lambda (F_i - mean of the further simulated trials), whose mean is that of Y for every lambda.

With plenty of successes and failures that is the regression estimator of `simjudge.method.control_variates`. With few,
its normal interval does not hold: lambda is chosen on other pairs, and the interval is by betting on the bounded Z_i.

The next trials. For the rates, each goes where the variance of a mean over tasks falls most (Neyman). For the choice
there are three ways: that one, as many trials for every cell, and top-two Thompson sampling (Russo, "Simple Bayesian
algorithms for best-arm identification", Operations Research 2020), by which a policy gets as many as the chance that it
is the best, or the second best. Trials are drawn from the posterior; the way is taken by which the regret falls most.

A verdict while trials come in, which holds whenever one stops: real less simulated outcomes, by betting.

A real trial is compared with a simulated one of the same policy, task and, where both name one, initial state (`pair`).
Which trials meet depends on names and order alone, never on outcomes. Trials of one unit enter together, as the mean of
their differences, once a trial of another unit comes or the table ends.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.method.betting import DifferenceSequence, SequenceVerdict, betting_interval
from simjudge.method.control_variates import PerformanceInterval, UnitTotals, estimate_real_mean
from simjudge.questions.policies.cells import JEFFREYS
from simjudge.questions.policies.ranking import RankedCells

FOLDS = 10
FEWEST_EACH = 10
"""Successes and failures of either side, from which on the normal interval is used."""
FEWEST_CELLS = 10
"""Cells with real trials from which on simulated cells without any sharpen the mean over all of them."""
PAIRS, CELLS = "pairs", "cells"
BETTING, NORMAL = "betting", "normal"


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % interval, and how the interval was made: "betting" or "normal"."""

    value: float
    low: float
    high: float
    kind: str

    @property
    def width(self) -> float:
        """Of the interval."""
        return self.high - self.low


@dataclass(frozen=True)
class SharpenedMean:
    """The real mean from real trials alone, from the simulation alone, and from both together.

    Attributes:
        weight: lambda, the mean over the folds; 0 where the simulation tells nothing.
        correlation: of paired outcomes, which decides all.
        worth: how many further real trials (or cells) the simulation was worth.
        pairs, further: paired trials, and simulated ones beyond them; or cells.
        by: what was paired: "pairs" of trials, or "cells".
    """

    real: Estimate
    sim: Estimate
    both: Estimate
    weight: float
    correlation: float
    worth: float
    pairs: int
    further: int
    by: str = PAIRS


def sharpen_mean(
    real: FloatArray, paired: FloatArray, further: FloatArray, seed: int = 0, low: float = 0.0
) -> SharpenedMean:
    """Estimate the mean of real trials with their simulated twins and further simulated trials.

    Args:
        real, paired: float64 (n,) in [low, 1], the outcomes of the same initial states; or differences of two policies.
        further: float64 (N,) in [low, 1], N >= n, of the same tasks in the same proportion.
        low: the least outcome: 0; of differences -1.
    """
    if _is_plenty(real, low) and _is_plenty(paired, low):
        return _by_regression(real, paired, further, low, PAIRS)
    count = len(real)
    random = np.random.default_rng([seed, 6])
    # Each pair has further trials of its own, so that the Z_i are independent.
    group = random.permutation(further)[: len(further) // count * count].reshape(count, -1).mean(1)
    fold = random.permutation(count) % min(FOLDS, count)
    weight = np.array([_weight(real[fold != k], paired[fold != k], further) for k in range(fold.max() + 1)])[fold]
    most = float(weight.max()) * (1 - low)
    together = real - weight * (paired - group)
    both = Estimate(float(together.mean()), *betting_interval(together, low=low - most, high=1 + most), BETTING)
    alone = Estimate(float(real.mean()), *betting_interval(real, low=low), BETTING)
    sim = np.concatenate([paired, further])
    of_sim = (
        _of_sim(sim, low)
        if _is_plenty(sim, low)
        else Estimate(float(sim.mean()), *betting_interval(sim, low=low), BETTING)
    )
    return _sharpened(alone, of_sim, both, float(weight.mean()), _correlation(real, paired), (count, len(further)))


def sharpen_by_cells(real: FloatArray, simulated: FloatArray, further: FloatArray) -> SharpenedMean | None:
    """Estimate the mean over all simulated cells where pairs of trials are missing; None with too few cells.

    Args:
        real, simulated: float64 (n,), rates of cells that both sides have.
        further: float64 (N,), rates of cells that were simulated alone.
    """
    if len(real) < FEWEST_CELLS or not len(further):
        return None
    return _by_regression(real, simulated, further, 0.0, CELLS)


def _by_regression(real: FloatArray, paired: FloatArray, further: FloatArray, low: float, by: str) -> SharpenedMean:
    found = estimate_real_mean(*(UnitTotals(outcomes, np.ones(len(outcomes))) for outcomes in (real, paired, further)))
    return _sharpened(
        _clipped(found.real_alone, low),
        _of_sim(np.concatenate([paired, further]), low),
        _clipped(found.estimate, low),
        found.coefficient,
        found.correlation,
        (len(real), len(further)),
        by,
    )


def _of_sim(sim: FloatArray, low: float) -> Estimate:
    """The simulation's own mean: as of real trials that stand alone."""
    ones = np.ones(len(sim))
    return _clipped(
        estimate_real_mean(UnitTotals(sim, ones), UnitTotals(sim, ones), UnitTotals(sim[:0], ones[:0])).real_alone, low
    )


def _clipped(found: PerformanceInterval, low: float) -> Estimate:
    return Estimate(found.mean, max(low, found.low), min(1.0, found.high), NORMAL)


def _sharpened(
    alone: Estimate,
    sim: Estimate,
    both: Estimate,
    weight: float,
    correlation: float,
    counts: tuple[int, int],
    by: str = PAIRS,
) -> SharpenedMean:
    if both.width >= alone.width:
        # Nothing is gained: lambda 0 is the real trials alone.
        return SharpenedMean(alone, sim, alone, 0.0, correlation, 0.0, *counts, by)
    worth = counts[0] * ((alone.width / both.width) ** 2 - 1) if both.width > 0 else 0.0
    return SharpenedMean(alone, sim, both, weight, correlation, worth, *counts, by)


def _weight(real: FloatArray, paired: FloatArray, further: FloatArray) -> float:
    """The lambda of least variance, in [0, 1]: cov(Y, F) / (var(F) (1 + n / N))."""
    spread = float(np.concatenate([paired, further]).var(ddof=1))
    if len(real) < 2 or spread <= 0:
        return 0.0
    shared = float(np.cov(real, paired)[0, 1])
    return min(1.0, max(0.0, shared / (spread * (1 + len(real) / len(further)))))


def _is_plenty(values: FloatArray, low: float) -> bool:
    """Whether a normal interval holds: ten successes and ten failures, or as much of any other outcome."""
    share = (values - low) / (1 - low)
    return min(float(share.sum()), float((1 - share).sum())) >= FEWEST_EACH


def _correlation(real: FloatArray, paired: FloatArray) -> float:
    if real.std() == 0 or paired.std() == 0:
        return 0.0
    return float(np.corrcoef(real, paired)[0, 1])


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


Cell = tuple[str, str, str]
"""Policy, task, and the name of the initial state; empty where there is none."""


@dataclass(frozen=True)
class StreamedTrial:
    """A trial that came in.

    Attributes:
        unit: what chance draws together; empty: the trial alone.
    """

    policy: str
    task: str
    real: bool
    outcome: float
    unit: str = ""
    pair: str = ""

    @property
    def cell(self) -> Cell:
        """What a trial of the other side must share."""
        return self.policy, self.task, self.pair


@dataclass(frozen=True)
class SequenceState:
    """What is certain after a look.

    Attributes:
        trials: real and simulated ones that came.
        entered: differences that entered the sequence, each of a trial or a block.
        rate: mean real and simulated outcome of what entered.
        low, high: the difference real - simulated, at every time.
        waiting: trials of either side without a trial of the other.
    """

    trials: tuple[int, int]
    entered: int
    rate: tuple[float, float]
    low: float
    high: float
    waiting: tuple[int, int]
    verdict: SequenceVerdict

    def to_json(self) -> dict[str, object]:
        """As policy_watch.json has it."""
        lists = {name: list(getattr(self, name)) for name in ("trials", "rate", "waiting")}
        return {**vars(self), **lists, "verdict": self.verdict.value}


@dataclass
class _Block:
    """Trials of one unit and side."""

    unit: str
    cells: dict[Cell, list[float]] = field(default_factory=dict)

    def add(self, trial: StreamedTrial) -> None:
        self.cells.setdefault(trial.cell, []).append(trial.outcome)

    @property
    def size(self) -> int:
        return sum(map(len, self.cells.values()))


class TrialStream:
    """Takes trials in, and keeps the sequence.

    Attributes:
        entered: differences that entered, each of a trial or a block.
        returned: units that came back after trials of another one.

    Args:
        margin: difference from which a gap matters.
    """

    def __init__(self, margin: float) -> None:
        """No trial came."""
        self._sequence = DifferenceSequence(margin)
        self._trials, self._sums, self.entered = [0, 0], [0.0, 0.0], 0
        self._open: list[_Block | None] = [None, None]
        # Of either side: trials that are units of their own, by cell, and whole blocks.
        self._single: tuple[dict[Cell, deque[float]], dict[Cell, deque[float]]] = {}, {}
        self._blocks: tuple[list[_Block], list[_Block]] = [], []
        self._closed: set[tuple[int, str]] = set()
        self.returned = 0

    @property
    def state(self) -> SequenceState:
        """What is certain so far."""
        count = max(self.entered, 1)
        waiting = [
            sum(map(len, self._single[side].values()))
            + sum(block.size for block in self._blocks[side])
            + (block.size if (block := self._open[side]) is not None else 0)
            for side in range(2)
        ]
        low, high = self._sequence.interval
        return SequenceState(
            (self._trials[0], self._trials[1]),
            self._sequence.pairs,
            (self._sums[0] / count, self._sums[1] / count),
            low,
            high,
            (waiting[0], waiting[1]),
            self._sequence.verdict,
        )

    def add(self, trial: StreamedTrial) -> None:
        """Take a trial in."""
        side = 0 if trial.real else 1
        self._trials[side] += 1
        held = self._open[side]
        if held is not None and held.unit != trial.unit:
            self._close(side)
        if not trial.unit:
            self._enter_single(side, trial)
            return
        if self._open[side] is None:
            # A unit that comes back is dependent on its former block; it is counted, and said.
            self.returned += (side, trial.unit) in self._closed
            self._open[side] = _Block(trial.unit)
        block = self._open[side]
        assert block is not None  # noqa: S101 - made two lines above
        block.add(trial)

    def finish(self) -> None:
        """No further trial comes: the blocks that are open are whole."""
        for side in range(2):
            if self._open[side] is not None:
                self._close(side)

    def _close(self, side: int) -> None:
        block = self._open[side]
        self._open[side] = None
        if block is None:
            return
        self._closed.add((side, block.unit))
        other = self._blocks[1 - side]
        partner = next((candidate for candidate in other if candidate.cells.keys() == block.cells.keys()), None)
        if partner is not None:
            other.remove(partner)
            means = [_cell_means(side) for side in (block, partner)]
            shares = {cell: 1 / len(block.cells) for cell in block.cells}
            values = [sum(share * mean[cell] for cell, share in shares.items()) for mean in means]
            self._enter(side, values[0], values[1])
        elif not self._gather(side, block):
            self._blocks[side].append(block)

    def _enter_single(self, side: int, trial: StreamedTrial) -> None:
        waiting = self._single[1 - side].get(trial.cell)
        if waiting:
            self._enter(side, trial.outcome, waiting.popleft())
            return
        self._single[side].setdefault(trial.cell, deque()).append(trial.outcome)
        for block in self._blocks[1 - side]:
            if trial.cell in block.cells and self._gather(1 - side, block):
                self._blocks[1 - side].remove(block)
                return

    def _gather(self, side: int, block: _Block) -> bool:
        """Compare a block with trials of the other side that are units of their own, one for each of its trials."""
        single = self._single[1 - side]
        if any(len(single.get(cell, ())) < len(own) for cell, own in block.cells.items()):
            return False
        mine = [outcome for own in block.cells.values() for outcome in own]
        theirs = [single[cell].popleft() for cell, own in block.cells.items() for _ in own]
        self._enter(side, sum(mine) / len(mine), sum(theirs) / len(theirs))
        return True

    def _enter(self, side: int, mine: float, theirs: float) -> None:
        real, sim = (mine, theirs) if side == 0 else (theirs, mine)
        self._sums[0] += real
        self._sums[1] += sim
        self.entered += 1
        self._sequence.add_pair(real, sim)


def _cell_means(block: _Block) -> dict[Cell, float]:
    return {cell: sum(own) / len(own) for cell, own in block.cells.items()}
