"""What survives kill -9: a file that records are only ever added to, each with its length and checksum.

A record is handed to the operating system before `append` returns, so that the end of the process cannot lose it (that
of the machine can lose the last few). A last record that was cut off is dropped, and said.
"""

from __future__ import annotations

import fcntl
import json
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from simjudge.core.errors import SimjudgeError
from simjudge.core.files import check_file
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Masks, Objects, Predictions
from simjudge.core.text import Json

_COLUMNS = {
    "frame": np.int64,
    "class_id": np.int64,
    "box": np.float64,
    "instance": np.int64,
    "distance": np.float64,
    "visible": np.float64,
    "score": np.float64,
}
_MASK_COLUMNS = {"origin": np.int32, "shape": np.int32, "bits": np.uint8, "start": np.int64}
_WIDE = {"box": 4, "origin": 2, "shape": 2}


def pack(frame: FrameSet, **notes: Any) -> bytes:
    """Pack a frame and notes into bytes."""
    predictions = Predictions.empty() if frame.predictions is None else frame.predictions
    parts: list[bytes] = []
    layout: list[list[tuple[str, int]]] = []
    for table in (frame.objects, predictions, frame.objects.masks, predictions.masks):
        names = _MASK_COLUMNS if isinstance(table, Masks) else _COLUMNS
        columns = [(name, getattr(table, name)) for name in names if hasattr(table, name)]
        layout.append([(name, len(column)) for name, column in columns])
        parts += [np.ascontiguousarray(column, names[name]).tobytes() for name, column in columns]
    head = {
        "name": frame.name,
        "frame_name": frame.frame_name[0],
        "stamp": int(frame.stamp[0]),
        "size": frame.size[0].tolist(),
        "class_names": frame.class_names,
        "layout": layout,
        "notes": notes,
    }
    text = json.dumps(head, ensure_ascii=False, separators=(",", ":")).encode()
    return b"".join([len(text).to_bytes(4, "little"), text, *parts])


def unpack(record: bytes) -> tuple[FrameSet, Json]:
    """Unpack what was packed."""
    try:
        place = 4 + int.from_bytes(record[:4], "little")
        head = json.loads(record[4:place])
        columns = []
        for entries in head["layout"]:
            kinds = _MASK_COLUMNS if any(name == "bits" for name, _ in entries) else _COLUMNS
            table = {}
            for name, rows in entries:
                count = rows * _WIDE.get(name, 1)
                column = np.frombuffer(record, kinds[name], count, place).copy()
                table[name] = column.reshape(rows, _WIDE[name]) if name in _WIDE else column
                place += column.nbytes
            columns.append(table)
        masks = [Masks(**table) if table else None for table in columns[2:]]
        frame = FrameSet.build(
            head["name"],
            [head["size"]],
            Objects(**columns[0], masks=masks[0]),
            Predictions(**columns[1], masks=masks[1]),
            frame_name=[head["frame_name"]],
            stamp=[head["stamp"]],
            class_names={int(k): name for k, name in head["class_names"].items()},
        )
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise SimjudgeError(f"a record of the journal holds no frame ({error})") from error
    return frame, dict(head["notes"])


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

    `notes`: what was dropped from it, a line each, once its records have been read.
    """

    def __init__(self, path: Path, key: str, *, resume: bool) -> None:
        """Open or begin a journal."""
        self.path, self.notes = path, list[str]()
        self._size = self._good = _START
        if path.exists():
            check_file(path)
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
        """Drop all records."""
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
