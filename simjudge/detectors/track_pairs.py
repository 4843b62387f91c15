"""Labelled tracks beside predicted ones: text of the MOT Challenge, and data sets whose objects have track numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

from simjudge.core.arrays import IntArray
from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import NO_INSTANCE
from simjudge.core.text import parse_number, read_text
from simjudge.data.sets import read_set
from simjudge.detectors.tracking_scores import THRESHOLD, TrackBoxes, iou_matrix

TrackSource = str | Path | FrameSet
SequenceSource = str | Path | Sequence[TrackSource]
_TEXT = ".txt"
_BETWEEN = ","
_FORMS = "write TRUTH,TRACKS: two texts of the MOT Challenge (gt.txt and the tracker's), or two data sets whose objects"
_FORMS += " have track numbers; or a folder with gt/gt.txt or gt.txt and tracks.txt"
_PEDESTRIAN, _DISTRACTORS = 1, (2, 7, 8, 12)
"""Classes of the MOT Challenge: what is scored, and what a tracker may follow without gain or loss."""
_FEWEST, _WITH_CLASS = 6, 8
"""Columns of a row: frame, id, left, top, width, height; then confidence, class, visibility."""


@dataclass(frozen=True)
class TrackPair:
    """One sequence: labelled and predicted tracks, frames numbered alike."""

    name: str
    names: tuple[str, str]  # of the truth and of the tracks
    truth: TrackBoxes
    tracks: TrackBoxes
    losses: Losses = field(default_factory=Losses)  # rows and objects that were left out


def read_track_pair(source: SequenceSource) -> TrackPair:
    """Read the labelled and the predicted tracks of one sequence."""
    truth, tracks = _both(source)
    names = (_called(truth), _called(tracks))
    losses = Losses()
    if _is_text(truth) != _is_text(tracks):
        raise UsageError(f"{names[0]} and {names[1]}: a text and a data set number frames differently; {_FORMS}")
    if isinstance(truth, str | Path) and isinstance(tracks, str | Path) and _is_text(truth):
        labelled, found = _read_mot(Path(truth), Path(tracks), losses)
    else:
        labelled, found = _of_sets(_read_set(truth, losses), _read_set(tracks, losses), losses)
    if not len(labelled):
        raise SimjudgeError(f"{names[0]}: holds no labelled box with a track number{losses.reason}")
    return TrackPair(_name(source, truth), names, labelled, found, losses)


def _both(source: SequenceSource) -> tuple[TrackSource, TrackSource]:
    if not isinstance(source, str | Path):
        if isinstance(source, FrameSet) or len(source) != 2:
            raise UsageError("a sequence of tracks: a pair (truth, tracks) is needed")
        return source[0], source[1]
    path = Path(source)
    if path.exists():
        truth = next((path / name for name in ("gt.txt", "gt/gt.txt") if (path / name).is_file()), None)
        if truth is None or not (path / "tracks.txt").is_file():
            raise UsageError(f"{path}: is one thing where two are needed; {_FORMS}")
        return truth, path / "tracks.txt"
    first, comma, second = str(source).partition(_BETWEEN)
    if not comma:
        raise SimjudgeError(f"{path}: does not exist; {_FORMS}")
    return first, second


def _is_text(source: TrackSource) -> bool:
    return not isinstance(source, FrameSet) and Path(source).suffix.lower() == _TEXT


def _called(source: TrackSource) -> str:
    return source.name if isinstance(source, FrameSet) else str(source)


def _name(source: SequenceSource, truth: TrackSource) -> str:
    if isinstance(source, str | Path) and Path(source).exists():
        return Path(source).name
    if isinstance(truth, FrameSet):
        return truth.name
    path = Path(truth)
    return path.resolve().parent.parent.name if path.name == "gt.txt" else path.stem


def _read_set(source: TrackSource, losses: Losses) -> FrameSet:
    frames = source if isinstance(source, FrameSet) else read_set(source, allow_outside=True)
    losses.extend(frames.losses)
    return frames


def _of_sets(truth: FrameSet, tracks: FrameSet, losses: Losses) -> tuple[TrackBoxes, TrackBoxes]:
    """Boxes of frames that both sets have, by their names."""
    number = {name: place for place, name in enumerate(truth.frame_name)}
    place = np.array([number.get(name, -1) for name in tracks.frame_name], np.int64)
    if len(truth) and not (place >= 0).any():
        raise SimjudgeError(
            f"{truth.name} and {tracks.name}: no frame has the same name in both ({truth.frame_name[0]} and"
            f" {tracks.frame_name[0] if len(tracks) else 'none'} are the first)"
        )
    losses.add(f"frames of {tracks.name} that the truth lacks", tracks.name, int((place < 0).sum()))
    ours, theirs = (_numbered(frames, losses) for frames in (truth, tracks))
    by_name = {name: class_id for class_id, name in truth.class_names.items()}
    classes = {
        class_id: by_name.get(tracks.class_names.get(class_id, ""), class_id)
        for class_id in np.unique(theirs.class_id).tolist()
    }
    frame = place[theirs.frame]
    class_id = np.array([classes[one] for one in theirs.class_id.tolist()], np.int64)
    kept = np.flatnonzero(frame >= 0)
    moved = TrackBoxes(frame, theirs.track, theirs.box, class_id).take(kept)
    return ours, moved.take(np.argsort(moved.frame, kind="stable"))


def _numbered(frames: FrameSet, losses: Losses) -> TrackBoxes:
    objects = frames.objects
    known = objects.instance != NO_INSTANCE
    losses.add(f"objects of {frames.name} without a track number", frames.name, int((~known).sum()))
    return TrackBoxes(objects.frame, objects.instance, objects.box, objects.class_id).take(np.flatnonzero(known))


def _read_mot(truth: Path, tracks: Path, losses: Losses) -> tuple[TrackBoxes, TrackBoxes]:
    """Read two texts as the MOT Challenge scores them: pedestrians, without what follows distractors."""
    labelled, found = _rows(truth, losses), _rows(tracks, losses)
    marked = labelled[:, 6] != 0
    scored = marked & (labelled[:, 7] == _PEDESTRIAN)
    distractor = np.isin(labelled[:, 7], _DISTRACTORS)
    boxes, predicted = _boxes(labelled), _boxes(found)
    dropped = np.zeros(len(predicted), np.bool_)
    for frame in np.unique(boxes.frame[distractor]).tolist():
        rows = np.arange(*np.searchsorted(boxes.frame, [frame, frame + 1]))
        columns = np.arange(*np.searchsorted(predicted.frame, [frame, frame + 1]))
        iou = iou_matrix(boxes.box[rows], predicted.box[columns])
        iou[iou < THRESHOLD - np.finfo(np.float64).eps] = 0.0
        one, other = linear_sum_assignment(-iou)
        held = (iou[one, other] > 0) & distractor[rows[one]]
        dropped[columns[other[held]]] = True
    return boxes.take(np.flatnonzero(scored)), predicted.take(np.flatnonzero(~dropped))


def _rows(path: Path, losses: Losses) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Rows of frame, id, left, top, width, height, confidence and class, ordered by frame."""
    rows = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        cells = [cell for cell in line.replace(",", " ").split() if cell]
        if not cells:
            continue
        values = [parse_number(cell) for cell in cells]
        if len(values) < _FEWEST or any(value is None or not np.isfinite(value) for value in values[:_WITH_CLASS]):
            losses.add("rows that are no box of a track", f"{path}, line {number}: {line[:60]!r}")
            continue
        known = [float(value) for value in values[:_WITH_CLASS] if value is not None]
        if known[4] <= 0 or known[5] <= 0:
            losses.add("boxes without an area", f"{path}, line {number}")
            continue
        rows.append([*known, *(1.0, float(_PEDESTRIAN))[len(known) - _FEWEST :]])
    if not rows and losses:
        raise SimjudgeError(f"{path}: holds no row 'frame,id,left,top,width,height,...'{losses.reason}")
    table = np.array(rows, np.float64).reshape(-1, _WITH_CLASS)
    return table[np.argsort(table[:, 0], kind="stable")]


def _boxes(table: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> TrackBoxes:
    number: IntArray = table[:, :2].astype(np.int64)
    corner = table[:, 2:4]
    return TrackBoxes(
        number[:, 0], number[:, 1], np.hstack([corner, corner + table[:, 4:6]]), np.ones(len(table), np.int64)
    )
