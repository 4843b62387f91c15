"""A matrix beside a verb: one step for each combination of values, as in the files of DVC and GitHub Actions.

train:
  matrix: {set: [real, sim], seed: [0, 1]}
  train: {images: {step: "${set}_images"}, seed: "${seed}"}

makes the steps train-real-0, train-real-1, train-sim-0 and train-sim-1. Where an axis maps names to tables, `${set}` is
the name and `${set.KEY}` a value of its table.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simjudge.core.errors import SimjudgeError
from simjudge.core.text import nearest_name, one_line

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
        name: of the entry.
        verb: its name.
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
        name: of the entry.
        matrix: values by axis: lists, or tables by name; `{size: NAME}` for those of the size; None for no matrix.
        sized: values of the size.

    Raises:
        SimjudgeError: it is something else, or names a value that the size has not.
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

    Args:
        text: any text of a step.
        values: by axis.

    Returns:
        The text; the value itself, also a number, where the text is nothing but one `${...}`.

    Raises:
        SimjudgeError: there is no such axis, or no matrix.
    """
    for name in _MARK.findall(text):
        if name not in values:
            known = nearest_name(name, values) if values else "; the step has no matrix"
            raise SimjudgeError(f"{one_line(text)}: the matrix has no {name}{known}")
    whole = _MARK.fullmatch(text)
    return values[whole[1]] if whole else _MARK.sub(lambda found: str(values[found[1]]), text)
