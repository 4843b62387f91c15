"""A command with two lists of arguments: REAL... -- SIM..."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

from simjudge.core.errors import UsageError

_BETWEEN = "--"
_KEPT = "\0--"
"""What stands for it while options are read: they may come after it too."""


class TwoSides(TyperCommand):
    """A command whose arguments are two lists with `--` between them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read options wherever they stand, and keep the place of `--`."""
        return list(super().parse_args(ctx, [_KEPT if word == _BETWEEN else word for word in args]))


def split_sides(arguments: list[str], command: str, what: str, example: str) -> tuple[list[str], list[str]]:
    """The two lists; `what`: the things in them, `example`: how the command is written, for the refusal."""
    if arguments.count(_KEPT) != 1:
        raise UsageError(
            f"{command}: write the real {what}, then --, then the simulated ones: simjudge {command} {example}"
        )
    middle = arguments.index(_KEPT)
    return arguments[:middle], arguments[middle + 1 :]
