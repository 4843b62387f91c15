"""A bare folder of images: a set without labels, for a detector to run on."""

from __future__ import annotations

import json
from collections.abc import Iterator
import logging
from pathlib import Path

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import FileImages
from simjudge.core.stamps import name_to_stamp
from simjudge.data.format_support.format import Format
from simjudge.data.format_support.image_files import drop_repeated_stems, list_images, readable_images
from simjudge.data.format_support.labels_left_aside import describe_labels_left_aside

log = logging.getLogger(__name__)

_PICTURE, _TIME = "cam/image_array", "_timestamp_ms"
"""Fields of a record of a donkeycar tub."""


def sniff_image_folder(path: Path) -> bool:
    """Tell whether a path is a folder of images.

    Args:
        path: any path.

    Returns:
        True for a folder that holds images, or holds a folder of them called "images".
    """
    return path.is_dir() and bool(list_images(path) or list_images(path / "images"))


def read_image_folder(path: str | Path) -> FrameSet:
    """Read the images of a folder as a set in which nothing is labelled.

    Args:
        path: the folder.

    Returns:
        The set; a name such as 12_000000500.png carries the frame's stamp. Of a donkeycar tub its catalogs have them.

    Raises:
        SimjudgeError: none of them can be read.
    """
    path = Path(path)
    losses = Losses()
    folder = path if list_images(path) else path / "images"
    images, size = readable_images(drop_repeated_stems(list_images(folder), losses), losses)
    if not images:
        raise SimjudgeError(f"{path}: holds no readable image; an empty set cannot be used{losses.reason}")
    for line in describe_labels_left_aside(path, images):
        log.warning("%s; left aside", line)
    names = [image.stem for image in images]
    times = tub_times(path)
    stamps = [times.get(image.name, name_to_stamp(image.stem)) for image in images]
    return FrameSet.build(
        path.name, size, frame_name=names, stamp=stamps, images=FileImages(images), losses=losses
    )


def tub_times(path: Path) -> dict[str, int]:
    """When the pictures of a donkeycar tub were taken, nanoseconds, by the names of their files; of other folders none.

    Args:
        path: the tub, or its folder of images.

    Raises:
        SimjudgeError: a catalog cannot be read.
    """
    catalogs = sorted(path.glob("catalog_*.catalog")) or sorted(path.parent.glob("catalog_*.catalog"))
    return {name: time for catalog in catalogs for name, time in _tub_records(catalog)}


def _tub_records(catalog: Path) -> Iterator[tuple[str, int]]:
    number = 0
    try:
        for number, line in enumerate(catalog.read_text(encoding="utf-8").splitlines(), 1):  # noqa: B007 - for errors
            record = json.loads(line) if line.strip() else {}
            if _PICTURE in record and _TIME in record:
                yield str(record[_PICTURE]), int(record[_TIME]) * 1_000_000
    except (OSError, ValueError, TypeError) as error:
        raise SimjudgeError(f"{catalog}, line {number}: is not a record of a tub ({error})") from error


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
