"""A net that gives every pixel a class: its ONNX file, running it over a data set, and how well it tells pixels apart.

The net takes RGB in [0, 1] and gives a score of each class and pixel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import IntArray, ShortRepr
from simjudge.core.errors import Losses, ProgressBar, SimjudgeError, no_progress
from simjudge.core.files import check_file, hash_files
from simjudge.core.frames import MOST_CLASSES, UNLABELLED, EncodedLabels, FrameSet, LabelPicture
from simjudge.core.images import ImageError, RgbImage, as_rgb, encode_png
from simjudge.core.names import normalized_name
from simjudge.core.settings import ALL_FRAMES, Thinning
from simjudge.data.semantic_classes import BACKGROUND, common_classes, label_pairs, street_train_id
from simjudge.data.sets import as_frames, refuse_input_as_output, write_where_asked
from simjudge.detectors.detector import ShownDetector, record_detector
from simjudge.detectors.onnx_detector import metadata_names, open_session

TASK = "segment-semantic"  # What the metadata of such a file says as its task


@dataclass(frozen=True, repr=False)
class SemanticNet(ShortRepr, ShownDetector):
    """A semantic segmentation net."""

    name: str  # what to call it on screen
    class_names: dict[int, str]  # by the number of its output plane
    input_size: tuple[int, int]  # width and height that images are scaled to, pixels
    sha256: str
    session: Any = field(compare=False)

    @classmethod
    def load(cls, path: Path) -> SemanticNet:
        """Load a net.

        `path`: an ONNX file of `simjudge sim train --task segment-semantic`, or one like it: input (batch, 3, H, W),
        RGB in [0, 1]; output (batch, classes, h, w), the largest score wins; names of the classes in its metadata, as
        ultralytics writes them.
        """
        check_file(path)
        session = open_session(path)
        metadata = dict(session.get_modelmeta().custom_metadata_map)
        if metadata.get("task") != TASK:
            raise SimjudgeError(f"{path}: is no net of task {TASK}; simjudge sim train --task {TASK} makes one")
        names = metadata_names(path, metadata)
        shape, out = session.get_inputs()[0].shape, session.get_outputs()[0].shape
        fits = len(shape) == 4 and len(out) == 4 and shape[1] == 3
        if not fits or not all(isinstance(side, int) for side in (*shape[2:], out[1])):
            raise SimjudgeError(
                f"{path}: takes {shape} and gives {out}; (batch, 3, H, W) and (batch, classes, h, w)"
                " of fixed sizes are needed"
            )
        if sorted(names) != list(range(out[1])) or out[1] > MOST_CLASSES:
            raise SimjudgeError(f"{path}: names {len(names)} classes and scores {out[1]}; export it again")
        return cls(path.stem, names, (shape[3], shape[2]), hash_files(path), session)

    def segment(self, images: list[RgbImage]) -> list[LabelPicture]:
        """Give every pixel of RGB images (H, W, 3), of any sizes, its class: uint8 (H, W)."""
        scaled = [cv2.resize(as_rgb(image), self.input_size, interpolation=cv2.INTER_AREA) for image in images]
        batch = np.stack(scaled).transpose(0, 3, 1, 2).astype(np.float32) / 255
        (scores,) = self.session.run(None, {self.session.get_inputs()[0].name: batch})
        if not np.isfinite(scores).all():
            raise SimjudgeError(f"{self.name}: scores are NaN or infinite; its training failed: train it again")
        return [_classes(score, image.shape[:2]) for score, image in zip(scores, images, strict=True)]


def _classes(scores: Any, shape: tuple[int, ...]) -> LabelPicture:
    """The best class of each pixel; scores (C, h, w) are scaled to the image's height and width first."""
    planes = np.ascontiguousarray(scores.transpose(1, 2, 0))
    large = cv2.resize(planes, (shape[1], shape[0]), interpolation=cv2.INTER_LINEAR)
    return np.asarray(large.reshape(*shape[:2], -1).argmax(2), np.uint8)


def is_semantic_net(path: Path) -> bool:
    """Tell whether a detector's file is a net that gives every pixel a class."""
    if path.suffix.lower() != ".onnx" or not path.is_file():
        return False
    return bool(open_session(path).get_modelmeta().custom_metadata_map.get("task") == TASK)


def predict_semantic(  # noqa: PLR0913 - the options of the command
    source: FrameSet | str | Path,
    net: SemanticNet | Path,
    out: str | Path | None = None,
    *,
    to: str | None = None,
    batch: int = 4,
    image_topic: str | None = None,
    allow_outside: bool = False,
    thinning: Thinning = ALL_FRAMES,
    progress: ProgressBar = no_progress,
) -> FrameSet:
    """Predict the class of every pixel of the images of a data set.

    `out`: where to write the set with its predictions; None writes nothing; `to`: the format of a folder at `out`:
    yolo, which holds label pictures; `image_topic`: in a recording of several cameras, a topic or the camera's name;
    `allow_outside`: take pictures that lie outside of the folder of their data set. Returns the set with predicted
    label pictures, as large as the images, in the set's own class numbers; classes that the set lacks get new ones.
    `losses` counts frames without a whole image.
    """
    refuse_input_as_output(out, source)
    loaded = net if isinstance(net, SemanticNet) else SemanticNet.load(net)
    frames = as_frames(source, allow_outside=allow_outside, image_topic=image_topic, thinning=thinning)
    if frames.images is None:
        raise SimjudgeError(f"{frames.name}: has no pictures to run a net on")
    losses = Losses()
    losses.extend(frames.losses)
    numbers, names = _own_numbers(frames, loaded.class_names)
    predicted: list[bytes | None] = [None] * len(frames)
    with progress(f"predicting on {frames.name}") as advance:
        for indices, images in _batches(frames, batch, losses):
            for index, labels in zip(indices, loaded.segment(images), strict=True):
                predicted[index] = encode_png(numbers[labels][..., None])
            advance(indices[-1] + 1, len(frames))
    done = np.array([data is not None for data in predicted], np.bool_)
    found = replace(
        frames,
        predicted_semantic=EncodedLabels(predicted),
        predicted=frames.predicted | done,
        class_names=names,
        losses=losses,
        detector=record_detector(loaded),  # type: ignore[arg-type]
    )
    return write_where_asked(found, out, to)


def _own_numbers(frames: FrameSet, net_names: Mapping[int, str]) -> tuple[npt.NDArray[np.uint8], dict[int, str]]:
    """The set's own number of each class of a net, (256,), and the set's class names with those that it lacked."""
    names = dict(frames.class_names)
    own = {_key(name): class_id for class_id, name in reversed(names.items()) if 0 <= class_id < MOST_CLASSES}
    if names.get(0, "0") == "0":
        own.setdefault(BACKGROUND, 0)
    table = np.full(UNLABELLED + 1, UNLABELLED, np.uint8)
    for number, name in net_names.items():
        class_id = own.get(_key(name))
        if class_id is None:
            free = (k for k in range(1, MOST_CLASSES) if names.get(k, str(k)) == str(k))
            class_id = next(free, None)
            if class_id is None:
                raise SimjudgeError(f"{frames.name}: no class number is left for {name}, which the net knows")
            names[class_id] = name
        table[number] = class_id
    return table, names


def _key(name: str) -> str | int:
    """What makes two names one class: the class of streets, else the name."""
    street = street_train_id(name)
    return normalized_name(name) if street is None else street


def _batches(frames: FrameSet, batch: int, losses: Losses) -> Iterator[tuple[list[int], list[RgbImage]]]:
    assert frames.images is not None  # noqa: S101 - the caller has looked
    indices: list[int] = []
    images: list[RgbImage] = []
    for index in range(len(frames)):
        try:
            images.append(frames.images.read(index))
            indices.append(index)
        except ImageError as error:
            losses.add("frames without a whole picture, not predicted", str(error))
        if indices and (len(indices) == batch or index == len(frames) - 1):
            yield indices, images
            indices, images = [], []


def pixel_confusion(labels: npt.NDArray[Any], predictions: npt.NDArray[Any], classes: int) -> IntArray:
    """Count pixels by labelled and predicted class: int64 (classes, classes + 1); predictions: class numbers."""
    valid = labels != UNLABELLED
    truth = labels[valid].astype(np.int64)
    guess = np.minimum(predictions[valid].astype(np.int64), classes)
    count = np.bincount(truth * (classes + 1) + guess, minlength=classes * (classes + 1))
    return count.reshape(classes, classes + 1)


def pixel_accuracy(confusion: IntArray) -> float:
    """Share of labelled pixels predicted right; NaN where none is labelled (confusion of `pixel_confusion`)."""
    total = confusion.sum()
    return float(np.trace(confusion) / total) if total else float("nan")


def mean_iou(confusion: IntArray) -> tuple[float, list[float | None]]:
    """Mean class IoU, and the IoU of each class.

    `confusion` of `pixel_confusion`. Returns the mean over the classes that are labelled or predicted anywhere (NaN
    where none is), and for each class its pixels labelled and predicted over those labelled or predicted; None for one
    that occurs in neither. Source: Everingham et al., "The Pascal Visual Object Classes Challenge", IJCV 2015, section
    4.2.
    """
    classes = len(confusion)
    both = np.diagonal(confusion)[:classes]
    either = confusion.sum(1) + confusion[:, :classes].sum(0) - both
    iou = [float(b / e) if e else None for b, e in zip(both, either, strict=True)]
    known = [value for value in iou if value is not None]
    return (float(np.mean(known)) if known else float("nan")), iou


@dataclass(frozen=True)
class ClassScore:
    """A class of pixels: its name, its share of the labelled pixels, and its IoU, None where it occurs nowhere."""

    name: str
    share: float
    iou: float | None


@dataclass(frozen=True)
class PixelScores:
    """How well the pixels of a set are told apart."""

    accuracy: float  # share of labelled pixels predicted right
    mean_iou: float  # over the classes that are labelled or predicted anywhere
    classes: tuple[ClassScore, ...]


def score_pixels(frames: FrameSet, losses: Losses) -> PixelScores:
    """Score the predicted label pictures of a set."""
    classes = common_classes([(frames.name, frames.class_names)])
    count = max(classes.names) + 1
    total = np.zeros((count, count + 1), np.int64)
    for _, truth, guess in label_pairs(frames, classes, None, losses):
        total += pixel_confusion(truth, guess, count)
    mean, iou = mean_iou(total)
    share = total.sum(1) / max(int(total.sum()), 1)
    rows = [ClassScore(classes.names[k], float(share[k]), iou[k]) for k in range(count) if iou[k] is not None]
    return PixelScores(pixel_accuracy(total), mean, tuple(rows))
