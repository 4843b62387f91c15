"""A recording that grows while messages come in: readable up to the last flush even if its writer is killed."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from rosbags.interfaces import Connection, Qos
from rosbags.rosbag2 import WriterError
from rosbags.rosbag2.storage_sqlite3 import Sqlite3Writer

from simjudge.core.errors import SimjudgeError
from simjudge.core.files import disk_trouble, output_path
from simjudge.data.rosbag2.folder_writer import FolderWriter
from simjudge.data.rosbag2.mcap_writer import CheckedMcapWriter
from simjudge.data.rosbag2.recording_form import STORAGE_OF_SUFFIX, RecordingForm
from simjudge.data.rosbag2.unfinished import UnfinishedRecording


class LiveRecording:
    """A rosbag2 folder, open for writing raw CDR messages as they come.

    Attributes:
        trouble: why nothing more can be written, empty where it can.
    """

    def __init__(self, path: str | Path, form: RecordingForm | None = None) -> None:
        """Create the folder and its first storage file."""
        path = Path(path)
        self.path = path
        self.trouble = ""
        self._writer = FolderWriter(_free(path), form)
        self._connections: dict[str, Connection] = {}
        try:
            self._writer.open()
        except OSError as error:
            raise SimjudgeError(f"{path}: cannot be written to: {error.strerror}") from error

    @property
    def counts(self) -> dict[str, int]:
        """Messages written so far, by topic."""
        return {name: self._writer.count(connection) for name, connection in self._connections.items()}

    def add_topic(self, name: str, message_type: str, definition: tuple[str, str], offered: list[Qos]) -> None:
        """Add a topic."""
        text, digest = definition
        self._connections[name] = self._guarded(
            self._writer.add_connection,
            name, message_type, msgdef=text, rihs01=digest, offered_qos_profiles=offered,
        )  # fmt: skip

    def set_custom_data(self, key: str, text: str) -> None:
        """Keep a text in the recording's metadata, as rosbag2's custom data."""
        self._guarded(self._writer.set_custom_data, key, text)

    def write(self, topic: str, time: int, data: bytes) -> None:
        """Add a message.

        Args:
            time: when the message came in, nanoseconds.
        """
        self._guarded(self._writer.write, self._connections[topic], time, data)

    def flush(self) -> None:
        """Put everything written so far on the disk, so that a killed writer loses nothing of it."""
        storage = self._writer.storage
        if isinstance(storage, CheckedMcapWriter):
            self._guarded(storage.flush)
        elif isinstance(storage, Sqlite3Writer):
            self._guarded(storage.conn.commit)

    def close(self) -> None:
        """Write the index and metadata.yaml."""
        self._guarded(self._writer.close)

    def abort(self) -> None:
        """Let go of the file as it is, without index and metadata.yaml."""
        with suppress(OSError, sqlite3.Error):  # where the disk is full, not even the last bytes can be written
            self._writer.abort()

    def _guarded(self, work: Any, *args: Any, **named: Any) -> Any:
        try:
            return work(*args, **named)
        except (OSError, sqlite3.Error, WriterError) as error:
            self.trouble = write_trouble(error)
            raise SimjudgeError(f"{self.path}: {self.trouble}; what was written so far can be read") from error


class LiveFile(LiveRecording):
    """A recording that is one file, x.mcap or x.db3. It gets its name when it is closed; see `UnfinishedRecording`."""

    def __init__(self, path: str | Path, form: RecordingForm | None = None) -> None:
        """Create the storage file, beside its name."""
        path = output_path(Path(path))
        try:
            self._place = UnfinishedRecording(path)
        except OSError as error:
            raise SimjudgeError(f"{path}: cannot be written to: {error.strerror}") from error
        try:
            form = replace(form or RecordingForm(), storage=STORAGE_OF_SUFFIX[path.suffix])
            super().__init__(self._place.folder, form)
        except BaseException:
            self._place.remove()
            raise
        self.path = path

    def close(self) -> None:
        """Write the index, and give the file its name."""
        try:
            super().close()
            self._place.finish()
        except (SimjudgeError, OSError) as error:
            self.abort()
            kept = self._place.keep()
            what = f"kept in {kept}: 'simjudge recover {kept}' makes a whole recording of it" if kept else "lost"
            said = f"{self.path}: {self.trouble}" if self.trouble else str(error)
            raise SimjudgeError(f"{said}; what was recorded is {what}") from error
        finally:
            self._place.remove()


def open_recording(path: str | Path, form: RecordingForm | None = None) -> LiveRecording:
    """Create a recording for messages as they come.

    Args:
        path: x.mcap or x.db3 for one file, any other name for a rosbag2 folder.
    """
    path, form = Path(path), form or RecordingForm()
    form.check(path)
    return LiveFile(path, form) if path.suffix in STORAGE_OF_SUFFIX else LiveRecording(path, form)


def write_trouble(error: Exception) -> str:
    """Why a recording cannot be written, in a few words."""
    if isinstance(error, OSError):
        return disk_trouble(error)
    # Where no more fits, sqlite says "disk is full" or "disk I/O error".
    return f"the disk is full or failing ({error})" if "disk" in str(error) else f"cannot be written any more: {error}"


def _free(path: Path) -> Path:
    path = output_path(path)
    if os.path.lexists(path):
        raise SimjudgeError(f"{path}: exists already; choose another name or remove it")
    return path
