"""Scores of a multi-object tracker, as TrackEval has them (HOTA, CLEAR, identity), and tracks beside the truth.

Luiten et al., "HOTA: a higher order metric for evaluating multi-object tracking", IJCV 129 (2021); Bernardin and
Stiefelhagen, "Evaluating multiple object tracking performance: the CLEAR MOT metrics", EURASIP JIVP (2008); Ristani et
al., "Performance measures and a data set for multi-target, multi-camera tracking", ECCV workshops (2016).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.names import normalized_name
from simjudge.core.object_tables import NO_INSTANCE
from simjudge.core.text import parse_number, read_text
from simjudge.data.sets import read_set

ALPHAS = np.arange(1, 20) * 0.05
"""IoU from which a prediction is of an object, for HOTA; it averages over them."""
THRESHOLD = 0.5
"""The same for MOTA and IDF1."""
_EPS = float(np.finfo(np.float64).eps)
_GO_ON = 1000.0
"""What a pair that goes on from the frame before weighs more than any IoU."""


@dataclass(frozen=True, eq=False, repr=False)
class TrackBoxes(ShortRepr):
    """N boxes with track numbers, ordered by frame."""

    frame: IntArray  # int64 (N,)
    track: IntArray  # int64 (N,)
    box: FloatArray  # float64 (N, 4), x0, y0, x1, y1
    class_id: IntArray  # int64 (N,); boxes of two classes never match

    def __len__(self) -> int:
        return len(self.frame)

    def take(self, rows: IntArray | BoolArray) -> TrackBoxes:
        """Take some rows."""
        return TrackBoxes(*(getattr(self, column.name)[rows] for column in fields(self)))


@dataclass(frozen=True, eq=False, repr=False)
class TrackingCounts(ShortRepr):
    """What scores are made of; of several sequences the sum of each."""

    true_positives: FloatArray  # (19,), by ALPHAS
    false_negatives: FloatArray
    false_positives: FloatArray
    association: FloatArray  # (19,), sum over true positives of how well their tracks overlap
    localization: FloatArray  # (19,), sum over true positives of IoU
    matches: float  # at THRESHOLD, frame by frame
    misses: float
    inventions: float
    switches: float
    matched_iou: float
    identity_matches: float  # at THRESHOLD, one predicted track for each labelled one
    identity_misses: float
    identity_inventions: float

    @classmethod
    def total(cls, parts: Sequence[TrackingCounts]) -> TrackingCounts:
        """The sum over sequences."""
        return cls(*(sum(getattr(part, column.name) for part in parts) for column in fields(cls)))

    def scores(self) -> dict[str, float]:
        """The scores: HOTA, DetA, AssA, LocA, MOTA, MOTP, IDF1, IDR, IDP, switches."""
        found = np.maximum(1.0, self.true_positives)
        detection = self.true_positives / np.maximum(
            1.0, self.true_positives + self.false_negatives + self.false_positives
        )
        association = self.association / found
        located = np.maximum(1e-10, self.localization) / np.maximum(1e-10, self.true_positives)
        labelled = max(1.0, self.matches + self.misses)
        both = self.identity_matches + 0.5 * (self.identity_inventions + self.identity_misses)
        return {
            "HOTA": float(np.sqrt(detection * association).mean()),
            "DetA": float(detection.mean()),
            "AssA": float(association.mean()),
            "LocA": float(located.mean()),
            "MOTA": (self.matches - self.inventions - self.switches) / labelled,
            "MOTP": self.matched_iou / max(1.0, self.matches),
            "IDF1": self.identity_matches / max(1.0, both),
            "IDR": self.identity_matches / max(1.0, self.identity_matches + self.identity_misses),
            "IDP": self.identity_matches / max(1.0, self.identity_matches + self.identity_inventions),
            "switches": float(self.switches),
        }


@dataclass(frozen=True, eq=False, repr=False)
class ScoredTracks(ShortRepr):
    """What a tracker did in one sequence."""

    counts: TrackingCounts
    # float64 (N,) for each labelled box: mean over ALPHAS of how well its track overlaps with the labelled one, 0 where
    # it is not found; whether it is found at THRESHOLD; whether it is found under its identity
    association: FloatArray
    detection: FloatArray
    identity: FloatArray
    iou_with_others: FloatArray  # float64 (N,), the largest IoU with another labelled box of its frame


@dataclass(frozen=True, eq=False, repr=False)
class _OverlappingBoxes:
    """A frame: rows of labelled and of predicted boxes, numbers of their tracks, and IoU."""

    rows: IntArray
    truth: IntArray
    found: IntArray
    iou: FloatArray


def iou_matrix(a: FloatArray, b: FloatArray) -> FloatArray:
    """IoU of each box with each other one: float64 (A, B)."""
    low = np.maximum(a[:, np.newaxis, :2], b[np.newaxis, :, :2])
    high = np.minimum(a[:, np.newaxis, 2:], b[np.newaxis, :, 2:])
    common = np.prod(np.maximum(high - low, 0.0), axis=2)
    union = np.prod(a[:, 2:] - a[:, :2], axis=1)[:, np.newaxis] + np.prod(b[:, 2:] - b[:, :2], axis=1) - common
    return np.asarray(np.divide(common, union, out=np.zeros_like(common), where=union > _EPS))


def score_tracks(truth: TrackBoxes, tracks: TrackBoxes, name: str = "tracks") -> ScoredTracks:
    """Score the tracks of one sequence (name: of the sequence, for refusals)."""
    for boxes, words in ((truth, "labelled"), (tracks, "predicted")):
        _refuse_twins(boxes, f"{name}: {words}")
    # A track that changes its class is one track for each class.
    _, truth_track = np.unique(np.stack([truth.class_id, truth.track]), axis=1, return_inverse=True)
    _, found_track = np.unique(np.stack([tracks.class_id, tracks.track]), axis=1, return_inverse=True)
    sizes = np.bincount(truth_track.reshape(-1)), np.bincount(found_track.reshape(-1))
    frames = _frames(truth, tracks, truth_track.reshape(-1), found_track.reshape(-1))
    extra = len(tracks) - sum(len(frame.found) for frame in frames)  # in frames without labels
    hota, association = _hota(frames, sizes, len(truth), extra)
    clear, detection = _clear(frames, len(sizes[0]), len(truth), extra)
    identity, kept = _identity(frames, sizes, len(truth))
    crowd = np.zeros(len(truth))
    for frame in frames:
        others = iou_matrix(truth.box[frame.rows], truth.box[frame.rows])
        np.fill_diagonal(others, 0.0)
        crowd[frame.rows] = others.max(1, initial=0.0)
    return ScoredTracks(TrackingCounts(*hota, *clear, *identity), association, detection, kept, crowd)


def _refuse_twins(boxes: TrackBoxes, what: str) -> None:
    pairs = np.stack([boxes.frame, boxes.track, boxes.class_id])
    known, counts = np.unique(pairs, axis=1, return_counts=True)
    if (counts > 1).any():
        frame, track, _ = known[:, counts.argmax()].tolist()
        raise SimjudgeError(f"{what} track {track} has {counts.max()} boxes in frame {frame}; number them apart")


def _frames(
    truth: TrackBoxes, tracks: TrackBoxes, truth_track: IntArray, found_track: IntArray
) -> list[_OverlappingBoxes]:
    """The frames that hold labels, in order."""
    out = []
    for number in np.unique(truth.frame).tolist():
        rows = np.arange(*np.searchsorted(truth.frame, [number, number + 1]))
        found = np.arange(*np.searchsorted(tracks.frame, [number, number + 1]))
        iou = iou_matrix(truth.box[rows], tracks.box[found])
        iou[truth.class_id[rows][:, np.newaxis] != tracks.class_id[found]] = 0.0
        out.append(_OverlappingBoxes(rows, truth_track[rows], found_track[found], iou))
    return out


def _hota(
    frames: Sequence[_OverlappingBoxes], sizes: tuple[IntArray, IntArray], count: int, extra: int
) -> tuple[tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray], FloatArray]:
    """The counts of HOTA, and the association of each labelled box."""
    potential = np.zeros((len(sizes[0]), len(sizes[1])))
    for frame in frames:
        # Union over all partners: a box with several candidates votes for each by its share of overlap.
        either = frame.iou.sum(0) + frame.iou.sum(1)[:, np.newaxis] - frame.iou
        share = np.divide(frame.iou, either, out=np.zeros_like(frame.iou), where=either > _EPS)
        potential[np.ix_(frame.truth, frame.found)] += share
    both = sizes[0][:, np.newaxis] + sizes[1]
    # Jaccard alignment of whole tracks; it decides which of several overlapping boxes is matched.
    alignment = potential / (both - potential)
    matched = np.zeros((len(ALPHAS), len(sizes[0]), len(sizes[1])))
    partner, iou = np.full(count, -1, np.int64), np.full(count, -1.0)
    for frame in frames:
        one, other = linear_sum_assignment(-alignment[np.ix_(frame.truth, frame.found)] * frame.iou)
        partner[frame.rows[one]], iou[frame.rows[one]] = frame.found[other], frame.iou[one, other]
        held = frame.iou[one, other] >= ALPHAS[:, np.newaxis] - _EPS
        matched[:, frame.truth[one], frame.found[other]] += held
    # A(c) = TPA / (TPA + FNA + FPA), by threshold.
    overlap = matched / np.maximum(1.0, both - matched)
    track_of = np.empty(count, np.int64)
    for frame in frames:
        track_of[frame.rows] = frame.truth
    held = iou >= ALPHAS[:, np.newaxis] - _EPS
    positives = held.sum(1).astype(np.float64)
    predicted = sum(len(frame.found) for frame in frames) + extra
    found = np.where(partner >= 0, partner, 0)
    association = np.where(held, overlap[:, track_of, found], 0.0) if overlap.shape[2] else np.zeros(held.shape)
    counts = (
        positives,
        count - positives,
        predicted - positives,
        np.asarray((matched * overlap).sum((1, 2))),
        np.asarray(np.where(held, iou, 0.0).sum(1)),
    )
    return counts, np.asarray(association.mean(0))


def _clear(
    frames: Sequence[_OverlappingBoxes], tracks: int, count: int, extra: int
) -> tuple[tuple[float, float, float, float, float], FloatArray]:
    """The counts of MOTA and MOTP, and which labelled boxes are found."""
    last = np.full(tracks, -1, np.int64)  # the predicted track that each labelled one had last
    before = last.copy()  # the same, in the frame before alone
    detected = np.zeros(count)
    inventions, switches, matched_iou = float(extra), 0.0, 0.0
    for frame in frames:
        if not len(frame.found):
            continue
        # Added as a large bonus: a match of the frame before is kept wherever it is still allowed.
        goes_on = before[frame.truth][:, np.newaxis] == frame.found
        score = np.where(frame.iou < THRESHOLD - _EPS, 0.0, _GO_ON * goes_on + frame.iou)
        one, other = linear_sum_assignment(-score)
        kept = score[one, other] > _EPS
        one, other = one[kept], other[kept]
        truth, found = frame.truth[one], frame.found[other]
        switches += float(((last[truth] >= 0) & (last[truth] != found)).sum())
        # A switch is against the last known partner, however long ago; a continued match only against the frame before.
        last[truth] = found
        before[:] = -1
        before[truth] = found
        detected[frame.rows[one]] = 1.0
        inventions += len(frame.found) - len(one)
        matched_iou += float(frame.iou[one, other].sum())
    matches = float(detected.sum())
    return (matches, count - matches, inventions, switches, matched_iou), detected


def _identity(
    frames: Sequence[_OverlappingBoxes], sizes: tuple[IntArray, IntArray], count: int
) -> tuple[tuple[float, float, float], FloatArray]:
    """The counts of IDF1, and which labelled boxes are found under the one identity of their track."""
    together = np.zeros((len(sizes[0]), len(sizes[1])))
    for frame in frames:
        together[np.ix_(frame.truth, frame.found)] += frame.iou >= THRESHOLD
    # The assignment with the fewest misses and inventions is that with the most boxes in common.
    one, other = linear_sum_assignment(-together)
    partner = np.full(len(sizes[0]), -1, np.int64)
    partner[one] = other
    kept = np.zeros(count)
    for frame in frames:
        same = (frame.found == partner[frame.truth][:, np.newaxis]) & (frame.iou >= THRESHOLD)
        kept[frame.rows] = same.any(1)
    matches = float(together[one, other].sum())
    return (matches, count - matches, float(sizes[1].sum()) - matches), kept


TrackSource = str | Path | FrameSet
SequenceSource = str | Path | Sequence[TrackSource]
_TEXT = ".txt"
_BETWEEN = ","
_FORMS = "write TRUTH,TRACKS: two texts of the MOT Challenge (gt.txt and the tracker's), or two data sets whose objects"
_FORMS += " have track numbers; or a folder with gt/gt.txt or gt.txt and tracks.txt"
_PEDESTRIAN = 1
_DISTRACTORS = {2: "person on vehicle", 7: "static person", 8: "distractor", 12: "reflection"}
"""Classes of the MOT Challenge: what is scored, and what a tracker may follow without gain or loss."""
_FEWEST, _WITH_CLASS = 6, 8
"""Columns of a row: frame, id, left, top, width, height; then confidence, class, visibility."""
NOT_SCORED = "labelled boxes of classes that are not scored"
_FOUND, _CLEAR_GAIN, _CLEAR_ERRORS = 0.3, 0.01, 2.5
"""IoU of a found box; by which share of it, and by how many standard errors, tracks fit better one frame off."""
_MOT15_COLUMNS, _NO_CLASS = 10, -1
"""MOT15 has x, y, z of the world in the place of class and visibility, -1 where they are not known."""


@dataclass(frozen=True)
class TrackPair:
    """One sequence: labelled and predicted tracks, frames numbered alike."""

    name: str
    names: tuple[str, str]  # of the truth and of the tracks
    truth: TrackBoxes
    tracks: TrackBoxes
    losses: Losses = field(default_factory=Losses)  # rows and objects that were left out
    without_class: int = 0  # labelled boxes of MOT15, which has pedestrians alone


def read_track_pair(source: SequenceSource) -> TrackPair:
    """Read the labelled and the predicted tracks of one sequence."""
    truth, tracks = _both(source)
    names = (_called(truth), _called(tracks))
    losses, without_class = Losses(), 0
    if _is_text(truth) != _is_text(tracks):
        raise UsageError(f"{names[0]} and {names[1]}: a text and a data set number frames differently; {_FORMS}")
    if isinstance(truth, str | Path) and isinstance(tracks, str | Path) and _is_text(truth):
        labelled, found, without_class = _read_mot(Path(truth), Path(tracks), losses)
    else:
        labelled, found = _of_sets(_read_set(truth, losses), _read_set(tracks, losses), losses)
    if not len(labelled):
        what = "of class 1 or without class" if losses.counts[NOT_SCORED] else "with a track number"
        raise SimjudgeError(f"{names[0]}: holds no labelled box {what}{losses.reason}")
    return TrackPair(_name(source, truth), names, labelled, found, losses, without_class)


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
    folder = Path(truth).resolve().parent
    return (folder.parent if folder.name == "gt" else folder).name if Path(truth).name == "gt.txt" else Path(truth).stem


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


def _read_mot(truth: Path, tracks: Path, losses: Losses) -> tuple[TrackBoxes, TrackBoxes, int]:
    """Read two texts as the MOT Challenge scores them: pedestrians, without what follows distractors.

    Also how many labelled boxes have no class, because the text is one of MOT15.
    """
    labelled, found = _rows(truth, losses), _rows(tracks, losses)
    unknown = labelled[:, 7] == _NO_CLASS
    if unknown.all():
        labelled[:, 7] = _PEDESTRIAN
    else:
        losses.add("labelled boxes whose class is -1", str(truth), int(unknown.sum()))
    marked = labelled[:, 6] != 0
    scored = marked & (labelled[:, 7] == _PEDESTRIAN)
    classes = _class_names(truth.parent / "labels.txt")
    distractors = [
        number for number, name in _DISTRACTORS.items() if normalized_name(classes.get(number, name)) == name
    ]
    distractor = np.isin(labelled[:, 7], distractors)
    aside = labelled[marked & ~scored & ~distractor & (labelled[:, 7] != _NO_CLASS), 7].astype(np.int64)
    of_class = {number: classes.get(number, str(number)) for number in np.unique(aside).tolist()}
    where = f"{truth} (class {', '.join(of_class.values())}; class {_PEDESTRIAN}, "
    where += f"{classes.get(_PEDESTRIAN, 'pedestrian')}, is scored)"
    losses.add(NOT_SCORED, where, len(aside))
    boxes, predicted = _boxes(labelled), _boxes(found)
    _refuse_offset(boxes.take(np.flatnonzero(marked)), predicted, truth, tracks)
    dropped = np.zeros(len(predicted), np.bool_)
    for frame in np.unique(boxes.frame[distractor]).tolist():
        rows = np.arange(*np.searchsorted(boxes.frame, [frame, frame + 1]))
        columns = np.arange(*np.searchsorted(predicted.frame, [frame, frame + 1]))
        iou = iou_matrix(boxes.box[rows], predicted.box[columns])
        iou[iou < THRESHOLD - np.finfo(np.float64).eps] = 0.0
        one, other = linear_sum_assignment(-iou)
        held = (iou[one, other] > 0) & distractor[rows[one]]
        dropped[columns[other[held]]] = True
    without_class = int(unknown.sum()) if unknown.all() else 0
    return boxes.take(np.flatnonzero(scored)), predicted.take(np.flatnonzero(~dropped)), without_class


def _class_names(path: Path) -> dict[int, str]:
    """The classes of a text by number, as CVAT's export "MOT 1.1" lists them beside it, one a line."""
    lines = read_text(path).splitlines() if path.is_file() else []
    return {number: line.strip() for number, line in enumerate(lines, 1) if line.strip()}


def _refuse_offset(truth: TrackBoxes, tracks: TrackBoxes, truth_path: Path, tracks_path: Path) -> None:
    """Refuse tracks that fit the truth clearly better if their frames are counted from one more or one less."""
    if not len(truth) or not len(tracks):
        return
    here, before, after = (_best_overlap(truth, replace(tracks, frame=tracks.frame + by)) for by in (0, -1, 1))
    for overlap, remedy in ((before, "subtract 1 from"), (after, "add 1 to")):
        # Of boxes that are found either way: misses say nothing of the numbers.
        found = (here > _FOUND) & (overlap > _FOUND)
        if found.sum() < 2:
            continue
        gain = overlap[found] - here[found]
        if gain.mean() > max(_CLEAR_GAIN * here[found].mean(), _CLEAR_ERRORS * gain.std() / np.sqrt(len(gain))):
            raise SimjudgeError(
                f"{tracks_path}: its boxes fit those of {truth_path} better one frame off (mean IoU"
                f" {overlap[found].mean():.3f} in place of {here[found].mean():.3f}); {remedy} each of its frames"
            )


def _best_overlap(truth: TrackBoxes, tracks: TrackBoxes) -> FloatArray:
    """The largest IoU of each labelled box with a predicted one of its frame: float64 (N,)."""
    out = np.zeros(len(truth))
    for number in np.unique(truth.frame).tolist():
        ours, theirs = (slice(*np.searchsorted(boxes.frame, [number, number + 1])) for boxes in (truth, tracks))
        out[ours] = iou_matrix(truth.box[ours], tracks.box[theirs]).max(1, initial=0.0)
    return out


def _rows(path: Path, losses: Losses) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Rows of frame, id, left, top, width, height, confidence and class, ordered by frame.

    The class is -1 in rows of MOT15, which are known by their columns.
    """
    rows = []
    lines: dict[tuple[float, ...], int] = {}
    for number, line in enumerate(read_text(path).splitlines(), 1):
        cells = [cell for cell in line.replace(",", " ").split() if cell]
        if not cells:
            continue
        values = [parse_number(cell) for cell in cells]
        if len(values) < _FEWEST or any(value is None or not np.isfinite(value) for value in values[:_WITH_CLASS]):
            losses.add("rows that are no box of a track", f"{path}, line {number}: {line[:60]!r}")
            continue
        known = [float(value) for value in values[:_WITH_CLASS] if value is not None]
        if known[0] < 1:
            raise SimjudgeError(
                f"{path}, line {number}: frame {known[0]:g}, and the MOT Challenge counts from 1; add 1 to each frame"
            )
        if lines.setdefault((known[0], known[1]), number) != number:
            raise SimjudgeError(
                f"{path}, lines {lines[known[0], known[1]]} and {number}: track {known[1]:g} has two boxes in frame"
                f" {known[0]:g}; number them apart"
            )
        if known[4] <= 0 or known[5] <= 0:
            losses.add("boxes without an area", f"{path}, line {number}")
            continue
        if len(values) >= _MOT15_COLUMNS:
            known[7] = _NO_CLASS
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
