"""Two occupancy maps of one grid held against each other: numbers, and one picture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import BoolArray
from simjudge.core.errors import SimjudgeError
from simjudge.objects.occupancy import OccupancyMap

Rgb = tuple[int, int, int]
FREE: Rgb = (0, 0, 0)
OCCUPIED: Rgb = (255, 255, 255)
ONLY_REAL: Rgb = (255, 0, 0)
ONLY_VIRTUAL: Rgb = (0, 255, 255)
UNKNOWN: Rgb = (112, 112, 112)
FREE_IN_ONE: Rgb = (64, 64, 64)
"""Free in one map, unknown in the other."""
ONLY_REAL_KNOWN: Rgb = (150, 70, 70)
"""Occupied in the real map, unknown in the virtual one."""
ONLY_VIRTUAL_KNOWN: Rgb = (70, 150, 150)
"""Occupied in the virtual map, unknown in the real one."""


@dataclass(frozen=True)
class Agreement:
    """How well the virtual map predicts a kind of cell of the real one.

    Attributes:
        both: cells that are of the kind in both maps.
    """

    both: int
    only_real: int
    only_virtual: int

    @property
    def precision(self) -> float:
        """Of the virtual cells of the kind, the share that is real; NaN where there are none."""
        return _share(self.both, self.both + self.only_virtual)

    @property
    def recall(self) -> float:
        """Of the real cells of the kind, the share that is virtual; NaN where there are none."""
        return _share(self.both, self.both + self.only_real)

    @property
    def f1(self) -> float:
        """2 both / (2 both + only_real + only_virtual): the harmonic mean of precision and recall."""
        return _share(2 * self.both, 2 * self.both + self.only_real + self.only_virtual)

    @property
    def iou(self) -> float:
        """Intersection over union: both / (both + only_real + only_virtual)."""
        return _share(self.both, self.both + self.only_real + self.only_virtual)


@dataclass(frozen=True)
class MapAgreement:
    """How well a virtual map predicts a real one.

    Attributes:
        occupied: of occupied cells, among those that both maps know.
        occupied_anywhere: of occupied cells among all; a cell that a map does not know is not occupied in it.
        known_in_real: cells that the real map alone knows.
        known_in_virtual: cells that the virtual map alone knows.
    """

    occupied: Agreement
    free: Agreement
    occupied_anywhere: Agreement
    known_in_both: int
    known_in_real: int
    known_in_virtual: int


def map_agreement(real: OccupancyMap, virtual: OccupancyMap) -> MapAgreement:
    """Compare two maps cell by cell."""
    _check_grids(real, virtual)
    known_real, known_virtual = real.known, virtual.known
    occupied_real, occupied_virtual = real.occupied, virtual.occupied
    both = known_real & known_virtual
    return MapAgreement(
        _agreement(occupied_real & both, occupied_virtual & both),
        _agreement(~occupied_real & both, ~occupied_virtual & both),
        _agreement(occupied_real, occupied_virtual),
        int(both.sum()), int((known_real & ~both).sum()), int((known_virtual & ~both).sum()),
    )  # fmt: skip


def agreement_picture(real: OccupancyMap, virtual: OccupancyMap) -> npt.NDArray[np.uint8]:
    """Draw both maps into one picture, a pixel a cell, y upwards.

    Returns:
        uint8 (rows, columns, 3): red, green, blue; see the module's colours.
    """
    _check_grids(real, virtual)
    # By state of the real map (unknown, free, occupied), then by that of the virtual one.
    colours = np.array([
        [UNKNOWN, FREE_IN_ONE, ONLY_VIRTUAL_KNOWN],
        [FREE_IN_ONE, FREE, ONLY_VIRTUAL],
        [ONLY_REAL_KNOWN, ONLY_REAL, OCCUPIED],
    ], np.uint8)  # fmt: skip
    return np.ascontiguousarray(colours[_state(real), _state(virtual)][::-1])


def _state(one: OccupancyMap) -> npt.NDArray[np.uint8]:
    """0 unknown, 1 free, 2 occupied."""
    return one.known.astype(np.uint8) + one.occupied


def _agreement(real: BoolArray, virtual: BoolArray) -> Agreement:
    both = int((real & virtual).sum())
    return Agreement(both, int(real.sum()) - both, int(virtual.sum()) - both)


def _check_grids(real: OccupancyMap, virtual: OccupancyMap) -> None:
    if real.extent != virtual.extent:
        raise SimjudgeError(f"the occupancy maps have different grids: {real.extent} and {virtual.extent}")


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")
