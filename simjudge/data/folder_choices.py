"""What else a folder could be taken for: its other formats, and the data sets in it."""

from __future__ import annotations

import os
from pathlib import Path

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.text import list_some
from simjudge.data.format_support.format import Format, Source
from simjudge.data.format_support.image_files import image_file
from simjudge.data.formats import all_formats

_MOST_LOOKED_AT = 200
"""Entries of a folder that are looked into."""
_SUFFIXES = (".json", ".xml", ".mcap", ".db3", ".yaml", ".yml", ".data")
"""Endings of files that may be data sets of their own."""


def describe_choice(folder: Path, frames: FrameSet) -> list[str]:
    """Say what was taken of a folder, and what else could have been."""
    first, *others = [form.title for form in _formats_of(folder)]
    root = folder.absolute()
    files = (image_file(frames.images, i) for i in range(len(frames)))
    parents = sorted({os.path.relpath(file.absolute().parent, root) for file in files if file is not None})
    lines = [f"taken as {first}" + (f", images in {list_some(parents)}" if parents else "")]
    choices = [f"the folder as {title}" for title in others] + data_sets_in(folder)
    if choices:
        lines.append(f"other choices: {list_some(choices)}; name what is meant")
    return lines


def data_sets_in(folder: Path) -> list[str]:
    """List what a folder holds that can be read on its own.

    Returns:
        A phrase for each, such as "train (YOLO)", sorted by name; of many, the first.
    """
    found = []
    for entry in sorted(folder.iterdir())[:_MOST_LOOKED_AT]:
        if entry.name.startswith(".") or not (entry.is_dir() or (entry.is_file() and entry.suffix in _SUFFIXES)):
            continue
        titles = [form.title for form in _formats_of(entry)]
        if titles:
            found.append(f"{entry.name} ({titles[0]})")
    return found


def _formats_of(path: Path) -> list[Format]:
    """The formats that a path could be read as, the one that is taken first."""
    source = Source(path)
    return [form for form in all_formats() if form.read is not None and _takes(form, source)]


def _takes(form: Format, source: Source) -> bool:
    try:
        return form.sniff(source)
    except SimjudgeError:
        return False
