"""Names: of classes and when two are equal, of frames by their stamps, and of the detector that made predictions."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from simjudge.core.errors import SimjudgeError
from simjudge.core.text import Json, one_line, parse_integer

LARGEST_CLASS_ID = 2**31 - 1  # A class id beyond is a slip; messages hold no larger one


def normalized_name(name: str) -> str:
    """Reduce a class name to what is compared: neither case nor the character between words counts."""
    return " ".join(re.split(r"[\s_-]+", composed(name).strip().casefold()))


def composed(name: str) -> str:
    """A name in Unicode's form NFC: macOS writes the letter and the accent of é apart in the names of files (NFD)."""
    return unicodedata.normalize("NFC", name)


def is_class_id(number: int) -> bool:
    """Whether a number can be that of a class."""
    return 0 <= number <= LARGEST_CLASS_ID


def free_class_id(used: Iterable[int]) -> int:
    """Choose a class id that is not in use."""
    taken = {number for number in used if is_class_id(number)}
    following = max(taken, default=-1) + 1
    return following if is_class_id(following) else next(number for number in count() if number not in taken)


def class_names_from(pairs: Iterable[tuple[Any, Any]], where: str) -> dict[int, str]:
    """Make class names of what a file lists."""
    names: dict[int, str] = {}
    for key, name in pairs:
        class_id = None if isinstance(key, bool) else parse_integer(key)
        if class_id is None or not 0 <= class_id <= LARGEST_CLASS_ID:
            said = f"is not a whole number from 0 to {LARGEST_CLASS_ID}; correct it"
            raise SimjudgeError(f"{where}: class id {one_line(key)} {said}")
        if isinstance(name, bool) or not isinstance(name, str | int | float):
            remedy = "put it in quotes" if isinstance(name, bool) else "give the class a name"
            raise SimjudgeError(f"{where}: the name of class {class_id} is {one_line(name)}, no text; {remedy}")
        if class_id in names:
            raise SimjudgeError(
                f"{where}: class id {class_id} stands twice, as {one_line(names[class_id])} and as {one_line(name)}; "
                "give each class an id of its own"
            )
        names[class_id] = str(name)
    return names


def equal_names(names: dict[int, str]) -> list[list[int]]:
    """Find the classes whose names are equal."""
    ids: dict[str, list[int]] = {}
    for class_id, name in names.items():
        ids.setdefault(normalized_name(name), []).append(class_id)
    return [same_name for same_name in ids.values() if len(same_name) > 1]


DIGITS_SHOWN = 8  # Digits of a detector's digest that people read


@dataclass(frozen=True)
class DetectorRecord:
    """A detector as it ran."""

    name: str  # what it is called: the stem of its file
    sha256: str = ""  # of its file, 64 hexadecimal digits; "" where it was no file
    settings: Mapping[str, object] = field(default_factory=dict)  # what it ran with, such as imgsz and min_score

    def __str__(self) -> str:
        """The detector as people read it: "yolo11n (3f2a01bc, imgsz 640, min_score 0.05)"."""
        facts = [self.sha256[:DIGITS_SHOWN]] if self.sha256 else []
        facts += [f"{key} {_plain(value)}" for key, value in self.settings.items()]
        return f"{self.name} ({', '.join(facts)})" if facts else self.name

    def is_like(self, other: DetectorRecord) -> bool:
        """Whether it is that detector, by all that both records say."""
        same_file = not (self.sha256 and other.sha256) or self.sha256 == other.sha256
        both = self.settings.keys() & other.settings.keys()
        return self.name == other.name and same_file and all(self.settings[k] == other.settings[k] for k in both)

    def to_json(self) -> Json:
        """The record as JSON and result.json hold it."""
        return {"name": self.name, "sha256": self.sha256, "settings": dict(self.settings)}

    @classmethod
    def from_json(cls, content: Any, where: str) -> DetectorRecord:
        """Read a record (where: names the place to a person: the file, and the field)."""
        found = content if isinstance(content, dict) else {}
        name, sha256, settings = found.get("name"), found.get("sha256", ""), found.get("settings", {})
        if not isinstance(name, str) or not isinstance(sha256, str) or not isinstance(settings, dict):
            raise SimjudgeError(f"{where}: {one_line(content)} does not say which detector made the predictions")
        return cls(name, sha256, settings)


def _plain(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "x".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


NO_STAMP = -1  # The stamp of a frame that has none
_MOST_DIGITS = 10  # Digits of the seconds of a stamp; in nanoseconds it has 64 bits


def stamp_to_name(stamp: int) -> str:
    """Make the frame name that carries a stamp: "{seconds}_{nanoseconds:09d}" (stamp: nanoseconds, 0 or more)."""
    return f"{stamp // 1_000_000_000}_{stamp % 1_000_000_000:09d}"


def name_to_stamp(name: str) -> int:
    """Read the stamp that a frame name carries: nanoseconds, NO_STAMP where the name carries none."""
    seconds, _, nanoseconds = name.partition("_")
    if not (seconds.isdecimal() and nanoseconds.isdecimal() and len(seconds) <= _MOST_DIGITS and len(nanoseconds) == 9):
        return NO_STAMP
    stamp = int(seconds) * 1_000_000_000 + int(nanoseconds)
    return stamp if stamp < 2**63 else NO_STAMP
