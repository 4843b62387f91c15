"""Recovering a recording: what can still be read of a cut or killed one, as a whole recording with an index."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from rosbags.interfaces import Qos
from rosbags.rosbag2 import ReaderError
from rosbags.rosbag2.metadata import parse_qos
from rosbags.typesys import TypesysError

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.files import output_path
from simjudge.data.rosbag2.interfaces import recorded_types
from simjudge.data.rosbag2.live_recording import (
    LiveRecording,
    UnfinishedRecording,
    is_unfinished,
    recovered_name,
    refuse_if_written,
    storage_files,
)
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.storage import STORAGE_OF_SUFFIX, RecordingForm, StoredTopic

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
    with UnfinishedRecording(target) as place:
        live = LiveRecording(place.folder, RecordingForm(STORAGE_OF_SUFFIX.get(target.suffix, "mcap")))
        with _let_go(live):
            for topic in known.values():
                live.add_topic(topic.name, topic.type, _definition(topic), _offered(topic))
            for message in recording.messages(set(known)):
                live.write(message.topic, message.time, bytes(message.data))
            if not any(live.counts.values()):
                raise SimjudgeError(f"{source}: no message can be read of it; {_first(recording)}")
            live.close()
        place.finish()
    return Recovered(target, live.counts, recording.losses)


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
