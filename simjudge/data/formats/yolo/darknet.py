"""Darknet's description of a data set: a `.data` file, and the `.names` and lists of images that it names.

The format: https://github.com/AlexeyAB/darknet#how-to-train-to-detect-your-custom-objects.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from simjudge.core.errors import SimjudgeError
from simjudge.core.input_files import is_file
from simjudge.core.text import one_line, parse_integer, read_text

SUFFIX = ".data"
_SPLIT_LINE = re.compile(rb"^\s*(train|valid)\s*=", re.MULTILINE)
_CVAT_FOLDER = "data/"
_HEAD_BYTES = 4096
"""So much of a file is read to find out what it is."""
_CLASSES = "classes.txt"
"""Where labelImg puts the names, one a line, as in Darknet's `.names`."""


def find_darknet(folder: Path) -> Path | None:
    """Find Darknet's description in a folder.

    Returns:
        The only `.data` file in it that names images; None where there is none, or several.
    """
    found = [file for file in sorted(folder.glob(f"*{SUFFIX}")) if is_darknet(file)]
    return found[0] if len(found) == 1 else None


def is_darknet(path: Path) -> bool:
    """Tell whether a file is Darknet's description of a data set.

    Returns:
        True for a text file called `*.data` with a line `train = ...` or `valid = ...`.
    """
    if path.suffix != SUFFIX or not path.is_file():
        return False
    with path.open("rb") as stream:
        return _SPLIT_LINE.search(stream.read(_HEAD_BYTES)) is not None


def read_darknet(path: Path, roots: Sequence[Path]) -> dict[str, Any]:
    """Read Darknet's description as what a data.yaml would say.

    Args:
        roots: folders that its paths may be relative to: Darknet takes the one that it is started in.

    Returns:
        The fields train, val, nc and names, as far as they are given.
    """
    given = _entries(path)
    content: dict[str, Any] = {}
    for key, field in (("train", "train"), ("valid", "val"), ("classes", "nc")):
        if key in given:
            content[field] = given[key]
    if "names" in given:
        file = next((each for each in possible_paths(roots, given["names"]) if is_file(each)), None)
        if file is None:
            raise SimjudgeError(f"{path}: names = {one_line(given['names'])}: does not exist; correct the path")
        content["names"] = read_names(file)
    if "nc" in content:
        content["nc"] = parse_integer(content["nc"])
    return content


def possible_paths(roots: Sequence[Path], entry: str) -> list[Path]:
    """List what a relative path in a description may mean, the likeliest first.

    Windows' programs write it with backslashes. CVAT ("YOLO 1.1") begins all paths with `data/`, the folder that its
    archive is to be unpacked into.
    """
    forms = [entry, entry.replace("\\", "/")]
    forms += [form.removeprefix(_CVAT_FOLDER) for form in forms]
    return [root / form for form in dict.fromkeys(forms) for root in roots]


def find_names(folders: Sequence[Path]) -> list[str]:
    """Find class names beside images that nothing describes.

    Returns:
        The lines of classes.txt or of the only `.names` file; empty where there is none.
    """
    for folder in folders:
        if (folder / _CLASSES).is_file():
            return read_names(folder / _CLASSES)
        found = sorted(folder.glob("*.names"))
        if len(found) == 1:
            return read_names(found[0])
    return []


def read_names(path: Path) -> list[str]:
    """Read a file with a class name in each line."""
    return [line.strip() for line in read_text(path).rstrip().splitlines()]


def _entries(path: Path) -> dict[str, str]:
    entries: dict[str, str] = {}
    for number, line in enumerate(read_text(path).splitlines(), 1):
        key, equals, value = (part.strip() for part in line.partition("="))
        if not equals or key.startswith(("#", ";")):
            continue
        if key in entries:
            raise SimjudgeError(f"{path}:{number}: {one_line(key)} stands there twice; keep one")
        entries[key] = value
    return entries
