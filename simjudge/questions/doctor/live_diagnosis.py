"""A running graph, looked at by the checks of recordings: it is listened to for some seconds, and then by its own."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.installed import need_rclpy
from simjudge.data.rosbag2.recording import Recording
from simjudge.questions.doctor.diagnosis import Diagnosis
from simjudge.questions.doctor.findings import Finding
from simjudge.questions.doctor.graph_checks import GraphTopic, check_graph
from simjudge.questions.doctor.recording_diagnosis import diagnose_recording, looked_at_camera
from simjudge.questions.doctor.survey import RecordingSurvey, survey_recording
from simjudge.questions.doctor.usable_for import answer_questions

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
            "a running graph is looked at with rclpy: source your ROS 2 installation, or pip install 'simjudge[ros]'; "
            "a recording or a data set needs neither: simjudge doctor FILE"
        )
    need_rclpy()
    with tempfile.TemporaryDirectory(prefix="simjudge_doctor_") as folder:
        content = _listen(Path(folder), seconds)
        topics = [GraphTopic.of(row) for row in content["topics"]]
        path = Path(folder) / "messages"
        domain = os.environ.get("ROS_DOMAIN_ID", "0")
        survey = survey_recording(Recording(path)) if any(each.publishers for each in topics) else None
        if survey is None or not any(each.received for each in survey.topics.values()):
            raise SimjudgeError(_silence(topics, domain, seconds))
        found = _diagnose(path, topics, survey, image_topic)
    nodes = {end.node for topic in topics for end in (*topic.publishers, *topic.subscriptions)}
    kind = (
        f"ROS_DOMAIN_ID {domain}, {content['seconds']:.1f} s, {len(topics)} topics of {len(nodes)} nodes; "
        f"{RECORDED} stands for a recording of it (ros2 bag record --storage mcap --output {RECORDED} --all)"
    )
    rows = [_row(topic, survey) for topic in topics]
    return replace(found, kind=kind, topics=rows)


def _row(topic: GraphTopic, survey: RecordingSurvey) -> dict[str, Any]:
    """A topic for a table; its rate is among the checks."""
    held = survey.topics.get(topic.name)
    return {
        "topic": topic.name, "type": ", ".join(topic.types),
        "publishers": sorted({each.node for each in topic.publishers}),
        "subscriptions": sorted({each.node for each in topic.subscriptions}),
        "messages": 0 if held is None else len(held.received),
    }  # fmt: skip


def _silence(topics: list[GraphTopic], domain: str, seconds: float) -> str:
    if topics:
        silent = f"{len(topics)} topics, and no message within {seconds:g} s"
        return f"ROS_DOMAIN_ID {domain}: {silent}; listen longer: --seconds"
    return (
        f"ROS_DOMAIN_ID {domain}: no topic within {seconds:g} s: nothing runs, or in another ROS_DOMAIN_ID, or beyond "
        "ROS_AUTOMATIC_DISCOVERY_RANGE; to look at a recording: simjudge doctor FILE"
    )


def _listen(folder: Path, seconds: float) -> dict[str, Any]:
    """Run the program that listens; who is at each topic."""
    command = [sys.executable, "-m", "simjudge.nodes.graph_survey", str(folder), f"{seconds:g}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + _PATIENCE, check=False)
    except subprocess.TimeoutExpired as error:
        raise SimjudgeError(f"listening to the graph took longer than {seconds + _PATIENCE:g} s") from error
    path = folder / "graph.json"
    if not path.is_file():
        last = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()][-1:]
        why = last[0].removeprefix("error: ") if last else f"exit code {done.returncode}"
        raise SimjudgeError(f"the graph cannot be listened to: {why}")
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def _diagnose(path: Path, topics: list[GraphTopic], survey: RecordingSurvey, image_topic: str | None) -> Diagnosis:
    """The diagnosis of what was recorded, and of the graph; the recording has the name that a person gives it."""
    found = diagnose_recording(path, image_topic, live=True)
    findings = [*check_graph(topics, survey, looked_at_camera(survey, image_topic)), *found.findings]
    named = [_renamed(each, str(path)) for each in findings]
    notes = [each.replace(f"{path}: ", "").replace(str(path), RECORDED) for each in found.notes]
    return Diagnosis(Path(RECORDED), "", named, answer_questions(named), notes, found.losses,
                     detector=found.detector)  # fmt: skip


def _renamed(finding: Finding, path: str) -> Finding:
    def renamed(text: str) -> str:
        return text.replace(f"{path}: ", "").replace(path, RECORDED)

    return replace(finding, note=renamed(finding.note), mend=renamed(finding.mend), figure=renamed(finding.figure))
