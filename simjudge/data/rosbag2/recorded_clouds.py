"""The point clouds of a recording, one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.text import nearest_name
from simjudge.data.clouds.cloud_set import Table
from simjudge.data.rosbag2.cloud_messages import CLOUD_TYPE, read_cloud
from simjudge.data.rosbag2.recorded_poses import decoded_messages, header_stamp
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.storage import format_seconds

TRUTH = "/ground_truth"
"""How a topic ends that has the truth about another."""


class RecordedCloud(NamedTuple):
    """A cloud as it was recorded.

    Attributes:
        where: names it in messages: recording, topic and stamp.
        stamp: of its header, nanoseconds.
        time: when it was recorded, nanoseconds.
        height: rows of an organized cloud; 1 for others.
    """

    topic: str
    where: str
    stamp: int
    time: int
    frame_id: str
    height: int
    table: Table


def cloud_topics(recording: Recording) -> list[str]:
    """List the topics of point clouds."""
    return [info.topic for info in recording.topic_infos() if info.type == CLOUD_TYPE]


def choose_cloud_topic(recording: Recording, topic: str | None, option: str = "--topic") -> str:
    """Choose the topic to take clouds from.

    Args:
        topic: as a person names it; None: there must be only one, beside the truth about another (.../ground_truth).
    """
    held = cloud_topics(recording)
    if topic is not None:
        if topic not in held:
            raise UsageError(f"{recording.path}: {topic} is no topic of point clouds in it{nearest_name(topic, held)}")
        return topic
    measured = [name for name in held if not name.endswith(TRUTH)]
    if not held:
        raise SimjudgeError(f"{recording.path}: holds no point clouds (no topic of {CLOUD_TYPE})")
    if len(measured) != 1:
        listed = ", ".join(measured or held)
        raise SimjudgeError(f"{recording.path}: one topic of {CLOUD_TYPE} is needed; there are {listed}; give {option}")
    return measured[0]


def recorded_clouds(recording: Recording, topics: set[str], losses: Losses) -> Iterator[RecordedCloud]:
    """Read the clouds of some topics."""
    for stored, message in decoded_messages(recording, topics, losses):
        stamp = header_stamp(message.header)
        where = f"{recording.path}: {stored.topic} at {format_seconds(stamp)}"
        try:
            table = read_cloud(message, where)
        except SimjudgeError as error:
            losses.add("clouds that cannot be read", str(error))
            continue
        frame = str(message.header.frame_id)
        yield RecordedCloud(stored.topic, where, stamp, stored.time, frame, max(int(message.height), 1), table)
