"""The steps of a study: verbs with arguments, each of which makes one file or folder."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.progress import Log, ProgressBar

_GIVEN_BY_RUNNER = {"out", "log", "progress"}


@dataclass(frozen=True)
class Verb:
    """What a step can do.

    Attributes:
        function: of the library; takes `out`, `log` and `progress` beside a step's arguments.
        ending: of the name of what it makes; empty for a folder.
    """

    function: Callable[..., Any]
    ending: str

    @property
    def arguments(self) -> Collection[str]:
        """Names of the arguments that a step with this verb may have."""
        return set(inspect.signature(self.function).parameters) - _GIVEN_BY_RUNNER

    def missing(self, given: Collection[str]) -> list[str]:
        """Names of the arguments that a step must have and has not.

        Args:
            given: names of those that it has.
        """
        needed = [
            name for name, each in inspect.signature(self.function).parameters.items()
            if each.default is inspect.Parameter.empty and each.kind is not inspect.Parameter.VAR_KEYWORD
        ]  # fmt: skip
        return [name for name in needed if name not in {*given, *_GIVEN_BY_RUNNER}]


Verbs = Mapping[str, Verb]
"""By their names in a study's file."""


def do_step(verb: Verb, arguments: dict[str, Any], out: Path, log: Log, progress: ProgressBar) -> tuple[str, ...]:
    """Do what a step says.

    Args:
        verb: what it does.
        arguments: of the verb.
        out: what it makes.
        log: receives lines that a person should read.
        progress: opens a progress bar.

    Returns:
        What was left out, a line a kind.

    Raises:
        SimjudgeError: it cannot be done, or a drive did not come to the end that was asked for.
    """
    result = verb.function(out=out, log=log, progress=progress, **arguments)
    outcome = getattr(result, "outcome", None)
    if outcome is not None and not (outcome.finished or ("limit" in arguments and outcome.timed_out)):
        raise SimjudgeError(f"the drive did not finish: {outcome.reason} after {outcome.distance:.1f} m")
    losses = getattr(result, "losses", ())
    return tuple(losses.lines() if isinstance(losses, Losses) else losses)
