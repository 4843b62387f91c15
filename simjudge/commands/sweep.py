"""`simjudge sweep A B --out DIR`: how the answer depends on theta and the patch size."""

from __future__ import annotations

from pathlib import Path

import typer

from simjudge.commands.common import finish, progress, say
from simjudge.commands.options import takes_settings
from simjudge.core.errors import Losses
from simjudge.core.version import version
from simjudge.studies.compare_settings import SweepSettings


@takes_settings
def sweep(
    settings: SweepSettings,
    a: Path = typer.Argument(..., help="The set to be predicted, usually real: any data set or recording."),
    b: Path = typer.Argument(..., help="The set that predicts, usually simulated."),
    out: Path = typer.Option(..., "--out", help="Folder for the result."),
) -> None:
    """Compare A and B along theta and along the patch size: W1, overlap and batch size, as in the paper."""
    from simjudge.commands.tables import print_sweep
    from simjudge.results.result_folder import SWEEP, check_result_folder, write_json
    from simjudge.studies.comparison import read_inputs
    from simjudge.studies.inputs import describe_model
    from simjudge.studies.result_writing import method_parameters
    from simjudge.studies.sweep import sweep_pair

    check_result_folder(out)
    sides = read_inputs(a, b, settings, log=say, progress=progress)
    set_a, set_b = sides[0].frames, sides[1].frames
    losses = Losses()
    losses.extend(set_a.losses)
    losses.extend(set_b.losses)
    with progress("sweeping") as advance:
        curves, lost = sweep_pair(set_a, set_b, settings, advance=advance)
    losses.extend(lost)
    names = set_b.class_names | set_a.class_names
    content = {
        "version": version(),
        "parameters": method_parameters(settings) | {"metric": settings.metric},
        "inputs": {
            "a": sides[0].described(set_a, 0) | {"false_positives": None},
            "b": sides[1].described(set_b, 0) | {"false_positives": None},
            "model": describe_model(settings.model),
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
