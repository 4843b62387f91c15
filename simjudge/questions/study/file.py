"""A study as a file: steps by name, each a verb with its arguments, in sizes that set some of them.

title: What the study asks
sizes:
  small: {rate: 7.5}
  full: {rate: 15}
steps:
  real: {drive: {scene: krc_stand_in, driver: straight, rate: {size: rate}}}
  seen: {matrix: {camera: [ideal, worn]}, replay: {recording: {step: real}, scene: krc, camera: "${camera}.yaml"}}
  judged: {many_sets: {predictions: {steps: seen}}}

`study_values` says what the values of arguments may be, `study_matrix` how one entry becomes several steps. Steps run
in the order of the graph, whatever their order in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from simjudge.core.documents import Document, Fields, read_document
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.field_types import Text
from simjudge.core.installed import STUDY, find_file
from simjudge.core.text import list_some, nearest_name
from simjudge.questions.study.steps import Verbs
from simjudge.questions.study.values import MATRIX, MatrixEntry, StudyNames, expand_matrix, read_value, references

DEFAULT_SIZE = "small"
RESERVED = ("study", "index", "logs")
"""Names that a study's folder needs for itself."""
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
Values = dict[str, Any]
"""Texts and numbers by name."""


class StudyFields(Fields):
    """A study: what it asks, its sizes, its steps."""

    title: Annotated[str, Text("a title")]
    """What the study asks, for its page."""
    stands_in: Annotated[str, Text("a sentence")] = ""
    """What stands in for reality, where something does: the page says it first."""
    inputs: dict[str, Annotated[str, Text("a sentence")]] = Field(default_factory=dict)
    """Files and folders that a person names when the study runs (--input NAME=PATH), each with what it must be."""
    sizes: dict[str, Values] = Field(default_factory=lambda: dict[str, Values]({DEFAULT_SIZE: {}}))
    """Values by name, for each size; every size has the same names."""
    steps: dict[str, Values]
    """Steps by name: each a verb (drive, replay, ...) with its arguments, and a matrix where it stands for several."""


@dataclass(frozen=True)
class StudyStep:
    """A step, ready to run.

    Attributes:
        name: of the step, and of what it makes.
        arguments: of the verb; a `StepReference`, at any depth, for what another step makes.
        output: name of the file or folder that it makes.
    """

    name: str
    verb: str
    arguments: Mapping[str, Any]
    output: str

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of the steps whose results it takes."""
        return tuple(dict.fromkeys(each.step for each in references(self.arguments)))


@dataclass(frozen=True)
class Study:
    """A study in one size.

    Attributes:
        stands_in: what stands in for reality; empty where nothing does.
        steps: in an order in which they can run.
    """

    name: str
    title: str
    stands_in: str
    size: str
    steps: tuple[StudyStep, ...] = field(default=())


def read_study(
    given: str | Path, verbs: Verbs, size: str = DEFAULT_SIZE, inputs: Mapping[str, str | Path] | None = None
) -> Study:
    """Read a study.

    Args:
        given: a file, or the name of a study that comes with simjudge.
        inputs: files and folders by the names that the study has for them.
    """
    path = find_file(given, STUDY)
    document = read_document(path, StudyFields, "study")
    fields = document.content
    _check_sizes(document)
    if size not in fields.sizes:
        raise UsageError(f"--size {size}: study {path.stem} has none{nearest_name(size, fields.sizes)}")
    if not fields.steps:
        raise document.error(("steps",), "a step is needed")
    entries = {name: _entry(document, name, verbs, fields.sizes[size]) for name in fields.steps}
    names = StudyNames(entries, fields.sizes[size], _input_paths(document, inputs or {}), path.parent)
    steps = [step for name in entries for step in _steps(document, names, name, verbs)]
    _check_outputs(document, steps)
    try:
        order = sort_steps({step.name: step.needs for step in steps})
    except SimjudgeError as error:
        raise document.error(("steps",), str(error)) from None
    by_name = {step.name: step for step in steps}
    return Study(path.stem, fields.title, fields.stands_in, size, tuple(by_name[name] for name in order))


def _check_sizes(document: Document[StudyFields]) -> None:
    """Refuse sizes with different names."""
    sizes = document.content.sizes
    every = {name for values in sizes.values() for name in values}
    for size, values in sizes.items():
        if missing := sorted(every - values.keys()):
            raise document.error(("sizes", size), f"{list_some(missing)}: other sizes have it, this one has not")


def _input_paths(document: Document[StudyFields], given: Mapping[str, str | Path]) -> dict[str, Path]:
    """The inputs that a person named."""
    known = document.content.inputs
    for name, path in given.items():
        if name not in known:
            raise UsageError(f"--input {name}: study {document.path.stem} has none{nearest_name(name, known)}")
        if not Path(path).exists():
            raise UsageError(f"--input {name}={path}: no such file or folder")
    for name, what in known.items():
        if name not in given:
            raise UsageError(f"study {document.path.stem} needs --input {name}=PATH: {what}")
    return {name: Path(path).resolve() for name, path in given.items()}


def _entry(document: Document[StudyFields], name: str, verbs: Verbs, sized: Values) -> MatrixEntry:
    """The verb, the arguments and the matrix of an entry of `steps`."""
    where, content = ("steps", name), dict(document.content.steps[name])
    matrix = content.pop(MATRIX, None)
    if len(content) == 1 and (verb := next(iter(content))) not in verbs:
        raise document.error(where, f"there is no verb {verb}{nearest_name(verb, verbs)}")
    if len(content) != 1:
        raise document.error(where, f"one verb with its arguments is needed: {', '.join(verbs)}")
    verb, arguments = next(iter(content.items()))
    if not isinstance(arguments, dict):
        raise document.error((*where, verb), "arguments by name are needed")
    try:
        return MatrixEntry(name, verb, arguments, expand_matrix(name, matrix, sized))
    except SimjudgeError as error:
        raise document.error((*where, MATRIX), str(error)) from None


def _steps(document: Document[StudyFields], names: StudyNames, name: str, verbs: Verbs) -> Iterator[StudyStep]:
    """The steps that an entry stands for."""
    entry = names.entries[name]
    verb, where = verbs[entry.verb], ("steps", name, entry.verb)
    for combination in entry.combinations:
        arguments: dict[str, Any] = {}
        for key, value in entry.arguments.items():
            if key not in verb.arguments:
                raise document.error((*where, key), f"no such argument{nearest_name(key, verb.arguments)}")
            try:
                found = read_value(value, names, combination)
            except SimjudgeError as error:
                raise document.error((*where, key), str(error)) from None
            if found != "":  # empty text is "not given", as everywhere
                arguments[key] = found
        if missing := verb.missing(arguments):
            raise document.error(where, f"needs {', '.join(missing)}")
        try:
            output = verb.choose_output(combination.step, arguments)
        except SimjudgeError as error:
            raise document.error(where, str(error)) from None
        if not _NAME.fullmatch(combination.step) or combination.step in RESERVED:
            message = f"{combination.step}: no name for a step; letters, digits, _ - . are needed, not {RESERVED[0]}"
            raise document.error(("steps", name), message)
        yield StudyStep(combination.step, entry.verb, arguments, output)


def _check_outputs(document: Document[StudyFields], steps: list[StudyStep]) -> None:
    """Refuse steps that would write over each other; some disks know no upper case."""
    names: dict[str, str] = {}
    for step in steps:
        for made in {step.name.casefold(), step.output.casefold()}:
            if made in names:
                message = f"{names[made]} and {step.name} would both make {step.output}; rename one"
                raise document.error(("steps", step.name), message)
            names[made] = step.name


def sort_steps(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """Put steps behind those that they need; steps that do not need each other keep their order."""
    sorter = TopologicalSorter(needs)
    try:
        sorter.prepare()
    except CycleError as error:
        circle = list(reversed(error.args[1]))
        raise SimjudgeError(f"steps need each other in a circle: {' needs '.join(circle)}") from None
    places = {name: place for place, name in enumerate(needs)}
    order: list[str] = []
    ready = list(sorter.get_ready())
    while ready:
        ready.sort(key=places.__getitem__)
        order.append(ready.pop(0))
        sorter.done(order[-1])
        ready.extend(sorter.get_ready())
    return order


def steps_behind(name: str, needs: Mapping[str, Sequence[str]]) -> list[str]:
    """The steps that need a step, directly or through others.

    Args:
        needs: by step, the steps that it needs; in an order in which they can run.
    """
    behind = {name}
    for step, needed in needs.items():
        if behind.intersection(needed):
            behind.add(step)
    return [step for step in needs if step in behind and step != name]
