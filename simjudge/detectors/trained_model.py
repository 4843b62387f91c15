"""A model that was just trained: its file, its card, and how it shows itself."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from simjudge.core.display import Summary, SummaryRepr
from simjudge.core.errors import Losses
from simjudge.detectors.model_card import side_counts


@dataclass(frozen=True, repr=False)
class TrainedModel(SummaryRepr):
    """A model that was just trained.

    Attributes:
        path: the ONNX file; its card lies beside it as .json and .md.
        card: the content of the model card.
    """

    path: Path
    card: dict[str, Any]
    losses: Losses
    kind: ClassVar[str]
    """What was trained, in a few words."""

    @property
    @abstractmethod
    def scores(self) -> dict[str, float]:
        """What the exported weights reach on the validation side, by name."""

    @property
    def score(self) -> str:
        """What it reaches on the validation side, in one line."""
        scores = ", ".join(f"{name} {value:.3f}" for name, value in self.scores.items())
        return f"{scores} on valid (epoch {self.card['valid']['epoch']})"

    def summary(self) -> Summary:
        """What the model was made from and how well it does, for a person to read."""
        card = self.card
        return Summary(
            str(self.path),
            self.kind,
            [
                ("trained on", side_counts(card["data"], "train")),
                ("validated on", side_counts(card["data"], "valid")),
                ("classes", ", ".join(card["classes"])),
                ("epochs", f"{len(card['epochs'])}, best {card['valid']['epoch']}"),
                *((name, f"{value:.3f}") for name, value in self.scores.items()),
            ],
        )
