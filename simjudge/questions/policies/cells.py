"""Does each cell agree? W1 of the real and the simulated trials of one policy at one task, and what chance makes of it.

The p value is from permutations of units within cells, or swaps within pairs, which are exact for trials that are
exchangeable, ten a side as well. Noise and gap are those of the method's bootstrap (method, section 6), with a cell in
the place of a batch.

Where conditions are numbers, a context is an initial state, and Algorithm 1 compares each real trial with those of its
policy, task and named conditions that began alike. So a simulation that was tried elsewhere is not taken for one that
errs, one that errs at some places and makes up for it at others is found out, and what was never simulated is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import erf

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.core.errors import UsageError
from simjudge.core.text import Json, list_some
from simjudge.method.algorithm import ClassComparison
from simjudge.method.bootstrap import Bootstrap, DrawnRows, DrawnSamples, DrawSchedule, UnitNumbers
from simjudge.method.certainty import Certainty, Evidence, SampleSize, estimate_certainty, interval_width
from simjudge.method.distinct import Members
from simjudge.method.entry_numbers import reduce_comparisons
from simjudge.method.gap import FOLD_AT_ZERO
from simjudge.method.similarity_join import Neighbours
from simjudge.method.vector_contexts import PointSamples, compare_points
from simjudge.method.verdicts import SIGNIFICANCE, verdict_by_margin
from simjudge.method.wasserstein import wasserstein_distance
from simjudge.questions.policies.trials import PolicyTrials, row_numbers

MOST_NORMALS = 2e8
"""Normal numbers of the bootstrap: beyond, fewer draws are made (200 for a million trials); permutations stay."""
LEAST_DRAWS = 100
TIE = 1e-7
"""Weight of what orders equal means: less than any two of them differ by, and more than rounding."""
MOST_DRAWN = 1 << 24
"""Numbers that one step of the permutations holds: 128 MB."""


@dataclass(frozen=True, eq=False, repr=False)
class Cells(ShortRepr):
    """C cells that both sides have.

    Attributes:
        policy, task: int64 (C,).
        words: int64 (C, W), the named conditions of each.
        trials: int64 (C, 2), real and simulated ones.
        rate: float64 (C, 2), mean outcome of either side.
        w1: float64 (C,).
        rows: for each cell the rows of its real trials, and of its simulated ones.
        tested: bool (C,), whether the numbers of trials are known.
    """

    policy: IntArray
    task: IntArray
    words: IntArray
    trials: IntArray
    rate: FloatArray
    w1: FloatArray
    rows: tuple[tuple[IntArray, IntArray], ...]
    tested: BoolArray

    def __len__(self) -> int:
        """How many cells there are."""
        return len(self.policy)


def find_cells(trials: PolicyTrials) -> Cells:
    """The cells that both sides have, by policy, then task, then named conditions."""
    columns = [trials.policy, trials.task, *trials.words.values()]
    _, first, cell = np.unique(row_numbers(columns), return_index=True, return_inverse=True)
    keys, cell = np.stack([column[first] for column in columns], 1), cell.reshape(-1)
    order = np.lexsort((~trials.real, cell))
    bounds = np.searchsorted(2 * cell[order] + ~trials.real[order], np.arange(2 * len(keys) + 1))
    rows = [
        (order[bounds[2 * k] : bounds[2 * k + 1]], order[bounds[2 * k + 1] : bounds[2 * k + 2]])
        for k in range(len(keys))
    ]
    both = np.array([len(a) > 0 and len(b) > 0 for a, b in rows], bool)
    kept = [pair for pair, held in zip(rows, both, strict=True) if held]
    outcome = [(trials.outcome[a], trials.outcome[b]) for a, b in kept]
    return Cells(
        keys[both, 0],
        keys[both, 1],
        keys[both, 2:],
        np.array([[len(a), len(b)] for a, b in kept], np.int64).reshape(-1, 2),
        np.array([[a.mean(), b.mean()] for a, b in outcome], np.float64).reshape(-1, 2),
        np.array([wasserstein_distance(a, b) for a, b in outcome], np.float64),
        tuple(kept),
        np.array([not trials.is_rate[np.concatenate(pair)].any() for pair in kept], bool),
    )


def units_are_trials(trials: PolicyTrials) -> bool:
    """Whether each trial is a unit of its own."""
    return bool(np.bincount(trials.unit).max(initial=0) <= 1)


def permuted_w1(trials: PolicyTrials, cells: Cells, draws: int, seed: int) -> FloatArray:
    """(C, draws) W1 of each cell after its units were dealt anew to the two sides, or swapped within their pairs."""
    random, alone = np.random.default_rng([seed, 2]), units_are_trials(trials)
    return np.stack([_permuted(trials, *rows, draws, random, alone=alone) for rows in cells.rows])


def _permuted(
    trials: PolicyTrials, real: IntArray, sim: IntArray, draws: int, random: np.random.Generator, *, alone: bool
) -> FloatArray:
    outcome = trials.outcome
    levels = np.unique(outcome[np.concatenate([real, sim])])
    if len(levels) == 1:
        return np.zeros(draws)
    width = np.diff(levels)
    paired = _pairs(trials, real, sim) if trials.pair_names else np.empty((0, 2), np.int64)
    # Few pairs among many trials: swaps alone would leave most of the simulated trials where they are, and show little.
    if 2 * len(paired) >= max(len(real), len(sim)):
        unpaired = [np.setdiff1d(side, paired[:, k]) for k, side in enumerate((real, sim))]
        below = [np.searchsorted(np.sort(outcome[side]), levels[:-1], "right") for side in unpaired]
        swap = (outcome[paired][:, :, np.newaxis] <= levels[:-1]).astype(np.float64)
        # A pair that is swapped gives its real trial to the simulation, and the other way round.
        fixed = (swap[:, 0].sum(0) + swap[:, 1].sum(0)) / 2
        half = (swap[:, 0] - swap[:, 1]) / 2
        found = np.empty(draws)
        for part in _parts(draws, len(paired)):
            moved = random.choice((-1.0, 1.0), (part.stop - part.start, len(paired))) @ half
            signed = (fixed + moved + below[0]) / len(real) - (fixed - moved + below[1]) / len(sim)
            found[part] = np.abs(signed) @ width
        return found
    rows = np.concatenate([real, sim])
    if alone:
        return _dealt_trials(outcome[rows], len(real), levels, draws, random)
    unit = np.unique(trials.unit[rows], return_inverse=True)[1].reshape(-1)
    return _dealt_units(outcome[rows], unit, len(np.unique(trials.unit[real])), levels, draws, random)


@dataclass(frozen=True)
class _CellSpread:
    """How far a cell's difference of means may lie from the true one, where its trials vary too little to tell.

    Attributes:
        size: the spread that the difference has at least.
        pull: by how much it is nearer to 0 once each side has a further unit at either end of the range.
        hidden: the gap that may hide where all trials ended alike: 1 - 0.025^(1/n).
    """

    size: float
    pull: float
    hidden: float


def _cell_spread(trials: PolicyTrials, real: IntArray, sim: IntArray, *, alone: bool) -> _CellSpread:
    """By Agresti and Caffo (2000), of pairs by Agresti and Min (2005): ten successes of ten exclude no failure."""
    paired = _pairs(trials, real, sim) if trials.pair_names else np.empty((0, 2), np.int64)
    if 2 * len(paired) >= max(len(real), len(sim)):
        difference, count = trials.outcome[paired[:, 0]] - trials.outcome[paired[:, 1]], len(paired) + 2
        centre = float(difference.sum()) / count
        size = float(np.sqrt((float((difference**2).sum() + 1) / count - centre**2) / count))
        hidden = 0.0 if difference.any() else _hidden(len(paired))
        return _CellSpread(size, abs(float(difference.mean())) - abs(centre), hidden)
    sides = [trials.outcome[side] for side in (real, sim)]
    units = sides if alone else [_unit_means(trials, side) for side in (real, sim)]
    smooth = [_smoothed(values, outcomes) for values, outcomes in zip(units, sides, strict=True)]
    measured, centre = float(units[0].mean() - units[1].mean()), smooth[0][0] - smooth[1][0]
    same = len(np.unique(np.concatenate(sides))) == 1
    return _CellSpread(
        float(np.sqrt(smooth[0][1] + smooth[1][1])),
        abs(measured) - float(np.copysign(centre, measured * centre)),
        _hidden(min(map(len, units))) if same else 0.0,
    )


def _smoothed(units: FloatArray, outcomes: FloatArray) -> tuple[float, float]:
    """Mean of a side and the variance of that mean; successes, halves, or equal outcomes with a unit at either end."""
    if not np.isin(outcomes, (0.0, 0.5, 1.0)).all() and np.ptp(units) > 0:
        return float(units.mean()), float(units.var(ddof=1)) / len(units)
    count = len(units) + 2
    centre = float(units.sum() + 1) / count
    return centre, (float((units**2).sum() + 1) / count - centre**2) / count


def _unit_means(trials: PolicyTrials, rows: IntArray) -> FloatArray:
    unit, size = np.unique(trials.unit[rows], return_inverse=True, return_counts=True)[1:]
    return np.bincount(unit.reshape(-1), trials.outcome[rows]) / size


def _hidden(count: int) -> float:
    return 1 - float((SIGNIFICANCE / 2) ** (1 / count))


JEFFREYS = 0.5


def _pairs(trials: PolicyTrials, real: IntArray, sim: IntArray) -> IntArray:
    """(P, 2) rows of a real and a simulated trial from the same initial state."""
    first = real[trials.pair[real] >= 0]
    second = sim[trials.pair[sim] >= 0]
    _, at_first, at_second = np.intersect1d(trials.pair[first], trials.pair[second], return_indices=True)
    return np.stack([first[at_first], second[at_second]], 1)


def _dealt_trials(
    outcome: FloatArray, count: int, levels: FloatArray, draws: int, random: np.random.Generator
) -> FloatArray:
    """Each trial is its own unit: how many of each level fall to the real side is hypergeometric."""
    held = np.searchsorted(levels, outcome)
    total = np.bincount(held, minlength=len(levels))
    found = np.empty(draws)
    for part in _parts(draws, len(levels)):
        size = part.stop - part.start
        if len(levels) == 2:
            dealt = np.stack([first := random.hypergeometric(total[0], total[1], count, size), count - first], 1)
        else:
            dealt = random.multivariate_hypergeometric(total, count, size, method="count")
        below = np.cumsum(dealt, 1)[:, :-1]
        signed = below / count - (np.cumsum(total)[:-1] - below) / (len(outcome) - count)
        found[part] = np.abs(signed) @ np.diff(levels)
    return found


def _dealt_units(
    outcome: FloatArray, unit: IntArray, count: int, levels: FloatArray, draws: int, random: np.random.Generator
) -> FloatArray:
    """Units of several trials go to a side as a whole; as many units a side as before."""
    units = int(unit.max()) + 1
    below = np.zeros((units, len(levels)))
    np.add.at(below, (unit, np.searchsorted(levels, outcome)), 1.0)
    below = np.cumsum(below, 1)
    found = np.empty(draws)
    for part in _parts(draws, units + len(levels)):
        dealt = np.zeros((part.stop - part.start, units))
        dealt[:, :count] = 1.0
        mine = random.permuted(dealt, axis=1) @ below
        other = below.sum(0) - mine
        signed = mine[:, :-1] / mine[:, -1:] - other[:, :-1] / other[:, -1:]
        found[part] = np.abs(signed) @ np.diff(levels)
    return found


def _parts(draws: int, width: int) -> list[slice]:
    step = max(1, MOST_DRAWN // max(1, width))
    return [slice(k, min(draws, k + step)) for k in range(0, draws, step)]


def bootstrap_cells(trials: PolicyTrials, cells: Cells, draws: int, seed: int) -> list[Bootstrap | None]:
    """What the draws say of each cell, all under the same numbers; None where a side of it is a single unit."""
    rows = np.concatenate([np.concatenate(pair) for pair in cells.rows])
    cell = np.repeat(np.arange(len(cells)), cells.trials.sum(1))
    by_side = np.argsort(~trials.real[rows], kind="stable")
    rows, cell = rows[by_side], cell[by_side]
    count_a = int(cells.trials[:, 0].sum())
    unit = bootstrap_units(trials, rows)
    samples = DrawnSamples.of_sets(trials.outcome[rows], count_a, UnitNumbers(unit), None)
    by_cell = np.lexsort((samples.rank_of, cell))
    start = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=len(cells)))]).astype(np.int64)
    rank = samples.rank_of[by_cell].astype(np.int32)
    # One real trial stands for its cell, which counts once.
    stands_for = np.unique(cell[:count_a], return_index=True)[1].astype(np.int32)
    batches: list[list[DrawnRows]] = [[] for _ in range(len(cells))]
    schedule = DrawSchedule(int(unit.max(initial=-1)) + 1, 0, draws, seed)
    while (normals := schedule.next_batch()) is not None:
        of_trial = samples.cells(normals)
        for k, drawn in enumerate(batches):
            held = rank[start[k] : start[k + 1]]
            near = Neighbours(np.zeros(1, np.int64), np.array([0, len(held)]), held, np.ones(len(held), np.uint8))
            row = DrawnRows.zeros(1, normals.count)
            one = Members(np.array([0, 1]), stands_for[k : k + 1])
            row.add_block(near, slice(0, 1), one, samples, count_a, 1, of_trial)
            drawn.append(row)
    return [Bootstrap.of_batches(drawn, 1) if drawn else None for drawn in batches]


def bootstrap_units(trials: PolicyTrials, rows: IntArray) -> IntArray:
    """The unit of each row. A pair is one unit of both sides: what its trials have in common cancels."""
    pair = trials.pair[rows]
    key = np.where(pair >= 0, pair, trials.unit[rows] + pair.max(initial=-1) + 1)
    return np.unique(key, return_inverse=True)[1].reshape(-1).astype(np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class GapEvidence(ShortRepr):
    """Everything that certainty needs of cells: the draws and the permutations of each.

    Attributes:
        boots: of each cell.
        permuted: float64 (C, draws), W1 under permutation.
        alone: whether each trial is a unit of its own.
    """

    trials: PolicyTrials
    cells: Cells
    boots: list[Bootstrap | None]
    permuted: FloatArray
    tried: int
    by_trials: bool = False
    alone: bool = False

    @classmethod
    def of_trials(
        cls, trials: PolicyTrials, cells: Cells, draws: int, seed: int, *, by_trials: bool = False
    ) -> GapEvidence:
        """Draw and permute; nothing is drawn where numbers of trials are unknown."""
        alone = units_are_trials(trials)
        if not draws or not cells.tested.all():
            return cls(trials, cells, [None] * len(cells), np.zeros((len(cells), 0)), 0, by_trials, alone)
        fewer = max(LEAST_DRAWS, min(draws, int(MOST_NORMALS / max(1, len(trials)))))
        boots = bootstrap_cells(trials, cells, fewer, seed)
        return cls(trials, cells, boots, permuted_w1(trials, cells, draws, seed), draws, by_trials, alone)

    def floor(self, chosen: IntArray) -> float | None:
        """Mean over the permutations of the mean W1 of some cells."""
        if not self.permuted.shape[1]:
            return None
        return float((self._weight(chosen) @ self.permuted[chosen]).mean())

    def evidence(self, chosen: IntArray) -> Evidence:
        """Of some cells together: the noise and the gap of the draws, the p value of the permutations."""
        told = np.array([k for k in chosen if self.boots[k] is not None], np.int64)
        boots = [boot for k in told if (boot := self.boots[k]) is not None]
        weight = self._weight(told)
        scaled = [
            replace(boot, contexts=float(share), drawn=boot.drawn * float(share))
            for boot, share in zip(boots, weight, strict=True)
        ]
        boot = Bootstrap.together(scaled) if scaled else None
        if boot is not None:
            chance = weight @ self.permuted[told] + self._untied(told, weight)
            boot = replace(boot, chance=chance, told=len(told) / len(chosen))
        mean = float(self._weight(chosen) @ self.cells.w1[chosen])
        size = SampleSize(self._units(chosen, 0), self._units(chosen, 1))
        return Evidence(mean, boot, size, tried=self.tried)

    def judge(self, groups: Sequence[IntArray], margin: float) -> tuple[list[Certainty], Certainty]:
        """Judge groups of cells, each as one of several, and all cells together.

        Where W1 of one cell is near 0, its draws lie folded at 0, and vary less than those of a true gap: of a gap of
        two spreads, intervals of the method hold 90 % in one cell. And of ten successes of ten no draw differs, though
        the next trial may fail. So both ends are also those of `gap_ends`, the upper one that of what such cells hide.
        """
        everything = np.arange(len(self.cells))
        found, whole = [self.evidence(chosen) for chosen in groups], self.evidence(everything)
        sure, together = estimate_certainty(found, whole, margin)
        spreads = [_cell_spread(self.trials, *rows, alone=self.alone) for rows in self.cells.rows]
        wide = [
            self._widened(one, boot.bootstrap, chosen, spreads)
            for one, boot, chosen in zip(sure, found, groups, strict=True)
        ]
        return wide, self._widened(together, whole.bootstrap, everything, spreads)

    def _widened(
        self, sure: Certainty, boot: Bootstrap | None, chosen: IntArray, spreads: Sequence[_CellSpread]
    ) -> Certainty:
        low, high, gap, p = sure.gap_low, sure.gap_high, sure.gap, sure.p_adjusted
        if boot is None or low is None or high is None or gap is None:
            return sure
        told = np.array([k for k in chosen if self.boots[k] is not None], np.int64)
        size, pull, hidden = np.array([(s.size, s.pull, s.hidden) for s in (spreads[k] for k in told)]).T
        ends = gap_ends(boot, min(sure.units_a, sure.units_b), size, pull)
        low, high = min(low, ends[0]), max(high, ends[1])
        high = min(boot.largest, gap + float(np.hypot(high - gap, (self._weight(told) * hidden).max(initial=0.0))))
        decided = p is not None and sure.verdict.decided
        verdict = verdict_by_margin(p, low, high, sure.margin) if decided and p is not None else sure.verdict
        return replace(sure, gap_low=low, gap_high=high, verdict=verdict)

    def _untied(self, chosen: IntArray, weight: FloatArray) -> FloatArray:
        """(draws,) what orders permutations of the same mean W1, and the trials themselves among them.

        Ten trials a cell have few means, and a tie counts as larger. By the squares of W1, each in units of what it is
        by chance, hardly any are left; the test is as exact, since the trials are ranked as each permutation is.
        """
        square = np.column_stack([self.permuted[chosen], self.cells.w1[chosen]]) ** 2
        usual = square.mean(1, keepdims=True)
        tie = weight @ (square / np.where(usual > 0, usual, 1.0))
        return np.asarray(TIE * (tie[:-1] - tie[-1]))

    def _units(self, chosen: IntArray, side: int) -> int:
        """How many sampling units some cells have on a side."""
        if self.alone:
            return int(self.cells.trials[chosen, side].sum())
        return len(np.unique(self.trials.unit[np.concatenate([self.cells.rows[k][side] for k in chosen])]))

    def _weight(self, chosen: IntArray) -> FloatArray:
        share = self.cells.trials[chosen, 0].astype(np.float64) if self.by_trials else np.ones(len(chosen))
        return np.asarray(share / share.sum())


_GAPS = 400
"""Gaps that are tried, over the range."""


def gap_ends(boot: Bootstrap, units: int, least_spread: FloatArray, pull: FloatArray) -> tuple[float, float]:
    """The gap from which the mean W1 is too far above at 2.5 %; and the largest, alike in all cells, it is not below.

    A difference is about normal in each cell, with the spread that its noise has, and (C,) `least_spread` at least. The
    lower end takes from the mean W1 what each cell's own interval does, (C,) `pull` included, as independent errors.
    What cells vary together shows in the draws, around the W1 that was measured.
    """
    spread = np.maximum(boot.noise / FOLD_AT_ZERO, least_spread)

    def moments(gap: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(G, C) mean of |difference| and its variance."""
        ratio = gap / np.where(spread > 0, spread, 1.0)
        folded = np.asarray(
            np.where(
                spread > 0, spread * (FOLD_AT_ZERO * np.exp(-(ratio**2) / 2) + ratio * erf(ratio / np.sqrt(2))), gap
            )
        )
        return folded, np.asarray(np.maximum(0.0, gap**2 + spread**2 - folded**2))

    tried = np.linspace(0.0, boot.largest, _GAPS + 1)
    mean, variance = moments(tried[:, np.newaxis] * np.ones(len(spread)))
    alone = float(boot.weight**2 @ moments(boot.w1[np.newaxis])[1][0])
    shared = max(1.0, float(boot.around.var()) / alone) if alone > 0 else 1.0
    width = interval_width(max(1, units - 1))
    below = float(np.sqrt(shared * (boot.weight**2 @ (pull + width * spread) ** 2)))
    low = max(0.0, boot.mean_w1 - below)
    least = mean @ boot.weight - width * np.sqrt(shared * (variance @ boot.weight**2))
    held = np.flatnonzero(least <= boot.mean_w1 + _SLACK)
    last = int(held[-1]) if len(held) else 0
    if last == _GAPS:
        return low, boot.largest
    share = (boot.mean_w1 - least[last]) / (least[last + 1] - least[last])
    return low, float(tried[last] + min(1.0, max(0.0, share)) * (tried[1] - tried[0]))


_SLACK = 1e-12
NONE = "none"
MOST_TRIALS = 20_000
"""Trials that are compared by context: of more, as many are drawn."""
_APART = 4.0
"""Of the coordinate that keeps cells apart: above 1, where contexts cease to be alike."""
_MAPPED = 1_000
"""Real trials on the map, at most."""


@dataclass(frozen=True, eq=False, repr=False)
class ContextComparison(ShortRepr):
    """Algorithm 1 over initial states.

    Attributes:
        columns: conditions that are numbers.
        scales: by how much each may differ between trials that are alike.
        policies: numbers of the policies that were compared, with what came of each.
        rows: of the trials, the real ones in the order of the comparisons.
        missing: real trials, and simulated ones, that lack a number.
        thinned: how many trials there were before some were drawn.
    """

    columns: Sequence[str]
    scales: FloatArray
    policies: Sequence[int]
    comparisons: Sequence[ClassComparison]
    certainty: Sequence[Certainty]
    overall: Certainty
    rows: IntArray
    missing: int
    thinned: int

    def content(self, trials: PolicyTrials) -> Json:
        """As policies.json has it."""
        parts = [self._numbers([one], sure) for one, sure in zip(self.comparisons, self.certainty, strict=True)]
        return {
            "columns": list(self.columns),
            "alike_within": self.scales.tolist(),
            "missing": self.missing,
            "thinned": self.thinned,
            "overall": self._numbers(self.comparisons, self.overall),
            "by_policy": [
                {"policy": trials.policies[policy], **part} for policy, part in zip(self.policies, parts, strict=True)
            ],
            "map": self._map(trials),
        }

    def _numbers(self, parts: Sequence[ClassComparison], certainty: Certainty) -> Json:
        return reduce_comparisons(parts).judged(certainty).to_json()

    def _map(self, trials: PolicyTrials) -> Json:
        """Where each real trial began, and how much more the simulation promises there."""
        difference = -np.concatenate([one.difference for one in self.comparisons])
        shown = np.arange(len(self.rows))
        if len(shown) > _MAPPED:
            shown = np.sort(np.random.default_rng(0).permutation(len(shown))[:_MAPPED])
        kept = self.rows[shown]
        places = {name: trials.numbers[name][kept].tolist() for name in self.columns}
        promised = [None if np.isnan(value) else float(value) for value in difference[shown]]
        return {"places": places, "sim_less_real": promised}


def compare_contexts(
    trials: PolicyTrials,
    radius: float,
    scales: Mapping[str, float] | None,
    chosen: str | None,
    *,
    draws: int,
    seed: int,
    margin: float,
) -> ContextComparison | None:
    """Compare trials that began alike; None where no condition is a number, or no such trial has both sides.

    Args:
        radius: two trials are alike where no number differs by more than this share of its range.
        scales: in place of the range, by name.
        chosen: names of the numbers, with commas; "none" for none; None for all.
    """
    columns = _columns(trials, chosen)
    if not columns or trials.has_rates:
        return None
    values = np.stack([trials.numbers[name] for name in columns], 1)
    known: BoolArray = np.asarray(np.isfinite(values).all(1), bool)
    scale = radius * _scales(columns, values[known], scales)
    rows = _of_both_sides(trials, known)
    thinned = len(rows)
    if len(rows) > MOST_TRIALS:
        rows = np.sort(np.random.default_rng([seed, 8]).permutation(rows)[:MOST_TRIALS])
        kept = np.zeros(len(trials), bool)
        kept[rows] = True
        rows = _of_both_sides(trials, kept)
    if not len(rows):
        return None
    cell = np.unique(row_numbers([trials.policy, trials.task, *trials.words.values()]), return_inverse=True)[1]
    place = np.column_stack([_APART * cell.reshape(-1), values / scale])
    units = bootstrap_units(trials, rows)
    unit = np.zeros(len(trials), np.int64)
    unit[rows] = units
    normals = DrawSchedule(int(units.max()) + 1, 0, draws, seed).next_batch()
    parts: list[tuple[ClassComparison, Bootstrap | None]] = []
    sizes, order = [], []
    policies = np.unique(trials.policy[rows])
    for policy in policies:
        sides = [rows[(trials.policy[rows] == policy) & (trials.real[rows] == side)] for side in (True, False)]
        samples = [PointSamples(place[side], trials.outcome[side][:, np.newaxis], unit[side]) for side in sides]
        parts += compare_points(samples[0], samples[1], normals)
        sizes.append(SampleSize.of_units((unit[sides[0]], unit[sides[1]])))
        order.append(sides[0])
    found = [
        Evidence(reduce_comparisons([one]).mean_w1, boot, size, tried=draws)
        for (one, boot), size in zip(parts, sizes, strict=True)
    ]
    comparisons = [one for one, _ in parts]
    boots = [boot for _, boot in parts if boot is not None]
    size = SampleSize.of_units((unit[rows[trials.real[rows]]], unit[rows[~trials.real[rows]]]))
    together = Bootstrap.together(boots) if boots else None
    mean = reduce_comparisons(comparisons).mean_w1
    sure, overall = estimate_certainty(found, Evidence(mean, together, size, tried=draws), margin)
    missing = int((~known).sum())
    return ContextComparison(
        columns, scale, policies.tolist(), comparisons, sure, overall, np.concatenate(order), missing, thinned
    )


def _columns(trials: PolicyTrials, chosen: str | None) -> list[str]:
    if chosen == NONE:
        return []
    if chosen is None:
        return list(trials.numbers)
    wanted = [name.strip() for name in chosen.split(",")]
    for name in wanted:
        if name not in trials.numbers:
            held = list_some(list(trials.numbers)) if trials.numbers else "none"
            raise UsageError(f"contexts: {name} is not a condition that is a number on both sides; there are: {held}")
    return wanted


def _scales(columns: Sequence[str], values: FloatArray, scales: Mapping[str, float] | None) -> FloatArray:
    """The range of each number over both sides, or what is given instead."""
    given = scales or {}
    for name in given:
        if name not in columns:
            raise UsageError(f"scales: {name} is not a condition that is a number; there are: {list_some(columns)}")
    ranges = np.ptp(values, 0) if len(values) else np.zeros(len(columns))
    found = np.array([given.get(name, of) for name, of in zip(columns, ranges, strict=True)])
    # A number that is the same everywhere tells nothing apart.
    return np.where(found > 0, found, 1.0)


def _of_both_sides(trials: PolicyTrials, kept: BoolArray) -> IntArray:
    """The rows of policies that both sides have."""
    policies = [set(trials.policy[kept & (trials.real == side)].tolist()) for side in (True, False)]
    return np.flatnonzero(kept & np.isin(trials.policy, sorted(policies[0] & policies[1])))
