"""A bare folder of images: a set without labels, for a detector to run on."""

from __future__ import annotations

import logging
from pathlib import Path

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import FileImages
from simjudge.core.names import name_to_stamp
from simjudge.data.format_support.image_files import (
    Format,
    count_images_below,
    describe_labels_left_aside,
    drop_repeated_stems,
    list_images,
    readable_images,
)

log = logging.getLogger(__name__)


def sniff_image_folder(path: Path) -> bool:
    """Tell whether a path is a folder of images."""
    return path.is_dir() and bool(list_images(path) or list_images(path / "images"))


def read_image_folder(path: str | Path) -> FrameSet:
    """Read the images of a folder as a set in which nothing is labelled."""
    path = Path(path)
    losses = Losses()
    folder = path if list_images(path) else path / "images"
    images, size = readable_images(drop_repeated_stems(list_images(folder), losses), losses)
    if not images:
        raise SimjudgeError(f"{path}: holds no readable image; an empty set cannot be used{losses.reason}")
    for line in describe_labels_left_aside(path, images):
        log.warning("%s; left aside", line)
    count_images_below(folder, losses)
    names = [image.stem for image in images]
    stamps = [name_to_stamp(name) for name in names]
    return FrameSet.build(path.name, size, frame_name=names, stamp=stamps, images=FileImages(images), losses=losses)


FORMATS = (
    Format(
        "images",
        "Images alone",
        "a folder of images",
        lambda source: sniff_image_folder(source.path),
        90,
        read=lambda source, _options: read_image_folder(source.path),
    ),
)
