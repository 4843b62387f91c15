"""Sequences: frames that follow each other, by their stamps, stamps in their names, or numbers that grow evenly.

Frames of a video are often saved as frame_0001.png or 1403636579763555584.png. The files then carry no other stamp.
Augmented data sets hold several variants of one photograph.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.frames import FrameSet
from simjudge.core.names import NO_STAMP

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
    for pattern in (_EPOCH_SECONDS, _CLOCK_SECONDS):
        parts = [found.groups() for found in map(pattern.search, names) if found]
        if len(parts) == len(names):
            return "seconds", _joined_parts(parts)
    return "", []


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
