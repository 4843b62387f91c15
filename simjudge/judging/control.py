"""Comparisons beside one: the control, between two halves of a set (method, section 6); and one in the background.

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

import numpy as np

from simjudge.core.arrays import IntArray
from simjudge.core.errors import Advance, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.processes import isolated_workers, serve_parent
from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.pair import PairResult, compare_pair, entry_numbers
from simjudge.judging.set_comparison import SetComparison
from simjudge.method.entry_numbers import ComparisonNumbers, Control, EntryNumbers
from simjudge.method.join_parts import PartRunner
from simjudge.method.kinds import HiddenGap

SPLITS = 5
"""Ways to halve a set: of a single one, chance makes a gap in one of twenty reports."""
CONTROL_DRAWS = 400
"""Draws of a split at most: its verdict is looked at, its p is not quoted."""
MOST_OBJECTS = 4_000
"""Objects of a set that are halved at most, so that the control costs less than the comparison."""


def with_control(
    result: PairResult, settings: CompareSettings, *, deadline: float | None = None, run: PartRunner | None = None
) -> PairResult:
    """The same result with what the judge says between halves of A, and between halves of B."""
    if not settings.draws:
        return result
    control = {}
    for side, which in enumerate(("a", "b")):
        splits = [_between_halves(result, side, settings, split, deadline, run) for split in range(SPLITS)]
        splits.sort(key=lambda entry: -1.0 if entry.p_value is None else entry.p_value)
        gaps = sum(entry.verdict.differs for entry in splits)
        control[which] = Control(splits[SPLITS // 2], SPLITS, gaps)
    return replace(result, numbers=replace(result.numbers, control=control))


def _between_halves(
    result: PairResult, side: int, settings: CompareSettings, split: int, deadline: float | None, run: PartRunner | None
) -> EntryNumbers:
    """All classes together. A unit is of one half, so that the halves have nothing in common."""
    judged, units = (result.a, result.b)[side], result.units
    unit = units.unit[side]
    half = drawn_halves(unit, np.random.default_rng([settings.seed, 2, split]))
    first, second = (replace(judged, chosen=half == number) for number in range(2))
    of_set = replace(
        units,
        unit=(unit, unit),
        block=None if units.block is None else (units.block[side], units.block[side]),
        recording=None if units.recording is None else (units.recording[side], units.recording[side]),
        sides=(units.sides[side], units.sides[side]),
    )
    comparison = SetComparison((first, second), of_set, result.method, adjusts=settings.preset != "cpd")
    fewer = replace(settings, draws=min(settings.draws, CONTROL_DRAWS))
    [by_class], drawn = comparison.compare(comparison.schedule(fewer, deadline), run=run)
    _, overall = comparison.certainty(by_class, drawn, 0, settings.margin)
    return entry_numbers(list(by_class.values()), overall)


def drawn_halves(unit: IntArray, random: np.random.Generator) -> IntArray:
    """(N,) the half of each object, 0 or 1; -1 for what MOST_OBJECTS leaves out. Units are dealt in random order."""
    known, of, count = np.unique(unit, return_inverse=True, return_counts=True)
    order = random.permutation(len(known))
    half = np.full(len(known), -1)
    half[order] = np.arange(len(known)) % 2
    # A unit is never cut: those that would pass the limit stay out, but for the first of each half.
    half[order[2:][np.cumsum(count[order])[2:] > MOST_OBJECTS]] = -1
    return half[of]


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
        with isolated_workers():
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
