"""The settings of a comparison of drives as parameters of validation_node: `drive_` before their names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from simjudge.core.settings import chosen
from simjudge.questions.drives.settings import DriveComparisonSettings

_SHARED = ("draws", "seed")
"""Settings that the comparison of sets has too; the node has each once."""
_PREFIX = "drive_"
_OWN = chosen(DriveComparisonSettings, without=_SHARED)
DRIVE_ROWS = tuple(replace(row, name=_PREFIX + row.name) for row in _OWN)


def drive_settings(value: Callable[[str], Any]) -> DriveComparisonSettings:
    """The settings of a live comparison of drives."""
    own = {row.name: value(_PREFIX + row.name) for row in _OWN}
    return DriveComparisonSettings(**own, **{name: value(name) for name in _SHARED})
