"""Headers of messages: stamps as nanoseconds, and how a message is named to a person."""

from __future__ import annotations

from typing import Any

from builtin_interfaces.msg import Time
from std_msgs.msg import Header

from simjudge.data.rosbag2.recorded_poses import header_stamp
from simjudge.data.rosbag2.storage import format_seconds


def make_header(stamp: int, frame_id: str) -> Header:
    """A header.

    Args:
        stamp: nanoseconds; a negative one becomes 0.
    """
    seconds, nanoseconds = divmod(max(stamp, 0), 1_000_000_000)
    return Header(stamp=Time(sec=seconds, nanosec=nanoseconds), frame_id=frame_id)


def message_stamp(message: Any) -> int:
    """The stamp of a message, nanoseconds."""
    return header_stamp(message.header)


def describe_message(message: Any, topic: str = "") -> str:
    """A message as people can find it: its topic and stamp."""
    return f"{topic or 'an image'} at {format_seconds(message_stamp(message))}"
