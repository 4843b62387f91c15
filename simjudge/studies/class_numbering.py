"""Making the classes of two sets mean the same thing."""

from __future__ import annotations

from dataclasses import replace
from shlex import quote

import numpy as np

from simjudge.core.class_names import free_class_id, normalized_name
from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import AnyTable
from simjudge.core.text import one_line


def match_classes(a: FrameSet, b: FrameSet) -> FrameSet:
    """B with the class ids of A: matched by name where both sets name their classes, else by id.

    Raises:
        SimjudgeError: no class of B's objects is a class of A's objects.
    """
    matched = ClassNumbering(a.class_names).apply(b)
    in_a, in_b = set(a.objects.class_id.tolist()), set(matched.objects.class_id.tolist())
    if not in_a & in_b:
        remedy = ""
        if in_a and in_b:
            pair = f"{one_line(matched.class_name(min(in_b)))}={one_line(a.class_name(min(in_a)))}"
            remedy = f"say which are the same, as in --b-rename {quote(pair)}, or "
        raise SimjudgeError(
            f"{a.name} and {b.name} have no class in common: {_listed(a, in_a)} against {_listed(matched, in_b)}; "
            f"{remedy}give them the same names or ids"
        )
    return matched


def describe_numbers(a: FrameSet, b: FrameSet, option: str = "--{}-rename ") -> str:
    """Say what class numbers are taken to mean where only one of two sets names its classes.

    Args:
        option: how classes of a set are renamed, with {} for the set.

    Returns:
        A line that lists every class of the set without names; empty where both sets have names, or
        neither.
    """
    named, nameless, letter = (a, b, "b") if a.class_names else (b, a, "a")
    used = np.unique(nameless.objects.class_id).tolist()
    if not named.class_names or nameless.class_names or not used:
        return ""
    pairs = [f"{k} = {named.class_names.get(k, 'no class of it')}" for k in used]
    remedy = f"name its classes to be sure, or say which they are: {option.format(letter)}{used[0]}=NAME"
    return (
        f"warning: {nameless.name} has no class names: its numbers are taken for those of {named.name}"
        f" ({', '.join(pairs)}); {remedy}"
    )


class ClassNumbering:
    """One numbering of classes for sets that come one after the other: names that are new get free numbers.

    Names are equal whatever their case, and whether words are parted by spaces, hyphens or underscores. A set without
    names keeps its ids, and so does every set where the first one has no names.
    """

    def __init__(self, names: dict[int, str]) -> None:
        """Start with a first set.

        Args:
            names: its class names by id; empty where it has none.
        """
        self.names = dict(names)
        self._named = bool(names)
        self._by_name = {normalized_name(name): class_id for class_id, name in names.items()}

    def apply(self, frames: FrameSet) -> FrameSet:
        """The set under this numbering."""
        if not self._named or not frames.class_names:
            return frames
        number = {class_id: self._number(class_id, name) for class_id, name in frames.class_names.items()}
        if all(class_id == new for class_id, new in number.items()):
            return frames
        used = set(frames.objects.class_id.tolist())
        nameless = {k: self._number(k, f"class {k} of {frames.name}") for k in sorted(used - set(number))}
        number |= nameless
        return replace(
            frames,
            objects=_numbered(frames.objects, number),
            predictions=None if frames.predictions is None else _numbered(frames.predictions, number),
            class_names={number[class_id]: name for class_id, name in frames.class_names.items()},
        )

    def _number(self, class_id: int, name: str) -> int:
        key = normalized_name(name)
        if key not in self._by_name:
            new = class_id if class_id not in self.names else free_class_id(self.names)
            self._by_name[key], self.names[new] = new, name
        return self._by_name[key]


def _numbered(table: AnyTable, number: dict[int, int]) -> AnyTable:
    # A number that nothing names must not become a class that has one.
    ids = np.array([number.get(int(k), -1 - int(k)) for k in table.class_id], np.int64)
    return replace(table, class_id=ids)


def _listed(frames: FrameSet, ids: set[int]) -> str:
    return ", ".join(sorted(frames.class_name(k) for k in ids)) or "nothing labelled"
