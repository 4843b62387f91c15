"""The parts of a join as tasks of a Dask cluster; the contexts go to the workers through a folder that all of them see.

The client writes everything that the parts need into one file, the workers map it into memory, and only the numbers of
the rows and their results travel through the scheduler. The client adds the results in the order of the parts, so they
are the same, to the last bit, as those of one process.
"""

from __future__ import annotations

import asyncio
import logging
import mmap
import pickle
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from simjudge.core.arrays import IntArray
from simjudge.core.errors import Log, SimjudgeError, UsageError
from simjudge.core.installed import install_command, version
from simjudge.method.join_parts import JoinPlan, PartResult, PartRunner, compare_part, run_parts

_ALIGNMENT = 64
_HEADER, _ARRAYS = "plan.pickle", "plan.arrays"
_RETRIES = 2
"""Times that a part is done again where it failed, as when a file system hiccups. What a dead worker had is done again
in any case."""


@contextmanager
def join_runner(scheduler: str | None, share: str | None, log: Log) -> Iterator[PartRunner]:
    """Who does the parts of a join."""
    if scheduler is None:
        if share is not None:
            raise UsageError("--share: says how the workers of a scheduler get the contexts; give --scheduler too")
        yield run_parts
        return
    with (
        connect_to_scheduler(scheduler, log) as (client, _),
        tempfile.TemporaryDirectory(prefix="simjudge-join-") as own,
    ):
        cluster = _ClusterRunner(client, share or own, given=share is not None)
        yield cluster.run_parts


class _ClusterRunner:
    """Does parts on the workers of a scheduler."""

    def __init__(self, client: Any, share: str, *, given: bool) -> None:
        """Do nothing yet."""
        self._client, self._share, self._given = client, share, given

    def run_parts(self, plan: JoinPlan, parts: Sequence[IntArray]) -> Iterator[PartResult]:
        """Do all parts."""
        from distributed.client import FutureCancelledError  # noqa: PLC0415 - an extra
        from distributed.scheduler import KilledWorker  # noqa: PLC0415 - an extra

        with _shared_plan(plan, self._share) as place:
            futures = self._client.map(
                _do_part, [place] * len(parts), parts, key=f"join-{uuid.uuid4().hex}", pure=False, retries=_RETRIES
            )
            try:
                for number, future in enumerate(futures):
                    yield future.result()
                    futures[number] = None
                    future.release()
            except FileNotFoundError as error:
                hint = "" if self._given else "; name one with --share"
                raise SimjudgeError(
                    f"{place}: a worker cannot see this folder, through which it gets the contexts{hint}"
                ) from error
            except KilledWorker as error:
                raise SimjudgeError("workers died again and again at one part of the join; see their logs") from error
            except (OSError, FutureCancelledError) as error:
                raise SimjudgeError(f"the Dask cluster is gone ({error}); compare again with one that runs") from error
            finally:
                self._client.cancel([future for future in futures if future is not None], force=True)


def _do_part(place: str, rows: IntArray) -> PartResult:
    """A part, on the worker that this runs on."""
    return compare_part(_read_plan(place), rows)


@contextmanager
def _shared_plan(plan: JoinPlan, share: str) -> Iterator[str]:
    """A plan in a folder of its own, which goes again."""
    from fsspec.core import url_to_fs  # noqa: PLC0415 - comes with Dask

    place = f"{share.rstrip('/')}/join-{uuid.uuid4().hex}"
    try:
        files, folder = url_to_fs(place)
        files.makedirs(folder)
    except (OSError, ValueError, ImportError) as error:
        raise SimjudgeError(f"--share {share}: cannot make a folder there ({error})") from error
    try:
        try:
            _write_plan(plan, files, folder)
        except OSError as error:
            raise SimjudgeError(f"--share {share}: cannot write the contexts there ({error})") from error
        yield place
    finally:
        files.rm(folder, recursive=True)


def _write_plan(plan: JoinPlan, files: Any, folder: str) -> None:
    """Write the arrays of a plan one behind the other, and what is left of it beside them."""
    arrays: list[pickle.PickleBuffer] = []
    header = pickle.dumps(plan, protocol=5, buffer_callback=arrays.append)
    places, end = [], 0
    with files.open(f"{folder}/{_ARRAYS}", "wb") as out:
        for array in arrays:
            data = array.raw()
            out.write(bytes(-end % _ALIGNMENT))
            end += -end % _ALIGNMENT
            out.write(data)
            places.append((end, data.nbytes))
            end += data.nbytes
        # A mapping of nothing cannot be made.
        out.write(b"\0")
    with files.open(f"{folder}/{_HEADER}", "wb") as out:
        out.write(pickle.dumps((version(), places, header), protocol=5))


@lru_cache(maxsize=2)
def _read_plan(place: str) -> JoinPlan:
    """A plan whose arrays are the file itself, mapped into memory: what is not looked at is not read."""
    from fsspec.core import url_to_fs  # noqa: PLC0415 - comes with Dask
    from fsspec.implementations.local import LocalFileSystem  # noqa: PLC0415 - comes with Dask

    files, folder = url_to_fs(place)
    of_client, places, header = pickle.loads(files.cat_file(f"{folder}/{_HEADER}"))  # noqa: S301 - of the tasks' client
    if of_client != version():
        raise SimjudgeError(f"a worker has simjudge {version()}, the comparison {of_client}; install the same")
    if isinstance(files, LocalFileSystem):
        mapped = _mapped(Path(folder) / _ARRAYS)
    else:
        with tempfile.TemporaryDirectory(prefix="simjudge-join-") as own:
            files.get_file(f"{folder}/{_ARRAYS}", f"{own}/{_ARRAYS}")
            mapped = _mapped(Path(own) / _ARRAYS)
    view = memoryview(mapped)
    plan: JoinPlan = pickle.loads(header, buffers=[view[at : at + size] for at, size in places])  # noqa: S301 - as above
    return plan


def _mapped(path: Path) -> mmap.mmap:
    """A file as memory, also once it is deleted."""
    with path.open("rb") as file:
        # Copy on write: compiled loops are made for arrays that may be written to. None of them does.
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)


_CONNECT_SECONDS = 10
DASK_MISSING = f"needs Dask: {install_command('distributed')}"


@contextmanager
def connect_to_scheduler(address: str, log: Log) -> Iterator[tuple[Any, int]]:
    """Connect to a scheduler whose workers have this version of simjudge."""
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
