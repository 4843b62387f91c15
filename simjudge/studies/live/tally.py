"""The counts of a live session: frames judged, repeated and lost, messages without a partner."""

from __future__ import annotations

import zlib
from typing import Any

from simjudge.core.errors import Losses
from simjudge.core.frames import FrameSet
from simjudge.data.rosbag2.storage import format_seconds
from simjudge.studies.live.stream_matching import DUPLICATE, NO_PARTNER, UNSTAMPED, UnmatchedMessage

SIDES = ("ground truth", "detections")
"""The two streams of messages, as people know them."""

FrameKey = tuple[int, int]
"""Lap of a looped recording and stamp in nanoseconds: what a frame is known by."""


class LiveTally:
    """What has come in since a session began or was reset.

    Attributes:
        objects: labelled objects of the judged frames.
        predictions: predictions of the judged frames.
        repeated: frames whose key had come before.
        changed: repeated frames with other labels than before.
    """

    def __init__(self) -> None:
        """Start with nothing."""
        self.objects = self.predictions = self.repeated = self.changed = 0
        # The checksum of the labels by key, 0 for a frame that was lost.
        self._checksums: dict[FrameKey, int] = {}
        self._stamps: set[int] = set()
        self._unmatched: dict[UnmatchedMessage, None] = {}
        self._losses = Losses()

    @property
    def newest_stamp(self) -> int:
        """The newest stamp that was judged, nanoseconds; 0 where none was."""
        return max(self._stamps, default=0)

    def is_repeated(self, key: FrameKey, frame: FrameSet | None) -> bool:
        """Whether a frame has come before; if so, it is counted as repeated.

        Args:
            key: of the frame.
            frame: a set of one frame, None where the messages make none.
        """
        if key not in self._checksums:
            return False
        self.repeated += 1
        self.changed += frame is not None and _checksum(frame) != self._checksums[key]
        return True

    def add_frame(self, key: FrameKey, frame: FrameSet, losses: Losses) -> None:
        """Count a judged frame.

        Args:
            key: of the frame.
            frame: a set of one frame, labelled and predicted.
            losses: what was left out of it.
        """
        self._checksums[key] = _checksum(frame)
        self._stamps.add(key[1])
        self._losses.extend(losses)
        self.objects += len(frame.objects)
        self.predictions += 0 if frame.predictions is None else len(frame.predictions)

    def add_lost_frame(self, key: FrameKey, losses: Losses) -> None:
        """Count a frame that cannot be used.

        Args:
            key: of the frame.
            losses: why.
        """
        self._checksums[key] = 0
        self._losses.extend(losses)

    def add_unmatched(self, message: UnmatchedMessage) -> bool:
        """Count a message without a partner, once.

        Args:
            message: which, and why.

        Returns:
            Whether it is new.
        """
        is_new = message not in self._unmatched
        self._unmatched[message] = None
        return is_new

    def unmatched_counts(self) -> dict[str, int]:
        """How many messages of each kind found no partner, came twice, or had no stamp."""
        out = {_loss_kind(side, reason): 0 for side in (0, 1) for reason in (NO_PARTNER, DUPLICATE, UNSTAMPED)}
        for message in self._unmatched:
            out[_loss_kind(message.side, message.reason)] += not self._found_later(message)
        return out

    def losses(self) -> Losses:
        """What was left out of the live streams."""
        out = Losses()
        out.extend(self._losses)
        for message in self._unmatched:
            if not self._found_later(message):
                out.add(_loss_kind(message.side, message.reason), format_seconds(message.stamp))
        return out

    def _found_later(self, message: UnmatchedMessage) -> bool:
        """Whether the frame of a message without a partner came in the end, in another lap of a looped recording."""
        return message.reason == NO_PARTNER and message.stamp in self._stamps


def losses_to_json(losses: Losses) -> list[list[Any]]:
    """Losses as JSON can hold them.

    Args:
        losses: kinds with counts and examples.

    Returns:
        Kind, count and examples of each.
    """
    return [[kind, count, losses.examples.get(kind, [])] for kind, count in losses.counts.items()]


def losses_from_json(entries: list[list[Any]]) -> Losses:
    """Losses from what `losses_to_json` made.

    Args:
        entries: kind, count and examples of each.
    """
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
