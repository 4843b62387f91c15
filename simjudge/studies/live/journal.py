"""What survives kill -9: a file that records are only ever added to, each with its length and checksum.

A record is handed to the operating system before `append` returns, so that the end of the process cannot lose it (that
of the machine can lose the last few). A last record that was cut off is dropped, and said.
"""

from __future__ import annotations

import fcntl
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from simjudge.core.errors import SimjudgeError

_MAGIC = b"simjudge journal 1\n"
_KEY = 64
"""Bytes of the key, a SHA-256 in hexadecimal digits."""
_START = len(_MAGIC) + _KEY
"""Bytes before the first record."""
_HEAD = struct.Struct("<II")
_LARGEST = 1 << 30
"""Bytes of the largest record; a longer length is damage."""


class Journal:
    """A journal, locked against a second writer.

    Attributes:
        notes: what was dropped from it, a line each, once its records have been read.
    """

    def __init__(self, path: Path, key: str, *, resume: bool) -> None:
        """Open or begin a journal.

        Args:
            resume: go on with what is there; else it is written anew.
        """
        self.path, self.notes = path, list[str]()
        self._size = self._good = _START
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o644), "r+b", buffering=0)
        except OSError as error:
            raise SimjudgeError(f"{path}: cannot be written ({error.strerror})") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise SimjudgeError(f"{path}: is in use by another node; give each its own `out`") from error
        try:
            if resume:
                self._open(key)
            else:
                self.restart(key)
        except SimjudgeError:
            self._file.close()
            raise

    def append(self, record: bytes) -> None:
        """Add a record."""
        whole = _HEAD.pack(len(record), zlib.crc32(record)) + record
        end = self._file.tell()
        try:
            written = self._file.write(whole)
        except OSError as error:
            written, reason = 0, error.strerror
        else:
            reason = "the disk is full"
        if written != len(whole):
            self._file.truncate(end)
            self._file.seek(end)
            raise SimjudgeError(f"{self.path}: cannot be written ({reason})")

    def restart(self, key: str) -> None:
        """Drop all records.

        Args:
            key: 64 hexadecimal digits that say what the next records belong to.
        """
        self._file.seek(0)
        self._file.truncate()
        self._file.write(_MAGIC + key.encode().ljust(_KEY))

    def remove(self) -> None:
        """Delete the file: what it held is written elsewhere."""
        self.path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Leave the file as it is."""
        self._file.close()

    def records(self) -> Iterator[bytes]:
        """What was in the journal when it was opened, record by record; to be read before the first `append`.

        A last record that was cut off is dropped, a damaged one left out; `notes` says so.
        """
        self._file.seek(_START)
        while len(head := self._file.read(_HEAD.size)) == _HEAD.size:
            place = self._file.tell() - _HEAD.size
            length, checksum = _HEAD.unpack(head)
            record = self._file.read(length) if length <= _LARGEST else b""
            last = self._file.tell() == self._size
            # After a power cut a file may end in zeros, which would be records of no bytes.
            if not length or len(record) < length or (last and zlib.crc32(record) != checksum):
                break
            if zlib.crc32(record) == checksum:
                yield record
            else:
                self.notes.append(f"{self.path}: the record at byte {place} is damaged and left out")
            self._good = self._file.tell()
        if self._good < self._size:
            left = self._size - self._good
            self.notes.append(f"{self.path}: the last record was cut off; its {left} bytes are dropped")
            self._file.truncate(self._good)
        self._file.seek(self._good)

    def _open(self, key: str) -> None:
        head = self._file.read(_START) or b""
        if head and not head.startswith(_MAGIC[: len(head)]):
            raise SimjudgeError(f"{self.path}: is no journal of simjudge; move it away, or give another `out`")
        if len(head) < _START:
            self.restart(key)
            return
        if head[len(_MAGIC) :] != key.encode().ljust(_KEY):
            raise SimjudgeError(
                f"{self.path}: a killed run left it, with another reference or other parameters; start with those"
                " again, or with resume:=false to begin anew"
            )
        self._size = self._file.seek(0, os.SEEK_END)
