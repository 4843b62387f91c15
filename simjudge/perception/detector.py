"""A detector: pictures in, predictions out. Which kind it is, is found out from its file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import BoolArray, FloatArray, FrameSet, IntArray, Predictions
from simjudge.core.images import ImageError, RgbImage
from simjudge.core.installed import roots
from simjudge.perception.class_map import map_classes

DEFAULT_MIN_SCORE = 0.05
"""Low, so that average precision is right; what a comparison counts is chosen there."""
DEFAULT_IOU = 0.7


@dataclass(frozen=True)
class Detections:
    """What a detector found in one picture.

    Attributes:
        class_id: int64 (N,), the detector's own ids.
        box: float64 (N, 4), x0, y0, x1, y1 in pixels of the picture given, inside it.
        score: float64 (N,), in [0, 1], best first.
    """

    class_id: IntArray
    box: FloatArray
    score: FloatArray

    @classmethod
    def build(cls, class_id: npt.ArrayLike, box: npt.ArrayLike, score: npt.ArrayLike) -> Detections:
        """Make detections from anything array-like."""
        return cls(
            np.asarray(class_id, np.int64).reshape(-1),
            np.asarray(box, np.float64).reshape(-1, 4),
            np.asarray(score, np.float64).reshape(-1),
        )

    def __len__(self) -> int:
        """The number of detections."""
        return len(self.class_id)


class Detector(Protocol):
    """Finds things in pictures."""

    @property
    def name(self) -> str:
        """What to call it on screen."""

    @property
    def class_names(self) -> dict[int, str]:
        """Names by class id; empty where the model does not say."""

    def __call__(self, images: Sequence[RgbImage]) -> list[Detections]:
        """What is in each of some pictures (of any sizes)."""


def load_detector(
    spec: str | Path,
    *,
    min_score: float = DEFAULT_MIN_SCORE,
    iou: float = DEFAULT_IOU,
    imgsz: int | None = None,
    device: str = "",
) -> Detector:
    """Load a detector: an ONNX model, ultralytics weights, or colour thresholds.

    Args:
        spec: a `.onnx`, `.pt`, `.yaml` or `.yml` file, or the name of one that comes with simjudge.
        min_score: detections with a lower score are dropped.
        iou: of two detections of one class that overlap more than this, the better one stays. Not used for colours.
        imgsz: side of the net's input, where the model leaves it open; by default what the model says.
        device: "cpu", "0", ...; only for `.pt`.

    Raises:
        SimjudgeError: there is no such file, or it is no detector.
    """
    path = _find(spec)
    suffix = path.suffix.lower()
    if suffix == ".onnx":
        from simjudge.perception.onnx import OnnxDetector  # noqa: PLC0415 - heavy

        return OnnxDetector.load(path, min_score=min_score, iou=iou, imgsz=imgsz)
    if suffix == ".pt":
        from simjudge.perception.ultralytics_pt import UltralyticsDetector  # noqa: PLC0415 - an extra

        return UltralyticsDetector.load(path, min_score=min_score, iou=iou, imgsz=imgsz, device=device)
    if suffix in {".yaml", ".yml"}:
        from simjudge.perception.colour import ColourDetector  # noqa: PLC0415

        return ColourDetector.load(path, min_score=min_score)
    raise SimjudgeError(f"{path}: no detector: give a .onnx, a .pt, or a .yaml of colour thresholds")


def shipped() -> dict[str, Path]:
    """The detectors that come with simjudge, by name."""
    found: dict[str, Path] = {}
    for root in roots():
        for pattern in ("config/detectors/*.yaml", "models/*.onnx"):
            for file in sorted(root.glob(pattern)):
                found.setdefault(file.stem, file)
    return found


def _find(spec: str | Path) -> Path:
    path = Path(spec)
    if path.is_file():
        return path
    known = shipped()
    if str(spec) in known:
        return known[str(spec)]
    if path.exists():
        raise SimjudgeError(f"{path}: no detector: a .onnx, .pt or .yaml file is needed")
    raise SimjudgeError(f"{path}: there is no such file, and no detector of that name (known: {', '.join(known)})")


def detect_set(
    frames: FrameSet,
    detector: Detector,
    batch: int = 8,
    advance: Callable[[int, int], None] | None = None,
    note: Callable[[str], None] | None = None,
    rename: dict[str, str] | None = None,
) -> FrameSet:
    """Run a detector over the pictures of a set, a batch at a time.

    Args:
        frames: a set with pictures.
        detector: what to run.
        batch: pictures at a time.
        advance: told of (pictures done, pictures).
        note: told what a person should know about the match of classes.
        rename: by a class name of the detector's, what the set calls it.

    Returns:
        The set with predictions, class ids being the set's. A frame whose picture is missing, damaged or of another
        size than the labels say is not predicted, and counted in the losses.

    Raises:
        SimjudgeError: the set has no pictures, or no class in common with the detector.
    """
    if frames.images is None:
        raise SimjudgeError(f"{frames.name}: has no pictures to run a detector on")
    classes = map_classes(detector.name, detector.class_names, frames, rename)
    for line in classes.notes if note is not None else ():
        note(line)  # type: ignore[misc]
    losses = Losses()
    losses.extend(frames.losses)
    predicted = np.zeros(len(frames), np.bool_)
    parts: list[tuple[IntArray, Detections]] = []
    for numbers, images in _batches(frames, batch, losses):
        for number, found in zip(numbers, detector(images), strict=True):
            mine = found if classes.ids is None else _renamed(found, classes.ids)
            predicted[number] = True
            parts.append((np.full(len(mine), number), mine))
        if advance is not None:
            advance(numbers[-1] + 1, len(frames))
    predictions = Predictions.build(
        np.concatenate([p[0] for p in parts]) if parts else [],
        np.concatenate([p[1].class_id for p in parts]) if parts else [],
        np.concatenate([p[1].box for p in parts]) if parts else [],
        np.concatenate([p[1].score for p in parts]) if parts else [],
    )
    return replace(frames.with_predictions(predictions, predicted), class_names=classes.names, losses=losses)


def _batches(frames: FrameSet, batch: int, losses: Losses) -> Iterator[tuple[list[int], list[RgbImage]]]:
    numbers: list[int] = []
    images: list[RgbImage] = []
    for i in range(len(frames)):
        image = _picture(frames, i, losses)
        if image is not None:
            numbers.append(i)
            images.append(image)
        if numbers and (len(numbers) == batch or i == len(frames) - 1):
            yield numbers, images
            numbers, images = [], []


def _picture(frames: FrameSet, index: int, losses: Losses) -> RgbImage | None:
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
    return Detections.build(renamed, found.box[kept], found.score[kept])
