"""Frames that an annotations file names (with sizes), and the image files that belong to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from simjudge.core.arrays import IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import Losses
from simjudge.core.images import FileImages, ImageError, is_turned
from simjudge.core.input_files import is_file
from simjudge.data.format_support.image_files import LONGEST_SIDE_PX, image_sizes
from simjudge.data.format_support.sidecar import Sidecar


@dataclass(repr=False)
class AnnotatedFrames(ShortRepr):
    """The usable ones of the frames that an annotations file names.

    Attributes:
        paths: image files, None where there is none.
        size: int64 (F, 2).
        entry: which entry of the file each frame is.
        labelled: whether each is labelled; filled in by the format.
    """

    names: list[str]
    paths: list[Path | None]
    size: IntArray
    entry: list[int]
    labelled: list[bool] = field(default_factory=list)

    def images(self) -> FileImages | None:
        """The images; None where there is not one."""
        return FileImages(self.paths) if any(self.paths) else None


def find_images(
    entries: Sequence[tuple[str, int, int]],
    stems: Sequence[str],
    folder: Path,
    sidecar: Sidecar,
    losses: Losses,
    where: str,
) -> AnnotatedFrames:
    """Find the image files of the frames that an annotations file names.

    A frame is left out, counted, where its image has no readable header or another size than the file says, and where
    neither tells the size. A missing image is counted only where other images of the set are there.

    Args:
        entries: file name, width and height of each frame, pixels; size 0 where the file does not say.
        folder: of the annotations file; images are looked for in it, in `images/` and in the folder above.
    """
    paths = [_image(name, folder) for name, _, _ in entries]
    stated = [(width, height) for _, width, height in entries]
    sizes = picture_sizes(paths, stated, lambda i: f"{where}: {entries[i][0]}", losses)
    some_image = any(path is not None for path in paths)
    found = AnnotatedFrames([], [], np.empty((0, 2), np.int64), [])
    kept: list[tuple[int, int]] = []
    seen: set[str] = set()
    for i, ((name, _, _), path, size) in enumerate(zip(entries, paths, sizes, strict=True)):
        stem = stems[i]
        if size is None:
            continue
        if stem in seen:
            losses.add("images with the same name as another", f"{where}: {name}")
            continue
        if path is None and some_image and not sidecar.rules_out("picture", stem):
            losses.add("images that are named but missing (their labels are kept)", f"{where}: {name}")
        seen.add(stem)
        found.names.append(stem)
        found.paths.append(path)
        found.entry.append(i)
        kept.append(size)
    found.size = np.array(kept, np.int64).reshape(-1, 2)
    return found


def picture_sizes(
    paths: Sequence[Path | None],
    stated: Sequence[tuple[int, int]],
    where: Callable[[int], str],
    losses: Losses,
) -> list[tuple[int, int] | None]:
    """Hold the sizes that a file states against the headers of the pictures.

    Args:
        paths: the picture of each frame; None where there is none.
        stated: width and height of each frame, pixels; 0 where the file does not say.

    Returns:
        Width and height of each frame, pixels; None where the picture has no readable header or another size than the
        file says, and where neither tells the size.
    """
    present = [path for path in paths if path is not None]
    headers = dict(zip(present, image_sizes(present), strict=True))
    sizes: list[tuple[int, int] | None] = []
    for i, (path, said) in enumerate(zip(paths, stated, strict=True)):
        header = said if path is None else headers[path]
        sizes.append(None)
        if isinstance(header, ImageError):
            losses.add("unreadable images", f"{where(i)}: {header}")
        elif all(said) and header != said:
            shown = f"{path} is {header[0]}x{header[1]}, said {said[0]}x{said[1]}"
            if header == said[::-1] and path is not None and is_turned(path.read_bytes()):
                shown += "; labelled without regard to its EXIF orientation? Then take that out of the picture"
            losses.add("images of another size than annotated", f"{where(i)}: {shown}")
        elif not all(0 < side <= LONGEST_SIDE_PX for side in header):
            losses.add("frames without a size", where(i))
        else:
            sizes[i] = header
    return sizes


def _image(name: str, folder: Path) -> Path | None:
    """The image file of that name, in or beside the folder of the annotations file."""
    plain = name.replace("\\", "/")
    last = plain.rsplit("/", 1)[-1]
    for base in (folder / "images", folder, folder.parent / "images", folder.parent):
        for candidate in (base / plain, base / last):
            if is_file(candidate):
                return candidate
    return None
