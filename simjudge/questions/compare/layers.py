"""A result as a layer over a person's own recording: which frame is which picture there, and what is said of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simjudge.core.arrays import IntArray, ShortRepr
from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.files import check_output, output_path
from simjudge.core.names import NO_STAMP, name_to_stamp
from simjudge.core.text import list_some
from simjudge.data.frame_sequences import pair_stamps
from simjudge.method.verdicts import Outcome, Verdict
from simjudge.questions.compare.result_frames import ResultFrame, ResultFrames

_TOLERANCE_NS = 1_000_000  # A clock kept as seconds in a float is off by up to a quarter of a microsecond
SIDES = ("a", "b")


@dataclass(frozen=True, repr=False)
class PictureTimes(ShortRepr):
    """When the pictures of a topic or an entity of a recording were taken, by one of its clocks."""

    name: str  # topic or entity
    clock: str  # such as "header stamps", or a timeline
    stamp: IntArray  # ns (N,), NO_STAMP where a picture has no such time


@dataclass(frozen=True, repr=False)
class LayerFrame(ShortRepr):
    """A frame of a result, and its picture in the recording."""

    frame: ResultFrame
    picture: int  # number among the pictures of the topic or entity
    stamp: int  # ns, of the frame; NO_STAMP where it has none


@dataclass(frozen=True, repr=False)
class Layer(ShortRepr):
    """The frames of one set of a result, in the order of the recording's pictures."""

    side: str  # "a" or "b"
    name: str  # topic or entity of the pictures
    how: str  # by what frames were found, for people
    frames: list[LayerFrame]


def check_layer_output(out: Path, onto: Path, *, overwrite: bool) -> Path:
    """Refuse a place where a layer must not be written, above all the recording that it is laid over."""
    out = output_path(out)
    if not onto.exists():
        raise SimjudgeError(f"--onto {onto}: does not exist")
    if out.exists() and out.samefile(onto):
        raise UsageError(f"--out {out}: is the recording itself; the layer needs a file of its own")
    check_output(out, lambda _path: False, overwrite=overwrite)
    return out


def place_frames(
    shown: ResultFrames,
    pictures: Sequence[PictureTimes],
    path: Path,
    losses: Losses,
    *,
    side: str | None = None,
    image_topic: str | None = None,
    alike_is_fine: bool = False,
) -> Layer:
    """Find the picture of each frame of a set: by stamps, to a millisecond, else by their order where both are as many.

    Args:
        shown: the frames of both sets.
        pictures: what the recording holds; several of one name are several clocks.
        path: the recording, for messages.
        losses: takes frames that the recording does not hold.
        side: the set, "a" or "b"; None for the one that fits.
        image_topic: the topic or entity of the pictures; None for the one that fits.
        alike_is_fine: take the first of several topics that fit alike: nothing but times is taken from it.
    """
    if not pictures:
        raise SimjudgeError(f"{path}: holds no pictures to lay a result over; give the recording that was compared")
    names = sorted({each.name for each in pictures})
    if image_topic is not None:
        pictures = [each for each in pictures if each.name.lstrip("/") == image_topic.lstrip("/")]
        if not pictures:
            raise UsageError(f"--image-topic {image_topic}: {path} has no such pictures; it has {list_some(names)}")
    if side is None:
        itself = [which for which, place in shown.paths.items() if place.exists() and place.samefile(path)]
        side = itself[0] if len(itself) == 1 else None
    found = _by_stamps(shown, pictures, side) or _by_order(shown, pictures, side)
    if not found:
        raise SimjudgeError(f"{path}: {_misfit(shown, pictures, side)}")
    sides, fitting = sorted({each.side for each in found}), sorted({each.name for each in found})
    if len(sides) > 1:
        called = " or ".join(f"--side {each} for {getattr(shown.names, each)}" for each in sides)
        raise UsageError(f"{path}: both sets fit its pictures; say {called}")
    if len(fitting) > 1 and not alike_is_fine:
        raise UsageError(f"{path}: {list_some(fitting)} fit alike; say which with --image-topic")
    layer = found[0]
    held = {id(each.frame) for each in layer.frames}
    for frame in shown.frames:
        if frame.which == layer.side and id(frame) not in held:
            losses.add("frames whose picture the recording does not hold", f"{frame.which.upper()}/{frame.name}")
    return layer


def _of_side(shown: ResultFrames, side: str) -> tuple[list[ResultFrame], IntArray]:
    """The frames of a set and their stamps."""
    frames = [frame for frame in shown.frames if frame.which == side]
    held = shown.sets.get(side)
    numbers = [shown.numbers.get((side, frame.name)) for frame in frames]
    stamps = [
        name_to_stamp(frame.name) if held is None or number is None else int(held.stamp[number])
        for frame, number in zip(frames, numbers, strict=True)
    ]
    return frames, np.array(stamps, np.int64)


def _by_stamps(shown: ResultFrames, pictures: Sequence[PictureTimes], side: str | None) -> list[Layer]:
    """The best fits; several where they are equally good."""
    fits: list[Layer] = []
    for which in SIDES if side is None else (side,):
        frames, stamps = _of_side(shown, which)
        known = np.flatnonzero(stamps != NO_STAMP)
        for each in pictures:
            there = np.flatnonzero(each.stamp != NO_STAMP)
            first, second = pair_stamps(stamps[known], each.stamp[there], _TOLERANCE_NS)
            pairs = sorted(zip(there[second].tolist(), known[first].tolist(), strict=True))
            placed = [LayerFrame(frames[row], picture, int(stamps[row])) for picture, row in pairs]
            fits.append(Layer(which, each.name, f"by their stamps ({each.clock})", placed))
    most = max((len(each.frames) for each in fits), default=0)
    return [each for each in fits if most and len(each.frames) == most]


def _by_order(shown: ResultFrames, pictures: Sequence[PictureTimes], side: str | None) -> list[Layer]:
    """Where a set has as many frames as there are pictures."""
    fits: list[Layer] = []
    for which in SIDES if side is None else (side,):
        held = shown.sets.get(which)
        frames, stamps = _of_side(shown, which)
        for each in pictures if held is not None else ():
            if len(each.stamp) != len(held or ()):
                continue
            placed = [
                LayerFrame(frame, shown.numbers[which, frame.name], stamp)
                for frame, stamp in zip(frames, stamps.tolist(), strict=True)
                if (which, frame.name) in shown.numbers  # the set may have changed since
            ]
            if not placed:
                continue
            how = "by their order, because no stamps agree"
            fits.append(Layer(which, each.name, how, sorted(placed, key=lambda one: one.picture)))
    return fits


def _misfit(shown: ResultFrames, pictures: Sequence[PictureTimes], side: str | None) -> str:
    """Say what does not go together, and what to do."""
    has = list_some([f"{each.name} {len(each.stamp)} pictures, {each.clock} {_span(each.stamp)}" for each in pictures])
    sets = []
    for which in SIDES if side is None else (side,):
        frames, stamps = _of_side(shown, which)
        sets.append(f"{which.upper()} {len(frames)} frames, stamps {_span(stamps)}")
    return (
        f"no picture in it is a frame of the result: it has {has}; the result has {'; '.join(sets)}. Give the recording"
        " that was compared"
    )


def _span(stamps: IntArray) -> str:
    known = stamps[stamps != NO_STAMP]
    return f"{known.min() / 1e9:.3f} s to {known.max() / 1e9:.3f} s" if len(known) else "none"


FRAME_NUMBERS = ("w1", "performance", "overlap")


def frame_numbers(shown: ResultFrames, frame: ResultFrame) -> dict[str, float]:
    """What is said of a frame, by FRAME_NUMBERS: means over its contexts; what is known of none is left out."""
    contexts, rows = shown.contexts, frame.rows
    w1 = contexts["w1"][rows]
    numbers = {
        "performance": float(np.mean(contexts["performance"][rows])),
        "overlap": float(np.mean(contexts["in_overlap"][rows])),
    }
    return {"w1": float(np.nanmean(w1)), **numbers} if np.isfinite(w1).any() else numbers


def verdict_level(verdict: Verdict) -> int:
    """How bad a verdict is: 0 fine, 1 not told, 2 a gap that matters."""
    if verdict.within:
        return 0
    return 2 if verdict.outcome in (Outcome.GAP, Outcome.NO_OVERLAP) else 1
