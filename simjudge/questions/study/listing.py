"""What a study's folder holds: what is done, what is not, and how long it took or will take."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from simjudge.core.files import output_path
from simjudge.core.text import list_some
from simjudge.questions.study.file import Study
from simjudge.questions.study.process import FAILED_LINE, TIME_FORMAT
from simjudge.questions.study.records import PlannedStep, StepRecord, kept_record, log_path, read_plan
from simjudge.questions.study.run import StudyResult, seconds_left
from simjudge.questions.study.work import is_running

DONE, FAILED, RUNNING, WAITING = "done", "failed", "running", "not done"


@dataclass(frozen=True)
class ListedStep:
    """A step of a study, and how far it is.

    Attributes:
        seconds: that it took; None where it is not done.
        note: of a step that is done, where it was taken from and what was left out; of one that failed or runs, the
            last line of its log; of one that waits, the steps that it waits for.
        log: path of the log; None where there is none.
    """

    name: str
    verb: str
    state: str
    seconds: float | None
    note: str
    log: Path | None


@dataclass(frozen=True)
class StudyListing:
    """What a study's folder holds.

    Attributes:
        seconds_left: that the rest will take, one step after the other.
    """

    study: Study
    steps: tuple[ListedStep, ...]
    seconds_left: float | None


def load_study(folder: Path) -> StudyResult:
    """What a study has made so far."""
    folder = output_path(folder)
    study, planned = read_plan(folder)
    return StudyResult(study, folder, tuple(_records(folder, planned).values()))


def list_study(folder: str | Path) -> StudyListing:
    """What is done of a study, what is not, and how long it took or will take.

    Args:
        folder: that `study run` has made; a study may be running in it.
    """
    folder = output_path(Path(folder))
    study, planned = read_plan(folder)
    records = _records(folder, planned)
    missing = {each.name: each.needs for each in planned if each.name not in records}
    verbs = {each.name: each.verb for each in planned}
    steps = tuple(_listed(folder, each, records) for each in planned)
    return StudyListing(study, steps, seconds_left(missing, verbs, list(records.values()), 1))


def _records(folder: Path, planned: list[PlannedStep]) -> dict[str, StepRecord]:
    """The records of the steps that are done, by their names."""
    kept = {each.name: kept_record(folder, each.name, each.verb, each.output, each.digest) for each in planned}
    return {name: each for name, each in kept.items() if each is not None}


def _listed(folder: Path, step: PlannedStep, records: dict[str, StepRecord]) -> ListedStep:
    """A step, and how far it is."""
    log = log_path(folder, step.name)
    logged = log if log.is_file() else None
    if step.name in records:
        done = records[step.name]
        taken = (f"taken from {done.taken_from}",) if done.taken_from else ()
        return ListedStep(step.name, step.verb, DONE, done.seconds, "; ".join((*taken, *done.losses)), logged)
    said = _last_line(log)
    if is_running(folder, step.name, step.digest):
        return ListedStep(step.name, step.verb, RUNNING, None, said, logged)
    if said.startswith(FAILED_LINE):
        return ListedStep(step.name, step.verb, FAILED, None, said.removeprefix(FAILED_LINE), logged)
    waits = [name for name in step.needs if name not in records]
    return ListedStep(step.name, step.verb, WAITING, None, f"needs {list_some(waits)}" if waits else "", logged)


def _last_line(log: Path) -> str:
    """The last line of a log, without its time."""
    if not log.is_file():
        return ""
    lines = log.read_text(encoding="utf-8", errors="replace").rstrip().splitlines()
    line = lines[-1] if lines else ""
    width = len(datetime.now().astimezone().strftime(TIME_FORMAT))
    return line[width + 1 :]
