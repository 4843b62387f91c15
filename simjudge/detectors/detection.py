"""Loading a detector, whose file tells which kind it is, and running it over the images of a data set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from simjudge.core.arrays import BoolArray, IntArray
from simjudge.core.errors import Advance, Log, Losses, ProgressBar, SimjudgeError, no_log, no_progress
from simjudge.core.files import check_file, hash_files
from simjudge.core.frames import FrameSet
from simjudge.core.images import ImageError, RgbImage
from simjudge.core.installed import DETECTOR, find_file
from simjudge.core.object_tables import Masks, Predictions
from simjudge.core.settings import ALL_FRAMES, Thinning
from simjudge.data.sets import as_frames, refuse_input_as_output, write_where_asked
from simjudge.detectors.clouds.cuboid_settings import is_cloud_detector
from simjudge.detectors.colour_detector import ColourDetector, read_colours
from simjudge.detectors.detector import BadAnswerError, Detections, Detector, check_answer, map_classes, record_detector
from simjudge.detectors.detector_settings import DEFAULT_IOU, DEFAULT_MIN_SCORE

if TYPE_CHECKING:
    from simjudge.detectors.onnx_detector import OnnxDetector
    from simjudge.detectors.ultralytics_detector import UltralyticsDetector


def load_detector(
    spec: str | Path,
    *,
    min_score: float = DEFAULT_MIN_SCORE,
    iou: float = DEFAULT_IOU,
    imgsz: int | None = None,
    device: str = "",
    trust: bool = False,
) -> Detector:
    """Load a detector: an ONNX model, ultralytics weights, or colour thresholds.

    Args:
        spec: a `.onnx`, `.pt`, `.yaml` or `.yml` file, or the name of one that comes with simjudge.
        min_score: detections with a lower score are dropped.
        iou: of two detections of one class that overlap more than this, the better one stays. Not used for colours.
        imgsz: side of the net's input, where the model leaves it open; by default what the model says.
        device: "cpu", "0", ...; only for `.pt`.
        trust: run the code inside the file; only for `.pt`, which is read without by default and refused where it
            holds more than weights.

    Raises:
        UsageError: there is no such file, nor a detector of that name.
        SimjudgeError: the file is no detector.
    """
    path = find_file(spec, DETECTOR)
    check_file(path)
    detector = _load(path, min_score, iou, imgsz, device, trust=trust)
    return replace(detector, sha256=hash_files(path))


def _load(
    path: Path, min_score: float, iou: float, imgsz: int | None, device: str, *, trust: bool
) -> OnnxDetector | UltralyticsDetector | ColourDetector:
    suffix = path.suffix.lower()
    if suffix == ".onnx":
        from simjudge.detectors.onnx_detector import OnnxDetector  # noqa: PLC0415 - heavy

        return OnnxDetector.load(path, min_score=min_score, iou=iou, imgsz=imgsz)
    if suffix == ".pt":
        from simjudge.detectors.ultralytics_detector import UltralyticsDetector  # noqa: PLC0415 - an extra

        return UltralyticsDetector.load(path, min_score=min_score, iou=iou, imgsz=imgsz, device=device, trust=trust)
    if suffix in {".yaml", ".yml"}:
        if is_cloud_detector(path):
            raise SimjudgeError(f"{path}: finds cuboids in point clouds, nothing in images; 'simjudge detect' runs it")
        return ColourDetector(path.stem, read_colours(path), min_score)
    raise SimjudgeError(f"{path}: no detector: give a .onnx, a .pt, or a .yaml of colour thresholds")


_LARGEST_BATCH = 200_000_000  # Bytes of the images that are held at once, give or take one image


def detect(  # noqa: PLR0913 - the options of the command
    source: FrameSet | str | Path,
    detector: Detector | str | Path,
    out: str | Path | None = None,
    *,
    to: str | None = None,
    batch: int = 8,
    rename: Mapping[str, str] | None = None,
    image_topic: str | None = None,
    allow_outside: bool = False,
    thinning: Thinning = ALL_FRAMES,
    progress: ProgressBar = no_progress,
    log: Log = no_log,
) -> FrameSet:
    """Run a detector over the images of a data set or a recording.

    Args:
        source: a data set with images, or the path of one.
        detector: a loaded detector, the path of one, or the name of one that comes with simjudge. Use
            `load_detector` for a detector with options of its own.
        out: where to write the set with its predictions; None writes nothing.
        to: the format of a folder at `out`, such as yolo or coco.
        batch: the number of images that the detector gets at once.
        rename: by a class name of the detector, the name that the set uses for this class.
        image_topic: in a recording of several cameras, a topic or the camera's name.
        allow_outside: take pictures that lie outside of the folder of their data set.
        thinning: which frames are taken, such as `Thinning(every=5)`.
        progress: opens a progress bar.
        log: receives what a person should know about the match of classes.

    Returns:
        The set with predictions; class ids are those of the set. A frame is not predicted where its image is missing,
        damaged or of another size than its labels say; `losses` counts these frames.

    Raises:
        UsageError: `out` is the source, or does not say a format.
        SimjudgeError: the source cannot be read, has no images, or has no class in common with the detector; the
            detector answers with NaN, scores outside [0, 1], or classes that it does not name.
    """
    refuse_input_as_output(out, source)
    loaded = load_detector(detector) if isinstance(detector, str | Path) else detector
    frames = as_frames(source, allow_outside=allow_outside, image_topic=image_topic, thinning=thinning)
    if frames.images is None:
        raise SimjudgeError(f"{frames.name}: has no pictures to run a detector on")
    with progress(f"detecting on {frames.name}") as advance:
        found = _with_detections(frames, loaded, batch, advance, rename, log)
    return write_where_asked(found, out, to)


def _with_detections(
    frames: FrameSet, detector: Detector, batch: int, advance: Advance, rename: Mapping[str, str] | None, log: Log
) -> FrameSet:
    classes = map_classes(detector.name, detector.class_names, frames, rename)
    for line in classes.notes:
        log(line)
    losses = Losses()
    losses.extend(frames.losses)
    predicted = np.zeros(len(frames), np.bool_)
    parts: list[tuple[IntArray, Detections]] = []
    for numbers, images in _batches(frames, batch, losses):
        for number, found in zip(numbers, _answers(frames, detector, numbers, images), strict=True):
            if found.inverted:
                where = f"{detector.name} on {frames.describe_frame(number)}"
                losses.add("detections of negative width or height", where, found.inverted)
            mine = found if classes.ids is None else _renamed(found, classes.ids)
            predicted[number] = True
            parts.append((np.full(len(mine), number), mine))
        advance(numbers[-1] + 1, len(frames))
    predictions = Predictions.build(
        np.concatenate([p[0] for p in parts]) if parts else [],
        np.concatenate([p[1].class_id for p in parts]) if parts else [],
        np.concatenate([p[1].box for p in parts]) if parts else [],
        np.concatenate([p[1].score for p in parts]) if parts else [],
        _joined_masks([p[1] for p in parts]),
    )
    done = frames.with_predictions(predictions, predicted, record_detector(detector))
    return replace(done, class_names=classes.names, losses=losses)


def _answers(frames: FrameSet, detector: Detector, numbers: list[int], images: list[RgbImage]) -> list[Detections]:
    """What the detector finds; an answer that is none is refused in the words of the set."""
    try:
        answers = detector(images)
        for i, found in enumerate(answers):
            check_answer(detector.name, i, detector.class_names, found.class_id, found.box, found.score)
    except BadAnswerError as error:
        where = frames.describe_frame(numbers[error.image])
        raise SimjudgeError(f"{error.model} on {where}: {error.problem}") from error
    return answers


def _batches(frames: FrameSet, batch: int, losses: Losses) -> Iterator[tuple[list[int], list[RgbImage]]]:
    numbers: list[int] = []
    images: list[RgbImage] = []
    for i in range(len(frames)):
        image = _image(frames, i, losses)
        if image is not None:
            numbers.append(i)
            images.append(image)
        full = len(numbers) == batch or sum(image.size for image in images) > _LARGEST_BATCH
        if numbers and (full or i == len(frames) - 1):
            yield numbers, images
            numbers, images = [], []


def _image(frames: FrameSet, index: int, losses: Losses) -> RgbImage | None:
    if frames.images is None or not frames.images.has(index):
        losses.add("frames without a picture, not predicted", frames.describe_frame(index))
        return None
    try:
        image = frames.images.read(index)
    except ImageError as error:
        losses.add("damaged pictures, not predicted", str(error))
        return None
    size = (image.shape[1], image.shape[0])
    if size != tuple(int(v) for v in frames.size[index]):
        losses.add(
            "pictures of another size than their labels say, not predicted",
            f"{frames.describe_frame(index)}: {size[0]}x{size[1]}"
            f" instead of {frames.size[index, 0]}x{frames.size[index, 1]}",
        )
        return None
    return image


def _renamed(found: Detections, ids: dict[int, int]) -> Detections:
    kept: BoolArray = np.isin(found.class_id, list(ids))
    renamed = [ids[int(c)] for c in found.class_id[kept]]
    masks = None if found.masks is None else found.masks.take(np.flatnonzero(kept))
    return Detections.build(renamed, found.box[kept], found.score[kept], masks=masks)


def _joined_masks(parts: list[Detections]) -> Masks | None:
    masks = [found.masks for found in parts if found.masks is not None]
    return Masks.concatenate(masks) if masks and len(masks) == len(parts) else None
