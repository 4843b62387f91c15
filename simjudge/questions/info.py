"""What a path holds: a data set, a recording, a detector or a saved result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from simjudge.core.arrays import Summary, SummaryTable
from simjudge.core.errors import Losses, SimjudgeError, counted
from simjudge.core.frames import FrameSet, summarize_frames
from simjudge.core.settings import ALL_FRAMES, Thinning
from simjudge.core.text import load_json
from simjudge.data.clouds import CloudSummary, cloud_table
from simjudge.data.formats.coco import is_coco
from simjudge.data.formats.yolo import find_label_folder
from simjudge.data.formats.yolo.labels import read_label_rows
from simjudge.data.frame_sequences import find_sequence
from simjudge.data.rosbag2 import describe_recording
from simjudge.data.rosbag2.cloud_writing import cloud_topics, recorded_clouds
from simjudge.data.rosbag2.recorded_poses import describe_conflicts
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.sets import as_frames, describe_choice, find_format, image_topics, read_clouds
from simjudge.detectors.detection import load_detector
from simjudge.method.entry_numbers import ComparisonNumbers
from simjudge.questions.compare.tables import comparison_table
from simjudge.results.result_fields import read_result
from simjudge.results.result_header import ResultHeader
from simjudge.sim.sensors.recorded_readings import read_boxes, read_found_boxes

_DETECTOR_SUFFIXES = (".onnx", ".pt")


@dataclass(frozen=True, repr=False)
class Contents:
    """What a path holds.

    Attributes:
        path: what was looked at.
        kind: "recording", "detector", "result", or the name of a data set's format.
        summary: what a person reads about it.
        content: the FrameSet, RecordingDescription, Detector, or result.json; None for predictions alone.
        notes: what a person should know although nothing is lost.
        losses: what could not be read.
    """

    path: Path
    kind: str
    summary: Summary
    content: Any = None
    notes: Sequence[str] = ()
    losses: Losses = field(default_factory=Losses)

    def __repr__(self) -> str:
        """The summary as text."""
        return self.summary.text()

    def _repr_html_(self) -> str:
        """The summary for notebooks."""
        return self.summary.html()


def info(
    path: str | Path,
    *,
    image_topic: str | None = None,
    allow_outside: bool = False,
    thinning: Thinning = ALL_FRAMES,
) -> Contents:
    """Find out what a path holds.

    Args:
        path: a data set, a recording, a detector (.onnx or .pt), or a folder that `compare` wrote.
        image_topic: in a recording of several cameras, a topic or the camera's name.
        allow_outside: take pictures that lie outside of the folder of their data set.
        thinning: which frames are taken, such as `Thinning(every=5)`.

    Returns:
        What is there; printing it gives about ten lines.

    Raises:
        SimjudgeError: nothing is there, or nothing that simjudge knows.
    """
    path = Path(path)
    if path.suffix.lower() in _DETECTOR_SUFFIXES and path.is_file():
        return _detector(path)
    result = path if path.name == "result.json" else path / "result.json"
    # Label Studio calls its COCO file so, too.
    if (result == path or result.is_file()) and not (result.is_file() and is_coco(load_json(result))):
        return _result(result if result.is_file() else result / "result.json")
    form = find_format(path)
    kind = "" if form is None else form.name
    if kind == "bag":
        return _recording(path, image_topic, thinning)
    if form is not None and form.holds_clouds(path):
        return _clouds(path, kind, image_topic)
    if kind in ("yolo-predictions", "coco-results"):
        return _predictions(path, kind)
    frames = as_frames(path, image_topic=image_topic, allow_outside=allow_outside, thinning=thinning)
    taken = f", {thinning}" if thinning else ""
    summary = replace(_frames_summary(frames, kind), name=f"{path}{taken}")
    notes = describe_choice(path, frames) if path.is_dir() else []
    return Contents(path, kind, summary, frames, notes, frames.losses)


def _recording(path: Path, image_topic: str | None, thinning: Thinning) -> Contents:
    described = describe_recording(path)
    kind = f"recording, {described.duration / 1e9:.3f} s"
    topics = SummaryTable(
        ["topic", "type", "messages"], [[t.topic, t.type, str(t.count)] for t in described.topics], text_columns=2
    )
    clouds, notes, losses, damage = _recorded_clouds(path)
    notes = [*described.notes, *describe_conflicts(Recording(path)), *notes]
    try:
        frames = as_frames(path, image_topic=image_topic, thinning=thinning)
    except SimjudgeError as error:
        summary = Summary(str(path), kind, [topics, *clouds, f"no frames: {error}"])
        losses.extend(damage or described.losses)
        return Contents(path, "recording", summary, described, notes, losses)
    summary = Summary(str(path), kind, [topics, *clouds, *_frames_summary(frames).blocks])
    losses.extend(frames.losses)
    return Contents(path, "recording", summary, described, notes, losses)


def _clouds(path: Path, kind: str, image_topic: str | None) -> Contents:
    clouds = read_clouds(path, image_topics(image_topic))
    losses = Losses()
    losses.extend(clouds.losses)
    summary = CloudSummary(clouds.name, losses)
    for index, stamp in enumerate(clouds.stamp.tolist()):
        try:
            cloud = clouds.read(index)
        except SimjudgeError as error:
            losses.add("clouds that cannot be read", str(error))
            continue
        summary.add(cloud.table, stamp, cloud.where)
    table, notes = cloud_table([summary])
    blocks: list[Any] = [table]
    if clouds.boxes is not None and clouds.labelled is not None:
        blocks.append(("labelled", f"{int(clouds.labelled.sum())} clouds, {len(clouds.boxes)} boxes in space"))
        ids, counts = np.unique(clouds.boxes.class_id, return_counts=True)
        rows = [[clouds.class_names.get(i, str(i)), str(n)] for i, n in zip(ids.tolist(), counts.tolist(), strict=True)]
        blocks.append(SummaryTable(["class", "boxes"], rows))
    if clouds.predictions is not None and clouds.predicted is not None:
        blocks.append(("detected", f"{int(clouds.predicted.sum())} clouds, {len(clouds.predictions)} boxes in space"))
    if clouds.frames is not None:
        blocks += _frames_summary(clouds.frames).blocks
        losses.extend(clouds.frames.losses)
    return Contents(path, kind, Summary(str(path), f"{kind}, {len(clouds)} clouds", blocks), clouds, notes, losses)


def _recorded_clouds(path: Path) -> tuple[list[Any], list[str], Losses, Losses]:
    """What the clouds of a recording hold, what of them cannot be used, and what of the recording cannot be read."""
    recording, losses = Recording(path), Losses()
    summaries = {topic: CloudSummary(topic, losses) for topic in cloud_topics(recording)}
    if not summaries:
        return [], [], losses, Losses()
    for cloud in recorded_clouds(recording, set(summaries), losses):
        summaries[cloud.topic].add(cloud.table, cloud.stamp, cloud.where)
    table, notes = cloud_table(summaries.values())
    blocks: list[Any] = [table]
    for topic in summaries:
        for what, read in (("labelled", read_boxes), ("detected", read_found_boxes)):
            try:
                boxes = read(recording, topic, losses)
            except SimjudgeError as error:
                notes.append(str(error))
                continue
            if boxes:
                count = sum(map(len, boxes.values()))
                blocks.append((what, f"{len(boxes)} clouds of {topic}, {count} boxes in space"))
    return blocks, notes, losses, recording.losses


def _frames_summary(frames: FrameSet, kind: str = "data set") -> Summary:
    """What a set holds, and whether its frames follow each other."""
    summary, sequence = summarize_frames(frames, kind), find_sequence(frames)
    if sequence is None or frames.independent:
        return summary
    *rows, classes = summary.blocks
    return replace(summary, blocks=[*rows, ("sequence", str(sequence)), classes])


def _predictions(path: Path, kind: str) -> Contents:
    losses = Losses()
    if kind == "coco-results":
        rows = load_json(path)
        images, count = len({str(r.get("image_id")) for r in rows if isinstance(r, dict)}), len(rows)
    else:
        files = sorted((find_label_folder(path) or path).glob("*.txt"))
        images, count = len(files), len(read_label_rows(files, losses).file)
    summary = Summary(str(path), f"{kind}, {counted(count, 'predictions')} for {images} pictures")
    return Contents(path, kind, summary, losses=losses)


def _detector(path: Path) -> Contents:
    detector = load_detector(path)
    size = getattr(detector, "input_size", None)
    rows = [("input", " x ".join(map(str, size)) + " pixels")] if size else []
    names = ", ".join(f"{i} {name}" for i, name in sorted(detector.class_names.items()))
    rows.append(("classes", names or "not named in the model"))
    summary = Summary(str(path), f"detector, {path.stat().st_size / 1e6:.1f} MB", rows)
    return Contents(path, "detector", summary, detector)


def _result(path: Path) -> Contents:
    content = read_result(path)
    header = ResultHeader.from_json(content)
    rows = [(side.upper(), f"{held.path}, {held.counts}") for side, held in header.sets.items()]
    table = comparison_table(ComparisonNumbers.from_json(content), header.class_names)
    return Contents(
        path, "result", Summary(str(path), f"result of simjudge {header.version or '?'}", [*rows, table]), content
    )
