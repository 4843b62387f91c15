"""What a table of trials of policies, a file of lerobot-eval or a LeRobot data set can answer."""

from __future__ import annotations

from pathlib import Path

from simjudge.core.errors import Losses
from simjudge.questions.doctor.diagnosis import Diagnosis, Finding, Question, answer_questions
from simjudge.questions.policies.run import read_policy_trials, read_side
from simjudge.questions.policies.trials import REAL, SideUnknownError

TRIALS, SIDES, COUNTS, ENOUGH, PAIRS, STATES = (
    "trials",
    "both sides",
    "numbers of trials",
    "four policies or more",
    "paired trials",
    "initial states",
)
QUESTION = Question(
    "policies",
    "judge policies",
    (TRIALS,),
    {
        SIDES: "give the other side as a second table",
        COUNTS: "rates and ranking, but nothing is tested",
        ENOUGH: "no correlation can be told from chance",
        PAIRS: "simulated trials cannot sharpen a real mean",
        STATES: "no map of where the simulation misleads",
    },
    "simjudge compare-policies {path} --out result",
)
FEWEST_POLICIES = 4
"""The best order of four has p = 1 / 24; of three 1 / 6."""


def diagnose_trials(path: Path) -> Diagnosis:
    """Look at trials of policies."""
    sides = True
    try:
        trials = read_policy_trials(path)
    except SideUnknownError:
        # A side alone, real or simulated, says as well what it can be used for.
        sides, trials = False, read_side(path, REAL)
    sides = sides and len(set(trials.real.tolist())) == 2
    policies = len(trials.policies)
    findings = [
        Finding.measured(
            TRIALS, "", f"{len(trials):,} of {policies} policies at {len(trials.tasks)} tasks", "any", good=True
        ),
        _held(SIDES, sides, "real and simulated", "one side alone"),
        _held(COUNTS, not trials.has_rates, "known", "rates without a number of trials"),
        _held(ENOUGH, policies >= FEWEST_POLICIES, str(policies), f"{policies} policies"),
        _held(PAIRS, bool(trials.pair_names), f"{len(trials.pair_names)} initial states", "no column pair"),
        _held(STATES, bool(trials.numbers), ", ".join(trials.numbers), "no condition is a number"),
    ]
    losses = Losses()
    losses.extend(trials.losses)
    return Diagnosis(
        path, "trials of policies", findings, answer_questions(findings, (QUESTION,)), trials.notes, losses
    )


def _held(check: str, good: bool, figure: str, lacking: str) -> Finding:  # noqa: FBT001 - what was found
    return Finding.measured(check, "", figure, "any", good=True) if good else Finding.missing(check, lacking)
