"""Who does the steps of a study: this process, processes of this machine, or a cluster (the latter two by Dask).

A step's process runs on some of the machine's cores and ends with the one that started it, however that ends: its
standard input then closes. What libraries print goes into the step's log. A step that a library crashes fails by
itself, and its memory is given back.
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
from multiprocessing import resource_tracker
from pathlib import Path
from threading import Thread
from typing import IO, Any, Protocol, cast

from simjudge.core.errors import Advance, Log, ProgressBar, ProgressLines, SimjudgeError, UsageError
from simjudge.core.files import disk_trouble, is_disk_full
from simjudge.core.processes import EXIT_FAILED, python_command
from simjudge.core.text import one_line
from simjudge.judging.join_cluster import DASK_MISSING, connect_to_scheduler, silence_dask
from simjudge.questions.study.work import StepRecord, StepTask, do_task, log_path

_LINE_PERIOD = 10.0
"""Seconds between lines in the log that say how far a step is."""
FAILED_LINE = "failed: "
"""How the last line of the log of a step begins, behind the time, where the step failed."""
TIME_FORMAT = "%Y-%m-%d %H:%M:%S"
_LONGEST = 300
"""Characters of a library's error that are shown; the log has all of it where the library is not Dask."""
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
    """Do a step in a process of its own. Returns the seconds that it took, and lines of what was left out."""
    environment = {**os.environ, **dict.fromkeys(_THREADS, str(len(cores)))}
    command = python_command("-m", "simjudge.questions.study.workers", ",".join(map(str, cores)))
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
    """Do a step; whatever error there is becomes one line, and the log has all of it."""
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
        if line := lines.last_line():
            self.write(line)


_MEMORY_PER_JOB = 2 * 2**30
"""Bytes that a step may need: rendering and training take between 0.5 and 2 GB."""
Outcome = StepRecord | SimjudgeError


class Workers(Protocol):
    """Do steps, some at a time."""

    jobs: int
    """Steps that can be done at one time."""

    def start(self, task: StepTask) -> None:
        """Begin with a step, or put it behind those that are begun."""

    def next_done(self) -> tuple[str, Outcome]:
        """Wait for a step to end: its name, and what came of it."""


class ThisProcess:
    """Does one step after the other here, where it can show how far it is."""

    jobs = 1

    def __init__(self, log: Log, progress: ProgressBar) -> None:
        """Wait for steps."""
        self._log, self._progress = log, progress
        self._waiting: list[StepTask] = []

    def start(self, task: StepTask) -> None:
        """Put a step behind those that wait."""
        self._waiting.append(task)

    def next_done(self) -> tuple[str, Outcome]:
        """Do the first step that waits."""
        task = self._waiting.pop(0)
        with step_log(task.folder, task.name) as file:
            lines = LogFile(file)

            def log(line: str) -> None:
                lines.write(line)
                self._log(line)

            return task.name, attempt_task(task, lines, log, self._progress)


class DaskWorkers:
    """Does steps as tasks of Dask."""

    def __init__(self, client: Any, jobs: int, cores: Sequence[Sequence[int]] | None) -> None:
        """Wait for steps."""
        from distributed import as_completed  # noqa: PLC0415 - an extra

        self.jobs = jobs
        self._client, self._cores = client, cores
        self._done = as_completed(loop=client.loop)
        self._tasks: dict[str, StepTask] = {}
        self._futures: dict[str, object] = {}

    def start(self, task: StepTask) -> None:
        """Submit a step."""
        key = f"{task.name}-{task.digest}"
        future = self._client.submit(_do_on_worker, pickle_task(task), self._cores, key=key, pure=False)
        self._tasks[key] = task
        self._futures[key] = future
        self._done.add(future)

    def next_done(self) -> tuple[str, Outcome]:
        """Wait for a step that ends."""
        future = next(self._done)
        task = self._tasks[future.key]
        name = task.name
        self._futures.pop(future.key)
        if future.status == "finished":
            seconds, losses = future.result()
            return name, StepRecord(name, task.verb_name, task.folder / task.output, seconds, losses=losses)
        if future.status in {"cancelled", "lost"}:
            raise SimjudgeError(
                "the Dask scheduler is gone; run the same command again, with a scheduler that runs: it does what is"
                " missing"
            )
        error = future.exception()
        if isinstance(error, SimjudgeError):
            return name, error
        if type(error).__name__ == "KilledWorker":
            return name, SimjudgeError("every worker that had this step has died; see the logs of the workers")
        return name, SimjudgeError(one_line(f"{type(error).__name__}: {error}", _LONGEST))


def _do_on_worker(task: PickledTask, cores: Sequence[Sequence[int]] | None) -> tuple[float, tuple[str, ...]]:
    """Do a step on the worker that this runs on."""
    mine = sorted(os.sched_getaffinity(0))
    if cores is not None:
        from distributed import get_worker  # noqa: PLC0415 - an extra

        mine = list(cores[int(get_worker().name)])
    return do_task_apart(task, mine)


@contextmanager
def open_workers(
    jobs: int | None, scheduler: str | None, most: int, log: Log, progress: ProgressBar
) -> Iterator[Workers]:
    """Workers for a study."""
    if scheduler is not None:
        if jobs is not None:
            raise UsageError("--jobs: the scheduler has its workers; leave out one of --jobs and --scheduler")
        with connect_to_scheduler(scheduler, log) as (client, threads):
            yield DaskWorkers(client, max(threads, 1), None)
        return
    count = min(default_jobs() if jobs is None else jobs, max(most, 1))
    if count == 1:
        yield ThisProcess(log, progress)
        return
    with _local(count) as workers:
        yield workers


def default_jobs() -> int:
    """Steps that this machine has cores and memory for; 1 where Dask is not installed."""
    from importlib.util import find_spec  # noqa: PLC0415 - seldom needed

    if find_spec("distributed") is None:
        return 1
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(min(len(os.sched_getaffinity(0)), memory // _MEMORY_PER_JOB), 1)


def share_cores(cores: Sequence[int], jobs: int) -> list[list[int]]:
    """Deal the cores of a machine to jobs, so that no two jobs slow each other down."""
    return [list(cores[job::jobs]) or [cores[job % len(cores)]] for job in range(jobs)]


@contextmanager
def _local(jobs: int) -> Iterator[Workers]:
    """Processes of this machine that end with this one."""
    try:
        from distributed import Client, LocalCluster  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise UsageError(f"--jobs {jobs}: {DASK_MISSING}") from error
    cores = share_cores(sorted(os.sched_getaffinity(0)), jobs)
    silence_dask()
    with _deaf_to_interrupts():
        cluster = LocalCluster(
            n_workers=jobs,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            memory_limit=None,
            silence_logs="CRITICAL",
        )
    with cluster, Client(cluster, set_as_default=False) as client:
        yield DaskWorkers(client, jobs, cores)


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Processes that begin here hear no Ctrl-C, which a terminal sends to all: the run ends them, without tracebacks.

    An interrupt that comes meanwhile reaches this process afterwards.
    """
    # The tracker's own start would let interrupts through again.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


if __name__ == "__main__":
    main()
