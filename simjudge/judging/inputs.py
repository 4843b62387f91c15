"""Reading the two sides of a comparison, pairs of their frames, and saying afterwards what exactly was read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.errors import Log, Losses, ProgressBar, SimjudgeError, UsageError, no_log, no_progress
from simjudge.core.files import hash_files
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import NO_INSTANCE, row_offsets
from simjudge.core.settings import ALL_FRAMES, Thinning
from simjudge.data.clouds import CloudSet
from simjudge.data.format_support.image_files import Topics
from simjudge.data.frame_sequences import count_unpaired, pair_frames
from simjudge.data.semantic_classes import SemanticClasses, common_classes
from simjudge.data.sets import (
    find_format,
    image_topics,
    named_by_labels,
    read_clouds,
    read_predictions,
    read_with_format,
    thin_frames,
)
from simjudge.detectors.detector_settings import Renames
from simjudge.detectors.iou import box_iou
from simjudge.judging.class_numbering import rename_class_names, rename_classes
from simjudge.judging.compare_settings import MethodSettings

if TYPE_CHECKING:
    from simjudge.detectors.range_images import RangeGrid

CloudSource: TypeAlias = "CloudSet | Path | str"


def read_lidar_inputs(
    a: FrameSet | CloudSource,
    b: FrameSet | CloudSource,
    settings: MethodSettings,
    *,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> tuple[InputSet, InputSet]:
    """Read both sets of clouds as range images; the settings' model runs on both."""
    from simjudge.detectors.assignment import with_object_classes  # noqa: PLC0415 - slow to import
    from simjudge.detectors.range_images import scan_frames  # noqa: PLC0415

    _refuse_settings_of_pictures(settings)
    topics = (settings.a_cloud_topic, settings.b_cloud_topic)
    read = [_read(source, topic) for source, topic in zip((a, b), topics, strict=True)]
    clouds = [_detected(side, settings, progress) for _, side, _ in read]
    grid = _grid(clouds[0], settings)
    log(f"range images: {grid.describe()}")
    if settings.method.patch[1] > grid.columns:
        raise UsageError(f"patch {settings.method.patch[1]} columns wide: the turn has {grid.columns}")
    sides = []
    renames = ((settings.a_rename, "--a-rename"), (settings.b_rename, "--b-rename"))
    for (path, _, form), cloud, (pairs, option) in zip(read, clouds, renames, strict=True):
        with progress("painting range images") as advance:
            made = scan_frames(cloud, grid, settings.paint, advance=advance)
        for note in made.notes:
            log(f"note: {note}")
        frames = made.frames
        if made.classless:
            log(f"note: {cloud.name}: the detector knows no classes; what it finds is assigned to objects of any class")
            frames = with_object_classes(frames, settings.method.min_score, settings.cuboid_iou)
        sides.append(InputSet(path, None, frames, form, grid.content()).with_classes_renamed(pairs, option))
    return sides[0], sides[1]


def _refuse_settings_of_pictures(settings: MethodSettings) -> None:
    given = {
        "--a-predictions": settings.a_predictions,
        "--b-predictions": settings.b_predictions,
        "--a-image-topic": settings.a_image_topic,
        "--b-image-topic": settings.b_image_topic,
    }
    if settings.thinning:
        raise UsageError(f"--every, --rate: are of pictures; thin the clouds' recording before ({settings.thinning})")
    for flag, value in given.items():
        if value is not None:
            raise UsageError(
                f"{flag}: is of pictures; clouds carry their predictions (simjudge detect), or give --model"
            )


def _read(source: FrameSet | CloudSource, topic: str | None) -> tuple[Path | None, CloudSet, str]:
    if isinstance(source, FrameSet):
        raise UsageError(f"{source.name}: is a set of pictures; --sensor lidar takes clouds")
    if isinstance(source, CloudSet):
        return None, source, IN_MEMORY
    path = Path(source)
    clouds = read_clouds(path, None if topic is None else Topics(cloud_topic=topic))
    form = find_format(path)
    return path, clouds, "" if form is None else form.name


def _detected(clouds: CloudSet, settings: MethodSettings, progress: ProgressBar) -> CloudSet:
    if settings.model is None:
        if clouds.predictions is None:
            raise SimjudgeError(
                f"{clouds.name}: holds no predictions; run a detector (simjudge detect, or --model lidar_cuboids)"
            )
        return clouds
    if settings.model.suffix not in {"", ".yaml", ".yml"}:
        raise UsageError(
            f"--model {settings.model}: detectors of cuboids are lidar_cuboids, or a .yaml file that says how"
        )
    from simjudge.detectors.clouds.cuboid_detection import detect_clouds  # noqa: PLC0415 - slow to import

    return detect_clouds(clouds, settings.model, progress=progress)


def _grid(a: CloudSet, settings: MethodSettings) -> RangeGrid:
    from simjudge.detectors.range_images import even_grid, measure_grid  # noqa: PLC0415 - slow to import

    if settings.elevations is None:
        return measure_grid(a, settings.range_columns)
    low, high, rows = settings.elevations
    return even_grid(math.radians(low), math.radians(high), rows, settings.range_columns)


def read_semantic_inputs(
    a: FrameSet | CloudSet | Path | str,
    b: FrameSet | CloudSet | Path | str,
    settings: MethodSettings,
    *,
    log: Log,
    progress: ProgressBar,
) -> tuple[InputSet, InputSet]:
    """Read both sets with their label pictures, labelled and predicted."""
    sides = []
    for source, predictions, topic, pairs, option in (
        (a, settings.a_predictions, settings.a_image_topic, settings.a_rename, "--a-rename"),
        (b, settings.b_predictions, settings.b_image_topic, settings.b_rename, "--b-rename"),
    ):
        side = read_input(source, None, topic, allow_outside=settings.allow_outside, thinning=settings.thinning)
        require_label_pictures(side.frames)
        if predictions is not None:
            side = _with_predictions(side, predictions, allow_outside=settings.allow_outside)
        if pairs:
            # Numbers of label pictures stay: those of one name count as one class.
            names = rename_class_names(side.frames, dict(pairs), option)
            side = replace(side, frames=replace(side.frames, class_names=names), rename=dict(pairs))
        if predictions is None and settings.model is not None:
            side = replace(side, frames=_predicted(side.frames, settings, log, progress))
        sides.append(replace(side, frames=with_pixels_judged(side.frames)))
    return sides[0], sides[1]


def require_label_pictures(frames: FrameSet) -> None:
    """Refuse a set without label pictures."""
    if frames.semantic is None:
        raise SimjudgeError(
            f"{frames.name}: has no label pictures; give a folder of Cityscapes, GTA V or CamVid, or one with semantic/"
            " (simjudge sim render --label-images)"
        )


def with_pixels_judged(frames: FrameSet) -> FrameSet:
    """A set whose frames count as labelled and predicted where they have the label pictures."""
    require_label_pictures(frames)
    semantic, predicted = frames.semantic, frames.predicted_semantic
    if semantic is None or predicted is None:
        raise SimjudgeError(
            f"{frames.name}: holds no predicted label pictures; give a net (--model) or earlier predictions"
        )
    labelled, seen = (np.array([masks.has(i) for i in range(len(frames))], np.bool_) for masks in (semantic, predicted))
    return replace(frames, labelled=labelled, predicted=seen)


def shared_classes(a: FrameSet, b: FrameSet) -> SemanticClasses:
    """The classes of both sets of a comparison, under common numbers."""
    return common_classes([(a.name, a.class_names), (b.name, b.class_names)])


def _predicted(frames: FrameSet, settings: MethodSettings, log: Log, progress: ProgressBar) -> FrameSet:
    from simjudge.detectors.semantic_net import SemanticNet, predict_semantic  # noqa: PLC0415 - slow to import

    if frames.predicted_semantic is not None:
        log(f"{frames.name}: its own predictions are set aside, since --model was given")
    assert settings.model is not None  # noqa: S101 - the caller has looked
    return predict_semantic(frames, SemanticNet.load(settings.model), progress=progress)


def _with_predictions(side: InputSet, path: Path, *, allow_outside: bool) -> InputSet:
    """The set with the predicted label pictures of another folder, frame by frame by name."""
    read = read_input(path, None, allow_outside=allow_outside).frames
    pictures = read.predicted_semantic
    if pictures is None:
        raise SimjudgeError(f"{path}: holds no predicted label pictures; simjudge detect writes them")
    number = {name: index for index, name in enumerate(read.frame_name)}
    frames = side.frames
    known = [index for index, name in enumerate(frames.frame_name) if name in number]
    if not known:
        raise SimjudgeError(f"{path}: none of its frames is called like one of {frames.name}")
    if read.class_names != frames.class_names:
        raise SimjudgeError(f"{path}: its classes are not those of {frames.name}; predict on that set")
    for index in set(range(len(frames))) - set(known):
        frames.losses.add("frames without a predicted label picture", frames.describe_frame(index))
    kept = frames.take(known)
    chosen = read.take([number[name] for name in kept.frame_name])
    frames = replace(
        kept, predicted_semantic=chosen.predicted_semantic, predicted=chosen.predicted, detector=read.detector
    )
    return replace(side, frames=frames, predictions_path=path)


IN_MEMORY = "memory"
"""The format of a set that was never a file."""


@dataclass(frozen=True)
class InputSet:
    """One side of a comparison: where it is from, and the set that was read."""

    path: Path | None  # of the set; None where it was given in memory
    predictions_path: Path | None  # of predictions from elsewhere; None where the set's own count
    frames: FrameSet
    # of the path, as `simjudge.data.sets.sniff_format` says it; IN_MEMORY for a set that was given in memory
    format: str
    # rows, columns and elevations of range images, see `RangeGrid.content`; None for pictures
    range_image: Mapping[str, object] | None = None
    # new names that classes of the set were given, by the name that the set has
    rename: Mapping[str, str] = field(default_factory=dict)
    thinned: str = ""  # which frames of the set were taken; empty for all

    def describe(self, compared: FrameSet, false_positives: int) -> dict[str, object]:
        """The entry of `inputs` in result.json: paths, content hashes and counts of what was compared."""
        path = self.path
        predictions = 0 if compared.predictions is None else len(compared.predictions)
        more: dict[str, object] = {} if self.range_image is None else {"range_image": dict(self.range_image)}
        more |= {"rename": dict(self.rename)} if self.rename else {}
        more |= {"thinned": self.thinned} if self.thinned else {}
        more |= {"labels": self.frames.label_source} if self.frames.label_source else {}
        return more | {
            "path": "" if path is None else str(path),
            "name": self.frames.name,
            "sha256": "" if path is None else hash_files(path),
            "format": self.format,
            "frames": len(compared),
            "objects": len(compared.objects),
            "predictions": predictions,
            "false_positives": false_positives,
            "detector": None if self.frames.detector is None else self.frames.detector.to_json(),
            "predictions_path": None if self.predictions_path is None else str(self.predictions_path),
            "predictions_sha256": None if self.predictions_path is None else hash_files(self.predictions_path),
        }

    def with_classes_renamed(self, pairs: Renames | None, option: str) -> InputSet:
        """The side with new names for some classes of its set."""
        rename = dict(pairs or ())
        return replace(self, frames=rename_classes(self.frames, rename, option), rename=rename) if rename else self


def read_input(
    source: FrameSet | CloudSet | Path | str,
    predictions: Path | None,
    image_topic: str | None = None,
    *,
    allow_outside: bool,
    rename: Renames | None = None,
    thinning: Thinning = ALL_FRAMES,
) -> InputSet:
    """Read a set, and predictions for it from elsewhere where given; then take the frames that are wanted."""
    if isinstance(source, CloudSet):
        raise UsageError(f"{source.name}: is a set of clouds; give --sensor lidar")
    if isinstance(source, FrameSet):
        path, frames, form = None, named_by_labels(source), IN_MEMORY
    else:
        path = Path(source)
        frames, form = read_with_format(path, topics=image_topics(image_topic), allow_outside=allow_outside)
    if predictions is not None:
        frames = read_predictions(predictions, frames, path, allow_outside=allow_outside, rename=dict(rename or ()))
    thinned = thin_frames(frames, thinning)
    said = f"{thinning}: {len(thinned)} of {len(frames)}" if thinning else ""
    return InputSet(path, predictions, thinned, form, thinned=said)


def describe_model(settings: MethodSettings) -> dict[str, object] | None:
    """The entry `inputs.model` of result.json."""
    model = settings.model
    if model is None:
        return None
    digest = hash_files(model) if model.exists() else ""
    return {"path": str(model), "sha256": digest, "rename": dict(settings.rename or ())}


def comparable_pairs(a: FrameSet, b: FrameSet, tolerance_ns: int, losses: Losses) -> tuple[IntArray, IntArray]:
    """Frames of A and their partners in B. Frames without partner, and pairs of which a half is no sample, are counted.

    `tolerance_ns`: how far the stamps of a pair may lie apart, nanoseconds; returns int64 (K,) and (K,), numbers of the
    frames of A and of B.
    """
    pairs = pair_frames(a, b, tolerance_ns)
    losses.extend(count_unpaired(a, b, pairs))
    in_a, in_b = pairs
    usable = (a.labelled & a.predicted)[in_a] & (b.labelled & b.predicted)[in_b]
    for index in np.flatnonzero(~usable):
        losses.add("pairs without labels or predictions in one half", a.describe_frame(int(in_a[index])))
    return in_a[usable], in_b[usable]


SAME_OBJECT_IOU = 0.5
"""IoU from which boxes of one class, one in each frame of a pair, are taken for the same object."""


def pair_objects(a: FrameSet, b: FrameSet) -> tuple[IntArray, IntArray]:
    """Rows of A's and B's objects that are the same thing. Frame i of A and frame i of B are a pair.

    Within a pair of frames and a class, objects go together by instance id where both sides have unique ones, else by
    the assignment with the largest summed IoU, of at least SAME_OBJECT_IOU each. Returns int64 (K,) and (K,), rows of
    the objects of A and of B.
    """
    first_a, first_b = row_offsets(a.objects.frame, len(a)), row_offsets(b.objects.frame, len(b))
    left: list[int] = []
    right: list[int] = []
    for frame in range(len(a)):
        rows_a = np.arange(first_a[frame], first_a[frame + 1])
        rows_b = np.arange(first_b[frame], first_b[frame + 1])
        for class_id in np.intersect1d(a.objects.class_id[rows_a], b.objects.class_id[rows_b]):
            of_a = rows_a[a.objects.class_id[rows_a] == class_id]
            of_b = rows_b[b.objects.class_id[rows_b] == class_id]
            pairs = _by_instance(a.objects.instance[of_a], b.objects.instance[of_b])
            if pairs is None:
                pairs = _by_position(a.objects.box[of_a], b.objects.box[of_b])
            left.extend(of_a[pairs[0]].tolist())
            right.extend(of_b[pairs[1]].tolist())
    return np.array(left, np.int64), np.array(right, np.int64)


def _by_instance(a: IntArray, b: IntArray) -> tuple[IntArray, IntArray] | None:
    if NO_INSTANCE in a or NO_INSTANCE in b or len(np.unique(a)) < len(a) or len(np.unique(b)) < len(b):
        return None
    _, in_a, in_b = np.intersect1d(a, b, assume_unique=True, return_indices=True)
    return in_a.astype(np.int64), in_b.astype(np.int64)


def _by_position(a: FloatArray, b: FloatArray) -> tuple[IntArray, IntArray]:
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - slow to import

    iou = box_iou(np.repeat(a, len(b), axis=0), np.tile(b, (len(a), 1))).reshape(len(a), len(b))
    in_a, in_b = linear_sum_assignment(np.where(iou >= SAME_OBJECT_IOU, iou, 0.0), maximize=True)
    kept = iou[in_a, in_b] >= SAME_OBJECT_IOU
    return in_a[kept].astype(np.int64), in_b[kept].astype(np.int64)
