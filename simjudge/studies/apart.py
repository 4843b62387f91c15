"""A comparison in a process of its own, at low priority, so that live work beside it loses nothing.

The compiled kernels must not be entered from two threads at once on every machine, and Python runs one thread at a
time; a process of its own has neither trouble.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from dataclasses import dataclass, replace
from threading import Thread
from typing import Any

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.progress import Advance
from simjudge.studies.compare_settings import CompareSettings
from simjudge.studies.pair import PairResult, compare_pair


@dataclass(frozen=True)
class Job:
    """Two sets to compare in one direction or both: B predicting A, and A predicting B."""

    a: FrameSet
    b: FrameSet
    settings: CompareSettings
    both: bool


@dataclass(frozen=True)
class Numbers:
    """The numbers of result.json ("by_class", "overall") of both directions; None for one that was not asked for."""

    forward: dict[str, Any]
    backward: dict[str, Any] | None


def work(job: Job) -> Numbers:
    """Do a job here and now.

    Raises:
        SimjudgeError: the sets cannot be compared.
    """
    forward = compare_pair(job.a, job.b, job.settings).numbers
    return Numbers(forward, backward(job) if job.both else None)


def backward(job: Job, advance: Advance | None = None) -> dict[str, Any]:
    """The numbers of A predicting B."""
    result: PairResult = compare_pair(job.b, job.a, job.settings, advance=advance)
    return result.numbers


class Apart:
    """A job that is being done in a process of its own.

    Attributes:
        numbers: the result, None until it is there and where it failed.
        problem: why it failed, None where it did not.
    """

    def __init__(self, job: Job) -> None:
        """Start it."""
        self.numbers: Numbers | None = None
        self.problem: str | None = None
        self._stopped = False
        lean = replace(job, a=replace(job.a, images=None), b=replace(job.b, images=None))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "simjudge.studies.apart"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        self._thread = Thread(target=self._serve, args=(pickle.dumps(lean),), name="comparison apart", daemon=True)
        self._thread.start()

    @property
    def done(self) -> bool:
        """Whether it has ended, one way or the other."""
        return not self._thread.is_alive()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end; whether it has come."""
        self._thread.join(seconds)
        return self.done

    def stop(self) -> None:
        """End it without a result."""
        self._stopped = True
        self._process.kill()
        self._thread.join()

    def _serve(self, job: bytes) -> None:
        out, err = self._process.communicate(job)
        if self._stopped:
            return
        try:
            answer = pickle.loads(out)  # noqa: S301 - from our own process
        except (EOFError, pickle.UnpicklingError, ValueError):
            lines = err.decode(errors="replace").strip().splitlines()
            self.problem = f"the process ended with {self._process.returncode}: {lines[-1] if lines else 'no word'}"
            return
        if isinstance(answer, Numbers):
            self.numbers = answer
        else:
            self.problem = str(answer)


def main() -> None:
    """Read a job from stdin, write its numbers (or one line of what is wrong) to stdout."""
    os.nice(10)
    job = pickle.load(sys.stdin.buffer)  # noqa: S301 - from our own process
    # Nothing else may stand in the answer, whatever a library prints.
    answer_to = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        answer: Numbers | str = work(job)
    except SimjudgeError as error:
        answer = str(error)
    with answer_to:
        pickle.dump(answer, answer_to)


if __name__ == "__main__":
    from simjudge.studies.apart import main as run  # under its own name, so that both sides mean the same classes

    run()
