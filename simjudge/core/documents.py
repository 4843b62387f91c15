"""Files that people write (cameras, vehicles, scenes, ...): YAML checked by a pydantic model, refused in one line.

Every message names the file, the line where it is known, the field, what is needed there and what was found; for a
field or a word that does not exist it names the nearest one. A field without a value counts as left out.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from simjudge.core.errors import SimjudgeError
from simjudge.core.field_types import FieldType, conflict, finite, need, refusal, shown
from simjudge.core.text import Json, YamlFile, nearest_name, one_line, read_yaml

Location = Sequence[int | str]
"""Fields and indices that lead to a value from the top of a file."""
ModelType = TypeVar("ModelType", bound=BaseModel)
_MOST_NAMED = 5
"""Fields that a message names where a whole file is something else."""
_MOST_FIELDS = 10
"""Fields that a message names where a table is something else."""


class Fields(BaseModel):
    """A table of a file with a name for every field; an unknown field is an error that names the nearest known one."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, arbitrary_types_allowed=True)

    @classmethod
    def names(cls) -> list[str]:
        """The fields as files call them."""
        return [field.alias or name for name, field in cls.model_fields.items()]

    @model_validator(mode="before")
    @classmethod
    def _check_names(cls, content: Any) -> Any:
        known = cls.names()
        if not isinstance(content, dict):
            raise refusal(_fields_phrase(known))
        strict = cls.model_config.get("extra") == "forbid"
        unknown = [key for key in content if key not in known] if strict else []
        if unknown:
            raise conflict(f"no such field{nearest_name(unknown[0], known)}", str(unknown[0]))
        return content

    def only(self, *names: str, subject: str) -> str:
        """The one field of some that is given."""
        given = [name for name in names if name in self.model_fields_set]
        if len(given) != 1:
            found = f"{' and '.join(given)} are given" if given else "none is given"
            raise conflict(f"{subject} needs one of {', '.join(names)}; {found}")
        return given[0]

    def given(self) -> Json:
        """The fields that the file has, by their names in Python."""
        return {name: getattr(self, name) for name in type(self).model_fields if name in self.model_fields_set}


@dataclass(frozen=True)
class Document(Generic[ModelType]):
    """A file that was read."""

    path: Path  # the file, as messages name it
    content: ModelType
    # The file and those that it builds upon, the most particular first; they know their lines.
    sources: tuple[YamlFile, ...]

    def error(self, location: Location, message: str) -> SimjudgeError:
        """The error for a value that is wrong only together with others."""
        return error_at(self.path, self.sources, location, message)


def read_document(path: Path, model: type[ModelType], noun: str) -> Document[ModelType]:
    """Read and check a file."""
    file = read_yaml(path)
    return check_content(file.content, model, noun, path, (file,))


def check_content(
    content: Any, model: type[ModelType], noun: str, path: Path, sources: tuple[YamlFile, ...]
) -> Document[ModelType]:
    """Check what was read."""
    if not isinstance(content, dict) or not content:
        fields = ", ".join(model.names()[:_MOST_NAMED]) if issubclass(model, Fields) else "names with a table each"
        raise SimjudgeError(f"{path}: no {noun}: a table is needed ({fields})")
    plain = plain_content(content, path, sources)
    try:
        return Document(path, model.model_validate(plain), sources)
    except ValidationError as error:
        location, message = _explained(error.errors(include_url=False)[0], plain, model)
        raise error_at(path, sources, location, message) from error


def error_at(path: Path, sources: Sequence[YamlFile], location: Location, message: str) -> SimjudgeError:
    """The error about a value of a file (sources: the files that may hold the value, the most particular first)."""
    field = field_name(location)
    lines = ((source.path, source.line(location)) for source in sources)
    where = next((f"{file}:{line}" for file, line in lines if line is not None), str(path))
    return SimjudgeError(f"{where}: {field}: {message}" if field else f"{where}: {message}")


def field_name(location: Location) -> str:
    """How messages call a value: "things.table.parts[0].box"."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{one_line(part)}" for part in location)
    return "".join(parts).removeprefix(".")


def plain_content(content: Any, path: Path, sources: tuple[YamlFile, ...], location: Location = ()) -> Any:
    """A copy without the fields that have no value."""
    if isinstance(content, dict):
        return {
            key: plain_content(value, path, sources, (*location, str(key)))
            for key, value in content.items()
            if value is not None
        }
    if isinstance(content, list):
        return [plain_content(value, path, sources, (*location, index)) for index, value in enumerate(content)]
    if not finite(content):
        raise error_at(path, sources, location, f"a finite number is needed; this is {content}")
    if content is not None and not isinstance(content, str | int | float):
        message = f"a text or a number is needed; this is a {type(content).__name__} to YAML; put it in quotes"
        raise error_at(path, sources, location, message)
    return content


def _explained(error: ErrorDetails, content: Any, model: type[BaseModel]) -> tuple[Location, str]:
    """Where an error of pydantic's is in the file, and what is needed there."""
    location = _location(error["loc"], content)
    kind, context = error["type"], error.get("ctx", {})
    if kind == "conflict":
        return (*location, *context["at"]), str(context["message"])
    if kind == "missing":
        location = (*location, str(error["loc"][-1]))
        return location, f"{_needed_at(location, model)}; nothing is given"
    if kind.startswith("union_tag"):
        field = str(context["discriminator"]).strip("'")
        words = [word for _, info in _fields_at((*location, field), model) for word in typing.get_args(info.annotation)]
        given = error["input"].get(field) if isinstance(error["input"], dict) else error["input"]
        return (*location, field), f"one of {', '.join(words)} is needed{shown(given)}"
    phrase = {
        "string_type": "a text is needed",
        "list_type": "a list is needed",
        "tuple_type": "a list is needed",
        "dict_type": "fields are needed",
        "model_attributes_type": "fields are needed",
        "too_short": "a list that is not empty is needed",
    }.get(kind, error["msg"])
    return location, phrase + shown(error["input"], numeric="number" in phrase)


def _location(found: tuple[int | str, ...], content: Any) -> tuple[int | str, ...]:
    """The parts of an error's location that lead into the file; the others name members of unions."""
    location: list[int | str] = []
    for part in found:
        inside = (
            part in content
            if isinstance(content, dict)
            else isinstance(content, list) and isinstance(part, int) and part < len(content)
        )
        if inside:
            location.append(str(part) if isinstance(content, dict) else part)
            content = content[part]
    return tuple(location)


def _needed_at(location: Location, model: type[BaseModel]) -> str:
    """What the model needs at a place: "a number above 0 is needed"."""
    for _, info in _fields_at(location, model):
        kind = next((part for part in info.metadata if isinstance(part, FieldType)), None)
        if kind is not None:
            return need(kind.needed)
        below = next(_models_in(info.annotation), None)
        if isinstance(info.annotation, type) and below is not None and issubclass(below, Fields):
            return need(_fields_phrase(below.names()))
        if typing.get_origin(info.annotation) is dict:
            return "fields are needed"
    return "it is needed"


def _fields_phrase(names: list[str]) -> str:
    many = len(names) > _MOST_FIELDS
    return f"fields such as {', '.join(names[:_MOST_FIELDS])}" if many else f"fields ({', '.join(names)})"


def _fields_at(location: Location, model: type[BaseModel]) -> list[tuple[str, FieldInfo]]:
    """The fields of the models that a location may mean: several where one of several tables may stand there."""
    annotation: Any = model
    found: list[tuple[str, FieldInfo]] = []
    for part in location:
        own = [field for model in _models_in(annotation) for field in model.model_fields.items()]
        found = [(name, field) for name, field in own if part in (name, field.alias)]
        # A part that is no field is a name or an index within the annotation at hand.
        annotation = found[0][1].annotation if found else annotation
    return found


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    plain = isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias)
    if plain and issubclass(annotation, BaseModel):
        if annotation.__pydantic_root_model__:
            yield from _models_in(annotation.model_fields["root"].annotation)
        else:
            yield annotation
    for part in typing.get_args(annotation):
        yield from _models_in(part)
