"""Files of a dossier, read with suspicion, and whether two results say the same."""

from __future__ import annotations

import csv
import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Json = dict[str, Any]
MANIFEST, FACTS, PAGE, SCRIPT = "manifest.sha256", "dossier.json", "index.html", "verify.py"
CLOSE = 1e-8
"""Numbers agree to this; they are sums in another order."""
MOST = {
    "contexts": 1_000_000,
    "draws": 1_000_000,
    "normal numbers": 500_000_000,
    "pixels": 2_000_000_000,
    "steps": 200_000_000_000,
}
"""Larger dossiers are refused: whoever edits a number must not be able to fill the memory of whoever checks it."""


class RefusedError(Exception):
    """Something cannot be computed, in one line."""


UNREADABLE: tuple[type[Exception], ...] = (
    *(RefusedError, ArithmeticError, AttributeError, LookupError, MemoryError, OSError),
    *(RecursionError, TypeError, ValueError, csv.Error),
)
"""What an edited file may lead to."""


def said_of(error: BaseException) -> str:
    """An error in one line."""
    text = " ".join(str(error).split())[:300]
    return text if isinstance(error, RefusedError) else f"{type(error).__name__} {text}"


def bounded(count: float, what: str) -> None:
    """Refuse what would not fit this machine."""
    if not 0 <= count <= MOST[what]:
        raise RefusedError(f"{count:,.0f} {what} are more than the {MOST[what]:,} that this script computes with")


def read_json(file: Path) -> Json:
    """Read a file that holds one object: numbers are finite, and no name is there twice."""

    def finite(text: str) -> float:
        if not math.isfinite(found := float(text)):
            raise RefusedError(f"{file.name} holds {text}, which is no number")
        return found

    def once(pairs: list[tuple[str, Any]]) -> Json:
        if len(found := dict(pairs)) < len(pairs):
            raise RefusedError(f"{file.name} holds a name twice in one object")
        return found

    text = file.read_text(encoding="utf-8")
    said = json.loads(text, parse_float=finite, parse_constant=finite, object_pairs_hook=once)
    if not isinstance(said, dict):
        raise RefusedError(f"{file.name} holds no object")
    return said


def sha256(file: Path) -> str:
    """Digest of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def is_plain(file: Path) -> bool:
    """Whether it is a file itself: no link, no pipe."""
    return file.is_file() and not file.is_symlink()


def files_of(folder: Path) -> list[str]:
    """The files of a folder, whatever they are, but for the manifest."""
    names = (
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()
    )
    return sorted({*names} - {MANIFEST})


def wrong_files(folder: Path) -> list[str]:
    """What is wrong with the files, by the manifest; a line each."""
    try:
        lines = (folder / MANIFEST).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        return [f"{MANIFEST} cannot be read: {error}"]
    named, there = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}, files_of(folder)
    return [
        *(f"{name} is named in {MANIFEST}, and is not there" for name in named if name not in there),
        *(f"{name} is not named in {MANIFEST}" for name in there if name not in named),
        *(
            f"{name} is not the file that {MANIFEST} names"
            for name in there
            if name in named and not (is_plain(folder / name) and sha256(folder / name) == named[name])
        ),
    ]


def agree(said: Any, found: Any) -> bool:
    """Whether two values are the same but for rounding."""
    if isinstance(said, (int, float)) and isinstance(found, (int, float)) and bool not in (type(said), type(found)):
        return math.isfinite(said) and abs(said - found) <= CLOSE * max(1.0, abs(found))
    return type(said) is type(found) and bool(said == found)


def differences(said: Any, found: Any, taken: Sequence[str], path: str = "") -> Iterator[str]:
    """A line for every leaf that a result has and that was not computed, or the other way; none for those `taken`."""
    if any(fnmatchcase(path, pattern) for pattern in taken):
        return
    if isinstance(said, list) and isinstance(found, list):
        said, found = ({str(k): each for k, each in enumerate(held)} for held in (said, found))
    if isinstance(said, dict) and isinstance(found, dict):
        for key in {**found, **said}:
            yield from differences(said.get(key, ...), found.get(key, ...), taken, f"{path}.{key}" if path else key)
    elif not agree(said, found):
        yield f"{path} is {_short(found)}, not {_short(said)}"


def _short(value: Any) -> str:
    return "nothing" if value is ... else f"{value!r:.80}"
