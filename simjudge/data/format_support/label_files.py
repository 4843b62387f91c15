"""Files of label pictures: those that fit their images, and sets that consist of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from simjudge.core.arrays import IntArray
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import FileImages, ImageError
from simjudge.core.label_pictures import LabelFiles, LabelPicture
from simjudge.core.stamps import name_to_stamp
from simjudge.data.format_support.image_files import image_sizes, readable_images


@dataclass(frozen=True)
class StreetFiles:
    """The files of a data set of label pictures.

    Attributes:
        labels: the label picture of each frame, None where it has none.
    """

    names: Sequence[str]
    images: Sequence[Path]
    labels: Sequence[Path | None]


def build_street_set(
    path: Path,
    files: StreetFiles,
    decode: Callable[[bytes, str], LabelPicture],
    class_names: Mapping[int, str],
    losses: Losses,
) -> FrameSet:
    """Make a set of images with label pictures and without boxes.

    Args:
        decode: class ids from a label picture's bytes; its second argument names the file in messages.

    Returns:
        The set. Images without a label picture stay, counted where others have one.
    """
    images, size = readable_images(files.images, losses)
    if not images:
        raise SimjudgeError(f"{path}: holds no readable image; an empty set cannot be used{losses.reason}")
    name_of = dict(zip(files.images, files.names, strict=True))
    label_of = dict(zip(files.images, files.labels, strict=True))
    labels = [label_of[image] for image in images]
    if any(labels):
        for image, label in zip(images, labels, strict=True):
            if label is None:
                losses.add("images without a label picture", str(image))
    names = [name_of[image] for image in images]
    frames = FrameSet.build(
        path.name, size, frame_name=names, stamp=np.array([name_to_stamp(name) for name in names]),
        class_names=dict(class_names), images=FileImages(images), losses=losses,
    )  # fmt: skip
    semantic = LabelFiles(same_size(labels, size, losses), decode) if any(labels) else None
    return replace(frames, semantic=semantic)


def same_size(paths: Sequence[Path | None], size: IntArray, losses: Losses) -> list[Path | None]:
    """Keep the label pictures that are as large as their images.

    Args:
        paths: of each frame, None where it has none.
        size: (F, 2), width and height of each frame's image, pixels.

    Returns:
        The paths, None in place of those that do not fit.
    """
    headers = iter(image_sizes([path for path in paths if path is not None]))
    kept: list[Path | None] = []
    for path, (width, height) in zip(paths, size.tolist(), strict=True):
        kept.append(None)
        if path is None:
            continue
        found = next(headers)
        if isinstance(found, ImageError):
            losses.add("damaged label pictures", str(found))
        elif found != (width, height):
            shown = f"{path} is {found[0]}x{found[1]}, its image {width}x{height}"
            losses.add("label pictures of another size than their image", shown)
        else:
            kept[-1] = path
    return kept
