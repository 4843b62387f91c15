"""Names of classes: when two are equal, and what a file that lists them may say."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import count
from typing import Any

from simjudge.core.errors import SimjudgeError
from simjudge.core.text import one_line, parse_integer

LARGEST_CLASS_ID = 2**31 - 1
"""A class id beyond is a slip; messages hold no larger one."""


def normalized_name(name: str) -> str:
    """Reduce a class name to what is compared: neither case nor the character between words counts.

    Args:
        name: the name as a data set or a detector writes it.
    """
    return " ".join(re.split(r"[\s_-]+", name.strip().casefold()))


def is_class_id(number: int) -> bool:
    """Whether a number can be that of a class."""
    return 0 <= number <= LARGEST_CLASS_ID


def free_class_id(used: Iterable[int]) -> int:
    """Choose a class id that is not in use.

    Returns:
        The one after the largest in use; where that one is the last there is, the smallest that is free.
    """
    taken = {number for number in used if is_class_id(number)}
    following = max(taken, default=-1) + 1
    return following if is_class_id(following) else next(number for number in count() if number not in taken)


def class_names_from(pairs: Iterable[tuple[Any, Any]], where: str) -> dict[int, str]:
    """Make class names of what a file lists.

    Args:
        pairs: class id and name of each class, as the file has them.
        where: names the list to a person: the file, and the field.
    """
    names: dict[int, str] = {}
    for key, name in pairs:
        class_id = None if isinstance(key, bool) else parse_integer(key)
        if class_id is None or not 0 <= class_id <= LARGEST_CLASS_ID:
            said = f"is no whole number from 0 to {LARGEST_CLASS_ID}; correct it"
            raise SimjudgeError(f"{where}: class id {one_line(key)} {said}")
        if isinstance(name, bool) or not isinstance(name, str | int | float):
            remedy = "put it in quotes" if isinstance(name, bool) else "give the class a name"
            raise SimjudgeError(f"{where}: the name of class {class_id} is {one_line(name)}, no text; {remedy}")
        if class_id in names:
            raise SimjudgeError(
                f"{where}: class id {class_id} stands twice, as {one_line(names[class_id])} and as {one_line(name)}; "
                "give each class an id of its own"
            )
        names[class_id] = str(name)
    return names


def equal_names(names: dict[int, str]) -> list[list[int]]:
    """Find the classes whose names are equal."""
    ids: dict[str, list[int]] = {}
    for class_id, name in names.items():
        ids.setdefault(normalized_name(name), []).append(class_id)
    return [each for each in ids.values() if len(each) > 1]
