"""Recordings that grow beside their later name while messages come in, and how one that was cut short is recovered.

A recording is readable up to the last flush even if its writer is killed. The folder `.recording.*.tmp` is locked as
long as its writer lives, so that one without a writer can be told.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from rosbags.interfaces import Connection, Qos
from rosbags.rosbag2 import ReaderError, WriterError
from rosbags.rosbag2.metadata import parse_qos
from rosbags.rosbag2.storage_sqlite3 import Sqlite3Writer
from rosbags.typesys import TypesysError

from simjudge.core.errors import Losses, SimjudgeError, is_interrupt
from simjudge.core.files import check_output, disk_trouble, output_path, plain_os_errors, put_in_place, sync_file
from simjudge.data.rosbag2.folder_writer import CheckedMcapWriter, FolderWriter
from simjudge.data.rosbag2.interfaces import offered_qos, recorded_types, standard_types
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.storage import (
    STORAGE_OF_SUFFIX,
    STORAGE_SUFFIXES,
    RecordingForm,
    StoredMessage,
    StoredTopic,
)

log = logging.getLogger(__name__)

_PREFIX, _SUFFIX = ".recording.", ".tmp"
_LOCK = "lock"
_MARK = "unfinished"  # What stands in the name of a recording that was not finished


class UnfinishedRecording:
    """The place of a recording until it has its name.

    Attributes:
        folder: the rosbag2 folder to write; not there yet.
    """

    def __init__(self, path: Path) -> None:
        """Make the place (path: the name that the recording will get: a .mcap or .db3 file, or a folder)."""
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
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.remove()

    def remove(self) -> None:
        """Remove the place; a recording that is still in it is gone."""
        shutil.rmtree(self._near, ignore_errors=True)
        os.close(self._lock)

    def finish(self) -> None:
        """Give the recording its name."""
        with plain_os_errors(self._path):
            self._move(self._path)

    def keep(self) -> Path | None:
        """Give what was recorded a name that says that it is not finished; None where not even a file was begun."""
        if not any(file.stat().st_size for file in self.folder.glob("*") if file.suffix in STORAGE_SUFFIXES):
            return None
        stem, ending = (self._path.stem, self._path.suffix) if self._is_file else (self._path.name, "")
        names = (f"{stem}.{_MARK}{number}{ending}" for number in ["", *range(2, 1000)])
        kept = next(path for name in names if not os.path.lexists(path := self._path.with_name(name)))
        self._move(kept)
        return kept

    def _move(self, path: Path) -> None:
        file = self.folder / f"{self.folder.name}{self._path.suffix}" if self._is_file else self.folder
        for written in [file] if self._is_file else file.iterdir():
            sync_file(written)
        put_in_place(file, path)


def find_unfinished(folder: Path) -> list[Path]:
    """Find recordings whose writers were killed."""
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
            f"note: {place} holds {size:.1f} MB of {name}, whose recording was killed; 'simjudge data recover {place}'"
            " reads"
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


class LiveRecording:
    """A rosbag2 folder, open for writing raw CDR messages as they come.

    Attributes:
        trouble: why nothing more can be written, empty where it can.
    """

    def __init__(self, path: str | Path, form: RecordingForm | None = None) -> None:
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
            self._writer.add_connection, name, message_type, msgdef=text, rihs01=digest, offered_qos_profiles=offered
        )

    def set_custom_data(self, key: str, text: str) -> None:
        """Keep a text in the recording's metadata, as rosbag2's custom data."""
        self._guarded(self._writer.set_custom_data, key, text)

    def write(self, topic: str, time: int, data: bytes) -> None:
        """Add a message (time: when the message came in, nanoseconds)."""
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
            what = f"kept in {kept}: 'simjudge data recover {kept}' makes a whole recording of it" if kept else "lost"
            said = f"{self.path}: {self.trouble}" if self.trouble else str(error)
            raise SimjudgeError(f"{said}; what was recorded is {what}") from error
        finally:
            self._place.remove()


def open_recording(path: str | Path, form: RecordingForm | None = None) -> LiveRecording:
    """Create a recording for messages as they come."""
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


# Nanoseconds of recording time, not of the wall clock, so that two drives give one file: what a kill loses at most.
_FLUSH_EVERY = 1_000_000_000


class MessageRecording:
    """Takes messages of `standard_types`."""

    def __init__(self, live: LiveRecording) -> None:
        self._live, self._types = live, standard_types()
        self._topics: set[str] = set()
        self._flush_at = 0

    def write(self, topic: str, stamp: int, message: Any, *, latched: bool = False) -> None:
        """Add a message (stamp: nanoseconds, the time of recording)."""
        kind: str = message.__msgtype__
        if topic not in self._topics:
            text, _ = self._types.generate_msgdef(kind, ros_version=2)
            definition = (text, self._types.hash_rihs01(kind))
            self._live.add_topic(topic, kind, definition, [offered_qos(kind, latched=latched)])
            self._topics.add(topic)
        self._live.write(topic, stamp, bytes(self._types.serialize_cdr(message, kind)))
        if stamp >= self._flush_at:
            self._live.flush()
            self._flush_at = stamp + _FLUSH_EVERY


@contextmanager
def record_messages(path: str | Path, custom_data: Mapping[str, str] | None = None) -> Iterator[MessageRecording]:
    """Record messages; the recording gets its name when the block ends, by itself or by Ctrl-C."""
    path = output_path(Path(path))
    stopped: BaseException | None = None
    with UnfinishedRecording(path) as place:
        live = LiveRecording(place.folder, RecordingForm(STORAGE_OF_SUFFIX.get(path.suffix, "mcap")))
        try:
            for key, text in (custom_data or {}).items():
                live.set_custom_data(key, text)
            try:
                yield MessageRecording(live)
            except BaseException as error:
                if not is_interrupt(error):
                    raise
                stopped = error
            live.close()
            place.finish()
        except BaseException as error:
            kept = _keep(live, place)
            if isinstance(error, SimjudgeError):
                raise SimjudgeError(f"{_reason(path, live, error)}; {kept}") from error
            log.warning("%s: %s", path, kept)
            raise
    if stopped is not None:
        raise stopped


def _reason(path: Path, live: LiveRecording, error: SimjudgeError) -> str:
    """Why a recording ended before its end, without the name of a folder that is gone."""
    return f"{path}: {live.trouble}" if live.trouble else str(error)


def _keep(live: LiveRecording, place: UnfinishedRecording) -> str:
    """Keep what was recorded, and say under which name and how to read it."""
    count = sum(live.counts.values())
    if not live.trouble:
        with suppress(SimjudgeError):
            live.flush()
    live.abort()
    kept = place.keep() if count else None
    if kept is None:
        return "nothing was recorded"
    return f"what was recorded is kept in {kept}: 'simjudge data recover {kept}' makes a whole recording of it"


_JOURNAL = "-journal"  # End of the name of the file in which sqlite keeps what a killed writer had begun to change


_UNKNOWN_HASH = "RIHS01_" + "0" * 64  # The hash of a type whose definition nobody knows


@dataclass(frozen=True)
class Recovered:
    """A recording that was recovered.

    Attributes:
        path: what was written.
        messages: how many messages, by topic.
        losses: what could not be read.
    """

    path: Path
    messages: dict[str, int]
    losses: Losses

    def __str__(self) -> str:
        return f"{self.path}: {sum(self.messages.values())} messages on {len(self.messages)} topics"


def recover(source: str | Path, out: str | Path | None = None) -> Recovered:
    """Write all messages that can still be read of a recording as a whole recording.

    Args:
        source: a recording that was cut, killed or damaged: .mcap, .db3, a rosbag2 folder, or the folder
            `.recording.*.tmp` that a killed command left. It stays as it is.
        out: x.mcap, x.db3, or a folder to make; None: beside the source, with `.recovered` in its name.

    Raises:
        SimjudgeError: nothing can be read, it is being recorded right now, or `out` cannot be written.
    """
    source = Path(source)
    target = output_path(recovered_name(source) if out is None else Path(out))
    recording = Recording(_readable(source))
    known = {name: topic for name, topic in recording.topics.items() if topic.type}
    if not known:
        lost = [line for losses in _all_losses(recording) for line in losses.lines()]
        raise SimjudgeError(f"{source}: no topic can be read of it" + (f"; {lost[0]}" if lost else ""))
    counts = copy_recording(recording, target, lambda message: message.data, topics=set(known))
    return Recovered(target, counts, recording.losses)


def copy_recording(
    recording: Recording,
    out: Path,
    change: Callable[[StoredMessage], bytes | memoryview | None],
    *,
    topics: set[str] | None = None,
    check: Callable[[], None] | None = None,
) -> dict[str, int]:
    """Write the messages of a recording as another one: their number by topic.

    Args:
        recording: what is copied, with its times, types, qualities of service and custom data.
        out: x.mcap, x.db3, or a folder to make.
        change: gives what is written in place of a message, CDR; None leaves it out.
        topics: to copy; None: all whose type is known.
        check: called when all is written; if it raises, nothing gets the name `out`.
    """
    known = {name: topic for name, topic in recording.topics.items() if topic.type and (not topics or name in topics)}
    with UnfinishedRecording(out) as place:
        live = LiveRecording(place.folder, RecordingForm(STORAGE_OF_SUFFIX.get(out.suffix, "mcap")))
        with _let_go(live):
            for key, text in recording.custom_data().items():
                live.set_custom_data(key, text)
            for topic in known.values():
                live.add_topic(topic.name, topic.type, _definition(topic), _offered(topic))
            for message in recording.messages(set(known)):
                data = change(message)
                if data is not None:
                    live.write(message.topic, message.time, bytes(data))
            if not any(live.counts.values()):
                raise SimjudgeError(f"{recording.path}: no message can be read of it; {_first(recording)}")
            if check is not None:
                check()
            live.close()
        place.finish()
    return live.counts


def _readable(source: Path) -> Path:
    """What is to be read: the source itself, or what a killed command left in a folder."""
    if not is_unfinished(source):
        return source
    refuse_if_written(source)
    files = storage_files(source)
    if not files:
        raise SimjudgeError(f"{source}: holds no message; remove it")
    for file in files:
        if file.with_name(file.name + _JOURNAL).exists():
            # Opened for writing, sqlite takes back what was only half written.
            with closing(sqlite3.connect(file)) as database:
                database.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    return files[0]


@contextmanager
def _let_go(live: LiveRecording) -> Iterator[None]:
    try:
        yield
    except BaseException:
        live.abort()
        raise


def _definition(topic: StoredTopic) -> tuple[str, str]:
    """Text and hash of a topic's type, as the recording defines it, else as the standard does."""
    types = recorded_types(((topic.type, topic.definition),))
    try:
        text, _ = types.generate_msgdef(topic.type, ros_version=2)
        return text, types.hash_rihs01(topic.type)
    except (TypesysError, KeyError):
        return topic.definition.data, _UNKNOWN_HASH


def _offered(topic: StoredTopic) -> list[Qos]:
    try:
        return parse_qos(topic.offered_qos)
    except (ReaderError, KeyError, TypeError, AttributeError):
        return []


def _all_losses(recording: Recording) -> list[Losses]:
    return [recording.losses, *(storage.losses for storage in recording.files)]


def _first(recording: Recording) -> str:
    lines = [line for losses in _all_losses(recording) for line in losses.lines()]
    return lines[0] if lines else "it holds none"
