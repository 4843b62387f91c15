"""A recording of messages as they are made, under its name once it is whole; what was made before Ctrl-C is kept."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime

from simjudge.core.files import atomic_file, atomic_folder, check_output, output_path
from simjudge.data.rosbag2.interfaces import CAMERA_INFO, COMPRESSED_IMAGE, IMAGE, standard_types
from simjudge.data.rosbag2.live_recording import LiveRecording

_SENSOR = (IMAGE, COMPRESSED_IMAGE, CAMERA_INFO)
_SUFFIXES: dict[str, Literal["mcap", "sqlite3"]] = {".mcap": "mcap", ".db3": "sqlite3"}
_FOREVER = QosTime(9223372036, 854775807)


class MessageRecording:
    """Takes messages of `standard_types`."""

    def __init__(self, live: LiveRecording) -> None:
        """Write to a recording that is open."""
        self._live, self._types = live, standard_types()
        self._topics: set[str] = set()

    def write(self, topic: str, stamp: int, message: Any, *, latched: bool = False) -> None:
        """Add a message.

        Args:
            topic: fully qualified.
            stamp: nanoseconds, the time of recording.
            message: made with a class of `standard_types`.
            latched: its publisher keeps it for those who come late (transient local), as /tf_static does.

        Raises:
            SimjudgeError: the disk is full.
        """
        kind: str = message.__msgtype__
        if topic not in self._topics:
            text, _ = self._types.generate_msgdef(kind, ros_version=2)
            definition = (text, self._types.hash_rihs01(kind))
            self._live.add_topic(topic, kind, definition, [_qos(sensor=kind in _SENSOR, latched=latched)])
            self._topics.add(topic)
        self._live.write(topic, stamp, bytes(self._types.serialize_cdr(message, kind)))


@contextmanager
def record_messages(path: str | Path, custom_data: Mapping[str, str] | None = None) -> Iterator[MessageRecording]:
    """Record messages; the recording gets its name when the block ends, by itself or by Ctrl-C.

    Args:
        path: a name ending in .mcap or .db3 gives that one file; any other name a rosbag2 folder (mcap).
        custom_data: kept in the recording's metadata, as rosbag2's custom data.

    Raises:
        SimjudgeError: something is there already, or it cannot be written; nothing is left under that name then.
    """
    path = Path(path)
    path = output_path(path)
    check_output(path)
    stopped: list[KeyboardInterrupt] = []
    if path.suffix in _SUFFIXES:
        with atomic_file(path) as target, tempfile.TemporaryDirectory(".tmp", ".recording.", path.parent) as near:
            folder = Path(near) / path.stem
            yield from _written(folder, _SUFFIXES[path.suffix], custom_data or {}, stopped)
            (folder / path.name).replace(target)
    else:
        with atomic_folder(path) as target:
            folder = target / path.name
            yield from _written(folder, "mcap", custom_data or {}, stopped)
            for file in folder.iterdir():
                file.rename(target / file.name)
            folder.rmdir()
    if stopped:
        raise stopped[0]


def _written(
    folder: Path, storage: Literal["mcap", "sqlite3"], custom_data: Mapping[str, str], stopped: list[KeyboardInterrupt]
) -> Iterator[MessageRecording]:
    live = LiveRecording(folder, storage)
    try:
        for key, text in custom_data.items():
            live.set_custom_data(key, text)
        try:
            yield MessageRecording(live)
        except KeyboardInterrupt as stop:
            stopped.append(stop)
    except BaseException:
        live.abort()
        raise
    live.close()


def _qos(*, sensor: bool, latched: bool) -> Qos:
    """What the publisher offers: SensorDataQoS for images (REP 2003), reliable for the rest."""
    return Qos(
        QosHistory.KEEP_LAST,
        5 if sensor else 10,
        QosReliability.BEST_EFFORT if sensor else QosReliability.RELIABLE,
        QosDurability.TRANSIENT_LOCAL if latched else QosDurability.VOLATILE,
        _FOREVER,
        _FOREVER,
        QosLiveliness.AUTOMATIC,
        _FOREVER,
        avoid_ros_namespace_conventions=False,
    )
