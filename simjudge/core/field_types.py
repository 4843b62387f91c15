"""Types of the fields that people write, for pydantic: `Annotated[float, Number(ge=0)]`.

Each refuses a wrong value with one phrase that says all that is needed ("a number from 0 to 1 is needed"), where
pydantic's own constraints speak one limit at a time, and writes the same into the JSON schema for editors.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from simjudge.core.text import nearest_name, one_line, parse_number

LARGEST = 1e300  # Beyond it a number is none: its square would not be finite


def need(phrase: str) -> str:
    """A phrase with its verb: "a number is needed", "3 numbers are needed"."""
    first = phrase.split(maxsplit=1)[0]
    one = first in {"a", "an", "one", "true", "the"} or first.startswith(("[", "{", '"'))
    return f"{phrase} {'is' if one else 'are'} needed"


def refusal(phrase: str) -> PydanticCustomError:
    """The error of a value that is not what is needed; the message ends with the value."""
    return PydanticCustomError("refusal", "{needed}", {"needed": need(phrase)})


def conflict(message: str, *at: int | str) -> PydanticCustomError:
    """The error of fields that do not suit each other."""
    return PydanticCustomError("conflict", "{message}", {"message": message, "at": at})


def shown(value: Any, *, numeric: bool = False) -> str:
    """How a message ends that says what was found (numeric: whether a number is needed: YAML reads 1e1 as a text)."""
    if value is None:
        return "; nothing is given"
    if numeric and isinstance(value, str) and parse_number(value) is not None:
        return f"; this is {one_line(value)}, a text to YAML; write {parse_number(value)}"
    return f"; this is {one_line(value)}"


def is_number(value: object, most: float = LARGEST) -> bool:
    """Whether a value of a YAML file is a number of at most a size."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= most


class FieldType(ABC):
    """A type of field: subclasses say what is needed, what a value becomes, and their JSON schema."""

    @property
    @abstractmethod
    def needed(self) -> str:
        """What is needed, as a phrase without a verb."""

    def read(self, value: Any) -> Any:
        """The value as the model holds it (value: what YAML made of it)."""
        return self._read(value)

    @abstractmethod
    def _read(self, value: Any) -> Any:
        """What subclasses make of a value."""

    @abstractmethod
    def schema(self) -> JsonSchemaValue:
        """The JSON schema."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return self.schema()


@dataclass(frozen=True)
class Number(FieldType):
    """A finite number."""

    ge: float | None = None
    le: float | None = None
    gt: float | None = None
    lt: float | None = None
    of: str = ""  # what it counts or measures, e.g. "seconds"; "" for a plain number
    largest: float = LARGEST

    @property
    def needed(self) -> str:
        """The phrase with its limits."""
        words = [self.of or "a number"]
        if self.ge is not None and self.le is not None:
            words.append(f"from {self.ge:g} to {self.le:g}")
        elif self.ge is not None:
            words.append(f"of {self.ge:g} or more")
        elif self.le is not None:
            words.append(f"of {self.le:g} or less")
        if self.gt is not None:
            words.append(f"above {self.gt:g}")
        if self.lt is not None:
            words.append(f"{'and ' if self.gt is not None else ''}below {self.lt:g}")
        return " ".join(words)

    def _read(self, value: Any) -> Any:
        inside = (
            is_number(value, self.largest)
            and (self.ge is None or value >= self.ge)
            and (self.le is None or value <= self.le)
            and (self.gt is None or value > self.gt)
            and (self.lt is None or value < self.lt)
        )
        if not inside:
            raise refusal(self.needed)
        return float(value)

    def schema(self) -> JsonSchemaValue:
        """With the limits."""
        limits = {"minimum": self.ge, "maximum": self.le, "exclusiveMinimum": self.gt, "exclusiveMaximum": self.lt}
        return {"type": "number", **{name: limit for name, limit in limits.items() if limit is not None}}


@dataclass(frozen=True)
class Whole(FieldType):
    """A whole number within limits that are included."""

    ge: int = 0
    le: int = 2**31

    @property
    def needed(self) -> str:
        """The phrase with its limits."""
        return f"a whole number from {self.ge} to {self.le}"

    def _read(self, value: Any) -> Any:
        if type(value) is not int or not self.ge <= value <= self.le:
            raise refusal(self.needed)
        return value

    def schema(self) -> JsonSchemaValue:
        """With the limits."""
        return {"type": "integer", "minimum": self.ge, "maximum": self.le}


@dataclass(frozen=True)
class Vector(FieldType):
    """A list of numbers, each with a name, as a tuple."""

    names: str
    # ge, le: limits of each that are included.
    ge: float | None = None
    le: float | None = None
    gt: float | None = None  # a limit of each that is not
    whole: bool = False
    largest: float = LARGEST  # the largest absolute value of each

    @property
    def needed(self) -> str:
        """The phrase with names and limits."""
        names = self.names.split()
        number = Number(self.ge, self.le, self.gt).needed.removeprefix("a number")
        return f"{len(names)} {'whole ' if self.whole else ''}numbers{number} [{', '.join(names)}]"

    def _read(self, value: Any) -> Any:
        one = Number(self.ge, self.le, self.gt, largest=self.largest)
        if not isinstance(value, list | tuple) or len(value) != len(self.names.split()):
            raise refusal(self.needed)
        try:
            numbers = tuple(one.read(number) for number in value)
        except PydanticCustomError as error:
            raise refusal(self.needed) from error
        if self.whole and not all(type(number) is int for number in value):
            raise refusal(self.needed)
        return tuple(value) if self.whole else numbers

    def schema(self) -> JsonSchemaValue:
        """A list of so many numbers."""
        items = Number(self.ge, self.le, self.gt).schema() | ({"type": "integer"} if self.whole else {})
        count = len(self.names.split())
        return {"type": "array", "items": items, "minItems": count, "maxItems": count}


@dataclass(frozen=True)
class Text(FieldType):
    """A text that is not empty."""

    of: str = "a text"  # what it is, e.g. "the path of a file"

    @property
    def needed(self) -> str:
        """The phrase."""
        return self.of

    def _read(self, value: Any) -> Any:
        if not isinstance(value, str) or not value:
            raise refusal(self.needed)
        return value

    def schema(self) -> JsonSchemaValue:
        """A text."""
        return {"type": "string", "minLength": 1}


@dataclass(frozen=True)
class Label(FieldType):
    """A text, or a number that stands for one: ROS writes serial numbers without quotes."""

    @property
    def needed(self) -> str:
        """The phrase."""
        return "a text"

    def _read(self, value: Any) -> Any:
        if not isinstance(value, str | int | float) or not str(value):
            raise refusal(self.needed)
        return str(value)

    def schema(self) -> JsonSchemaValue:
        """A text or a number."""
        return {"type": ["string", "number"]}


@dataclass(frozen=True)
class NumberList(FieldType):
    """A list of finite numbers, as a tuple."""

    # ge, le: limits of each that are included.
    ge: float | None = None
    le: float | None = None
    most: int | None = None  # how many there may be; None: any number

    @property
    def needed(self) -> str:
        """The phrase with the limits."""
        limits = Number(self.ge, self.le).needed.removeprefix("a number")
        return f"a list of numbers{limits}" + (f" (at most {self.most})" if self.most is not None else "")

    def _read(self, value: Any) -> Any:
        if not isinstance(value, list | tuple) or (self.most is not None and len(value) > self.most):
            raise refusal(self.needed)
        if not all(is_number(number) and self._inside(number) for number in value):
            raise refusal(self.needed)
        return tuple(float(number) for number in value)

    def _inside(self, value: float) -> bool:
        return (self.ge is None or value >= self.ge) and (self.le is None or value <= self.le)

    def schema(self) -> JsonSchemaValue:
        """A list of numbers."""
        limits = {"minimum": self.ge, "maximum": self.le}
        items = {"type": "number", **{name: value for name, value in limits.items() if value is not None}}
        return {"type": "array", "items": items, **({} if self.most is None else {"maxItems": self.most})}


@dataclass(frozen=True)
class Flag(FieldType):
    """True or false."""

    @property
    def needed(self) -> str:
        """The phrase."""
        return "true or false"

    def _read(self, value: Any) -> Any:
        if not isinstance(value, bool):
            raise refusal(self.needed)
        return value

    def schema(self) -> JsonSchemaValue:
        """A truth."""
        return {"type": "boolean"}


class Choice(FieldType):
    """One of the words of a `Literal`: `Annotated[Literal["free", "static"], Choice()]`."""

    def __init__(self, *words: str) -> None:
        self.words = words

    @property
    def needed(self) -> str:
        """The phrase with the words."""
        return f"one of {', '.join(self.words)}"

    def _read(self, value: Any) -> Any:
        if not isinstance(value, str):
            raise refusal(self.needed)
        if value not in self.words:
            raise conflict(f"there is no {one_line(value)!r}{nearest_name(value, self.words)}")
        return value

    def schema(self) -> JsonSchemaValue:
        """The words."""
        return {"type": "string", "enum": list(self.words)}

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        self.words = self.words or get_args(source)
        return super().__get_pydantic_core_schema__(source, handler)


def finite(value: object) -> bool:
    """Whether a value is anything but a number without end."""
    return not isinstance(value, float) or math.isfinite(value)
