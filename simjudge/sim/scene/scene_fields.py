"""What a scene file says, with what it extends, and the types of its fields: points, areas, names, light, paths."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import Discriminator, Field, Tag, model_validator
from pydantic.json_schema import JsonSchemaValue

from simjudge.core.arrays import FloatArray
from simjudge.core.documents import Fields, Location, error_at, field_name
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.field_types import (
    Choice,
    FieldType,
    Flag,
    Number,
    NumberList,
    Text,
    Vector,
    Whole,
    conflict,
    is_number,
    refusal,
)
from simjudge.core.files import is_file
from simjudge.core.installed import SCENE, VEHICLE, find_file, shipped_files
from simjudge.core.text import Json, YamlFile, one_line, read_yaml

_FILE_FIELDS = ("mesh", "file")  # Fields that hold the path of a file, relative to the scene's file that says so
_DEEPEST = 8  # Files that extend one another at most


class SceneContent(NamedTuple):
    """What a scene's file says, with all that it extends and everything drawn."""

    content: Json
    sources: tuple[YamlFile, ...]  # the file and those it extends, the most particular first


def read_content(path: Path, seed: int) -> SceneContent:
    """All fields of a scene's file, those it extends among them, with everything drawn and paths made whole."""
    missing: dict[str, SimjudgeError] = {}
    content, sources = _extended(path, (), missing)
    drawn: dict[str, object] = _Draws(path, sources, seed, missing).drawn(content, ())
    return SceneContent(drawn, sources)


def random_of(seed: int, where: str) -> np.random.Generator:
    """The random numbers of one field of a scene."""
    return np.random.default_rng([seed, zlib.crc32(where.encode())])


def _extended(
    path: Path, before: tuple[Path, ...], missing: dict[str, SimjudgeError]
) -> tuple[Json, tuple[YamlFile, ...]]:
    """What a file says, merged with what it extends, and the files; vehicles that are not there go into `missing`."""
    file = read_yaml(path)
    if len(before) > _DEEPEST or path.resolve() in before:
        raise SimjudgeError(f"{before[0]}: extends: it comes back to itself through {path.name}; break the circle")
    if not isinstance(file.content, dict):
        raise SimjudgeError(f"{path}: no scene: fields such as things and lights are needed")
    content: Json = _with_whole_paths(file.content, file, missing)
    if "extends" not in content:
        return content, (file,)
    given = content.pop("extends")
    if not isinstance(given, str) or not given:
        raise error_at(path, (file,), ("extends",), f"a scene's name or file is needed; this is {one_line(given)}")
    try:
        base = find_file(given, SCENE, path.parent)
    except UsageError as error:
        raise error_at(path, (file,), ("extends",), str(error)) from error
    found, sources = _extended(base, (*before, path.resolve()), missing)
    found.pop("name", None)
    merged: Json = _merged(found, content)
    return merged, (file, *sources)


def _with_whole_paths(content: Any, file: YamlFile, missing: dict[str, SimjudgeError], location: Location = ()) -> Any:
    if isinstance(content, list):
        return [_with_whole_paths(item, file, missing, (*location, n)) for n, item in enumerate(content)]
    if isinstance(content, dict):
        return {key: _with_whole_paths(item, file, missing, (*location, str(key))) for key, item in content.items()}
    field = file_field(location) if isinstance(content, str) else ""
    if not field:
        return content
    whole = file.path.parent / content
    if field == "vehicle" and not is_file(whole):
        try:
            return find_file(content, VEHICLE, file.path.parent).stem
        except UsageError as error:  # refused only where no other file replaces it, and it is drawn
            missing.setdefault(str(whole), error_at(file.path, (file,), location, str(error)))
    return str(whole)


def file_field(location: Location) -> str:
    """The field of a scene's file by which a text at a place names a file: mesh, file or vehicle; "" for no file."""
    field = next((part for part in reversed(location) if isinstance(part, str) and part != "one_of"), "")
    return field if field in _FILE_FIELDS or (field == "vehicle" and location[0] in {"cars", "vehicle"}) else ""


def named_vehicle(name: str | None) -> str | Path | None:
    """The vehicle that a scene's content names: the name of one that comes with simjudge, or the path of another."""
    return name if name is None or name in shipped_files(VEHICLE) else Path(name)


def _merged(base: Any, change: Any) -> Any:
    if not isinstance(base, dict) or not isinstance(change, dict) or _is_draw(base) or _is_draw(change):
        return change
    return {**base, **{key: _merged(base.get(key), value) for key, value in change.items()}}


def _is_draw(content: Json) -> bool:
    return set(content) in ({"between"}, {"one_of"})


class _Draws:
    """Puts what the seed draws in place of each draw; refuses vehicles that are not there (the errors by path)."""

    def __init__(
        self, path: Path, sources: Sequence[YamlFile], seed: int, missing: Mapping[str, SimjudgeError]
    ) -> None:
        self._path, self._sources, self._seed, self._missing = path, sources, seed, missing

    def drawn(self, content: Any, location: tuple[int | str, ...]) -> Any:
        if isinstance(content, list):
            return [self.drawn(item, (*location, number)) for number, item in enumerate(content)]
        if isinstance(content, str) and content in self._missing and file_field(location) == "vehicle":
            raise self._missing[content]
        if not isinstance(content, dict):
            return content
        if set(content) == {"between"}:
            return self._between(content["between"], location)
        if set(content) == {"one_of"}:
            choices = content["one_of"]
            if not isinstance(choices, list) or not choices:
                raise self._error((*location, "one_of"), f"a list is needed; this is {one_line(choices)}")
            return self.drawn(choices[int(self._random(location).integers(len(choices)))], location)
        return {key: self.drawn(value, (*location, str(key))) for key, value in content.items()}

    def _between(self, ends: Any, location: Location) -> float:
        pair = isinstance(ends, list) and len(ends) == 2 and all(is_number(end, FARTHEST) for end in ends)
        if not pair or ends[0] > ends[1]:
            raise self._error((*location, "between"), f"[low, high] is needed; this is {one_line(ends)}")
        random = self._random(location)
        whole = type(ends[0]) is int and type(ends[1]) is int
        return int(random.integers(ends[0], ends[1] + 1)) if whole else float(random.uniform(*ends))

    def _random(self, location: Location) -> np.random.Generator:
        return random_of(self._seed, field_name(location))

    def _error(self, location: Location, message: str) -> SimjudgeError:
        return error_at(self._path, self._sources, location, message)


_HEX = re.compile(r"#[0-9a-fA-F]{6}")
# IEC 61966-2-1.
_XYZ_TO_RGB = np.array([[3.2406, -1.5372, -0.4986], [-0.9689, 1.8758, 0.0415], [0.0557, -0.2040, 1.0570]])
_LUMINANCE = np.array([0.2126, 0.7152, 0.0722])


def to_linear(srgb: npt.ArrayLike) -> FloatArray:
    """Linear values of sRGB ones, 0 to 1, any shape (IEC 61966-2-1) (srgb: display values, 0 to 1, any shape)."""
    value = np.asarray(srgb, np.float64)
    return np.where(value <= 0.04045, value / 12.92, ((np.maximum(value, 0) + 0.055) / 1.055) ** 2.4)


def to_srgb(linear: npt.ArrayLike) -> FloatArray:
    """SRGB values of linear ones, 0 to 1, any shape; the inverse of `to_linear` (linear: linear values, 0 to 1)."""
    value = np.asarray(linear, np.float64)
    return np.where(value <= 0.0031308, value * 12.92, 1.055 * np.maximum(value, 1e-12) ** (1 / 2.4) - 0.055)


@cache
def _decoded() -> npt.NDArray[np.float32]:
    return to_linear(np.arange(256) / 255).astype(np.float32)


def image_to_linear(image: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """The linear values, float32, of an sRGB image of any shape (image: uint8, any shape, sRGB)."""
    return _decoded()[image]


def parse_srgb(given: Any) -> tuple[float, float, float] | None:
    """What "#rrggbb" or [red, green, blue] with numbers from 0 to 1 mean, sRGB; None where it is neither."""
    if isinstance(given, str) and _HEX.fullmatch(given):
        red, green, blue = (int(given[k : k + 2], 16) / 255 for k in (1, 3, 5))
        return red, green, blue
    if isinstance(given, list | tuple) and len(given) == 3 and all(_is_share(value) for value in given):
        return float(given[0]), float(given[1]), float(given[2])
    return None


def temperature_to_linear(kelvin: float) -> FloatArray:
    """Linear RGB (3,), luminance 1, of a black body of 1667 to 25000 K by the cubic fit of Kim et al. (2002)."""
    t = 1000 / kelvin
    if kelvin <= 4000:
        x = ((-0.2661239 * t - 0.2343589) * t + 0.8776956) * t + 0.179910
    else:
        x = ((-3.0258469 * t + 2.1070379) * t + 0.2226347) * t + 0.240390
    if kelvin <= 2222:
        y = ((-1.1063814 * x - 1.34811020) * x + 2.18555832) * x - 0.20219683
    elif kelvin <= 4000:
        y = ((-0.9549476 * x - 1.37418593) * x + 2.09137015) * x - 0.16748867
    else:
        y = ((3.0817580 * x - 5.87338670) * x + 3.75112997) * x - 0.37001483
    rgb = np.maximum(_XYZ_TO_RGB @ [x / y, 1, (1 - x - y) / y], 0)
    out: FloatArray = rgb / float(_LUMINANCE @ rgb)
    return out


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def luminance(linear: npt.ArrayLike) -> FloatArray:
    """Luminance (Y) of linear RGB with Rec. 709 primaries."""
    out: FloatArray = np.asarray(linear, np.float64) @ _LUMINANCE
    return out


FARTHEST = 1e5  # Metres; single-precision rays see nothing sensible beyond. No number of a scene's file is larger.
MOST_CLASSES = 255  # Class ids go from 1 to this: label images have 8 bits
MOST_INSTANCES = 65535  # Instance ids go from 1 to this: label images have 16 bits


@dataclass(frozen=True)
class PointType(Vector):
    """A point [x, y, z]; [x, y] is on the floor."""

    names: str = "x y z"
    largest: float = FARTHEST

    def _read(self, value: Any) -> Any:
        flat = isinstance(value, list | tuple) and len(value) == 2
        return super()._read([*value, 0.0] if flat and all(map(is_number, value)) else value)

    def schema(self) -> JsonSchemaValue:
        """Two or three numbers."""
        return super().schema() | {"minItems": 2}


@dataclass(frozen=True)
class ColourType(FieldType):
    """An sRGB colour, as linear RGB."""

    @property
    def needed(self) -> str:
        """The phrase."""
        return 'a colour "#rrggbb" or [red, green, blue] from 0 to 1 (sRGB)'

    def _read(self, value: Any) -> Any:
        given = parse_srgb(value)
        if given is None:
            raise refusal(self.needed)
        return tuple(to_linear(given).tolist())

    def schema(self) -> JsonSchemaValue:
        """A text or three numbers."""
        share = {"type": "number", "minimum": 0, "maximum": 1}
        numbers = {"type": "array", "items": share, "minItems": 3, "maxItems": 3}
        return {"anyOf": [{"type": "string", "pattern": "^#[0-9a-fA-F]{6}$"}, numbers]}


@dataclass(frozen=True)
class AreaType(Vector):
    """A rectangle of the floor."""

    names: str = "x0 y0 x1 y1"
    largest: float = FARTHEST

    @property
    def needed(self) -> str:
        """The phrase."""
        return "[x0, y0, x1, y1] with x0 < x1 and y0 < y1"

    def _read(self, value: Any) -> Any:
        x0, y0, x1, y1 = super()._read(value)
        if not (x0 < x1 and y0 < y1):
            raise refusal(self.needed)
        return x0, y0, x1, y1


@dataclass(frozen=True)
class RepeatType(FieldType):
    """Units of texture coordinates after which a texture repeats: one number, or [across, up]."""

    @property
    def needed(self) -> str:
        """The phrase."""
        return "a number above 0, or two of them [across, up],"

    def _read(self, value: Any) -> Any:
        pair = value if isinstance(value, list | tuple) else [value, value]
        if len(pair) != 2 or not all(is_number(number, FARTHEST) and number > 0 for number in pair):
            raise refusal(self.needed)
        return float(pair[0]), float(pair[1])

    def schema(self) -> JsonSchemaValue:
        """One number or two."""
        number = {"type": "number", "exclusiveMinimum": 0}
        return {"anyOf": [number, {"type": "array", "items": number, "minItems": 2, "maxItems": 2}]}


@dataclass(frozen=True)
class ClassType(FieldType):
    """A class by its name or its number."""

    @property
    def needed(self) -> str:
        """The phrase."""
        return Whole(1, MOST_CLASSES).needed

    def _read(self, value: Any) -> Any:
        return Text().read(value) if isinstance(value, str) else Whole(1, MOST_CLASSES).read(value)

    def schema(self) -> JsonSchemaValue:
        """A text or a number."""
        return {"anyOf": [Text().schema(), Whole(1, MOST_CLASSES).schema()]}


@dataclass(frozen=True)
class NameType(FieldType):
    """The name of a part of the scene."""

    @property
    def needed(self) -> str:
        """The phrase."""
        return "a name without /"

    def _read(self, value: Any) -> Any:
        if not isinstance(value, str) or not value or "/" in value:
            raise conflict(f"{one_line(repr(value))} is no name; a text without / is needed")
        return value

    def schema(self) -> JsonSchemaValue:
        """A text."""
        return {"type": "string", "pattern": "^[^/]+$"}


@dataclass(frozen=True)
class RowKey(FieldType):
    """Which rows of a table: [id, colour], or an id alone for all rows that have it."""

    @property
    def needed(self) -> str:
        """The phrase."""
        return "an id, or [id, colour],"

    def _read(self, value: Any) -> Any:
        """Id, or id and colour, as texts."""
        key = value if isinstance(value, list) else [value]
        if not 1 <= len(key) <= 2 or not all(isinstance(part, str | int | float) for part in key):
            raise refusal(self.needed)
        return tuple(str(part) for part in key)

    def schema(self) -> JsonSchemaValue:
        """One or two."""
        each = {"type": ["string", "number"]}
        return {"anyOf": [each, {"type": "array", "items": each, "minItems": 1, "maxItems": 2}]}


@dataclass(frozen=True)
class RowChange(FieldType):
    """A row of a table, as it should be."""

    @property
    def needed(self) -> str:
        """The phrase."""
        return "[id, colour, x, y]"

    def _read(self, value: Any) -> Any:
        """Id and colour as texts, x and y in metres."""
        whole = isinstance(value, list) and len(value) == 4 and all(is_number(number, FARTHEST) for number in value[2:])
        if not whole or not all(isinstance(part, str | int | float) for part in value[:2]):
            raise refusal(self.needed)
        return str(value[0]), str(value[1]), float(value[2]), float(value[3])

    def schema(self) -> JsonSchemaValue:
        """Four values."""
        return {"type": "array", "items": {"type": ["string", "number"]}, "minItems": 4, "maxItems": 4}


Amount = Annotated[float, Number(largest=FARTHEST)]
Positive = Annotated[float, Number(gt=0, largest=FARTHEST)]
NotNegative = Annotated[float, Number(ge=0, largest=FARTHEST)]
Share = Annotated[float, Number(ge=0, le=1)]
Point = Annotated[tuple[float, float, float], PointType()]
Point2 = Annotated[tuple[float, float], Vector("x y", largest=FARTHEST)]
Point3 = Annotated[tuple[float, float, float], Vector("x y z", largest=FARTHEST)]
Area = Annotated[tuple[float, float, float, float], AreaType()]
Colour = Annotated[tuple[float, float, float], ColourType()]
Name = Annotated[str, NameType()]
Reference = Annotated[str, Text("a name")]


_COOLEST = 1667.0  # Kelvin; the fit of `temperature_to_linear` begins here
_HOTTEST = 25000.0  # Kelvin; the fit of `temperature_to_linear` ends here


def _number_or_fields(value: Any) -> str:
    return "fields" if isinstance(value, dict) else "number"


class TintFields(Fields):
    """A tint of light: a colour, or a temperature."""

    colour: Colour | None = None
    """Tint (sRGB)."""
    temperature: Annotated[float, Number(ge=_COOLEST, le=_HOTTEST)] | None = None
    """Kelvin; the luminance is kept."""

    @model_validator(mode="after")
    def _check_tint(self) -> TintFields:
        if self.colour is not None and self.temperature is not None:
            raise conflict("the colour says it; remove one of the two", "temperature")
        return self

    def tinted(self, amount: float) -> tuple[float, float, float]:
        """Linear RGB of an amount of light."""
        tint = self.colour or (1.0, 1.0, 1.0)
        if self.temperature is not None:
            red, green, blue = temperature_to_linear(self.temperature).tolist()
            tint = (red, green, blue)
        return amount * tint[0], amount * tint[1], amount * tint[2]


class RadianceFields(TintFields):
    """An amount of light with a tint."""

    radiance: NotNegative
    """1 is an image's full scale at gain 1."""


Radiance = Annotated[
    Annotated[NotNegative, Tag("number")] | Annotated[RadianceFields, Tag("fields")], Discriminator(_number_or_fields)
]


def linear_radiance(given: float | RadianceFields) -> tuple[float, float, float]:
    """Linear RGB of a radiance: a number, or {radiance, colour or temperature}."""
    return given.tinted(given.radiance) if isinstance(given, RadianceFields) else (given, given, given)


class MotionPathFields(Fields):
    """A path through waypoints; a thing on it obeys no physics, others bump into it."""

    waypoints: Annotated[tuple[Point, ...], Field(min_length=2)]
    """Points [x, y, z] or [x, y], metres: where the thing's origin goes."""
    speed: Positive | None = None
    """Metres a second, the same all along; in place of `times`."""
    times: Annotated[tuple[float, ...], NumberList(ge=0, le=FARTHEST)] | None = None
    """Seconds since the start at which it is at each waypoint, and, on a closed path, back at the first."""
    smooth: Annotated[bool, Flag()] = False
    """Along a smooth line through the waypoints; straight from one to the next, if left out."""
    closed: Annotated[bool, Flag()] = False
    """From the last waypoint back to the first, again and again; it stays at the last, if left out."""
    facing: Annotated[Literal["along", "fixed"], Choice()] = "along"
    """Its x axis looks ahead along the path, or stays as yaw, pitch and roll have it."""
    start: Amount = 0.0
    """Seconds of the path that are over when the scene starts; below 0, it sets out later (on a closed path, it is as
    far from the path's end)."""

    @model_validator(mode="after")
    def _check_pace(self) -> MotionPathFields:
        self.only("speed", "times", subject="a path")
        return self
