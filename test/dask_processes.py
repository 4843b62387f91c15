"""A Dask scheduler and workers as processes of their own, as people start them: each can be killed without the others.

A `LocalCluster` of Dask does not do for that: it starts killed workers again, and may wait for them for ever.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

_COMMON = ("--host", "127.0.0.1", "--no-dashboard")


class DaskProcesses(NamedTuple):
    """A running scheduler.

    Attributes:
        address: of the scheduler.
        scheduler: its process.
        worker: starts a worker of one thread under the given name, and returns its process once it is connected.
    """

    address: str
    scheduler: subprocess.Popen[bytes]
    worker: Callable[[str], subprocess.Popen[bytes]]


def start(command: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    """Python with these arguments, in a session of its own; what it says goes to `log`."""
    with log.open("w") as file:
        return subprocess.Popen([sys.executable, *command], stdout=file, stderr=file, start_new_session=True)


def wait_until(holds: Callable[[], object], process: subprocess.Popen[bytes]) -> None:
    """Wait as long as `process` runs."""
    while not holds():
        assert process.poll() is None, "ended early"
        time.sleep(0.02)


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill it."""
    process.kill()
    process.wait()


@contextmanager
def dask_processes(folder: Path) -> Iterator[DaskProcesses]:
    """A scheduler without workers; at the end it and its workers are killed."""
    note = folder / "scheduler.json"
    scheduler = start(
        [
            "-m",
            "distributed.cli.dask_scheduler",
            "--port",
            "0",
            "--scheduler-file",
            str(note),
            "--no-jupyter",
            *_COMMON,
        ],
        folder / "scheduler.txt",
    )
    started = [scheduler]

    def worker(name: str) -> subprocess.Popen[bytes]:
        log = folder / f"worker_{name}.txt"
        process = start(
            [
                "-m",
                "distributed.cli.dask_worker",
                "--scheduler-file",
                str(note),
                "--nthreads",
                "1",
                "--no-nanny",
                *_COMMON,
            ],
            log,
        )
        started.append(process)
        wait_until(lambda: "Starting established connection" in log.read_text(), process)
        return process

    try:
        wait_until(lambda: note.exists() and '"address"' in note.read_text(), scheduler)
        yield DaskProcesses(note.read_text().split('"address": "')[1].split('"')[0], scheduler, worker)
    finally:
        for process in started:
            end(process)
