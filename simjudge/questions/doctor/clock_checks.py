"""One pass over a recording, and checks of time: stamps that are filled in, that rise, of one clock, without gaps."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from rosbags.typesys.store import Typestore

from simjudge.core.arrays import IntArray
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.data.rosbag2.image_messages import UNREADABLE
from simjudge.data.rosbag2.interfaces import (
    CAMERA_INFO,
    COMPRESSED_IMAGE,
    IMAGE,
    IMAGE_TYPES,
    header_stamp,
    recorded_types,
)
from simjudge.data.rosbag2.reading import SIMULATED_BELOW
from simjudge.data.rosbag2.recorded_poses import ODOMETRY, POSE, TRANSFORMS, transform_fields
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.storage import MessageLocation, StoredMessage, format_seconds
from simjudge.data.rosbag2.writing import INVENTED_KEY
from simjudge.geometry.transforms import TransformTree
from simjudge.questions.doctor.diagnosis import CLOCK_TOPIC, ONE_CLOCK, PACE, RATE, RISING, STAMPS, Finding, quoted

CLOCK = "rosgraph_msgs/msg/Clock"
_HEADER = "std_msgs/msg/Header"
_LONGEST_FRAME_ID = 4096


@dataclass
class TopicSurvey:
    """What the messages of a topic say of themselves."""

    name: str
    type: str
    received: list[int] = field(default_factory=list)  # when each was recorded, nanoseconds
    # of each header, or of each /clock, nanoseconds; empty where the type has none
    stamp: list[int] = field(default_factory=list)
    frame_ids: Counter[str] = field(default_factory=Counter)  # how many messages name each coordinate frame
    locations: list[MessageLocation] = field(default_factory=list)  # where images are in the recording
    # different camera_info, without their headers, and the first message of each
    bodies: dict[bytes, Any] = field(default_factory=dict)

    @property
    def frame_id(self) -> str:
        """The coordinate frame that most messages name."""
        return self.frame_ids.most_common(1)[0][0] if self.frame_ids else ""


@dataclass
class TransformSurvey:
    """Transforms of one robot."""

    tree: TransformTree
    trouble: str = ""  # why they are no tree; "" where they are
    # by the child's frame, receive times and stamps on the moving topics, nanoseconds
    moving: dict[str, tuple[list[int], list[int]]] = field(default_factory=dict)


@dataclass
class RecordingSurvey:
    """What a recording holds."""

    recording: Recording
    types: Typestore
    topics: dict[str, TopicSurvey]
    # transforms by the namespace of their topics, "" for those of /tf, which all robots share
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
    """Times as an array. `values`: nanoseconds."""
    return np.array(values, np.int64)


STREAMS = (
    IMAGE,
    COMPRESSED_IMAGE,
    CAMERA_INFO,
    "sensor_msgs/msg/PointCloud2",
    "sensor_msgs/msg/LaserScan",
    "sensor_msgs/msg/Imu",
    "sensor_msgs/msg/NavSatFix",
    "sensor_msgs/msg/JointState",
    ODOMETRY,
    POSE,
)
"""Message types that sensors send at a rate of their own."""
_APART = 0.5
"""Seconds by which the stamps of two topics that arrive together may differ: more than any sensor takes to answer."""
_PACE = 0.001
"""Share by which stamps may run faster or slower than the recorder's clock."""
_LONGEST_GAP = 5.0
"""Usual intervals that the longest one may last."""
_SIMULATED_PACE = (1e-4, 300.0)
"""Slowest and fastest that a simulation runs, seconds a second; stamps beyond are of another unit."""
_LEAST = 5
"""Messages from which intervals say something."""
_SECOND = 1e9


def check_clocks(survey: RecordingSurvey) -> list[Finding]:
    """Make all checks of time."""
    streams = survey.of_type(*STREAMS)
    filled = [topic for topic in streams if any(topic.stamp) and not _unfilled(topic)]
    good = [topic for topic in filled if not len(_backwards(topic.stamp))]
    return [
        _stamps_filled_in(survey, streams),
        _stamps_rise(streams),
        _one_clock(survey, good),
        _pace(survey, good),
        _clock_topic(survey),
        *(_rate(topic) for topic in streams if len(topic.received) >= _LEAST),
    ]


def _stamps_filled_in(survey: RecordingSurvey, streams: Sequence[TopicSurvey]) -> Finding:
    limit = "no header stamp is 0"
    if not streams:
        return Finding.unknown(STAMPS, "no topic of a sensor")
    made_up = survey.recording.custom_data().get(INVENTED_KEY)
    if made_up:
        return Finding.missing(STAMPS, f"{made_up} frames said no time when simjudge wrote them: it made these up")
    empty = {topic.name: _unfilled(topic) for topic in streams if _unfilled(topic)}
    figure = f"{sum(empty.values())} of {sum(len(topic.stamp) for topic in streams)} are 0"
    worst = max(empty, key=lambda name: empty[name], default="")
    note = f"{', '.join(empty)}: simjudge takes the time of recording there, but not within simulated time"
    return Finding.measured(
        STAMPS,
        worst,
        figure,
        limit,
        good=not empty,
        note=note,
        mend=f"simjudge data convert {quoted(survey.recording.path)} stamped.mcap",
    )


def _unfilled(topic: TopicSurvey) -> int:
    """How many stamps are 0; those received first, at one time, are none where a simulation begins at 0."""
    leading = next((number for number, stamp in enumerate(topic.stamp) if stamp), 0)
    at_once = leading > 0 and topic.received[leading - 1] == topic.received[0]
    begins_at_zero = at_once and topic.stamp[leading] < SIMULATED_BELOW
    return topic.stamp.count(0) - (leading if begins_at_zero else 0)


def _backwards(stamps: Sequence[int]) -> IntArray:
    """Numbers of the messages whose stamp is before the last one's; a topic of equal stamps is a list of things."""
    filled = as_nanoseconds(list(stamps))
    return np.flatnonzero(np.diff(filled) < 0) + 1


def _stamps_rise(streams: Sequence[TopicSurvey]) -> Finding:
    limit = "never back in time"
    checked = {topic.name: topic for topic in streams if not _unfilled(topic) and len(topic.stamp) > 1}
    if not checked:
        return Finding.unknown(RISING, "no topic of a sensor with stamps")
    jumps = {name: _backwards(topic.stamp) for name, topic in checked.items()}
    worst = max(jumps, key=lambda name: len(jumps[name]))
    count = sum(map(len, jumps.values()))
    note = ""
    if count:
        at, stamp = int(jumps[worst][0]), as_nanoseconds(checked[worst].stamp)
        back = (stamp[at - 1] - stamp[at]) / _SECOND
        note = f"{worst} first at message {at + 1}, back by {back:.3f} s: a clock that was set, or two publishers"
    return Finding.measured(
        RISING,
        worst if count else "",
        f"{count} jumps back in {len(checked)} topics",
        limit,
        good=count == 0,
        note=note,
        mend=f"ros2 topic info --verbose {worst}",
    )


def _one_clock(survey: RecordingSurvey, good: Sequence[TopicSurvey]) -> Finding:
    """Whether messages that were received at one time have stamps of one time."""
    limit = f"within {_APART:g} s"
    clocks = {topic.name: (as_nanoseconds(topic.received), as_nanoseconds(topic.stamp)) for topic in good}
    for (namespace, held), child in product(survey.of_namespaces.items(), ("base_link", "base_footprint")):
        received, stamps = held.moving.get(child, ([], []))
        if received and any(stamps) and not len(_backwards(sorted(stamps))):
            clocks[f"{namespace and namespace + '/'}tf of {child}"] = (as_nanoseconds(received), as_nanoseconds(stamps))
    if len(clocks) < 2:
        return Finding.unknown(ONE_CLOCK, "fewer than two topics with stamps that rise")
    reference = max(clocks, key=lambda name: len(clocks[name][0]))
    apart = {name: _lag(clocks[name], clocks[reference]) for name in clocks}
    # The reference may be the one that is off: each is held to the median of the others.
    each = {name: lag - float(np.median([apart[k] for k in apart if k != name])) for name, lag in apart.items()}
    worst = max(each, key=lambda name: abs(each[name]))
    off = each[worst]
    note = f"the stamps of {worst} are {abs(off):.3f} s {'ahead of' if off > 0 else 'behind'} those of other topics"
    return Finding.measured(
        ONE_CLOCK,
        worst if abs(off) > _APART else "",
        f"{abs(off):.3f} s at most",
        limit,
        good=abs(off) <= _APART,
        note=f"{note}: computers whose clocks differ",
        mend=_clock_line(survey, worst, off),
    )


def _clock_line(survey: RecordingSurvey, worst: str, off: float) -> str:
    """For images, the replay that takes the difference out; else what sets the clock of the robot's computer."""
    if any(topic.name == worst for topic in survey.of_type(IMAGE, COMPRESSED_IMAGE)):
        path = quoted(survey.recording.path)
        return f"simjudge sim replay {path} --scene lab --camera reference --time-offset {-off:.3f} --out replayed.mcap"
    return "chronyc tracking && sudo chronyc makestep"


def _lag(one: tuple[IntArray, IntArray], reference: tuple[IntArray, IntArray]) -> float:
    """Seconds by which stamps are ahead of what a reference's stamps were when they were received (median)."""
    # In floating point seconds from the reference's start: nanoseconds since 1970 do not fit 53 bits.
    zero_received, zero_stamp = reference[0][0], reference[1][0]
    order = np.argsort(reference[0], kind="stable")
    x = (reference[0][order] - zero_received) / _SECOND
    y = (reference[1][order] - zero_stamp) / _SECOND
    at = (one[0] - zero_received) / _SECOND
    expected = np.interp(at, x, y)
    # Before its first and after its last message the reference's clock runs on.
    expected += np.where(at < x[0], at - x[0], 0.0) + np.where(at > x[-1], at - x[-1], 0.0)
    return float(np.median((one[1] - zero_stamp) / _SECOND - expected))


def _pace(survey: RecordingSurvey, good: Sequence[TopicSurvey]) -> Finding:
    """Whether stamps run as fast as the recorder's clock."""
    limit = f"within {_PACE:.1%} of the recorder's clock"
    long = [topic for topic in good if len(topic.stamp) >= _LEAST and topic.received[-1] > topic.received[0]]
    if not long:
        return Finding.unknown(PACE, f"no topic of {_LEAST} messages with stamps that rise")
    topic = max(long, key=lambda each: each.received[-1] - each.received[0])
    received, stamp = as_nanoseconds(topic.received), as_nanoseconds(topic.stamp)
    seconds = float(received[-1] - received[0]) / _SECOND
    x, y = (received - received[0]) / _SECOND, (stamp - stamp[0]) / _SECOND
    pace = float(np.polyfit(x, y, 1)[0])
    # Jitter of single messages moves the slope of a short recording.
    jitter = float(np.std(y - np.polyval(np.polyfit(x, y, 1), x))) / max(seconds, 1e-9)
    figure = f"{pace:.4f} s of stamps in a second of recording, over {seconds:.1f} s"
    if stamp[0] < SIMULATED_BELOW or survey.of_type(CLOCK):
        slowest, fastest = _SIMULATED_PACE
        return Finding.measured(
            PACE,
            topic.name,
            f"{figure}, simulated time",
            f"{slowest:g} to {fastest:g}",
            good=slowest < pace < fastest,
            note="stamps of another unit, such as milliseconds for seconds",
            mend=f"ros2 topic echo --field header.stamp {topic.name}",
        )
    return Finding.measured(
        PACE,
        topic.name,
        figure,
        limit,
        good=abs(pace - 1) <= _PACE + 4 * jitter,
        note="a recording that was played slower or faster, or a clock that drifts",
        mend="ros2 bag record --use-sim-time --all",
    )


def _clock_topic(survey: RecordingSurvey) -> Finding:
    topics = survey.of_type(CLOCK)
    if not topics:
        first = [topic.stamp[0] for topic in survey.topics.values() if topic.stamp]
        simulated = any(0 < stamp < SIMULATED_BELOW for stamp in first)
        whose = "though stamps are those of a simulation" if simulated else "time is that of the computers"
        return Finding.unknown(CLOCK_TOPIC, f"no /clock: {whose}")
    topic = topics[0]
    back = _backwards(topic.stamp)
    figure = f"{len(back)} of {len(topic.stamp)} back in time"
    note = "two publishers of /clock, or a simulation that began anew"
    return Finding.measured(
        CLOCK_TOPIC,
        topic.name,
        figure,
        "never back",
        good=not len(back),
        note=note,
        mend=f"ros2 topic info --verbose {topic.name}",
    )


def _rate(topic: TopicSurvey) -> Finding:
    """Rate and longest gap, by stamps where they can be used, else by receive times."""
    stamp = as_nanoseconds(topic.stamp)
    usable = len(stamp) == len(topic.received) and np.all(np.diff(stamp) > 0)
    interval = np.diff(stamp if usable else as_nanoseconds(topic.received)) / _SECOND
    usual, longest = float(np.median(interval)), float(interval.max())
    limit = f"longest interval at most {_LONGEST_GAP:g} usual ones"
    if usual <= 0:
        return Finding.unknown(RATE, "its messages were received in bunches, and their stamps do not rise", topic.name)
    at = int(np.argmax(interval))
    gaps = int((interval > _LONGEST_GAP * usual).sum())
    figure = f"{1 / usual:.4g} Hz, longest interval {longest:.3g} s"
    counted = "1 gap" if gaps == 1 else f"{gaps} gaps"
    note = f"{counted}; the longest begins {float(interval[:at].sum()):.3f} s after its first message"
    return Finding.measured(
        RATE,
        topic.name,
        figure,
        limit,
        good=gaps == 0,
        note=note,
        mend=f"ros2 bag record --storage mcap --max-cache-size 1000000000 {topic.name}",
    )
