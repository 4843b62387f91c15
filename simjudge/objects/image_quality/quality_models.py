"""The models that pictures' quality is scored by."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from simjudge.core.installed import FileKind, find_file
from simjudge.objects.image_quality.brisque import BrisqueModel, read_brisque_model
from simjudge.objects.image_quality.niqe import NiqeModel
from simjudge.objects.image_quality.niqe_model_file import read_niqe_model
from simjudge.objects.image_quality.quality_settings import ImageQualitySettings

NIQE_MODEL = FileKind("a NIQE model", ("models/niqe_*.json",))


@dataclass(frozen=True)
class ModelRecord:
    """Which model scores are of. Scores of models with different digests are not comparable.

    Attributes:
        origin: what the model was fitted on or is called, a phrase for people.
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
    """Read the models that settings name."""
    niqe = read_niqe_model(find_file(settings.niqe_model, NIQE_MODEL))
    if settings.brisque_model is None or settings.brisque_range is None:
        return QualityModels(niqe, None)
    return QualityModels(niqe, read_brisque_model(settings.brisque_model, settings.brisque_range))
