"""Modules of other people's with filters, for cameras and for readings, beside simjudge's own.

A package names its module in the entry point group `simjudge.filters`. A module without a package is named by
`simjudge --plugin MODULE`; child processes (nodes, workers) find it in the environment variable SIMJUDGE_PLUGINS. All
of them are imported when a filter is asked for that nobody knows yet; importing registers what they decorate.
"""

from __future__ import annotations

import importlib
import os
import sys
from importlib.metadata import entry_points
from pathlib import Path

from simjudge.core.errors import UsageError
from simjudge.core.text import one_line

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
    return [each for each in os.environ.get(VARIABLE, "").split(os.pathsep) if each]


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
