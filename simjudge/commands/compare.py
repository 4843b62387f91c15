"""`simjudge compare A B --out DIR`: contextualized performance of B predicting A."""

from __future__ import annotations

from pathlib import Path

import typer

from simjudge.commands import options
from simjudge.commands.common import finish, progress, say


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
    block: float = typer.Option(0.0, min=0.0, help="Draw frames of so many seconds together: neighbours are alike."),
    paired: bool = typer.Option(False, "--paired", help="Frames of A and B with one stamp (or name) are pairs."),
    pair_tolerance: float = typer.Option(0.0, min=0.0, help="With --paired: stamps may differ by so many seconds."),
    seed: int = typer.Option(0, min=0, help="Of the resampling."),
) -> None:
    """Compare a detector's performance on A and on B, context by context, and say how sure one can be."""
    method = options.method_of(preset, theta, patch, mask_factor, class_blind, min_score)
    from simjudge.results.result_folder import SWEEP, check_result_place
    from simjudge.studies.comparison import Request, compare_as_asked
    from simjudge.studies.pair import Trials

    check_result_place(out)
    if (out / SWEEP).exists():
        say(f"note: the sweep in {out} goes with the result that is replaced; run it again afterwards")
    request = Request(
        a, b, preset.value, method, Trials(bootstrap, permutations, seed, block), a_predictions, b_predictions, model,
        metric, paired, pair_tolerance,
    )  # fmt: skip
    compared = compare_as_asked(request, say, progress)
    compared.save(out)
    from simjudge.commands.tables import print_comparison

    a_names, b_names = (side.frames.class_names for side in (compared.result.a, compared.result.b))
    print_comparison(compared.result.numbers, a_names | b_names)
    say(f"result in {out}; to look at it: simjudge report {out}")
    finish(compared.losses)
