"""Trials written as they end, one JSON line each: whatever ends the writer, no row that it took is lost.

A row is on the disk before `add` returns. A last line that was cut off by a dying machine is cut away when the table is
opened again.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simjudge.core.errors import SimjudgeError
from simjudge.core.files import plain_os_errors
from simjudge.questions.policies.tables import ALIASES, read_policy_table
from simjudge.questions.policies.trial_stream import StreamedTrial
from simjudge.questions.policies.trials import REAL, SIM

OUTCOMES = ("outcome", "success", "progress", "succeeded", "is_success")
"""What an outcome is called, the likeliest first."""
_TRUE, _FALSE = {"true", "yes", "success", "succeeded"}, {"false", "no", "failure", "failed"}


def trial_of_values(values: Mapping[str, Any], side: str) -> StreamedTrial:
    """A trial from names and values, as a message has them.

    Args:
        values: policy, task, and outcome, success or progress; unit, pair and side where there are any.
        side: where the values do not say it: "real" or "sim".
    """
    plain = {name.strip().lower(): value for name, value in values.items()}

    def find(role: str) -> str:
        return next((str(plain[name]).strip() for name in ALIASES[role] if name in plain), "")

    policy, task = find("policy"), find("task")
    for role, text in (("policy", policy), ("task", task)):
        if not text:
            raise SimjudgeError(f"no {role} among {', '.join(plain) or 'no values'}")
    name = next((each for each in OUTCOMES if each in plain), "")
    if not name:
        raise SimjudgeError(f"no outcome among {', '.join(plain)}; one of {', '.join(OUTCOMES)} is needed")
    said = (find("side") or side).lower()
    if said not in (REAL, SIM):
        raise SimjudgeError(f"side {said!r}: {REAL} or {SIM} is needed")
    return StreamedTrial(policy, task, said == REAL, _outcome(plain[name], name), find("unit"), find("pair"))


def _outcome(value: Any, name: str) -> float:
    text = str(value).strip().lower()
    if text in _TRUE | _FALSE:
        return float(text in _TRUE)
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number <= 1:
        raise SimjudgeError(f"{name} {str(value)!r}: true, false, or a number from 0 to 1 is needed")
    return number


class TrialTable:
    """A table of trials (JSON lines) that is written row by row; what `watch-policies` and `compare-policies` read.

    Args:
        path: the table, .jsonl; one that is there is gone on with.
    """

    def __init__(self, path: str | Path) -> None:
        """Open the table."""
        self.path = Path(path)
        if self.path.suffix not in {".jsonl", ".ndjson"}:
            raise SimjudgeError(f"{path}: a name that ends in .jsonl is needed")
        self.held: list[StreamedTrial] = []
        with plain_os_errors(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.path.is_file():
                self._take_up()
            self._file = self.path.open("a", encoding="utf-8")

    def _take_up(self) -> None:
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if whole != content:
            with self.path.open("r+b") as file:
                file.truncate(len(whole))
        for number, line in enumerate(whole.decode("utf-8", "replace").splitlines(), 1):
            self.held.append(self._row(line, number))

    def _row(self, line: str, number: int) -> StreamedTrial:
        try:
            return trial_of_values(json.loads(line), "")
        except (ValueError, AttributeError, SimjudgeError) as error:
            raise SimjudgeError(f"{self.path}, line {number}: is not a trial ({error}); give another table") from error

    def add(self, trial: StreamedTrial) -> None:
        """Write a trial; it is on the disk when this returns."""
        row = {
            "policy": trial.policy,
            "task": trial.task,
            "side": REAL if trial.real else SIM,
            "outcome": trial.outcome,
            "unit": trial.unit,
            "pair": trial.pair,
        }
        with plain_os_errors(self.path):
            self._file.write(json.dumps(row) + "\n")
            self._file.flush()
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the table."""
        self._file.close()


def read_simulated(path: str | Path) -> list[StreamedTrial]:
    """The trials of a table of simulated ones."""
    trials = read_policy_table(path, SIM).trials
    return [
        StreamedTrial(
            trials.policies[int(trials.policy[row])],
            trials.tasks[int(trials.task[row])],
            real=False,
            outcome=float(trials.outcome[row]),
            pair="" if trials.pair[row] < 0 else trials.pair_names[int(trials.pair[row])],
        )
        for row in range(len(trials))
    ]
