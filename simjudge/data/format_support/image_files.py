"""Files of images and of label pictures: finding them, their sizes from the headers, where they lie, and writing them.

A file from elsewhere may name, or link to, any file of this machine. What looks like labels in no format that simjudge
reads is named.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from simjudge.core.arrays import IntArray
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import IMAGE_SUFFIXES, FileImages, ImageError, Images, ImageSubset, encode_png, image_size
from simjudge.core.label_pictures import LabelFiles, LabelPicture
from simjudge.core.names import name_to_stamp
from simjudge.core.text import load_json

THREADS = 4
LONGEST_SIDE_PX = 1_000_000  # Pixels. A size beyond is a slip.
LONGEST_STEM_BYTES = 180  # Bytes; file systems allow 255 for a name, and temporary names are longer than final ones
_KEPT = " !#$&'()+,;=@[]^`{}~"


def list_images(folder: Path) -> list[Path]:
    """List the image files directly in a folder."""
    if not folder.is_dir():
        return []
    with os.scandir(folder) as entries:
        names = sorted(
            e.name for e in entries if e.name.lower().endswith(IMAGE_SUFFIXES) and not e.name.startswith(".")
        )
    return [folder / name for name in names]


def drop_repeated_stems(paths: Sequence[Path], losses: Losses) -> list[Path]:
    """Keep one image for each stem: a label file cannot tell a.png from a.jpg."""
    seen: dict[str, Path] = {}
    for path in paths:
        first = seen.setdefault(path.stem, path)
        if first is not path:
            losses.add("images with the same name as another", f"{path} (beside {first.name})")
    return list(seen.values())


def image_sizes(paths: Sequence[Path]) -> list[tuple[int, int] | ImageError]:
    """Read the size of each image from its header, several at once: width and height in pixels."""
    if not paths:
        return []
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(_size_or_error, paths, chunksize=64))


def readable_images(paths: Sequence[Path], losses: Losses) -> tuple[list[Path], IntArray]:
    """Keep the images that have a readable header: the N readable files, and int64 (N, 2)."""
    good: list[Path] = []
    sizes: list[tuple[int, int]] = []
    for path, size in zip(paths, image_sizes(paths), strict=True):
        if isinstance(size, ImageError):
            losses.add("unreadable images", str(size))
        else:
            good.append(path)
            sizes.append(size)
    return good, np.array(sizes, np.int64).reshape(-1, 2)


def image_file(images: Images | None, index: int) -> Path | None:
    """Find the file that an image is (images of a set): the file; None where the image is no file of its own."""
    if isinstance(images, ImageSubset):
        return image_file(images.source, int(images.indices[index]))
    if isinstance(images, FileImages):
        return images.paths[index]
    return None


def file_stems(names: Sequence[str]) -> list[str]:
    """Make file stems out of frame names."""
    stems: list[str] = []
    taken: set[str] = set()
    for index, name in enumerate(names):
        stem = _escaped(name)
        while stem in taken or not stem or len(stem.encode()) > LONGEST_STEM_BYTES:
            stem = f"frame_{index:06d}" if f"frame_{index:06d}" not in taken else f"{stem[:100]}_{index}"
        taken.add(stem)
        stems.append(stem)
    return stems


def write_images(frames: FrameSet, folder: Path, stems: Sequence[str]) -> list[str | None]:
    """Write all images of a set, encoded bytes unchanged, raw pixels as PNG; the name of each file, or None."""
    names: list[str | None] = []
    images = frames.images
    for index, stem in enumerate(stems):
        if images is None or not images.has(index):
            names.append(None)
            continue
        folder.mkdir(exist_ok=True)
        encoded = images.read_encoded(index)
        data = encode_png(images.read(index)) if encoded is None else encoded.data
        name = stem + (".png" if encoded is None else encoded.suffix)
        (folder / name).write_bytes(data)
        names.append(name)
    return names


def _escaped(name: str) -> str:
    """A name with only what every file system takes; other alphabets stay as they are."""
    safe = "".join(c if c.isalnum() or c in "-_." or c in _KEPT else quote(c, safe="", errors="replace") for c in name)
    return "%2E" + safe[1:] if safe.startswith(".") else safe


def _size_or_error(path: Path) -> tuple[int, int] | ImageError:
    try:
        return image_size(path)
    except ImageError as error:
        return error


@dataclass(frozen=True)
class StreetFiles:
    """The files of a data set of label pictures."""

    names: Sequence[str]
    images: Sequence[Path]
    labels: Sequence[Path | None]  # the label picture of each frame, None where it has none


def build_street_set(
    path: Path,
    files: StreetFiles,
    decode: Callable[[bytes, str], LabelPicture],
    class_names: Mapping[int, str],
    losses: Losses,
) -> FrameSet:
    """Make a set of images with label pictures and without boxes (decode: class ids from a label picture's bytes)."""
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
        path.name,
        size,
        frame_name=names,
        stamp=np.array([name_to_stamp(name) for name in names]),
        class_names=dict(class_names),
        images=FileImages(images),
        losses=losses,
    )
    semantic = LabelFiles(same_size(labels, size, losses), decode) if any(labels) else None
    return replace(frames, semantic=semantic)


def same_size(paths: Sequence[Path | None], size: IntArray, losses: Losses) -> list[Path | None]:
    """Keep the label pictures that are as large as their images; None in place of the others."""
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


_SUFFIXES = (".json", ".txt", ".xml", ".csv")
_MOST_LOOKED_AT = 200  # Entries of a folder that are looked at
_LABEL_KEYS = {"annotations", "labels", "objects", "shapes"}
_NOT_READ = "which simjudge does not read"


def describe_labels_left_aside(folder: Path, images: Sequence[Path]) -> list[str]:
    """Say which files beside images look like their labels."""
    stems = {image.stem for image in images}
    root = folder.absolute().parent if folder.name == "images" else folder
    found = []
    for place in [root, *(entry for entry in _entries(root) if entry.is_dir())]:
        files = [file for file in _entries(place) if file.suffix in _SUFFIXES and file.is_file()]
        alike = [file for file in files if file.stem in stems]
        if alike:
            kind = "labels of DOTA, " + _NOT_READ if place.name.startswith("labelTxt") else "perhaps their labels"
            found.append(f"{place}: {alike[0].name} and others are named as the images, {kind}")
        for file in files if place == root else []:
            what = "" if file.suffix != ".json" or file in alike else _named(file)
            found += [f"{file}: {what}, {_NOT_READ}"] if what else []
    return found


def name_labels(content: Any) -> str:
    """Name what the content of a JSON file looks like; "" where it looks like no labels."""
    first = content[0] if isinstance(content, list) and content else content
    if not isinstance(first, dict):
        return ""
    if "data" in first and ("annotations" in first or "completions" in first):
        return "labels of Label Studio (it exports COCO and YOLO, too)"
    return "labels of an unknown format" if _LABEL_KEYS & set(first) else ""


def _entries(folder: Path) -> list[Path]:
    return sorted(
        islice((entry_path for entry_path in folder.iterdir() if not entry_path.name.startswith(".")), _MOST_LOOKED_AT)
    )


def _named(file: Path) -> str:
    try:
        return name_labels(load_json(file))
    except SimjudgeError:
        return ""


def lies_below(path: Path, folder: Path, known: dict[Path, bool]) -> bool:
    """Tell whether a file lies in a folder or below it, all links followed."""
    if path.is_symlink():
        return path.resolve().is_relative_to(folder)
    if path.parent not in known:
        known[path.parent] = path.parent.resolve().is_relative_to(folder)
    # A name such as ".." is no file, so that the last part cannot lead out of its folder.
    return known[path.parent]


def refuse_outside(frames: FrameSet, folder: Path) -> None:
    """Refuse a set of which a picture is a file that lies elsewhere."""
    root, known = folder.resolve(), dict[Path, bool]()
    for index in range(len(frames)):
        path = image_file(frames.images, index)
        if path is not None and not lies_below(path, root, known):
            raise SimjudgeError(
                f"{frames.describe_frame(index)}: its picture {path.resolve()} lies outside of the data set's folder "
                f"{root}; if you trust the data set, give --allow-outside (in Python allow_outside=True)"
            )
