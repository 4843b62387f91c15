"""An attack on a reader: a small valid example on disk, one file of which gets other bytes.

Either the reader succeeds, or it raises a SimjudgeError of one line, within bounds of memory and computing time.
"""

from __future__ import annotations

import resource
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simjudge.core.errors import SimjudgeError

CPU_SECONDS = 30.0
"""Computing time that one input may take at most."""
MEMORY = 3 * 2**30
"""Bytes of address space that one input may add at most."""
LONGEST_MESSAGE = 3000
"""Characters of a message at most."""
MANY, FEW, FEWEST = 60, 12, 4
"""Inputs of a target in `make test`."""
ROOT = Path(__file__).parents[2]


class TooLongError(Exception):
    """An input took more computing time than it may."""


@dataclass(frozen=True)
class Target:
    """A reader under attack.

    Attributes:
        name: of the target.
        make: writes a valid example into an empty folder and returns the path to be read.
        file: the file that is attacked, as a pattern below the folder; the path itself where it is "".
        form: of the file: "json", "yaml", "text" or "bytes".
        read: reads the path, and uses what it gets.
        examples: inputs that `make test` tries: fewer where one takes a good part of a second, or a process of its own.
        needs: a module without which there is no such reader.
    """

    name: str
    make: Callable[[Path], Path]
    file: str
    form: str
    read: Callable[[Path], object]
    examples: int = MANY
    needs: str = ""


class Attack:
    """The example of a target, and how to read it with other bytes."""

    def __init__(self, target: Target) -> None:
        """Make the example."""
        self.target = target
        self._home = tempfile.TemporaryDirectory(prefix="simjudge_fuzz_")
        self.folder = Path(self._home.name) / "example"
        self.folder.mkdir()
        self.path = target.make(self.folder)
        self.file = min(self.folder.glob(target.file)) if target.file else self.path
        self.valid = self.file.read_bytes()

    def __call__(self, data: bytes) -> bool:
        """Read the example with these bytes in the place of the attacked file.

        Args:
            data: the bytes.

        Returns:
            Whether they could be read.
        """
        self.file.write_bytes(data)
        try:
            self.target.read(self.path)
        except SimjudgeError as error:
            check_message(str(error), self.folder)
            return False
        return True

    def close(self) -> None:
        """Remove the example."""
        self._home.cleanup()


def check_message(message: str, folder: Path) -> None:
    """A message is one line, can be printed, and names no temporary file."""
    assert "\n" not in message.strip(), message
    assert message.strip(), "an empty message"
    assert len(message) < LONGEST_MESSAGE, message[:200]
    rest = message.replace(str(folder), "").replace(str(ROOT), "")
    assert tempfile.gettempdir() not in rest, message
    assert ".tmp" not in rest, message


@contextmanager
def bounded() -> Iterator[None]:
    """What happens in the block ends with an error where it takes too much memory or computing time."""

    def stop(*_: Any) -> None:
        raise TooLongError(f"more than {CPU_SECONDS:.0f} s of computing time")

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    former = signal.signal(signal.SIGPROF, stop)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, hard))
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGPROF, former)
