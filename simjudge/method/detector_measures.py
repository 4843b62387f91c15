"""What else a detector does, with certainty: false positives, scores, recall, average precision (method, section 8).

Each measure is a mean, a ratio or another functional of a set. Its influence says how much each frame or object moves
it. In a draw every sampling unit gets a normal number, as for W1, and the measure moves by the sum of number times
influence: that is linear, so all measures together are jointly normal, and their covariance is drawn from directly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.core.string_enum import StrEnum
from simjudge.core.text import JsonMapping
from simjudge.method.balance import unlike
from simjudge.method.certainty import interval_width, p_value
from simjudge.method.multiple_tests import step_down
from simjudge.method.recordings import RecordingSides, SampleRecordings, shift_numbers
from simjudge.method.small_batches import crossed_share
from simjudge.method.verdicts import (
    FEWEST_UNITS,
    MARGIN,
    SIGNIFICANCE,
    Reason,
    Verdict,
    finds_nothing,
    verdict_by_margin,
)

_MOST_BINS, _IN_BIN = 10, 20
"""Bins of size of a class at most, and objects of both sets that each should hold."""
_FEWEST = 10
"""Objects of a set in a bin below which it is left out: two that stand for two hundred decide whether all are found."""


@dataclass(frozen=True, repr=False)
class CommonMix(ShortRepr):
    """The objects of A (N) and of B (M), weighted.

    Attributes:
        weight_a, weight_b: float64 (N,), (M,); of what the other set lacks 0.
        cell_a, cell_b: int64 (N,), (M,), kind and size; objects of one cell have one weight.
        adjusted: whether the sets are so unlike that weights are not all 1.
    """

    weight_a: FloatArray
    weight_b: FloatArray
    cell_a: IntArray
    cell_b: IntArray
    adjusted: bool


def common_mix(kind_a: IntArray, size_a: FloatArray, kind_b: IntArray, size_b: FloatArray) -> CommonMix:
    """Weight objects to A's mix of kinds and sizes, if the mixes differ.

    Args:
        kind_a, kind_b: int64 (N,), (M,), of objects of classes that both sets hold: class, and whether in a crowd.
        size_a, size_b: float64 (N,), (M,), such as the logarithm of the area.
    """
    counts = (len(kind_a), len(kind_b))
    if not min(counts) or not _unlike(kind_a, size_a, kind_b, size_b):
        ones, one_cell = [np.ones(n) for n in counts], [np.zeros(n, np.int64) for n in counts]
        return CommonMix(ones[0], ones[1], one_cell[0], one_cell[1], adjusted=False)
    kind, size = np.concatenate([kind_a, kind_b]), np.concatenate([size_a, size_b])
    cell = np.zeros(len(kind), np.int64)
    for k in np.unique(kind):
        rows = np.flatnonzero(kind == k)
        bins = int(np.clip(len(rows) // _IN_BIN, 1, _MOST_BINS))
        # Bins of the same number of objects, within each kind.
        edges = np.quantile(size[rows], np.arange(1, bins) / bins)
        cell[rows] = cell.max(initial=0) + 1 + np.searchsorted(edges, size[rows], side="right")
    of_a, of_b = np.split(cell, [counts[0]])
    held = [np.bincount(side, minlength=int(cell.max()) + 1).astype(np.float64) for side in (of_a, of_b)]
    both = (held[0] >= _FEWEST) & (held[1] >= _FEWEST)
    # Bins that both hold, in A's proportions; bins that one side hardly has weigh nothing.
    factor = [np.where(both, held[0] / np.maximum(counts, 1), 0.0) for counts in held]
    weights = [by_cell[cells] for by_cell, cells in zip(factor, (of_a, of_b), strict=True)]
    # As many as there are objects, so that weighted and plain counts can stand together.
    scaled = [w * (len(w) / w.sum()) if w.sum() else w for w in weights]
    return CommonMix(scaled[0], scaled[1], of_a, of_b, adjusted=True)


def _unlike(kind_a: IntArray, size_a: FloatArray, kind_b: IntArray, size_b: FloatArray) -> bool:
    """Whether a share of a kind, or the sizes within one, differ by more than a little and than chance."""
    for k in np.unique(np.concatenate([kind_a, kind_b])):
        in_a, in_b = kind_a == k, kind_b == k
        if unlike(in_a.astype(np.float64), in_b.astype(np.float64)) or unlike(size_a[in_a], size_b[in_b]):
            return True
    return False


FAMILIES = 2
"""The measures are one family beside the performance of objects: their p counts so many times."""
LEAST_EVEN = 3.0
"""Units of equal weight that a side must be worth: below, one or two units hold nearly everything."""
_ENDLESS = 10**9
"""Degrees of freedom of what is known."""
_ROUNDING = 1e-9
"""A difference below this is one of rounding."""
_MAIN_STREAM = 2
"""Of the random numbers: units and blocks of W1 have the streams 0 and 1."""


class MeasureCode(StrEnum):
    """What is measured of each set. Files hold these codes."""

    FALSE_POSITIVES = "false_positives"
    FALSE_POSITIVES_AWAY = "false_positives_away"
    FALSE_POSITIVES_SURE = "false_positives_sure"
    MATCH_SCORE = "match_score"
    RECALL = "recall"
    MAP50 = "map50"


COUNTS = (MeasureCode.FALSE_POSITIVES, MeasureCode.FALSE_POSITIVES_AWAY, MeasureCode.FALSE_POSITIVES_SURE)
"""The measures that are numbers a frame; the others are between 0 and 1."""


@dataclass(frozen=True, repr=False)
class SideEstimate(ShortRepr):
    """A measure of one set, and how much each of R rows (frames, objects or predictions) moves it.

    Attributes:
        influence: float64 (R,), by how much more of a row moves it; they sum to 0.
        unit: int64 (R,), the sampling unit of each row, numbered over both sets.
        block: int64 (R,), its block of time beside that; -1 for none.
        weight: float64 (R,), how much of the measure each row is.
        event: by how much a single event more (a false positive, a miss) moves it. Where nothing was seen to vary, this
            keeps the interval from being a point: no false positive in 50 frames does not prove that there is none.
        recording: int64 (R,), numbered over both sets; None where neither has several.
    """

    value: float
    influence: FloatArray
    unit: IntArray
    block: IntArray
    weight: FloatArray
    event: float = 0.0
    recording: IntArray | None = None

    @property
    def units(self) -> int:
        """How many units, or blocks where they are fewer, hold what is measured."""
        held = self.weight > 0
        counts = [len(np.unique(self.unit[held]))]
        if held.any() and self.block[held].min() >= 0:
            counts.append(len(np.unique(self.block[held])))
        return min(counts)

    @property
    def even_units(self) -> float:
        """How many units of equal weight they are worth (Kish)."""
        worth = []
        for number in (self.unit, self.block):
            if len(number) and number.min() >= 0:
                sums = np.bincount(number, self.weight)
                worth.append(float(sums.sum() ** 2 / max(float((sums**2).sum()), 1e-300)))
        return min(worth, default=0.0)


@dataclass(frozen=True, repr=False)
class MeasuredSets(ShortRepr):
    """A measure of both sets; a side is None where there is nothing to measure.

    Attributes:
        margin: the difference from which it matters.
        adjusted: whether objects are weighted to one mix of classes and sizes.
    """

    measure: MeasureCode
    a: SideEstimate | None
    b: SideEstimate | None
    margin: float
    adjusted: bool = False


@dataclass(frozen=True)
class DetectorMeasure:
    """One measure of both sets, judged; numbers are None where they are undefined or nothing was drawn.

    Attributes:
        p_value: (1 + draws with a difference at least as large) / (1 + draws).
        p_adjusted: corrected for the measures (Romano and Wolf), and for performance beside them.
        margin: the difference from which it matters.
        units_a, units_b: sampling units that hold what is measured.
        adjusted: whether objects are weighted to A's mix of classes and sizes, as far as B has them too.
        verdict, verdict_reason: see `simjudge.method.verdicts`.
    """

    measure: MeasureCode
    value_a: float | None = None
    value_b: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    margin: float = MARGIN
    units_a: int = 0
    units_b: int = 0
    draws: int = 0
    adjusted: bool = False
    verdict: Verdict = Verdict.NOT_TESTED
    verdict_reason: Reason = Reason.NONE

    def __post_init__(self) -> None:
        """Take a verdict's code, as files hold it, for the verdict."""
        object.__setattr__(self, "verdict", Verdict(self.verdict))

    def verdict_at(self, margin: float, comparisons: int = 1) -> Verdict:
        """The verdict by another margin, or where it is one of several comparisons."""
        p, low, high = self.p_adjusted, self.low, self.high
        if p is None or low is None or high is None:
            return self.verdict
        if self.fails:
            return Verdict.DETECTOR_FAILS
        least, most = (0.0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))
        return verdict_by_margin(min(1.0, p * comparisons), least, most, margin)

    @property
    def fails(self) -> bool:
        """Whether recall or average precision says that the detector finds next to nothing in either set."""
        values = self.value_a, self.value_b
        recall = self.measure == MeasureCode.RECALL
        known = recall or self.measure == MeasureCode.MAP50
        return known and all(finds_nothing(*((None, value) if recall else (value, None))) for value in values)

    @classmethod
    def from_json(cls, measure: str, content: JsonMapping) -> DetectorMeasure:
        """Read an entry of a result file.

        Args:
            content: by field; what is missing or null is undefined, further fields are left out.
        """
        known = {field.name: content[field.name] for field in fields(cls) if content.get(field.name) is not None}
        known["measure"] = MeasureCode(measure)
        for name, kind in (("verdict", Verdict), ("verdict_reason", Reason)):
            if name in known:
                known[name] = kind(known[name])
        return cls(**known)

    def to_json(self) -> dict[str, object]:
        """An entry of a result file, under the code of its measure."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "measure"}


def mean_estimate(
    value: FloatArray,
    unit: IntArray,
    block: IntArray,
    *,
    event: float | None = None,
    weight: FloatArray | None = None,
    cell: IntArray | None = None,
) -> SideEstimate | None:
    """A weighted mean of rows.

    Args:
        value: float64 (R,).
        event: size of a single event, as a value of one row; None: values vary by themselves.
        weight: float64 (R,); None: all rows alike.
        cell: int64 (R,), rows whose share in the mean is fixed by the weights; None: one.

    Returns:
        None where there are no rows.
    """
    heavy = np.ones(len(value)) if weight is None else weight
    total = float(heavy.sum())
    if total <= 0:
        return None
    share = heavy / total
    group = np.zeros(len(value), np.int64) if cell is None else np.unique(cell, return_inverse=True)[1].reshape(-1)
    held = np.bincount(group, share)
    centre = np.bincount(group, share * value) / np.where(held > 0, held, 1.0)
    # Values lie nearer to the mean of their own cell than to what it estimates: much so in cells of few.
    rows = np.bincount(group[share > 0], minlength=len(held)).astype(np.float64)
    apart = np.sqrt(rows / np.maximum(rows - 1, 1.0)) if cell is not None else np.ones(len(held))
    least = 0.0 if event is None else event * float((share**2).sum() ** 0.5) / math.sqrt(np.count_nonzero(share))
    return SideEstimate(float(share @ value), share * apart[group] * (value - centre[group]), unit, block, heavy, least)


def judge_measures(found: Sequence[MeasuredSets], draws: int, seed: int) -> tuple[DetectorMeasure, ...]:
    """Judge the measures of two sets under the same draws, corrected for each other.

    Args:
        draws: how many to make; 0 for none: nothing is tested then.
    """
    stated = [_stated(values) for values in found]
    whole = [i for i, values in enumerate(found) if values.a is not None and values.b is not None]
    if not whole or not draws:
        return tuple(stated)
    drawn = _draw([found[i] for i in whole], draws, seed)
    tests: dict[int, tuple[float, FloatArray]] = {}
    for i, spread, skewness, chance in zip(whole, *drawn, strict=True):
        moved = _shift(found[i], draws, seed)
        stated[i], observed, by_chance = _with_interval(
            found[i], stated[i], (float(spread), float(skewness)), chance, moved
        )
        if not stated[i].verdict_reason:
            tests[i] = observed, by_chance
    corrected = step_down([observed for observed, _ in tests.values()], [chance for _, chance in tests.values()])
    for i, p in zip(tests, corrected, strict=True):
        one = replace(stated[i], p_adjusted=min(1.0, FAMILIES * p))
        stated[i] = replace(one, verdict=one.verdict_at(one.margin))
    return tuple(stated)


def _with_interval(
    found: MeasuredSets,
    one: DetectorMeasure,
    moments: tuple[float, float],
    chance: FloatArray,
    moved: FloatArray | None,
) -> tuple[DetectorMeasure, float, FloatArray]:
    """A measure with its interval and p, the size of its difference as tested, and that by chance."""
    (error, skewness), middle = moments, one.difference
    if found.a is None or found.b is None or middle is None:
        raise AssertionError("only what both sets have is drawn")
    wide = interval_width(max(1, math.floor(min(found.a.even_units, found.b.even_units)) - 1))
    # The normal numbers know the spread; here it is estimated from few units, so they are widened as t is.
    chance = chance * (wide / interval_width(_ENDLESS))
    if moved is not None:
        chance = np.abs(chance + moved)
        wide = max(wide, float(np.quantile(chance, 1 - SIGNIFICANCE)) / error)
    observed = abs(error * _symmetric(middle / error, skewness))
    low, high = (middle - error * _skewed(sign * wide, skewness) for sign in (1, -1))
    chance = np.abs(chance)
    least, most = (-math.inf, math.inf) if found.measure in COUNTS else (-1.0, 1.0)
    reason = _reason(found.a, found.b, len(chance))
    verdict = Verdict.TOO_FEW if reason else Verdict.NOT_TESTED
    known = replace(one, low=max(least, low), high=min(most, high), draws=len(chance), verdict=verdict)
    return replace(known, p_value=p_value(observed, chance), verdict_reason=reason), observed, chance


def _stated(found: MeasuredSets) -> DetectorMeasure:
    a, b = found.a, found.b
    out = DetectorMeasure(found.measure, margin=found.margin, adjusted=found.adjusted)
    if a is not None:
        out = replace(out, value_a=a.value, units_a=a.units)
    if b is not None:
        out = replace(out, value_b=b.value, units_b=b.units)
    return out if a is None or b is None else replace(out, difference=b.value - a.value)


def _symmetric(statistic: float, skewness: float) -> float:
    """(Estimate less truth) over its standard error, made symmetric where the estimate is skewed.

    Hall, On the removal of skewness by transformation, Journal of the Royal Statistical Society B 54 (1992).
    """
    return statistic + skewness * statistic**2 / 3 + skewness**2 * statistic**3 / 27 + skewness / 6


def _skewed(quantile: float, skewness: float) -> float:
    """The inverse of `_symmetric`."""
    if abs(skewness) < 1e-6:
        return quantile
    return float(3 / skewness * (np.cbrt(1 + skewness * (quantile - skewness / 6)) - 1))


def _draw(found: Sequence[MeasuredSets], draws: int, seed: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Standard error and skewness of each difference, and what it is by chance (measures, draws)."""
    sides = [(sign, side) for values in found for sign, side in ((-1, values.a), (1, values.b)) if side is not None]
    columns = np.repeat(np.arange(len(found)), 2)
    parts = []
    for numbers in _numbers([side for _, side in sides]):
        count = max((int(number.max(initial=-1)) for number in numbers), default=-1) + 1
        moved = np.zeros((count, len(found)))
        for column, (sign, side), number in zip(columns, sides, numbers, strict=True):
            held = number >= 0
            # A mean over k units is itself moved by each of them.
            grown = math.sqrt(side.even_units / max(side.even_units - 1, 1e-9)) if side.units > 1 else 1.0
            moved[:, column] += sign * grown * np.bincount(number[held], side.influence[held], count)
        parts.append((moved.T @ moved, (moved**3).sum(0)))
    squares = [np.diag(covariance) for covariance, _ in parts]
    scale = crossed_share(*squares)
    covariance = (parts[0][0] + parts[1][0]) * scale * scale[:, np.newaxis]
    (of_unit, of_block, of_cell) = (third for _, third in parts)
    # The same variance has the same skewness: that of units and blocks, less what is in both, or of the larger one.
    larger = np.where(squares[0] >= squares[1], of_unit, of_block)
    third = np.where(squares[2] <= np.minimum(squares[0], squares[1]), of_unit + of_block - of_cell, larger)
    for column, (_, side) in zip(columns, sides, strict=True):
        covariance[column, column] += side.event**2 + _ROUNDING**2
    # The symmetric root; of a covariance without full rank Cholesky would fail.
    values, vectors = np.linalg.eigh(covariance)
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    normals = np.random.default_rng([seed, _MAIN_STREAM]).standard_normal((draws, len(found)))
    spread = np.sqrt(np.diag(covariance))
    return spread, third / np.maximum(spread, 1e-300) ** 3, (normals @ root).T.copy()


def _shift(found: MeasuredSets, draws: int, seed: int) -> FloatArray | None:
    """(draws,) by how much recordings move a difference; None where no set has several."""
    a, b = found.a, found.b
    if a is None or b is None or a.recording is None or b.recording is None:
        return None
    sides = RecordingSides.of_rows(a.recording, b.recording)
    grown = [
        sign * side.influence * math.sqrt(side.even_units / max(side.even_units - 1, 1e-9) if side.units > 1 else 1.0)
        for sign, side in ((-1, a), (1, b))
    ]
    numbers = shift_numbers(len(sides.in_a), draws, seed)
    unit, block = np.concatenate([a.unit, b.unit]), np.concatenate([a.block, b.block])
    known = SampleRecordings(np.concatenate([a.recording, b.recording]), unit, block, sides)
    return np.asarray(known.shifts(np.concatenate(grown)[np.newaxis], *numbers)[0])


def _numbers(sides: Sequence[SideEstimate]) -> list[list[IntArray]]:
    """The units of the rows of each side, their blocks, and what each unit has in each block; -1 for none."""
    blocks = max((int(side.block.max(initial=-1)) for side in sides), default=-1) + 1
    cell = np.concatenate([np.where(side.block >= 0, side.unit * blocks + side.block, -1) for side in sides])
    number = np.searchsorted(np.unique(cell[cell >= 0]), cell)
    ends = np.cumsum([len(side.unit) for side in sides])[:-1]
    crossed = np.split(np.where(cell >= 0, number, -1), ends)
    return [[side.unit for side in sides], [side.block for side in sides], crossed]


def _reason(a: SideEstimate, b: SideEstimate, draws: int) -> Reason:
    if min(a.units, b.units) < FEWEST_UNITS:
        return Reason.FEW_UNITS
    if FAMILIES / (1 + draws) > SIGNIFICANCE:
        return Reason.FEW_DRAWS
    return Reason.UNEVEN_UNITS if min(a.even_units, b.even_units) < LEAST_EVEN else Reason.NONE
