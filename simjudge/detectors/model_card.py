"""A trained model and its card: what it was made from, how, and how well it does."""

from __future__ import annotations

import json
import platform
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, ClassVar, Protocol

from simjudge.core.display import Summary, SummaryRepr
from simjudge.core.errors import Losses
from simjudge.core.files import atomic_file, hash_files
from simjudge.core.installed import version
from simjudge.core.text import Json, JsonMapping
from simjudge.detectors.training_data import TrainingSplit


class TrainingRun(Protocol):
    """What the card of any model needs of its training.

    Attributes:
        epochs: dataclasses of all epochs that were finished.
        class_names: the model's classes, in its order.
        seconds: wall time of the training.
        stopped: whether a person stopped it (Ctrl-C).
        versions: of the libraries used.
    """

    @property
    def epochs(self) -> Sequence[Any]: ...  # noqa: D102 - see the class
    @property
    def class_names(self) -> list[str]: ...  # noqa: D102 - see the class
    @property
    def seconds(self) -> float: ...  # noqa: D102 - see the class
    @property
    def stopped(self) -> bool: ...  # noqa: D102 - see the class
    @property
    def versions(self) -> dict[str, str]: ...  # noqa: D102 - see the class


def common_facts(model: Path, data: Path, command: str, split: TrainingSplit, training: TrainingRun) -> Json:
    """What the cards of all models say first, ready for JSON."""
    return {
        "model": model.name,
        "sha256": hash_files(model),
        "bytes": model.stat().st_size,
        "simjudge": version(),
        "made": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "command": command,
        "data": {
            "name": data.resolve().name,
            "sha256": hash_files(data),
            "split": "the data's own" if split.own else "by source photograph, at random",
            **split.counts(),
        },
        "classes": training.class_names,
    }


def epoch_facts(training: TrainingRun) -> Json:
    """What the cards of all models say last, ready for JSON."""
    return {
        "stopped_early": training.stopped,
        "seconds": round(training.seconds, 1),
        "epochs": [asdict(epoch) for epoch in training.epochs],
        "versions": {"python": platform.python_version(), **training.versions},
        "machine": f"{platform.system()} {platform.machine()}",
    }


def card_paths(model: Path) -> tuple[Path, Path]:
    """The files of a model's card, JSON and Markdown: its name with other suffixes."""
    return model.with_suffix(".json"), model.with_suffix(".md")


def write_card(facts: Json, page: str, model: Path) -> tuple[Path, Path]:
    """Write a card beside its model, as JSON and as Markdown."""
    as_json, as_text = card_paths(model)
    with atomic_file(as_json) as temporary:
        temporary.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    with atomic_file(as_text) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return as_json, as_text


def side_counts(data: JsonMapping, side: str) -> str:
    """How many pictures, and objects where objects are learnt, one side of the split has."""
    pictures, objects = data[f"{side}_pictures"], data.get(f"{side}_objects")
    return f"{pictures} pictures" if objects is None else f"{pictures} pictures, {objects} objects"


def training_text(facts: JsonMapping, how: str) -> str:
    """How a model was trained, in one line."""
    options = facts["options"]
    return (
        f"{len(facts['epochs'])} of {options['epochs']} epochs, batch {options['batch']}, {how}, "
        f"{facts['seconds'] / 60:.0f} min on {facts['machine']}{' (stopped early)' if facts['stopped_early'] else ''}"
    )


def card_page(facts: JsonMapping, what: str, rows: Mapping[str, str], scores: Mapping[str, str]) -> str:
    """Format a card as a page."""
    data = facts["data"]
    table = {
        "command": f"`{facts['command']}`",
        "data": f"{data['name']}, SHA-256 `{data['sha256'][:16]}`",
        "split": f"{data['split']}; {data['moved_from_valid_to_train']} pictures moved from valid to train",
        "trained on": side_counts(data, "train"),
        "validated on": side_counts(data, "valid"),
        **rows,
        "versions": ", ".join(f"{name} {number}" for name, number in facts["versions"].items()),
        **scores,
    }
    size = f"{facts['bytes'] / 1e6:.1f} MB"
    lines = [
        f"# {facts['model']}",
        "",
        f"{what} trained by simjudge {facts['simjudge']} on {facts['made'][:10]}, {size}.",
        "",
        "| | |",
        "| --- | --- |",
        *(f"| {name} | {value} |" for name, value in table.items()),
        "",
    ]
    return "\n".join(lines)


@dataclass(frozen=True, repr=False)
class TrainedModel(SummaryRepr):
    """A model that was just trained."""

    path: Path  # the ONNX file; its card lies beside it as .json and .md
    card: Json  # the content of the model card
    losses: Losses
    kind: ClassVar[str]  # What was trained, in a few words

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
