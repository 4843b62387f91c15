"""Running a net that gives every pixel a class over the images of a data set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from simjudge.core.class_names import normalized_name
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import ImageError, RgbImage, encode_png
from simjudge.core.label_pictures import MOST_CLASSES, UNLABELLED, EncodedLabels
from simjudge.core.progress import ProgressBar, no_progress
from simjudge.data.semantic_classes import BACKGROUND, street_train_id
from simjudge.data.sets import as_frames, refuse_input_as_output, write_where_asked
from simjudge.detectors.detector_summary import record_detector
from simjudge.detectors.semantic.semantic_net import SemanticNet


def predict_semantic(
    source: FrameSet | str | Path,
    net: SemanticNet | Path,
    out: str | Path | None = None,
    *,
    to: str | None = None,
    batch: int = 4,
    image_topic: str | None = None,
    allow_outside: bool = False,
    progress: ProgressBar = no_progress,
) -> FrameSet:
    """Predict the class of every pixel of the images of a data set.

    Args:
        out: where to write the set with its predictions; None writes nothing.
        to: the format of a folder at `out`: yolo, which holds label pictures.
        image_topic: in a recording of several cameras, a topic or the camera's name.
        allow_outside: take pictures that lie outside of the folder of their data set.

    Returns:
        The set with predicted label pictures, as large as the images, in the set's own class numbers; classes that the
        set lacks get new ones. `losses` counts frames without a whole image.
    """
    refuse_input_as_output(out, source)
    loaded = net if isinstance(net, SemanticNet) else SemanticNet.load(net)
    frames = as_frames(source, allow_outside=allow_outside, image_topic=image_topic)
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
        frames, predicted_semantic=EncodedLabels(predicted), predicted=frames.predicted | done, class_names=names,
        losses=losses, detector=record_detector(loaded),  # type: ignore[arg-type]
    )  # fmt: skip
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
