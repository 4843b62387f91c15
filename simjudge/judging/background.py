"""A comparison in a process of its own, at low priority, so that live work beside it loses nothing.

A process rather than a thread: Python runs one thread at a time, and the compiled loops must not be entered by two
threads at once where numba has no thread-safe threading layer.
"""

from __future__ import annotations

import os
import signal
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing import get_context

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.processes import serve_parent
from simjudge.core.progress import Advance
from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.pair import compare_pair
from simjudge.method.entry_numbers import ComparisonNumbers
from simjudge.method.kinds import HiddenGap

_NICENESS = 10
"""Steps by which the process yields to others, of 19."""


@dataclass(frozen=True)
class ComparisonJob:
    """Two sets to compare in one direction or in both."""

    a: FrameSet
    b: FrameSet
    settings: CompareSettings
    both: bool


@dataclass(frozen=True)
class DirectionNumbers:
    """The numbers of both directions, and what they hide."""

    forward: ComparisonNumbers
    backward: ComparisonNumbers | None  # of A predicting B; None where it was not asked for
    hidden: HiddenGap | None  # of B predicting A, where the verdict alone would hide it


def compare_directions(job: ComparisonJob) -> DirectionNumbers:
    """Do a job in this process."""
    forward = compare_pair(job.a, job.b, job.settings)
    return DirectionNumbers(forward.numbers, compare_backward(job) if job.both else None, forward.hidden_gap)


def compare_backward(
    job: ComparisonJob, advance: Advance | None = None, deadline: float | None = None
) -> ComparisonNumbers:
    """Compare A predicting B."""
    return compare_pair(job.b, job.a, job.settings, advance=advance, deadline=deadline).numbers


class BackgroundComparison:
    """A job that a process of its own does: a process pool's future, and a way to kill the process."""

    def __init__(self, job: ComparisonJob) -> None:
        """Start the process."""
        lean = replace(job, a=replace(job.a, images=None), b=replace(job.b, images=None))
        # "spawn": a fork would inherit the locks of threads that do not run in it.
        self._pool = ProcessPoolExecutor(1, get_context("spawn"), initializer=_yield_and_serve)
        self._process: Future[int] = self._pool.submit(os.getpid)
        self._future = self._pool.submit(compare_directions, lean)
        self._pool.shutdown(wait=False)

    @property
    def done(self) -> bool:
        """Whether it has ended, one way or the other."""
        return self._future.done()

    @property
    def numbers(self) -> DirectionNumbers | None:
        """The result; None until it is there, and where the job failed."""
        return self._future.result() if self.done and self._future.exception() is None else None

    @property
    def problem(self) -> str | None:
        """Why the job failed; None where it did not."""
        error = self._future.exception() if self.done else None
        if error is None or isinstance(error, SimjudgeError):
            return None if error is None else str(error)
        return f"the process failed: {type(error).__name__}: {error}"

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end."""
        wait([self._future], seconds)
        return self.done

    def stop(self) -> None:
        """Kill the process; the job has no result then, unless it had ended before."""
        if not self.done:
            # A pool has no public way to end a running job before Python 3.14.
            with suppress(ProcessLookupError, BrokenProcessPool):
                os.kill(self._process.result(), signal.SIGKILL)
        wait([self._future])


def _yield_and_serve() -> None:
    """Run at low priority, for the process that started this one."""
    os.nice(_NICENESS)
    serve_parent()
