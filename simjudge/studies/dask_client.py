"""Reach the workers of a Dask scheduler: connect to its address, and refuse workers of another version of simjudge."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.progress import Log
from simjudge.core.version import version

_CONNECT_SECONDS = 10
DASK_MISSING = 'needs Dask: pip install "simjudge[study]"'


@contextmanager
def connect_to_scheduler(address: str, log: Log) -> Iterator[tuple[Any, int]]:
    """Connect to a scheduler whose workers have this version of simjudge.

    Yields:
        Dask's client, and the number of threads that the scheduler's workers have now; 0 if it has no workers yet.

    Raises:
        UsageError: Dask is not installed.
        SimjudgeError: no scheduler answers, or a worker has another version of simjudge.
    """
    try:
        from distributed import Client  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise UsageError(f"--scheduler {address}: {DASK_MISSING}") from error
    silence_dask()
    try:
        # A loop of its own, in a thread of its own: notebooks have one running already.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, _ask_who_answers(address)).result()
        client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except asyncio.TimeoutError as error:  # in Python 3.10 it is no OSError
        raise SimjudgeError(
            f"--scheduler {address}: no Dask scheduler answers there within {_CONNECT_SECONDS} s"
        ) from error
    except (OSError, ValueError) as error:
        raise SimjudgeError(f"--scheduler {address}: no Dask scheduler answers there ({error})") from error
    with client:
        yield client, _check_workers(client, address, log)


async def _ask_who_answers(address: str) -> None:
    """Wait for a word of the scheduler: Dask's client waits without end for a port that listens and says nothing."""
    from distributed.core import rpc  # noqa: PLC0415 - an extra

    async def ask() -> None:
        async with rpc(address) as scheduler:
            await scheduler.identity()

    await asyncio.wait_for(ask(), _CONNECT_SECONDS)


def silence_dask() -> None:
    """Keep Dask from printing: what matters to a person is said in one line."""
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL)


def _check_workers(client: Any, address: str, log: Log) -> int:
    """Refuse workers of another version, whose numbers might differ; return the number of threads of the workers."""
    threads: dict[str, int] = client.nthreads()
    if not threads:
        log(f"note: {address} has no workers yet; waits for one")
        return 0
    try:
        versions = client.run(version)
    except ImportError as error:
        raise SimjudgeError(f"--scheduler {address}: its workers have no simjudge ({error})") from error
    for worker, found in versions.items():
        if found != version():
            raise SimjudgeError(f"--scheduler {address}: worker {worker} has simjudge {found}, this is {version()}")
    count = sum(threads.values())
    log(f"{len(threads)} workers with {count} threads at {address}")
    return count
