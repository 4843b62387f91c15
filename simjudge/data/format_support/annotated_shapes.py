"""Labelled shapes that a reader meets one by one, and the set that is made of them and of their pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import FileImages
from simjudge.core.object_tables import NO_INSTANCE
from simjudge.core.stamps import name_to_stamp
from simjudge.data.format_support.annotated_frames import picture_sizes
from simjudge.data.format_support.mask_codec import NO_MASK, MaskCrop, MaskList
from simjudge.data.format_support.raw_rows import RawRows, build_objects, mend_foreign_labels

MISSING_PICTURE = "images that are named but missing (their labels are kept)"
NO_SHAPE = "shapes that are neither box, polygon nor mask"
CROWD = "regions of a crowd or to be ignored"
FLAGS = "flags such as occluded, truncated or difficult (their boxes are kept)"


@dataclass(frozen=True)
class LabelledShape:
    """A labelled shape.

    Attributes:
        box: x0, y0, x1, y1, half-open, pixels.
        where: names it to a person: file and row.
        mask: its pixels.
        instance: its number; NO_INSTANCE where it has none.
        distance: from the camera to its middle, metres; None where unknown.
        visible: the share of it that the image shows, 0 to 1; None where unknown.
    """

    name: str
    box: Sequence[float]
    where: str
    mask: MaskCrop = NO_MASK
    instance: int = NO_INSTANCE
    distance: float | None = None
    visible: float | None = None


@dataclass(frozen=True)
class AnnotatedFrame:
    """A frame that an annotations file describes.

    Attributes:
        picture: its image file; None where there is none.
        stated: width and height as the file states them, pixels; 0 where it does not.
        shapes: what is labelled in it; None where nobody labelled it.
    """

    name: str
    picture: Path | None
    stated: tuple[int, int]
    where: str
    shapes: Sequence[LabelledShape] | None


def build_annotated_set(
    path: Path,
    frames: Sequence[AnnotatedFrame],
    number_classes: Callable[[set[str]], dict[int, str]],
    losses: Losses,
) -> FrameSet:
    """Make a set of frames and their shapes.

    A missing picture is counted where other frames have theirs.
    """
    pictures = [each.picture for each in frames]
    if any(pictures):
        for each in frames:
            if each.picture is None:
                losses.add(MISSING_PICTURE, each.where)
    sizes = picture_sizes(pictures, [each.stated for each in frames], lambda i: frames[i].where, losses)
    used = [(each, size) for each, size in zip(frames, sizes, strict=True) if size is not None]
    if not used:
        raise SimjudgeError(f"{path}: holds no usable image; an empty set cannot be used{losses.reason}")
    names = [each.name for each, _ in used]
    size = np.array([size for _, size in used], np.int64).reshape(-1, 2)
    found = [(number, shape) for number, (each, _) in enumerate(used) for shape in each.shapes or ()]
    for _, shape in found:
        if not shape.name.strip():
            losses.add("shapes without a class", shape.where)
    found = [(number, shape) for number, shape in found if shape.name.strip()]
    class_names = number_classes({shape.name for _, shape in found})
    kept = [each.picture for each, _ in used]
    raw = mend_foreign_labels(_rows(found, class_names), size, str(path), losses)
    return FrameSet.build(
        path.absolute().name,
        size,
        build_objects(raw, size, class_names, losses),
        frame_name=names,
        stamp=[name_to_stamp(name) for name in names],
        labelled=[each.shapes is not None for each, _ in used],
        class_names=class_names,
        images=FileImages(kept) if any(kept) else None,
        losses=losses,
    )


def by_alphabet(names: set[str]) -> dict[int, str]:
    """Number classes from 0 in the order of their names."""
    return dict(enumerate(sorted(names)))


def known_first(known: Sequence[str]) -> Callable[[set[str]], dict[int, str]]:
    """Number classes in a known order; others follow in the order of their names.

    Args:
        known: the classes that a data set documents. They keep their numbers where they do not occur.
    """
    return lambda names: dict(enumerate([*known, *sorted(names - set(known))]))


def _rows(found: Sequence[tuple[int, LabelledShape]], class_names: dict[int, str]) -> RawRows:
    shapes = [shape for _, shape in found]
    number = {name: class_id for class_id, name in class_names.items()}
    masks = MaskList()
    for shape in shapes:
        masks.append(shape.mask)
    return RawRows(
        np.array([frame for frame, _ in found], np.int64),
        np.array([number[shape.name] for shape in shapes], np.float64),
        np.array([shape.box for shape in shapes], np.float64).reshape(-1, 4),
        lambda row: shapes[row].where,
        instance=np.array([shape.instance for shape in shapes], np.int64),
        masks=masks.masks(),
        distance=[shape.distance for shape in shapes],
        visible=[shape.visible for shape in shapes],
    )
