"""Occupancy maps: for each cell of a grid seen from above the log-odds that something stands there; two maps compared.

Each scan tells of a cell once: that a beam ended there, or else that one went through. The log-odds of both are added
up and held within bounds, so that what moved away is forgotten (Bayes' rule with an even prior).

Source: Moravec and Elfes, "High resolution maps from wide angle sonar", ICRA 1985. Hornung et al., "OctoMap",
Autonomous Robots 34, 2013: log-odds, bounds, and one change of a cell a scan. Beams go from cell to cell as
in Amanatides and Woo, "A fast voxel traversal algorithm for ray tracing", Eurographics 1987.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import BoolArray, FloatArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.objects.occupancy_rays import enter_beams
from simjudge.objects.settings import OccupancySettings

MOST_CELLS = 150_000_000
"""Of a map; each takes 8 bytes."""


@dataclass(frozen=True)
class MapExtent:
    """The grid of a map."""

    # column, row: of the lower left cell, counted from the fixed frame's origin along x and y: maps with the same cells
    # a metre have the same cells
    column: int
    row: int
    columns: int  # columns, rows: the number of cells along x and y
    rows: int
    cells_per_metre: float

    @classmethod
    def around(cls, positions: FloatArray, reach: float, cells_per_metre: float) -> MapExtent:
        """The cells up to `reach` metres to each side of one or more `positions` (N, 2 or more), fixed frame."""
        lower = (positions[:, :2].min(0) - reach) * cells_per_metre
        upper = (positions[:, :2].max(0) + reach) * cells_per_metre
        column, row = (math.floor(value) for value in lower.tolist())
        columns, rows = (math.ceil(value) for value in (upper - (column, row)).tolist())
        if columns * rows > MOST_CELLS:
            raise SimjudgeError(
                f"the occupancy map would have {columns} x {rows} cells, over {MOST_CELLS}: give fewer cells a metre"
                " (--cells-per-metre), a smaller --map-range, or a part of the recording"
            )
        return cls(column, row, columns, rows, cells_per_metre)

    @property
    def corner(self) -> tuple[float, float]:
        """Coordinates x and y of the lower left corner, metres."""
        return self.column / self.cells_per_metre, self.row / self.cells_per_metre


@dataclass(frozen=True, eq=False, repr=False)
class BeamSet(ShortRepr):
    """The beams of one scan, in the fixed frame."""

    origin: FloatArray  # (N, 3), where the sensor was, metres
    end: FloatArray  # (N, 3), where each beam ended, metres
    returned: BoolArray  # bool (N,), whether something was there; else the beam was free up to its end

    def __len__(self) -> int:
        return len(self.end)


class OccupancyMap:
    """A map that scans are entered into, one by one. `log_odds`: float32 (rows, columns); row 0 lies lowest in y."""

    def __init__(self, extent: MapExtent, settings: OccupancySettings) -> None:
        self.extent, self.settings, self.scans = extent, settings, 0
        self.log_odds: npt.NDArray[np.float32] = np.zeros((extent.rows, extent.columns), np.float32)
        self._last: npt.NDArray[np.int32] = np.zeros((extent.rows, extent.columns), np.int32)
        s = settings
        self._limits = np.array([s.map_low, s.map_high, s.map_range])
        self._odds = np.array([log_odds(value) for value in (s.map_hit, s.map_miss, s.map_least, s.map_most)])

    def enter(self, beams: BeamSet, ground: FloatArray) -> None:
        """Enter a scan; `ground` (4,): unit normal, upwards, and offset: height = normal . point + offset, metres."""
        self.scans += 1
        places = np.array([*self.extent.corner, self.extent.cells_per_metre, *ground])
        enter_beams(
            self.log_odds,
            self._last,
            self.scans,
            beams.origin,
            beams.end,
            beams.returned,
            places,
            self._limits,
            self._odds,
        )

    @property
    def known(self) -> BoolArray:
        """Whether a scan told something of each cell: bool (rows, columns)."""
        return np.asarray(self._last > 0)

    @property
    def occupied(self) -> BoolArray:
        """Whether each cell is known and more likely occupied than `map_occupied`: bool (rows, columns)."""
        return np.asarray(self.known & (self.log_odds > log_odds(self.settings.map_occupied)))

    @property
    def probability(self) -> npt.NDArray[np.float32]:
        """That each cell is occupied: float32 (rows, columns); 0.5 where nothing is known."""
        return np.asarray(1 / (1 + np.exp(-self.log_odds)), np.float32)


def log_odds(probability: float) -> float:
    """ln(p / (1 - p))."""
    return math.log(probability / (1 - probability))


def common_extent(positions: Sequence[FloatArray], settings: OccupancySettings) -> MapExtent:
    """The grid that holds the maps of several sensors. `positions`: of each sensor (N, 3), metres, fixed frame."""
    return MapExtent.around(np.concatenate(list(positions)), settings.map_range, settings.cells_per_metre)


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
    """How well the virtual map predicts a kind of cell of the real one."""

    both: int  # cells that are of the kind in both maps
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
    """How well a virtual map predicts a real one."""

    occupied: Agreement  # of occupied cells, among those that both maps know
    free: Agreement
    occupied_anywhere: Agreement  # of occupied cells among all; a cell that a map does not know is not occupied in it
    known_in_both: int
    known_in_real: int  # cells that the real map alone knows
    known_in_virtual: int  # cells that the virtual map alone knows


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
        int(both.sum()),
        int((known_real & ~both).sum()),
        int((known_virtual & ~both).sum()),
    )


def agreement_picture(real: OccupancyMap, virtual: OccupancyMap) -> npt.NDArray[np.uint8]:
    """Draw both maps into one picture, a pixel a cell, y upwards: uint8 (rows, columns, 3) in the module's colours."""
    _check_grids(real, virtual)
    # By state of the real map (unknown, free, occupied), then by that of the virtual one.
    colours = np.array(
        [
            [UNKNOWN, FREE_IN_ONE, ONLY_VIRTUAL_KNOWN],
            [FREE_IN_ONE, FREE, ONLY_VIRTUAL],
            [ONLY_REAL_KNOWN, ONLY_REAL, OCCUPIED],
        ],
        np.uint8,
    )
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
