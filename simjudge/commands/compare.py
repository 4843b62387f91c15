"""`simjudge compare A B --out DIR`: contextualized performance of B predicting A."""

from __future__ import annotations

from pathlib import Path

import typer

from simjudge.commands.common import finish, progress, say
from simjudge.commands.options import takes_settings
from simjudge.studies.compare_settings import CompareSettings


@takes_settings
def compare(
    settings: CompareSettings,
    a: Path = typer.Argument(..., help="The set to be predicted, usually real: any data set or recording."),
    b: Path = typer.Argument(..., help="The set that predicts, usually simulated."),
    out: Path = typer.Option(..., "--out", help="Folder for the result."),
) -> None:
    """Compare a detector's performance on A and on B, context by context, with floor, interval and p value."""
    from simjudge.commands.tables import print_comparison
    from simjudge.results.result_folder import SWEEP, check_result_folder
    from simjudge.studies.comparison import compare_sets

    check_result_folder(out)
    if (out / SWEEP).exists():
        say(f"note: the sweep in {out} goes with the result that is replaced; run it again afterwards")
    compared = compare_sets(a, b, settings, log=say, progress=progress)
    compared.save(out)
    a_names, b_names = (side.frames.class_names for side in (compared.result.a, compared.result.b))
    print_comparison(compared.result.numbers, a_names | b_names)
    say(f"result in {out}; to look at it: simjudge report {out}")
    finish(compared.losses)
