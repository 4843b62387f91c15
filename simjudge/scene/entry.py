"""One part of a scene's file with the name it has in messages: every value is checked where it is taken out."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simjudge.core.errors import SimjudgeError
from simjudge.core.text import one_line
from simjudge.core.text import parse_number as number_in
from simjudge.geometry.poses import Pose
from simjudge.scene.colour import of_temperature, srgb_of, to_linear
from simjudge.scene.model import Colour

FARTHEST = 1e5
"""Metres; single-precision rays see nothing sensible beyond."""
_POSE = ("at", "yaw", "pitch", "roll", "quaternion")
_COOLEST, _HOTTEST = 1667.0, 25000.0


@dataclass(frozen=True)
class Entry:
    """Fields of a file.

    Attributes:
        path: the file.
        where: how this part is called, "" for the file itself.
        content: the fields.
    """

    path: Path
    where: str
    content: dict[Any, Any]

    def name_of(self, field: Any) -> str:
        """How a field of this part is called in messages."""
        return f"{self.where}.{field}" if self.where else str(field)

    def has(self, field: int | str) -> bool:
        """Whether a field is given; an empty one is not."""
        return self.content.get(field) is not None

    def only(self, known: Collection[str]) -> None:
        """Refuse fields that do not exist."""
        for field in self.content:
            if field not in known:
                raise SimjudgeError(f"{self.path}: {self.name_of(field)}: no such field{_hint(field, known)}")

    def one_of(self, fields: Collection[str], what: str) -> str:
        """The one of some fields that is given."""
        given = [field for field in fields if self.has(field)]
        if len(given) != 1:
            found = f"{' and '.join(given)} are given" if given else "none is given"
            place = f"{self.where}: " if self.where else ""
            raise SimjudgeError(f"{self.path}: {place}{what} needs one of {', '.join(fields)}; {found}")
        return given[0]

    def number(
        self, field: str, default: float | None = None, *, least: float = -FARTHEST, most: float = FARTHEST
    ) -> float:
        """A number within limits, both included."""
        if default is not None and not self.has(field):
            return default
        value = self.content.get(field)
        if not _is_number(value) or not least <= value <= most:  # type: ignore[operator]
            raise self.wrong(field, f"a number{_limits(least, most)} is needed")
        return float(value)  # type: ignore[arg-type]

    def positive(self, field: str, default: float | None = None) -> float:
        """A number above 0."""
        value = self.number(field, default)
        if value <= 0:
            raise self.wrong(field, "a number above 0 is needed")
        return value

    def whole(self, field: str, default: int | None = None, *, least: int = 0, most: int = 2**31) -> int:
        """A whole number within limits, both included."""
        if default is not None and not self.has(field):
            return default
        value = self.content.get(field)
        if type(value) is not int or not least <= value <= most:
            raise self.wrong(field, f"a whole number from {least} to {most} is needed")
        return value

    def text(self, field: str, default: str | None = None) -> str:
        """A text that is not empty."""
        if default is not None and not self.has(field):
            return default
        value = self.content.get(field)
        if not isinstance(value, str) or not value:
            raise self.wrong(field, "a text is needed")
        return value

    def choice(self, field: str, choices: Collection[str], default: str | None = None) -> str:
        """One of some words."""
        value = self.text(field, default)
        if value not in choices:
            raise SimjudgeError(f"{self.path}: {self.name_of(field)}: there is no {value!r}{_hint(value, choices)}")
        return value

    def numbers(self, field: int | str, names: str, *, above: float | None = None) -> tuple[float, ...]:
        """A list of as many numbers as `names` has words ("x y z"), all above a limit if there is one."""
        value, count = self.content.get(field), len(names.split())
        if not is_numbers(value, count):
            raise self.wrong(field, f"{count} numbers [{', '.join(names.split())}] are needed")
        numbers = tuple(float(each) for each in value)  # type: ignore[union-attr]
        if above is not None and min(numbers) <= above:
            raise self.wrong(field, f"numbers above {above:g} are needed")
        return numbers

    def items(self, field: str, what: str) -> list[Any]:
        """A list that is not empty."""
        value = self.content.get(field)
        if not isinstance(value, list) or not value:
            raise self.wrong(field, f"a list of {what} is needed")
        return value

    def section(self, field: str, known: Collection[str] | None = None) -> Entry:
        """A part of this part; `known` are the fields it may have."""
        value = self.content.get(field)
        if not isinstance(value, dict):
            raise self.wrong(field, f"fields ({', '.join(known)}) are needed" if known else "fields are needed")
        part = Entry(self.path, self.name_of(field), value)
        if known is not None:
            part.only(known)
        return part

    def sections(self, field: str) -> Iterator[tuple[str, Entry]]:
        """The named parts of a part; those that are null, left out on purpose, are skipped."""
        if not self.has(field):
            return
        part = self.section(field)
        for name in part.content:
            if not isinstance(name, str) or not name or "/" in name:
                raise SimjudgeError(f"{self.path}: {part.where}: {name!r} is no name; a text without / is needed")
            if part.has(name):
                yield name, part.section(name)

    def listed(self, field: str, what: str) -> Iterator[Entry]:
        """The parts in a list."""
        for number, item in enumerate(self.items(field, what)):
            name = f"{self.name_of(field)}[{number}]"
            if not isinstance(item, dict):
                raise SimjudgeError(f"{self.path}: {name}: fields are needed; this is {one_line(item)}")
            yield Entry(self.path, name, item)

    def pose(self) -> Pose:
        """The pose that `at` ([x, y] or [x, y, z]), yaw, pitch and roll (degrees) or a quaternion (x, y, z, w) give."""
        at = (0.0, 0.0, 0.0)
        if self.has("at"):
            flat = is_numbers(self.content["at"], 2)
            at = (*self.numbers("at", "x y"), 0.0) if flat else self.numbers("at", "x y z")  # type: ignore[assignment]
        if not self.has("quaternion"):
            yaw, pitch, roll = (math.radians(self.number(angle, 0.0)) for angle in ("yaw", "pitch", "roll"))
            return Pose.from_euler(*at, yaw=yaw, pitch=pitch, roll=roll)
        both = [angle for angle in ("yaw", "pitch", "roll") if self.has(angle)]
        if both:
            raise SimjudgeError(f"{self.path}: {self.name_of(both[0])}: the quaternion says it; remove one of the two")
        x, y, z, w = self.numbers("quaternion", "x y z w")
        if not abs(math.hypot(x, y, z, w) - 1) < 0.01:
            raise self.wrong("quaternion", "four numbers [x, y, z, w] of length 1 are needed")
        return Pose(at, (x, y, z, w))

    def colour(self, field: str, default: Colour | None = None) -> Colour:
        """Linear RGB of an sRGB colour."""
        if default is not None and not self.has(field):
            return default
        given = srgb_of(self.content.get(field))
        if given is None:
            raise self.wrong(field, 'a colour is needed, "#rrggbb" or [red, green, blue] from 0 to 1 (sRGB)')
        red, green, blue = to_linear(given).tolist()
        return red, green, blue

    def light(self, field: str) -> Colour:
        """Linear RGB of an amount of light, tinted by `colour` (sRGB) or `temperature` (kelvin, luminance kept)."""
        amount = self.number(field, least=0)
        if self.has("colour") and self.has("temperature"):
            raise SimjudgeError(
                f"{self.path}: {self.name_of('temperature')}: the colour says it; remove one of the two"
            )
        tint = self.colour("colour", (1.0, 1.0, 1.0))
        if self.has("temperature"):
            tint = tuple(of_temperature(self.number("temperature", least=_COOLEST, most=_HOTTEST)).tolist())
        return amount * tint[0], amount * tint[1], amount * tint[2]

    def wrong(self, field: int | str, needed: str) -> SimjudgeError:
        """The error for a value that is not what is needed."""
        value = self.content.get(field)
        shown = "nothing is given" if value is None else f"this is {one_line(value)}"
        if isinstance(value, str) and "number" in needed and number_in(value) is not None:
            shown += f", a text to YAML; write {number_in(value)}"
        return SimjudgeError(f"{self.path}: {self.name_of(field)}: {needed}; {shown}")


POSE_FIELDS = _POSE


def is_numbers(value: object, count: int) -> bool:
    """Whether a value is a list of so many finite numbers."""
    return isinstance(value, list | tuple) and len(value) == count and all(_is_number(each) for each in value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= FARTHEST


def _limits(least: float, most: float) -> str:
    if least > -FARTHEST:
        return f" from {least:g} to {most:g}" if most < FARTHEST else f" of {least:g} or more"
    return f" of {most:g} or less" if most < FARTHEST else ""


def _hint(given: object, known: Collection[str]) -> str:
    near = difflib.get_close_matches(str(given), known, 1)
    return f"; is {near[0]} meant?" if near else f"; there are {', '.join(sorted(known)) or 'none'}"
