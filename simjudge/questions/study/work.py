"""One step of a study, done: in a folder of its own first, then moved to its place in one stroke with its record.

A step may be killed at any moment. What it leaves is in DIR/.work, and the next attempt goes on there where the verb
can (renders and replays keep finished frames) or clears it away. Two processes never work at one step: a lock tells,
which the system lifts from a process that ends, however it ends.
"""

from __future__ import annotations

import fcntl
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from simjudge.core.errors import SimjudgeError
from simjudge.core.files import plain_os_errors
from simjudge.core.progress import Log, ProgressBar
from simjudge.core.version import version
from simjudge.questions.study.records import (
    WORK,
    StepRecord,
    hash_outputs,
    keep_record,
    kept_record,
    publish_output,
    read_plan,
)
from simjudge.questions.study.steps import Verb, do_step
from simjudge.results.saved_result import STUDY_FILE

_DIGITS = 16
"""Digits of a digest in the names of unfinished work."""
_PUBLISH = "publish"


@dataclass(frozen=True)
class StepTask:
    """A step with all that any process needs to do it.

    Attributes:
        folder: of the study, the same path for all processes.
        arguments: of the verb; paths in place of references.
        version: of simjudge, which every process must have.
        made_of: by step that it needs, the hash of what that step has made.
    """

    folder: Path
    name: str
    verb_name: str
    verb: Verb
    arguments: Mapping[str, Any]
    output: str
    digest: str
    version: str
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
    record = StepRecord(
        task.name, task.verb_name, task.folder / task.output, time.monotonic() - begin, losses=losses
    )  # fmt: skip
    return publish_step(task, work, record, log)


def publish_step(task: StepTask, work: Path, record: StepRecord, log: Log) -> StepRecord:
    """Move what a step has made to its place, with its record, and remove the folder that it was made in.

    Args:
        work: the folder that holds it, on the disk of the study's folder.
    """
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
    """Within this block no other process, and no other thread, holds this lock.

    Args:
        path: of the lock; made where it does not exist, and left.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log(f"waits for another process that is at {path.stem}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
