"""The settings of a fit (see `simjudge.core.settings`)."""

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
    LidarSettings,
    PairSettings,
    SetRenameSettings,
    UnitSettings,
    object_metric,
    some_draws,
)

ALWAYS_FITTED = ("blur", "vignetting", "exposure", "white_balance", "contrast", "noise")
"""Parts of a camera that are fitted where none are named."""
FITTED = ("glare", "haze", "motion_blur", "chromatic_aberration", *ALWAYS_FITTED, "sharpening")
"""Parts of a camera whose parameters can be fitted; where none are named, those that the pictures show."""


def parameter_list(given: str | Iterable[str]) -> tuple[str, ...] | None:
    """Names of the parts to fit, each once, in the order of a camera."""
    parts = [given] if isinstance(given, str) else list(given)
    names = {name.strip().replace("-", "_") for part in parts for name in part.split(",") if name.strip()}
    for name in names:
        if name not in FITTED:
            raise UsageError(f"--parameters {name}: cannot be fitted; there are {', '.join(FITTED)}")
    return tuple(name for name in FITTED if name in names) or None


_PARAMETERS = TextForm(parameter_list, ",".join, "LIST")


@dataclass(frozen=True, kw_only=True)
class FitSettings(
    ModelSettings,
    ReadSettings,
    ImageTopicSettings,
    RenameSettings,
    ClassSettings,
    SetRenameSettings,
    ContextSettings,
    LidarSettings,
    CertaintySettings,
    UnitSettings,
    PairSettings,
    AsksComparisons,
    panel="Search",
):
    """The settings of a fit.

    Attributes:
        parameters: names of the parts to fit; None for `ALWAYS_FITTED` and what else the pictures show.
        held_out: share of the frames that the fit never sees.
    """

    parameters: tuple[str, ...] | None = setting(
        None,
        "Parts of the camera to fit, separated by commas. Default: the usual ones and those that the images show.",
        form=_PARAMETERS,
        common=True,
    )
    evaluations: int = setting(
        60, "Number of cameras to try; 0 keeps the starting values.", low=0, high=100_000, common=True
    )
    held_out: float = setting(0.5, "Share of frames held out from the fit.", low=0.1, high=0.9)
    sample: int = setting(16, "Images of each set from which the starting values are estimated.", low=2, high=10_000)
    metric: str = object_metric()
    draws: int = some_draws()
