"""Where the pictures of a data set lie: a file from elsewhere may name, or link to, any file of this machine."""

from __future__ import annotations

from pathlib import Path

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.data.format_support.image_files import image_file


def lies_below(path: Path, folder: Path, known: dict[Path, bool]) -> bool:
    """Tell whether a file lies in a folder or below it, all links followed.

    Args:
        known: the answer by parent folder, kept from one call to the next: most files share theirs.
    """
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
