"""The settings of an explanation (see `simjudge.core.settings`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from simjudge.core.errors import UsageError
from simjudge.core.settings import ReadSettings, TextForm, setting
from simjudge.detectors.detector_settings import ModelSettings, RenameSettings
from simjudge.judging.compare_settings import (
    AsksComparisons,
    CertaintySettings,
    ClassSettings,
    ContextSettings,
    ImageTopicSettings,
    PairSettings,
    SetRenameSettings,
    UnitSettings,
    object_metric,
    some_draws,
)
from simjudge.sim.sensors.camera_matching.cause_names import CAMERA_CAUSES, LABEL_MARGINS, RENDERED_CAUSES, SCENE_CAUSES

CAUSE_NAMES = (*RENDERED_CAUSES, *CAMERA_CAUSES, LABEL_MARGINS, *SCENE_CAUSES)
"""All causes that can be tried."""


def cause_list(given: str | Iterable[str]) -> tuple[str, ...] | None:
    """Names of causes, each once."""
    parts = [given] if isinstance(given, str) else list(given)
    names = [name.strip().replace("-", "_") for part in parts for name in part.split(",") if name.strip()]
    for name in names:
        if name not in CAUSE_NAMES:
            raise UsageError(f"--causes {name}: is no cause; there are {', '.join(CAUSE_NAMES)}")
    return tuple(dict.fromkeys(names)) or None


_CAUSES = TextForm(cause_list, ",".join, "LIST")


@dataclass(frozen=True, kw_only=True)
class ExplainSettings(
    ModelSettings,
    ReadSettings,
    ImageTopicSettings,
    RenameSettings,
    ClassSettings,
    SetRenameSettings,
    ContextSettings,
    CertaintySettings,
    UnitSettings,
    PairSettings,
    AsksComparisons,
    panel="Causes",
):
    """The settings of an explanation."""

    causes: tuple[str, ...] | None = setting(
        None, "Causes to try, separated by commas. Default: all.", form=_CAUSES, common=True
    )
    sample: int = setting(16, "Images of each set from which the cameras' difference is estimated.", low=1, high=10_000)
    metric: str = object_metric()
    draws: int = some_draws()
