"""The settings of errors of depth, each declared once (see `simjudge.core.settings`)."""

from __future__ import annotations

from dataclasses import dataclass

from simjudge.core.settings import Settings, setting

FRAMES, OBJECTS = "frames", "objects"
REGIONS = (FRAMES, OBJECTS)


@dataclass(frozen=True, kw_only=True)
class DepthSettings(Settings, panel="Depth"):
    """Where depth images are, and over what errors are taken."""

    truth: str = setting(
        "depth", "Folder of true depth images in each set, or beside its file (SET.NAME); or /TOPIC.", common=True
    )
    predicted: str = setting("predicted_depth", "Folder or /TOPIC of predicted depth images.", common=True)
    truth_scale: float | None = setting(
        None, "Metres of a step of true depth. Default: 0.001 of 16-bit PNG, 1 of floats.", low=1e-9, high=1e6
    )
    predicted_scale: float | None = setting(None, "The same of predicted depth.", low=1e-9, high=1e6)
    regions: str = setting(
        FRAMES, "What has an error: frames, or objects (labelled ones).", choices=REGIONS, common=True
    )
