"""A detector's mean performance in reality, from few real frames with simulated twins and many simulated ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from simjudge.core.arrays import IntArray
from simjudge.core.errors import Log, Losses, ProgressBar, SimjudgeError, UsageError, no_log, no_progress
from simjudge.core.files import atomic_folder
from simjudge.core.frames import FrameSet
from simjudge.data.frame_sequences import pair_frames
from simjudge.judging.class_numbering import match_classes
from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.comparison import Source, detect_input, read_inputs
from simjudge.judging.inputs import read_input
from simjudge.judging.judged_set import JudgedSet, judge_set
from simjudge.judging.units.blocks import frame_blocks, frame_sequence
from simjudge.judging.units.sampling_units import frame_performance
from simjudge.method.control_variates import ControlVariateEstimate, PerformanceInterval, UnitTotals, estimate_real_mean
from simjudge.results.saved_result import NO, UNDECIDED, YES, StudyFinding, write_findings, write_json

CONTROL_VARIATES = "control_variates.json"
"""The file of the numbers."""


@dataclass(frozen=True)
class ClassPerformance:
    """The mean performance of one class in reality."""

    label: str
    estimate: ControlVariateEstimate  # with its interval, beside that of the real frames alone
    # mean over all real frames, where some of them were held back to check the estimate; else None
    held_back: float | None

    def finding(self) -> StudyFinding:
        """The row of a study's page."""
        found, alone, check = self.estimate.estimate, self.estimate.real_alone, ""
        agrees = YES if found.width < alone.width else NO
        if self.held_back is not None:
            inside = found.low <= self.held_back <= found.high
            check = f" All real frames: {self.held_back:.3f}, {'within' if inside else 'outside'} the interval."
            agrees = agrees if inside else NO
        if self.estimate.other_scenes:
            agrees = UNDECIDED
            check += " The further frames seem to show other things than the twins."
        here = (
            f"{_text(found)} from {self.estimate.pairs} pairs and {self.estimate.simulated} simulated units. Real "
            f"frames alone: {_text(alone)}. Correlation {self.estimate.correlation:.2f}: worth "
            f"{self.estimate.times_frames:.1f} times the real frames.{check}"
        )
        name = f"mean performance in reality, {self.label}"
        return StudyFinding(name, "a narrower interval", here, agrees, self.numbers())

    def numbers(self) -> dict[str, float | None]:
        """The numbers by name."""
        found = asdict(self.estimate)
        intervals = {name: found.pop(name) for name in ("estimate", "real_alone")}
        flat = {f"{name}_{end}": value for name, one in intervals.items() for end, value in one.items()}
        return flat | found | {"times_frames": self.estimate.times_frames, "held_back_mean": self.held_back}


@dataclass(frozen=True)
class RealPerformance:
    """The mean performance in reality, class by class, all classes together last.

    Attributes:
        names: of the real and the simulated set.
        classes: those that enough pairs hold.
        losses: what was left out.
    """

    names: tuple[str, str]
    classes: tuple[ClassPerformance, ...]
    losses: Losses

    def content(self) -> dict[str, object]:
        """What control_variates.json holds (docs/reference/results.md)."""
        return {
            "real": self.names[0],
            "sim": self.names[1],
            "classes": [{"class": one.label, **one.numbers()} for one in self.classes],
            "losses": self.losses.lines(),
        }

    def save(self, out: Path) -> None:
        """Write the numbers and the findings into a folder that appears whole or not at all.

        Args:
            out: the folder.
        """
        with atomic_folder(out) as folder:
            write_json(folder / CONTROL_VARIATES, self.content())
            write_findings([one.finding() for one in self.classes], folder)


def estimate_real_performance(  # noqa: PLR0913 - the arguments of a study's step
    real: Source,
    sim: Source,
    out: str | Path | None = None,
    *,
    further: Sequence[Source] = (),
    pairs: int | None = None,
    model: str | Path | None = None,
    pair_tolerance: float = 0.0,
    metric: str = "iou",
    block: float | None = None,
    seed: int = 0,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> RealPerformance:
    """Estimate a detector's mean performance in reality by control variates (arXiv 2506.20553).

    Simulated frames without a real partner, and those of `further`, tell how hard the scenes are on average; the pairs
    tell how performance in simulation and in reality go together. These frames must show what the real ones are a
    sample of.

    Args:
        real: few real frames, with predictions unless `model` is given: a FrameSet, or the path of a set.
        sim: simulated frames; those with the stamp or name of a real frame are its twins.
        out: folder for control_variates.json; None saves nothing.
        further: more simulated sets, without twins.
        pairs: use so many pairs, chosen at random, and hold the other real frames back: their mean checks the estimate.
        model: a detector to run on all sets.
        pair_tolerance: greatest difference of the stamps of a pair, seconds.
        metric: what performance is, a name in `simjudge.detectors.assignment.metrics`.
        block: seconds whose frames are drawn together; None: estimated from each set.
        seed: of the choice of pairs.
        log: receives lines that a person should read.
        progress: opens a progress bar.

    Returns:
        Mean, interval, and the same from the real frames alone.

    Raises:
        UsageError: a setting makes no sense.
        SimjudgeError: a set cannot be read, or too few pairs hold objects.
    """
    settings = CompareSettings(
        model=None if model is None else Path(model),
        metric=metric,
        block=block,
        seed=seed,
        pair_tolerance=pair_tolerance,
    )
    sides = read_inputs(real, sim, settings, log=log, progress=progress)
    frames = [side.frames for side in sides]
    frames += _read_further(further, settings, log, progress)
    losses = Losses()
    for frame in frames:
        losses.extend(frame.losses)
    first = judge_set(frames[0], settings.method, metric, losses, precision=False)
    judged = [first] + [
        judge_set(match_classes(first.frames, frame), settings.method, metric, losses, precision=False)
        for frame in frames[1:]
    ]
    in_real, in_sim = pair_frames(judged[0].frames, judged[1].frames, round(pair_tolerance * 1e9))
    alone = np.setdiff1d(np.arange(len(first.frames)), in_real)
    for index in alone:
        losses.add("real frames without a simulated twin", first.frames.describe_frame(int(index)))
    chosen = _chosen(len(in_real), pairs, seed)
    used = (in_real[chosen], in_sim[chosen])
    classes = _classes(judged, used, settings, held_back=pairs is not None, losses=losses)
    result = RealPerformance((frames[0].name, frames[1].name), tuple(classes), losses)
    for one in result.classes:
        log(one.finding().here if one.label == "all" else f"{one.label}: {_text(one.estimate.estimate)}")
    if out is not None:
        result.save(Path(out))
    return result


def _read_further(
    further: Sequence[Source], settings: CompareSettings, log: Log, progress: ProgressBar
) -> list[FrameSet]:
    outside, thinning = settings.allow_outside, settings.thinning
    read = [read_input(one, None, allow_outside=outside, thinning=thinning) for one in further]
    if settings.model is not None and read:
        from simjudge.detectors.detection import load_detector  # noqa: PLC0415 - slow to import

        detector = load_detector(settings.model, trust=settings.trust)
        read = [detect_input(one, detector, settings, log, progress) for one in read]
    return [one.frames for one in read]


def _chosen(there: int, pairs: int | None, seed: int) -> IntArray:
    if there == 0:
        raise SimjudgeError(
            "no simulated frame has the stamp or the name of a real one; replay the real drive, or render its poses"
        )
    if pairs is None:
        return np.arange(there)
    if not 0 < pairs <= there:
        raise UsageError(f"pairs {pairs}: 1 to {there} are there")
    return np.sort(np.random.default_rng([seed, 5]).permutation(there)[:pairs])


def _classes(
    judged: list[JudgedSet],
    pair: tuple[IntArray, IntArray],
    settings: CompareSettings,
    *,
    held_back: bool,
    losses: Losses,
) -> list[ClassPerformance]:
    """The estimate of each class, and of all together; classes that too few pairs hold are counted."""
    real, sim, *others = judged
    twins, real_part = _Part(sim, pair[1]), _Part(real, pair[0])
    apart = _Part(sim, np.setdiff1d(np.arange(len(sim.frames)), pair[1]))
    further = [apart, *(_Part(other, np.arange(len(other.frames))) for other in others)]
    drawn = _units(real, pair[0], settings)
    further_units = [_units(part.judged, part.frames, settings) for part in further]
    names, found = real.frames.class_names, []
    ids = np.unique(real.frames.objects.class_id).tolist()
    for class_id in (*(ids if len(ids) > 1 else ()), None):
        label = "all" if class_id is None else names.get(class_id, f"class {class_id}")
        alone = [part.totals(class_id, units) for part, units in zip(further, further_units, strict=True)]
        together = UnitTotals(
            np.concatenate([one.performance for one in alone]), np.concatenate([one.objects for one in alone])
        )
        try:
            estimate = estimate_real_mean(real_part.totals(class_id, drawn), twins.totals(class_id, drawn), together)
        except SimjudgeError as error:
            if class_id is None:
                raise
            losses.add("classes that too few pairs hold", f"{label}: {error}")
            continue
        check = _Part(real, np.arange(len(real.frames))).totals(class_id, np.arange(len(real.frames)))
        found.append(ClassPerformance(label, estimate, check.mean if held_back else None))
    return found


@dataclass(frozen=True)
class _Part:
    """Some frames of a judged set."""

    judged: JudgedSet
    frames: IntArray

    def totals(self, class_id: int | None, unit: IntArray) -> UnitTotals:
        """Objects of a class by sampling unit; of all classes where None.

        `unit`: (F,) the unit of each of these frames.
        """
        objects, performance = self.judged.frames.objects, self.judged.assignment.performance
        counted = np.ones(len(objects), np.bool_) if class_id is None else objects.class_id == class_id
        frame, count = objects.frame[counted], len(self.judged.frames)
        total = np.bincount(frame, performance[counted], count)[self.frames]
        held = np.bincount(frame, minlength=count)[self.frames].astype(np.float64)
        units = int(unit.max()) + 1 if len(unit) else 0
        by_unit = (np.bincount(unit, values, units).astype(np.float64) for values in (total, held))
        return UnitTotals(*by_unit)


def _units(judged: JudgedSet, frames: IntArray, settings: CompareSettings) -> IntArray:
    """The sampling unit of each of some frames of a set: means of sets that show the same, so things do not count."""
    part: FrameSet = judged.frames.take(frames)
    sequence = None if settings.block == 0 else frame_sequence(part, wanted=bool(settings.block))
    value = frame_performance(judged, judged.assignment.performance)[frames]
    return frame_blocks(part, sequence, settings.block, value).unit


def _text(interval: PerformanceInterval) -> str:
    return f"{interval.mean:.3f} ({interval.low:.3f} to {interval.high:.3f})"
