"""A stand-in for rosbag2_py, to test what is written against its interface where no ROS installation is.

It keeps to rosbag2_py/src/rosbag2_py/_reader.cpp and rosbag2_cpp/readers/sequential_reader.cpp of ROS 2 Jazzy: split
files are read one after the other, and a search begins in the file that is open. The "plugin" stores pickles.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import yaml
from rosbags.interfaces import MessageDefinitionFormat

from simjudge.data.rosbag2.recording import Recording

STORAGE = "myplugin"


class StorageOptions(SimpleNamespace):
    def __init__(self, uri: str, storage_id: str = "") -> None:
        super().__init__(uri=uri, storage_id=storage_id)


class ConverterOptions(SimpleNamespace):
    def __init__(self, input_serialization_format: str = "", output_serialization_format: str = "") -> None:
        super().__init__(input=input_serialization_format, output=output_serialization_format)


class StorageFilter(SimpleNamespace):
    def __init__(self, topics: list[str] = []) -> None:  # noqa: B006 - as there
        super().__init__(topics=topics)


class SequentialReader:
    """Reads what `record` wrote."""

    opened = 0

    def open(self, storage: StorageOptions, converter: ConverterOptions) -> None:
        if storage.storage_id not in (STORAGE, "mcap"):
            raise RuntimeError("No storage could be initialized. Abort")
        assert converter.output == "cdr"
        type(self).opened += 1
        folder = Path(storage.uri)
        info = yaml.safe_load((folder / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
        self.files = [folder / name for name in info["relative_file_paths"]]
        self.topics: list[str] = []
        self.time = 0
        self._load(0)

    def _load(self, number: int) -> None:
        self.number = number
        if not self.files[number].exists():
            raise RuntimeError("No storage could be initialized. Abort")
        self.held: list[tuple[str, bytes, int]] = pickle.loads(self.files[number].read_bytes())  # noqa: S301 - written by the test
        self._from(self.time)

    def _from(self, time: int) -> None:
        self.rest = [m for m in self.held if m[2] >= time]

    def set_filter(self, chosen: StorageFilter) -> None:
        self.topics = chosen.topics

    def has_next(self) -> bool:
        while self.rest and self.topics and self.rest[0][0] not in self.topics:
            self.rest.pop(0)
        if not self.rest and self.number + 1 < len(self.files):
            self._load(self.number + 1)
            return self.has_next()
        return bool(self.rest)

    def read_next(self) -> tuple[str, bytes, int]:
        if not self.has_next():
            raise RuntimeError("Bag is at end. No next message.")
        return self.rest.pop(0)

    def seek(self, time: int) -> None:
        self.time = time
        if time < self.held[0][2] and self.number > 0:
            self._load(self.number - 1)
            self.seek(time)
        elif time > self.held[-1][2] and self.number + 1 < len(self.files):
            self._load(self.number + 1)
            self.seek(time)
        else:
            self._from(time)

    def get_all_message_definitions(self) -> list[Any]:
        found: list[Any] = pickle.loads((self.files[0].parent / "definitions.pickle").read_bytes())  # noqa: S301
        return found


class SequentialCompressionReader(SequentialReader):
    """Nothing is compressed here: what counts is which of the two is used."""

    opened = 0


def record(source: Path, folder: Path, *, splits: int = 3, **other: Any) -> Path:
    """A recording again, in the storage of the stand-in; `other` replaces entries of its metadata."""
    recording = Recording(source)
    folder.mkdir()
    kept = sorted(((m.topic, bytes(m.data), m.time) for m in recording.messages(set(recording.topics))), key=_time)
    names = []
    for number, part in enumerate(_split(kept, splits)):
        names.append(f"rec_{number}.mine")
        (folder / names[-1]).write_bytes(pickle.dumps(part))
    forms = {MessageDefinitionFormat.MSG: "ros2msg", MessageDefinitionFormat.IDL: "ros2idl"}
    found = [
        SimpleNamespace(topic_type=t.type, encoding=forms[t.definition.format], encoded_message_definition=text)
        for t in recording.topics.values()
        if (text := t.definition.data)
    ]
    (folder / "definitions.pickle").write_bytes(pickle.dumps(found))
    topics = [
        {
            "topic_metadata": {"name": t.name, "type": t.type, "offered_qos_profiles": yaml.safe_load(t.offered_qos)},
            "message_count": recording.counts[t.name],
        }
        for t in recording.topics.values()
    ]
    info = {
        "version": 9,
        "storage_identifier": STORAGE,
        "relative_file_paths": names,
        "starting_time": {"nanoseconds_since_epoch": kept[0][2]},
        "duration": {"nanoseconds": kept[-1][2] - kept[0][2]},
        "message_count": len(kept),
        "topics_with_message_count": topics,
        "compression_format": "",
        "compression_mode": "",
        **other,
    }
    (folder / "metadata.yaml").write_text(yaml.safe_dump({"rosbag2_bagfile_information": info}))
    return folder


def _split(kept: list[Any], splits: int) -> Iterator[list[Any]]:
    size = -(-len(kept) // splits)
    return (kept[at : at + size] for at in range(0, len(kept), size))


def _time(message: tuple[str, bytes, int]) -> int:
    return message[2]
