"""Image files of a data set: finding them, their sizes from the headers, and writing them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import numpy as np

from simjudge.core.arrays import IntArray
from simjudge.core.errors import Losses
from simjudge.core.frames import FrameSet
from simjudge.core.images import IMAGE_SUFFIXES, FileImages, ImageError, Images, ImageSubset, encode_png, image_size

THREADS = 4
LONGEST_SIDE_PX = 1_000_000
"""Pixels. A size beyond is a slip."""
LONGEST_STEM_BYTES = 180
"""Bytes; file systems allow 255 for a name, and temporary names are longer than final ones."""
_KEPT = " !#$&'()+,;=@[]^`{}~"


def list_images(folder: Path) -> list[Path]:
    """List the image files directly in a folder.

    Returns:
        The files with an ending of `IMAGE_SUFFIXES`, sorted by name, hidden ones left out.
    """
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
    """Read the size of each image from its header, several at once.

    Returns:
        Width and height in pixels, or why there is none, in the order of `paths`.
    """
    if not paths:
        return []
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(_size_or_error, paths, chunksize=64))


def readable_images(paths: Sequence[Path], losses: Losses) -> tuple[list[Path], IntArray]:
    """Keep the images that have a readable header.

    Returns:
        The N readable files, and int64 (N, 2), width and height in pixels.
    """
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
    """Find the file that an image is.

    Args:
        images: of a set, or None.

    Returns:
        The file; None where the image is no file of its own.
    """
    if isinstance(images, ImageSubset):
        return image_file(images.source, int(images.indices[index]))
    if isinstance(images, FileImages):
        return images.paths[index]
    return None


def file_stems(names: Sequence[str]) -> list[str]:
    """Make file stems out of frame names.

    Returns:
        The names themselves where a file can be called so, else escaped; all different.
    """
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
    """Write all images of a set: encoded bytes unchanged, raw pixels as PNG.

    Returns:
        The file name of each frame's image, None where a frame has none.
    """
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
