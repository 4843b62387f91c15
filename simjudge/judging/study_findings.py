"""What a study has found, beside what its source found: a table that a page shows."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from simjudge.core.errors import SimjudgeError

FINDINGS = "findings.json"
"""The file in the folder of a step that finds something."""
YES, NO, UNDECIDED = "yes", "no", "not decided"
"""Whether what was found agrees with the source."""


@dataclass(frozen=True)
class StudyFinding:
    """What the source found, and what was found here."""

    name: str
    source: str
    here: str  # what was found here, with numbers
    agrees: str
    # behind `here`, by name; None where there is none
    numbers: Mapping[str, float | None] = field(default_factory=dict)


def write_findings(found: Sequence[StudyFinding], folder: Path) -> None:
    """Write findings into a folder."""
    rows = [
        asdict(replace(finding, numbers={name: _known(n) for name, n in finding.numbers.items()})) for finding in found
    ]
    (folder / FINDINGS).write_text(json.dumps({"findings": rows}, indent=2) + "\n", encoding="utf-8")


def _known(value: float | None) -> float | None:
    """None in place of NaN, which JSON has not."""
    return value if value is not None and math.isfinite(value) else None


def read_findings(folder: Path) -> list[StudyFinding]:
    """Read findings that were written."""
    path = folder / FINDINGS
    try:
        return [StudyFinding(**finding) for finding in json.loads(path.read_text(encoding="utf-8"))["findings"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SimjudgeError(f"{path}: no findings ({error}); remove the folder and run the study again") from error
