"""Recordings that are being written, beside the name that they will get; what was recorded outlives errors and kills.

The folder `.recording.*.tmp` is locked as long as its writer lives, so that one without a writer can be told.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType

from simjudge.core.errors import SimjudgeError
from simjudge.core.files import check_output, plain_os_errors, sync_file
from simjudge.data.rosbag2.recording_files import STORAGE_SUFFIXES

_PREFIX, _SUFFIX = ".recording.", ".tmp"
_LOCK = "lock"
_MARK = "unfinished"
"""What stands in the name of a recording that was not finished."""


class UnfinishedRecording:
    """The place of a recording until it has its name.

    Attributes:
        folder: the rosbag2 folder to write; not there yet.
    """

    def __init__(self, path: Path) -> None:
        """Make the place.

        Args:
            path: the name that the recording will get: a .mcap or .db3 file, or a folder.
        """
        check_output(path)
        self._path = path
        self._is_file = path.suffix in STORAGE_SUFFIXES
        with plain_os_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._near = Path(tempfile.mkdtemp(_SUFFIX, _PREFIX, path.parent))
            self._lock = os.open(self._near / _LOCK, os.O_CREAT | os.O_RDWR, 0o644)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.folder = self._near / (path.stem if self._is_file else path.name)

    def __enter__(self) -> UnfinishedRecording:  # noqa: PYI034 - Python 3.10 has no Self
        """The place itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Remove the place."""
        self.remove()

    def remove(self) -> None:
        """Remove the place; a recording that is still in it is gone."""
        shutil.rmtree(self._near, ignore_errors=True)
        os.close(self._lock)

    def finish(self) -> None:
        """Give the recording its name."""
        check_output(self._path)
        with plain_os_errors(self._path):
            self._move(self._path)

    def keep(self) -> Path | None:
        """Give what was recorded a name that says that it is not finished.

        Returns:
            The name; None where not even a file was begun.
        """
        if not any(file.stat().st_size for file in self.folder.glob("*") if file.suffix in STORAGE_SUFFIXES):
            return None
        stem, ending = (self._path.stem, self._path.suffix) if self._is_file else (self._path.name, "")
        names = (f"{stem}.{_MARK}{number}{ending}" for number in ["", *range(2, 1000)])
        kept = next(path for name in names if not os.path.lexists(path := self._path.with_name(name)))
        self._move(kept)
        return kept

    def _move(self, path: Path) -> None:
        file = self.folder / f"{self.folder.name}{self._path.suffix}" if self._is_file else self.folder
        for each in [file] if self._is_file else file.iterdir():
            sync_file(each)
        if path.is_dir():
            path.rmdir()  # an empty folder may stand there
        file.replace(path)


def find_unfinished(folder: Path) -> list[Path]:
    """Find recordings whose writers were killed.

    Returns:
        Their folders. Those without any message, and those that are being written, are none.
    """
    try:
        places = sorted(folder.glob(f"{_PREFIX}*{_SUFFIX}"))
        return [place for place in places if place.is_dir() and _is_left(place) and storage_files(place)]
    except OSError:
        return []


def storage_files(place: Path) -> list[Path]:
    """The storage files of an unfinished recording."""
    files = (file for file in place.glob("*/*") if file.suffix in STORAGE_SUFFIXES and not file.is_symlink())
    return sorted(file for file in files if file.stat().st_size)


def describe_unfinished(folder: Path) -> list[str]:
    """One line for each recording whose writer was killed, for people."""
    lines = []
    for place in find_unfinished(folder):
        size = sum(file.stat().st_size for file in storage_files(place)) / 1e6
        name = storage_files(place)[0].name
        lines.append(
            f"note: {place} holds {size:.1f} MB of {name}, whose recording was killed; 'simjudge recover {place}' reads"
            " it, or remove it"
        )
    return lines


def is_unfinished(path: Path) -> bool:
    """Whether a path is the folder of a recording that has no name yet."""
    return path.is_dir() and path.name.startswith(_PREFIX) and path.name.endswith(_SUFFIX)


def refuse_if_written(path: Path) -> None:
    """Refuse the folder of a recording that is being written."""
    if not _is_left(path):
        raise SimjudgeError(f"{path}: is being recorded right now; stop that command first")


def recovered_name(path: Path) -> Path:
    """The name that a recovered recording gets where none is given."""
    source = path
    if is_unfinished(path):
        files = storage_files(path)

        source = path.with_name(files[0].name if files else path.name)
    stem = source.name.removesuffix(source.suffix) if source.suffix in STORAGE_SUFFIXES else source.name
    ending = source.suffix if source.suffix in STORAGE_SUFFIXES else ""
    return source.with_name(f"{stem.removesuffix('.' + _MARK)}.recovered{ending}")


def _is_left(place: Path) -> bool:
    """Whether nobody writes there any more."""
    try:
        lock = os.open(place / _LOCK, os.O_RDWR)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True
