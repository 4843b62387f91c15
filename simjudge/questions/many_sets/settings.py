"""The settings of a comparison of many sets (see `simjudge.core.settings`)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from simjudge.core.settings import ReadSettings
from simjudge.detectors.detector_settings import RenameSettings
from simjudge.judging.compare_settings import (
    CertaintySettings,
    ClassSettings,
    CompareSettings,
    ContextSettings,
    SemanticSettings,
    UnitSettings,
)


@dataclass(frozen=True, kw_only=True)
class ManySetsSettings(
    ReadSettings, RenameSettings, ClassSettings, ContextSettings, SemanticSettings, CertaintySettings, UnitSettings
):
    """The settings of all comparisons of many sets: who sees them, and which are pairs, is said set by set."""

    def __post_init__(self) -> None:
        """Check the values, one by one and together."""
        super().__post_init__()
        _ = self.comparison

    @cached_property
    def comparison(self) -> CompareSettings:
        """How two of the sets are compared."""
        return self.as_settings(CompareSettings)
