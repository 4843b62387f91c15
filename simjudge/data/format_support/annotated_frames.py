"""Frames that an annotations file names (with sizes), and the image files that belong to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from simjudge.core.display import ShortRepr
from simjudge.core.errors import Losses
from simjudge.core.frames import IntArray
from simjudge.core.images import FileImages, ImageError
from simjudge.data.format_support.image_files import LONGEST_SIDE_PX, image_sizes
from simjudge.data.format_support.sidecar import Sidecar


@dataclass(repr=False)
class AnnotatedFrames(ShortRepr):
    """The usable ones of the frames that an annotations file names.

    Attributes:
        names: frame names.
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
        stems: the name that each frame gets.
        folder: of the annotations file; images are looked for in it, in `images/` and in the folder above.
        sidecar: knows which frames never had an image.
        losses: takes what is left out.
        where: names the annotations file in messages.

    Returns:
        The usable frames, in the order of `entries`.
    """
    paths = [_image(name, folder) for name, _, _ in entries]
    headers = dict(zip([p for p in paths if p], image_sizes([p for p in paths if p]), strict=True))
    found = AnnotatedFrames([], [], np.empty((0, 2), np.int64), [])
    sizes: list[tuple[int, int]] = []
    seen: set[str] = set()
    for i, ((name, width, height), path) in enumerate(zip(entries, paths, strict=True)):
        header = headers[path] if path is not None else (width, height)
        stem = stems[i]
        if isinstance(header, ImageError):
            losses.add("unreadable images", str(header))
        elif width and height and header != (width, height):
            losses.add("images of another size than annotated", f"{path} ({header}, said {(width, height)})")
        elif not all(0 < side <= LONGEST_SIDE_PX for side in header):
            losses.add("frames without a size", f"{where}: {name}")
        elif stem in seen:
            losses.add("images with the same name as another", f"{where}: {name}")
        else:
            if path is None and headers and not sidecar.rules_out("picture", stem):
                losses.add("images that are named but missing (their labels are kept)", f"{where}: {name}")
            seen.add(stem)
            found.names.append(stem)
            found.paths.append(path)
            found.entry.append(i)
            sizes.append(header)
    found.size = np.array(sizes, np.int64).reshape(-1, 2)
    return found


def _image(name: str, folder: Path) -> Path | None:
    """The image file of that name, in or beside the folder of the annotations file."""
    plain = name.replace("\\", "/")
    last = plain.rsplit("/", 1)[-1]
    for base in (folder / "images", folder, folder.parent / "images", folder.parent):
        for candidate in (base / plain, base / last):
            if candidate.is_file():
                return candidate
    return None
