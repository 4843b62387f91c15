"""Disjoint parts of a set, random or stretches of time: the paper's R1..R3 and S1..S3."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simjudge.core.arrays import IntArray
from simjudge.core.errors import Losses, UsageError
from simjudge.core.files import atomic_folder
from simjudge.core.frames import FrameSet
from simjudge.data.formats import file_suffixes, folder_formats
from simjudge.data.frame_sequences import ALONE, FrameSequence, find_sequence
from simjudge.data.photographs import source_photograph
from simjudge.data.sets import write_set
from simjudge.data.sources import as_frames


def random_split(groups: Sequence[str], count: int, seed: int = 0) -> list[IntArray]:
    """Deal frames into parts at random, all frames of one group into the same part.

    Groups are shuffled, then dealt one by one to the part that holds the fewest frames: where every frame is a group of
    its own, the parts' sizes differ by one at most.

    Args:
        groups: the group of each frame, such as the photograph it is a variant of; the frame's name for none.

    Returns:
        The frames of each part, ascending int64; every frame is in exactly one.
    """
    if seed < 0:
        raise UsageError(f"seed {seed}: must be 0 or more")
    members: dict[str, list[int]] = defaultdict(list)
    for index, group in enumerate(groups):
        members[group].append(index)
    if count < 1 or len(members) < count:
        raise UsageError(f"{count} parts of {len(members)} separable frames: ask for 1 to {len(members)} parts")
    parts: list[list[int]] = [[] for _ in range(count)]
    order = sorted(members)
    for group in np.random.default_rng(seed).permutation(len(order)):
        min(parts, key=len).extend(members[order[int(group)]])
    return [np.array(sorted(part), np.int64) for part in parts]


def contiguous_split(sequence: FrameSequence, count: int) -> list[IntArray]:
    """Deal frames into stretches of their sequence, the first ones into the first part, and so on.

    Args:
        sequence: where each frame is. Frames of one place stay together; frames in no sequence come last.

    Returns:
        The frames of each part, ascending int64; every frame is in exactly one.
    """
    run = np.where(sequence.run == ALONE, sequence.run.max() + 1, sequence.run)
    # Frames without a place have one each.
    place = np.where(sequence.run == ALONE, np.arange(len(run)), sequence.position)
    _, number = np.unique(np.stack([run, place], 1), axis=0, return_inverse=True)
    number = number.reshape(-1)
    places = int(number.max()) + 1
    if count < 1 or places < count:
        raise UsageError(f"{count} parts of {places} separable frames: ask for 1 to {places} parts")
    before = np.concatenate([[0], np.cumsum(np.bincount(number))])[:-1]
    # The part that a place begins in if all parts are equal; where many frames share a place, none may stay empty.
    part = np.minimum(before * count // len(number), count - 1)
    at = np.arange(places)
    part = np.maximum(np.minimum.accumulate(part - at) + at, count - places + at)
    return [np.flatnonzero(part[number] == each) for each in range(count)]


@dataclass(frozen=True)
class Split:
    """A data set that was dealt into parts; iterating over it gives the parts.

    Attributes:
        parts: the parts, which share no frame.
        paths: where each part was written; empty where nothing was written.
        groups: the number of groups of frames that stayed together.
        losses: what was left out while reading and writing.
    """

    parts: list[FrameSet]
    paths: list[Path]
    groups: int
    losses: Losses

    def __len__(self) -> int:
        """The number of parts."""
        return len(self.parts)

    def __iter__(self) -> Iterator[FrameSet]:
        """The parts, one after the other."""
        return iter(self.parts)

    def __getitem__(self, index: int) -> FrameSet:
        """The part of a number, from 0."""
        return self.parts[index]


def split(
    source: FrameSet | str | Path,
    parts: int = 2,
    out: str | Path | None = None,
    *,
    to: str = "yolo",
    seed: int = 0,
    by_source: bool = True,
    allow_outside: bool = False,
    contiguous: bool = False,
) -> Split:
    """Deal the frames of a set at random, or in stretches, into parts of equal size, to compare a set with itself.

    Args:
        source: a data set, or the path of a data set or a recording.
        parts: how many parts, 2 or more.
        out: the folder to make; the parts in it are called 1, 2, and so on. None writes nothing.
        to: the format of the parts: a folder, such as yolo or coco, or a file (json, mcap, db3).
        seed: seed of the random numbers, 0 or more.
        by_source: keep variants of one photograph together, which the names of Roboflow tell.
        allow_outside: take pictures that lie outside of the folder of their data set.
        contiguous: each part is one stretch of a recording or of a numbered sequence, in its order; nothing is random.

    Returns:
        The parts.

    Raises:
        UsageError: there is no such format, there are fewer photographs than parts, or the frames are no sequence.
        SimjudgeError: the source cannot be read, or `out` cannot be written.
    """
    known = [*(each.name for each in folder_formats()), *_file_endings()]
    if to not in known:
        raise UsageError(f"--to {to}: no such format; one of {', '.join(known)}")
    frames = as_frames(source, allow_outside=allow_outside)
    groups = [source_photograph(name) if by_source else name for name in frames.frame_name]
    chosen = _stretches(frames, parts) if contiguous else random_split(groups, parts, seed)
    dealt = [frames.take(rows) for rows in chosen]
    losses = Losses()
    losses.extend(frames.losses)
    paths = [] if out is None else _write_parts(dealt, Path(out), to, losses)
    return Split(dealt, paths, len(set(groups)), losses)


def _stretches(frames: FrameSet, parts: int) -> list[IntArray]:
    sequence = find_sequence(frames)
    if sequence is None:
        raise UsageError(
            f"--contiguous: frames of {frames.name} have neither stamps nor numbers that grow evenly in their names"
        )
    return contiguous_split(sequence, parts)


def _write_parts(parts: Sequence[FrameSet], out: Path, to: str, losses: Losses) -> list[Path]:
    """Write every part or none; returns where they are."""
    is_file = to in _file_endings()
    names = [f"{number}.{to}" if is_file else str(number) for number in range(1, len(parts) + 1)]
    with atomic_folder(out) as folder:
        for name, part in zip(names, parts, strict=True):
            losses.extend(write_set(part, folder / name, None if is_file else to))
    return [out / name for name in names]


def _file_endings() -> list[str]:
    """Formats that are one file, named by its ending: json, mcap, db3."""
    return [suffix.removeprefix(".") for suffix in file_suffixes()]
