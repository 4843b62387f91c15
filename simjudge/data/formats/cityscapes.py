"""Cityscapes: `leftImg8bit/SPLIT/CITY/NAME_leftImg8bit.png` and label pictures `gtFine/SPLIT/CITY/NAME_gtFine_*.png`.

Of `labelIds` and `color` pictures the first that is there counts; numbers and colours are those of the public scripts.
Objects are of `gtFine_polygons.json` (`city_instances.py`).
Source: Cordts et al., "The Cityscapes Dataset for Semantic Urban Scene Understanding", CVPR 2016.
"""

from __future__ import annotations

from pathlib import Path

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.label_pictures import LabelPicture, decode_label_colours, decode_label_numbers
from simjudge.data.format_support.city_instances import with_instances
from simjudge.data.format_support.format import Format
from simjudge.data.format_support.image_files import list_images
from simjudge.data.format_support.label_files import StreetFiles, build_street_set
from simjudge.data.street_classes import LABEL_COLOURS, LABEL_NAMES

IMAGES = "leftImg8bit"
_LABELS = ("gtFine", "gtCoarse")
_NUMBERS, _COLOURS = "labelIds", "color"


def sniff_cityscapes(path: Path) -> bool:
    """Tell whether a path is a folder of Cityscapes, or of a data set laid out like it."""
    return path.is_dir() and (path / IMAGES).is_dir()


def read_cityscapes(path: Path) -> FrameSet:
    """Read a folder of Cityscapes; frames are called CITY_SEQUENCE_FRAME."""
    root = path / IMAGES
    pictures = [file for split in _folders(root) for city in _folders(split) for file in list_images(city)]
    if not pictures:
        raise SimjudgeError(f"{path}: {IMAGES} holds no SPLIT/CITY/NAME_{IMAGES}.png")
    names = [file.stem.removesuffix(f"_{IMAGES}") for file in pictures]
    inside = [file.relative_to(root).parent for file in pictures]
    labels = [_label_file(path, folder, name) for folder, name in zip(inside, names, strict=True)]
    files = StreetFiles(names, pictures, labels)
    frames = build_street_set(path, files, _decode, LABEL_NAMES, Losses())
    polygons = {
        name: file for name, folder in zip(names, inside, strict=True) if (file := _polygon_file(path, folder, name))
    }
    return with_instances(frames, polygons) if polygons else frames


def _folders(root: Path) -> list[Path]:
    return sorted(each for each in root.iterdir() if each.is_dir() and not each.name.startswith("."))


def _label_file(root: Path, inside: Path, name: str) -> Path | None:
    kinds = ((kind, what) for kind in _LABELS for what in (_NUMBERS, _COLOURS))
    files = (root / kind / inside / f"{name}_{kind}_{what}.png" for kind, what in kinds)
    return next((each for each in files if each.is_file()), None)


def _polygon_file(root: Path, inside: Path, name: str) -> Path | None:
    files = (root / kind / inside / f"{name}_{kind}_polygons.json" for kind in _LABELS)
    return next((each for each in files if each.is_file()), None)


def _decode(data: bytes, where: str) -> LabelPicture:
    if where.endswith(f"{_COLOURS}.png"):
        return decode_label_colours(data, where, LABEL_COLOURS)
    return decode_label_numbers(data, where)


FORMATS = (
    Format(
        "cityscapes",
        "Cityscapes",
        "a folder of Cityscapes (leftImg8bit, gtFine)",
        lambda source: sniff_cityscapes(source.path),
        41,
        read=lambda source, _options: read_cityscapes(source.path),
    ),
)
