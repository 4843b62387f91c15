"""Does a multi-object tracker do in simulation as in reality? Algorithm 1 over labelled boxes, as a function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from simjudge.core.arrays import FloatArray, ShortRepr
from simjudge.core.errors import Log, Losses, SimjudgeError, no_log
from simjudge.core.settings import takes_setting_keywords
from simjudge.core.text import JsonMapping
from simjudge.detectors.tracking_scores import (
    ScoredTracks,
    SequenceSource,
    TrackBoxes,
    TrackingCounts,
    TrackPair,
    read_track_pair,
    score_tracks,
)
from simjudge.judging.metric_comparison import MetricComparison, MetricComparisonResult, Tables, few_runs_note
from simjudge.judging.point_metrics import (
    JudgedMetric,
    PointMetric,
    PointSide,
    are_whole_runs,
    joined_runs,
    judge_metrics,
    point_side,
    sample_table,
    thinning_notes,
)
from simjudge.method.verdicts import FEWEST_UNITS
from simjudge.questions.tracks.page import TRACKS_PAGE
from simjudge.questions.tracks.result import QUESTION, TracksFile
from simjudge.questions.tracks.settings import CROWD, METRICS, MOTION, SIZE, TrackSettings
from simjudge.results.saved_result import SAMPLES, check_result_place


@dataclass(frozen=True, eq=False, repr=False)
class TrackedSequence(ShortRepr):
    """One sequence with its scores."""

    pair: TrackPair
    scored: ScoredTracks

    @property
    def values(self) -> FloatArray:
        """What the tracker did with each labelled box, by METRICS."""
        return np.column_stack([self.scored.association, self.scored.detection, self.scored.identity])

    def samples(self) -> dict[str, FloatArray]:
        """Frame, track, size, crowd and motion of each labelled box."""
        truth = self.pair.truth
        height = truth.box[:, 3] - truth.box[:, 1]
        return {
            "slot": truth.frame.astype(np.float64),
            "track": truth.track.astype(np.float64),
            SIZE: np.log2(np.maximum(height, 1e-6)),
            CROWD: self.scored.iou_with_others,
            MOTION: box_motion(truth),
        }

    def content(self) -> dict[str, object]:
        """The fields of tracks.json."""
        return {
            "name": self.pair.name,
            "truth": self.pair.names[0],
            "tracks": self.pair.names[1],
            "boxes": len(self.pair.truth),
            "labelled_tracks": len(np.unique(self.pair.truth.track)),
            "predicted_tracks": len(np.unique(self.pair.tracks.track)),
            "scores": self.scored.counts.scores(),
        }


def box_motion(boxes: TrackBoxes) -> FloatArray:
    """How far each box has gone by frame since its track was seen last, in its heights; of first boxes as the next."""
    out = np.zeros(len(boxes))
    centre, height = (boxes.box[:, :2] + boxes.box[:, 2:]) / 2, boxes.box[:, 3] - boxes.box[:, 1]
    order = np.lexsort((boxes.frame, boxes.track, boxes.class_id))
    same = (np.diff(boxes.track[order]) == 0) & (np.diff(boxes.class_id[order]) == 0)
    step = np.linalg.norm(np.diff(centre[order], axis=0), axis=1) / np.maximum(1, np.diff(boxes.frame[order]))
    later = order[1:][same]
    out[later] = step[same] / np.maximum(height[later], 1e-6)
    first = np.concatenate([[True], ~same]) if len(order) else np.empty(0, np.bool_)
    begins = np.flatnonzero(first[:-1] & ~first[1:])
    out[order[begins]] = out[order[begins + 1]]
    return out


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TrackComparison(MetricComparison):
    """A tracker in simulated sequences compared with the same tracker in real ones."""

    sequences: tuple[Sequence[TrackedSequence], Sequence[TrackedSequence]]  # real, simulated
    results: Sequence[JudgedMetric]  # by METRICS

    question = QUESTION

    @property
    def run_names(self) -> tuple[Sequence[str], Sequence[str]]:
        """Of the real sequences, and of the simulated ones."""
        real, sim = ([sequence.pair.name for sequence in side] for side in self.sequences)
        return real, sim

    def own_content(self) -> dict[str, object]:
        """Sequences, scores and metrics (docs/guides/trajectories.md)."""
        named = list(zip(("real", "sim"), self.sequences, strict=True))
        return {
            "inputs": {name: [sequence.content() for sequence in side] for name, side in named},
            "scores": {
                name: TrackingCounts.total([sequence.scored.counts for sequence in side]).scores()
                for name, side in named
            },
            "drawn": "sequences" if are_whole_runs(self.results) else "blocks of frames",
            "metrics": [result.content() for result in self.results],
        }

    def tables(self) -> Tables:
        """Labelled boxes with units and W1."""
        sides = [
            (joined_runs([s.samples() for s in side]), np.concatenate([s.values for s in side]))
            for side in self.sequences
        ]
        return {SAMPLES: sample_table(sides, self.results)}


def compare_sequences(
    real: Sequence[SequenceSource], sim: Sequence[SequenceSource], settings: TrackSettings
) -> TrackComparison:
    """Compare a tracker in simulated sequences with the same tracker in real ones."""
    if not real or not sim:
        raise SimjudgeError("tracks to compare: give at least one real sequence, then --, then a simulated one")
    losses, sequences = Losses(), []
    for side in (real, sim):
        pairs = _named_apart([read_track_pair(source) for source in side])
        for pair in pairs:
            losses.extend(pair.losses)
        sequences.append([TrackedSequence(pair, score_tracks(pair.truth, pair.tracks, pair.name)) for pair in pairs])
    sides = [_side(held, settings) for held in sequences]
    metrics = [PointMetric(name, "", settings.margin, 1.0) for name in METRICS]
    results = judge_metrics((sides[0], sides[1]), metrics, settings.draws, settings.seed)
    notes = thinning_notes(sides, "labelled boxes", "scores are those of all")
    without_class = sum(each.pair.without_class for side in sequences for each in side)
    if without_class:
        notes.append(f"{without_class:,} labelled boxes of MOT15 texts have no class: they are pedestrians")
    if min(len(held) for held in sequences) < FEWEST_UNITS:
        notes.append(few_runs_note("sequences", "blocks of frames"))
    return TrackComparison(
        sequences=(sequences[0], sequences[1]), results=results, settings=settings, notes=notes, losses=losses
    )


def _named_apart(pairs: Sequence[TrackPair]) -> list[TrackPair]:
    """Sequences of one name by their folders too."""
    count = Counter(pair.name for pair in pairs)
    return [
        replace(pair, name=str(Path(pair.names[0]).with_suffix(""))) if count[pair.name] > 1 else pair for pair in pairs
    ]


def _side(sequences: Sequence[TrackedSequence], settings: TrackSettings) -> PointSide:
    table = joined_runs([sequence.samples() for sequence in sequences])
    tolerance = {
        SIZE: settings.size_tolerance,
        CROWD: settings.crowd_tolerance,
        MOTION: settings.motion_tolerance,
    }
    values = np.concatenate([sequence.values for sequence in sequences])
    return point_side(table, np.column_stack([table[name] / tolerance[name] for name in settings.contexts]), values)


class TrackComparisonResult(MetricComparisonResult[TracksFile]):
    """How a tracker differs between simulation and reality. Printing it gives the command's table.

    Attributes:
        saved: the result as figures and pages read it.
    """

    page = TRACKS_PAGE

    @property
    def scores(self) -> JsonMapping:
        """HOTA, MOTA, IDF1 and their parts, of "real" and "sim"."""
        return dict(self.content["scores"])


@takes_setting_keywords
def compare_tracks(
    real: Sequence[SequenceSource],
    sim: Sequence[SequenceSource],
    out: str | Path | None = None,
    *,
    settings: TrackSettings,
    log: Log = no_log,
) -> TrackComparisonResult:
    """Compare a multi-object tracker in simulation with the same tracker in reality: HOTA, MOTA, IDF1, by contexts.

    Args:
        real, sim: sequences, each a pair (truth, tracks) of MOT Challenge texts or of sets whose objects have track
            numbers, or a folder with gt.txt and tracks.txt; at least one each, six or more for an answer that holds for
            further sequences.
        out: folder to save the result in; None saves nothing.
        settings: all settings at once; keywords change single ones.
        log: receives lines that a person should read; `print` does.

    Returns:
        The result. Printing it gives a table; it saves and reports itself.

    Raises:
        UsageError: a setting makes no sense.
        SimjudgeError: a file cannot be read, a track has two boxes in a frame, or `out` cannot be written.
    """
    check_result_place(out, log)
    return TrackComparisonResult.keep(compare_sequences(real, sim, settings), out, log)


KIND = TrackComparisonResult.kind()
