"""The settings of a fit (see `simjudge.core.settings`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from simjudge.core.errors import UsageError
from simjudge.core.settings import TextForm, setting
from simjudge.studies.compare_settings import CompareSettings

ALWAYS_FITTED = ("blur", "vignetting", "exposure", "white_balance", "contrast", "noise")
"""Parts of a camera that are fitted where none are named."""
FITTED = ("haze", "motion_blur", "chromatic_aberration", *ALWAYS_FITTED, "sharpening")
"""Parts of a camera whose parameters can be fitted; where none are named, those that the pictures show."""


def parameter_list(given: str | Iterable[str]) -> tuple[str, ...] | None:
    """Names of the parts to fit, each once, in the order of a camera.

    Returns:
        The names; None where there are none.
    """
    parts = [given] if isinstance(given, str) else list(given)
    names = {name.strip().replace("-", "_") for part in parts for name in part.split(",") if name.strip()}
    for name in names:
        if name not in FITTED:
            raise UsageError(f"--parameters {name}: cannot be fitted; there are {', '.join(FITTED)}")
    return tuple(name for name in FITTED if name in names) or None


_PARAMETERS = TextForm(parameter_list, ",".join, "LIST")


@dataclass(frozen=True, kw_only=True)
class FitSettings(CompareSettings):
    """The settings of a fit.

    Attributes:
        parameters: names of the parts to fit; None for `ALWAYS_FITTED` and what else the pictures show.
        evaluations: cameras that the judge tries.
        held_out: share of the frames that the fit never sees.
        sample: pictures of each set on which the starting values are estimated.
    """

    parameters: tuple[str, ...] | None = setting(
        None, "Parts of the camera to fit, with commas; not given: those that the pictures show, and the usual ones.",
        form=_PARAMETERS,
    )  # fmt: skip
    evaluations: int = setting(60, "Cameras that the judge tries; 0 keeps the starting values.", low=0, high=100_000)
    held_out: float = setting(0.5, "Share of the frames that the fit never sees.", low=0.1, high=0.9)
    sample: int = setting(16, "Pictures of each set on which the starting values are estimated.", low=2, high=10_000)
