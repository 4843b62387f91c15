"""What filters of cameras and of readings have in common: names, parameters from a file, other people's modules.

Modules of other people's with filters, for cameras and for readings, beside simjudge's own.

A package names its module in the entry point group `simjudge.filters`. A module without a package is named by
`simjudge --plugin MODULE`; child processes (nodes, workers) find it in the environment variable SIMJUDGE_PLUGINS. All
of them are imported when a filter is asked for that nobody knows yet; importing registers what they decorate.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import typing
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Generic, TypeVar

from simjudge.core.errors import UsageError
from simjudge.core.text import near_name, nearest_name, one_line

GROUP = "simjudge.filters"
VARIABLE = "SIMJUDGE_PLUGINS"


def add_plugin(module: str) -> None:
    """Import a module, here and in child processes.

    Args:
        module: its name, as in an import statement; the working folder counts too.
    """
    known = _named_modules()
    if module not in known:
        os.environ[VARIABLE] = os.pathsep.join([*known, module])
    _load_named(module)


def load_plugins() -> None:
    """Import all modules that are named by the environment or by an entry point."""
    for module in _named_modules():
        _load_named(module)
    for entry in entry_points(group=GROUP):
        _load(entry.module)


def _named_modules() -> list[str]:
    return [module for module in os.environ.get(VARIABLE, "").split(os.pathsep) if module]


def _load_named(module: str) -> None:
    """Import a module that may lie where a person works, as `python -m` has it."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    _load(module)


def _load(module: str) -> None:
    try:
        importlib.import_module(module)
    except Exception as error:
        why = one_line(error) or type(error).__name__
        raise UsageError(f"plugin {one_line(module)}: cannot be imported ({why})") from error


AnyFilter = TypeVar("AnyFilter", bound=Callable[..., Any])
OneFilter = TypeVar("OneFilter", bound=Callable[..., Any])


class FilterRegistry(Generic[AnyFilter]):
    """Filters by name. A filter is a function of what it filters, its first parameter, and of keyword parameters.

    Attributes:
        functions: all filters that are loaded, by name.
    """

    def __init__(self, noun: str, supplied: frozenset[str]) -> None:
        """Begin without filters.

        Args:
            supplied: parameters that simjudge gives where a filter has them; a file cannot.
        """
        self.functions: dict[str, AnyFilter] = {}
        self._noun, self._supplied = noun, supplied

    def register(self, function: OneFilter) -> OneFilter:
        """Register a filter under its function's name; to be used as a decorator."""
        self.functions[function.__name__] = function  # type: ignore[assignment] # decorators keep the exact type
        return function

    def find(self, name: str) -> AnyFilter:
        """The filter of a name, from simjudge or from a plugin."""
        if name not in self.functions:
            load_plugins()
        if name not in self.functions:
            raise UsageError(f"no {self._noun} is called {one_line(name)!r}{nearest_name(name, self.functions)}")
        return self.functions[name]

    def parameters(self, name: str) -> dict[str, inspect.Parameter]:
        """The parameters of a filter that a file can give."""
        _, *others = inspect.signature(self.find(name)).parameters.items()
        return {key: parameter for key, parameter in others if key not in self._supplied}

    def supplied(self, name: str) -> frozenset[str]:
        """The parameters of a filter that simjudge gives."""
        return self._supplied & inspect.signature(self.find(name)).parameters.keys()

    def parameter_types(self, name: str) -> dict[str, str]:
        """The parameters of a filter that are numbers or texts, with the type's name in JSON schemas."""
        hints = typing.get_type_hints(self.find(name))
        found = {parameter: _schema_type(hints.get(parameter)) for parameter in self.parameters(name)}
        return {parameter: kind for parameter, kind in found.items() if kind}

    def tables(self) -> list[dict[str, Any]]:
        """JSON schemas of simjudge's own filters with their parameters: `name: {parameter: value, ...}`."""
        tables: list[dict[str, Any]] = []
        for name, function in sorted(self.functions.items()):
            if not function.__module__.startswith("simjudge."):
                continue
            properties = {parameter: {"type": kind} for parameter, kind in self.parameter_types(name).items()}
            needed = [key for key, parameter in self.parameters(name).items() if parameter.default is parameter.empty]
            table = {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}
            tables.append(
                {
                    "type": "object",
                    "properties": {name: table},
                    "required": [name],
                    "additionalProperties": False,
                    "description": str(inspect.getdoc(function)).splitlines()[0],
                }
            )
        return tables

    def check(self, name: str, given: Mapping[str, object]) -> None:
        """Check that a filter exists, has the parameters that are given, and is given those that it needs."""
        known = self.parameters(name)
        unknown = next((key for key in given if key not in known), None)
        if unknown is not None:
            has = near_name(unknown, known) or f"; it has {', '.join(known) or 'none'}"
            raise UsageError(f"filter {name}: no parameter {one_line(unknown)!r}{has}")
        for key, parameter in known.items():
            if parameter.default is parameter.empty and key not in given:
                raise UsageError(f"filter {name}: {key} is missing")


def _schema_type(hint: Any) -> str:
    parts = {hint, *typing.get_args(hint)}
    return "number" if parts & {int, float} else "string" if str in parts else ""
