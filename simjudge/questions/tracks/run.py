"""Does a multi-object tracker do in simulation as in reality? Algorithm 1 over labelled boxes, as a function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from simjudge.core.arrays import FloatArray, ShortRepr, SummaryTable
from simjudge.core.errors import Log, Losses, SimjudgeError, no_log
from simjudge.core.installed import version
from simjudge.core.settings import declared, takes_setting_keywords
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
from simjudge.judging.point_metrics import (
    MOST_SAMPLES,
    JudgedMetric,
    PointMetric,
    PointSide,
    joined_runs,
    judge_metrics,
    sample_table,
)
from simjudge.method.verdicts import FEWEST_UNITS
from simjudge.page.kept_result import ResultKind, TabledResult
from simjudge.questions.tracks.page import TRACKS_PAGE
from simjudge.questions.tracks.result import (
    SavedTracks,
    headline,
    load_tracks,
    save_tracks,
    tracks_table,
)
from simjudge.questions.tracks.settings import CROWD, METRICS, MOTION, SIZE, TrackSettings
from simjudge.results.saved_result import check_result_folder


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


@dataclass(frozen=True, eq=False, repr=False)
class TrackComparison(ShortRepr):
    """A tracker in simulated sequences compared with the same tracker in real ones."""

    sequences: tuple[Sequence[TrackedSequence], Sequence[TrackedSequence]]  # real, simulated
    results: Sequence[JudgedMetric]  # by METRICS
    settings: TrackSettings
    notes: Sequence[str] = ()
    losses: Losses = field(default_factory=Losses)

    @property
    def name(self) -> str:
        """Both sides, by their first sequences."""
        real, sim = (
            held[0].pair.name + (f" and {len(held) - 1} more" if len(held) > 1 else "") for held in self.sequences
        )
        return f"{real} against {sim}"

    def content(self) -> dict[str, object]:
        """The content of tracks.json (docs/guides/tracks.md)."""
        values = [(row, getattr(self.settings, row.name)) for row in declared(type(self.settings))]
        named = list(zip(("real", "sim"), self.sequences, strict=True))
        whole = self.results[0].units.lengths == (0, 0)
        return {
            "version": version(),
            "parameters": {row.name: row.text(value) for row, value in values if value is not None},
            "inputs": {name: [sequence.content() for sequence in held] for name, held in named},
            "scores": {
                name: TrackingCounts.total([sequence.scored.counts for sequence in held]).scores()
                for name, held in named
            },
            "drawn": "sequences" if whole else "blocks of frames",
            "metrics": [result.content() for result in self.results],
            "notes": list(self.notes),
            "losses": self.losses.lines(),
        }

    def samples(self) -> dict[str, FloatArray]:
        """The table of the result folder: labelled boxes with units and W1."""
        sides = [
            (joined_runs([s.samples() for s in side]), np.concatenate([s.values for s in side]))
            for side in self.sequences
        ]
        return sample_table(sides, self.results)

    def save(self, out: Path) -> None:
        """Write the result folder; it appears whole or not at all."""
        save_tracks(out, self.content(), self.samples())


def compare_sequences(
    real: Sequence[SequenceSource], sim: Sequence[SequenceSource], settings: TrackSettings
) -> TrackComparison:
    """Compare a tracker in simulated sequences with the same tracker in real ones."""
    if not real or not sim:
        raise SimjudgeError("tracks to compare: give at least one real sequence, then --, then a simulated one")
    losses, notes, sequences = Losses(), list[str](), []
    for side in (real, sim):
        pairs = [read_track_pair(source) for source in side]
        for pair in pairs:
            losses.extend(pair.losses)
        sequences.append([TrackedSequence(pair, score_tracks(pair.truth, pair.tracks, pair.name)) for pair in pairs])
    sides = [_side(held, settings) for held in sequences]
    metrics = [PointMetric(name, "", settings.margin, 1.0) for name in METRICS]
    results = judge_metrics((sides[0], sides[1]), metrics, settings.draws, settings.seed)
    for boxes, words in zip(sides, ("real", "simulated"), strict=True):
        if len(boxes) > MOST_SAMPLES:
            every = -(-len(boxes) // MOST_SAMPLES)
            notes.append(f"{words}: every {every}. of {len(boxes)} labelled boxes is compared; scores are those of all")
    if min(len(held) for held in sequences) < FEWEST_UNITS:
        notes.append(
            f"fewer than {FEWEST_UNITS} sequences on a side: blocks of frames are drawn instead; how sequences differ"
            " from each other is not in noise and interval"
        )
    return TrackComparison((sequences[0], sequences[1]), results, settings, notes, losses)


def _side(sequences: Sequence[TrackedSequence], settings: TrackSettings) -> PointSide:
    table = joined_runs([sequence.samples() for sequence in sequences])
    tolerance = {
        SIZE: settings.size_tolerance,
        CROWD: settings.crowd_tolerance,
        MOTION: settings.motion_tolerance,
    }
    return PointSide(
        table["run"].astype(np.int64),
        table["slot"].astype(np.int64),
        np.column_stack([table[name] / tolerance[name] for name in settings.contexts]),
        np.concatenate([sequence.values for sequence in sequences]),
    )


class TrackComparisonResult(TabledResult[SavedTracks]):
    """How a tracker differs between simulation and reality. Printing it gives the command's table.

    Attributes:
        saved: the result as figures and pages read it.
    """

    page = TRACKS_PAGE

    def __init__(self, saved: SavedTracks, folder: Path | None, comparison: TrackComparison | None = None) -> None:
        """Wrap a result; `compare_tracks` and `load_result` make one."""
        super().__init__(folder, None if comparison is None else comparison.save)
        self.saved = saved

    @property
    def metrics(self) -> Sequence[JsonMapping]:
        """The table as numbers: a row each metric."""
        return list(self.content["metrics"])

    @property
    def scores(self) -> JsonMapping:
        """HOTA, MOTA, IDF1 and their parts, of "real" and "sim"."""
        return dict(self.content["scores"])

    @property
    def table(self) -> SummaryTable:
        """The table that the command prints."""
        return tracks_table(self.saved)

    def __repr__(self) -> str:
        """What it is, in a line."""
        return f"TrackComparisonResult({self.name!r}, {headline(self.saved)})"


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
    if out is not None and check_result_folder(Path(out)):
        log(f"note: {out} holds an earlier result, which will be replaced")
    found = compare_sequences(real, sim, settings)
    for note in found.notes:
        log(f"note: {note}")
    if out is not None:
        found.save(Path(out))
        return TrackComparisonResult(load_tracks(Path(out)), Path(out), found)
    return TrackComparisonResult(SavedTracks.of_content(found.name, found.content(), found.samples()), None, found)


KIND = ResultKind(
    TRACKS_PAGE.noun, lambda folder: TrackComparisonResult(load_tracks(folder), folder), TRACKS_PAGE.report
)
