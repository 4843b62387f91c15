"""Command-line options made from declared settings (`simjudge.core.settings`)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from enum import Enum
from functools import wraps
from typing import Any, get_type_hints

import typer
from rich.markup import escape

from simjudge.core.settings import Setting, Settings, declared

_SETTINGS = "settings"
# Parameters of a command that a reader takes in at once; of more, the help shows the groups as panels.
_IN_ONE_PANEL = 12


def takes_settings(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command with one option a setting in place of its parameter `settings`."""
    hints = get_type_hints(command)
    kind = hints.pop(_SETTINGS)
    rows = declared(kind)
    signature = inspect.signature(command)
    parameters = [
        parameter.replace(annotation=hints[parameter.name])
        for parameter in signature.parameters.values()
        if parameter.name != _SETTINGS
    ]
    panels = len(rows) + len(parameters) > _IN_ONE_PANEL
    made = [
        inspect.Parameter(
            row.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=option(row, row.panel if panels else ""),
            annotation=option_type(row),
        )
        for row in rows
    ]
    by_keyword = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]

    @wraps(command)
    def with_options(**given: Any) -> Any:
        settings = settings_from_options(kind, {row.name: given.pop(row.name) for row in rows})
        return command(**given, settings=settings)

    del with_options.__wrapped__
    # Panels are shown in the order of their first options; the command's own one comes first.
    own = [parameter for parameter in by_keyword if _panel(parameter) is None]
    in_order = [*own, *sorted(made, key=_panel_order), *(parameter for parameter in by_keyword if _panel(parameter))]
    with_options.__signature__ = inspect.Signature(in_order)  # type: ignore[attr-defined]
    with_options.__annotations__ = {parameter.name: parameter.annotation for parameter in in_order}
    return with_options


def _panel(parameter: inspect.Parameter) -> str | None:
    return getattr(parameter.default, "rich_help_panel", None)


def _panel_order(parameter: inspect.Parameter) -> bool:
    return _panel(parameter) is not None


def settings_from_options(kind: type[Settings], given: dict[str, object]) -> Any:
    """The settings object that options mean."""
    texts = {row.name for row in declared(kind) if row.form or row.many}
    rows = {row.name: row for row in declared(kind)}
    return kind(
        **{
            name: rows[name].parse(value)
            if name in texts and isinstance(value, str)
            else None
            if value == [] and rows[name].optional  # an option that may be given several times, and is not
            else value
            for name, value in given.items()
        }
    )


def option(row: Setting, panel: str = "") -> Any:
    """The typer option of a setting, with default, help text and range, in a panel of the help."""
    switch = f"{row.flag}/--no-{row.flag[2:]}" if row.kind is bool and row.default else row.flag
    default = ... if row.required else row.text(row.default) if (row.form or row.many) and row.default else row.default
    number = row.kind in (int, float) and not (row.form or row.many)
    shown = row.default_text if row.by_preset else row.default is not None and row.kind is not bool
    return typer.Option(
        default,
        *([row.short] if row.short else []),
        switch,
        help=escape(row.help_text),  # a unit in brackets would be read as a style
        min=row.low if number else None,
        max=row.high if number else None,
        show_default=shown,
        metavar=row.form.metavar if row.form else None,
        rich_help_panel=panel or None,
    )


def option_type(row: Setting) -> Any:
    """The annotation by which typer reads a setting."""
    read_as: Any = str if row.form or row.many else row.kind
    if row.form and row.form.several:
        read_as = list[str]
    # Choices that a function returns may be slow to know; `Setting.check` refuses wrong ones.
    if row.choices and not callable(row.choices):
        read_as = _choice(row.name, row.choices)
    return read_as | None if row.optional else read_as


def _choice(name: str, choices: tuple[str, ...]) -> type[Enum]:
    return Enum(name, {choice: choice for choice in choices}, type=str)  # type: ignore[return-value]
