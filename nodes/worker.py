"""One thread that does a node's heavy work, piece by piece, while the executor goes on taking messages."""

from __future__ import annotations

import queue
from collections.abc import Callable, Generator
from threading import Event, Thread
from typing import Any

_POLL = 0.002


class Interrupted(Exception):  # noqa: N818 - not an error
    """The node ends; unfinished work is given up."""


class Answer:
    """What a piece of work gives, once it is done; a coroutine callback awaits it while others are served."""

    def __init__(self) -> None:
        """Nothing yet."""
        self._done = Event()
        self._value: Any = None
        self._error: BaseException | None = None

    def settle(self, value: Any, error: BaseException | None) -> None:
        """Say how it ended."""
        self._value, self._error = value, error
        self._done.set()

    def __await__(self) -> Generator[None, None, Any]:
        """Wait, giving way to other callbacks every other millisecond."""
        while not self._done.wait(_POLL):
            yield
        if self._error is not None:
            raise self._error
        return self._value


class Worker:
    """Does what is posted, in order, on a thread of its own: what is posted here needs no locks among itself."""

    def __init__(self, failed: Callable[[Exception], None]) -> None:
        """Start.

        Args:
            failed: told when a posted piece of work raises something.
        """
        self._failed = failed
        self._work: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._thread = Thread(target=self._run, name="worker", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Pieces of work that have not begun."""
        return self._work.qsize()

    def post(self, piece: Callable[[], object]) -> None:
        """Have something done."""
        self._work.put(piece)

    def ask(self, piece: Callable[[], Any]) -> Answer:
        """Have something done and get its result, or the exception it raises."""
        answer = Answer()

        def do() -> None:
            try:
                answer.settle(piece(), None)
            except Exception as error:  # noqa: BLE001 - raised where it is awaited
                answer.settle(None, error)

        self._work.put(do)
        return answer

    def finish(self) -> None:
        """Do what is still waiting, and end."""
        self._work.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (piece := self._work.get()) is not None:
            self._do(piece)

    def _do(self, piece: Callable[[], object]) -> None:
        try:
            piece()
        except Interrupted:
            return
        except Exception as error:  # noqa: BLE001 - handed to the main thread, which raises it
            self._failed(error)
