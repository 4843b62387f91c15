"""One thread for a node's heavy work, so that the executor goes on taking messages."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

_POLL = 0.002  # Seconds that the executor's thread gives a piece of work before it serves other callbacks again


class WorkAbandonedError(Exception):
    """A piece of work was given up because the node ends."""


class WorkResult:
    """The result of a piece of work; a coroutine callback of a node can await it."""

    def __init__(self, future: Future[Any]) -> None:
        self._future = future

    def __await__(self) -> Generator[None, None, Any]:
        """Wait while other callbacks are served; rclpy resumes a waiting coroutine at once, so this takes time."""
        while not self._future.done():
            wait([self._future], _POLL)
            yield
        return self._future.result()


class Worker:
    """Does pieces of work one after the other on a thread of its own; among themselves they need no locks."""

    def __init__(self, failed: Callable[[Exception], None]) -> None:
        """Start the thread (failed: called, on the worker's thread, with what a posted piece of work raised)."""
        self._failed = failed
        self._pool = ThreadPoolExecutor(1, "worker")
        self._posted = self._begun = 0

    @property
    def waiting(self) -> int:
        """Pieces of work that have not begun."""
        return self._posted - self._begun

    def post(self, piece: Callable[[], object]) -> None:
        """Queue a piece of work whose result nobody needs."""
        self._submit(piece).add_done_callback(self._check)

    def ask(self, piece: Callable[[], Any]) -> WorkResult:
        """Queue a piece of work and get its result."""
        return WorkResult(self._submit(piece))

    def finish(self) -> None:
        """Do all work that waits, then end the thread."""
        self._pool.shutdown(wait=True)

    def _submit(self, piece: Callable[[], Any]) -> Future[Any]:
        self._posted += 1
        return self._pool.submit(self._begin, piece)

    def _begin(self, piece: Callable[[], Any]) -> Any:
        self._begun += 1
        return piece()

    def _check(self, future: Future[Any]) -> None:
        error = future.exception()
        if isinstance(error, Exception) and not isinstance(error, WorkAbandonedError):
            self._failed(error)
