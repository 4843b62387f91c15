"""Making the classes of two sets mean the same thing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simjudge.errors import SimjudgeError
from simjudge.frames import AnyTable, FrameSet


def same_classes(a: FrameSet, b: FrameSet) -> FrameSet:
    """B with the class ids of A: matched by name where both sets name their classes, else by id.

    Raises:
        SimjudgeError: no class of B's objects is a class of A's objects.
    """
    matched = _renamed(b, a.class_names) if a.class_names and b.class_names else b
    in_a, in_b = set(a.objects.class_id.tolist()), set(matched.objects.class_id.tolist())
    if not in_a & in_b:
        raise SimjudgeError(
            f"{a.name} and {b.name} have no class in common: {_listed(a, in_a)} against {_listed(matched, in_b)}; "
            "give them the same names or ids"
        )
    return matched


def _renamed(b: FrameSet, names: dict[int, str]) -> FrameSet:
    by_name = {name: class_id for class_id, name in names.items()}
    if all(by_name.get(name, class_id) == class_id for class_id, name in b.class_names.items()) and all(
        names.get(class_id, name) == name for class_id, name in b.class_names.items()
    ):
        return b
    free = max([*names, *b.class_names]) + 1
    number: dict[int, int] = {}
    for class_id in sorted(set(b.class_names) | set(np.unique(b.objects.class_id).tolist())):
        name = b.class_names.get(class_id)
        if name in by_name:
            number[class_id] = by_name[name]
        else:
            number[class_id] = free
            free += 1
    return replace(
        b,
        objects=_numbered(b.objects, number),
        predictions=None if b.predictions is None else _numbered(b.predictions, number),
        class_names={number[class_id]: name for class_id, name in b.class_names.items()},
    )


def _numbered(table: AnyTable, number: dict[int, int]) -> AnyTable:
    ids = np.array([number.get(int(k), -1 - int(k)) for k in table.class_id], np.int64)
    return replace(table, class_id=ids)


def _listed(frames: FrameSet, ids: set[int]) -> str:
    return ", ".join(sorted(frames.class_name(k) for k in ids)) or "nothing labelled"
