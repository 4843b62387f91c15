"""A step of a study in a process of its own, on some of the machine's cores.

The process ends with the one that started it, however that ends: its standard input then closes. What libraries print
goes into the step's log. A step that a library crashes fails by itself, and its memory is given back.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import IO, cast

from simjudge.core.errors import SimjudgeError
from simjudge.core.files import disk_trouble, is_disk_full
from simjudge.core.processes import EXIT_FAILED
from simjudge.core.progress import Advance, Log, ProgressBar, ProgressLines
from simjudge.core.text import one_line
from simjudge.questions.study.records import StepRecord, log_path
from simjudge.questions.study.work import StepTask, do_task

_LINE_PERIOD = 10.0
"""Seconds between lines in the log that say how far a step is."""
FAILED_LINE = "failed: "
"""How the last line of the log of a step begins, behind the time, where the step failed."""
TIME_FORMAT = "%Y-%m-%d %H:%M:%S"
_LONGEST = 300
"""Characters of a library's error that are shown; the log has all of it."""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True)
class PickledTask:
    """A step for another process; who only hands it on need not load what it is made of."""

    folder: Path
    name: str
    task: bytes


def pickle_task(task: StepTask) -> PickledTask:
    """Make a step ready for another process."""
    return PickledTask(task.folder, task.name, pickle.dumps(task))


def do_task_apart(task: PickledTask, cores: Sequence[int]) -> tuple[float, tuple[str, ...]]:
    """Do a step in a process of its own.

    Returns:
        The seconds that it took, and lines of what was left out.
    """
    environment = {**os.environ, **dict.fromkeys(_THREADS, str(len(cores)))}
    command = [sys.executable, "-m", "simjudge.questions.study.process", ",".join(map(str, cores))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        given, answered = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
        with suppress(BrokenPipeError):  # it has ended, and what it said is read below
            given.write(task.task)
            given.flush()
        answer = answered.read()
    if process.returncode < 0:
        name = signal.Signals(-process.returncode).name
        reason = f"the system or a person has ended the step by {name}; is there memory for so many --jobs?"
        with step_log(task.folder, task.name) as file:
            LogFile(file).write(f"{FAILED_LINE}{reason}")
        raise SimjudgeError(reason)
    try:
        content = json.loads(answer)
    except ValueError:
        raise SimjudgeError(f"the step's process has ended with exit code {process.returncode}") from None
    if "error" in content:
        raise SimjudgeError(content["error"])
    return content["seconds"], tuple(content["losses"])


def main() -> None:
    """Do the step that stands in the standard input, and say in JSON what came of it."""
    cores = {int(core) for core in sys.argv[1].split(",")}
    os.sched_setaffinity(0, cores)  # before a library starts threads
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in the terminal is the first process's
    task = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the process that started this one
    answer = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    Thread(target=_end_with_parent, name="parent", daemon=True).start()
    try:
        content = _answer(task)
    except OSError as error:
        content = {"error": f"{log_path(task.folder, task.name)}: {disk_trouble(error)}"}
    json.dump(content, answer)
    answer.flush()


def _end_with_parent() -> None:
    """End this process once the standard input is closed: by the parent, or by the system for a parent that was killed.

    A file object of Python's would be locked while it is read, which ends the interpreter's own end by SIGABRT.
    """
    while os.read(sys.stdin.fileno(), 1):
        pass
    os._exit(EXIT_FAILED)


def _answer(task: StepTask) -> dict[str, object]:
    """What came of a step; everything is in the log too."""
    with step_log(task.folder, task.name) as file:
        os.dup2(file.fileno(), sys.stdout.fileno())
        os.dup2(file.fileno(), sys.stderr.fileno())
        lines = LogFile(file)
        outcome = attempt_task(task, lines, lines.write, lines.progress)
    if isinstance(outcome, SimjudgeError):
        return {"error": str(outcome)}
    return {"seconds": outcome.seconds, "losses": list(outcome.losses)}


def attempt_task(task: StepTask, lines: LogFile, log: Log, progress: ProgressBar) -> StepRecord | SimjudgeError:
    """Do a step; whatever error there is becomes one line, and the log has all of it.

    Returns:
        The step as it was done, or why it could not be done.
    """
    lines.write(f"begins on {os.uname().nodename}, process {os.getpid()}")
    try:
        record = do_task(task, log, progress)
    except SimjudgeError as error:
        lines.write(f"{FAILED_LINE}{error}")
        return error
    except Exception as error:  # noqa: BLE001 - the step fails, the study goes on
        lines.write(traceback.format_exc())
        full = isinstance(error, OSError) and is_disk_full(error)
        reason = disk_trouble(cast("OSError", error)) if full else f"{type(error).__name__}: {error}"
        lines.write(f"{FAILED_LINE}{one_line(reason, _LONGEST)}")
        return SimjudgeError(one_line(reason, _LONGEST))
    lines.write(f"done in {record.seconds:.1f} s")
    return record


@contextmanager
def step_log(folder: Path, name: str) -> Iterator[IO[str]]:
    """Open the log of a step behind what earlier attempts have said."""
    path = log_path(folder, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        yield file


class LogFile:
    """The log of a step: lines with their times, and now and then how far it is."""

    def __init__(self, file: IO[str]) -> None:
        """Take a log."""
        self._file = file

    def write(self, line: str) -> None:
        """Write a line."""
        print(time.strftime(TIME_FORMAT), line, file=self._file, flush=True)

    @contextmanager
    def progress(self, task: str) -> Iterator[Advance]:
        """Say now and then how far a task is."""
        lines = ProgressLines(task, _LINE_PERIOD)

        def advance(done: int, total: int) -> None:
            if line := lines.line(done, total):
                self.write(line)

        yield advance


if __name__ == "__main__":
    main()
