"""Checks for other simulators: whose ground truth is there, in which form, and the line that makes labels of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from simjudge.questions.doctor.findings import LABELS, MISSING, SIMULATOR_LABELS, Finding, quoted
from simjudge.questions.doctor.survey import RecordingSurvey
from simjudge.questions.doctor.usable_for import QUESTIONS
from simjudge.sim.capture.simulators.labelling import FoundLabels
from simjudge.sim.sensors.lidar.checked_scans import PASS

_FORMS = {
    "pictures": "label pictures", "solids": "boxes in space", "boxes": "boxes on the image",
    "things": "poses of bodies",
}  # fmt: skip


def types_with_messages(survey: RecordingSurvey) -> dict[str, str]:
    """Message type by topic name of the topics on which something came."""
    return {topic.name: topic.type for topic in survey.topics.values() if topic.received}


def check_simulators(
    path: Path, found: Sequence[FoundLabels], findings: Sequence[Finding], live: Mapping[str, str] | None
) -> list[Finding]:
    """Say whose ground truth is there, and let what lacks labels be mended by it.

    Args:
        live: of a running graph, the topics that its images' labels take: images, camera_info. None for a recording.
    """
    if not found:
        return list(findings)
    shown = [row for each in found for row in _rows(each)]
    mends = [live_line(each, live) if live is not None else _convert_line(path, each) for each in found]
    note = "; ".join(f"{each.simulator} has it as {_FORMS[each.form]}" for each in found)
    out = []
    for each in findings:
        if each.check == LABELS and each.verdict == MISSING:
            out.append(replace(each, note=f"no labels of simjudge's: {note}", mend=mends[0]))
            out += [replace(each, note="", mend=line) for line in mends[1:]]
        else:
            out.append(each)
    return [*out, *shown]


def _rows(found: FoundLabels) -> list[Finding]:
    asked = ", ".join(each.text for each in QUESTIONS if LABELS in (*each.needs, *each.wants))
    figure = f"{found.simulator}: {_FORMS[found.form]} on {', '.join(found.topics)}; as labels they serve: {asked}"
    rows = [Finding(SIMULATOR_LABELS, PASS, found.topics[0], figure)]
    if found.needs_names and not found.names_topic:
        note = f"{found.simulator}: the JSON on {found.needs_names} that says what the numbers mean is not there"
        mend = "ros2 bag record --storage mcap --all"
        rows.append(Finding.missing(SIMULATOR_LABELS, note, mend, found.topics[0]))
    return rows


def _convert_line(path: Path, found: FoundLabels) -> str:
    line = f"simjudge convert {quoted(path)} labelled.mcap --simulator "
    if found.form == "things":
        return f"{line}my_bodies.yaml   # a copy of config/simulators/{found.simulator}.yaml that names your bodies"
    line += found.simulator
    if len(found.topics) > 1:
        line += f" --label-topic {quoted(found.topics[0])}"
    return line + (" --class 1=car   # your numbers and names" if found.needs_classes else "")


def live_line(found: FoundLabels, live: Mapping[str, str]) -> str:
    """The line that makes labels of a simulator's ground truth while it runs."""
    source = live.get("images", "") if found.form == "things" else found.topics[0]
    simulator = "my_bodies.yaml" if found.form == "things" else found.simulator
    words = [f"simulator:={simulator}", f"form:={found.form}", f"labels:={source}"]
    if found.names_topic:
        words.append(f"names:={found.names_topic}")
    if found.form != "pictures" and live.get("camera_info"):
        words.append(f"camera_info:={live['camera_info']}")
    if found.needs_classes:
        words.append("classes:=1=car   # your numbers and names")
    if found.form == "things":
        words.append(f"  # a copy of config/simulators/{found.simulator}.yaml that names your bodies")
    return f"simjudge run label {' '.join(words)}"
