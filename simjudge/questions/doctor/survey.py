"""One pass over a recording: receive times, header stamps and frames of every topic, and its transforms."""

from __future__ import annotations

import struct
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rosbags.typesys.store import Typestore

from simjudge.core.arrays import IntArray
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.data.rosbag2.image_messages import UNREADABLE
from simjudge.data.rosbag2.interfaces import CAMERA_INFO, IMAGE_TYPES, recorded_types
from simjudge.data.rosbag2.recorded_poses import TRANSFORMS, header_stamp, transform_fields
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.storage import MessageLocation, StoredMessage, format_seconds
from simjudge.geometry.transforms import TransformTree

CLOCK = "rosgraph_msgs/msg/Clock"
_HEADER = "std_msgs/msg/Header"
_LONGEST_FRAME_ID = 4096


@dataclass
class TopicSurvey:
    """What the messages of a topic say of themselves.

    Attributes:
        received: when each was recorded, nanoseconds.
        stamp: of each header, or of each /clock, nanoseconds; empty where the type has none.
        frame_ids: how many messages name each coordinate frame.
        locations: where images are in the recording.
        bodies: different camera_info, without their headers, and the first message of each.
    """

    name: str
    type: str
    received: list[int] = field(default_factory=list)
    stamp: list[int] = field(default_factory=list)
    frame_ids: Counter[str] = field(default_factory=Counter)
    locations: list[MessageLocation] = field(default_factory=list)
    bodies: dict[bytes, Any] = field(default_factory=dict)

    @property
    def frame_id(self) -> str:
        """The coordinate frame that most messages name."""
        return self.frame_ids.most_common(1)[0][0] if self.frame_ids else ""


@dataclass
class TransformSurvey:
    """Transforms of one robot.

    Attributes:
        trouble: why they are no tree; "" where they are.
        moving: by the child's frame, receive times and stamps on the moving topics, nanoseconds.
    """

    tree: TransformTree
    trouble: str = ""
    moving: dict[str, tuple[list[int], list[int]]] = field(default_factory=dict)


@dataclass
class RecordingSurvey:
    """What a recording holds.

    Attributes:
        of_namespaces: transforms by the namespace of their topics, "" for those of /tf, which all robots share.
    """

    recording: Recording
    types: Typestore
    topics: dict[str, TopicSurvey]
    of_namespaces: dict[str, TransformSurvey] = field(default_factory=dict)
    losses: Losses = field(default_factory=Losses)

    def transforms(self, near: str) -> TransformSurvey:
        """The transforms of the robot that a topic belongs to."""
        own = [name for name in self.of_namespaces if name and near.startswith(f"{name}/")]
        alone = list(self.of_namespaces) if len(self.of_namespaces) == 1 else [""]
        empty = TransformSurvey(TransformTree(str(self.recording.path)))
        return self.of_namespaces.get(max(own, key=len, default=alone[0]), empty)

    def of_type(self, *types: str) -> list[TopicSurvey]:
        """The topics of some message types that hold messages, by name."""
        return [topic for _, topic in sorted(self.topics.items()) if topic.type in types and topic.received]


def survey_recording(recording: Recording) -> RecordingSurvey:
    """Read a recording once."""
    held = recording.topics.values()
    types = recorded_types(tuple((topic.type, topic.definition) for topic in held))
    topics = {topic.name: TopicSurvey(topic.name, topic.type) for topic in held}
    survey = RecordingSurvey(recording, types, topics)
    with_header = {name for name, topic in topics.items() if _has_header(types, topic.type)}
    for stored in recording.messages(set(topics)):
        topic = topics[stored.topic]
        topic.received.append(stored.time)
        try:
            if topic.type == TRANSFORMS:
                _take_transforms(survey, stored, types.deserialize_cdr(stored.data, topic.type))
            elif topic.type == CLOCK:
                seconds, nanoseconds = struct.unpack_from(_order(stored.data) + "iI", stored.data, 4)
                topic.stamp.append(seconds * 1_000_000_000 + nanoseconds)
            elif stored.topic in with_header:
                _take_header(survey, topic, stored)
        except (*UNREADABLE, struct.error):
            where = f"{recording.path}: {stored.topic} at {format_seconds(stored.time)}"
            survey.losses.add("messages that cannot be decoded", where)
            topic.received.pop()
    survey.losses.extend(recording.losses)
    return survey


def _has_header(types: Typestore, kind: str) -> bool:
    fields: Any = types.fielddefs[kind][1] if kind in types.fielddefs else ()
    return bool(fields) and fields[0][1][1] == _HEADER


def _order(data: bytes | memoryview) -> str:
    """How numbers are stored, by CDR's encapsulation header."""
    return "<" if data[1] & 1 else ">"


def _take_header(survey: RecordingSurvey, topic: TopicSurvey, stored: StoredMessage) -> None:
    """Read the header from the message's bytes: decoding whole images would take minutes."""
    order = _order(stored.data)
    seconds, nanoseconds, length = struct.unpack_from(order + "iII", stored.data, 4)
    if not 0 < length <= _LONGEST_FRAME_ID or 16 + length > len(stored.data):
        raise struct.error("no header")
    frame = bytes(stored.data[16 : 16 + length - 1]).decode("utf-8")
    if topic.type == CAMERA_INFO:
        body = bytes(stored.data[16 + length :])
        if body not in topic.bodies:
            topic.bodies[body] = survey.types.deserialize_cdr(stored.data, topic.type)
    topic.stamp.append(seconds * 1_000_000_000 + nanoseconds)
    topic.frame_ids[frame] += 1
    if topic.type in IMAGE_TYPES:
        topic.locations.append(stored.location)


def _take_transforms(survey: RecordingSurvey, stored: StoredMessage, message: Any) -> None:
    namespace, _, name = stored.topic.rpartition("/")
    shared = survey.of_namespaces.get("")
    if namespace not in survey.of_namespaces:
        empty = TransformSurvey(TransformTree(str(survey.recording.path)))
        survey.of_namespaces[namespace] = deepcopy(shared) if shared is not None else empty
    # What stands on /tf holds for the robots that have topics of their own beside it, too.
    takers = [survey.of_namespaces[namespace]] if namespace else list(survey.of_namespaces.values())
    static = name == "tf_static"
    for transform in message.transforms:
        for taker in takers:
            try:
                taker.tree.add(**transform_fields(transform), static=static)
            except SimjudgeError as error:
                taker.trouble = taker.trouble or str(error).removeprefix(f"{taker.tree.name}: ")
            if not static:
                received, stamps = taker.moving.setdefault(str(transform.child_frame_id).lstrip("/"), ([], []))
                received.append(stored.time)
                stamps.append(header_stamp(transform.header))


def as_nanoseconds(values: list[int]) -> IntArray:
    """Times as an array.

    Args:
        values: nanoseconds.
    """
    return np.array(values, np.int64)
