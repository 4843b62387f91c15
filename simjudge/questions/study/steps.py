"""The steps of a study: verbs with arguments, each of which makes one file or folder."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.progress import Log, ProgressBar

FORMAT = "to"
"""The argument that says what kind of file a step makes."""
ANY_NAME, SAME_NAMES, NEVER = "any name", "same names", "never"
"""When another study may take what a step has made: whatever the steps are called; where this step and those that it
needs have the same names, because its files tell them; or never, because its files tell where it was made."""
_GIVEN_BY_RUNNER = {"out", "log", "progress"}
_NO_ARGUMENTS = {*_GIVEN_BY_RUNNER, "settings", "command", "overwrite"}


@dataclass(frozen=True)
class Verb:
    """What a step can do.

    Attributes:
        function: of the library; takes `out`, and `log` and `progress` where it can report, beside a step's arguments.
        ending: of the name of what it makes; empty for a folder.
        files: endings of files that it can make instead, as the argument `to` names them.
        folder_format: what it writes into a folder where `to` says nothing; empty where the function knows one kind.
        reuse: when another study may take what it makes: ANY_NAME, SAME_NAMES or NEVER.
    """

    function: Callable[..., Any]
    ending: str
    files: tuple[str, ...] = ()
    folder_format: str = ""
    reuse: str = NEVER

    @property
    def arguments(self) -> Collection[str]:
        """Names of the arguments that a step with this verb may have."""
        return {*inspect.signature(self.function).parameters, *([FORMAT] if self.files else [])} - _NO_ARGUMENTS

    def missing(self, given: Collection[str]) -> list[str]:
        """Names of the arguments that a step must have and has not."""
        open_ended = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
        needed = [
            name for name, each in inspect.signature(self.function).parameters.items()
            if each.default is inspect.Parameter.empty and each.kind not in open_ended
        ]  # fmt: skip
        return [name for name in needed if name not in {*given, *_GIVEN_BY_RUNNER}]

    def choose_output(self, name: str, arguments: dict[str, Any]) -> str:
        """The name of what a step makes.

        Args:
            arguments: of the step; `to` is taken out where it says the ending of a file, and filled in for a folder.
        """
        takes_format = FORMAT in inspect.signature(self.function).parameters
        if arguments.get(FORMAT) in self.files:
            return f"{name}.{arguments.pop(FORMAT)}"
        if FORMAT in arguments and not takes_format:
            raise SimjudgeError(f"{FORMAT}: {arguments[FORMAT]}: one of {', '.join(self.files)} is needed")
        if FORMAT in arguments:
            return name
        if self.folder_format and takes_format and not self.ending:
            arguments[FORMAT] = self.folder_format
        return f"{name}{self.ending}"


Verbs = Mapping[str, Verb]
"""By their names in a study's file."""


def do_step(verb: Verb, arguments: dict[str, Any], out: Path, log: Log, progress: ProgressBar) -> tuple[str, ...]:
    """Do what a step says."""
    known = inspect.signature(verb.function).parameters
    given = {"log": log, "progress": progress, "command": f"a study's step {out.stem}"}
    result = verb.function(out=out, **{name: each for name, each in given.items() if name in known}, **arguments)
    outcome = getattr(result, "outcome", None)
    if outcome is not None and not (outcome.finished or ("limit" in arguments and outcome.timed_out)):
        raise SimjudgeError(f"the drive did not finish: {outcome.reason} after {outcome.distance:.1f} m")
    losses = getattr(result, "losses", ())
    return tuple(losses.lines() if isinstance(losses, Losses) else losses)
