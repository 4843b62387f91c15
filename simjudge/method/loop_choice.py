"""Which form of the method's loops runs: compiled ones, or NumPy ones that need no half minute of compiling first."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

FEW_CONTEXTS = 2000
"""Contexts of both sets up to which NumPy answers sooner than the compiler is done."""


class _LoopForm:
    """What this process does now."""

    numpy = False


def use_numpy_loops(wanted: bool) -> None:  # noqa: FBT001 - the one thing that it is told
    """Let NumPy do the loops from now on, or no longer. Both forms may take each other's trees: the numbers agree."""
    _LoopForm.numpy = wanted


def has_numpy_form(compiled: Callable[..., Any]) -> Callable[..., Any]:
    """Give a compiled loop its form in NumPy: the function of the same name in `simjudge.method.numpy_loops`."""

    @wraps(compiled)
    def run(*arguments: Any) -> Any:
        if not _LoopForm.numpy:
            return compiled(*arguments)
        return getattr(import_module("simjudge.method.numpy_loops"), compiled.__name__.strip("_"))(*arguments)

    return run
