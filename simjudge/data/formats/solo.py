"""Unity Perception's SOLO: `sequence.N/stepM.frame_data.json` with a picture beside it; boxes, read only.

A box has the upper left corner `origin` and `dimension` pixels from there, y down. Of the other annotations the middle
of a BoundingBox3D gives the distance, and the OcclusionMetric the visible share. Source: `SoloSchema.md` and
`OcclusionLabeler.md` of https://github.com/Unity-Technologies/com.unity.perception.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.files import is_file
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import NO_INSTANCE
from simjudge.core.text import Json, load_json, one_line, parse_integer, parse_number
from simjudge.data.format_support.annotated_frames import (
    AnnotatedFrame,
    LabelledShape,
    build_annotated_set,
    by_alphabet,
)
from simjudge.data.format_support.image_files import Format, files_below

_CAMERA = "RGBCamera"
_BOXES, _CUBOIDS, _OCCLUSION = "BoundingBox2DAnnotation", "BoundingBox3DAnnotation", "OcclusionMetric"
_FRAME_FILES = ("step*.frame_data.json", "step.*.frame.json")  # As the package writes them, and as its page says
_LABELLERS = "further bounding box labelers of one capture (the first counts)"
_SENSORS = "captures of other sensors than cameras"


def sniff_solo(path: Path) -> bool:
    """Tell whether a path is of this format."""
    folders = [path, *path.glob("sequence.*"), *path.glob("*/sequence.*")] if path.is_dir() else []
    return any(next(folder.glob(pattern), None) for folder in folders for pattern in _FRAME_FILES)


def read_solo(path: Path) -> FrameSet:
    """Read a data set, one of its sequences, or a folder of data sets.

    A frame is called SEQUENCE_STEP, of several cameras with the camera's id behind, in a folder below with its path
    before. Class ids are the places of the label names in their alphabetical order, from 0.
    """
    losses = Losses()
    captures = [capture for file in _frame_files(path) for capture in _captures(file, losses)]
    several = len({str(capture.get("id")) for _, _, capture, _ in captures}) > 1
    frames = []
    for file, name, capture, metrics in captures:
        place = file.parent.relative_to(path)
        named = (place.parent / name).as_posix() + (f"_{one_line(capture.get('id'))}" if several else "")
        width, height = (parse_integer(side) or 0 for side in _pair(capture.get("dimension")))
        picture = file.parent / str(capture.get("filename", "")).replace("\\", "/").rsplit("/", 1)[-1]
        where = f"{file}: capture {one_line(capture.get('id'))}"
        shapes = _shapes(capture, metrics, where, losses)
        shown, drawn = picture if is_file(picture) else None, place.as_posix() if place.name else path.name
        frames.append(AnnotatedFrame(named, shown, (width, height), where, shapes, drawn))
    return build_annotated_set(path, frames, by_alphabet, losses)


def _frame_files(path: Path) -> list[Path]:
    files = [file for pattern in _FRAME_FILES for file in files_below(path, pattern)]
    return sorted(files, key=lambda file: (str(file.parent.parent), *_numbers(file), str(file)))


def _numbers(file: Path) -> tuple[int, int]:
    found = (re.search(r"\.?(\d{1,18})", name) for name in (file.parent.name, file.name))
    sequence, step = (0 if match is None else int(match[1]) for match in found)
    return sequence, step


def _captures(file: Path, losses: Losses) -> Iterator[tuple[Path, str, dict[str, object], Sequence[Any]]]:
    """The captures of cameras in a file of a frame: the file, the frame's name, the capture, and the metrics."""
    content = load_json(file)
    if not isinstance(content, dict) or not isinstance(content.get("captures", []), list):
        raise SimjudgeError(f"{file}: no frame of SOLO (a list `captures`); take the file out")
    sequence, step = _numbers(file)
    metrics = content.get("metrics")
    for index, capture in enumerate(content.get("captures", [])):
        if not isinstance(capture, dict):
            losses.add("malformed captures", f"{file}: capture {index} ({one_line(capture)})")
        elif not _is_kind(capture, _CAMERA):
            losses.add(_SENSORS, f"{file}: capture {index} ({one_line(capture.get('@type'))})")
        else:
            yield file, f"{sequence}_{step}", capture, metrics if isinstance(metrics, list) else ()


def _is_kind(given: Mapping[str, object], kind: str) -> bool:
    return str(given.get("@type", "")).rsplit(".", 1)[-1] == kind


def _shapes(
    capture: dict[str, object], metrics: Sequence[Any], frame: str, losses: Losses
) -> list[LabelledShape] | None:
    """The boxes of a capture; None where no labeler made any."""
    given = capture.get("annotations")
    annotations = (
        [annotation for annotation in given if isinstance(annotation, dict)] if isinstance(given, list) else []
    )
    boxes = [annotation for annotation in annotations if _is_kind(annotation, _BOXES)]
    if not boxes:
        return None
    losses.add(_LABELLERS, frame, len(boxes) - 1)
    cuboids = _by_instance(annotation for annotation in annotations if _is_kind(annotation, _CUBOIDS))
    own = (
        metric
        for metric in metrics
        if isinstance(metric, dict) and metric.get("sensorId") in (None, "", capture.get("id"))
    )
    shown = _by_instance(annotation for annotation in own if _is_kind(annotation, _OCCLUSION))
    found = []
    for index, value in enumerate(_values(boxes[0])):
        where = f"{frame} box {index}"
        shape = _shape(value, where, cuboids, shown) if isinstance(value, dict) else None
        if shape is None:
            losses.add("malformed rows", f"{where} ({one_line(value)})")
        else:
            found.append(shape)
    return found


def _values(annotation: Mapping[str, object]) -> list[Any]:
    values = annotation.get("values")
    return values if isinstance(values, list) else []


def _by_instance(annotations: Iterator[dict[str, object]]) -> dict[int, dict[str, object]]:
    found = {}
    for annotation in annotations:
        for value in _values(annotation):
            number = parse_integer(value.get("instanceId")) if isinstance(value, dict) else None
            if number is not None:
                found[number] = value
    return found


def _shape(value: Json, where: str, cuboids: Mapping[int, Json], shown: Mapping[int, Json]) -> LabelledShape | None:
    name, number = value.get("labelName"), parse_integer(value.get("instanceId"))
    x, y = (parse_number(part) for part in _pair(value.get("origin")))
    width, height = (parse_number(part) for part in _pair(value.get("dimension")))
    if not isinstance(name, str) or not name or x is None or y is None or width is None or height is None:
        return None
    instance = NO_INSTANCE if number is None or number < 0 else number
    middle = cuboids.get(instance, {}).get("translation")
    middle = [parse_number(part) for part in middle] if isinstance(middle, list) else []
    known = [part for part in middle if part is not None and math.isfinite(part)]
    distance = math.hypot(*known) if len(known) == 3 else None
    visible = parse_number(shown.get(instance, {}).get("percentVisible"))
    box = [x, y, x + width, y + height]
    return LabelledShape(name, box, where, instance=instance, distance=distance, visible=visible)


def _pair(given: Any) -> list[Any]:
    return given if isinstance(given, list) and len(given) == 2 else [None, None]


FORMATS = (
    Format(
        "solo",
        "Unity Perception (SOLO)",
        "a SOLO folder of Unity Perception (sequence.0, ...)",
        lambda source: source.is_folder and sniff_solo(source.path),
        16,
        read=lambda source, _options: read_solo(source.path),
    ),
)
