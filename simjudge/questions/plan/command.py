"""`simjudge plan A B --gap 0.05`: how many frames show a gap."""

from __future__ import annotations

from pathlib import Path

import typer

from simjudge.judging.compare_settings import PlanSettings
from simjudge.terminal.common import exit_if_lost, print_note, print_table, progress, takes_settings


@takes_settings
def plan(
    settings: PlanSettings,
    a: Path = typer.Argument(..., help="The set to be predicted, or a small one like it: any data set or recording."),
    b: Path | None = typer.Argument(
        None, help="The set that predicts, or a small one like it; leave it out to plan from A alone."
    ),
    out: Path | None = typer.Option(None, "--out", metavar="FILE.json", help="File for the numbers."),
) -> None:
    """Estimate how many frames show a gap in 80 of 100 cases, per class and overall.

    The sets at hand, which may be those of a first try, say how much performance varies and how alike contexts are.
    With A alone, B is taken to be a set of as many frames that shows like surroundings as often. Of trials of policies,
    A with B or both in A: how many trials.
    """
    from simjudge.questions.plan.plan import plan as run
    from simjudge.questions.plan.plan import plan_sentences, plan_table
    from simjudge.questions.policies.run import holds_trials
    from simjudge.results.saved_result import check_json_output, write_json

    check_json_output(out, "gap")
    if holds_trials(a):
        _plan_trials(a, b, settings, out)
        return
    planned = run(a, b, settings=settings, log=print_note, progress=progress)
    print_table(plan_table(planned))
    for line in plan_sentences(planned):
        print_note(line)
    if out is not None:
        write_json(out, planned.content())
        print_note(f"wrote {out}")
    exit_if_lost(planned.losses)


def _plan_trials(real: Path, sim: Path | None, settings: PlanSettings, out: Path | None) -> None:
    from simjudge.questions.plan.plan import plan_policies
    from simjudge.questions.policies.run import read_policy_trials
    from simjudge.results.saved_result import write_json
    from simjudge.terminal.common import print_table

    trials = read_policy_trials(real, sim, log=print_note)
    planned = plan_policies(trials, settings.gap, settings.seed)
    print_table(planned.table)
    for line in planned.sentences():
        print_note(line)
    if out is not None:
        write_json(out, planned.content())
        print_note(f"wrote {out}")
    exit_if_lost(trials.losses)
