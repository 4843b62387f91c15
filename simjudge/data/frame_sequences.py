"""Sequences: frames that follow each other, by stamps or numbers in names; and pairs by stamp.

Frames of a video are often saved as frame_0001.png or 1403636579763555584.png. The files then carry no other stamp.
Augmented data sets hold several variants of one photograph.
"""

from __future__ import annotations

import heapq
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from shlex import quote

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import BoolArray, IntArray, ShortRepr
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.names import NO_STAMP, free_class_id, normalized_name
from simjudge.core.object_tables import Predictions, order_by_frame
from simjudge.core.text import list_some, one_line
from simjudge.data.format_support.raw_rows import count_losses

# Roboflow names the variants of photo.jpg photo_jpg.rf.<hash>.
_ROBOFLOW_NAME = re.compile(r"^(?P<source>.+)_(?:jpe?g|png|bmp|webp|tiff?)\.rf\..+$", re.IGNORECASE)


def source_photograph(frame_name: str) -> str:
    """Find the photograph that an image was made from."""
    found = _ROBOFLOW_NAME.match(frame_name)
    return found["source"] if found else frame_name


STAMPS = "stamps"  # The unit of positions that are the frames' own stamps, nanoseconds
NUMBERS = "numbers"  # The unit of positions that are mere numbers
ALONE = -1  # The run of a frame that is in no sequence
_FEWEST = 10  # Names that a sequence needs
_EVEN_SHARE = 0.6  # Share of the steps that must be within half of the median step from it. Of random numbers 0.35 are.
# Share of the numbers from first to last that must be there where steps are uneven: a part of a numbered sequence.
_DENSE = 0.3
_LONGEST_NUMBER = 18  # Digits; longer ones do not fit 64 bits
_DIGITS = re.compile(r"\d+")
# Length of the texts HHMMSS with a fraction, and the parts of a second that the fraction counts.
_CLOCKS = {12: 10**6, 9: 10**3}
# Units of time, nanoseconds each, and the least step that is read so: 250 frames a second. A counter has no such.
_UNITS = (("nanoseconds", 1, 4_000_000), ("microseconds", 1000, 4_000))
_SLOWEST = 1000  # Times the least step: a frame in 4 s is the slowest sequence whose numbers are read as times
_FEWEST_STAMPS = 3  # Different stamps in names that make a sequence
_EPOCH = (10**18, 2 * 10**18)  # Nanoseconds from 1970 that a clock of today shows: 2001 to 2033
# Unit and nanoseconds of stamps since 1970, by their digits.
_EPOCH_DIGITS = {19: ("nanoseconds", 1), 16: ("microseconds", 10**3), 13: ("milliseconds", 10**6)}
# Seconds since 1970 and their fraction, as TUM names its images.
_EPOCH_SECONDS = re.compile(r"(?<!\d)(1\d{9})([._-])(\d{1,9})(?!\d)")
# Seconds of any clock, such as a simulator's, with micro- or nanoseconds.
_CLOCK_SECONDS = re.compile(r"(?<![\d.])(\d{1,9})(\.)(\d{6}|\d{9})(?![\d.])")
# Date and time of day, as cameras, phones and players name stills: 20191017_132736, 2019-10-17-13h27m36s157.
_DATE = re.compile(
    r"(?<!\d)((?:19|20)\d\d)[-_.]?(0[1-9]|1[0-2])[-_.]?([0-2]\d|3[01])[-_.T ]{0,3}"
    r"([01]\d|2[0-3])[-_.:h]?([0-5]\d)[-_.:m]?([0-5]\d)(?:[-_.s]?(\d{1,6}))?(?!\d)"
)
_EPOCH_MS = (10**12, 2 * 10**12)  # Milliseconds from 1970 that a clock of today shows: 2001 to 2033


@dataclass(frozen=True, repr=False)
class FrameSequence(ShortRepr):
    """Where the frames of a set are in sequences."""

    run: IntArray  # int64 (F,), number of the sequence of each frame; ALONE for a frame that is in none
    position: IntArray  # int64 (F,), place in it: nanoseconds, or numbers where `unit` is NUMBERS
    step: float  # median distance of neighbours, in the unit of `position`, at least 1
    unit: str  # STAMPS, NUMBERS, or the unit of time in which the names are read

    @property
    def timed(self) -> bool:
        """Whether positions are nanoseconds."""
        return self.unit != NUMBERS

    @property
    def slot(self) -> IntArray:
        """int64 (F,), positions in steps; neighbours differ by 1."""
        return np.rint(self.position / self.step).astype(np.int64)

    def __str__(self) -> str:
        frames, runs = int((self.run != ALONE).sum()), len(np.unique(self.run[self.run != ALONE]))
        several = f" in {runs} sequences" if runs > 1 else ""
        if self.unit == STAMPS:
            return f"{frames} frames{several}, {self.step / 1e9:.3g} s apart by their stamps"
        if self.timed:
            return f"{frames} frames{several}, {self.step / 1e9:.3g} s apart: numbers in names, read as {self.unit}"
        return f"{frames} frames{several}, numbered in steps of {self.step:g}"


def find_sequence(frames: FrameSet) -> FrameSequence | None:
    """Find the sequences of a set: the sequences; None where the frames have neither."""
    stamped = frames.stamp != NO_STAMP
    if np.count_nonzero(stamped) > 1:
        run = np.where(stamped, 0, ALONE)
        return FrameSequence(run, frames.stamp, _median_step(run[stamped], frames.stamp[stamped]), STAMPS)
    return _stamped_names(frames.frame_name) or _numbered(frames.frame_name)


def _stamped_names(names: Sequence[str]) -> FrameSequence | None:
    """The sequence by stamps in names, however uneven; None where fewer than half of the names hold one."""
    alike: dict[str, list[int]] = defaultdict(list)
    for row, name in enumerate(names):
        alike[_template(name)].append(row)
    run, stamp = np.full(len(names), ALONE, np.int64), np.full(len(names), NO_STAMP, np.int64)
    found = ""
    for rows in alike.values():
        # A single name of its kind is as likely an identifier.
        unit, stamps = _read_stamps([source_photograph(names[row]) for row in rows]) if len(rows) > 1 else ("", [])
        if stamps:
            run[rows], stamp[rows], found = 0, stamps, unit
    inside = run != ALONE
    if 2 * np.count_nonzero(inside) < len(names) or len(np.unique(stamp[inside])) < _FEWEST_STAMPS:
        return None
    return FrameSequence(run, stamp, _median_step(run[inside], stamp[inside]), found)


def _read_stamps(names: Sequence[str]) -> tuple[str, list[int]]:
    """The unit and the nanoseconds of names that all hold a stamp of one kind; nothing where they do not."""
    for digits, (unit, length) in _EPOCH_DIGITS.items():
        texts = [re.findall(rf"(?<!\d)\d{{{digits}}}(?!\d)", name) for name in names]
        stamps = [int(text[0]) * length for text in texts if text]
        if len(stamps) == len(names) and min(stamps) >= _EPOCH[0] and max(stamps) < _EPOCH[1]:
            return unit, stamps
    dates = [found.groups() for found in map(_DATE.search, names) if found]
    if len(dates) == len(names) and (stamps := _date_stamps(dates)):
        return "dates", stamps
    for pattern in (_EPOCH_SECONDS, _CLOCK_SECONDS):
        parts = [found.groups() for found in map(pattern.search, names) if found]
        if len(parts) == len(names):
            return "seconds", _joined_parts(parts)
    return "", []


def _date_stamps(dates: Sequence[tuple[str | None, ...]]) -> list[int]:
    """Nanoseconds of dates with a fraction of a second, perhaps; nothing where a day is not in the calendar."""
    out = []
    for *parts, fraction in dates:
        try:
            moment = datetime(*(int(part or 0) for part in parts), tzinfo=timezone.utc)  # type: ignore[misc,arg-type]
        except ValueError:
            return []
        out.append(int(moment.timestamp()) * 10**9 + int((fraction or "").ljust(9, "0")))
    return out


def _joined_parts(parts: Sequence[tuple[str, ...]]) -> list[int]:
    """Nanoseconds of seconds, separator and fraction; a fraction without leading zeros counts parts of a second."""
    lengths = {len(fraction) for _, _, fraction in parts}
    if len(lengths) > 1 and all(separator != "." for _, separator, _ in parts):
        length = 10**9 // 10 ** (9 if max(lengths) > 6 else 6)
        return [int(seconds) * 10**9 + int(fraction) * length for seconds, _, fraction in parts]
    return [int(seconds) * 10**9 + int(fraction.ljust(9, "0")) for seconds, _, fraction in parts]


def _numbered(names: Sequence[str]) -> FrameSequence | None:
    """Sequences by numbers in names; None where no names grow evenly."""
    run, number = np.full(len(names), ALONE, np.int64), np.zeros(len(names), np.int64)
    texts: dict[int, str] = {}
    for count, members in enumerate(_groups(names)):
        values = np.array([int(text) for _, text in members], np.int64)
        if _grows_evenly(values):
            rows = [row for row, _ in members]
            run[rows], number[rows] = count, values
            texts.update(members)
    if not texts:
        return None
    inside = run != ALONE
    clock = _clock_times(list(texts.values()))
    if clock is not None:
        number[list(texts)] = clock
    step = _median_step(run[inside], number[inside])
    if clock is not None:
        return _timed(run, number, 1, step, "times of day")
    for unit, length, least in _UNITS:
        if least <= step < least * _SLOWEST:
            return _timed(run, number, length, step, unit)
    if _EPOCH_MS[0] <= number[inside].min() and number[inside].max() < _EPOCH_MS[1]:
        return _timed(run, number, 10**6, step, "milliseconds")
    return FrameSequence(run, number, step, NUMBERS)


def _timed(run: IntArray, number: IntArray, length: int, step: float, unit: str) -> FrameSequence:
    """Names with times are all on one axis: what two cameras see at one time is no independent sample."""
    return FrameSequence(np.minimum(run, 0), number * length, step * length, unit)


def _groups(names: Sequence[str]) -> list[list[tuple[int, str]]]:
    """Rows and texts of the number that varies most, for names that are alike before it."""
    alike: dict[str, list[tuple[int, list[str]]]] = defaultdict(list)
    for row, name in enumerate(map(source_photograph, names)):
        numbers = _DIGITS.findall(name)
        if numbers and max(map(len, numbers)) <= _LONGEST_NUMBER:
            alike[_template(name)].append((row, numbers))
    groups: dict[tuple[str, ...], list[tuple[int, str]]] = defaultdict(list)
    for template, members in alike.items():
        columns = range(len(members[0][1]))
        varied = max(columns, key=lambda column: (len({numbers[column] for _, numbers in members}), column))
        for row, numbers in members:
            groups[(template, *numbers[:varied])].append((row, numbers[varied]))
    return list(groups.values())


def _grows_evenly(values: IntArray) -> bool:
    known = np.unique(values)
    steps = known[1:] - known[:-1]
    if len(steps) + 1 < _FEWEST:
        return False
    median = float(np.median(steps))
    even = np.count_nonzero(np.abs(steps - median) <= median / 2) / len(steps)
    dense = (len(steps) + 1) / (int(steps.sum()) / int(np.gcd.reduce(steps)) + 1)
    return bool(even >= _EVEN_SHARE or dense >= _DENSE)


def _clock_times(texts: Sequence[str]) -> IntArray | None:
    """Nanoseconds since midnight, where all texts are HHMMSS with a fraction."""
    lengths = {len(text) for text in texts}
    parts = _CLOCKS.get(lengths.pop()) if len(lengths) == 1 else None
    if parts is None:
        return None
    value = np.array([int(text) for text in texts], np.int64)
    clock, fraction = np.divmod(value, parts)
    hours, minutes, seconds = clock // 10_000, clock // 100 % 100, clock % 100
    plausible = (hours < 24) & (minutes < 60) & (seconds < 60)
    # A counter from 0 on is no clock, nor are numbers that differ by whole hours.
    if not plausible.all() or hours.min() == 0 or hours.max() - hours.min() > 12:
        return None
    out: IntArray = ((hours * 60 + minutes) * 60 + seconds) * 10**9 + fraction * (10**9 // parts)
    return out


def _median_step(run: IntArray, position: IntArray) -> float:
    """Median distance of neighbours that differ, at least 1."""
    order = np.lexsort((position, run))
    steps = np.diff(position[order])[np.diff(run[order]) == 0]
    steps = steps[steps > 0]
    return max(float(np.median(steps)), 1.0) if len(steps) else 1.0


def _template(name: str) -> str:
    return _DIGITS.sub("#", source_photograph(name))


def pair_stamps(a: npt.ArrayLike, b: npt.ArrayLike, tolerance_ns: int = 0) -> tuple[IntArray, IntArray]:
    """Pair two lists of stamps one to one.

    Of all pairs within the tolerance the nearest is taken first, then the nearest of what is left, and so on; of
    equally near ones the one with the earlier stamps. Equal stamps therefore always come together.
    """
    first, second = np.asarray(a, np.int64).reshape(-1), np.asarray(b, np.int64).reshape(-1)
    stamps = np.concatenate([first, second])
    order = np.argsort(stamps, kind="stable")
    sorted_stamps: list[int] = stamps[order].tolist()
    is_first: list[bool] = (order < len(first)).tolist()
    # The nearest pair that is left always stands side by side in the joint order of what is left: anything between
    # the two would be nearer to one of them. So only neighbours are candidates, new ones as pairs are taken out.
    before, after = list(range(-1, len(order) - 1)), list(range(1, len(order) + 1))
    candidates = [(sorted_stamps[k + 1] - sorted_stamps[k], k, k + 1) for k in range(len(order) - 1)]
    candidates = [c for c in candidates if c[0] <= tolerance_ns and is_first[c[1]] != is_first[c[2]]]
    heapq.heapify(candidates)
    taken = [False] * len(order)
    partner = np.full(len(first), -1, np.int64)
    while candidates:
        _, left, right = heapq.heappop(candidates)
        if taken[left] or taken[right]:
            continue
        taken[left] = taken[right] = True
        i, j = (left, right) if is_first[left] else (right, left)
        partner[order[i]] = order[j] - len(first)
        left, right = before[left], after[right]
        if left >= 0:
            after[left] = right
        if right < len(order):
            before[right] = left
        if left >= 0 and right < len(order) and is_first[left] != is_first[right]:
            distance = sorted_stamps[right] - sorted_stamps[left]
            if distance <= tolerance_ns:
                heapq.heappush(candidates, (distance, left, right))
    paired = np.flatnonzero(partner >= 0).astype(np.int64)
    return paired, partner[paired]


def pair_frames(a: FrameSet, b: FrameSet, tolerance_ns: int = 0) -> tuple[IntArray, IntArray]:
    """Pair the frames of two sets, one to one, by stamp (see `pair_stamps`), else by equal names."""
    stamped_a, stamped_b = np.flatnonzero(a.stamp != NO_STAMP), np.flatnonzero(b.stamp != NO_STAMP)
    i, j = pair_stamps(a.stamp[stamped_a], b.stamp[stamped_b], tolerance_ns)
    pairs = dict(zip(stamped_a[i].tolist(), stamped_b[j].tolist(), strict=True))
    used = set(pairs.values())
    by_name = {name: index for index, name in enumerate(b.frame_name)}
    for index, name in enumerate(a.frame_name):
        other = by_name.get(name, -1)
        both_stamped = a.stamp[index] != NO_STAMP and b.stamp[other] != NO_STAMP
        if other >= 0 and index not in pairs and other not in used and not both_stamped:
            pairs[index] = other
    index_a = np.array(sorted(pairs), np.int64)
    return index_a, np.array([pairs[k] for k in index_a.tolist()], np.int64)


def count_unpaired(a: FrameSet, b: FrameSet, pairs: tuple[IntArray, IntArray]) -> Losses:
    """Count the frames of two sets that have no partner."""
    losses = Losses()
    for frames, other, paired in ((a, b, pairs[0]), (b, a, pairs[1])):
        for index in np.setdiff1d(np.arange(len(frames)), paired).tolist():
            losses.add(f"frames without a partner in {other.name}", frames.describe_frame(index))
    return losses


def attach_predictions(source: FrameSet, target: FrameSet) -> FrameSet:
    """Put the predictions of one set onto the frames of another, matched by frame name, else by stamp."""
    if source.predictions is None:
        raise SimjudgeError(f"{source.name}: holds no predictions")
    match = _same_size(match_frames(source, target, source.predicted), source, target)
    lost = np.flatnonzero(source.predicted & (match < 0))
    count_losses(target.losses, "predicted frames that the set lacks", lost, source.describe_frame)
    if not (match >= 0).any():
        raise SimjudgeError(f"{source.name}: has predictions for no frame of {target.name}; is it another set?")
    ids = class_map(source, target)
    predictions = source.predictions.take(np.flatnonzero(match[source.predictions.frame] >= 0))
    moved = replace(predictions, frame=match[predictions.frame], class_id=_mapped(predictions.class_id, ids))
    known = _with_known_class(moved, source, target)
    predicted = np.zeros(len(target), np.bool_)
    predicted[match[match >= 0]] = True
    return target.with_predictions(order_by_frame(known), predicted, source.detector)


def attach_labels(labels: FrameSet, target: FrameSet, tolerance_ns: int = 0) -> FrameSet:
    """Put the objects of one set onto the frames of another, matched by frame name, else by the nearest stamp."""
    losses = Losses()
    losses.extend(target.losses)
    losses.extend(labels.losses)
    base = replace(target, losses=losses)
    if not labels.labelled.any():
        what = "predictions only" if labels.predictions is not None else "no labels"
        raise SimjudgeError(f"{labels.name}: holds {what}; give a set whose frames are labelled")
    match = _same_size(match_frames(labels, base, labels.labelled, tolerance_ns), labels, base)
    lost = np.flatnonzero(labels.labelled & (match < 0))
    count_losses(losses, "labelled frames that match no frame", lost, labels.describe_frame)
    if not (match >= 0).any():
        raise SimjudgeError(
            f"{labels.name}: none of its labelled frames matches a frame of {target.name} by name or stamp;"
            " is it another recording, or does it need a larger --label-tolerance?"
        )
    ids = class_map(labels, target)
    objects, ignored = (
        order_by_frame(replace(kept, frame=match[kept.frame], class_id=_mapped(kept.class_id, ids)))
        for table in (labels.objects, labels.ignored)
        for kept in [table.take(np.flatnonzero(match[table.frame] >= 0))]
    )
    labelled = np.zeros(len(target), np.bool_)
    labelled[match[match >= 0]] = True
    names = dict(target.class_names)
    for class_id, name in labels.class_names.items():
        names.setdefault(ids.get(class_id, class_id), name)
    return replace(
        base,
        objects=objects,
        ignored=ignored,
        labelled=labelled,
        class_names=names,
        label_source=labels.label_source,
    )


def match_frames(source: FrameSet, target: FrameSet, wanted: BoolArray, tolerance_ns: int = 0) -> IntArray:
    """The frame of one set that each frame of another is, int64 (F,): by name, else by the nearest stamp; -1: none."""
    match = np.full(len(source), -1, np.int64)
    number = {name: i for i, name in enumerate(target.frame_name)}
    for i in np.flatnonzero(wanted).tolist():
        match[i] = number.get(source.frame_name[i], -1)
    free = np.ones(len(target), np.bool_)
    free[match[match >= 0]] = False
    open_rows = np.flatnonzero(wanted & (match < 0) & (source.stamp != NO_STAMP))
    targets = np.flatnonzero(free & (target.stamp != NO_STAMP))
    if not len(open_rows) or not len(targets):
        return match
    targets = targets[np.argsort(target.stamp[targets], kind="stable")]
    stamps = target.stamp[targets]
    pairs: list[tuple[int, int, int]] = []
    for i in open_rows.tolist():
        stamp = int(source.stamp[i])
        low, high = np.searchsorted(stamps, [stamp - tolerance_ns, stamp + tolerance_ns + 1])
        pairs.extend((abs(int(stamps[j]) - stamp), i, int(targets[j])) for j in range(int(low), int(high)))
    for _, i, j in sorted(pairs):
        if match[i] < 0 and free[j]:
            match[i], free[j] = j, False
    return match


def class_map(source: FrameSet, target: FrameSet) -> dict[int, int]:
    """Find the class id in one set for each of another, by name (any case), else a free id; empty without names."""
    if not source.class_names or not target.class_names:
        return {}
    by_name = {normalized_name(name): i for i, name in reversed(list(target.class_names.items()))}
    ids: dict[int, int] = {}
    taken = set(target.class_names)
    for class_id, given in source.class_names.items():
        name = normalized_name(given)
        same = class_id in target.class_names and normalized_name(target.class_names[class_id]) == name
        free = class_id if same else by_name.get(name, class_id)
        if name not in by_name and free in taken:
            free = free_class_id(taken | set(source.class_names))
        ids[class_id] = free
        taken.add(free)
    return ids


def _mapped(class_id: IntArray, ids: dict[int, int]) -> IntArray:
    if not ids:
        return class_id
    found, inverse = np.unique(class_id, return_inverse=True)
    return np.array([ids.get(int(i), int(i)) for i in found], np.int64)[inverse]


def _same_size(match: IntArray, source: FrameSet, target: FrameSet) -> IntArray:
    """`match` without the frames whose images differ in size, whose boxes would be somewhere else; counted."""
    rows = np.flatnonzero(match >= 0)
    wrong = rows[(source.size[rows] != target.size[match[rows]]).any(1)]
    count_losses(target.losses, "frames of another size than the set's", wrong, source.describe_frame)
    match[wrong] = -1
    return match


def _with_known_class(predictions: Predictions, source: FrameSet, target: FrameSet) -> Predictions:
    if not target.class_names:
        return predictions
    good = np.isin(predictions.class_id, list(target.class_names))
    if len(good) and not good.any():
        found = predictions if source.predictions is None else source.predictions
        theirs = [one_line(source.class_name(k)) for k in np.unique(found.class_id).tolist()]
        ours = [one_line(name) for name in target.class_names.values()]
        raise SimjudgeError(
            f"{source.name}: its predictions are of class {list_some(theirs)}, and {target.name} has {list_some(ours)}:"
            f" nothing tells which are the same; say it with --rename {quote(f'{theirs[0]}={ours[0]}')}"
        )

    def where(row: int) -> str:
        return f"{target.describe_frame(int(predictions.frame[row]))} (class {int(predictions.class_id[row])})"

    count_losses(target.losses, "predictions of a class without a name", np.flatnonzero(~good), where)
    return predictions.take(np.flatnonzero(good))
