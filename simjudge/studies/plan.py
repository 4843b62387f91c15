"""How many frames show a gap: the power of a comparison, forecast from sets at hand."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np

from simjudge.context.bootstrap import Bootstrap
from simjudge.context.certainty import POWER_QUANTILE
from simjudge.context.compiled import forgo_blas
from simjudge.context.gap import expected_w1, gap_behind
from simjudge.context.sample_size import SampleSize
from simjudge.context.verdicts import FEWEST_UNITS, SIGNIFICANCE
from simjudge.core.arrays import FloatArray
from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.progress import Log, ProgressBar, no_log, no_progress
from simjudge.core.setting_keywords import takes_setting_keywords
from simjudge.studies.class_numbering import match_classes
from simjudge.studies.compare_settings import PlanSettings
from simjudge.studies.comparison import Source, paired_frames, read_inputs
from simjudge.studies.judged_set import JudgedSet, judge_set
from simjudge.studies.painted_masks import painted_geometry
from simjudge.studies.sampling_units import SampleUnits, sample_units
from simjudge.studies.set_comparison import SetComparison

SHOWN = 0.8
"""The power that is asked for."""
MOST_TIMES = 1000.0
"""No more frames are forecast than so many times those at hand."""
_STEPS = 50


@dataclass(frozen=True)
class PlanEntry:
    """What one class, or all classes together, need.

    Attributes:
        label: the class, or "all".
        units: sampling units of A and of B that hold it now.
        power: the share of cases in which the frames at hand show the gap; None where performance cannot fall so far.
        smallest_gap: the gap that the frames at hand show in 80 of 100 cases; None where nothing was compared.
        needed: frames of A and of B that show the gap in 80 of 100 cases; None where no number is known.
    """

    label: str
    units: tuple[int, int]
    power: float | None
    smallest_gap: float | None
    needed: tuple[int, int] | None


@dataclass(frozen=True)
class Plan:
    """How many frames show a gap.

    Attributes:
        gap: that is to be shown.
        paired: frames of A and B are pairs.
        alone: A alone was at hand; B is a set that does not exist yet, of as many frames.
        names: of the sets.
        frames, units: of A and of B, now.
        unit_kind: what the units of A are: things, blocks, frames, photographs or named.
        entries: class by class, all classes together last.
        losses: what was left out.
    """

    gap: float
    paired: bool
    names: tuple[str, str]
    frames: tuple[int, int]
    units: tuple[int, int]
    unit_kind: str
    entries: tuple[PlanEntry, ...]
    losses: Losses
    alone: bool = False

    def content(self) -> dict[str, Any]:
        """The plan as JSON has it (docs/results.md)."""
        return {
            "gap": self.gap,
            "shown": SHOWN,
            "paired": self.paired,
            "alone": self.alone,
            "unit_kind": self.unit_kind,
            "sets": {
                which: {"name": name, "frames": frames, "units": units}
                for which, name, frames, units in zip("ab", self.names, self.frames, self.units, strict=True)
            },
            "classes": [
                {
                    "class": entry.label,
                    "units": list(entry.units),
                    "power": entry.power,
                    "smallest_gap": entry.smallest_gap,
                    "frames_needed": None if entry.needed is None else list(entry.needed),
                }
                for entry in self.entries
            ],
        }


@takes_setting_keywords
def plan(
    a: Source,
    b: Source | None = None,
    *,
    settings: PlanSettings,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> Plan:
    """Plan a comparison: how many frames of both sets show a gap in 80 of 100 cases?

    The sets at hand, which may be small or from a pilot, say how performance varies and how alike their contexts are.
    Whether they differ does not matter: the performance in B is shifted until its mean is the gap below that in A.

    Without B, A stands for a B of as many frames. This assumes that B will show like surroundings as often, and that
    the detector will vary in them as it does in A.

    Args:
        a: the set to be predicted, usually real: a FrameSet, or the path of anything that `read` reads.
        b: the set that predicts it, usually simulated; None where there is none yet.
        settings: all settings at once; keywords change single ones.
        log: receives lines that a person should read; `print` does.
        progress: opens a progress bar.

    Returns:
        Frames for each class and for all together.

    Raises:
        UsageError: a setting makes no sense.
        SimjudgeError: a set cannot be read or holds no predictions, or the sets have no class in common.
    """
    losses = Losses()
    sets = _alone(a, settings, losses, log, progress) if b is None else _both(a, b, settings, losses, log, progress)
    units = sample_units(*sets, block=settings.block, unit=settings.unit, paired=settings.paired)
    for judged, side in zip(sets[: 1 if b is None else 2], units.sides, strict=False):
        if line := side.describe(judged.frames.name):
            log(f"note: {line}")
    if b is None:
        units = _independent(units)
    painted = painted_geometry((sets[0].frames, sets[1].frames), settings.masks)
    method = replace(settings.method, paint_masks=painted.use_masks)
    shifted = (sets[0], _with_gap(sets, settings.gap))
    comparison = SetComparison(shifted, units, method, adjusts=settings.preset != "cpd")
    forgo_blas()
    with progress("comparing contexts") as advance:
        _, drawn = comparison.compare(comparison.schedule(settings), advance=advance)
    frames = (len(sets[0].frames), len(sets[1].frames))
    names = sets[0].frames.class_names
    classes = {k: of_class[0] for k, of_class in drawn.items() if of_class and of_class[0] is not None}
    if not classes:
        raise SimjudgeError(f"no context of {sets[0].frames.name} is like one of {sets[1].frames.name}: lower --theta")
    able = {k: _mean(sets[0], k) > settings.gap for k in classes}
    entries = [
        _entry(names.get(k, f"class {k}"), boot, comparison.size([k]), settings, frames, len(classes), able=able[k])
        for k, boot in classes.items()
    ]
    together, size = Bootstrap.together(list(classes.values())), comparison.size(list(classes))
    entries.append(_entry("all", together, size, settings, frames, 1, able=all(able.values())))
    counts = (units.sides[0].count, units.sides[1].count)
    named = (sets[0].frames.name, sets[1].frames.name)
    return Plan(
        settings.gap, settings.paired, named, frames, counts, units.sides[0].kind, tuple(entries), losses,
        alone=b is None,
    )  # fmt: skip


def _both(
    a: Source, b: Source, settings: PlanSettings, losses: Losses, log: Log, progress: ProgressBar
) -> tuple[JudgedSet, JudgedSet]:
    """Both sets, read and judged."""
    sides = read_inputs(a, b, settings, log=log, progress=progress)
    sets = (sides[0].frames, sides[1].frames)
    for each in sets:
        losses.extend(each.losses)
    if settings.paired:
        sets = paired_frames(*sets, settings.pair_tolerance, losses)
    first = judge_set(sets[0], settings.method, settings.metric, losses, precision=False)
    second = judge_set(match_classes(first.frames, sets[1]), settings.method, settings.metric, losses, precision=False)
    return first, second


def _alone(
    a: Source, settings: PlanSettings, losses: Losses, log: Log, progress: ProgressBar
) -> tuple[JudgedSet, JudgedSet]:
    """A, in the place of B too."""
    if settings.paired:
        raise UsageError("--paired needs both sets: how alike the detector does in a twin is not known from A alone")
    if settings.b_predictions is not None or settings.b_image_topic is not None:
        raise UsageError("--b-predictions and --b-image-topic need B")
    both = replace(settings, b_predictions=settings.a_predictions, b_image_topic=settings.a_image_topic)
    side = read_inputs(a, a, both, log=log, progress=progress)[0]
    losses.extend(side.frames.losses)
    judged = judge_set(side.frames, settings.method, settings.metric, losses, precision=False)
    return judged, judged


def _independent(units: SampleUnits) -> SampleUnits:
    """The units of a set beside itself, as if the other one were a set of its own."""
    own = units.unit[0]
    block = None if units.block is None else units.block[0]
    shifted = None if block is None else np.where(block < 0, block, block + units.block_count)
    return replace(
        units, unit=(own, own + units.count), count=2 * units.count, sides=(units.sides[0], units.sides[0]),
        block=None if block is None or shifted is None else (block, shifted), block_count=2 * units.block_count,
    )  # fmt: skip


def _with_gap(sets: tuple[JudgedSet, JudgedSet], gap: float) -> JudgedSet:
    """B with the performance of what it finds shifted, class by class, until its mean is so far below A's."""
    a, b = sets
    performance = b.assignment.performance.copy()
    for class_id in np.unique(b.frames.objects.class_id).tolist():
        rows = b.rows(class_id)
        found = rows[performance[rows] > 0]
        if len(found) and len(a.rows(class_id)):
            shift = (_mean(a, class_id) - gap - float(performance[rows].mean())) * len(rows) / len(found)
            performance[found] = np.clip(performance[found] + shift, 1e-9, 1.0)
    return replace(b, assignment=replace(b.assignment, performance=performance))


def _mean(judged: JudgedSet, class_id: int) -> float:
    rows = judged.rows(class_id)
    return float(judged.assignment.performance[rows].mean()) if len(rows) else 0.0


def _entry(
    label: str, boot: Bootstrap | None, size: SampleSize, settings: PlanSettings, frames: tuple[int, int],
    classes: int, *, able: bool,
) -> PlanEntry:  # fmt: skip
    """A row: W1 and its noise as they are drawn, carried on to other numbers of units."""
    units = (size.units_a, size.units_b)
    if boot is None:
        return PlanEntry(label, units, None, None, None)
    critical = float(np.quantile(boot.chance, 1 - SIGNIFICANCE / classes))
    forecast = _Forecast(boot.noise, boot.weight, critical, float(boot.around.std()))
    smallest = gap_behind(critical + POWER_QUANTILE * forecast.spread, boot.noise, boot.weight)
    if not able:
        return PlanEntry(label, units, None, smallest, None)
    least = FEWEST_UNITS / max(1, min(units))
    factor = forecast.times_units(settings.gap)
    needed = None if factor is None else tuple(math.ceil(max(factor, least) * count) for count in frames)
    power = forecast.power(settings.gap, 1.0)
    return PlanEntry(label, units, power, smallest, None if needed is None else (needed[0], needed[1]))


@dataclass(frozen=True)
class _Forecast:
    """W1 by chance and with a gap: noise, its critical value and the spread of W1 fall with the root of the units."""

    noise: FloatArray
    weight: FloatArray
    critical: float
    spread: float

    def power(self, gap: float, times: float) -> float:
        """The share of cases in which so many times the units show a gap."""
        root = math.sqrt(times)
        expected = float(self.weight @ expected_w1(gap, self.noise / root))
        if not self.spread:
            return float(expected > self.critical / root)
        return 1 - NormalDist(expected, self.spread / root).cdf(self.critical / root)

    def times_units(self, gap: float) -> float | None:
        """How many times the units show it in 80 of 100 cases; None where it is more than MOST_TIMES."""
        low, high = 1 / MOST_TIMES, MOST_TIMES
        if self.power(gap, high) < SHOWN:
            return None
        for _ in range(_STEPS):
            middle = math.sqrt(low * high)
            low, high = (low, middle) if self.power(gap, middle) >= SHOWN else (middle, high)
        return high
