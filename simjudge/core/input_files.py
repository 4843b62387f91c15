"""Files that come from anywhere: only ordinary ones are opened, and none that cannot fit into memory is read whole.

Opening a named pipe waits until somebody writes to it, and /dev/zero never ends.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from simjudge.core.errors import SimjudgeError

LARGEST_TEXT = 2**31
"""Bytes of the largest text that is read whole."""
LARGEST_IMAGE_FILE = 2**30
"""Bytes of the largest image file that is read."""
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def is_file(path: Path) -> bool:
    """Whether an ordinary file is there; False for what can be no name of a file, such as one of 5,000 characters.

    Args:
        path: as it may stand in a data set.
    """
    return os.path.isfile(path)  # noqa: PTH113 - Path.is_file raises where a name is too long


def is_folder(path: Path) -> bool:
    """Whether a folder is there; False for what can be no name of one.

    Args:
        path: as it may stand in a data set.
    """
    return os.path.isdir(path)  # noqa: PTH112 - see above


def check_file(path: Path, largest: int | None = None) -> None:
    """Make sure that a path can be opened and read to its end.

    Args:
        path: of the file.
        largest: its size at most, bytes; None for any.

    Raises:
        SimjudgeError: it is not there, is no ordinary file, or is larger.
    """
    try:
        found = path.stat()
    except OSError as error:
        raise SimjudgeError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise SimjudgeError(f"{str(path)!r}: is no name of a file ({error})") from error
    kind = next((name for test, name in _KINDS if test(found.st_mode)), None)
    if kind is not None:
        remedy = "name a file in it" if stat.S_ISDIR(found.st_mode) else "copy what it gives into a file, and name that"
        raise SimjudgeError(f"{path}: is {kind}, not a file; {remedy}")
    if largest is not None and found.st_size > largest:
        raise SimjudgeError(f"{path}: {found.st_size / 1e9:.1f} GB is more than can be read at once; make it smaller")


def read_bytes(path: Path, largest: int) -> bytes:
    """Read a whole file.

    Args:
        path: of the file.
        largest: its size at most, bytes.

    Raises:
        SimjudgeError: it cannot be read, is no ordinary file, or is larger.
    """
    check_file(path, largest)
    try:
        return path.read_bytes()
    except OSError as error:
        raise SimjudgeError(f"{path}: cannot be read: {error.strerror}") from error
