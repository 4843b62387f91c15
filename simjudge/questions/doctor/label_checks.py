"""Checks of what is labelled and found, in pictures and clouds, and of other simulators' ground truth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from simjudge.core.arrays import BoolArray
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects, Predictions
from simjudge.core.text import read_text
from simjudge.data.clouds import CloudBoxes, CloudSet
from simjudge.data.format_support.raw_rows import count_likely_corners
from simjudge.questions.doctor.clock_checks import RecordingSurvey
from simjudge.questions.doctor.diagnosis import (
    BOXES,
    CLOUD_FIELDS,
    CLOUDS,
    CONTRACT,
    FOUND_BOXES,
    LABELS,
    LABELS_FIT,
    MISSING,
    PREDICTIONS,
    PREDICTIONS_FIT,
    QUESTIONS,
    SIMULATOR_LABELS,
    Finding,
    fitting_detector,
    has_only_label_pictures,
    quoted,
)
from simjudge.sim.capture.simulators.labelling import FoundLabels
from simjudge.sim.sensors.lidar.checked_scans import FAIL as CONTRACT_FAIL
from simjudge.sim.sensors.lidar.checked_scans import PASS
from simjudge.sim.sensors.lidar.contract import check_lidar

_COLUMNS = (15, 16)
"""Values of a row of KITTI: class, 3 of the picture's object, 4 of its box, 3 sizes, 3 of its place, yaw; a score."""


def count_kitti_rows(path: Path) -> int:
    """Count the label files in PATH/labels whose first row is one of KITTI's."""
    return sum(_is_kitti(file) for file in sorted((path / "labels").glob("*.txt")))


def kitti_rows_note(path: Path) -> tuple[str, str]:
    """What to say of such files, and the command that makes a recording of them."""
    count = count_kitti_rows(path)
    if not count:
        return "", ""
    note = f"{count} files of KITTI's rows in labels/: boxes in space, which this layout does not tie to the clouds"
    known = (path / "points").is_dir() and (path / "metadata.json").is_file()
    return note, f"python scripts/formula_drive.py {quoted(path)} made" if known else ""


def _is_kitti(file: Path) -> bool:
    try:
        words = read_text(file).strip().partition("\n")[0].split()
    except SimjudgeError:
        return False
    if len(words) not in _COLUMNS or words[0].replace(".", "").isdigit():
        return False
    try:
        return bool([float(word) for word in words[1:]])
    except ValueError:
        return False


_FORMS = {
    "pictures": "label pictures",
    "solids": "boxes in space",
    "boxes": "boxes on the image",
    "things": "poses of bodies",
}


def types_with_messages(survey: RecordingSurvey) -> dict[str, str]:
    """Message type by topic name of the topics on which something came."""
    return {topic.name: topic.type for topic in survey.topics.values() if topic.received}


def check_simulators(
    path: Path, found: Sequence[FoundLabels], findings: Sequence[Finding], live: Mapping[str, str] | None
) -> list[Finding]:
    """Say whose ground truth is there, and let what lacks labels be mended by it."""
    if not found:
        return list(findings)
    shown = [row for item in found for row in _rows(item)]
    mends = [live_line(item, live) if live is not None else _convert_line(path, item) for item in found]
    note = "; ".join(f"{item.simulator} has it as {_FORMS[item.form]}" for item in found)
    out = []
    for finding in findings:
        if finding.check == LABELS and finding.verdict == MISSING:
            out.append(replace(finding, note=f"no labels of simjudge's: {note}", mend=mends[0]))
            out += [replace(finding, note="", mend=line) for line in mends[1:]]
        else:
            out.append(finding)
    return [*out, *shown]


def _rows(found: FoundLabels) -> list[Finding]:
    asked = ", ".join(question.text for question in QUESTIONS if LABELS in (*question.needs, *question.wants))
    figure = f"{found.simulator}: {_FORMS[found.form]} on {', '.join(found.topics)}; as labels they serve: {asked}"
    rows = [Finding(SIMULATOR_LABELS, PASS, found.topics[0], figure)]
    if found.needs_names and not found.names_topic:
        note = f"{found.simulator}: the JSON on {found.needs_names} that says what the numbers mean is not there"
        mend = "ros2 bag record --storage mcap --all"
        rows.append(Finding.missing(SIMULATOR_LABELS, note, mend, found.topics[0]))
    return rows


def _convert_line(path: Path, found: FoundLabels) -> str:
    line = f"simjudge data convert {quoted(path)} labelled.mcap --simulator "
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
    return f"simjudge ros run label {' '.join(words)}"


_SCANS = 20
"""Scans that are held to what a lidar is."""
_FIELDS = ("x", "y", "z", "intensity", "ring", "time")
"""What simjudge takes of a point; drivers call the last three by names of their own, which are known."""


def check_labels(
    path: Path, frames: FrameSet | None, trouble: str = "", tolerance_s: float | None = None
) -> list[Finding]:
    """Whether pictures have labels and predictions.

    `tolerance_s`: that may join labels to their pictures, seconds; None for a data set, which has no topics.
    """
    if frames is None:
        why = trouble or "no pictures"
        return [Finding.unknown(check, why) for check in (LABELS, LABELS_FIT, PREDICTIONS, PREDICTIONS_FIT)]
    shell = quoted(path)
    join = kitti_rows_note(path)[1] or f"simjudge doctor --brief {shell}"
    if tolerance_s is not None:
        join = f"simjudge data convert {shell} joined.mcap --label-tolerance {tolerance_s:g}"
    found = [_labels(path, frames), _fit(LABELS_FIT, "label", frames, join), _predictions(frames, shell)]
    again = _detect(frames, shell)
    return [*found, _fit(PREDICTIONS_FIT, "detection", frames, again)]


def _labels(path: Path, frames: FrameSet) -> Finding:
    shell = quoted(path)
    labelled, count = int(frames.labelled.sum()), len(frames)
    if not labelled and frames.semantic is None:
        mend = f"simjudge data convert {shell} labelled.mcap --labels labels_of_an_annotation_tool"
        return Finding.missing(LABELS, "no ground truth: label the pictures with any tool, then join", mend)
    form = _form(frames)
    share = f"{labelled} of {count} pictures, {_things(frames.objects, frames)}"
    something = len(frames.objects) > 0 or frames.semantic is not None
    note = "; ".join(frames.losses.lines()[:1]) or "whoever labelled them found nothing, or in another format"
    rows, mend = kitti_rows_note(path)
    return Finding.measured(
        LABELS,
        form,
        share,
        "at least one object",
        good=something,
        note=rows or note,
        mend=mend or f"simjudge doctor --brief {shell}",
    )


def _form(frames: FrameSet) -> str:
    """In which form the ground truth is."""
    forms = ["boxes"] if len(frames.objects) else []
    masks = frames.objects.masks
    if masks is not None and any(masks.has(row) for row in range(len(frames.objects))):
        forms.append("masks")
    if frames.semantic is not None:
        forms.append("label pictures")
    return ", ".join(forms) or "labelled as empty"


def _things(objects: Objects, frames: FrameSet) -> str:
    kinds = np.unique(objects.class_id)
    names = ", ".join(frames.class_name(int(kind)) for kind in kinds[:4]) + (" ..." if len(kinds) > 4 else "")
    return f"{len(objects)} objects of {len(kinds)} classes ({names})" if len(kinds) else "0 objects"


def _fit(check: str, what: str, frames: FrameSet, mend: str) -> Finding:
    """Whether any was left out when pictures and boxes were joined."""
    has = frames.labelled.any() if what == "label" else frames.predicted.any()
    lost = {kind: count for kind, count in frames.losses.counts.items() if kind.startswith(what)}
    if not has and not lost:
        return Finding.unknown(check, f"no {what}s")
    named = {kind: frames.losses.examples.get(kind, []) for kind in lost}
    lines = Losses(counts=Counter(lost), examples=named).lines()
    table: Objects | Predictions | None = frames.objects if what == "label" else frames.predictions
    beyond = 0 if table is None else count_likely_corners(table.frame, table.box, frames.size)
    if beyond:
        lines.append(
            f"{beyond} boxes reach beyond their pictures, and all are wider and higher than their corner's x and y:"
            " does the file hold x0 y0 x1 y1 where its format has x y width height?"
        )
    return Finding.measured(
        check,
        "",
        f"{sum(lost.values())} left out" + (f", {beyond} beyond the pictures" if beyond else ""),
        "none",
        good=not lost and not beyond,
        note=lines[0] if lines else "",
        mend=mend,
    )


def _predictions(frames: FrameSet, shell: str) -> Finding:
    if not frames.predicted.any() and frames.predicted_semantic is None:
        note = "no detector has run: compare --model runs one too"
        return Finding.missing(PREDICTIONS, note, _detect(frames, shell))
    count = 0 if frames.predictions is None else len(frames.predictions)
    name = "" if frames.detector is None else str(getattr(frames.detector, "name", "") or "")
    figure = f"{int(frames.predicted.sum())} of {len(frames)} pictures, {count} detections"
    return Finding.measured(PREDICTIONS, name, figure, "at least one picture", good=True)


def _detect(frames: FrameSet, shell: str) -> str:
    """The line that runs a detector; only a folder holds predicted label pictures."""
    out = "detected --to yolo" if has_only_label_pictures(frames) else "detected.mcap"
    return f"simjudge detect {shell} --model {fitting_detector(frames)} --out {out}"


def check_clouds(path: Path, topic: str | None, clouds: CloudSet | None, about: str) -> list[Finding]:
    """Hold clouds to what a lidar is, and look for labels in them."""
    shell, option = quoted(path), "" if topic is None else f" --topic {topic}"
    found = [] if clouds is None else _fields(clouds, about)
    try:
        contracts = check_lidar(path, topic=topic, most=_SCANS)
    except SimjudgeError as error:
        note = str(error).removeprefix(f"{path}: ")
        return [
            *found,
            Finding.measured(
                CONTRACT,
                about,
                "cannot be checked",
                "every check",
                good=False,
                note=note,
                mend=f"simjudge doctor --brief {shell}",
            ),
        ]
    for contract in contracts:
        bad = [
            f"{outcome.check} ({outcome.figure})" for outcome in contract.outcomes if outcome.verdict == CONTRACT_FAIL
        ]
        found.append(
            Finding.measured(
                CONTRACT,
                about or contract.name,
                contract.headline,
                "no check fails",
                good=contract.passed,
                note="; ".join(bad),
                mend=f"simjudge sim check lidar {shell}{option}",
            )
        )
    return [*found, *_boxes(path, clouds, about)]


def _fields(clouds: CloudSet, about: str) -> list[Finding]:
    losses = Losses()
    for index in range(len(clouds)):
        try:
            names = clouds[index].fields
        except SimjudgeError as error:
            losses.add("clouds", str(error))
            continue
        lacking = [name for name in _FIELDS[:3] if name not in names]
        figure = ", ".join(names)
        note = f"no {', '.join(lacking)}"
        return [
            Finding.measured(CLOUDS, about, f"{len(clouds)} clouds", "at least one", good=True),
            Finding.measured(
                CLOUD_FIELDS,
                about,
                figure,
                "x, y, z at least",
                good=not lacking,
                note=note,
                mend=f"ros2 topic echo --once --field fields {about}",
            ),
        ]
    return [
        Finding.measured(
            CLOUDS,
            about,
            "none can be read",
            "at least one",
            good=False,
            note=losses.reason,
            mend=f"ros2 topic echo --once {about}",
        )
    ]


def _boxes(path: Path, clouds: CloudSet | None, about: str) -> list[Finding]:
    if clouds is None:
        rows, mend = kitti_rows_note(path)
        unknown = [Finding.unknown(colour, "scans are read without boxes", about) for colour in (BOXES, FOUND_BOXES)]
        return [Finding.missing(BOXES, rows, mend, about), unknown[1]] if rows else unknown
    shell = quoted(path)
    convert = f"simjudge data convert {shell} clouds --to kitti"
    detect = f"simjudge detect {shell} --model lidar_cuboids --out found.mcap"
    by_hand, no_run = "no cuboids: label the clouds with a tool that takes KITTI", "no detector has run on the clouds"
    labels, found = Finding.missing(BOXES, by_hand, convert, about), Finding.missing(FOUND_BOXES, no_run, detect, about)
    return [_cuboids(labels, clouds.boxes, clouds.labelled), _cuboids(found, clouds.predictions, clouds.predicted)]


def _cuboids(missing: Finding, cuboids: CloudBoxes | None, clouds: BoolArray | None) -> Finding:
    """How many clouds have cuboids; `clouds` tells for each whether it was labelled, or searched."""
    if cuboids is None or clouds is None:
        return missing
    figure = f"{int(clouds.sum())} of {len(clouds)} clouds, {len(cuboids)} cuboids"
    return Finding.measured(missing.check, missing.about, figure, "at least one cloud", good=True)
