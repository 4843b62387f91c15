"""Saved results of earlier versions, read as if this one had written them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simjudge.method.verdicts import Reason, Verdict

_VERDICTS = {
    "large gap": Verdict.LARGE_GAP,
    "small gap": Verdict.SMALL_GAP,
    "predicts within margin": Verdict.PREDICTS,
    "cannot tell": Verdict.CANNOT_TELL,
    "too few": Verdict.TOO_FEW,
    "no overlap": Verdict.NO_OVERLAP,
    "not tested": Verdict.NOT_TESTED,
}
_REASONS = {
    "few units": Reason.FEW_UNITS,
    "short recording": Reason.FEW_UNITS,
    "few relabellings": Reason.FEW_UNITS,
    "few permutations": Reason.FEW_DRAWS,
    "never predicted": Reason.NEVER_PREDICTED,
}
_CODES: Mapping[str, Mapping[str, str]] = {"verdict": _VERDICTS, "verdict_study": _VERDICTS, "verdict_reason": _REASONS}
"""Field to the words that stood in it, and the codes that stand there now."""


def current_content(content: Any) -> Any:
    """The content of a result file, with codes where an earlier version wrote words."""
    if isinstance(content, list):
        return [current_content(value) for value in content]
    if not isinstance(content, dict):
        return content
    return {name: _current_value(name, value) for name, value in content.items()}


def _current_value(name: str, value: Any) -> Any:
    if isinstance(value, str):
        return str(_CODES.get(name, {}).get(value, value))
    return current_content(value)
