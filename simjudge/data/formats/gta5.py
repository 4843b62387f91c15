"""GTA V ("Playing for Data"): `images/NAME.png`, and `labels/NAME.png` in the colours of Cityscapes.

Pictures whose label picture has another size, as some of the published ones, lose it, counted.
Source: Richter et al., "Playing for Data: Ground Truth from Computer Games", ECCV 2016.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from simjudge.core.errors import Losses
from simjudge.core.frames import FrameSet, decode_label_colours
from simjudge.data.format_support.image_files import (
    Format,
    StreetFiles,
    build_street_set,
    count_images_below,
    drop_repeated_stems,
    image_stem,
    list_images,
)
from simjudge.data.semantic_classes import LABEL_COLOURS, LABEL_NAMES


def sniff_gta5(path: Path) -> bool:
    """Tell whether a path is a folder of images with label pictures of the same names."""
    images, labels = list_images(path / "images"), list_images(path / "labels")
    return (
        bool(images and labels)
        and labels[0].suffix.lower() == ".png"
        and image_stem(labels[0]) in map(image_stem, images)
    )


def read_gta5(path: Path) -> FrameSet:
    """Read a folder of GTA V."""
    losses = Losses()
    pictures = drop_repeated_stems(list_images(path / "images"), losses)
    count_images_below(path / "images", losses)
    labels = {image_stem(file): file for file in list_images(path / "labels")}
    names = [image_stem(file) for file in pictures]
    files = StreetFiles(names, pictures, [labels.get(name) for name in names])
    return build_street_set(path, files, partial(decode_label_colours, table=LABEL_COLOURS), LABEL_NAMES, losses)


FORMATS = (
    Format(
        "gta5",
        "GTA V",
        "a folder of GTA V (images, labels as PNG)",
        lambda source: sniff_gta5(source.path),
        42,
        read=lambda source, _options: read_gta5(source.path),
    ),
)
