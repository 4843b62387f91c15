"""Files that come from anywhere: only ordinary ones are opened, and none that cannot fit into memory is read whole.

A file in whose place a pointer of Git LFS lies, and a recording of ROS 1, are called by their names.
Opening a named pipe waits until somebody writes to it, and /dev/zero never ends.
"""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path

from simjudge.core.errors import SimjudgeError

LARGEST_TEXT = 2**31
"""Bytes of the largest text that is read whole."""
LARGEST_IMAGE_FILE = 2**30
"""Bytes of the largest image file that is read."""
_LARGEST_POINTER = 1024
"""Bytes of a pointer of Git LFS or git-annex at most."""
_RECORDING_SUFFIXES = (".bag", ".mcap", ".db3")
_LFS = b"version https://git-lfs.github.com/spec/"
_ANNEX = b"/annex/objects/"
_ROS1 = b"#ROSBAG V"
_HEAD = max(map(len, (_LFS, _ANNEX, _ROS1)))
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def is_file(path: Path) -> bool:
    """Whether an ordinary file is there; False for what can be no name of a file, such as one of 5,000 characters."""
    return os.path.isfile(path)  # noqa: PTH113 - Path.is_file raises where a name is too long


def is_folder(path: Path) -> bool:
    """Whether a folder is there; False for what can be no name of one."""
    return os.path.isdir(path)  # noqa: PTH112 - see above


def check_file(path: Path, largest: int | None = None) -> None:
    """Make sure that a path can be opened and read to its end.

    Args:
        largest: its size at most, bytes; None for any.
    """
    size = _ordinary_size(path, largest)
    if size > _LARGEST_POINTER and path.suffix not in _RECORDING_SUFFIXES:
        return
    try:
        with path.open("rb") as stream:
            head = stream.read(_HEAD)
    except OSError as error:
        raise SimjudgeError(f"{path}: cannot be read: {error.strerror}") from error
    _check_head(path, head)


def read_bytes(path: Path, largest: int) -> bytes:
    """Read a whole file."""
    _ordinary_size(path, largest)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SimjudgeError(f"{path}: cannot be read: {error.strerror}") from error
    _check_head(path, data[:_HEAD])
    return data


def _ordinary_size(path: Path, largest: int | None) -> int:
    """The size of an ordinary file in bytes; refuses anything else, and what is larger."""
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
    return found.st_size


def _check_head(path: Path, head: bytes) -> None:
    """Refuse, by its own name, what often lies under the name of something else."""
    if head.startswith(_LFS):
        raise SimjudgeError(f"{path}: is a pointer of Git LFS, not the file itself; fetch it with 'git lfs pull'")
    if head.startswith(_ANNEX):
        raise SimjudgeError(f"{path}: is a pointer of git-annex, not the file itself; fetch it with 'git annex get'")
    if head.startswith(_ROS1):
        convert = f"python3 -m rosbags.convert --src {shlex.quote(str(path))} --dst {shlex.quote(path.stem)}"
        raise SimjudgeError(f"{path}: is a recording of ROS 1; convert it to ROS 2 first: {convert}")
