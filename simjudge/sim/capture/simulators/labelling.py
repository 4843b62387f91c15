"""Recordings of other simulators, found and labelled by the simulator's own ground truth."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from simjudge.core.arrays import BoolArray
from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.images import ImageError
from simjudge.core.installed import SIMULATOR, shipped_files
from simjudge.core.object_tables import Objects
from simjudge.data.format_support.image_files import Topics
from simjudge.data.frame_sequences import pair_stamps
from simjudge.data.image_geometry import flip_vertically
from simjudge.data.rosbag2.interfaces import (
    COMPRESSED_IMAGE,
    IMAGE,
    LABELS,
    VISION_BOXES,
    VISION_BOXES_3D,
    header_stamp,
)
from simjudge.data.rosbag2.reading import read_recording
from simjudge.data.rosbag2.recorded_poses import POSE_TYPES, decoded_messages
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.storage import format_seconds
from simjudge.data.sets import refuse_input_as_output
from simjudge.sim.capture.ground_truth import Labelling
from simjudge.sim.capture.simulators.label_messages import (
    WEBOTS_BOXES,
    BoxFields,
    BoxLabels,
    ClassNumbers,
    LabelFields,
    LabelNames,
    LabelRow,
    PictureFields,
    PictureLabels,
    SimulatorFile,
    SolidFields,
    build_objects,
    read_simulator,
    settle_rows,
)
from simjudge.sim.capture.simulators.label_solids import CARLA_OBJECTS, CameraView, SolidLabels, ThingLabels
from simjudge.sim.capture.simulators.motion_source import RecordedMotions

log = logging.getLogger(__name__)

STRING = "std_msgs/msg/String"
PICTURES = (IMAGE, COMPRESSED_IMAGE)
BOXES = (VISION_BOXES, WEBOTS_BOXES)
SOLIDS = (VISION_BOXES_3D, CARLA_OBJECTS)


class LabelReader(Protocol):
    """Reads one form of a simulator's ground truth."""

    def rows(self, message: Any, where: str, names: Mapping[int, str] | None, losses: Losses) -> list[LabelRow] | None:
        """Read the objects of a message: see `PictureLabels.rows`; None where they cannot be known."""


@dataclass(frozen=True)
class LabelSource:
    """Where the ground truth of a recording or of a graph is."""

    fields: LabelFields
    topic: str
    names_topic: str  # where its names are; "" where nothing says them

    def reader(self, view: CameraView) -> LabelReader:
        """Make what reads the messages."""
        return SolidLabels(self.fields, view) if isinstance(self.fields, SolidFields) else image_reader(self.fields)


def image_reader(fields: LabelFields) -> LabelReader:
    """Make what reads pictures, or boxes on the image: forms that need no camera."""
    if isinstance(fields, PictureFields):
        return PictureLabels(fields)
    assert isinstance(fields, BoxFields)  # noqa: S101 - boxes in space need a camera
    return BoxLabels(fields)


def read_simulator_recording(
    path: str | Path,
    simulator: SimulatorFile,
    limits: Labelling,
    *,
    topics: Topics | None = None,
    tolerance_ns: int = 0,
) -> FrameSet:
    """Read a recording of another simulator, with its ground truth as labels; stamps agree within `tolerance_ns`."""
    path, given = Path(path), topics or Topics()
    recording = Recording(path)
    types = {info.topic: info.type for info in recording.topic_infos()}
    image = given.image_topic or _only(simulator.images.topic, PICTURES, types, str(path), "--image-topic") or None
    motions = RecordedMotions(recording, image)
    view = CameraView(motions, simulator.images)
    if simulator.things is not None and given.label_topic is None:
        frames = _photographs(path, simulator, types, given, image, "")
        things = ThingLabels(motions, simulator.things, view, simulator.world)
        _check_size(view, frames, path)
        return _with_things(frames, things, limits)
    source = choose_source(simulator, types, given.label_topic, str(path))
    frames = _photographs(path, simulator, types, given, image, source.topic)
    if isinstance(source.fields, SolidFields):
        _check_size(view, frames, path)
    stamps, found = _read_labels(recording, source, view, frames.losses)
    if not stamps:
        raise SimjudgeError(f"{path}: no message on {source.topic} can be read{frames.losses.reason}")
    rows, labelled = _join(frames, f"{path}: {source.topic}", (stamps, found), limits, tolerance_ns)
    if source.fields.silent_when_empty and labelled.any():
        first, last = np.flatnonzero(labelled)[[0, -1]]
        labelled[first : last + 1] = True
    if not labelled.any():
        raise SimjudgeError(
            f"{path}: no message on {source.topic} has the stamp of an image; allow for the difference with "
            "--label-tolerance"
        )
    if not labelled.all():
        log.warning("%s: %d of %d images have no label message", path, np.count_nonzero(~labelled), len(frames))
    numbers = ClassNumbers.of([source.fields])
    return with_labels(frames, build_objects(rows, numbers), labelled, numbers)


def _join(
    frames: FrameSet, where: str, read: tuple[list[int], list[list[LabelRow]]], limits: Labelling, tolerance_ns: int
) -> tuple[list[list[LabelRow]], BoolArray]:
    """The labels of each frame, and which frames have a label message."""
    stamps, found = read
    i, j = pair_stamps(frames.stamp, stamps, tolerance_ns)
    for index in sorted(set(range(len(stamps))) - set(j.tolist())):
        frames.losses.add("label messages without an image", f"{where} at {format_seconds(stamps[index])}")
    rows: list[list[LabelRow]] = [[] for _ in range(len(frames))]
    labelled = np.zeros(len(frames), np.bool_)
    for frame, message in zip(i.tolist(), j.tolist(), strict=True):
        width, height = frames.size[frame].tolist()
        at = f"{where} at {format_seconds(stamps[message])}"
        rows[frame] = settle_rows(found[message], (width, height), limits, at, frames.losses)
        labelled[frame] = True
    return rows, labelled


def _with_things(frames: FrameSet, things: ThingLabels, limits: Labelling) -> FrameSet:
    rows: list[list[LabelRow]] = []
    labelled = np.zeros(len(frames), np.bool_)
    for index, stamp in enumerate(frames.stamp.tolist()):
        where, (width, height) = frames.describe_frame(index), frames.size[index].tolist()
        found = things.rows(stamp)
        if found is None:
            frames.losses.add("images at a time without the poses of camera and things, left without labels", where)
        labelled[index] = found is not None
        rows.append(settle_rows(found or [], (width, height), limits, where, frames.losses))
    if not labelled.any():
        raise SimjudgeError(f"{frames.name}: at no image's stamp the poses of the camera and of all things are known")
    numbers = ClassNumbers()
    return with_labels(frames, build_objects(rows, numbers), labelled, numbers)


def _check_size(view: CameraView, frames: FrameSet, path: Path) -> None:
    if np.any(frames.size != view.lens.size):
        have, want = (f"{width}x{height}" for width, height in (view.lens.size, frames.size[0].tolist()))
        raise SimjudgeError(f"{path}: the images are {want} and the camera's lens is for {have}; name the right camera")


def choose_source(
    simulator: SimulatorFile, types: Mapping[str, str], label_topic: str | None, where: str
) -> LabelSource:
    """Choose the form of ground truth to read: the first of the simulator's forms that is there."""
    forms = simulator_forms(simulator)
    if label_topic is not None:
        topic = label_topic if label_topic in types else "/" + label_topic.lstrip("/")
        if topic not in types:
            raise UsageError(f"{where}: has no topic {label_topic}; it has {', '.join(sorted(types)) or 'none'}")
        for fields, kinds in forms:
            if types[topic] in kinds:
                return LabelSource(fields, topic, _only(fields.names_from, (STRING,), types, where))
        raise UsageError(f"{where}: {topic} is a {types[topic]}: none of the forms that the simulator's file describes")
    for fields, kinds in forms:
        found = _only(fields.topic, kinds, types, where)
        if found:
            return LabelSource(fields, found, _only(fields.names_from, (STRING,), types, where))
    wanted = "; ".join(f"{fields.topic} ({' or '.join(kinds)})" for fields, kinds in forms)
    raise SimjudgeError(
        f"{where}: has none of the topics of the simulator's ground truth: {wanted}; name one with --label-topic, or "
        f"write its name into a file of the simulator. It has {', '.join(sorted(types)) or 'none'}"
    )


def with_labels(frames: FrameSet, objects: Objects, labelled: BoolArray, numbers: ClassNumbers) -> FrameSet:
    """Put labels onto frames (`labelled`: bool (F,)); detections get the labels' class numbers by name."""
    moved: dict[int, int] = {}
    if frames.predictions is not None:
        for number, name in frames.class_names.items():
            moved[number] = numbers.number(name)
    predictions = frames.predictions
    if predictions is not None and moved:
        ids = np.array([moved.get(int(class_id), int(class_id)) for class_id in predictions.class_id], np.int64)
        predictions = replace(predictions, class_id=ids)
    return replace(
        frames,
        objects=objects,
        labelled=labelled,
        predictions=predictions,
        class_names=dict(sorted(numbers.names.items())),
    )


def simulator_forms(simulator: SimulatorFile) -> list[tuple[LabelFields, tuple[str, ...]]]:
    """The simulator's forms of ground truth with their message types, the most exact first."""
    forms: list[tuple[LabelFields | None, tuple[str, ...]]] = [
        (simulator.pictures, PICTURES),
        (simulator.solids, SOLIDS),
        (simulator.boxes, BOXES),
    ]
    return [(fields, kinds) for fields, kinds in forms if fields is not None]


def _only(
    pattern: str | None, kinds: tuple[str, ...], types: Mapping[str, str], where: str, option: str = "--label-topic"
) -> str:
    """The topic that a pattern means; "" for none."""
    fitting = [topic for topic, kind in sorted(types.items()) if kind in kinds]
    found = [topic for topic in fitting if pattern and fnmatchcase(topic, pattern)]
    if len(found) > 1:
        raise SimjudgeError(f"{where}: several topics could be {pattern}: {', '.join(found)}; choose one with {option}")
    return found[0] if found else ""


def _photographs(
    path: Path, simulator: SimulatorFile, types: Mapping[str, str], given: Topics, image: str | None, label: str
) -> FrameSet:
    """The recording's images and detections, upright and without labels."""
    hidden = {label}
    for fields, kinds in simulator_forms(simulator):
        hidden |= {topic for topic, kind in types.items() if kind in kinds and fnmatchcase(topic, fields.topic)}
    hidden |= {topic for topic, kind in types.items() if kind == LABELS}
    frames = read_recording(
        path, image_topic=image, detection_topic=given.detection_topic, hidden=frozenset(hidden - {image})
    )
    if frames.images is None:
        raise SimjudgeError(f"{path}: has no images that the labels could be of")
    return flip_vertically(frames) if simulator.images.upside_down else frames


def _read_labels(
    recording: Recording, source: LabelSource, view: CameraView, losses: Losses
) -> tuple[list[int], list[list[LabelRow]]]:
    """The stamps of the label messages, and the objects of each, not yet settled."""
    names = LabelNames()
    if source.names_topic:
        for stored, message in decoded_messages(recording, {source.names_topic}, losses):
            at = f"{recording.path}: {source.names_topic} at {format_seconds(stored.time)}"
            names.add(str(message.data), stored.time, at, losses)
    reader = source.reader(view)
    stamps: list[int] = []
    rows: list[list[LabelRow]] = []
    for stored, message in decoded_messages(recording, {source.topic}, losses):
        stamp = header_stamp(message.header)
        where = f"{recording.path}: {source.topic} at {format_seconds(stamp)}"
        if stamp in stamps[-1:]:
            losses.add("label messages whose stamp was used before", where)
            continue
        try:
            found = reader.rows(message, where, names.at(stamp, stored.time), losses)
        except ImageError as error:
            losses.add("label pictures that cannot be read", str(error))
            continue
        if found is None:
            continue
        stamps.append(stamp)
        rows.append(found)
    return stamps, rows


def label_recording(
    source: str | Path,
    simulator: str | Path,
    *,
    classes: Sequence[str] = (),
    min_size: float | None = None,
    min_visible: float | None = None,
    topics: Topics | None = None,
    label_tolerance: float = 0.0,
    out: str | Path | None = None,
) -> FrameSet:
    """Read a recording of another simulator, labelled by its own ground truth and by our rules.

    Args:
        source: the recording.
        simulator: a file that says where and how the ground truth is, or the name of one of config/simulators.
        classes: "NUMBER=NAME" each, what the simulator's numbers mean; they replace those of the file.
        min_size: objects whose box is narrower or lower are not labelled, pixels; None: 5.
        min_visible: objects of which a smaller share can be seen are not labelled, where it is known; None: 0.25.
        topics: in the recording, the topics to read where several would do.
        label_tolerance: how far the stamps of an image and of its ground truth may lie apart, seconds.
        out: what will be written; it must not be the source.

    Returns:
        The set; its `losses` count what was left out.

    Raises:
        UsageError: an argument makes no sense, or there is no such simulator.
        SimjudgeError: nothing can be read, the ground truth is not there, or nothing says what its numbers mean.
    """
    refuse_input_as_output(out, source)
    defaults = Labelling()
    limits = Labelling(
        defaults.min_size if min_size is None else min_size,
        defaults.min_visible if min_visible is None else min_visible,
    )
    described = with_classes(read_simulator(simulator).content, parse_classes(classes))
    return read_simulator_recording(source, described, limits, topics=topics, tolerance_ns=round(label_tolerance * 1e9))


def parse_classes(texts: Sequence[str]) -> dict[int, str]:
    """Read what numbers mean (texts: "NUMBER=NAME" each)."""
    classes: dict[int, str] = {}
    for text in texts:
        number, equals, name = text.partition("=")
        if not equals or not number.strip().isdecimal() or len(number) > 9 or not name.strip():
            raise UsageError(f"--class {text}: a number and a name are needed, such as --class 1=cone")
        if int(number) in classes:
            raise UsageError(f"--class {text}: {number} is {classes[int(number)]} already")
        classes[int(number)] = name.strip()
    return classes


def with_classes(simulator: SimulatorFile, classes: dict[int, str]) -> SimulatorFile:
    """Replace what the numbers of a simulator mean."""
    if not classes:
        return simulator
    forms = {name: getattr(simulator, name) for name in ("pictures", "solids", "boxes")}
    changed = {
        name: fields.model_copy(update={"classes": classes, "labelled": None, "names_from": None})
        for name, fields in forms.items()
        if fields is not None
    }
    return simulator.model_copy(update=changed)


@dataclass(frozen=True)
class FoundLabels:
    """Topics that hold a simulator's ground truth in one form."""

    simulator: str  # the name of its file in config/simulators/
    form: str  # pictures, solids (boxes in space), boxes (on the image) or things (poses), as its file calls them
    topics: tuple[str, ...]
    names_topic: str = ""  # of the JSON that says what the numbers mean; "" where it is not there
    needs_names: str = ""  # the pattern of that topic's name; "" where this form has none
    needs_classes: bool = False  # whether neither the file nor a topic says what the numbers mean


def find_simulator_labels(types: Mapping[str, str]) -> list[FoundLabels]:
    """Find the ground truth of the simulators that come with simjudge."""
    files = sorted(shipped_files(SIMULATOR).items())
    found = (_find(name, read_simulator(file).content, types) for name, file in files)
    return [reader for reader in found if reader is not None]


def _find(name: str, simulator: SimulatorFile, types: Mapping[str, str]) -> FoundLabels | None:
    if simulator.things is not None:
        return _find_things(name, simulator, types)
    for fields, kinds in simulator_forms(simulator):
        topics = _fitting(fields.topic, kinds, types)
        if topics:
            return _with_names(name, fields, topics, types)
    return None


def _with_names(name: str, fields: LabelFields, topics: tuple[str, ...], types: Mapping[str, str]) -> FoundLabels:
    names = _fitting(fields.names_from, (STRING,), types)
    form = "boxes"
    if isinstance(fields, PictureFields | SolidFields):
        form = "pictures" if isinstance(fields, PictureFields) else "solids"
    coloured = isinstance(fields, PictureFields) and fields.colours is not None
    # CameraRecognitionObjects of Webots name their classes; numbers of vision_msgs and of pictures need names.
    numbered = any(types[topic].startswith(("vision_msgs/", "sensor_msgs/")) for topic in topics)
    bare = numbered and not coloured and not fields.classes and fields.names_from is None
    return FoundLabels(name, form, topics, names[0] if names else "", fields.names_from or "", bare)


def _find_things(name: str, simulator: SimulatorFile, types: Mapping[str, str]) -> FoundLabels | None:
    """Poses below the folder of the file's own: their last names are those of a person's bodies."""
    folders = {thing.topic.rsplit("/", 2)[0] for thing in (simulator.things or {}).values() if thing.topic}
    topics = {topic for folder in folders for topic in _fitting(f"{folder}/*", POSE_TYPES, types)}
    topics.discard(simulator.images.body or "")
    return FoundLabels(name, "things", tuple(sorted(topics))) if topics else None


def _fitting(pattern: str | None, kinds: tuple[str, ...], types: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(t for t, kind in sorted(types.items()) if pattern and kind in kinds and fnmatchcase(t, pattern))


def label_pictures(found: list[FoundLabels], types: Mapping[str, str]) -> frozenset[str]:
    """Topics of images that are no photographs but labels."""
    return frozenset(topic for reader in found for topic in reader.topics if types[topic] in PICTURES)
