"""The settings of pictures' quality, each declared once (see `simjudge.core.settings`)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from simjudge.core.errors import UsageError
from simjudge.core.settings import Settings, setting

OPEN_PHOTOGRAPHS = Path("niqe_open_photographs")
"""The model that comes with simjudge."""


@dataclass(frozen=True, kw_only=True)
class ImageQualitySettings(Settings, panel="Quality of pictures"):
    """What pictures are held to."""

    niqe_model: Path = setting(
        OPEN_PHOTOGRAPHS,
        "NIQE's model: a name that comes with simjudge, or a .json, .mat or .npz file of pristine parameters.",
    )
    # brisque_model, brisque_range: files of libsvm; None for no score of BRISQUE
    brisque_model: Path | None = setting(None, "BRISQUE's model: a regression that libsvm's svm-train wrote.")
    brisque_range: Path | None = setting(None, "Ranges of BRISQUE's features: a file that libsvm's svm-scale -s wrote.")

    def __post_init__(self) -> None:
        """Check every value."""
        super().__post_init__()
        if (self.brisque_model is None) != (self.brisque_range is None):
            raise UsageError("BRISQUE's score needs both files: give --brisque-model and --brisque-range")
