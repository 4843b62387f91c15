"""The settings of pictures' quality, each declared once (see `simjudge.core.settings`), and the models they name."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from simjudge.core.errors import UsageError
from simjudge.core.installed import FileKind, find_file
from simjudge.core.settings import Settings, setting
from simjudge.objects.image_quality.brisque import BrisqueModel, read_brisque_model
from simjudge.objects.image_quality.niqe import NiqeModel
from simjudge.objects.image_quality.niqe_model_file import read_niqe_model

NIQE_MODEL = FileKind("a NIQE model", ("models/niqe_*.json",))
OPEN_PHOTOGRAPHS = Path("niqe_open_photographs")
"""The model that comes with simjudge."""


@dataclass(frozen=True, kw_only=True)
class ImageQualitySettings(Settings):
    """What pictures are held to.

    Attributes:
        niqe_model: path or name.
        brisque_model, brisque_range: files of libsvm; None for no score of BRISQUE.
    """

    niqe_model: Path = setting(
        OPEN_PHOTOGRAPHS,
        "NIQE's model: a name that comes with simjudge, or a .json, .mat or .npz file of pristine parameters.",
    )
    brisque_model: Path | None = setting(None, "BRISQUE's model: a regression that libsvm's svm-train wrote.")
    brisque_range: Path | None = setting(None, "Ranges of BRISQUE's features: a file that libsvm's svm-scale -s wrote.")

    def __post_init__(self) -> None:
        """Check every value.

        Raises:
            UsageError: a value is wrong, or one of BRISQUE's two files is missing.
        """
        super().__post_init__()
        if (self.brisque_model is None) != (self.brisque_range is None):
            raise UsageError("BRISQUE's score needs both files: give --brisque-model and --brisque-range")


@dataclass(frozen=True)
class ModelRecord:
    """Which model scores are of. Scores of models with different digests are not comparable.

    Attributes:
        metric: "niqe" or "brisque".
        origin: what the model was fitted on or is called, a phrase for people.
        digest: SHA-256 of its numbers.
    """

    metric: str
    origin: str
    digest: str

    def as_dict(self) -> dict[str, str]:
        """The record for a saved result."""
        return asdict(self)


@dataclass(frozen=True)
class QualityModels:
    """The models that pictures are scored by.

    Attributes:
        niqe: always there.
        brisque: None where the user names none.
    """

    niqe: NiqeModel
    brisque: BrisqueModel | None

    def records(self) -> tuple[ModelRecord, ...]:
        """Which models these are."""
        models: list[tuple[str, NiqeModel | BrisqueModel]] = [("niqe", self.niqe)]
        if self.brisque is not None:
            models.append(("brisque", self.brisque))
        return tuple(ModelRecord(metric, model.origin, model.digest) for metric, model in models)


def read_quality_models(settings: ImageQualitySettings) -> QualityModels:
    """Read the models that settings name.

    Args:
        settings: the settings.

    Returns:
        The models.

    Raises:
        UsageError: there is no file or no model of that name.
        SimjudgeError: a file is no such model.
    """
    niqe = read_niqe_model(find_file(settings.niqe_model, NIQE_MODEL))
    if settings.brisque_model is None or settings.brisque_range is None:
        return QualityModels(niqe, None)
    return QualityModels(niqe, read_brisque_model(settings.brisque_model, settings.brisque_range))
