"""The counts of a live session: frames judged, repeated and lost, messages without a partner."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from simjudge.core.errors import Losses
from simjudge.core.frames import FrameSet
from simjudge.data.rosbag2.storage import format_seconds
from simjudge.studies.live.stamp_table import StampTable
from simjudge.studies.live.stream_matching import DUPLICATE, NO_PARTNER, UNSTAMPED, UnmatchedMessage

SIDES = ("ground truth", "detections")
"""The two streams of messages, as people know them."""

_REASONS = (NO_PARTNER, DUPLICATE, UNSTAMPED)
_MOST_EXAMPLES = 100
"""Messages of a kind that are remembered to be named."""
FrameKey = tuple[int, int]
"""Lap of a looped recording and stamp in nanoseconds: what a frame is known by."""


class LiveTally:
    """What has come in since a session began or was reset. It grows by some 16 bytes a frame or message.

    Attributes:
        repeated: frames whose key had come before.
        changed: repeated frames with other labels than before.
    """

    def __init__(self) -> None:
        """Start with nothing."""
        self.repeated = self.changed = 0
        # By lap: the checksum of the labels by stamp, 0 for a frame that was lost.
        self._checksums: dict[int, StampTable] = {}
        self._unmatched = {(side, reason): StampTable() for side in (0, 1) for reason in _REASONS}
        self._examples: dict[tuple[int, str], list[int]] = {key: [] for key in self._unmatched}
        self._losses = Losses()
        self.newest_stamp = 0
        """The newest stamp that was judged, nanoseconds; 0 where none was."""

    def is_repeated(self, key: FrameKey, frame: FrameSet | None) -> bool:
        """Whether a frame has come before; if so, it is counted as repeated.

        Args:
            frame: a set of one frame, None where the messages make none.
        """
        lap, stamp = key
        before = None if lap not in self._checksums else self._checksums[lap].get(stamp)
        if before is None:
            return False
        self.repeated += 1
        self.changed += frame is not None and _checksum(frame) != before
        return True

    def add_frame(self, key: FrameKey, frame: FrameSet, losses: Losses) -> None:
        """Count a judged frame."""
        self._checksums.setdefault(key[0], StampTable()).add(key[1], _checksum(frame))
        self.newest_stamp = max(self.newest_stamp, key[1])
        self._losses.extend(losses)

    def add_lost_frame(self, key: FrameKey, losses: Losses) -> None:
        """Count a frame that cannot be used."""
        self._checksums.setdefault(key[0], StampTable()).add(key[1])
        self._losses.extend(losses)

    def add_unmatched(self, message: UnmatchedMessage) -> bool:
        """Count a message without a partner, once."""
        key = (message.side, message.reason)
        is_new = message.stamp not in self._unmatched[key]
        self._unmatched[key].add(message.stamp)
        if is_new and len(self._examples[key]) < _MOST_EXAMPLES:
            self._examples[key].append(message.stamp)
        return is_new

    def unmatched_counts(self) -> dict[str, int]:
        """How many messages of each kind found no partner, came twice, or had no stamp."""
        return {_loss_kind(*key): len(table) - self._found_later(key) for key, table in self._unmatched.items()}

    def losses(self) -> Losses:
        """What was left out of the live streams."""
        out = Losses()
        out.extend(self._losses)
        for key, table in self._unmatched.items():
            count = len(table) - self._found_later(key)
            if count:
                kind = _loss_kind(*key)
                left = [stamp for stamp in self._examples[key] if not self._is_judged(key, stamp)]
                out.counts[kind] += count
                out.examples[kind] = [format_seconds(stamp) for stamp in left[: out.named_per_kind]]
        return out

    def _found_later(self, key: tuple[int, str]) -> int:
        """How many messages without a partner belong to frames that came in the end, in another lap of a recording."""
        if key[1] != NO_PARTNER or not len(self._unmatched[key]):
            return 0
        stamps = self._unmatched[key].stamps()
        found = np.zeros(len(stamps), np.bool_)
        for table in self._checksums.values():
            found |= table.nonzero(stamps)
        return int(found.sum())

    def _is_judged(self, key: tuple[int, str], stamp: int) -> bool:
        return key[1] == NO_PARTNER and any(table.get(stamp) for table in self._checksums.values())


def losses_to_json(losses: Losses) -> list[list[Any]]:
    """Losses as JSON can hold them."""
    return [[kind, count, losses.examples.get(kind, [])] for kind, count in losses.counts.items()]


def losses_from_json(entries: list[list[Any]]) -> Losses:
    """Losses from what `losses_to_json` made."""
    out = Losses()
    for kind, count, examples in entries:
        out.counts[kind] += count
        out.examples[kind] = list(examples)
    return out


def _loss_kind(side: int, reason: str) -> str:
    if reason == DUPLICATE:
        return f"{SIDES[side]} messages whose stamp was used before"
    if reason == UNSTAMPED:
        return f"{SIDES[side]} messages without a stamp"
    return f"{SIDES[side]} messages without {SIDES[1 - side]}"


def _checksum(frame: FrameSet) -> int:
    """A checksum of the labels, never 0."""
    return zlib.crc32(frame.objects.class_id.tobytes() + frame.objects.box.tobytes()) or 1
