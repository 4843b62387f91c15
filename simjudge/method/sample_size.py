"""How many sampling units a comparison of one class, or of several, rests on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import IntArray


@dataclass(frozen=True)
class SampleSize:
    """How many sampling units of each side hold a class, and whether the detector predicts it anywhere."""

    units_a: int
    units_b: int
    predicted: bool = True

    @classmethod
    def of_units(cls, held: tuple[IntArray, IntArray], *, predicted: bool = True) -> SampleSize:
        """Count the units of A and of B that hold a class; each number may stand several times."""
        return cls(len(np.unique(held[0])), len(np.unique(held[1])), predicted)


NO_UNITS = SampleSize(0, 0)
"""Nothing was counted."""
