"""The result folder of a comparison of tracks (docs/guides/tracks.md), and what it says in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from simjudge.core.arrays import FloatArray, ShortRepr, SummaryTable
from simjudge.core.errors import SimjudgeError
from simjudge.core.text import JsonMapping
from simjudge.method.verdicts import Reason, Verdict
from simjudge.questions.tracks.settings import CONTEXTS, METRICS, SCORES
from simjudge.results.context_table import read_columns, write_columns
from simjudge.results.metric_rows import (
    COLUMNS,
    MetricFields,
    MetricWords,
    number,
    table_row,
    verdict_words,
    worst_of_metrics,
)
from simjudge.results.result_fields import Count, OpenFields, Value, read_checked
from simjudge.results.saved_result import SAMPLES, TRACKS, atomic_result, write_json

REAL, SIM = 0, 1
"""Sides, as the table numbers them."""
SAMPLE_COLUMNS = ("side", "run", "slot", "track", *CONTEXTS, *METRICS)


class SequenceFields(OpenFields):
    """One sequence."""

    name: str
    truth: str
    tracks: str
    boxes: Count
    labelled_tracks: Count
    predicted_tracks: Count
    scores: dict[str, Value]


class SequenceSidesFields(OpenFields):
    """The sequences of each side."""

    real: list[SequenceFields]
    sim: list[SequenceFields]


class ScoreSidesFields(OpenFields):
    """Scores over all sequences of each side."""

    real: dict[str, Value]
    sim: dict[str, Value]


class TracksFile(OpenFields):
    """A tracks.json."""

    parameters: dict[str, object]
    inputs: SequenceSidesFields
    scores: ScoreSidesFields
    drawn: str
    metrics: list[MetricFields]
    notes: list[str]
    losses: list[str]


@dataclass(frozen=True, eq=False, repr=False)
class SavedTracks(ShortRepr):
    """One result folder of a comparison of tracks."""

    name: str
    folder: Path
    content: JsonMapping
    # the table of a result that was just computed, float64 by column; None: it is read from the folder
    fresh: Mapping[str, FloatArray] | None = None

    @classmethod
    def of_content(cls, name: str, content: Mapping[str, object], samples: Mapping[str, FloatArray]) -> SavedTracks:
        """A result that was just computed."""
        return cls(name, Path(), TracksFile.model_validate(content).model_dump(), samples)

    @property
    def metrics(self) -> Sequence[MetricFields]:
        """A row each metric."""
        return self.file.metrics

    @cached_property
    def file(self) -> TracksFile:
        """What tracks.json says; what it need not say has its default."""
        return TracksFile.model_validate(self.content)

    @cached_property
    def samples(self) -> Mapping[str, FloatArray]:
        """A row each labelled box: SAMPLE_COLUMNS, and of each metric "unit METRIC" and "w1 METRIC"."""
        if self.fresh is not None:
            return self.fresh
        more = (f"{word} {row.metric}" for word in ("unit", "w1") for row in self.metrics)
        return read_columns(self.folder / SAMPLES, (*SAMPLE_COLUMNS, *more), "run simjudge compare-tracks again")


def load_tracks(folder: Path) -> SavedTracks:
    """Read a result folder of a comparison of tracks."""
    if not (folder / TRACKS).is_file():
        raise SimjudgeError(f"{folder}: holds no {TRACKS}; run simjudge compare-tracks first")
    content = read_checked(folder / TRACKS, TracksFile, "result of simjudge compare-tracks")
    return SavedTracks(folder.resolve().name, folder, TracksFile.model_validate(content).model_dump())


def save_tracks(folder: Path, content: Mapping[str, object], samples: Mapping[str, FloatArray]) -> None:
    """Write a result folder; it appears whole or not at all."""
    with atomic_result(folder) as temporary:
        write_columns(temporary / SAMPLES, samples)
        write_json(temporary / TRACKS, dict(content))


WORDS = MetricWords(
    "sequences",
    "no simulated object is like a real one in size, crowd and motion; show like scenes.",
    {
        Reason.FEW_UNITS: "too few independent stretches of time on a side; give six or more sequences of each, or"
        " longer ones",
        Reason.LONE_UNITS: "most contexts were met in one block of time on a side; give more sequences",
        Reason.UNEVEN_UNITS: "a few blocks hold nearly all that was compared; give more sequences that are alike",
        Reason.FEW_DRAWS: "there were too few draws to tell anything; give more --draws",
    },
)


def headline(result: SavedTracks) -> str:
    """The verdict in a few words."""
    verdict = worst_of_metrics(result.metrics)
    if verdict == Verdict.PREDICTS:
        return "The tracker does in simulation as in reality"
    return verdict_words(verdict, 0.0).capitalize()


def lead(result: SavedTracks) -> str:
    """The scores and the overlap."""
    first, scores = result.metrics[0], result.file.scores
    said = "; ".join(f"{name} {number(scores.real[name])} real, {number(scores.sim[name])} simulated" for name in SHOWN)
    real, sim = (100 * (share or 0.0) for share in (first.overlap_a, first.overlap_b))
    return (
        f"{said}. {real:.0f} % of the real boxes have a simulated one that is alike, and {sim:.0f} % of the simulated"
        " ones a real one."
    )


SHOWN = ("HOTA", "MOTA", "IDF1")
SEQUENCE_COLUMNS = ("sequence", "boxes", "tracks", "predicted", *SCORES)


def sequence_row(row: SequenceFields) -> list[str]:
    """The cells of a sequence, by SEQUENCE_COLUMNS."""
    counts = [str(row.boxes), str(row.labelled_tracks), str(row.predicted_tracks)]
    return [row.name, *counts, *(number(row.scores[name]) for name in SCORES)]


def tracks_table(result: SavedTracks) -> SummaryTable:
    """The table that the command prints."""
    return SummaryTable(COLUMNS, [table_row(row) for row in result.metrics], text_columns=3)
