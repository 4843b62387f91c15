"""What the values of a study's arguments may be: texts, numbers, lists and tables, with references anywhere inside.

{step: NAME}        what a step makes
{step: NAME, file: PATH}  a file in the folder that a step makes
{steps: NAME}       what all steps of a matrix make, as tables by value: {a: {c: ..., d: ...}, b: {...}}
{size: NAME}        a value of the size that is run
{input: NAME}       a file or folder that a person named by --input
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simjudge.core.errors import SimjudgeError
from simjudge.core.files import is_file
from simjudge.core.text import nearest_name, one_line

STEP, STEPS, INPUT, FILE = "step", "steps", "input", "file"


@dataclass(frozen=True)
class StepReference:
    """What another step makes.

    Attributes:
        file: path of a file in the folder that it makes; empty for the whole of it.
    """

    step: str
    file: str = ""


@dataclass(frozen=True)
class StudyNames:
    """What the values of a study may name.

    Attributes:
        entries: of `steps`, by name.
        inputs: files and folders that a person named.
    """

    entries: Mapping[str, MatrixEntry]
    sized: Mapping[str, Any]
    inputs: Mapping[str, Path]
    folder: Path


def read_value(value: Any, names: StudyNames, combination: Combination) -> Any:
    """What a value in the file stands for."""
    if isinstance(value, str):
        filled = substitute(value, combination.values)
        return _text(filled, names.folder) if isinstance(filled, str) else read_value(filled, names, combination)
    if isinstance(value, list):
        return [read_value(each, names, combination) for each in value]
    if not isinstance(value, dict):
        return value
    if value.keys() in ({STEP}, {STEP, FILE}, {STEPS}, {SIZE}, {INPUT}):
        filled = {kind: substitute(str(name), combination.values) for kind, name in value.items()}
        return _referenced(filled, names, combination)
    return {
        str(substitute(str(key), combination.values)): read_value(each, names, combination)
        for key, each in value.items()
    }


def _referenced(given: dict[str, Any], names: StudyNames, combination: Combination) -> Any:
    """What a reference stands for."""
    kind, name = next((kind, str(each)) for kind, each in given.items() if kind != FILE)
    if kind == STEP:
        return StepReference(_step(name, names), str(given.get(FILE, "")))
    if kind == STEPS:
        return _steps(name, names)
    known: Mapping[str, Any] = names.sized if kind == SIZE else names.inputs
    if name not in known:
        raise SimjudgeError(f"{name}: the {'size has no such value' if kind == SIZE else 'study has no such input'}"
                            f"{nearest_name(name, known)}")  # fmt: skip
    return read_value(known[name], names, combination)


def _step(name: str, names: StudyNames) -> str:
    steps = [each.step for entry in names.entries.values() for each in entry.combinations]
    if name in steps:
        return name
    if name in names.entries:
        one = names.entries[name].combinations[0].step
        raise SimjudgeError(f"{name}: is a matrix; name one of its steps ({one}, ...), or all: {{{STEPS}: {name}}}")
    raise SimjudgeError(f"{name}: no step has that name{nearest_name(name, steps)}")


def _steps(name: str, names: StudyNames) -> dict[str, Any]:
    """References to all steps of a matrix, in tables by the values of its axes."""
    matrices = [each.name for each in names.entries.values() if each.is_matrix]
    if name not in matrices:
        known = f"; write {{{STEP}: {name}}}" if name in names.entries else nearest_name(name, matrices)
        raise SimjudgeError(f"{name}: no step with a matrix has that name{known}")
    tables: dict[str, Any] = {}
    for combination in names.entries[name].combinations:
        inner = tables
        for text in combination.path[:-1]:
            inner = inner.setdefault(text, {})
        inner[combination.path[-1]] = StepReference(combination.step)
    return tables


def _text(text: str, folder: Path) -> str | Path:
    """A file beside the study where there is one of that name, a folder where the text is a path; else the text."""
    if is_file(folder / text):
        return folder / text
    if "/" not in text or len(text.splitlines()) != 1:
        return text
    path = folder / Path(text).expanduser()
    if path.is_dir():
        return path
    if text.startswith(("./", "../", "~/")):
        raise SimjudgeError(f"{one_line(text)}: no such file or folder")
    return text


def references(value: Any) -> Iterator[StepReference]:
    """All references inside a value."""
    if isinstance(value, StepReference):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from references(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from references(each)


def put_paths(value: Any, outputs: Mapping[str, Path]) -> Any:
    """Put the paths of what steps have made in the place of the references to them."""
    if isinstance(value, StepReference):
        return outputs[value.step] / value.file if value.file else outputs[value.step]
    if isinstance(value, Mapping):
        return {key: put_paths(each, outputs) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [put_paths(each, outputs) for each in value]
    return value


MATRIX = "matrix"
SIZE = "size"
_MARK = re.compile(r"\$\{([^}]*)\}")
_MOST_STEPS = 10_000
"""Steps that one matrix may make."""


@dataclass(frozen=True)
class Combination:
    """One value of every axis.

    Attributes:
        step: name of the step that it makes.
        values: by axis, and by "axis.key" where the axis has tables.
        path: the values as texts, in the order of the axes.
    """

    step: str
    values: Mapping[str, Any]
    path: tuple[str, ...]


@dataclass(frozen=True)
class MatrixEntry:
    """An entry of a study's `steps`: one step, or as many as its matrix has combinations.

    Attributes:
        arguments: of the verb, as the file has them.
        combinations: one without values where there is no matrix.
    """

    name: str
    verb: str
    arguments: Mapping[str, Any]
    combinations: Sequence[Combination]

    @property
    def is_matrix(self) -> bool:
        """Whether it stands for several steps."""
        return bool(self.combinations[0].path)


def expand_matrix(name: str, matrix: Any, sized: Mapping[str, Any]) -> list[Combination]:
    """All combinations of a matrix.

    Args:
        matrix: values by axis: lists, or tables by name; `{size: NAME}` for those of the size; None for no matrix.
    """
    if matrix is None:
        return [Combination(name, {}, ())]
    if not isinstance(matrix, dict) or not matrix:
        raise SimjudgeError("lists of values by name are needed, as {set: [a, b], net: [c, d]}")
    axes = [_axis_values(axis, values, sized) for axis, values in matrix.items()]
    count = 1
    for axis in axes:
        count *= len(axis)
    if count > _MOST_STEPS:
        raise SimjudgeError(f"{count} steps; at most {_MOST_STEPS} are possible")
    return [
        Combination(
            "-".join((name, *(text for text, _ in chosen))),
            {key: value for _, values in chosen for key, value in values.items()},
            tuple(text for text, _ in chosen),
        )
        for chosen in itertools.product(*axes)
    ]


def _axis_values(axis: str, values: Any, sized: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The values of an axis: each as text, with what `${...}` stands for."""
    if isinstance(values, dict) and values.keys() == {SIZE}:
        if values[SIZE] not in sized:
            raise SimjudgeError(f"{values[SIZE]}: the size has no such value{nearest_name(values[SIZE], sized)}")
        values = sized[values[SIZE]]
    tables = values if isinstance(values, dict) else {}
    given = list(values) if isinstance(values, dict | list) else []
    plain = all(isinstance(each, str | int | float) and not isinstance(each, bool) for each in given)
    if not given or not plain or any(not isinstance(table, dict) for table in tables.values()):
        raise SimjudgeError(f"{axis}: a list of texts or numbers is needed, or a table of tables by name")
    texts = [str(each) for each in given]
    if twice := [text for text in texts if texts.count(text) > 1]:
        raise SimjudgeError(f"{axis}: {twice[0]} stands there twice")
    return [
        (text, {axis: value} | {f"{axis}.{key}": each for key, each in tables.get(value, {}).items()})
        for text, value in zip(texts, given, strict=True)
    ]


def substitute(text: str, values: Mapping[str, Any]) -> Any:
    """Put the values of a combination in the place of `${...}`.

    Returns:
        The text; the value itself, also a number, where the text is nothing but one `${...}`.
    """
    for name in _MARK.findall(text):
        if name not in values:
            known = nearest_name(name, values) if values else "; the step has no matrix"
            raise SimjudgeError(f"{one_line(text)}: the matrix has no {name}{known}")
    whole = _MARK.fullmatch(text)
    return values[whole[1]] if whole else _MARK.sub(lambda found: str(values[found[1]]), text)
