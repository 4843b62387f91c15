"""A recording of messages as they are made, under its name once it is whole; what was made before Ctrl-C is kept."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from simjudge.core.errors import SimjudgeError, is_interrupt
from simjudge.core.files import output_path
from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.data.rosbag2.live_recording import LiveRecording
from simjudge.data.rosbag2.offered_qos import offered_qos
from simjudge.data.rosbag2.recording_form import STORAGE_OF_SUFFIX, RecordingForm
from simjudge.data.rosbag2.unfinished import UnfinishedRecording

log = logging.getLogger(__name__)

_FLUSH_EVERY = 1_000_000_000
"""Nanoseconds of recording time, not of the wall clock, so that two drives give one file: what a kill loses at most."""


class MessageRecording:
    """Takes messages of `standard_types`."""

    def __init__(self, live: LiveRecording) -> None:
        """Write to a recording that is open."""
        self._live, self._types = live, standard_types()
        self._topics: set[str] = set()
        self._flush_at = 0

    def write(self, topic: str, stamp: int, message: Any, *, latched: bool = False) -> None:
        """Add a message.

        Args:
            stamp: nanoseconds, the time of recording.
            latched: its publisher keeps it for those who come late (transient local), as /tf_static does.
        """
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
    """Record messages; the recording gets its name when the block ends, by itself or by Ctrl-C.

    Args:
        path: a name ending in .mcap or .db3 gives that one file; any other name a rosbag2 folder (mcap).
    """
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
    return f"what was recorded is kept in {kept}: 'simjudge recover {kept}' makes a whole recording of it"
