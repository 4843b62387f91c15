"""Functions that take declared settings as keywords."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, TypeVar, get_type_hints

from simjudge.core.settings import Setting, declared

Returned = TypeVar("Returned")

_SETTINGS = "settings"


def takes_setting_keywords(function: Callable[..., Returned]) -> Callable[..., Returned]:
    """A function that takes every declared setting as a keyword, beside its parameter `settings`.

    `help` and notebooks show the keywords with their defaults; the docstring gets a line for each.

    Args:
        function: has a parameter `settings`, annotated with a settings class. It is called with an object of that
            class: the given one, or a new one, with the given keywords.
    """
    kind = get_type_hints(function)[_SETTINGS]
    rows = {row.name: row for row in declared(kind)}
    own = list(inspect.signature(function).parameters.values())

    @wraps(function)
    def with_keywords(*arguments: Any, **keywords: Any) -> Returned:
        given = {name: keywords.pop(name) for name in list(keywords) if name in rows}
        for name in keywords:
            if all(name != each.name for each in own):
                raise TypeError(f"{function.__name__}() has no argument {name!r}{_hint(name, rows)}")
        start = keywords.pop(_SETTINGS, None)
        return function(*arguments, settings=kind(**given) if start is None else replace(start, **given), **keywords)

    added = [inspect.Parameter(row.name, inspect.Parameter.KEYWORD_ONLY, default=row.default) for row in rows.values()]
    shown = [each.replace(default=None) if each.name == _SETTINGS else each for each in own]
    with_keywords.__signature__ = inspect.Signature([*shown, *added])  # type: ignore[attr-defined]
    with_keywords.__doc__ = _with_lines(inspect.getdoc(function) or "", rows.values())
    return with_keywords


def _with_lines(doc: str, rows: Any) -> str:
    """A docstring with a line for each setting at the end of its section Args."""
    lines = "".join(f"    {row.name}: {_line(row)}\n" for row in rows)
    head, found, tail = doc.partition("\n\nReturns:")
    return f"{head}\n{lines.rstrip()}{found}{tail}"


def _line(row: Setting) -> str:
    values = f" ({row.range_text})" if row.range_text and not callable(row.choices) else ""
    return f"{row.description}{values}"


def _hint(name: str, rows: dict[str, Setting]) -> str:
    near = difflib.get_close_matches(name, rows, 1)
    return f" (did you mean {near[0]!r}?)" if near else ""
