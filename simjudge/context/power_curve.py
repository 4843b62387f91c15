"""Power by the size of a gap, as it was simulated, and carried on to sizes beyond those at hand.

The gap that is shown in 80 of 100 cases is carried on. W1's noise falls with the square root of the number of units,
but less where contexts have few neighbours, since a context's own sample is always among them. So
D(n)^2 = c / (n + n0), with c and n0 from the gaps at all units and at half of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from simjudge.context.verdicts import SIGNIFICANCE
from simjudge.core.arrays import FloatArray
from simjudge.core.display import ShortRepr

SHOWN = 0.8
"""The power that is asked for."""
LOWERED = "lowered"
"""The gap lowers the performance of every object of B that is found."""
MISSED = "missed"
"""The gap lets B miss more objects."""
GAP_KINDS = (LOWERED, MISSED)
SIZES = (1.0, 0.5)
"""Shares of the units at hand at which power is simulated."""
_LEAST_FALL = 1.2
"""D(n/2)^2 / D(n)^2 is 2 where noise falls with the square root. Below this value, noise of the simulation is taken."""


@dataclass(frozen=True, repr=False)
class PowerCurve(ShortRepr):
    """How often gaps are shown, of one class or of all classes together.

    Attributes:
        gaps: float64 (G,), ascending, W1 of endless samples.
        shown: by kind of gap, float64 (sizes, G), the share of deals in which a gap is called; NaN where performance
            cannot fall so far.
    """

    gaps: FloatArray
    shown: dict[str, FloatArray]

    def power(self, kind: str, gap: float, times: float = 1.0) -> float | None:
        """The share of cases in which a gap is shown.

        Args:
            kind: one of GAP_KINDS.
            gap: W1 of endless samples.
            times: as many times the units that were simulated.

        Returns:
            Between the simulated gaps by interpolation; None where performance cannot fall so far.
        """
        shown, known = self.shown[kind][0], ~np.isnan(self.shown[kind][0])
        if not known.any() or gap > self.gaps[known][-1] * (1 + 1e-9):
            return None
        # More units show a gap as often as these show a larger one.
        alike = min(gap / self._scale(kind, times), float(self.gaps[known][-1]))
        return float(np.interp(alike, np.concatenate([[0.0], self.gaps[known]]), [SIGNIFICANCE, *shown[known]]))

    def smallest_gap(self, kind: str, size: int = 0, times: float = 1.0) -> float | None:
        """The smallest gap that is shown in 80 of 100 cases.

        Args:
            kind: one of GAP_KINDS.
            size: place in SIZES.
            times: as many times the units that were simulated.

        Returns:
            Between the simulated gaps by interpolation of the power's normal quantile; None where none of them is shown
            so often.
        """
        shown = np.maximum.accumulate(np.nan_to_num(self.shown[kind][size], nan=0.0))
        above = np.flatnonzero(shown >= SHOWN)
        if not len(above):
            return None
        i = int(above[0])
        before, gap_before = (shown[i - 1], self.gaps[i - 1]) if i else (SIGNIFICANCE, 0.0)
        low, wanted, high = (NormalDist().inv_cdf(float(np.clip(p, 0.01, 0.99))) for p in (before, SHOWN, shown[i]))
        found = float(gap_before + (wanted - low) / (high - low) * (self.gaps[i] - gap_before))
        return found if times == 1 else found * self._scale(kind, times)

    def times_units(self, kind: str, gap: float) -> float | None:
        """How many times the units that were simulated show a gap in 80 of 100 cases.

        Args:
            kind: one of GAP_KINDS.
            gap: W1 of endless samples.

        Returns:
            The factor, below 1 where fewer units would do; None where no simulated gap is shown so often, or the gap
            cannot be.
        """
        shown = self.smallest_gap(kind)
        if shown is None or self.power(kind, gap) is None:
            return None
        spare = self._spare(kind)
        return (1 + spare) * (shown / gap) ** 2 - spare

    def _scale(self, kind: str, times: float) -> float:
        """What the smallest gap is multiplied by where there are so many times the units."""
        spare = self._spare(kind)
        return float(np.sqrt((1 + spare) / (times + spare)))

    def _spare(self, kind: str) -> float:
        """The n0 of the module's docstring, as a share of the units that were simulated."""
        whole, half = (self.smallest_gap(kind, size) for size in range(len(SIZES)))
        fall = 2.0 if whole is None or half is None else float(np.clip((half / whole) ** 2, _LEAST_FALL, 2.0))
        return (1 - fall / 2) / (fall - 1)
