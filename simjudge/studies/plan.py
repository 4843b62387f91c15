"""How many frames show a gap: the power of a comparison, simulated from sets at hand."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simjudge.context.compiled import forgo_blas
from simjudge.context.deals import Deals
from simjudge.context.power import simulate_power
from simjudge.context.power_curve import GAP_KINDS, SHOWN, PowerCurve
from simjudge.context.sample_size import SampleSize
from simjudge.context.verdicts import FEWEST_UNITS, SIGNIFICANCE
from simjudge.core.arrays import IntArray
from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.progress import Log, ProgressBar, no_log, no_progress
from simjudge.core.setting_keywords import takes_setting_keywords
from simjudge.studies.class_numbering import match_classes
from simjudge.studies.compare_settings import PlanSettings
from simjudge.studies.comparison import Source, paired_frames, read_inputs
from simjudge.studies.judged_set import JudgedSet, judge_set
from simjudge.studies.painted_masks import painted_geometry
from simjudge.studies.sampling_units import SamplingUnits, frame_performance, match_units, sampling_units
from simjudge.studies.set_comparison import SetComparison

GRID = (0.3, 0.45, 0.65, 0.8, 1.0, 1.25, 1.6, 2.2, 3.2, 5.0)
"""Simulated gaps, as multiples of the one that is asked for; those that are a share of performance, at most."""
MOST_UNITS = 500
"""Sampling units of a set that are simulated; of larger sets, as many are chosen at random."""
MOST_TIMES = 1000.0
"""No more frames are forecast than so many times those at hand."""


@dataclass(frozen=True)
class PlanEntry:
    """What one class, or all classes together, need.

    Attributes:
        label: the class, or "all".
        units: sampling units of A and of B that hold it now.
        power: by kind of gap, the share of cases in which the frames at hand show it; None where performance cannot
            fall so far.
        smallest_gap: by kind, the gap that the frames at hand show in 80 of 100 cases; None where it is none of the
            simulated ones.
        frames: by kind, frames of A and of B that show the gap in 80 of 100 cases; None where no number is known.
    """

    label: str
    units: tuple[int, int]
    power: dict[str, float | None]
    smallest_gap: dict[str, float | None]
    frames: dict[str, tuple[int, int] | None]

    @property
    def needed(self) -> tuple[int, int] | None:
        """Frames of A and of B that show the gap, of whichever kind; None where no number is known for one of them."""
        known = [counts for counts in self.frames.values() if counts is not None]
        return (max(a for a, _ in known), max(b for _, b in known)) if len(known) == len(GAP_KINDS) else None


@dataclass(frozen=True)
class Plan:
    """How many frames show a gap.

    Attributes:
        gap: that is to be shown.
        paired: frames of A and B are pairs.
        alone: A alone was at hand; B is a set that does not exist yet, of as many frames.
        names: of the sets.
        frames, units: of A and of B, now.
        entries: class by class, all classes together last.
        losses: what was left out.
    """

    gap: float
    paired: bool
    names: tuple[str, str]
    frames: tuple[int, int]
    units: tuple[int, int]
    entries: tuple[PlanEntry, ...]
    losses: Losses
    alone: bool = False

    def content(self) -> dict[str, Any]:
        """The plan as JSON has it (docs/results.md)."""
        return {
            "gap": self.gap,
            "power": SHOWN,
            "paired": self.paired,
            "alone": self.alone,
            "sets": {
                which: {"name": name, "frames": frames, "units": units}
                for which, name, frames, units in zip("ab", self.names, self.frames, self.units, strict=True)
            },
            "classes": [
                {
                    "class": entry.label,
                    "units": list(entry.units),
                    "frames_needed": None if entry.needed is None else list(entry.needed),
                    "by_kind": {
                        kind: {
                            "power": entry.power[kind],
                            "smallest_gap": entry.smallest_gap[kind],
                            "frames": None if (counts := entry.frames[kind]) is None else list(counts),
                        }
                        for kind in GAP_KINDS
                    },
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
    Whether they differ does not matter: their frames are dealt to A and B anew.

    Without B, halves of A are dealt, and what they show is carried on to A and a B of as many frames. This assumes that
    B will show like surroundings as often, and that the detector will vary in them as it does in A.

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
    first, second = sets
    units = _units(first, second, settings, log)
    if b is None:
        (comparison, share), held = _halves(first, units[0], settings), "half"
    else:
        (comparison, share), held = _comparison(sets, units, settings), "some"
    forgo_blas()
    ids = [k for k in comparison.class_ids if all(np.any(j.frames.objects.class_id == k) for j in comparison.sets)]
    counts = (comparison.units[0].count, comparison.units[1].count)
    if held == "some" and max(share) < 1:
        log(f"note: simulated from {counts[0]:,} and {counts[1]:,} of {units[0].count:,} and {units[1].count:,} units")
    deals = Deals.draw(counts, _deal_count(settings.deals, len(ids)), settings.seed, paired=settings.paired)
    gaps = [multiple * settings.gap for multiple in GRID if multiple <= 1 or multiple * settings.gap <= 1]
    samples = [comparison.samples(k) for k in ids]
    with progress("simulating comparisons") as advance:
        curves, together = simulate_power(
            samples, comparison.method, deals, gaps, seed=settings.seed, advance=advance
        )  # fmt: skip
    frames = (len(first.frames), len(second.frames))
    names = first.frames.class_names
    entries = [
        _entry(names.get(k, f"class {k}"), curve, comparison.size([k]), settings.gap, share, frames)
        for k, curve in zip(ids, curves, strict=True)
    ]
    entries.append(_entry("all", together, comparison.size(ids), settings.gap, share, frames))
    named = (first.frames.name, second.frames.name)
    counts = (units[0].count, units[1].count)
    return Plan(settings.gap, settings.paired, named, frames, counts, tuple(entries), losses, alone=b is None)


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


def _halves(
    judged: JudgedSet, units: SamplingUnits, settings: PlanSettings
) -> tuple[SetComparison, tuple[float, float]]:
    """Two halves of one set, as A and B: no unit stands on both sides, where it would be its own like."""
    if units.count < 2 * FEWEST_UNITS:
        raise SimjudgeError(
            f"{judged.frames.name}: {units.count} independent units are too few to be halved; at least "
            f"{2 * FEWEST_UNITS} are needed"
        )
    painted = painted_geometry((judged.frames, judged.frames), settings.masks)
    method = replace(settings.method, paint_masks=painted.use_masks)
    order = np.random.default_rng([settings.seed, 4]).permutation(units.count)
    size = min(units.count // 2, MOST_UNITS)
    (a, of_a), (b, of_b) = (
        _with_units(judged, units, np.sort(part), settings) for part in (order[:size], order[size : 2 * size])
    )
    share = size / units.count
    return SetComparison((a, b), (of_a, of_b), method), (share, share)


def _units(a: JudgedSet, b: JudgedSet, settings: PlanSettings, log: Log) -> tuple[SamplingUnits, SamplingUnits]:
    first, second = (sampling_units(each.frames, settings.block, frame_performance(each)) for each in (a, b))
    if settings.block is None and not settings.paired:
        first, second = match_units(first, second)
    for judged, drawn in zip((a,) if a is b else (a, b), (first, second), strict=a is not b):
        if line := drawn.describe(judged.frames.name):
            log(f"note: {line}")
    if settings.paired:
        longer = first if first.count <= second.count else second
        return longer, longer
    return first, second


def _comparison(
    sets: tuple[JudgedSet, JudgedSet], units: tuple[SamplingUnits, SamplingUnits], settings: PlanSettings
) -> tuple[SetComparison, tuple[float, float]]:
    """The sets with at most so many units as are simulated, and which share of their units these are."""
    painted = painted_geometry((sets[0].frames, sets[1].frames), settings.masks)
    method = replace(settings.method, paint_masks=painted.use_masks)
    taken = []
    for judged, drawn in zip(sets, units, strict=True):
        # Pairs stay pairs: the same units of both sets are chosen.
        order = np.random.default_rng([settings.seed, 4]).permutation(drawn.count)
        chosen = np.sort(order[:MOST_UNITS])
        taken.append(_with_units(judged, drawn, chosen, settings))
    pairs = ((taken[0][0], taken[1][0]), (taken[0][1], taken[1][1]))
    share = tuple(few.count / all_.count for few, all_ in zip(pairs[1], units, strict=True))
    return SetComparison(pairs[0], pairs[1], method, paired=settings.paired), (share[0], share[1])


def _with_units(
    judged: JudgedSet, units: SamplingUnits, chosen: IntArray, settings: PlanSettings
) -> tuple[JudgedSet, SamplingUnits]:
    """A set with some of its units alone."""
    if len(chosen) == units.count:
        return judged, units
    kept = np.flatnonzero(np.isin(units.of_frame, chosen))
    frames: FrameSet = judged.frames.take(kept)
    fewer = judge_set(frames, settings.method, settings.metric, Losses(), precision=False)
    return fewer, SamplingUnits(np.searchsorted(chosen, units.of_frame[kept]), len(chosen))


def _deal_count(asked: int, classes: int) -> int:
    """So many that the smallest p of one class among all can be significant, with a few to spare."""
    return max(asked, math.ceil(4 * classes / SIGNIFICANCE))


def _entry(
    label: str, curve: PowerCurve, size: SampleSize, gap: float, share: tuple[float, float], frames: tuple[int, int]
) -> PlanEntry:
    """A row: what is simulated is of a share of the units; a factor of it is a factor of as many frames."""
    least = FEWEST_UNITS / max(1, min(size.units_a, size.units_b))
    needed: dict[str, tuple[int, int] | None] = {}
    for kind in GAP_KINDS:
        factor = curve.times_units(kind, gap)
        if factor is None or factor > MOST_TIMES:
            needed[kind] = None
            continue
        of_sides = (max(factor, least) * one * count for one, count in zip(share, frames, strict=True))
        needed[kind] = (math.ceil(next(of_sides)), math.ceil(next(of_sides)))
    # The noise of W1 is that of both sides: 1 / n_a + 1 / n_b.
    times = 2 / sum(share)
    now = (round(size.units_a / share[0]), round(size.units_b / share[1]))
    return PlanEntry(
        label, now,
        {kind: curve.power(kind, gap, times) for kind in GAP_KINDS},
        {kind: curve.smallest_gap(kind, times=times) for kind in GAP_KINDS},
        needed,
    )  # fmt: skip
