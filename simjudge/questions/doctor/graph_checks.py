"""Checks that only a running graph allows: who is at each topic, whether they fit, and stamps beside the clock."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simjudge.questions.doctor.clock_checks import STREAMS
from simjudge.questions.doctor.findings import (
    CAMERA_IN_WORLD,
    HEARD,
    NOW,
    ONE_CLOCK_PUBLISHER,
    ONE_TYPE,
    PUBLISHED,
    QOS,
    Finding,
)
from simjudge.questions.doctor.survey import CLOCK, RecordingSurvey, TopicSurvey, as_nanoseconds

_WORLD = ("map", "odom", "world")
"""Frames that stand still, the preferred one first (REP 105)."""
_LATE = 0.5
"""Seconds by which stamps may be off the time at which their messages came."""
_QUIET = ("/diagnostics", "/clicked_point", "/initialpose", "/goal_pose", "/move_base_simple/goal")
"""Topics that people or tools publish now and then: nothing is wrong where nobody does."""


@dataclass(frozen=True)
class TopicEnd:
    """A publisher or a subscription.

    Attributes:
        reliable: whether it offers, or asks for, reliable delivery.
        latched: whether it offers, or asks for, the last messages for late subscribers (transient local).
    """

    node: str
    type: str
    reliable: bool
    latched: bool


@dataclass(frozen=True)
class GraphTopic:
    """A topic of a running graph.

    Attributes:
        types: the message types that somebody uses on it.
        trouble: why it could not be listened to; "" where it could.
    """

    name: str
    types: Sequence[str]
    publishers: Sequence[TopicEnd]
    subscriptions: Sequence[TopicEnd]
    trouble: str = ""

    @classmethod
    def of(cls, row: dict[str, Any]) -> GraphTopic:
        """Read a topic from JSON."""
        publishers, takers = ([TopicEnd(**each) for each in row[side]] for side in ("publishers", "subscriptions"))
        return cls(row["name"], row["types"], publishers, takers, row["trouble"])


def check_graph(topics: Sequence[GraphTopic], survey: RecordingSurvey, camera: TopicSurvey | None) -> list[Finding]:
    """Make all checks of a running graph.

    Args:
        camera: the images that are looked at; None where there are none.
    """
    return [
        _one_type(topics), _qos(topics), _published(topics), _heard(topics, survey), _clock_publishers(topics),
        _now(survey), _camera_in_world(survey, camera),
    ]  # fmt: skip


def _one_type(topics: Sequence[GraphTopic]) -> Finding:
    several = [topic for topic in topics if len(topic.types) > 1]
    worst = several[0].name if several else ""
    note = f"{worst} is {' and '.join(several[0].types)}" if several else ""
    return Finding.measured(
        ONE_TYPE, worst, f"{len(several)} of {len(topics)} topics with several", "one", good=not several, note=note,
        mend=f"ros2 topic info --verbose {worst}",
    )  # fmt: skip


def _qos(topics: Sequence[GraphTopic]) -> Finding:
    """Publishers whose offer a subscription refuses: nothing arrives there, and no error is shown."""
    bad: list[tuple[GraphTopic, TopicEnd, TopicEnd, str]] = []
    pairs = 0
    for topic in topics:
        for publisher in topic.publishers:
            for taker in topic.subscriptions:
                pairs += 1
                if taker.reliable and not publisher.reliable:
                    bad.append((topic, publisher, taker, "reliable, and gets best effort"))
                elif taker.latched and not publisher.latched:
                    bad.append((topic, publisher, taker, "transient local, and gets volatile"))
    figure, limit = f"{len(bad)} of {pairs} pairs do not fit", "none"
    if not bad:
        return Finding.measured(QOS, "", figure, limit, good=True)
    topic, publisher, taker, what = bad[0]
    policy = "reliability:=best_effort" if "reliable" in what else "durability:=volatile"
    override = f"qos_overrides.{topic.name}.subscription.{policy}"
    note = f"{taker.node} asks {publisher.node} for {what}: it gets nothing"
    return Finding.measured(
        QOS, topic.name, figure, limit, good=False, note=note,
        mend=f"ros2 topic info --verbose {topic.name}  # then --ros-args -p {override} for {taker.node}",
    )  # fmt: skip


def _published(topics: Sequence[GraphTopic]) -> Finding:
    """Subscriptions that nobody publishes to: often a name that lacks a remapping."""
    lone = [topic for topic in topics if topic.subscriptions and not topic.publishers and topic.name not in _QUIET]
    if not lone:
        return Finding.measured(PUBLISHED, "", "every topic that is subscribed to", "all", good=True)
    topic = lone[0]
    like = [each.name for each in topics if each.publishers and set(each.types) & set(topic.types)]
    near = difflib.get_close_matches(topic.name, like, n=1, cutoff=0.0)
    mend = f"ros2 run PACKAGE NODE --ros-args -r {topic.name}:={near[0]}" if near else "ros2 topic list --show-types"
    names = ", ".join(each.name for each in lone)
    note = f"nobody publishes {names}; {topic.subscriptions[0].node} waits"
    return Finding.missing(PUBLISHED, note, mend, topic.name)


def _heard(topics: Sequence[GraphTopic], survey: RecordingSurvey) -> Finding:
    streams = [topic for topic in topics if topic.publishers and set(topic.types) & {*STREAMS, CLOCK}]
    if not streams:
        return Finding.missing(HEARD, "no topic of a sensor", "ros2 topic list --show-types")
    troubles = {topic.name: topic.trouble for topic in topics if topic.trouble}
    silent = [each.name for each in streams if each.name not in survey.topics or not survey.topics[each.name].received]
    named = [*troubles, *(name for name in silent if name not in troubles)]
    note = next(iter(troubles.values()), f"{', '.join(silent)}: a publisher, and no message")
    worst = named[0] if named else ""
    return Finding.measured(
        HEARD, worst, f"{len(streams) - len(silent)} of {len(streams)} topics of sensors", "all", good=not named,
        note=note, mend=f"ros2 topic hz {worst}",
    )  # fmt: skip


def _clock_publishers(topics: Sequence[GraphTopic]) -> Finding:
    clocks = [each for topic in topics if topic.name == "/clock" for each in topic.publishers]
    if not clocks:
        return Finding.unknown(ONE_CLOCK_PUBLISHER, "no /clock: time is that of the computers")
    names = sorted(each.node for each in clocks)
    return Finding.measured(
        ONE_CLOCK_PUBLISHER, "/clock", f"{len(clocks)}: {', '.join(names)}", "one", good=len(clocks) == 1,
        note="time jumps between them: end all but one, or give each simulation a ROS_DOMAIN_ID of its own",
        mend="ros2 topic info --verbose /clock",
    )  # fmt: skip


def _now(survey: RecordingSurvey) -> Finding:
    """How far stamps are from the time at which their messages came: that of /clock where there is one."""
    clocks = survey.of_type(CLOCK)
    limit = f"within {_LATE:g} s"
    late: dict[str, float] = {}
    for topic in survey.of_type(*STREAMS):
        received, stamp = as_nanoseconds(topic.received), as_nanoseconds(topic.stamp)
        if not len(stamp) or len(stamp) != len(received) or not stamp.any():
            continue
        if clocks and clocks[0].stamp:
            at, time = as_nanoseconds(clocks[0].received), as_nanoseconds(clocks[0].stamp)
            known = received >= at[0]
            if not known.any():
                continue
            received = time[np.searchsorted(at, received[known], "right") - 1]
            stamp = stamp[known]
        late[topic.name] = float(np.median((received - stamp) / 1e9))
    if not late:
        return Finding.unknown(NOW, "no topic of a sensor with stamps")
    worst = max(late, key=lambda name: abs(late[name]))
    good = abs(late[worst]) <= _LATE
    where = "/clock" if clocks else "this computer's clock"
    note = f"{worst}: {'behind' if late[worst] > 0 else 'ahead of'} {where}"
    mend = "chronyc tracking && sudo chronyc makestep"
    if clocks or abs(late[worst]) > 1e6:
        # Stamps of another epoch: simulated time on one side only.
        mend = "ros2 run PACKAGE NODE --ros-args -p use_sim_time:=true" if clocks else "ros2 topic echo --once /clock"
    return Finding.measured(
        NOW, "" if good else worst, f"{late[worst]:+.3f} s at most after their stamps", limit, good=good, note=note,
        mend=mend,
    )  # fmt: skip


def _camera_in_world(survey: RecordingSurvey, camera: TopicSurvey | None) -> Finding:
    """Whether transforms lead from map or odom to the camera."""
    if camera is None:
        return Finding.unknown(CAMERA_IN_WORLD, "no images")
    chain = [camera.frame_id.lstrip("/")]
    tree = survey.transforms(camera.name).tree
    links = tree.links
    while chain[-1] in links and len(chain) <= len(links):
        chain.append(links[chain[-1]].parent)
    way = " < ".join(chain)
    if set(_WORLD) & set(chain):
        return Finding.measured(CAMERA_IN_WORLD, camera.name, way, "from map or odom", good=True)
    top = chain[-1] or "camera_optical_frame"
    body = "base_link" if top != "base_link" and "base_link" in tree.frames() else "odom"
    publisher = f"ros2 run tf2_ros static_transform_publisher --frame-id {body} --child-frame-id {top}"
    why = f"transforms lead from {way} no further: no {' or '.join(_WORLD)} above it"
    return Finding.missing(CAMERA_IN_WORLD, why, publisher, camera.name)
