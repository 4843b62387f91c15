"""What the two kinds of storage file have in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from rosbags.interfaces import MessageDefinition

from simjudge.core.errors import Losses

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


@dataclass(frozen=True)
class StoredTopic:
    """A topic of one storage file.

    Attributes:
        count: what the file's own index says, where it has one.
        offered_qos: the YAML in which the recorder kept what the publishers offered, empty where it did not.
    """

    name: str
    type: str
    definition: MessageDefinition
    count: int
    offered_qos: str = ""


def full_type_name(name: str) -> str:
    """Complete the name of a message type as ROS 2 before Dashing, and ROS 1, wrote it: `sensor_msgs/Image`."""
    package, slash, rest = name.partition("/")
    return f"{package}/msg/{rest}" if slash and rest and "/" not in rest else name


class MessageLocation(NamedTuple):
    """Where a message is: in which file, and where in it (what the numbers mean is the storage's own affair)."""

    file: int
    block: int
    start: int
    length: int


class StoredMessage(NamedTuple):
    """A message as stored: its topic, its recording time in nanoseconds, its CDR bytes and where they are."""

    topic: str
    time: int
    data: bytes | memoryview
    location: MessageLocation


class Storage(Protocol):
    """One storage file, open for reading.

    Attributes:
        path: the file.
        topics: what it holds.
        counted: whether the topics' counts are known.
        span: recording time of its first and last message in nanoseconds, None where it holds no message.
        metadata: what rosbag2 keeps in it about the recording, as YAML; empty where it keeps nothing.
        notes: what is worth saying although nothing is lost.
        losses: what could not be read; complete once all messages have been read.
    """

    path: Path
    topics: list[StoredTopic]
    counted: bool
    span: tuple[int, int] | None
    metadata: str
    notes: list[str]
    losses: Losses

    def messages(self, topics: set[str], file: int) -> Iterator[StoredMessage]:
        """Read all readable messages of some topics, in the file's order.

        Args:
            topics: their names.
            file: the number of this file in its recording, put into each message's location.

        Yields:
            The messages.
        """

    def read(self, location: MessageLocation) -> bytes | memoryview:
        """Read one message again.

        Args:
            location: where `messages` found it.

        Returns:
            Its CDR bytes.

        Raises:
            SimjudgeError: the file no longer gives it.
        """


def format_seconds(time: int) -> str:
    """Write a time for people.

    Args:
        time: nanoseconds.
    """
    return f"{time / 1e9:.3f} s"
