"""How the answer depends on the two settings that a person chooses: the threshold theta and the patch size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from simjudge.core.errors import Advance, Log, Losses, ProgressBar, no_log, no_progress
from simjudge.core.files import check_folder
from simjudge.core.frames import FrameSet
from simjudge.core.installed import version
from simjudge.judging.compare_settings import SEMANTIC, SweepSettings
from simjudge.judging.comparison import Source, read_inputs
from simjudge.judging.inputs import describe_model
from simjudge.judging.painted_masks import PaintedGeometry, choose_patch, log_patch
from simjudge.judging.pair import entry_numbers, judge_sets
from simjudge.judging.result_writing import certainty_parameters, method_parameters
from simjudge.judging.set_comparison import SetComparison, comparison_units
from simjudge.judging.units.sampling_units import SampleUnits
from simjudge.method.entry_numbers import ComparisonNumbers
from simjudge.results.saved_result import RESULT_FOLDER, SWEEP, write_json


@dataclass(frozen=True)
class SweptPoint:
    """A comparison at one theta and one patch (height, width)."""

    theta: float
    patch: tuple[int, int]
    numbers: ComparisonNumbers

    def to_json(self) -> dict[str, object]:
        """The point as sweep.json has it."""
        return {"theta": self.theta, "patch": list(self.patch), **self.numbers.to_json()}


@dataclass(frozen=True)
class SweptPoints:
    """What a sweep finds."""

    points: list[SweptPoint]  # along theta and along the patch
    painted: PaintedGeometry  # what the patches were painted from
    drawn: SampleUnits  # the sampling units of both sets
    settings: SweepSettings  # as they were given, and the patch that was chosen
    losses: Losses  # frames that could not take part


@dataclass(frozen=True)
class Sweep:
    """The comparisons of a sweep."""

    name: str  # what is compared with what
    content: Mapping[str, object]  # of sweep.json
    losses: Losses

    def save(self, folder: Path) -> None:
        """Write sweep.json, beside the comparison of the same sets if one is there: the report shows both."""
        check_folder(folder, RESULT_FOLDER)
        write_json(folder / SWEEP, self.content)


def sweep_sets(
    a: Source, b: Source, settings: SweepSettings, *, log: Log = no_log, progress: ProgressBar = no_progress
) -> Sweep:
    """Read both sets, detect where a detector is given, and compare them along theta and along the patch size."""
    inputs = read_inputs(a, b, settings, log=log, progress=progress)
    set_a, set_b = (side.frames for side in inputs)
    losses = Losses()
    losses.extend(set_a.losses)
    losses.extend(set_b.losses)
    with progress("sweeping") as advance:
        swept = sweep_pair(set_a, set_b, settings, advance=advance)
    losses.extend(swept.losses)
    settings = swept.settings
    log_patch(settings, log)
    units_notes = (drawn.describe(f.name) for drawn, f in zip(swept.drawn.sides, (set_a, set_b), strict=True))
    for note in (*(f"note: {line}" for line in units_notes if line), swept.painted.note):
        if note:
            log(note)
    names = set_b.class_names | set_a.class_names
    content = {
        "version": version(),
        "parameters": method_parameters(settings, swept.painted)
        | certainty_parameters(settings, swept.points[0].numbers.overall)
        | {"metric": settings.metric},
        "inputs": {
            "a": inputs[0].describe(set_a, 0) | {"false_positives": None},
            "b": inputs[1].describe(set_b, 0) | {"false_positives": None},
            "model": describe_model(settings),
        },
        "class_names": {str(k): name for k, name in sorted(names.items())},
        "curves": [point.to_json() for point in swept.points],
        "losses": losses.lines(),
    }
    return Sweep(f"{set_a.name} against {set_b.name}", content, losses)


def sweep_pair(
    set_a: FrameSet, set_b: FrameSet, settings: SweepSettings, *, advance: Advance | None = None
) -> SweptPoints:
    """Compare two sets along theta (at the method's patch) and along the patch size (at the method's theta).

    All thresholds of one patch size come from a single join at the lowest of them.
    """
    losses = Losses()
    a, b, painted = judge_sets(set_a, set_b, settings, losses, precision=False)
    settings = choose_patch(settings, (a.frames, b.frames))
    method = settings.method
    units = comparison_units(a, b, settings)
    wanted = {patch: [method.theta] for patch in settings.swept_patches}
    wanted[method.patch] = sorted({*settings.thetas, *wanted.get(method.patch, [])})
    points = []
    for number, (patch, limits) in enumerate(sorted(wanted.items())):
        sets, units_there = (a, b), units
        if settings.task == SEMANTIC and patch != method.patch:  # other patches are other samples
            sets = judge_sets(set_a, set_b, replace(settings, patch=patch), Losses())[:2]
            units_there = comparison_units(*sets, settings)
        at_patch = SetComparison(
            sets,
            units_there,
            replace(method, patch=patch, paint_masks=painted.use_masks),
            adjusts=settings.preset != "cpd",
        )
        by_theta, drawn = at_patch.compare(at_patch.schedule(settings), limits)
        for t, (theta, comparisons) in enumerate(zip(limits, by_theta, strict=True)):
            certainty, overall = at_patch.certainty(comparisons, drawn, t, settings.margin)
            points.append(
                SweptPoint(
                    theta,
                    patch,
                    ComparisonNumbers(
                        {str(k): entry_numbers([one], certainty[k]) for k, one in comparisons.items()},
                        entry_numbers(list(comparisons.values()), overall),
                    ),
                )
            )
        if advance is not None:
            advance(number + 1, len(wanted))
    return SweptPoints(points, painted, units, settings, losses)
