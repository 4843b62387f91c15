"""A comparison from its paths to its result folder: what `simjudge compare` and the validation node both do."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from simjudge.context.compiled import is_compiled
from simjudge.context.method import Method
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.studies.inputs import Side, model_described, read_side
from simjudge.studies.pair import Advance, PairResult, Trials, compare_pair
from simjudge.studies.pairs_of_frames import usable_pairs
from simjudge.studies.saving import false_positives, parameters_of, save_comparison
from simjudge.studies.units import usual_spacing

STILL_ALIKE = 0.5
"""Seconds within which the frames of a moving camera are taken to look much alike."""

Say = Callable[[str], None]
Progress = Callable[[str], AbstractContextManager[Advance]]


@dataclass(frozen=True)
class Request:
    """What is to be compared, and how.

    Attributes:
        a, b: the sets.
        a_predictions, b_predictions: predictions from elsewhere.
        model: a detector to run on both sides that have no predictions from elsewhere.
        preset: the name that `method` started from.
        trials: permutations and bootstrap draws.
        metric: what performance is.
        paired, pair_tolerance: frames whose stamps differ by at most so many seconds are pairs.
    """

    a: Path
    b: Path
    preset: str
    method: Method
    trials: Trials
    a_predictions: Path | None = None
    b_predictions: Path | None = None
    model: Path | None = None
    metric: str = "iou"
    paired: bool = False
    pair_tolerance: float = 0.0


@dataclass(frozen=True)
class Comparison:
    """A comparison, and what its result.json says beside the numbers."""

    result: PairResult
    parameters: dict[str, Any]
    inputs: dict[str, Any]
    losses: Losses

    def save(self, out: Path) -> None:
        """Write the result folder; see `save_comparison`."""
        save_comparison(out, self.result, self.parameters, self.inputs, self.losses)


def compare_as_asked(request: Request, say: Say, progress: Progress) -> Comparison:
    """Read both sides, detect where asked, and compare.

    Args:
        request: what to do.
        say: told what a person should know.
        progress: makes something to tell how far a piece of work is.

    Raises:
        SimjudgeError: a side cannot be read or cannot be compared.
    """
    sides = read_sides(
        (request.a, request.a_predictions), (request.b, request.b_predictions), request.model, say, progress
    )
    losses = Losses()
    sets = (sides[0].frames, sides[1].frames)
    for each in sets:
        losses.extend(each.losses)
    if request.paired:
        sets = _paired(*sets, request.pair_tolerance, losses)
    _tell_sizes(*sets, say)
    _tell_neighbours(*sets, request.trials, say)
    if not is_compiled():
        say("compiling for this machine, once: about half a minute")
    with progress("comparing contexts") as advance:
        result = compare_pair(
            *sets, request.method, request.trials, metric=request.metric, paired=request.paired, advance=advance
        )
    losses.extend(result.losses)
    inputs: dict[str, Any] = {
        key: side.described(judged.frames, false_positives(judged)) | {"units": units}
        for key, side, judged, units in zip(("a", "b"), sides, (result.a, result.b), result.units, strict=True)
    }
    inputs["model"] = model_described(request.model)
    model = None if request.model is None else str(request.model)
    parameters = parameters_of(
        request.preset, request.method, request.trials, metric=request.metric, paired=request.paired, model=model
    )
    return Comparison(result, parameters, inputs, losses)


def read_sides(
    a: tuple[Path, Path | None], b: tuple[Path, Path | None], model: Path | None, say: Say, progress: Progress
) -> tuple[Side, Side]:
    """Read both sets (path, predictions); a model runs on every side whose predictions were not given."""
    sides = (read_side(*a), read_side(*b))
    if model is None:
        return sides
    from simjudge.perception.loading import load_detector  # noqa: PLC0415 - slow to import

    detector = load_detector(model)
    return detected(sides[0], detector, say, progress), detected(sides[1], detector, say, progress)


def detected(side: Side, detector: Any, say: Say, progress: Progress) -> Side:
    """A side with a detector's predictions, unless its predictions were given."""
    from simjudge.perception.detection import detect  # noqa: PLC0415 - slow to import

    if side.predictions_path is not None:
        return side
    if side.frames.predictions is not None:
        say(f"{side.frames.name}: its own predictions are set aside, since --model was given")
    return replace(side, frames=detect(side.frames, detector, progress=progress, log=say))


def _paired(a: FrameSet, b: FrameSet, tolerance: float, losses: Losses) -> tuple[FrameSet, FrameSet]:
    """The frames of both sets that are pairs, in the same order; what has no partner is counted."""
    in_a, in_b = usable_pairs(a, b, round(tolerance * 1e9), losses)
    if len(in_a) == 0:
        raise SimjudgeError(f"{a.name} and {b.name} have no frame in common by stamp or name; compare without --paired")
    return a.take(in_a), b.take(in_b)


def _tell_neighbours(a: FrameSet, b: FrameSet, trials: Trials, say: Say) -> None:
    """Warn where p would take the many like frames of a recording for as many independent ones."""
    if trials.block > 0 or not (trials.permutations or trials.bootstrap):
        return
    for frames in (a, b):
        spacing = usual_spacing(frames)
        if spacing is not None and spacing < STILL_ALIKE:
            say(
                f"note: frames of {frames.name} follow each other by {spacing:.2g} s; where neighbours look alike, p "
                "is too small and the interval too narrow: --block 2 draws two seconds together"
            )


def _tell_sizes(a: FrameSet, b: FrameSet, say: Say) -> None:
    size_a, size_b = (sorted({(int(w), int(h)) for w, h in each.size}) for each in (a, b))
    if size_a != size_b:
        shown = []
        for sizes in (size_a, size_b):
            more = ", ..." if len(sizes) > 3 else ""
            shown.append(", ".join(f"{w}x{h}" for w, h in sizes[:3]) + more)
        say(f"note: pictures differ in size, A {shown[0]}, B {shown[1]}; patches are cut in pixels of each")
