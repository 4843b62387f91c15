"""`simjudge sweep A B --out DIR`: how the answer depends on theta and the patch size."""

from __future__ import annotations

from pathlib import Path

import typer

from simjudge.commands import options
from simjudge.commands.common import finish, progress, say
from simjudge.core.errors import Losses, UsageError
from simjudge.core.version import version


def sweep(
    a: Path = typer.Argument(..., help="The set to be predicted, usually real: any data set or recording."),
    b: Path = typer.Argument(..., help="The set that predicts, usually simulated."),
    out: Path = typer.Option(..., "--out", help="Folder for the result."),
    thetas: str = typer.Option("0.5:0.9:9", help="First:last:count, or a list as in 0.5,0.8,0.9; at --patch."),
    patches: str = typer.Option("80,100,120,140,160,180", help="Patch sizes, as in 80,120 or 60x120; at --theta."),
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
) -> None:
    """Compare A and B along theta and along the patch size: W1, overlap and batch size, as in the paper."""
    method = options.method_of(preset, theta, patch, mask_factor, class_blind, min_score)
    limits = parse_thetas(thetas)
    sizes = [options.parse_patch(part) for part in patches.split(",") if part.strip()]
    from simjudge.commands.tables import print_sweep
    from simjudge.results.result_folder import SWEEP, check_result_place, write_json
    from simjudge.studies.inputs import model_described
    from simjudge.studies.saving import method_parameters
    from simjudge.studies.sweep import sweep as run

    check_result_place(out)
    sides = options.read_sides(a, b, a_predictions, b_predictions, model)
    set_a, set_b = sides[0].frames, sides[1].frames
    losses = Losses()
    losses.extend(set_a.losses)
    losses.extend(set_b.losses)
    with progress("sweeping") as advance:
        curves, lost = run(set_a, set_b, method, limits, sizes, metric=metric, advance=advance)
    losses.extend(lost)
    names = set_b.class_names | set_a.class_names
    content = {
        "version": version(),
        "parameters": method_parameters(preset.value, method) | {"metric": metric},
        "inputs": {
            "a": sides[0].described(set_a, 0) | {"false_positives": None},
            "b": sides[1].described(set_b, 0) | {"false_positives": None},
            "model": model_described(model),
        },
        "class_names": {str(k): name for k, name in sorted(names.items())},
        "curves": curves,
        "losses": losses.lines(),
    }
    # Beside a comparison of the same sets, where one is there: the report shows both.
    write_json(out / SWEEP, content)
    print_sweep(curves)
    say(f"result in {out}; to look at it: simjudge report {out}")
    finish(losses)


def parse_thetas(text: str) -> list[float]:
    """Thresholds from "0.5:0.9:9" (first, last, count) or "0.5,0.8", ascending."""
    try:
        if ":" in text:
            first, last, count = text.split(":")
            if not 1 <= int(count) <= 250:
                raise UsageError(f"thetas {text!r}: the count must be 1 to 250")
            step = (float(last) - float(first)) / max(1, int(count) - 1)
            return sorted({round(float(first) + step * i, 12) for i in range(int(count))})
        return sorted({float(part) for part in text.split(",")})
    except ValueError:
        raise UsageError(f"thetas {text!r}: write first:last:count or a list with commas") from None
