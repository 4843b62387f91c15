"""Classes of label pictures of several sets and nets, as numbers that mean the same in all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.class_names import normalized_name
from simjudge.core.display import ShortRepr
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import ImageError
from simjudge.core.label_pictures import MOST_CLASSES, UNLABELLED, LabelPicture, LabelPictures
from simjudge.core.text import list_some
from simjudge.data.street_classes import TRAIN_NAMES, street_train_id

BACKGROUND = "background"
"""What number 0 of a scene's label pictures means where no class has it: nothing that has a class."""


@dataclass(frozen=True, repr=False)
class SemanticClasses(ShortRepr):
    """The classes of several sets under common numbers.

    Attributes:
        street: whether they are Cityscapes' train ids.
    """

    names: Mapping[int, str]
    street: bool

    def numbers(self, class_names: Mapping[int, str]) -> npt.NDArray[np.uint8]:
        """The common number of each class of a set.

        Returns:
            uint8 (256,), by the set's own number; `UNLABELLED` for what counts nowhere.
        """
        table = np.full(UNLABELLED + 1, UNLABELLED, np.uint8)
        by_name = {normalized_name(name): number for number, name in self.names.items()}
        for class_id, name in _named(class_names, street=self.street).items():
            number = street_train_id(name) if self.street else by_name.get(normalized_name(name))
            if number is not None:
                table[class_id] = number
        return table


def common_classes(named: Sequence[tuple[str, Mapping[int, str]]]) -> SemanticClasses:
    """Number the classes of several sets and nets.

    Where all have a class of streets the numbers are Cityscapes' train ids. Else classes of one name are one.

    Args:
        named: what each is called, and its class names by its own numbers.
    """
    for what, names in named:
        if not names:
            raise SimjudgeError(f"{what}: its classes have no names; name them in data.yaml")
    ids = [{street_train_id(name) for name in names.values()} - {None} for _, names in named]
    if all(ids):
        _require_common([(what, {TRAIN_NAMES[i] for i in own if i is not None})
                         for (what, _), own in zip(named, ids, strict=True)])  # fmt: skip
        return SemanticClasses(TRAIN_NAMES, street=True)
    own_names = [_named(names, street=False) for _, names in named]
    _require_common([(what, set(map(normalized_name, own.values())) - {BACKGROUND})
                     for (what, _), own in zip(named, own_names, strict=True)])  # fmt: skip
    distinct = {normalized_name(name): name for own in reversed(own_names) for name in own.values()}
    return SemanticClasses(dict(enumerate(distinct.values())), street=False)


def _named(class_names: Mapping[int, str], *, street: bool) -> dict[int, str]:
    """The classes that have a name: a class called by its number has none."""
    named = {k: name for k, name in class_names.items() if name != str(k) and 0 <= k < MOST_CLASSES}
    return named if street else {0: BACKGROUND, **named}


def _require_common(named: Sequence[tuple[str, set[str]]]) -> None:
    (first, ours), *others = named
    for what, theirs in others:
        if not ours & theirs:
            raise SimjudgeError(
                f"{first} and {what} have no class of pixels in common ({list_some(sorted(ours))}; "
                f"{list_some(sorted(theirs))})"
            )


def scaled_height(size: tuple[int, int], width: int) -> int:
    """The height of a picture scaled to a width.

    Args:
        size: width and height, pixels.
        width: to which it is scaled, pixels.
    """
    return max(1, round(size[1] * width / size[0]))


def scale_labels(labels: LabelPicture, width: int | None) -> LabelPicture:
    """Scale a label picture, each pixel taking the class of the nearest one.

    Args:
        labels: (H, W).
        width: pixels; None leaves it as it is.
    """
    height, own = labels.shape
    if width is None or own == width:
        return labels
    size = (width, scaled_height((own, height), width))
    return np.asarray(cv2.resize(labels, size, interpolation=cv2.INTER_NEAREST_EXACT), np.uint8)


def label_pairs(
    frames: FrameSet, classes: SemanticClasses, width: int | None, losses: Losses
) -> Iterator[tuple[int, LabelPicture, LabelPicture]]:
    """The labelled and the predicted picture of each frame that has both.

    Args:
        width: to which both are scaled, pixels; None leaves them as they are.
        losses: grows by frames that cannot be used, and by pixels of unknown classes.

    Yields:
        Number of the frame, labels and prediction, uint8 (H, W), `UNLABELLED` where nothing counts.
    """
    table = classes.numbers(frames.class_names)
    for index in range(len(frames)):
        truth = _read(frames.semantic, index, frames, "label picture", losses)
        guess = _read(frames.predicted_semantic, index, frames, "predicted label picture", losses)
        if truth is None or guess is None:
            continue
        if truth.shape != guess.shape:
            shown = " and ".join(f"{each.shape[1]}x{each.shape[0]}" for each in (truth, guess))
            losses.add("frames whose label pictures differ in size", f"{frames.describe_frame(index)}: {shown}")
            continue
        count_unknown(truth, frames, index, losses)
        yield index, table[scale_labels(truth, width)], table[scale_labels(guess, width)]


def count_unknown(labels: LabelPicture, frames: FrameSet, index: int, losses: Losses) -> None:
    """Count pixels whose class the set does not name."""
    known = [*_named(frames.class_names, street=False), UNLABELLED]
    count = np.bincount(labels.reshape(-1), minlength=UNLABELLED + 1)
    count[[k for k in {*known, *frames.class_names} if 0 <= k <= UNLABELLED]] = 0
    if count.any():
        losses.add("pixels of a class or colour without a name", frames.describe_frame(index), int(count.sum()))


def _read(
    pictures: LabelPictures | None, index: int, frames: FrameSet, what: str, losses: Losses
) -> LabelPicture | None:
    if pictures is None or not pictures.has(index):
        losses.add(f"frames without a {what}", frames.describe_frame(index))
        return None
    try:
        return pictures.read(index)
    except ImageError as error:
        losses.add(f"damaged {what}s", str(error))
        return None
