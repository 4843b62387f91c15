"""Errors of labels and their price: what W1 and the gap are when both sets carry them, and when neither does.

Labels of photographs are off by some pixels and miss some objects; those of a simulation do not. So a detector seems
worse on photographs than it is. Adding the same error to B's labels makes both sides alike again, which tests whether
there is a gap at all. Adding more and more error to both sides and extrapolating to none tells how large the gap is
(SIMEX; Cook and Stefanski, Journal of the American Statistical Association 89, 1994).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.core.errors import Advance, SimjudgeError, UsageError
from simjudge.core.object_tables import Objects
from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.judged_set import JudgedSet, object_performance
from simjudge.judging.painted_masks import PaintedGeometry
from simjudge.judging.set_comparison import SetComparison, comparison_units
from simjudge.judging.units.sampling_units import SampleUnits
from simjudge.method.bootstrap import Bootstrap
from simjudge.method.certainty import Certainty, doubted_gap, gap_draws, interval_spreads, p_value
from simjudge.method.entry_numbers import EntryNumbers, reduce_comparisons
from simjudge.method.gap import estimate_gap
from simjudge.method.method import Method
from simjudge.method.verdicts import SIGNIFICANCE, Verdict, verdict_by_margin

LEVELS = (0.0, 0.5, 1.0, 1.5, 2.0)
"""How much error is added to both sets, in variances of the labels' own; B gets one more."""
REPLICATES = 4
"""Random errors at each level."""
_SMALLEST_PX = 1.0
_MOST_PX, _MOST_MISSED = 100.0, 0.9
_PART = re.compile(r"\s*([0-9.]+)\s*(px|%\s*missed)\s*")


@dataclass(frozen=True)
class LabelError:
    """What is wrong with labels made by hand.

    Attributes:
        edge_px: standard deviation of each edge of a box, pixels.
        missed: share of the objects that have no label.
    """

    edge_px: float = 0.0
    missed: float = 0.0

    @classmethod
    def parse(cls, given: str) -> LabelError:
        """Read a text such as "1.5px,2%missed"."""
        values = {}
        for part in given.split(","):
            found = _PART.fullmatch(part)
            kind = "" if found is None else found[2].replace(" ", "")
            if found is None or kind in values or found[1].count(".") > 1 or found[1] == ".":
                raise UsageError(f"label error {given!r}: write 1.5px, 2%missed or 1.5px,2%missed")
            values[kind] = float(found[1])
        error = cls(values.get("px", 0.0), values.get("%missed", 0.0) / 100)
        if not (error.edge_px or error.missed) or error.edge_px > _MOST_PX or error.missed > _MOST_MISSED:
            raise UsageError(
                f"label error {given!r}: edges are off by more than 0 and at most {_MOST_PX:g} px, and at most "
                f"{100 * _MOST_MISSED:g} % of the objects are missed"
            )
        return error

    def __str__(self) -> str:
        """The text that `parse` reads."""
        parts = [f"{self.edge_px:g}px"] if self.edge_px else []
        return ",".join([*parts, f"{100 * self.missed:g}%missed"] if self.missed else parts)

    def apply(self, objects: Objects, level: float, random: np.random.Generator) -> tuple[Objects, IntArray]:
        """Labels with `level` variances of the error added, and the rows that still have one."""
        kept = np.flatnonzero(random.random(len(objects)) < (1 - self.missed) ** level)
        # As many numbers are drawn whatever is missed: one seed gives the same errors at all levels.
        off = random.standard_normal((len(objects), 4))[kept] * self.edge_px * math.sqrt(level)
        taken = objects.take(kept)
        corner = np.sort((taken.box + off).reshape(-1, 2, 2), axis=1)
        corner[:, 1] = np.maximum(corner[:, 1], corner[:, 0] + _SMALLEST_PX)
        return replace(taken, box=corner.reshape(-1, 4)), kept


@dataclass(frozen=True, repr=False)
class LevelEstimate(ShortRepr):
    """What is found at one level of added error, the mean over replicates."""

    level: float
    w1: float
    noise: float
    gap: float
    spread: float  # standard deviation of the gap over replicates
    compared: float  # share of A's contexts that were compared


@dataclass(frozen=True, repr=False)
class PricedLabels(ShortRepr):
    """The price of the labels' error.

    Attributes:
        as_labelled: the comparison with the labels as they are.
        levels: what is found with error added to both sides; the first is that of the same error in B's labels.
        price: by how much the error alone lowers the mean performance in B.
        invented: how many inventions a frame the missing labels alone make in B.
        gap, low, high: the gap that labels without error would show, and its 95 % interval.
        p_value: where both sides carry the same error.
    """

    error: LabelError
    as_labelled: EntryNumbers
    levels: tuple[LevelEstimate, ...]
    price: float
    invented: float
    gap: float | None
    low: float | None
    high: float | None
    p_value: float | None
    verdict: Verdict


def price_labels(
    a: JudgedSet,
    b: JudgedSet,
    error: LabelError,
    settings: CompareSettings,
    painted: PaintedGeometry,
    *,
    advance: Advance | None = None,
    record: Callable[[SetComparison], None] = lambda _: None,
) -> PricedLabels:
    """Price an error of A's labels; those of B have none.

    `record`: takes every comparison that is made: of the labels as they are, then of each level the replicates.
    """
    for one in (a, b):
        if one.contexts is not None or one.frames.objects.masks is not None or one.frames.objects.cuboid is not None:
            raise SimjudgeError(f"{one.frames.name}: errors of labels are known for boxes in pictures alone")
    method = replace(settings.method, paint_masks=painted.use_masks)
    units = comparison_units(a, b, settings, paired=settings.paired)
    plain, certainty = _judged((a, b), units, method, settings, record)
    levels, draws = [], []
    for done, level in enumerate(LEVELS):
        found = [_Replicate.draw((a, b), units, error, level, settings, method, n, record) for n in range(REPLICATES)]
        if advance is not None:
            advance(done + 1, len(LEVELS))
        if any(one.bootstrap is None for one in found):
            continue
        levels.append(_level(level, found))
        draws.append(found)
    price, invented = _price(b, error, settings)
    if not levels or certainty.p_value is None or levels[0].level:
        verdict = certainty.verdict
        return PricedLabels(error, plain, tuple(levels), price, invented, None, None, None, None, verdict)
    return _corrected(error, plain, certainty, levels, draws, (price, invented), settings)


@dataclass(frozen=True, repr=False)
class _Replicate(ShortRepr):
    bootstrap: Bootstrap | None
    gap: float
    compared: float

    @classmethod
    def draw(
        cls,
        sets: tuple[JudgedSet, JudgedSet],
        units: SampleUnits,
        error: LabelError,
        level: float,
        settings: CompareSettings,
        method: Method,
        number: int,
        record: Callable[[SetComparison], None],
    ) -> _Replicate:
        """Compare both sets with a random error of their labels; B's has one variance more."""
        out, rows = [], []
        for side, judged in enumerate(sets):
            random = np.random.default_rng([settings.seed, 4, number, side])
            objects, kept = error.apply(judged.frames.objects, level + side, random)
            frames = replace(judged.frames, objects=objects)
            out.append(replace(judged, frames=frames, assignment=object_performance(frames, method, settings.metric)))
            rows.append(kept)
        taken = units.of_objects(rows[0], rows[1])
        comparison = SetComparison((out[0], out[1]), taken, method, adjusts=settings.preset != "cpd")
        [by_class], drawn = comparison.compare(comparison.schedule(settings))
        record(comparison)
        boots = [found[0] for found in drawn.values() if found and found[0] is not None]
        together = Bootstrap.together(boots)
        contexts = sum(len(one.w1) for one in by_class.values())
        share = sum(int(one.compared.sum()) for one in by_class.values()) / max(1, contexts)
        return cls(together, 0.0 if together is None else _gap(together), share)


def _judged(
    sets: tuple[JudgedSet, JudgedSet],
    units: SampleUnits,
    method: Method,
    settings: CompareSettings,
    record: Callable[[SetComparison], None],
) -> tuple[EntryNumbers, Certainty]:
    comparison = SetComparison(sets, units, method, adjusts=settings.preset != "cpd")
    [by_class], drawn = comparison.compare(comparison.schedule(settings))
    record(comparison)
    _, overall = comparison.certainty(by_class, drawn, 0, settings.margin)
    return reduce_comparisons(list(by_class.values())).judged(overall), overall


def _gap(boot: Bootstrap) -> float:
    return estimate_gap(boot.w1, boot.noise, boot.square, boot.weight, boot.largest).mean


def _level(level: float, found: list[_Replicate]) -> LevelEstimate:
    boots = [one.bootstrap for one in found if one.bootstrap is not None]
    gaps = [one.gap for one in found]
    return LevelEstimate(
        level,
        float(np.mean([boot.mean_w1 for boot in boots])),
        float(np.mean([boot.mean_noise for boot in boots])),
        float(np.mean(gaps)),
        float(np.std(gaps, ddof=1)),
        float(np.mean([one.compared for one in found])),
    )


def extrapolations(levels: FloatArray) -> tuple[FloatArray, FloatArray]:
    """By what to multiply the estimates at these levels, so that their sum is the value without error; two shapes.

    An error much smaller than the detector's own lowers the IoU with its variance, a much larger one with its standard
    deviation: a parabola over the variance is too flat for the latter, a line over the deviation too steep for the
    former.
    """
    variance = np.asarray(levels) + 1.0
    parabola = np.linalg.pinv(np.vander(variance, min(3, len(levels)), increasing=True))[0]
    line = np.linalg.pinv(np.vander(np.sqrt(variance), min(2, len(levels)), increasing=True))[0]
    return parabola, line


def _corrected(
    error: LabelError,
    plain: EntryNumbers,
    certainty: Certainty,
    levels: list[LevelEstimate],
    draws: list[list[_Replicate]],
    price: tuple[float, float],
    settings: CompareSettings,
) -> PricedLabels:
    shapes = extrapolations(np.array([one.level for one in levels]))
    weights = (shapes[0] + shapes[1]) / 2
    boots = [[one.bootstrap for one in found if one.bootstrap is not None] for found in draws]
    spreads = interval_spreads(boots[0][0], min(certainty.units_a, certainty.units_b))
    drawn = weights @ np.array([np.mean([gap_draws(boot) for boot in found], 0) for found in boots])
    replicates = float(np.sqrt((weights**2) @ [one.spread**2 / REPLICATES for one in levels]))
    spread = math.hypot(float(drawn.std()), replicates)
    gap = max(0.0, float(weights @ [one.gap for one in levels]))
    doubted = np.array([[np.mean([doubted_gap(boot, sign) for boot in found]) for found in boots] for sign in (1, -1)])
    ends = [gap, *(max(0.0, float(shape @ held)) for shape in shapes for held in doubted)]
    p = p_value(float(np.mean([boot.mean_w1 for boot in boots[0]])), np.mean([boot.chance for boot in boots[0]], 0))
    low = 0.0 if p > SIGNIFICANCE else max(0.0, min(ends) - spreads * spread)
    high = min(1.0, max(ends) + spreads * spread)
    verdict = certainty.verdict
    if certainty.p_adjusted is not None:
        verdict = verdict_by_margin(p, low, high, settings.margin)
    return PricedLabels(error, plain, tuple(levels), *price, gap, low, high, p, verdict)


def _price(b: JudgedSet, error: LabelError, settings: CompareSettings) -> tuple[float, float]:
    """What the error alone does in B: how far mean performance falls, and how many inventions a frame it makes."""
    fallen, invented = [], []
    before = sum(b.assignment.false_positives.values())
    for number in range(REPLICATES):
        random = np.random.default_rng([settings.seed, 4, number, 1])
        objects, kept = error.apply(b.frames.objects, 1.0, random)
        found = object_performance(replace(b.frames, objects=objects), settings.method, settings.metric)
        fallen.append(float((b.assignment.performance[kept] - found.performance).mean()) if len(kept) else 0.0)
        invented.append((sum(found.false_positives.values()) - before) / len(b.frames))
    return float(np.mean(fallen)), float(np.mean(invented))
