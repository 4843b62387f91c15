"""What sets record, drawn at random: which object stands where, in which frame, and what chance drew together.

Photographs, videos, drives, laps and rooms, for the designs of `verdict_designs.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray, IntArray

IMAGE = (1280, 720)
PATCH_PX = 72
"""Side of the patch in which each object of every design is alone."""
CELL_PX = 160
"""Side of the squares of strewn images, each of which holds one object at most."""
WIDTH_BY_DEPTH = 245.0
"""Pixels times metres: a cone of 0.35 m before a lens of 700 px."""
NEAR_M, FAR_M = 4.0, 16.0
"""Depth at which a cone leaves the image, and at which it is first labelled."""
ROOM_M = (24.0, 16.0)
"""Sides of a room."""
STEP_NS = 100_000_000
"""10 frames a second."""
EPOCH_NS = 1_403_636_579_763_555_584


@dataclass(frozen=True)
class Recording:
    """N objects in F frames, before anybody has looked for them.

    Attributes:
        frame: int64 (N,), ascending.
        width, height: int64 (N,), even: with whole centres, equal objects have equal patches.
        x, y: int64 (N,), the centre, pixels.
        unit: int64 (N,), what chance drew: a thing, or the frame where all of a frame is new.
        thing: int64 (N,), whose part of the performance an object has.
        frame_count: F.
        size: width and height of the images.
        class_id: int64 (N,).
        name, stamp, independent: see `FrameSet`; None: the names of photographs.
        instance: int64 (N,), as the set tells it; None: the set tells nothing.
        crowded: bool (N,), which have a neighbour that covers a part of them; None: nobody.
        of_frame: int64 (F,), the drive or scene of each frame; None: the set is one.
    """

    frame: IntArray
    width: IntArray
    height: IntArray
    x: IntArray
    y: IntArray
    unit: IntArray
    thing: IntArray
    frame_count: int
    size: tuple[int, int] = IMAGE
    class_id: IntArray | None = None
    name: list[str] | None = None
    stamp: IntArray | None = None
    independent: bool = False
    instance: IntArray | None = None
    crowded: BoolArray | None = None
    of_frame: IntArray | None = None


Record = Callable[[np.random.Generator], Recording]
"""Draws a recording."""
Sizes = Callable[[np.random.Generator, int], tuple[IntArray, IntArray]]
"""Draws widths and heights of so many objects."""


@dataclass(frozen=True)
class Kinds:
    """Widths and heights of which no two are similar at a threshold of 0.8.

    Attributes:
        count: kinds, 25 at most.
    """

    count: int = 4

    @property
    def table(self) -> IntArray:
        """int64 (count, 2), width and height."""
        sides = (20, 26, 34, 44, 56)
        return np.array([(w, h) for w in sides for h in sides])[:: 25 // self.count][: self.count]

    def __call__(self, random: np.random.Generator, count: int) -> tuple[IntArray, IntArray]:
        """Draw sizes."""
        chosen = self.table[random.integers(0, self.count, count)]
        return chosen[:, 0], chosen[:, 1]


@dataclass(frozen=True)
class BetaSizes:
    """Squares whose side lies between two ends.

    Attributes:
        first, second: parameters of the beta distribution.
        ends: smallest and largest side, pixels.
    """

    first: float
    second: float
    ends: tuple[int, int] = (20, 60)

    def __call__(self, random: np.random.Generator, count: int) -> tuple[IntArray, IntArray]:
        """Draw sizes."""
        side = _even(self.ends[0] + (self.ends[1] - self.ends[0]) * random.beta(self.first, self.second, count))
        return side, side


def depth_sizes(random: np.random.Generator, count: int) -> tuple[IntArray, IntArray]:
    """Sizes of cones at any depth at which a drive sees them.

    Args:
        random: draws them.
        count: how many.
    """
    side = _even(WIDTH_BY_DEPTH / random.uniform(NEAR_M, FAR_M, count))
    return side, side


def photographs(
    count: int, sizes: Sizes, objects: int = 3, classes: int = 1, ids: int = 0, *, random_poses: bool = False
) -> Record:
    """Frames that have nothing to do with each other.

    Args:
        count: frames.
        sizes: of the objects.
        objects: in each frame.
        classes: of the objects, in equal numbers.
        ids: instance numbers from 1 on that begin again in each frame; 0: the set tells none.
        random_poses: the set says that its frames are independent; each object is a thing of its own.
    """

    def record(random: np.random.Generator) -> Recording:
        strewn = _strewn(random, count, sizes, objects, classes, ids)
        thing = np.arange(len(strewn.frame)) if random_poses else strewn.thing
        return replace(strewn, thing=thing, name=_words(random, count), independent=random_poses)

    return record


def crowds(count: int, sizes: Sizes, share: float) -> Record:
    """Photographs of single things, and of pairs of things of which each covers up to six tenths of the other.

    Args:
        count: frames.
        sizes: of the things; those of a pair are alike.
        share: of the frames that show pairs.
    """

    def record(random: np.random.Generator) -> Recording:
        strewn = _strewn(random, count, sizes, 3, 1, 0)
        crowded = (random.random(count) < share)[strewn.frame]
        beside = np.rint(strewn.height * random.uniform(0.4, 0.9, len(crowded)) * random.choice((-1, 1), len(crowded)))
        rows = np.concatenate([np.arange(len(crowded)), np.flatnonzero(crowded)])
        y = np.concatenate([strewn.y, (strewn.y + beside.astype(np.int64))[crowded]])
        order = np.argsort(strewn.frame[rows], kind="stable")
        columns = {
            name: getattr(strewn, name)[rows[order]]
            for name in ("frame", "width", "height", "x", "unit", "thing", "class_id")
        }
        return replace(strewn, **columns, y=y[order], crowded=crowded[rows[order]], name=_words(random, count))

    return record


def named_video(count: int, sizes: Sizes, naming: Callable[[np.random.Generator, int], list[str]]) -> Record:
    """Frames of a video that share their light with their neighbours, and whose names alone say when they were.

    Args:
        count: frames.
        sizes: of the objects.
        naming: gives the names in order of time.
    """

    def record(random: np.random.Generator) -> Recording:
        return replace(_strewn(random, count, sizes, 3, 1, 0), name=naming(random, count))

    return record


def nanosecond_names(_random: np.random.Generator, count: int) -> list[str]:
    """19 digits."""
    return [str(EPOCH_NS + STEP_NS * i) for i in range(count)]


def second_names(random: np.random.Generator, count: int) -> list[str]:
    """Seconds, a point, microseconds, as a computer writes them that is late now and then."""
    late = random.integers(0, 20_000, count)
    stamps = EPOCH_NS // 1000 + 10**5 * np.arange(count) + late
    return [f"{micro // 10**6}.{micro % 10**6:06d}" for micro in stamps.tolist()]


def uneven_names(random: np.random.Generator, count: int) -> list[str]:
    """Nanoseconds since a clock began, of frames that come when they can."""
    steps = STEP_NS * random.lognormal(0, 0.8, count)
    return [str(at) for at in (10**12 + np.cumsum(steps.astype(np.int64))).tolist()]


def drive(
    count: int,
    spacing_m: float = 3.5,
    step_m: float = 0.6,
    laps: int = 1,
    *,
    course: int | None = None,
    ids: bool = False,
    regular: bool = False,
) -> Record:
    """A camera that drives past cones, left and right in turn; each is seen from far to near.

    Args:
        count: frames of a lap.
        spacing_m: from cone to cone.
        step_m: from frame to frame.
        laps: rounds of a circle as long as a lap, past the same cones; 1: straight on.
        course: drives of one number are past the same cones; None: past new ones.
        ids: the set tells which cone is which.
        regular: cones stand evenly, so that one place of the course looks like another.
    """

    def record(random: np.random.Generator) -> Recording:
        length = count * step_m
        cones = round((length if laps > 1 else length + FAR_M) / spacing_m)
        along = np.concatenate([(np.arange(count) + random.uniform()) * step_m for _ in range(laps)])
        radius = length / (2 * np.pi) if laps > 1 else np.inf
        placed = random if course is None else np.random.default_rng(course)
        free = 0.05 if regular else 0.3
        place = spacing_m * (np.arange(cones) + 0.5 + free * placed.uniform(-1, 1, cones))
        beside = np.where(np.arange(cones) % 2, 1, -1) * (2 + 2 * free * placed.uniform(-1, 1, cones))
        camera = _on_course(along, random.normal(0, 0.1, len(along)), radius)
        cone = _on_course(place, beside, radius)
        frame, thing = (part.ravel() for part in np.indices((len(along), cones)))
        dx, dy = (cone[thing, i] - camera[frame, i] for i in (0, 1))
        heading = camera[frame, 2]
        depth, left = np.cos(heading) * dx + np.sin(heading) * dy, np.cos(heading) * dy - np.sin(heading) * dx
        return _seen(
            frame,
            thing,
            depth,
            left,
            len(along),
            stamp=EPOCH_NS + STEP_NS * np.arange(len(along)),
            instance=thing + 1 if ids else None,
        )

    return record


def several(record: Record, count: int, *, same_things: bool = False) -> Record:
    """Several recordings joined to one set, some time between one and the next.

    Args:
        record: draws each.
        count: how many.
        same_things: all are past the same things, by number.
    """

    def joined(random: np.random.Generator) -> Recording:
        parts = [record(random) for _ in range(count)]
        frames = np.cumsum([0, *(part.frame_count for part in parts)])
        numbers = [
            max(int(part.thing.max()), int((part.thing if part.instance is None else part.instance).max()))
            for part in parts
        ]
        things = np.cumsum([0, *(0 if same_things else most + 1 for most in numbers)])
        first = parts[0]
        columns = {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in ("width", "height", "x", "y")
        }
        thing = np.concatenate([part.thing + things[r] for r, part in enumerate(parts)])
        ids = [part.instance + things[r] for r, part in enumerate(parts) if part.instance is not None]
        stamps = [part.stamp for part in parts if part.stamp is not None]
        return replace(
            first,
            **columns,
            frame=np.concatenate([part.frame + frames[r] for r, part in enumerate(parts)]),
            unit=thing,
            thing=thing,
            frame_count=int(frames[-1]),
            class_id=None,
            name=None if first.name is None else [name for part in parts for name in part.name or ()],
            stamp=np.concatenate([at + r * 10**11 for r, at in enumerate(stamps)]) if stamps else None,
            instance=np.concatenate(ids) if ids else None,
            of_frame=np.repeat(np.arange(count), [part.frame_count for part in parts]),
        )

    return joined


def room(count: int, cones: int = 58) -> Record:
    """Random poses in one room, each towards some cone; each cone has an id, and is in many frames of both sets.

    Args:
        count: frames.
        cones: in the room.
    """

    def record(random: np.random.Generator) -> Recording:
        place = np.random.default_rng(58).uniform(0, ROOM_M, (cones, 2))
        camera = random.uniform(0, ROOM_M, (count, 2))
        heading = np.arctan2(*(place[random.integers(0, cones, count)] - camera).T[::-1])
        frame, thing = (part.ravel() for part in np.indices((count, cones)))
        dx, dy = (place[thing, i] - camera[frame, i] for i in (0, 1))
        ahead = np.cos(heading)[frame] * dx + np.sin(heading)[frame] * dy
        left = np.cos(heading)[frame] * dy - np.sin(heading)[frame] * dx
        return _seen(frame, thing, ahead, left, count, name=_words(random, count), independent=True, instance=thing + 1)

    return record


def slow_video(count: int, seen: int = 31) -> Record:
    """Three lanes through which one cone after the other moves, a few pixels a frame.

    Args:
        count: frames.
        seen: frames in which a cone is in the image.
    """
    step_px, sides = 8, np.array([28, 36, 46])

    def record(random: np.random.Generator) -> Recording:
        lanes = []
        for lane, first in enumerate(random.integers(0, seen, 3)):
            place = np.arange(count) + first
            things = int(place[-1] // seen) + 1
            side = sides[random.integers(0, len(sides), things)][place // seen]
            x = 36 + step_px * (place % seen)
            lanes.append(
                np.stack(
                    [
                        np.arange(count),
                        side,
                        x,
                        np.full(count, 120 + 240 * lane),
                        sum(len(np.unique(each[4])) for each in lanes) + place // seen,
                    ]
                )
            )
        frame, side, x, y, thing = np.concatenate(lanes, axis=1)
        order = np.argsort(frame, kind="stable")
        frame, side, x, y, thing = (column[order] for column in (frame, side, x, y, thing))
        width = 72 + step_px * (seen - 1)
        return Recording(
            frame,
            side,
            side,
            x,
            y,
            thing,
            thing,
            count,
            size=(width, IMAGE[1]),
            stamp=EPOCH_NS + STEP_NS * np.arange(count),
        )

    return record


def _strewn(random: np.random.Generator, count: int, sizes: Sizes, objects: int, classes: int, ids: int) -> Recording:
    columns, rows = (side // CELL_PX for side in IMAGE)
    cell = np.argsort(random.random((count, columns * rows)), axis=1)[:, :objects].ravel()
    moved = random.integers(-30, 31, (2, count * objects))
    frame = np.repeat(np.arange(count), objects)
    width, height = sizes(random, len(frame))
    instance = np.argsort(random.random((count, ids)), axis=1)[:, :objects].ravel() + 1 if ids else None
    return Recording(
        frame,
        width,
        height,
        CELL_PX // 2 + CELL_PX * (cell % columns) + moved[0],
        CELL_PX // 2 + CELL_PX * (cell // columns) + moved[1],
        frame,
        frame,
        count,
        class_id=random.integers(1, classes + 1, len(frame)),
        instance=instance,
    )


def _seen(frame: IntArray, thing: IntArray, depth: FloatArray, left: FloatArray, count: int, **known: Any) -> Recording:
    """Cones at places before the camera, those of them that are in the image and that no nearer one hides."""
    seen = (depth >= NEAR_M) & (depth <= FAR_M)
    x = np.rint(IMAGE[0] / 2 - 700 * left / np.where(seen, depth, 1)).astype(np.int64)
    seen &= (x > 40) & (x < IMAGE[0] - 40)
    rows, depth, x = np.flatnonzero(seen), depth[seen], x[seen]
    side, y = _even(WIDTH_BY_DEPTH / depth), np.rint(IMAGE[1] / 2 + 560 / depth).astype(np.int64)
    alone = _alone(frame[rows], side, x, y)
    rows, side, x, y = (column[alone] for column in (rows, side, x, y))
    if known.get("instance") is not None:
        known["instance"] = known["instance"][rows]
    return Recording(frame[rows], side, side, x, y, thing[rows], thing[rows], count, **known)


def _alone(frame: IntArray, side: IntArray, x: IntArray, y: IntArray) -> np.ndarray:
    """Which boxes no larger box is so near to that one is in the patch of the other: it would hide them."""
    alone = np.ones(len(frame), np.bool_)
    for step in range(1, int(np.bincount(frame).max())):
        near = frame[step:] == frame[:-step]
        reach = PATCH_PX // 2 + np.maximum(side[step:], side[:-step]) // 2
        for place in (x, y):
            near &= np.abs(place[step:] - place[:-step]) < reach
        later = side[step:] <= side[:-step]
        alone[step:] &= ~(near & later)
        alone[:-step] &= ~(near & ~later)
    return alone


def _on_course(along: FloatArray, left: FloatArray, radius: float) -> FloatArray:
    """x, y and heading at lengths of a course, and to its left."""
    if np.isinf(radius):
        return np.stack([along, left, np.zeros(len(along))], 1)
    angle = along / radius
    return np.stack([(radius - left) * np.sin(angle), radius - (radius - left) * np.cos(angle), angle], 1)


def _words(random: np.random.Generator, count: int) -> list[str]:
    letters = random.integers(ord("a"), ord("z") + 1, (count, 12), np.uint8)
    return [row.tobytes().decode() for row in letters]


def _even(side: FloatArray) -> IntArray:
    return 2 * np.rint(side / 2).astype(np.int64)
