"""What a study's folder holds, and one step done: in a folder of its own, then moved to its place with its record.

DIR/study.json       what the study is, with its steps in order, so that the folder can be read without the file
DIR/NAME.ending      what a step has made
DIR/NAME.step.json   the record of a step that is done; written last
DIR/logs/NAME.log    what a step said
DIR/.work/           unfinished work; a step that was killed may go on in it

A step may be killed at any moment. What it leaves is in DIR/.work, and the next attempt goes on there where the verb
can (renders and replays keep finished frames) or clears it away. Two processes never work at one step: a lock tells,
which the system lifts from a process that ends, however it ends.
"""

from __future__ import annotations

import fcntl
import json
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from simjudge.core.arrays import hash_value
from simjudge.core.errors import Log, ProgressBar, SimjudgeError, UsageError, no_log
from simjudge.core.files import atomic_file, hash_files, plain_os_errors
from simjudge.core.installed import version
from simjudge.core.text import Json
from simjudge.questions.study.file import Study, StudyStep, Verb, do_step
from simjudge.results.saved_result import STUDY_FILE

LOGS = "logs"
WORK = ".work"
RUNNING = ".running"
"""Locked by the process that runs the study."""
_RECORD = ".step.json"


@dataclass(frozen=True)
class StepRecord:
    """A step that is done."""

    name: str
    verb: str
    path: Path
    seconds: float
    kept: bool = False  # whether it was done before, and kept
    losses: tuple[str, ...] = ()  # lines of what was left out
    # hashes of the files and folders that it made, by their names beside the study's others
    files: Mapping[str, str] = field(default_factory=dict)
    taken_from: str = ""  # folder of the study that has done it; empty where this one has
    # by step that it needs, the hash of what that step had made
    made_of: Mapping[str, str] = field(default_factory=dict)

    def files_hash(self) -> str:
        """One hash of all that it made."""
        return hash_value(dict(self.files))


@dataclass(frozen=True)
class PlannedStep:
    """A step as a study's folder knows it."""

    name: str
    verb: str
    output: str
    needs: tuple[str, ...]  # names of the steps that it needs
    digest: str


def claim_folder(folder: Path, study: Study) -> None:
    """Make the folder this study's, or see that it is."""
    if (folder / STUDY_FILE).is_file():
        content = _read_json(folder / STUDY_FILE)
        if (content.get("study"), content.get("size")) != (study.name, study.size):
            raise UsageError(f"{folder}: holds another study or another size of this one; give another --out")
        return
    if folder.exists() and (not folder.is_dir() or any(map(_is_foreign, folder.iterdir()))):
        raise UsageError(f"{folder}: is no folder of a study; give another --out")


def clear_temporaries(folder: Path) -> None:
    """Remove files that a killed process had not finished; no process may be moving outputs meanwhile."""
    for path in folder.glob(".*.tmp"):
        path.unlink()


def _is_foreign(path: Path) -> bool:
    """Whether something in a folder is not what a study that was killed at once leaves there."""
    return path.name not in {RUNNING, WORK} and not path.name.startswith(f".{STUDY_FILE}.")


def write_plan(folder: Path, study: Study, digests: Mapping[str, str]) -> None:
    """Say in a study's folder what its steps are."""
    steps = [
        {
            "name": step.name,
            "verb": step.verb,
            "output": step.output,
            "needs": list(step.needs),
            "digest": digests[step.name],
        }
        for step in study.steps
    ]
    about = {
        "study": study.name,
        "size": study.size,
        "title": study.title,
        "stands_in": study.stands_in,
        "steps": steps,
    }
    with atomic_file(folder / STUDY_FILE) as temporary:
        temporary.write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


def read_plan(folder: Path) -> tuple[Study, list[PlannedStep]]:
    """What a study's folder says of itself."""
    path = folder / STUDY_FILE
    if not path.is_file():
        raise UsageError(f"{folder}: is no folder that study run has made: it has no {STUDY_FILE}")
    content = _read_json(path)
    try:
        planned = [
            PlannedStep(str(step["name"]), str(step["verb"]), str(step["output"]), tuple(step["needs"]), step["digest"])
            for step in content["steps"]
        ]
        steps = tuple(StudyStep(step.name, step.verb, {}, step.output) for step in planned)
        study = Study(content["study"], content["title"], content["stands_in"], content["size"], steps)
    except (KeyError, TypeError, ValueError) as error:
        raise SimjudgeError(f"{path}: is damaged ({error!r}); run the study again") from error
    return study, planned


def keep_record(record: StepRecord, digest: str) -> None:
    """Note that a step is done."""
    about = {
        "digest": digest,
        "verb": record.verb,
        "version": version(),
        "seconds": round(record.seconds, 1),
        "losses": list(record.losses),
        "files": dict(record.files),
        "made_of": dict(record.made_of),
        **({"taken_from": record.taken_from} if record.taken_from else {}),
    }
    with atomic_file(record_path(record.path.parent, record.name)) as temporary:
        temporary.write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


def kept_record(folder: Path, name: str, verb: str, output: str, digest: str, log: Log = no_log) -> StepRecord | None:
    """The record of a step that was done before, and whose files are what it made; None where it has to be done."""
    record = held_record(folder, name, verb, output, digest)
    if record is None:
        return None
    wrong = [item for item, wanted in record.files.items() if not _is_intact(folder / item, wanted)]
    if wrong or output not in record.files:
        what = (
            f"{', '.join(wrong)} changed after step {name} made it"
            if wrong
            else f"the record of step {name} has no hashes"
        )
        log(f"note: {folder}: {what}; the step runs again")
        return None
    return record


def held_record(folder: Path, name: str, verb: str, output: str, digest: str) -> StepRecord | None:
    """The record of a step that was done before, whatever became of its files; None where it was not done."""
    held = _read_json(record_path(folder, name))
    path = folder / output
    if held.get("digest") != digest or not path.exists() or not held.keys() >= {"seconds", "losses"}:
        return None
    return StepRecord(
        name,
        verb,
        path,
        float(held["seconds"]),
        kept=True,
        losses=tuple(held["losses"]),
        files=held.get("files", {}),
        taken_from=held.get("taken_from", ""),
        made_of=held.get("made_of", {}),
    )


def _is_intact(path: Path, wanted: str) -> bool:
    """Whether a file or folder has a hash."""
    try:
        return path.exists() and hash_files(path) == wanted
    except OSError:
        return False


def record_path(folder: Path, name: str) -> Path:
    """The path of a step's record."""
    return folder / f"{name}{_RECORD}"


def log_path(folder: Path, name: str) -> Path:
    """The path of a step's log."""
    return folder / LOGS / f"{name}.log"


def hash_outputs(work: Path) -> dict[str, str]:
    """Hashes of what a step has made, by name."""
    return {name: hash_files(work / name) for name in _made(work)}


def publish_output(work: Path, folder: Path, name: str, output: str) -> None:
    """Move what a step has made to its place: files beside it first, the output last.

    An earlier record goes first, so that no moment has a record of something else.
    """
    if not (work / output).exists():
        raise SimjudgeError(f"{output}: the step has not made it")
    record_path(folder, name).unlink(missing_ok=True)
    for made in [*(file for file in _made(work) if file != output), output]:
        target = folder / made
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        (work / made).replace(target)


def _made(work: Path) -> list[str]:
    """Names of what a step has made."""
    return sorted(path.name for path in work.iterdir() if not path.name.startswith("."))


def _read_json(path: Path) -> Json:
    """A JSON object; empty where there is none, or it is damaged."""
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return held if isinstance(held, dict) else {}


_DIGITS = 16
"""Digits of a digest in the names of unfinished work."""
_PUBLISH = "publish"


@dataclass(frozen=True)
class StepTask:
    """A step with all that any process needs to do it."""

    folder: Path  # of the study, the same path for all processes
    name: str
    verb_name: str
    verb: Verb
    arguments: Mapping[str, object]  # of the verb; paths in place of references
    output: str
    digest: str
    version: str  # of simjudge, which every process must have
    # by step that it needs, the hash of what that step has made
    made_of: Mapping[str, str] = field(default_factory=dict)


def do_task(task: StepTask, log: Log, progress: ProgressBar) -> StepRecord:
    """Do a step, unless another process has just done it."""
    if not (task.folder / STUDY_FILE).is_file():
        raise SimjudgeError(f"{task.folder}: this machine does not see the study's folder; all workers must share it")
    if task.version != version():
        raise SimjudgeError(f"this worker has simjudge {version()}, the study {task.version}; install the same")
    work = work_folder(task)
    with plain_os_errors(task.folder / task.output), hold_step(task, log):
        done = kept_record(task.folder, task.name, task.verb_name, task.output, task.digest)
        return done if done is not None and done.made_of == task.made_of else _do(task, work, log, progress)


def _do(task: StepTask, work: Path, log: Log, progress: ProgressBar) -> StepRecord:
    begin = time.monotonic()
    resumed = _clear_finished(work)
    work.mkdir(parents=True, exist_ok=True)
    try:
        losses = do_step(task.verb, dict(task.arguments), work / task.output, log, progress)
    except SimjudgeError as error:
        if not resumed:
            raise
        log(f"{task.name}: cannot go on where it was stopped ({error}); begins anew")
        shutil.rmtree(work)
        work.mkdir()
        losses = do_step(task.verb, dict(task.arguments), work / task.output, log, progress)
    record = StepRecord(task.name, task.verb_name, task.folder / task.output, time.monotonic() - begin, losses=losses)
    return publish_step(task, work, record, log)


def publish_step(task: StepTask, work: Path, record: StepRecord, log: Log) -> StepRecord:
    """Move what a step has made to its place, with its record, and remove the folder that it was made in."""
    record = replace(record, files=hash_outputs(work), made_of=task.made_of)
    with hold_plan(task.folder, log):
        if _is_planned(task):
            publish_output(work, task.folder, task.name, task.output)
            keep_record(record, task.digest)
    shutil.rmtree(work)
    return record


def _clear_finished(work: Path) -> bool:
    """Remove what a killed attempt left and cannot be gone on with; whether something is left to go on with."""
    if not work.is_dir():
        return False
    for path in work.iterdir():
        if path.name.startswith(".") and not path.name.endswith(".tmp"):
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    return any(work.iterdir())


def is_running(folder: Path, name: str, digest: str) -> bool:
    """Whether a process is at a step now."""
    path = _lock_path(_work_path(folder, name, digest))
    if not path.is_file():
        return False
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


@contextmanager
def hold_step(task: StepTask, log: Log) -> Iterator[None]:
    """Within this block no other process is at a step."""
    with lock_file(_lock_path(work_folder(task)), log):
        yield


def work_folder(task: StepTask) -> Path:
    """The folder in which a step is done, before its outputs are moved to their places."""
    return _work_path(task.folder, task.name, task.digest)


def _work_path(folder: Path, name: str, digest: str) -> Path:
    return folder / WORK / f"{name}-{digest[:_DIGITS]}"


def _lock_path(work: Path) -> Path:
    return work.with_name(f"{work.name}.lock")


def _is_planned(task: StepTask) -> bool:
    """Whether the study still wants the step as it was done: it may have been started again after a change."""
    _, steps = read_plan(task.folder)
    return any(step.name == task.name and step.digest == task.digest for step in steps)


@contextmanager
def hold_plan(folder: Path, log: Log) -> Iterator[None]:
    """Within this block no process moves a step's output to its place."""
    with lock_file(folder / WORK / f"{_PUBLISH}.lock", log):
        yield


@contextmanager
def lock_file(path: Path, log: Log) -> Iterator[None]:
    """Within this block no other process, and no other thread, holds this lock."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log(f"waits for another process that is at {path.stem}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
