"""Recordings as a whole: light, tyres, a hand on the lens differ from one to the next (method, section 6).

Every draw carries a shift of the performance between the sets. Its variance is that of the recordings' influences (V)
less what sampling units make of it (U). A part of it is the same in all contexts, the rest goes by context.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.method.bootstrap_loops import NO_SHIFT
from simjudge.method.small_batches import crossed_share

SHIFT_STREAM = 4
"""Of the random numbers: units and blocks have the streams 0 and 1, what else a detector does 2, doubt 3."""
_LEAST_WIDTH, _MOST_WIDTH = 0.01, 0.3
"""Shifts at which the shape of a shifted distribution is taken."""


@dataclass(frozen=True, repr=False)
class RecordingSides(ShortRepr):
    """(R,) of each recording, whether A and whether B shows it. Of a set with one recording, none is told."""

    in_a: BoolArray
    in_b: BoolArray

    @classmethod
    def of_rows(cls, of_a: IntArray, of_b: IntArray) -> RecordingSides:
        """Which recordings the rows of A show, and those of B; numbers are over both sets."""
        every = np.arange(max(int(own.max(initial=-1)) for own in (of_a, of_b)) + 1)
        return cls(np.isin(every, of_a), np.isin(every, of_b))

    @property
    def groups(self) -> IntArray:
        """(R,) 1: A alone shows it, 2: B alone, 3: both."""
        return self.in_a + 2 * self.in_b.astype(np.int64)


@dataclass(frozen=True)
class Spread:
    """What recordings make of a mean: V, what of it is units' (U), and the degrees of freedom of V."""

    by_recordings: float = 0.0
    by_units: float = 0.0
    degrees: float = 1.0

    @property
    def variance(self) -> float:
        """Of the recordings alone."""
        return max(0.0, self.by_recordings - self.by_units)

    def doubted(self, uniform: FloatArray) -> FloatArray:
        """(D,) by what a normal number of the variance V is multiplied in each draw: V is known by its degrees alone.

        `uniform`: (D,) between 0 and 1, from which the chi square numbers are made.
        """
        if not self.by_recordings:
            return np.zeros(len(uniform))
        from scipy.special import gammaincinv  # noqa: PLC0415 - slow to import, needed for several recordings alone

        true = self.degrees / np.maximum(2 * gammaincinv(self.degrees / 2, uniform), 1e-12)
        return np.asarray(np.sqrt(np.maximum(0.0, true - self.by_units / self.by_recordings)))

    @property
    def share(self) -> float:
        """By what a normal number of the variance V is multiplied to have that of the recordings alone."""
        return float(np.sqrt(self.variance / self.by_recordings)) if self.by_recordings else 0.0


def spread_of(
    influence: tuple[FloatArray, FloatArray],
    recording: IntArray,
    unit: IntArray,
    block: IntArray | None,
    sides: RecordingSides,
) -> Spread:
    """V, U and the degrees of influences.

    `influence`: (N,) of each sample on a difference, corrected for few recordings, and for few units; `recording`,
    `unit`, `block`: (N,), see `UnitNumbers`.
    """
    of_recordings, of_units = influence
    groups = sides.groups
    total = np.bincount(recording, of_recordings, len(groups))
    by_group = [float((total[groups == k] ** 2).sum()) for k in (1, 2, 3)]
    counts = [int(np.count_nonzero(groups == k)) for k in (1, 2, 3)]
    told = [(v, count) for v, count in zip(by_group, counts, strict=True) if count > 1 and v > 0]
    by_recordings = sum(v for v, _ in told)
    if not by_recordings:
        return Spread()
    degrees = by_recordings**2 / sum(v**2 / (count - 1) for v, count in told)
    held = np.isin(groups[recording], [k for k, count in zip((1, 2, 3), counts, strict=True) if count > 1])
    group, own = groups[recording][held], of_units[held]
    by_units = _unit_part(own, group, recording[held], unit[held], np.array([0, *counts]))
    if block is not None and (block[held] >= 0).any():
        timed = block[held] >= 0
        of_block, of_cell = (
            float((_sums(own[timed], *(key[timed] for key in keys))[0] ** 2).sum())
            for keys in ((block[held],), (block[held], unit[held]))
        )
        by_units = (by_units + of_block) * float(crossed_share(by_units, of_block, of_cell)) ** 2
    return Spread(by_recordings, by_units, degrees)


def _sums(value: FloatArray, *keys: IntArray) -> tuple[FloatArray, IntArray]:
    """Sums by all keys together, and (keys, sums) which they are."""
    found, place = np.unique(np.stack(keys), axis=1, return_inverse=True)
    return np.asarray(np.bincount(place.reshape(-1), value, found.shape[1]), np.float64), found


def _unit_part(value: FloatArray, group: IntArray, recording: IntArray, unit: IntArray, counts: IntArray) -> float:
    """What units make of V: of one that several recordings show, only how it differs from one to the next."""
    cell, (of_group, _, of_unit) = _sums(value, group, recording, unit)
    whole, (owner, _) = _sums(cell, of_group, of_unit)
    recordings = counts.astype(np.float64)
    # Over all recordings of the side: one that does not show the unit holds nothing of it.
    more = recordings / np.maximum(recordings - 1, 1)
    squares = float((more[of_group] * cell**2).sum())
    return squares - float((more[owner] * whole**2 / np.maximum(recordings[owner], 1)).sum())


@dataclass(frozen=True, repr=False)
class SampleRecordings(ShortRepr):
    """Of N samples, or sums of samples: recording, unit, and block of time (-1: none), for shifts of their own."""

    recording: IntArray
    unit: IntArray
    block: IntArray
    sides: RecordingSides

    def shifts(self, influence: FloatArray, normals: FloatArray, uniform: FloatArray) -> FloatArray:
        """(K, D) the shift of K means in each draw, as Student has it.

        `influence`: (K, N) of each sample on each mean, corrected for few units; `normals`: (R, D); `uniform`: (D,).
        """
        groups = self.sides.groups
        counts = np.bincount(groups, minlength=4).astype(np.float64)[groups]
        # Means of few recordings lie nearer to their own than to what they estimate.
        more = np.where(counts > 1, np.sqrt(counts / np.maximum(counts - 1, 1)), 0.0)[self.recording]
        out = np.zeros((len(influence), len(uniform)))
        for k, own in enumerate(influence):
            spread = spread_of((own * more, own), self.recording, self.unit, self.block, self.sides)
            if spread.by_recordings:
                whole = np.bincount(self.recording, own * more, len(groups)) @ normals
                out[k] = whole * spread.doubted(uniform)
        return out


def shift_numbers(recordings: int, draws: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """(R, draws) normal numbers of recordings, and (draws,) uniform ones, the same for all that is drawn."""
    normal, uniform = (np.random.default_rng([seed, SHIFT_STREAM, part]) for part in range(2))
    return normal.standard_normal((draws, recordings)).T.copy(), uniform.random(draws)


@dataclass(frozen=True, repr=False)
class RecordingShift(ShortRepr):
    """How performance shifts between the sets because their recordings differ.

    Attributes:
        mean: (R,) influence of each recording on the mean difference.
        common: of that difference.
        apart: the variance that a shift by context has beyond the common one, over that of the influences that it is
            made of; 0 where contexts shift alike.
        width: a usual shift.
    """

    mean: FloatArray
    common: Spread
    apart: float
    width: float

    def numbers(self, normals: FloatArray, uniform: FloatArray) -> ShiftNumbers:
        """The shifts of a batch of draws, from (R, D) normal numbers and (D,) uniform ones."""
        whole = self.mean @ normals
        own = np.sqrt(self.apart) * normals
        return ShiftNumbers(whole * self.common.doubted(uniform), whole * self.common.share, own, self)


@dataclass(frozen=True, repr=False)
class ShiftNumbers(ShortRepr):
    """(D,) the common shift of each draw, as Student has it and as a normal number; (R, D) what recordings add."""

    doubted: FloatArray
    normal: FloatArray
    own: FloatArray
    shift: RecordingShift

    def arrays(self, recording: IntArray) -> tuple[object, ...]:
        """What the loops take; `recording`: (N,) of each sample by rank."""
        return recording, self.shift.mean, self.own, self.doubted, self.normal, self.shift.width


def shift_arrays(numbers: ShiftNumbers | None, recording: IntArray | None) -> tuple[object, ...]:
    """What the loops take; where nothing shifts, empty arrays."""
    return NO_SHIFT if numbers is None or recording is None else numbers.arrays(recording)


@dataclass(repr=False)
class RecordingSums(ShortRepr):
    """Influences summed over contexts, class by class; and variances by context, of which V and U are part."""

    sides: RecordingSides
    contexts: float = 0.0
    by_context: list[float] = field(default_factory=lambda: [0.0, 0.0])
    parts: list[tuple[FloatArray, FloatArray, IntArray, IntArray, IntArray]] = field(default_factory=list)

    def add_class(
        self,
        contexts: float,
        by_context: Sequence[float],
        influence: tuple[FloatArray, FloatArray],
        numbers: tuple[IntArray, IntArray, IntArray | None],
    ) -> None:
        """Enter a class: how many contexts it stands for, means of V and U over them, and influences on its mean."""
        recording, unit, block = numbers
        self.contexts += contexts
        self.by_context = [had + contexts * more for had, more in zip(self.by_context, by_context, strict=True)]
        timed = np.full(len(unit), -1) if block is None else block
        self.parts.append((contexts * influence[0], contexts * influence[1], recording, unit, timed))

    def shift(self) -> RecordingShift | None:
        """The shift over all classes; None where no side tells how recordings differ."""
        if not self.contexts or not self.parts:
            return None
        of_recordings, of_units, recording, unit, block = (
            np.concatenate(columns) for columns in zip(*self.parts, strict=True)
        )
        influence = of_recordings / self.contexts, of_units / self.contexts
        common = spread_of(influence, recording, unit, block if (block >= 0).any() else None, self.sides)
        if not common.by_recordings:
            return None
        v, u = (whole / self.contexts for whole in self.by_context)
        beyond, made_of = max(0.0, v - u - common.variance), max(0.0, v - common.by_recordings)
        apart = min(1.0, beyond / made_of) if made_of > 0 else 0.0
        width = float(np.sqrt(common.variance + beyond))
        mean = np.asarray(np.bincount(recording, influence[0], len(self.sides.in_a)), np.float64)
        return RecordingShift(mean, common, apart, min(max(width, _LEAST_WIDTH), _MOST_WIDTH))
