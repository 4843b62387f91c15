"""How many frames or trials show a gap: the power of a comparison, forecast from what is at hand, as a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from simjudge.core.arrays import FloatArray, SummaryTable
from simjudge.core.errors import Log, Losses, ProgressBar, SimjudgeError, UsageError, no_log, no_progress
from simjudge.core.settings import takes_setting_keywords
from simjudge.judging.class_numbering import match_classes
from simjudge.judging.compare_settings import PlanSettings
from simjudge.judging.comparison import Source, paired_frames, read_inputs
from simjudge.judging.judged_set import JudgedSet, judge_set
from simjudge.judging.painted_masks import choose_patch, log_patch, painted_geometry
from simjudge.judging.set_comparison import SetComparison
from simjudge.judging.units.sampling_units import SampleUnits, sample_units
from simjudge.method.bootstrap import Bootstrap
from simjudge.method.certainty import SampleSize
from simjudge.method.compiled import choose_loops
from simjudge.method.gap import expected_w1, gap_behind
from simjudge.method.method import Method
from simjudge.method.small_batches import shortfall
from simjudge.method.verdicts import FEWEST_UNITS, MARGIN, SIGNIFICANCE
from simjudge.page.chart_data import DASH, format_number, format_percent
from simjudge.questions.policies.cells import find_cells
from simjudge.questions.policies.few_real import counted_trials, expected_regret
from simjudge.questions.policies.ranking import ranked_cells
from simjudge.questions.policies.trials import PolicyTrials

SHOWN = 0.8
"""The power that is asked for."""
MOST_TIMES = 1000.0
"""No more frames are forecast than so many times those at hand."""
_STEPS = 50
_MOST_WHERE = 2.0
"""A gap can be where the noise is largest, and be hidden more than one that is spread as the noise is."""


@dataclass(frozen=True)
class PlanEntry:
    """What one class, or all classes together, need."""

    label: str
    units: tuple[int, int]  # sampling units of A and of B that hold it now
    # the share of cases in which the frames at hand show the gap; None where performance cannot fall so far
    power: float | None
    # the gap that the frames at hand show in 80 of 100 cases, as `compare` says; None where they are too few for any
    smallest_gap: float | None
    # frames of A and of B that show the gap in 80 of 100 cases; None where no number is known
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

    def content(self) -> dict[str, object]:
        """The plan as JSON has it (docs/reference/results.md)."""
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
    settings = choose_patch(settings, [judged.frames for judged in sets])
    log_patch(settings, log)
    units = sample_units(*sets, block=settings.block, unit=settings.unit, paired=settings.paired)
    for judged, side in zip(sets[: 1 if b is None else 2], units.sides, strict=False):
        if line := side.describe(judged.frames.name):
            log(f"note: {line}")
    if b is None:
        units = _independent(units)
    painted = painted_geometry((sets[0].frames, sets[1].frames), settings.masks)
    method = replace(settings.method, paint_masks=painted.use_masks)
    choose_loops()
    shown, shown_by_all = _shown_gaps(sets, units, method, settings, progress, alone=b is None)
    with_gap, comparison = _drawn(sets, units, method, settings, settings.gap, progress)
    without, _ = _drawn(sets, units, method, settings, 0.0, progress)
    if b is None:
        with_gap, without = ({k: _of_one_set(boot) for k, boot in drawn.items()} for drawn in (with_gap, without))
    frames = (len(sets[0].frames), len(sets[1].frames))
    names = sets[0].frames.class_names
    classes = {k: (boot, without[k]) for k, boot in with_gap.items() if k in without}
    sides = zip(*classes.values(), strict=True)
    together = [boot for parts in sides if (boot := Bootstrap.together(parts)) is not None]
    if not together:
        raise SimjudgeError(f"no context of {sets[0].frames.name} is like one of {sets[1].frames.name}: lower --theta")
    able = {k: _mean(sets[0], k) > settings.gap for k in classes}
    entries = [
        _entry(
            names.get(k, f"class {k}"),
            _Forecast.of_draws(*boots, settings.gap, len(classes)),
            comparison.size([k]),
            settings.gap,
            shown[k],
            frames,
            able=able[k],
        )
        for k, boots in classes.items()
    ]
    forecast = _Forecast.of_draws(together[0], together[1], settings.gap, 1)
    size = comparison.size(list(classes))
    entries.append(_entry("all", forecast, size, settings.gap, shown_by_all, frames, able=all(able.values())))
    counts = (units.sides[0].count, units.sides[1].count)
    named = (sets[0].frames.name, sets[1].frames.name)
    return Plan(
        settings.gap,
        settings.paired,
        named,
        frames,
        counts,
        units.sides[0].kind,
        tuple(entries),
        losses,
        alone=b is None,
    )


def _both(
    a: Source, b: Source, settings: PlanSettings, losses: Losses, log: Log, progress: ProgressBar
) -> tuple[JudgedSet, JudgedSet]:
    """Both sets, read and judged."""
    sides = read_inputs(a, b, settings, log=log, progress=progress)
    sets = (sides[0].frames, sides[1].frames)
    for frame_set in sets:
        losses.extend(frame_set.losses)
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
    both = replace(
        settings, b_predictions=settings.a_predictions, b_image_topic=settings.a_image_topic, b_rename=settings.a_rename
    )
    side = read_inputs(a, a, both, log=log, progress=progress)[0]
    losses.extend(side.frames.losses)
    judged = judge_set(side.frames, settings.method, settings.metric, losses, precision=False)
    return judged, judged


def _independent(units: SampleUnits) -> SampleUnits:
    """The units of a set beside itself, as if the other one were a set of its own."""
    own = units.unit[0]
    block = None if units.block is None else units.block[0]
    shifted = None if block is None else np.where(block < 0, block, block + units.block_count)
    several = None if units.recording is None else units.recording[0]
    return replace(
        units,
        unit=(own, own + units.count),
        count=2 * units.count,
        sides=(units.sides[0], units.sides[0]),
        block=None if block is None or shifted is None else (block, shifted),
        block_count=2 * units.block_count,
        recording=None if several is None else (several, several + int(several.max(initial=-1)) + 1),
    )


def _drawn(
    sets: tuple[JudgedSet, JudgedSet],
    units: SampleUnits,
    method: Method,
    settings: PlanSettings,
    gap: float,
    progress: ProgressBar,
) -> tuple[dict[int, Bootstrap], SetComparison]:
    """The draws of each class that is compared, with B shifted to this gap."""
    comparison = SetComparison((sets[0], _with_gap(sets, gap)), units, method, adjusts=settings.preset != "cpd")
    with progress("comparing contexts") as advance:
        _, drawn = comparison.compare(comparison.schedule(settings), advance=advance)
    return {k: boot for k, of_class in drawn.items() if of_class and (boot := of_class[0]) is not None}, comparison


def _shown_gaps(
    sets: tuple[JudgedSet, JudgedSet],
    units: SampleUnits,
    method: Method,
    settings: PlanSettings,
    progress: ProgressBar,
    *,
    alone: bool,
) -> tuple[dict[int, float | None], float | None]:
    """The gap that `compare` says these sets would have shown: by class, and over all."""
    comparison = SetComparison(sets, units, method, adjusts=settings.preset != "cpd")
    with progress("comparing contexts") as advance:
        [found], drawn = comparison.compare(comparison.schedule(settings), advance=advance)
    if alone:
        drawn = {k: [boot and _of_one_set(boot) for boot in of_class] for k, of_class in drawn.items()}
    by_class, overall = comparison.certainty(found, drawn, 0, MARGIN)
    return {k: one.detectable_gap for k, one in by_class.items()}, overall.detectable_gap


def _of_one_set(boot: Bootstrap) -> Bootstrap:
    """The draws of a set beside itself: they lack as much as draws do that are taken from half as many units."""
    chance, noise, square = np.transpose(
        [np.divide(shortfall(k / 4, k / 4), shortfall(k / 2, k / 2)) for k in boot.units]
    )
    more_chance, more = float(boot.weight @ chance), float(boot.weight @ noise)
    return replace(
        boot,
        noise=boot.noise * noise,
        square=boot.square * square,
        chance=boot.chance * more_chance,
        around=boot.around.mean() + (boot.around - boot.around.mean()) * more,
    )


def _with_gap(sets: tuple[JudgedSet, JudgedSet], gap: float) -> JudgedSet:
    """B with the performance of what it finds shifted, class by class, until a mean is so far below A's.

    Only what is found is compared: that one of the sets at hand misses more by chance must not move the rest.
    """
    a, b = sets
    values = a.assignment.performance, b.assignment.performance.copy()
    for class_id in np.unique(b.frames.objects.class_id).tolist():
        rows = a.rows(class_id), b.rows(class_id)
        found = [of_set[column[of_set] > 0] for of_set, column in zip(rows, values, strict=True)]
        if len(found[0]) and len(found[1]):
            share = (len(found[0]) + len(found[1])) / (len(rows[0]) + len(rows[1]))
            shift = float(values[0][found[0]].mean() - values[1][found[1]].mean()) - gap / share
            values[1][found[1]] = np.clip(values[1][found[1]] + shift, 1e-9, 1.0)
    return replace(b, assignment=replace(b.assignment, performance=values[1]))


def _mean(judged: JudgedSet, class_id: int) -> float:
    rows = judged.rows(class_id)
    return float(judged.assignment.performance[rows].mean()) if len(rows) else 0.0


def _entry(
    label: str,
    forecast: _Forecast,
    size: SampleSize,
    gap: float,
    smallest: float | None,
    frames: tuple[int, int],
    *,
    able: bool,
) -> PlanEntry:
    """A row: W1 and its noise as they are drawn, carried on to other numbers of units."""
    units = (size.units_a, size.units_b)
    if not able:
        return PlanEntry(label, units, None, smallest, None)
    least = FEWEST_UNITS / max(1, min(units))
    factor = forecast.times_units(gap)
    needed = None if factor is None else tuple(math.ceil(max(factor, least) * count) for count in frames)
    power = forecast.power(gap, 1.0)
    return PlanEntry(label, units, power, smallest, None if needed is None else (needed[0], needed[1]))


@dataclass(frozen=True)
class _Forecast:
    """W1 by chance and with a gap: noise, its critical value and the spread of W1 fall with the root of the units."""

    noise: FloatArray  # noise, weight: of each row of contexts, as the draws have them
    weight: FloatArray
    # the part of the noise that is at values at which the gap is, too. What is missed makes noise between 0 and the
    # other values; a gap of what is found stands beside it, and is not hidden in it.
    where: float
    critical: float  # W1 above it is no chance
    spread: float

    @classmethod
    def of_draws(cls, boot: Bootstrap, without: Bootstrap, gap: float, classes: int) -> _Forecast:
        """From the draws with the gap and without it, which hold what noise the sets at hand bring along too."""
        fresh = float(without.around.mean()) / max(without.mean_noise, 1e-300)
        more = float(boot.around.mean() - without.around.mean())
        low, high = 0.0, _MOST_WHERE
        for _ in range(_STEPS):
            where = (low + high) / 2
            noise = fresh * where * without.noise
            if float(without.weight @ (expected_w1(gap, noise) - noise)) > more:
                low = where
            else:
                high = where
        critical = float(np.quantile(boot.chance, 1 - SIGNIFICANCE / classes))
        return cls(without.noise, without.weight, high, critical, float(boot.around.std()))

    def expected(self, gap: float, times: float) -> float:
        """Mean W1 of so many times the units."""
        noise = self.noise / math.sqrt(times)
        return float(self.weight @ (noise + expected_w1(gap, self.where * noise) - self.where * noise))

    def power(self, gap: float, times: float) -> float:
        """The share of cases in which so many times the units show a gap."""
        root = math.sqrt(times)
        above = self.expected(gap, times) - self.critical / root
        return NormalDist().cdf(above * root / self.spread) if self.spread else float(above > 0)

    def times_units(self, gap: float) -> float | None:
        """How many times the units show it in 80 of 100 cases; None where it is more than MOST_TIMES."""
        low, high = 1 / MOST_TIMES, MOST_TIMES
        if self.power(gap, high) < SHOWN:
            return None
        for _ in range(_STEPS):
            middle = math.sqrt(low * high)
            low, high = (low, middle) if self.power(gap, middle) >= SHOWN else (middle, high)
        return high


_UNKNOWN = "-"


def plan_table(plan: Plan) -> SummaryTable:
    """One line a class: what the frames at hand show, and how many show the gap."""
    columns = ("class", "units A / B", f"power for {plan.gap:g}", "smallest gap", f"frames A / B for {plan.gap:g}")
    return SummaryTable(columns, [_row(entry) for entry in plan.entries])


def plan_sentences(plan: Plan) -> list[str]:
    """Write what the columns are, and what the plan means over all classes."""
    gap = f"{plan.gap:g}"
    columns = (
        f"Power is the share of cases in which these frames show a gap of {gap}. The smallest gap is what they show in "
        "80 of 100 cases."
    )
    said = [columns, _needed(plan, plan.entries[-1], gap)]
    if plan.unit_kind == "things":
        said.append(
            "The independent units are the things that the frames show. More frames must show new things and places: "
            "more passes of the same add nothing."
        )
    if plan.alone:
        said.append(
            f"This is from {plan.names[0]} alone. It assumes that B shows like surroundings as often, and that the "
            "detector varies in them as in A. By simulation it promises too much: 76 % on average where 70 % is true. "
            "Plan again with a first B."
        )
    return said


def _needed(plan: Plan, entry: PlanEntry, gap: str) -> str:
    if entry.needed is None:
        reason = "the mean performance is below it" if entry.power is None else "more than 1,000 times these are needed"
        return f"No number of frames can be named for a gap of {gap}: {reason}."
    a, b = entry.needed
    wanted = f"{a:,} pairs of frames" if plan.paired else f"{a:,} frames of A and {b:,} of B"
    now = plan.frames
    held = f"The {now[0]:,} pairs" if plan.paired else f"The {now[0]:,} of A and {now[1]:,} of B"
    if plan.alone:
        held = f"The {now[0]:,} of A at hand and as many of B"
    enough = "are enough" if a <= now[0] and b <= now[1] else "are too few"
    at_hand = "" if plan.alone else " at hand"
    return (
        f"{held}{at_hand} {enough}. {wanted} show a gap of {gap} over all classes in 80 of 100 cases, if they vary and "
        "follow each other as these do."
    )


def _row(entry: PlanEntry) -> tuple[str, ...]:
    power = _UNKNOWN if entry.power is None else format_percent(entry.power)
    smallest = _UNKNOWN if entry.smallest_gap is None else format_number(entry.smallest_gap)
    needed = _UNKNOWN if entry.needed is None else f"{entry.needed[0]:,} / {entry.needed[1]:,}"
    return (entry.label, f"{entry.units[0]:,} / {entry.units[1]:,}", power, smallest, needed)


DRAWS = 2000
NUMBERS = (5, 10, 15, 20, 30, 40, 50, 75, 100, 150, 200, 300, 400, 500, 750, 1000, 1500, 2000, 3000, 5000)
"""Trials a cell and side that are tried."""
_WIDTH = 1.96
_NEXT = (0, 10, 20, 50, 100, 200)


@dataclass(frozen=True)
class TrialsNeeded:
    """Trials a cell and side; None where more than 5,000 are needed.

    Attributes:
        cells: how many are judged together.
        show: that show the gap in 80 of 100 cases.
        rule_out: that rule it out in 80 of 100 cases where nothing differs.
    """

    label: str
    cells: int
    show: int | None
    rule_out: int | None


@dataclass(frozen=True)
class PolicyPlan:
    """How many trials are needed.

    Attributes:
        regret: by further real trials a cell, the success that choosing the best policy is expected to cost.
    """

    gap: float
    needed: Sequence[TrialsNeeded]
    regret: Sequence[tuple[int, float]]

    def content(self) -> dict[str, object]:
        """The plan as JSON has it."""
        return {
            "gap": self.gap,
            "shown": SHOWN,
            "needed": [vars(row) for row in self.needed],
            "expected_regret": [{"further_trials": count, "regret": regret} for count, regret in self.regret],
        }

    @property
    def table(self) -> SummaryTable:
        """A row for one cell, for a policy, and for all cells."""
        rows = [
            (row.label, str(row.cells), *(DASH if count is None else f"{count:,}" for count in counts))
            for row in self.needed
            for counts in [(row.show, row.rule_out)]
        ]
        columns = ("judged together", "cells", f"trials that show {self.gap:g}", f"trials that rule {self.gap:g} out")
        return SummaryTable(columns, rows)

    def sentences(self) -> list[str]:
        """What the columns are, and what further real trials do for the choice."""
        out = ["Trials are a cell and side, in 80 of 100 cases. Rates are those of the trials at hand."]
        if self.regret:
            falls = ", ".join(f"{100 * regret:.2g} with {count:,} more" for count, regret in self.regret)
            out.append(f"Choosing the best policy by real trials is expected to cost, in points of success: {falls}.")
        return out


def plan_policies(trials: PolicyTrials, gap: float, seed: int = 0) -> PolicyPlan:
    """Plan a comparison of policies."""
    if trials.has_rates:
        raise SimjudgeError("trials: rates without a number of trials; a plan needs trials, or cells with successes")
    cells = find_cells(trials)
    rate = cells.rate.mean(1)
    if not len(cells):
        held = trials.policy * len(trials.tasks) + trials.task
        rate = np.array([trials.outcome[held == key].mean() for key in np.unique(held)])
    middle = np.array([float(np.median(rate))])
    sizes = {"one cell": middle, "all cells": rate}
    if len(cells) and len(trials.policies) > 1:
        per_policy = round(len(cells) / len(np.unique(cells.policy)))
        sizes = {"one cell": middle, "one policy": np.resize(np.sort(rate), per_policy), "all cells": rate}
    needed = [_trials_needed(label, rates, gap, seed) for label, rates in sizes.items()]
    return PolicyPlan(gap, needed, _regret(trials, seed))


def _trials_needed(label: str, rate: FloatArray, gap: float, seed: int) -> TrialsNeeded:
    chances = {count: _chances(rate, gap, count, seed) for count in NUMBERS}
    show, rule_out = (next((n for n in NUMBERS if chances[n][k] >= SHOWN), None) for k in range(2))
    return TrialsNeeded(label, len(rate), show, rule_out)


def _chances(rate: FloatArray, gap: float, count: int, seed: int) -> tuple[float, float]:
    """How often so many trials show the gap, and how often they rule it out where nothing differs."""
    random = np.random.default_rng([seed, 12])
    # Towards the middle, where there is room for the gap.
    other = np.where(rate > 0.5, rate - gap, rate + gap)

    def mean_w1(sim: FloatArray) -> tuple[FloatArray, FloatArray]:
        hits = [random.binomial(count, side, (DRAWS, len(side))) for side in (rate, sim)]
        each = np.abs(hits[0] - hits[1]) / count
        return each.mean(1), each.mean(0)

    same, noise = mean_w1(rate)
    differing, _ = mean_w1(np.clip(other, 0.0, 1.0))
    critical = float(np.quantile(same, 1 - SIGNIFICANCE))
    weight = np.ones(len(rate))
    tried = np.quantile(same, SHOWN)
    high = gap_behind(float(tried) + _WIDTH * float(differing.std()), noise, weight)
    return float((differing > critical + 1e-12).mean()), float(high < gap) * SHOWN


def _regret(trials: PolicyTrials, seed: int) -> list[tuple[int, float]]:
    ranked = ranked_cells(trials)
    if len(ranked.policies) < 2 or not len(ranked.tasks):
        return []
    hits, held = counted_trials(ranked)
    return [(count, expected_regret(hits, held, np.full(hits.shape, count), seed)) for count in _NEXT]
