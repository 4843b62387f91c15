"""Numbers on the command line: finite, and of a size that a person may mean, whichever option they are for."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from simjudge.core.errors import UsageError
from simjudge.core.settings import LARGEST_NUMBER


def takes_finite_numbers(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command that refuses NaN, infinity and numbers of thirty digits, whichever option they are for."""

    @wraps(command)
    def with_numbers(**given: Any) -> Any:
        for name, value in given.items():
            if isinstance(value, int | float) and not abs(value) <= LARGEST_NUMBER:
                option = f"--{name.replace('_', '-')}"
                raise UsageError(f"{option} {value:g}: must be a finite number of at most {LARGEST_NUMBER:g} in size")
        return command(**given)

    return with_numbers
