"""`simjudge compare A B --out DIR`: contextualized performance of B predicting A."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from simjudge.commands import options
from simjudge.commands.common import finish, progress, say
from simjudge.errors import Losses

if TYPE_CHECKING:
    from simjudge.frames import FrameSet


def compare(
    a: Path = typer.Argument(..., help="The set to be predicted, usually real: any data set or recording."),
    b: Path = typer.Argument(..., help="The set that predicts, usually simulated."),
    out: Path = typer.Option(..., "--out", help="Folder for the result."),
    a_predictions: Path | None = options.A_PREDICTIONS,
    b_predictions: Path | None = options.B_PREDICTIONS,
    model: Path | None = options.MODEL,
    preset: options.Preset = options.PRESET,
    theta: float | None = options.THETA,
    patch: str | None = options.PATCH,
    mask_factor: float | None = options.MASK_FACTOR,
    class_blind: bool = options.CLASS_BLIND,
    min_score: float | None = options.MIN_SCORE,
    metric: str = options.METRIC,
    bootstrap: int = typer.Option(1000, min=0, help="Bootstrap draws of frames for the 95 % interval; 0 for none."),
    permutations: int = typer.Option(1000, min=0, help="Relabellings of frames for the floor and p; 0 for none."),
    paired: bool = typer.Option(False, "--paired", help="Frames of A and B with one stamp (or name) are pairs."),
    pair_tolerance: float = typer.Option(0.0, min=0.0, help="With --paired: stamps may differ by so many seconds."),
    seed: int = typer.Option(0, min=0, help="Of the resampling."),
) -> None:
    """Compare a detector's performance on A and on B, context by context, and say how sure one can be."""
    method = options.method_of(preset, theta, patch, mask_factor, class_blind, min_score)
    from simjudge.studies.pair import Trials, compare_pair
    from simjudge.studies.result_folder import SWEEP, check_result_place

    check_result_place(out)
    if (out / SWEEP).exists():
        say(f"note: the sweep in {out} goes with the result that is replaced; run it again afterwards")
    trials = Trials(bootstrap, permutations, seed)
    sides = options.read_sides(a, b, a_predictions, b_predictions, model)
    losses = Losses()
    sets = [side.frames for side in sides]
    for each in sets:
        losses.extend(each.losses)
    if paired:
        sets = list(_paired(sets[0], sets[1], pair_tolerance, losses))
    _warn_of_sizes(*sets)
    with progress("comparing contexts") as advance:
        result = compare_pair(sets[0], sets[1], method, trials, metric=metric, paired=paired, advance=advance)
    losses.extend(result.losses)
    from simjudge.commands.tables import print_comparison
    from simjudge.studies.inputs import model_described
    from simjudge.studies.saving import false_positives, parameters_of, save_comparison

    inputs: dict[str, Any] = {
        key: side.described(judged.frames, false_positives(judged))
        for key, side, judged in zip(("a", "b"), sides, (result.a, result.b), strict=True)
    }
    inputs["model"] = model_described(model)
    named_model = None if model is None else str(model)
    parameters = parameters_of(preset.value, method, trials, metric=metric, paired=paired, model=named_model)
    save_comparison(out, result, parameters, inputs, losses)

    print_comparison(result.numbers, result.a.frames.class_names | result.b.frames.class_names)
    say(f"result in {out}; to look at it: simjudge report {out}")
    finish(losses)


def _paired(a: FrameSet, b: FrameSet, tolerance: float, losses: Losses) -> tuple[FrameSet, FrameSet]:
    """The frames of both sets that are pairs, in the same order; what has no partner is counted."""
    from simjudge.errors import SimjudgeError
    from simjudge.studies.pairs_of_frames import usable_pairs

    in_a, in_b = usable_pairs(a, b, round(tolerance * 1e9), losses)
    if len(in_a) == 0:
        raise SimjudgeError(f"{a.name} and {b.name} have no frame in common by stamp or name; compare without --paired")
    return a.take(in_a), b.take(in_b)


def _warn_of_sizes(a: FrameSet, b: FrameSet) -> None:
    size_a, size_b = (sorted({(int(w), int(h)) for w, h in each.size}) for each in (a, b))
    if size_a != size_b:
        shown = [", ".join(f"{w}x{h}" for w, h in sizes[:3]) + (", ..." if len(sizes) > 3 else "") for sizes in
                 (size_a, size_b)]  # fmt: skip
        say(f"note: pictures differ in size, A {shown[0]}, B {shown[1]}; patches are cut in pixels of each")
