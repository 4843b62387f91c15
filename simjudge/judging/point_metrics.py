"""Judge metrics of samples whose contexts are points: errors of a trajectory, of a tracker, each in its own unit.

Each metric has sampling units of its own: an error that drifts needs longer blocks than one that does not. So p is
corrected by Holm over the metrics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.judging.units.blocks import unit_length
from simjudge.method.algorithm import ClassComparison
from simjudge.method.block_length import BlockLength
from simjudge.method.bootstrap import DrawSchedule
from simjudge.method.certainty import Certainty, Evidence, SampleSize, estimate_certainty
from simjudge.method.entry_numbers import reduce_comparisons
from simjudge.method.multiple_tests import holm
from simjudge.method.vector_contexts import PointJoin, PointSamples, compare_points, join_points
from simjudge.method.verdicts import FEWEST_UNITS, verdict_by_margin

MOST_SAMPLES = 2000
"""Samples of a side that are compared; of more, every so many."""
_AT_CHANCE = 1.0
"""Standard errors of a correlation below which two passes of a place are taken to tell nothing of each other."""


@dataclass(frozen=True)
class PointMetric:
    """A number that each sample has."""

    name: str
    unit: str
    margin: float  # difference from which a gap matters
    reach: float  # the largest value that counts: larger ones count as this one


@dataclass(frozen=True, eq=False, repr=False)
class PointSide(ShortRepr):
    """N samples of one side, in order within each run."""

    run: IntArray  # int64 (N,), the recording of each
    slot: IntArray  # int64 (N,), its place in the run; samples of one moment have one
    context: FloatArray  # (N, D), in units of the tolerances
    value: FloatArray  # (N, M), a column a metric, in its unit
    # int64 (N,), an earlier sample of the same side and place; -1 for none
    earlier: IntArray | None = None

    def __len__(self) -> int:
        return len(self.run)


@dataclass(frozen=True, eq=False, repr=False)
class MetricUnits(ShortRepr):
    """The sampling unit of each sample, numbered over both sides."""

    of_side: tuple[IntArray, IntArray]
    lengths: tuple[int, int]  # slots of a block of each side; 0 where whole runs are the units
    doubted: tuple[bool, bool] = (False, False)  # whether blocks may have to be longer than the runs allow

    @property
    def count(self) -> int:
        """How many there are."""
        return 1 + max(int(units.max(initial=-1)) for units in self.of_side)


@dataclass(frozen=True, eq=False, repr=False)
class JudgedMetric(ShortRepr):
    """What was found for one metric, in its own unit."""

    metric: PointMetric
    rows: tuple[IntArray, IntArray]  # the samples of each side that were compared
    comparison: ClassComparison
    certainty: Certainty
    units: MetricUnits

    def content(self) -> dict[str, object]:
        """The fields of a result file."""
        return {
            "metric": self.metric.name,
            "unit": self.metric.unit,
            "reach": self.metric.reach,
            "block_slots": list(self.units.lengths),
            **reduce_comparisons([self.comparison]).judged(self.certainty).to_json(),
        }


def joined_runs(tables: Sequence[dict[str, FloatArray]]) -> dict[str, FloatArray]:
    """Tables of several runs below each other, with the number of the run."""
    run = np.concatenate([np.full(len(table["slot"]), float(number)) for number, table in enumerate(tables)])
    return {"run": run, **{name: np.concatenate([table[name] for table in tables]) for name in tables[0]}}


def point_side(
    table: Mapping[str, FloatArray], context: FloatArray, values: FloatArray, earlier: IntArray | None = None
) -> PointSide:
    """One side of joined runs; contexts (N, D) in units of the tolerances, values (N, M) by metric."""
    return PointSide(table["run"].astype(np.int64), table["slot"].astype(np.int64), context, values, earlier)


def thinning_notes(sides: Sequence[PointSide], samples: str, others: str) -> list[str]:
    """What is said where not all samples are compared; `others`: what all of them are still in."""
    return [
        f"{words}: every {-(-len(side) // MOST_SAMPLES)}. of {len(side)} {samples} is compared; {others}"
        for side, words in zip(sides, ("real", "simulated"), strict=True)
        if len(side) > MOST_SAMPLES
    ]


def are_whole_runs(results: Sequence[JudgedMetric]) -> bool:
    """Whether whole runs are drawn, not blocks of them."""
    return results[0].units.lengths == (0, 0)


def sample_table(
    sides: Sequence[tuple[dict[str, FloatArray], FloatArray]], results: Sequence[JudgedMetric]
) -> dict[str, FloatArray]:
    """The table of a result folder: the samples of A, then of B (columns; values (N, M)), with units and W1."""
    parts = []
    for side, (table, values) in enumerate(sides):
        names = [result.metric.name for result in results]
        held = {"side": np.full(len(values), float(side)), **table, **dict(zip(names, values.T, strict=True))}
        for result in results:
            held[f"unit {result.metric.name}"] = result.units.of_side[side].astype(np.float64)
            w1 = np.full(len(values), np.nan)
            if side == 0:
                w1[result.rows[0]] = result.comparison.w1
            held[f"w1 {result.metric.name}"] = w1
        parts.append(held)
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def judge_metrics(
    sides: tuple[PointSide, PointSide], metrics: Sequence[PointMetric], draws: int, seed: int
) -> list[JudgedMetric]:
    """Compare two sides by each metric."""
    rows = _compared_rows(sides[0]), _compared_rows(sides[1])
    joined = join_points(sides[0].context[rows[0]], sides[1].context[rows[1]])
    found = [_judge(sides, rows, joined, column, metrics, draws, seed) for column in range(len(metrics))]
    corrected = holm([judged.certainty.p_adjusted if judged.certainty.verdict.decided else None for judged in found])
    return [
        replace(judged, certainty=_with_p(judged.certainty, p)) if p is not None else judged
        for judged, p in zip(found, corrected, strict=True)
    ]


def _compared_rows(side: PointSide) -> IntArray:
    return np.arange(0, len(side), max(1, -(-len(side) // MOST_SAMPLES)))


def _with_p(certainty: Certainty, p: float) -> Certainty:
    low, high = certainty.gap_low or 0.0, certainty.gap_high or 0.0
    return replace(certainty, p_adjusted=p, verdict=verdict_by_margin(p, low, high, certainty.margin))


def _judge(
    sides: tuple[PointSide, PointSide],
    rows: tuple[IntArray, IntArray],
    joined: PointJoin,
    column: int,
    metrics: Sequence[PointMetric],
    draws: int,
    seed: int,
) -> JudgedMetric:
    metric = metrics[column]
    values = tuple(np.minimum(side.value[:, column], metric.reach) / metric.reach for side in sides)
    units = sampling_units(sides, (values[0], values[1]))
    samples = [
        PointSamples(side.context[kept], value[kept, np.newaxis], unit[kept])
        for side, value, unit, kept in zip(sides, values, units.of_side, rows, strict=True)
    ]
    schedule = DrawSchedule(units.count, 0, draws, seed)
    ((comparison, boot),) = compare_points(samples[0], samples[1], schedule.next_batch(), joined)
    size = SampleSize.of_units((samples[0].unit, samples[1].unit))
    in_doubt = [count for count, doubted in zip((size.units_a, size.units_b), units.doubted, strict=True) if doubted]
    if boot is not None and in_doubt:
        degrees = max(1, min(in_doubt) - 1)
        boot = boot.doubted(schedule.doubt(degrees), degrees)
    evidence = Evidence(reduce_comparisons([comparison]).mean_w1, boot, size, tried=draws)
    # As one of several: the gap that would have been shown is that after the correction.
    certainty = estimate_certainty([evidence] * len(metrics), evidence, metric.margin / metric.reach)[0][0]
    return JudgedMetric(
        metric,
        rows,
        scaled_comparison(comparison, metric.reach),
        scaled_certainty(certainty, metric.reach),
        units,
    )


def sampling_units(sides: tuple[PointSide, PointSide], values: tuple[FloatArray, FloatArray]) -> MetricUnits:
    """Whole runs where both sides have enough of them, else blocks of neighbours as long as their values go together.

    Samples of a place that was passed before are of the unit of the first pass, unless the passes tell nothing of each
    other.
    """
    if min(len(np.unique(side.run)) for side in sides) >= FEWEST_UNITS:
        return _numbered([[("run", run) for run in side.run.tolist()] for side in sides], (0, 0))
    lengths = [_block_length(side, value) for side, value in zip(sides, values, strict=True)]
    # One estimator made both sides: where one side shows how long its errors go together, the other believes it.
    longest = max(length.frames for length in lengths)
    keys = [_unit_names(side, value, longest) for side, value in zip(sides, values, strict=True)]
    doubted = tuple(length.limited for length in lengths)
    return _numbered(keys, (longest, longest), (doubted[0], doubted[1]))


def _block_length(side: PointSide, value: FloatArray) -> BlockLength:
    """How many slots are a block, by the mean value of each slot."""
    place, index = np.unique(np.stack([side.run, side.slot]), axis=1, return_inverse=True)
    index = index.reshape(-1)
    mean = np.bincount(index, value) / np.bincount(index)
    return unit_length(place[0], place[1], mean)


def _unit_names(side: PointSide, value: FloatArray, length: int) -> list[tuple[object, ...]]:
    """The unit of each sample; of a place that was passed before, that of the first pass."""
    own = [(run, slot // length) for run, slot in zip(side.run.tolist(), side.slot.tolist(), strict=True)]
    again = np.empty(0, np.int64) if side.earlier is None else np.flatnonzero(side.earlier >= 0)
    if side.earlier is None or not len(again):
        return [*own]
    mean = np.bincount(side.run, value) / np.maximum(np.bincount(side.run), 1)
    centred = value - mean[side.run]
    one, other = centred[again], centred[side.earlier[again]]
    spread = float(np.sqrt((one**2).sum() * (other**2).sum()))
    correlation = float(one @ other) / spread if spread > 0 else 0.0
    if correlation >= _AT_CHANCE / np.sqrt(max(1.0, len(again) / length)):
        for row in again.tolist():
            own[row] = own[int(side.earlier[row])]
    return [*own]


def _numbered(
    keys: Sequence[Sequence[tuple[object, ...]]], lengths: tuple[int, int], doubted: tuple[bool, bool] = (False, False)
) -> MetricUnits:
    number: dict[tuple[object, ...], int] = {}
    of_side = [
        np.array([number.setdefault((side, *key), len(number)) for key in held], np.int64)
        for side, held in enumerate(keys)
    ]
    return MetricUnits((of_side[0], of_side[1]), lengths, doubted)


def scaled_comparison(one: ClassComparison, scale: float) -> ClassComparison:
    """From units of a scale to the metric's own."""
    return replace(
        one,
        performance_a=one.performance_a * scale,
        performance_b=one.performance_b * scale,
        w1=one.w1 * scale,
        difference=one.difference * scale,
    )


def scaled_certainty(certainty: Certainty, scale: float) -> Certainty:
    """From units of a scale to the metric's own."""

    def scaled(value: float | None) -> float | None:
        return None if value is None else value * scale

    return replace(
        certainty,
        noise=scaled(certainty.noise),
        noise_q95=scaled(certainty.noise_q95),
        gap_size=scaled(certainty.gap_size),
        gap=scaled(certainty.gap),
        gap_low=scaled(certainty.gap_low),
        gap_high=scaled(certainty.gap_high),
        detectable_gap=scaled(certainty.detectable_gap),
        margin=certainty.margin * scale,
    )
