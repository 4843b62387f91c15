"""A running graph, checked as a recording of some seconds, and by checks that only a running graph allows."""

from __future__ import annotations

import difflib
import importlib.util
import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.installed import install_command, need_rclpy
from simjudge.core.processes import python_command
from simjudge.core.text import Json
from simjudge.data.rosbag2.recording import Recording
from simjudge.questions.doctor.clock_checks import (
    CLOCK,
    STREAMS,
    RecordingSurvey,
    TopicSurvey,
    as_nanoseconds,
    survey_recording,
)
from simjudge.questions.doctor.diagnosis import (
    CAMERA_IN_WORLD,
    HEARD,
    NOW,
    ONE_CLOCK_PUBLISHER,
    ONE_TYPE,
    PUBLISHED,
    QOS,
    Diagnosis,
    Finding,
    TopicRow,
    answer_questions,
)
from simjudge.questions.doctor.run import diagnose_recording, looked_at_camera

_WORLD = ("map", "odom", "world")
"""Frames that stand still, the preferred one first (REP 105)."""
_LATE = 0.5
"""Seconds by which stamps may be off the time at which their messages came."""
_QUIET = ("/diagnostics", "/clicked_point", "/initialpose", "/goal_pose", "/move_base_simple/goal")
"""Topics that people or tools publish now and then: nothing is wrong where nobody does."""


@dataclass(frozen=True)
class TopicEnd:
    """A publisher or a subscription."""

    node: str
    type: str
    reliable: bool  # whether it offers, or asks for, reliable delivery
    latched: bool  # whether it offers, or asks for, the last messages for late subscribers (transient local)


@dataclass(frozen=True)
class GraphTopic:
    """A topic of a running graph."""

    name: str
    types: Sequence[str]  # the message types that somebody uses on it
    publishers: Sequence[TopicEnd]
    subscriptions: Sequence[TopicEnd]
    trouble: str = ""  # why it could not be listened to; "" where it could

    @classmethod
    def of(cls, row: Json) -> GraphTopic:
        """Read a topic from JSON."""
        publishers, takers = ([TopicEnd(**end) for end in row[side]] for side in ("publishers", "subscriptions"))
        return cls(row["name"], row["types"], publishers, takers, row["trouble"])


def check_graph(topics: Sequence[GraphTopic], survey: RecordingSurvey, camera: TopicSurvey | None) -> list[Finding]:
    """Make all checks of a running graph."""
    return [
        _one_type(topics),
        _qos(topics),
        _published(topics),
        _heard(topics, survey),
        _clock_publishers(topics),
        _now(survey),
        _camera_in_world(survey, camera),
    ]


def _one_type(topics: Sequence[GraphTopic]) -> Finding:
    several = [topic for topic in topics if len(topic.types) > 1]
    worst = several[0].name if several else ""
    note = f"{worst} is {' and '.join(several[0].types)}" if several else ""
    return Finding.measured(
        ONE_TYPE,
        worst,
        f"{len(several)} of {len(topics)} topics with several",
        "one",
        good=not several,
        note=note,
        mend=f"ros2 topic info --verbose {worst}",
    )


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
        QOS,
        topic.name,
        figure,
        limit,
        good=False,
        note=note,
        mend=f"ros2 topic info --verbose {topic.name}  # then --ros-args -p {override} for {taker.node}",
    )


def _published(topics: Sequence[GraphTopic]) -> Finding:
    """Subscriptions that nobody publishes to: often a name that lacks a remapping."""
    lone = [topic for topic in topics if topic.subscriptions and not topic.publishers and topic.name not in _QUIET]
    if not lone:
        return Finding.measured(PUBLISHED, "", "every topic that is subscribed to", "all", good=True)
    topic = lone[0]
    like = [other.name for other in topics if other.publishers and set(other.types) & set(topic.types)]
    near = difflib.get_close_matches(topic.name, like, n=1, cutoff=0.0)
    mend = f"ros2 run PACKAGE NODE --ros-args -r {topic.name}:={near[0]}" if near else "ros2 topic list --show-types"
    names = ", ".join(row.name for row in lone)
    note = f"nobody publishes {names}; {topic.subscriptions[0].node} waits"
    return Finding.missing(PUBLISHED, note, mend, topic.name)


def _heard(topics: Sequence[GraphTopic], survey: RecordingSurvey) -> Finding:
    streams = [topic for topic in topics if topic.publishers and set(topic.types) & {*STREAMS, CLOCK}]
    if not streams:
        return Finding.missing(HEARD, "no topic of a sensor", "ros2 topic list --show-types")
    troubles = {topic.name: topic.trouble for topic in topics if topic.trouble}
    silent = [
        stream.name for stream in streams if stream.name not in survey.topics or not survey.topics[stream.name].received
    ]
    named = [*troubles, *(name for name in silent if name not in troubles)]
    note = next(iter(troubles.values()), f"{', '.join(silent)}: a publisher, and no message")
    worst = named[0] if named else ""
    return Finding.measured(
        HEARD,
        worst,
        f"{len(streams) - len(silent)} of {len(streams)} topics of sensors",
        "all",
        good=not named,
        note=note,
        mend=f"ros2 topic hz {worst}",
    )


def _clock_publishers(topics: Sequence[GraphTopic]) -> Finding:
    clocks = [publisher for topic in topics if topic.name == "/clock" for publisher in topic.publishers]
    if not clocks:
        return Finding.unknown(ONE_CLOCK_PUBLISHER, "no /clock: time is that of the computers")
    names = sorted(clock.node for clock in clocks)
    return Finding.measured(
        ONE_CLOCK_PUBLISHER,
        "/clock",
        f"{len(clocks)}: {', '.join(names)}",
        "one",
        good=len(clocks) == 1,
        note="time jumps between them: end all but one, or give each simulation a ROS_DOMAIN_ID of its own",
        mend="ros2 topic info --verbose /clock",
    )


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
        NOW,
        "" if good else worst,
        f"{late[worst]:+.3f} s at most after their stamps",
        limit,
        good=good,
        note=note,
        mend=mend,
    )


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


RECORDED = "drive"
"""What commands call the recording that a person makes of the graph."""
_PATIENCE = 60.0
"""Seconds beside those of listening in which the graph must have been written down."""


def diagnose_graph(seconds: float = 5.0, *, image_topic: str | None = None) -> Diagnosis:
    """Find out what of the running ROS graph is usable for which question.

    Args:
        seconds: how long to listen.
        image_topic: of several cameras, the images to look at, or the camera's name.

    Returns:
        The diagnosis of the messages that came, as of a recording, with what only a running graph shows. Its commands
        name a recording "drive", to be made of the graph.

    Raises:
        UsageError: the time is none.
        SimjudgeError: there is no rclpy, or nothing runs.
    """
    if not 0 < seconds <= 600:
        raise UsageError(f"{seconds:g} s: listen for more than 0 and at most 600 seconds")
    if importlib.util.find_spec("rclpy") is None:
        raise SimjudgeError(
            f"a running graph is looked at with rclpy: source your ROS 2 installation, or {install_command('rclpy')}; "
            "a recording or a data set needs neither: simjudge doctor FILE"
        )
    need_rclpy()
    with tempfile.TemporaryDirectory(prefix="simjudge_doctor_") as folder:
        topics, listened = _listen(Path(folder), seconds)
        path = Path(folder) / "messages"
        domain = os.environ.get("ROS_DOMAIN_ID", "0")
        survey = survey_recording(Recording(path)) if any(topic.publishers for topic in topics) else None
        if survey is None or not any(topic.received for topic in survey.topics.values()):
            raise SimjudgeError(_silence(topics, domain, seconds))
        found = _diagnose(path, topics, survey, image_topic)
    nodes = {end.node for topic in topics for end in (*topic.publishers, *topic.subscriptions)}
    kind = (
        f"ROS_DOMAIN_ID {domain}, {listened:.1f} s, {len(topics)} topics of {len(nodes)} nodes; "
        f"{RECORDED} stands for a recording of it (ros2 bag record --storage mcap --output {RECORDED} --all)"
    )
    rows = [_row(topic, survey) for topic in topics]
    return replace(found, kind=kind, topics=rows)


def _row(topic: GraphTopic, survey: RecordingSurvey) -> TopicRow:
    """A topic for a table; its rate is among the checks."""
    held = survey.topics.get(topic.name)
    publishers, subscriptions = (sorted({end.node for end in ends}) for ends in (topic.publishers, topic.subscriptions))
    count = 0 if held is None else len(held.received)
    return TopicRow(topic.name, ", ".join(topic.types), publishers, subscriptions, count)


def _silence(topics: list[GraphTopic], domain: str, seconds: float) -> str:
    if topics:
        silent = f"{len(topics)} topics, and no message within {seconds:g} s"
        return f"ROS_DOMAIN_ID {domain}: {silent}; listen longer: --seconds"
    return (
        f"ROS_DOMAIN_ID {domain}: no topic within {seconds:g} s: nothing runs, or in another ROS_DOMAIN_ID, or beyond "
        "ROS_AUTOMATIC_DISCOVERY_RANGE; to look at a recording: simjudge doctor FILE"
    )


def _listen(folder: Path, seconds: float) -> tuple[list[GraphTopic], float]:
    """Run the program that listens: who is at each topic, and for how many seconds it listened."""
    command = python_command("-m", "simjudge.nodes.graph_survey", str(folder), f"{seconds:g}")
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + _PATIENCE, check=False)
    except subprocess.TimeoutExpired as error:
        raise SimjudgeError(f"listening to the graph took longer than {seconds + _PATIENCE:g} s") from error
    path = folder / "graph.json"
    if not path.is_file():
        last = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()][-1:]
        why = last[0].removeprefix("error: ") if last else f"exit code {done.returncode}"
        raise SimjudgeError(f"the graph cannot be listened to: {why}")
    content = json.loads(path.read_text(encoding="utf-8"))
    return [GraphTopic.of(row) for row in content["topics"]], float(content["seconds"])


def _diagnose(path: Path, topics: list[GraphTopic], survey: RecordingSurvey, image_topic: str | None) -> Diagnosis:
    """The diagnosis of what was recorded, and of the graph; the recording has the name that a person gives it."""
    found = diagnose_recording(path, image_topic, live=True)
    findings = [*check_graph(topics, survey, looked_at_camera(survey, image_topic)), *found.findings]
    named = [_renamed(finding, str(path)) for finding in findings]
    notes = [note.replace(f"{path}: ", "").replace(str(path), RECORDED) for note in found.notes]
    return Diagnosis(Path(RECORDED), "", named, answer_questions(named), notes, found.losses, detector=found.detector)


def _renamed(finding: Finding, path: str) -> Finding:
    def renamed(text: str) -> str:
        return text.replace(f"{path}: ", "").replace(path, RECORDED)

    return replace(finding, note=renamed(finding.note), mend=renamed(finding.mend), figure=renamed(finding.figure))
