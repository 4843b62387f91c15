"""What comparing series gives: rows, each with its difference, interval, floor and verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.display import ShortRepr
from simjudge.objects.block_bootstrap import MeanInterval
from simjudge.objects.time_shift import TimeShift
from simjudge.results.verdict_words import TOO_FEW


@dataclass(frozen=True, eq=False, repr=False)
class SeriesFloor(ShortRepr):
    """What real differs by from real.

    Attributes:
        time: float64 (N,), seconds.
        difference: float64 (N,), of real from real then; NaN where it is not known.
        interval: of its mean; None for too few.
    """

    time: FloatArray
    difference: FloatArray
    interval: MeanInterval | None
    source: str

    @property
    def value(self) -> float | None:
        """The difference that real from real still explains, the far end of its interval; None for too few frames."""
        return None if self.interval is None else self.interval.farthest


@dataclass(frozen=True, eq=False, repr=False)
class SeriesComparison(ShortRepr):
    """One metric of one subject in real and virtual: a row of the table.

    Attributes:
        metric, unit, subject: as in `Series`.
        time: float64 (N,), the real stamps of the common times, seconds.
        real, virtual: float64 (N,), the values then; NaN where there is none.
        unpaired: how many frames of real and of virtual have no partner in time.
        missing: at how many of the common times real alone and virtual alone have no value, and both.
        difference: virtual less real, over the frames where both have a value; None for too few.
        shift: by how much virtual is later; None where none can be told.
        adjusted_p: p of no difference among all rows of the kind; NaN for too few frames.
        is_single: whether it is of one object, and another row is of all objects.
    """

    metric: str
    unit: str
    subject: str
    time: FloatArray
    real: FloatArray
    virtual: FloatArray
    unpaired: tuple[int, int]
    missing: tuple[int, int, int]
    difference: MeanInterval | None
    floor: SeriesFloor
    shift: TimeShift | None
    adjusted_p: float = float("nan")
    is_single: bool = False
    verdict: str = TOO_FEW

    @property
    def means(self) -> tuple[float, float]:
        """Mean of real and of virtual where both have a value; NaN where that is nowhere."""
        both = ~(np.isnan(self.real) | np.isnan(self.virtual))
        if not both.any():
            return float("nan"), float("nan")
        return float(self.real[both].mean()), float(self.virtual[both].mean())

    @property
    def frames(self) -> int:
        """At how many of the common times both have a value."""
        return len(self.time) - sum(self.missing)

    @property
    def times_floor(self) -> float | None:
        """The size of the difference in floors; None without a floor, or where it is 0."""
        if self.difference is None or not self.floor.value:
            return None
        return abs(self.difference.mean) / self.floor.value


@dataclass(frozen=True, eq=False, repr=False)
class ComparedSeries(ShortRepr):
    """All series of two sensors, compared.

    Attributes:
        rows: a row each metric and subject that both have. Those of single objects stand behind the others; in each
            part those that differ come first, the clearest of them first.
        only_real, only_virtual: metric and subject of the series that one sensor alone has.
    """

    rows: Sequence[SeriesComparison]
    only_real: Sequence[tuple[str, str]]
    only_virtual: Sequence[tuple[str, str]]

    @property
    def shift(self) -> float | None:
        """Seconds by which virtual is later: the median over the rows that tell; None where none does."""
        shifts = [row.shift.seconds for row in self.rows if row.shift is not None]
        return float(np.median(shifts)) if shifts else None
