"""The settings of a comparison of many sets (see `simjudge.core.settings`)."""

from __future__ import annotations

from dataclasses import dataclass

from simjudge.core.settings import ReadSettings
from simjudge.detectors.detector_settings import RenameSettings
from simjudge.judging.compare_settings import (
    AsksComparisons,
    CertaintySettings,
    ClassSettings,
    ContextSettings,
    SemanticSettings,
    UnitSettings,
)


@dataclass(frozen=True, kw_only=True)
class ManySetsSettings(
    ReadSettings,
    RenameSettings,
    ClassSettings,
    ContextSettings,
    SemanticSettings,
    CertaintySettings,
    UnitSettings,
    AsksComparisons,
):
    """The settings of all comparisons of many sets: who sees them, and which are pairs, is said set by set."""
