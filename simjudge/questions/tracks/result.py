"""The result folder of a comparison of tracks (docs/guides/trajectories.md), and what it says in words."""

from __future__ import annotations

from typing import TypeAlias

from simjudge.judging.metric_comparison import BothSides, MetricQuestion, MetricsFile, SavedMetrics
from simjudge.method.verdicts import Reason
from simjudge.questions.tracks.settings import CONTEXTS, METRICS, SCORES
from simjudge.results.metric_rows import MetricWords, number
from simjudge.results.result_fields import Count, OpenFields, Value
from simjudge.results.saved_result import SAMPLES, TRACKS

SAMPLE_COLUMNS = ("side", "run", "slot", "track", *CONTEXTS, *METRICS)
"""A row each labelled box, and of each metric its sampling unit as "unit METRIC" and its W1 as "w1 METRIC"."""


class SequenceFields(OpenFields):
    """One sequence."""

    name: str
    truth: str
    tracks: str
    boxes: Count
    labelled_tracks: Count
    predicted_tracks: Count
    scores: dict[str, Value]


class TracksFile(MetricsFile):
    """A tracks.json."""

    inputs: BothSides[list[SequenceFields]]
    scores: BothSides[dict[str, Value]]


SavedTracks: TypeAlias = SavedMetrics[TracksFile]
QUESTION = MetricQuestion(
    "compare-tracks",
    TRACKS,
    TracksFile,
    lambda metrics: {SAMPLES: (*SAMPLE_COLUMNS, *(f"{word} {name}" for word in ("unit", "w1") for name in metrics))},
    "The tracker does in simulation as in reality",
    MetricWords(
        "sequences",
        "no simulated object is like a real one in size, crowd and motion; show like scenes.",
        {
            Reason.FEW_UNITS: "too few independent stretches of time on a side; give six or more sequences of each, or"
            " longer ones",
            Reason.LONE_UNITS: "most contexts were met in one block of time on a side; give more sequences",
            Reason.UNEVEN_UNITS: "a few blocks hold nearly all that was compared; give more sequences that are alike",
            Reason.FEW_DRAWS: "there were too few draws to tell anything; give more --draws",
        },
    ),
)
load_tracks = QUESTION.load


def lead(result: SavedTracks) -> str:
    """The scores and the overlap."""
    scores = result.file.scores
    said = "; ".join(f"{name} {number(scores.real[name])} real, {number(scores.sim[name])} simulated" for name in SHOWN)
    real, sim = result.overlaps
    return (
        f"{said}. {real} of the real boxes have a simulated one that is alike, and {sim} of the simulated ones a real"
        " one."
    )


SHOWN = ("HOTA", "MOTA", "IDF1")
SEQUENCE_COLUMNS = ("sequence", "boxes", "tracks", "predicted", *SCORES)


def sequence_row(row: SequenceFields) -> list[str]:
    """The cells of a sequence, by SEQUENCE_COLUMNS."""
    counts = [str(row.boxes), str(row.labelled_tracks), str(row.predicted_tracks)]
    return [row.name, *counts, *(number(row.scores[name]) for name in SCORES)]
