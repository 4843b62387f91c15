"""Which command the words of a call mean, modes and older names included."""

from __future__ import annotations

from types import SimpleNamespace

import typer

from simjudge.commands.app import app

_LENIENT = SimpleNamespace(token_normalize_func=None, resilient_parsing=True)


def called(words):
    """The command, or None, and the words behind its name; the name that is none stands first among them."""
    command, rest = typer.main.get_command(app), list(words)
    while hasattr(command, "commands") and rest and not rest[0].startswith("-"):
        name = rest[0]
        _, command, rest = command.resolve_command(_LENIENT, rest)
        if command is None:
            return None, [name, *rest]
    return command, rest
