"""A study as a file: steps by name, each a verb with its arguments, in sizes that set some of them.

title: What the study asks
sizes:
  small: {rate: 7.5}
  full: {rate: 15}
steps:
  real: {drive: {scene: krc_stand_in, driver: straight, rate: {size: rate}}}
  ideal: {replay: {recording: {step: real}, scene: krc, camera: plain_half}}

`{step: NAME}` stands for what an earlier step has made, `{size: NAME}` for a value of the size that is run. Files are
named relative to the study's, or by the name of one that comes with simjudge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from simjudge.core.documents import Document, Fields, read_document
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.field_types import Text
from simjudge.core.installed import STUDY, find_file
from simjudge.core.text import nearest_name
from simjudge.studies.study_steps import Verbs

STEP = "step"
SIZE = "size"
DEFAULT_SIZE = "small"
Values = dict[str, Any]
"""Texts and numbers by name."""


class StudyFields(Fields):
    """A study: what it asks, its sizes, its steps."""

    title: Annotated[str, Text("a title")]
    """What the study asks, for its page."""
    stands_in: Annotated[str, Text("a sentence")] = ""
    """What stands in for reality, where something does: the page says it first."""
    sizes: dict[str, Values]
    """Values by name, for each size; every size has the same names."""
    steps: dict[str, dict[str, Values]]
    """Steps by name, in the order in which they run: each a verb (drive, replay, ...) with its arguments."""


@dataclass(frozen=True)
class Reference:
    """What an earlier step has made.

    Attributes:
        step: its name.
    """

    step: str


@dataclass(frozen=True)
class StudyStep:
    """A step, ready to run.

    Attributes:
        name: of the step, and of what it makes.
        verb: its name.
        arguments: of the verb; a `Reference` for what an earlier step has made.
    """

    name: str
    verb: str
    arguments: Mapping[str, Any]

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of the steps whose results it takes."""
        return tuple(value.step for value in self.arguments.values() if isinstance(value, Reference))


@dataclass(frozen=True)
class Study:
    """A study in one size.

    Attributes:
        name: of its file.
        title: what it asks.
        stands_in: what stands in for reality; empty where nothing does.
        size: the size's name.
        steps: in the order in which they run.
    """

    name: str
    title: str
    stands_in: str
    size: str
    steps: tuple[StudyStep, ...]


def read_study(given: str | Path, verbs: Verbs, size: str = DEFAULT_SIZE) -> Study:
    """Read a study.

    Args:
        given: a file, or the name of a study that comes with simjudge.
        verbs: what steps can do.
        size: the size's name.

    Raises:
        UsageError: there is no such file, name or size.
        SimjudgeError: the file is damaged; one line with file, line, field and remedy.
    """
    path = find_file(given, STUDY)
    document = read_document(path, StudyFields, "study")
    fields = document.content
    if size not in fields.sizes:
        raise UsageError(f"--size {size}: study {path.stem} has none{nearest_name(size, fields.sizes)}")
    return Study(path.stem, fields.title, fields.stands_in, size, tuple(_steps(document, verbs, size)))


def _steps(document: Document[StudyFields], verbs: Verbs, size: str) -> Iterator[StudyStep]:
    earlier: list[str] = []
    sized = document.content.sizes[size]
    for name, content in document.content.steps.items():
        if len(content) != 1 or next(iter(content)) not in verbs:
            raise document.error(("steps", name), f"one verb with its arguments is needed: {', '.join(verbs)}")
        verb, given = next(iter(content.items()))
        known, arguments = verbs[verb].arguments, {}
        for key, value in given.items():
            where = ("steps", name, verb, key)
            if key not in known:
                raise document.error(where, f"no such argument{nearest_name(key, known)}")
            try:
                arguments[key] = _argument(value, earlier, sized, document.path.parent)
            except SimjudgeError as error:
                raise document.error(where, str(error)) from None
        if missing := verbs[verb].missing(arguments):
            raise document.error(("steps", name, verb), f"needs {', '.join(missing)}")
        yield StudyStep(name, verb, arguments)
        earlier.append(name)


def _argument(value: Any, earlier: list[str], sized: Values, folder: Path) -> Any:
    """What a value in the file stands for."""
    if isinstance(value, str):
        return folder / value if (folder / value).is_file() else value
    if not isinstance(value, dict):
        return value
    kind, name = next(iter(value.items())) if len(value) == 1 else ("", "")
    if kind == STEP and name in earlier:
        return Reference(name)
    if kind == SIZE and name in sized:
        return sized[name]
    if kind == STEP:
        raise SimjudgeError(f"{name}: no step before this one has that name{nearest_name(str(name), earlier)}")
    if kind == SIZE:
        raise SimjudgeError(f"{name}: the size has no such value{nearest_name(str(name), sized)}")
    raise SimjudgeError(f"a text, a number, {{{STEP}: NAME}} or {{{SIZE}: NAME}} is needed")
