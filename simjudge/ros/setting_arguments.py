"""Arguments of launch files made from declared settings (`simjudge.core.settings`), and read back to values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from simjudge.core.settings import Setting
from simjudge.ros.description import YES_NO, Argument, Value, Values


def argument(row: Setting) -> Argument:
    """The launch argument of a setting.

    Args:
        row: the setting. "Not given" is an empty text.
    """
    choices = YES_NO if row.kind is bool else row.allowed
    if choices and row.optional:
        choices = ("", *choices)
    return Argument(row.name, None if row.required else row.text(row.default), row.description, choices)


def arguments_of(rows: Iterable[Setting], **defaults: str) -> tuple[Argument, ...]:
    """The launch arguments of settings, some with a default of the graph's own.

    Args:
        **defaults: the texts that stand for "not given", by name, where they are not those of the settings.
    """
    made = (argument(row) for row in rows)
    return tuple(replace(each, default=defaults.get(each.name, each.default)) for each in made)


def given_parameters(rows: Iterable[Setting], values: Values) -> dict[str, Value]:
    """ROS parameters from launch arguments; what is not given is left out."""
    # An empty text is no list of one empty text.
    said = [row for row in rows if values[row.name] or not row.many]
    parsed = [(row, row.parse(values[row.name], f"{row.name}:={values[row.name]}")) for row in said]
    return {row.name: _parameter(row, value) for row, value in parsed if value is not None}


def _parameter(row: Setting, value: Any) -> Value:
    if row.form or isinstance(value, Path):
        return row.text(value)
    return list(value) if row.many else value
