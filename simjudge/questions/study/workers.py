"""Who does the steps of a study: this process, processes of this machine, or a cluster. Both latter are Dask's."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import Any, Protocol

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.progress import Log, ProgressBar
from simjudge.core.text import one_line
from simjudge.questions.study.process import LogFile, PickledTask, attempt_task, do_task_apart, pickle_task, step_log
from simjudge.questions.study.records import StepRecord
from simjudge.questions.study.work import StepTask
from simjudge.studies.join_cluster import DASK_MISSING, connect_to_scheduler, silence_dask

_MEMORY_PER_JOB = 2 * 2**30
"""Bytes that a step may need: rendering and training take between 0.5 and 2 GB."""
_LONGEST = 300
"""Characters of an error of Dask's that are shown."""
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
        """Wait for steps.

        Args:
            cores: numbers of cores for each worker of this machine; None for workers elsewhere, who use all of theirs.
        """
        from distributed import as_completed  # noqa: PLC0415 - an extra

        self.jobs = jobs
        self._client, self._cores = client, cores
        self._done = as_completed(loop=client.loop)
        self._tasks: dict[str, StepTask] = {}
        self._futures: dict[str, Any] = {}

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
    """Workers for a study.

    Args:
        jobs: processes of this machine; None for as many as it has cores and memory for.
        scheduler: address of a Dask scheduler, in place of processes of this machine.
    """
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
    """Deal the cores of a machine to jobs, so that no two jobs slow each other down.

    Args:
        jobs: how many; where there are more than cores, some share one.
    """
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
            n_workers=jobs, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", memory_limit=None,
            silence_logs="CRITICAL",
        )  # fmt: skip
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
