"""Pairs of labelled sets whose difference is known: what `verdicts.py` tries verdicts on.

A recording says which object stands where, in which frame, and what chance drew together. Effects give each object its
performance: one part that a thing keeps (a cone in all its sightings, a scene), one of its frame, one of time, one of
its own. Every part is normal, so that W1 between the populations of both sets has a formula. An object's prediction is
its box, cut to the share that its performance says: the IoU of the two is that performance.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.integrate import trapezoid
from scipy.signal import lfilter
from scipy.stats import norm
from verdict_recordings import (
    BetaSizes,
    Kinds,
    Record,
    Recording,
    crowds,
    depth_sizes,
    drive,
    named_video,
    nanosecond_names,
    photographs,
    room,
    second_names,
    several,
    slow_video,
    uneven_names,
)

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects, Predictions

LEAST, MOST = 0.02, 1.0
"""Ends of the performance of a found object."""
FIVE = 5.0
"""Correlation times in a block of time."""


@dataclass(frozen=True)
class Effects:
    """Standard deviations of the parts of performance, and what else it depends on.

    Attributes:
        unit: of the part that a thing keeps.
        frame: of the part that a frame's objects share.
        time: of the part that goes with neighbouring frames; `correlation` of neighbours.
        own: of each sighting by itself.
        missed: share of the objects that nobody finds.
        mean: of performance at a side of 35 px.
        slope: by how much performance grows with the logarithm of the side.
        crowd: by how much it is lower where another thing covers a part of one.
        recording: of the part that all of a recording shares.
        recording_kind: of the part that the objects of one size share in a recording.
    """

    unit: float = 0.06
    frame: float = 0.05
    time: float = 0.0
    correlation: float = 0.8
    own: float = 0.1
    missed: float = 0.0
    mean: float = 0.62
    slope: float = 0.0
    crowd: float = 0.0
    recording: float = 0.0
    recording_kind: float = 0.0

    @property
    def spread(self) -> float:
        """Standard deviation of the sum."""
        parts = (self.unit, self.frame, self.time, self.own, self.recording, self.recording_kind)
        return float(np.sqrt(np.square(parts).sum()))

    @property
    def block_frames(self) -> int:
        """Frames of a block of time: five integrated correlation times."""
        return int(np.ceil(FIVE * (1 + self.correlation) / (1 - self.correlation)))

    def expected(self, width: IntArray, height: IntArray) -> FloatArray:
        """Mean performance before it is cut to its ends."""
        return self.mean + self.slope * np.log(np.sqrt(width * height) / 35)


@dataclass(frozen=True)
class Difference:
    """How B differs from A.

    Attributes:
        gap: by how much the performance of B's found objects is lower.
        kinds: so many of the kinds (see `Kinds`) are lower, the others are not; 0: all objects.
        missed: share of the objects that B misses more.
    """

    gap: float = 0.0
    kinds: int = 0
    missed: float = 0.0

    def __str__(self) -> str:
        """A few words."""
        what = f"gap {self.gap:g}" if self.gap else f"{self.missed:g} more missed" if self.missed else "none"
        return what + (f", {self.kinds} kinds" if self.kinds else "")


NOTHING = Difference()
SMALL_GAP = Difference(0.06)


@dataclass(frozen=True)
class Side:
    """One set.

    Attributes:
        frames: the set as simjudge reads it.
        performance: float64 (N,), which the IoU of each object must be; 0 where it is missed.
        units: int64 (N,) each: everything that chance drew together, one column or two (things, blocks of time).
        levelled: float64 (N,), performance less what its size and its neighbours do to an object; 0 where missed.
    """

    frames: FrameSet
    performance: FloatArray
    units: tuple[IntArray, ...]
    levelled: FloatArray


@dataclass(frozen=True)
class Design:
    """Two sets, drawn again and again.

    Attributes:
        name: of one word.
        words: what it is, for the table.
        units: how many true units the poorer side has, about.
        a, b: what each set records.
        effects: on the performance of both.
        differences: besides none, and gaps of 0.1 and 0.2.
        settings: of the comparison, where it is not `CompareSettings()` (patch 72).
        by_time: blocks of time are what was drawn: nothing else is shared.
        paired: frame i of B shows the scene of frame i of A.
        same_things: B shows the things of A, so that a thing is one unit of both; of pairs it always is.
        earlier_power: how often permutations of frames found a gap of 0.06 (300 trials); None where they were no test.
    """

    name: str
    words: str
    units: int
    a: Record
    b: Record
    effects: Effects = field(default_factory=Effects)
    differences: tuple[Difference, ...] = ()
    settings: dict[str, object] = field(default_factory=dict)
    by_time: bool = False
    paired: bool = False
    same_things: bool = False
    earlier_power: float | None = None

    def draw(self, random: np.random.Generator, difference: Difference = NOTHING) -> tuple[Side, Side]:
        """Draw both sets; what differs is drawn last, so that one seed gives the same sets with and without it.

        Args:
            random: draws them.
            difference: of B from A.
        """
        first = self.a(random)
        second = first if self.paired else self.b(random)
        kept = random.normal(0, self.effects.unit, int(first.thing.max()) + 1)
        same = self.paired or self.same_things
        others = kept if same else random.normal(0, self.effects.unit, int(second.thing.max()) + 1)
        shift = 0 if same else int(first.unit.max()) + 1
        return (
            self._side("A", first, kept, 0, random, NOTHING),
            self._side("B", second, others, shift, random, difference),
        )

    def draw_several(
        self, random: np.random.Generator, differences: tuple[Difference, ...], *, same_poses: bool
    ) -> tuple[Side, list[Side]]:
        """Draw A and a B for each difference; B's of the same poses share scene and things.

        Args:
            random: draws them.
            differences: of each B from A.
            same_poses: whether all B's show what the first of them shows.
        """
        a, _ = self.draw(random)
        out: list[Side] = []
        recorded = self.b(random)
        kept = random.normal(0, self.effects.unit, int(recorded.thing.max()) + 1)
        for difference in differences:
            if out and not same_poses:
                recorded = self.b(random)
                kept = random.normal(0, self.effects.unit, int(recorded.thing.max()) + 1)
            out.append(self._side("B", recorded, kept, 10**7, random, difference))
        return a, out

    def truth(self, difference: Difference = NOTHING, count: int = 5000) -> float:
        """The mean over A's contexts of W1 between both populations at the object's own size.

        Args:
            difference: of B from A.
            count: objects of A whose sizes are averaged, at least.
        """
        if difference == NOTHING:
            return 0.0
        random = np.random.default_rng(7)
        sizes: dict[tuple[int, int], int] = {}
        while sum(sizes.values()) < count:
            recorded = self.a(random)
            pairs, number = np.unique(np.stack([recorded.width, recorded.height], 1), axis=0, return_counts=True)
            for (w, h), many in zip(pairs.tolist(), number.tolist(), strict=True):
                sizes[w, h] = sizes.get((w, h), 0) + many
        if difference.kinds:
            # Kinds come in equal numbers: their share is no matter of chance.
            sizes = dict.fromkeys(sizes, 1)
        total = sum(many * self._size_gap(np.array(size), difference) for size, many in sizes.items())
        return total / sum(sizes.values())

    def _size_gap(self, size: IntArray, difference: Difference) -> float:
        differs = bool(_differs(difference, size[:1], size[1:])[0])
        if not differs:
            return 0.0
        mean = float(self.effects.expected(size[:1], size[1:])[0])
        grid = np.linspace(LEAST, MOST, 20_001)
        found = [1 - self.effects.missed, 1 - self.effects.missed - difference.missed]
        below = [
            1 - share + share * norm.cdf(grid, mean - lower, self.effects.spread)
            for share, lower in zip(found, (0, difference.gap), strict=True)
        ]
        # Below LEAST nobody but the missed: there both are level.
        return float(trapezoid(np.abs(below[0] - below[1]), grid) + LEAST * abs(found[0] - found[1]))

    def _side(
        self,
        name: str,
        recorded: Recording,
        kept: FloatArray,
        shift: int,
        random: np.random.Generator,
        difference: Difference,
    ) -> Side:
        effects, count = self.effects, len(recorded.frame)
        of_frame = random.normal(0, effects.frame, recorded.frame_count)
        # What was drawn frame by frame has no neighbours.
        correlation = 0.0 if recorded.independent else effects.correlation
        of_frame = of_frame + effects.time * _autoregressive(random, recorded.frame_count, correlation)
        varied = kept[recorded.thing] + of_frame[recorded.frame] + random.normal(0, effects.own, count)
        if recorded.of_frame is not None:
            varied = varied + _recording_part(recorded, effects, random)
        chance = random.random(count)
        differs = _differs(difference, recorded.width, recorded.height)
        expected = effects.expected(recorded.width, recorded.height)
        if recorded.crowded is not None:
            expected = expected - effects.crowd * recorded.crowded
        value = np.clip(expected + varied - np.where(differs, difference.gap, 0), LEAST, MOST)
        found = chance >= effects.missed + np.where(differs, difference.missed, 0)
        units = [] if self.by_time else [recorded.unit + shift]
        others = 10**6 if name == "B" and not self.paired else 0
        if effects.time and not recorded.independent:
            units.append(recorded.frame // effects.block_frames + others)
        if effects.frame and recorded.independent and recorded.instance is not None:
            units.append(recorded.frame + others)
        if recorded.of_frame is not None and (effects.recording or effects.recording_kind):
            units.append(recorded.of_frame[recorded.frame] + others)
        return Side(
            _frames(name, recorded, value, found),
            np.where(found, value, 0),
            tuple(units),
            np.where(found, value - expected + effects.mean, 0),
        )


def _recording_part(recorded: Recording, effects: Effects, random: np.random.Generator) -> FloatArray:
    """What all of a recording share, and what its objects of one size do."""
    if recorded.of_frame is None:
        return np.zeros(len(recorded.frame))
    of_object = recorded.of_frame[recorded.frame]
    size = np.unique(np.stack([of_object, recorded.width, recorded.height]), axis=1, return_inverse=True)[1].reshape(-1)
    whole = random.normal(0, effects.recording, int(of_object.max()) + 1)
    return whole[of_object] + random.normal(0, effects.recording_kind, int(size.max()) + 1)[size]


def _frames(name: str, recorded: Recording, value: FloatArray, found: np.ndarray) -> FrameSet:
    x0, y0 = recorded.x - recorded.width // 2, recorded.y - recorded.height // 2
    box = np.stack([x0, y0, x0 + recorded.width, y0 + recorded.height], 1).astype(np.float64)
    guess = box.copy()
    guess[:, 2] = box[:, 0] + value * recorded.width
    class_id = np.ones(len(box), np.int64) if recorded.class_id is None else recorded.class_id
    return FrameSet.build(
        name,
        np.tile(recorded.size, (recorded.frame_count, 1)),
        Objects.build(recorded.frame, class_id, box, recorded.instance),
        Predictions.build(recorded.frame[found], class_id[found], guess[found], np.full(int(found.sum()), 0.9)),
        frame_name=recorded.name,
        stamp=recorded.stamp,
        class_names={int(k): f"kind {k}" for k in np.unique(class_id)},
        independent=recorded.independent,
        recording=[] if recorded.of_frame is None else [f"drive {r}" for r in recorded.of_frame.tolist()],
    )


def _differs(difference: Difference, width: IntArray, height: IntArray) -> np.ndarray:
    if not difference.kinds:
        return np.full(len(width), difference != NOTHING)
    lower = Kinds(25).table[: difference.kinds]
    return (np.stack([width, height], 1)[:, np.newaxis] == lower).all(2).any(1)


def _autoregressive(random: np.random.Generator, count: int, correlation: float) -> FloatArray:
    """A stationary AR(1) series of variance 1."""
    noise = random.standard_normal(count)
    noise[1:] *= np.sqrt(1 - correlation**2)
    series: FloatArray = lfilter([1], [1, -correlation], noise)
    return series


_LAPS = Effects(unit=0.1, frame=0.03, own=0.05)
_PHOTOGRAPHS = Effects(unit=0.08, frame=0.0, own=0.15)
_LIGHT = Effects(unit=0.0, frame=0.0, time=0.1, own=0.12)
_SIZES = Effects(unit=0.05, frame=0.0, own=0.17, mean=0.58, slope=0.3)
_FOUR, _ONE_KIND = Kinds(4), Difference(0.3, kinds=1)


def _designs() -> list[Design]:
    found = [
        Design(
            f"frames_{count}",
            f"independent frames, {count} a side",
            count,
            photographs(count, _FOUR),
            photographs(count, _FOUR),
            _PHOTOGRAPHS,
            (SMALL_GAP,),
            earlier_power=earlier,
        )
        for count, earlier in ((50, 0.567), (120, 0.93), (300, 1.0))
    ]
    found += [
        Design(
            "frames_50_500",
            "independent frames, 50 against 500",
            50,
            photographs(50, _FOUR),
            photographs(500, _FOUR),
            _PHOTOGRAPHS,
        ),
        Design(
            "frames_missed",
            "independent frames, 120 a side, one object in five missed",
            120,
            *[photographs(120, _FOUR)] * 2,
            replace(_PHOTOGRAPHS, missed=0.2),
        ),
        Design(
            "frames_classes",
            "independent frames, 120 a side, eight classes",
            120,
            *[photographs(120, Kinds(1), 6, 8)] * 2,
            _PHOTOGRAPHS,
        ),
    ]
    found.append(
        Design(
            "frames_50_one",
            "independent frames, 50 a side, one kind of contexts",
            50,
            *[photographs(50, Kinds(1))] * 2,
            _PHOTOGRAPHS,
            (Difference(0.05), SMALL_GAP),
        )
    )
    for word, means in (("", {}), ("_ids", {"ids": True}), ("_regular", {"regular": True})):
        laps = drive(200, spacing_m=5.0, laps=5, **means)
        says = {"": "", "_ids": ", with instance ids", "_regular": ", all evenly spaced"}[word]
        found += [
            Design(
                f"laps_random{word}",
                f"5 laps of 200 frames past 24 cones against 600 random poses{says}",
                24,
                laps,
                photographs(600, depth_sizes, random_poses=True),
                _LAPS,
            ),
            Design(
                f"laps_laps{word}",
                f"5 laps of 200 frames past 24 cones against 5 past 24 others{says}",
                24,
                laps,
                laps,
                _LAPS,
            ),
        ]
    for word, step, regular in (("fast", 1.0, False), ("fast_regular", 1.0, True), ("half_regular", 0.5, True)):
        laps = drive(round(95 / step), step_m=step, laps=5, regular=regular)
        says = f", {step:g} m between frames{', all evenly spaced' if regular else ''}"
        poses = photographs(600, depth_sizes, random_poses=True)
        found += [
            Design(f"laps_{name}_{word}", f"5 laps past 27 cones against {what}{says}", 27, laps, other, _LAPS)
            for name, what, other in (("random", "600 random poses", poses), ("laps", "5 past 27 others", laps))
        ]
    replay = drive(200, spacing_m=5.0, laps=5, course=1, ids=True)
    found.append(
        Design(
            "laps_replay_ids",
            "5 laps of 200 frames past 24 cones against 5 past the same, with instance ids",
            24,
            replay,
            replay,
            _LAPS,
            same_things=True,
        )
    )
    row = drive(1000, spacing_m=5.0, regular=True)
    found.append(
        Design(
            "row_regular",
            "a straight road past 122 posts, all evenly spaced, each seen once, 1,000 frames a side",
            122,
            row,
            row,
            _LAPS,
        )
    )
    found += [
        Design(
            f"drive_{count}",
            f"a drive of {count} frames against {count} random poses",
            units,
            drive(count, step_m=0.12),
            photographs(count, depth_sizes, random_poses=True),
        )
        for count, units in ((600, 25), (1500, 56))
    ]
    found += [
        Design(
            f"room_{count}{word}",
            f"{count} random poses among 58 cones with ids, {says}",
            min(count, 58),
            *[room(count)] * 2,
            differences=(SMALL_GAP,),
            paired=bool(word),
            same_things=True,
        )
        for count in (30, 60, 120)
        for word, says in (("", "against as many others"), ("_pairs", "in pairs"))
    ]
    found += [
        Design(
            f"slow_{count}",
            f"slow video, a cone seen in 31 frames, {count} frames a side",
            units,
            *[slow_video(count)] * 2,
        )
        for count, units in ((600, 60), (200, 19))
    ]
    found.append(
        Design(
            "approach_200",
            "a drive in which cones approach over 40 frames, 200 frames a side",
            21,
            drive(200, step_m=0.3),
            drive(200, step_m=0.3),
        )
    )
    found += [
        Design(
            f"names_{word}",
            f"a video of 600 frames named by {says}",
            14,
            *[named_video(600, _FOUR, naming)] * 2,
            _LIGHT,
            by_time=True,
        )
        for word, says, naming in (
            ("nanoseconds", "19-digit nanoseconds", nanosecond_names),
            ("seconds", "sec.usec", second_names),
            ("uneven", "nanoseconds of uneven rate", uneven_names),
        )
    ]
    found += [
        Design(
            f"lasting_{round(100 * correlation)}",
            f"a video of 60 frames whose light lasts, correlation {correlation:g}",
            units,
            *[named_video(60, _FOUR, nanosecond_names)] * 2,
            replace(_LIGHT, correlation=correlation),
            by_time=True,
        )
        for correlation, units in ((0.8, 2), (0.9, 1))
    ]
    found += [
        Design(
            f"sizes_{round(100 * theta)}",
            f"sizes unlike, theta {theta:g}, 400 frames a side",
            400,
            photographs(400, BetaSizes(2, 3)),
            photographs(400, BetaSizes(3, 2)),
            _SIZES,
            settings={"theta": theta},
        )
        for theta in (0.5, 0.6, 0.7, 0.8, 0.9)
    ]
    found += [
        Design(
            f"crowds_{round(100 * theta)}",
            f"things alone and in pairs, 20 against 80 % pairs, theta {theta:g}, 200 frames a side",
            200,
            crowds(200, _FOUR, 0.2),
            crowds(200, _FOUR, 0.8),
            replace(_PHOTOGRAPHS, crowd=0.1),
            settings={"theta": theta},
        )
        for theta in (0.5, 0.6, 0.7)
    ]
    found += [
        Design(
            f"both_{count}",
            f"a drive, object and frame effects together, {count} frames a side",
            blocks,
            *[drive(count)] * 2,
            Effects(unit=0.08, frame=0.0, time=0.08, own=0.07),
        )
        for count, blocks in ((600, 14), (1500, 34))
    ]
    found.append(
        Design(
            "strewn_ids",
            "1,000 strewn scenes with ids 1 to 12 that begin again, against 300 photographs",
            300,
            photographs(300, _FOUR),
            photographs(1000, _FOUR, 4, ids=12),
            _PHOTOGRAPHS,
        )
    )
    found += [
        Design(
            f"kinds_{kinds}",
            f"independent frames, 200 a side, {kinds} kinds of contexts",
            200,
            *[photographs(200, Kinds(kinds))] * 2,
            _PHOTOGRAPHS,
            (_ONE_KIND, *([Difference(missed=0.3, kinds=1)] if kinds == 10 else [])),
        )
        for kinds in (25, 10, 5)
    ]
    found += [
        Design(
            f"pairs_{count}",
            f"{count} pairs of one scene each, strong scene effects",
            count,
            *[photographs(count, _FOUR)] * 2,
            Effects(unit=0.15, frame=0.0, own=0.07),
            (Difference(0.03),),
            paired=True,
        )
        for count in (12, 40, 150)
    ]
    return found


def _recorded(
    name: str, sides: tuple[int, int], effects: Effects, frames: int = 30, *, course: int | None = None
) -> Design:
    """So many drives a side, each past cones of its own, or all past those of one course."""
    drives = drive(frames, spacing_m=1.5, course=course, ids=True)
    a, b = (several(drives, count, same_things=course is not None) for count in sides)
    what = "one course" if course is not None else "cones of their own"
    parts = (("by drive", effects.recording), ("by drive and size", effects.recording_kind))
    said = " and ".join(f"{value:g} {how}" for how, value in parts if value) or "none"
    words = f"{sides[0]} drives of {frames} frames past {what} against {sides[1]}, effect {said}"
    # Where drives differ, they are what chance drew; else it was about so many things.
    units = min(sides) if said != "none" else round(16.3 * min(sides))
    return Design(f"drives_{name}", words, units, a, b, effects, same_things=course is not None)


def _recorded_designs() -> list[Design]:
    plain = Effects(unit=0.1, frame=0.0, own=0.1)
    counts = [*((str(count), (count, count)) for count in (2, 3, 4, 6, 10, 20)), ("3_20", (3, 20))]
    whole = [
        _recorded(f"{name}_{round(100 * size):02d}", sides, replace(plain, recording=size))
        for name, sides in counts
        for size in (0.0, 0.02, 0.05)
    ]
    kinds = [
        _recorded(f"kinds_{count}", (count, count), replace(plain, recording_kind=0.06)) for count in (3, 4, 6, 10)
    ]
    course = [
        _recorded(f"course_{count}", (count, count), replace(plain, recording=0.05), course=1) for count in (3, 4, 10)
    ]
    scenes = [_recorded(f"scenes_{count}", (count, count), replace(plain, recording=0.05), 20) for count in (4, 10)]
    return whole + kinds + course + scenes


DESIGNS = {design.name: design for design in (*_designs(), *_recorded_designs())}
