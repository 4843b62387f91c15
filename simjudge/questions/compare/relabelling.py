"""Other names for the sets and the results of a page, as `simjudge report --label` gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from simjudge.core.errors import UsageError
from simjudge.results.saved_result import Result

SETS = ("a", "b")


def relabelled(results: Sequence[Result], labels: Mapping[str, str]) -> list[Result]:
    """Give sets and results the names that a person chose; the files keep theirs.

    Args:
        labels: new name by old name: "a" or "b" for these sets of every result, the name of a set, or of a result.

    Returns:
        The results with these names. A set's own name counts before its letter.

    Raises:
        UsageError: a label is for nothing that is there.
    """
    known = {r.name for r in results} | {r.set_name(which) for r in results for which in SETS}
    letters = {old.lower(): new for old, new in labels.items() if old.lower() in SETS}
    for old in labels:
        if old not in known and old.lower() not in SETS:
            raise UsageError(
                f"--label {old}=...: there is no such set or result; there are a, b, {', '.join(sorted(known))}"
            )
    return [_relabel(result, labels, letters) for result in results]


def _relabel(result: Result, labels: Mapping[str, str], letters: Mapping[str, str]) -> Result:
    names = {which: labels.get(result.set_name(which), letters.get(which)) for which in SETS}

    def header(old: Mapping[str, Any]) -> Mapping[str, Any]:
        inputs = dict(old.get("inputs") or {})
        for which, name in names.items():
            if name is not None:
                inputs[which] = {**(inputs.get(which) or {}), "name": name}
        return {**old, "inputs": inputs}

    own = labels.get(result.name, result.name)
    return replace(result, name=own, header=header(result.header), sweep_header=header(result.sweep_header))
