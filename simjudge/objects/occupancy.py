"""Occupancy maps: for each cell of a grid seen from above the log-odds that something stands there; two maps compared.

Each scan tells of a cell once: that a beam ended there, or else that one went through. The log-odds of both are added
up and held within bounds, so that what moved away is forgotten (Bayes' rule with an even prior).

Source: Moravec and Elfes, "High resolution maps from wide angle sonar", ICRA 1985. Hornung et al., "OctoMap",
Autonomous Robots 34, 2013: log-odds, bounds, and one change of a cell a scan. Beams go from cell to cell as
in Amanatides and Woo, "A fast voxel traversal algorithm for ray tracing", Eurographics 1987.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.names import NO_STAMP
from simjudge.data.clouds import ONE_TIME, Cloud, CloudSet, LidarPoints, lidar_points
from simjudge.detectors.clouds.ground import fit_ground_plane
from simjudge.geometry.poses import Pose
from simjudge.objects.occupancy_rays import enter_beams
from simjudge.objects.series import ScanPoses, scan_poses, times_from_stamp
from simjudge.objects.settings import OccupancySettings
from simjudge.sim.sensors.lidar.scan import deskewed

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


DEFAULT_SETTINGS = OccupancySettings()
UNREADABLE = "clouds that cannot be read, left out of the occupancy map"
LEFT_OUT = "scans whose pose jumps, left out of the occupancy map"


@dataclass(frozen=True, eq=False, repr=False)
class MapPair(ShortRepr):
    """The maps of a real and a virtual lidar."""

    real: OccupancyMap
    virtual: OccupancyMap
    agreement: MapAgreement
    real_losses: Losses  # real_losses, virtual_losses: scans of each that were left out
    virtual_losses: Losses

    @property
    def losses(self) -> Losses:
        """Scans of both that were left out."""
        both = Losses()
        both.extend(self.real_losses)
        both.extend(self.virtual_losses)
        return both


def occupancy_maps(
    real: CloudSet,
    virtual: CloudSet,
    settings: OccupancySettings = DEFAULT_SETTINGS,
    progress: Callable[[str], None] = lambda _: None,
) -> MapPair:
    """Make the maps of two sets in one fixed frame, and compare them."""
    losses = Losses(), Losses()
    poses = [
        scan_poses(clouds, settings.max_speed, lost, LEFT_OUT)
        for clouds, lost in zip((real, virtual), losses, strict=True)
    ]
    _check_near(real, virtual, poses[0], poses[1], settings)
    extent = common_extent([scans.position for scans in poses], settings)
    maps = []
    for clouds, scans, lost in zip((real, virtual), poses, losses, strict=True):
        progress(f"occupancy map of {clouds.name}: {len(scans)} scans")
        maps.append(occupancy_map(clouds, scans, extent, settings, lost))
    return MapPair(maps[0], maps[1], map_agreement(maps[0], maps[1]), *losses)


def occupancy_map(
    clouds: CloudSet, scans: ScanPoses, extent: MapExtent, settings: OccupancySettings, losses: Losses
) -> OccupancyMap:
    """Enter the scans of a set into a map."""
    result = OccupancyMap(extent, settings)
    ground: FloatArray | None = None
    early: list[BeamSet] = []
    for row in range(len(scans)):
        where = f"{clouds.name}: {clouds.cloud_name[int(scans.index[row])]}"
        try:
            beams, own = scan_beams(clouds, scans, row, settings, losses)
        except SimjudgeError as error:
            losses.add(UNREADABLE, str(error))
            continue
        if not len(beams):
            losses.add(EMPTY, where)
            continue
        if own is None:
            losses.add(NO_GROUND, where)
        ground = ground if own is None else own
        early.append(beams)
        if ground is None:
            continue
        # Scans before the first with ground get that one's.
        for message in early:
            result.enter(message, ground)
        early.clear()
    if ground is None:
        raise SimjudgeError(
            f"{clouds.name}: none of its scans has ground below the lidar{losses.reason}, so that nothing tells"
            " obstacles from ground; its frame must have z up"
        )
    return result


def _check_near(
    real: CloudSet, virtual: CloudSet, of_real: ScanPoses, of_virtual: ScanPoses, settings: OccupancySettings
) -> None:
    """Refuse sets whose maps cannot overlap: they are in different fixed frames."""
    low = np.maximum(of_real.position.min(0), of_virtual.position.min(0))[:2] - 2 * settings.map_range
    high = np.minimum(of_real.position.max(0), of_virtual.position.max(0))[:2]
    if (low > high).any():
        begins = " and ".join(
            f"{clouds.name} begins at ({scans.position[0, 0]:.1f}, {scans.position[0, 1]:.1f})"
            for clouds, scans in ((real, of_real), (virtual, of_virtual))
        )
        raise SimjudgeError(
            f"the lidars were never within twice the map's range of each other ({begins}, metres): both must have their"
            " poses in one fixed frame"
        )


EMPTY = "scans without a point, left out of the occupancy map"
NO_GROUND = "ground planes of scans without ground (the occupancy map uses a neighbour's)"
NO_TIMES = "motion corrections of scans whose points have no usable times"
_LEAST_ORGANIZED = 2
"""Returns of a row or column of an organized cloud from which the direction of its other beams is known."""
_GROUND_RADIUS = 25.0
"""Metres around the lidar in which the ground is taken for a plane."""
_LEAST_POINTS = 30
_LEAST_WIDTH = 0.5
"""Metres: the least standard deviation of the ground's points in any direction; those of a wall lie in a line."""
_ENOUGH_POINTS = 10_000
"""Points that tell the plane well enough; of more some are left out."""


def scan_beams(
    clouds: CloudSet, scans: ScanPoses, row: int, settings: OccupancySettings, losses: Losses
) -> tuple[BeamSet, FloatArray | None]:
    """Read a scan and put its beams into the fixed frame."""
    index = int(scans.index[row])
    cloud, pose = clouds[index], scans.poses[row]
    points = lidar_points(cloud.table, cloud.where)
    local = points.stored.astype(np.float64)
    returned = np.ones(len(local), np.bool_)
    origin = np.broadcast_to(np.array(pose.position), local.shape)
    if settings.deskew:
        time = times_from_stamp(points, float(scans.time[row])) if clouds.stamp[index] != NO_STAMP else None
        if points.time_trouble == ONE_TIME:
            pass  # nothing moved during the turn
        elif time is None:
            losses.add(NO_TIMES, cloud.where)
        else:
            keyframes = scans.keyframes(row)
            local = deskewed(local, time, keyframes)
            origin = keyframes.at(time)[1]
    if settings.no_return_range is not None:
        free = free_beams(cloud, points, settings.no_return_range)
        local = np.concatenate([local, free])
        returned = np.concatenate([returned, np.zeros(len(free), np.bool_)])
        origin = np.concatenate([origin, np.broadcast_to(np.array(pose.position), free.shape)])
    ground = fit_ground(local[returned])
    beams = BeamSet(np.ascontiguousarray(origin), pose.to_world(local), returned)
    return beams, None if ground is None else _moved_plane(ground, pose)


def fit_ground(points: FloatArray) -> FloatArray | None:
    """Fit a plane to the ground around a lidar.

    `points`: (N, 3), metres, sensor's frame, z roughly up; returns (4,), unit normal, upwards, and offset: height =
    normal . point + offset; None where there is no ground.
    """
    near = points[(np.hypot(points[:, 0], points[:, 1]) < _GROUND_RADIUS) & (points[:, 2] < 0)]
    near = np.ascontiguousarray(near[:: max(1, len(near) // _ENOUGH_POINTS)])
    if len(near) < _LEAST_POINTS:
        return None
    plane = fit_ground_plane(
        near,
        np.full(near.shape, np.nan),
        distance=0.15,
        contact=0.15,
        angle_deg=90.0,
        slope_deg=20.0,
        trials=100,
        least=0.05,
        seed=0,
    )
    if plane is None or np.linalg.eigvalsh(np.cov(near[plane.ground, :2].T))[0] < _LEAST_WIDTH**2:
        return None
    return np.array([*plane.normal, plane.offset])


def free_beams(cloud: Cloud, points: LidarPoints, reach: float) -> FloatArray:
    """Beams without a return of an organized cloud: their rows and columns say where they went.

    `reach`: metres; returns (M, 3), metres, sensor's frame: the end of each; none where the cloud is not organized.
    """
    if cloud.height < 2 or len(cloud) % cloud.height or points.seen.all() or not len(points):
        return np.empty((0, 3))
    width = len(cloud) // cloud.height
    place = np.nonzero(points.seen)[0]
    x, y, z = points.stored.astype(np.float64).T
    elevation = np.arctan2(z, np.hypot(x, y))
    # A device's rows are rings or columns; of the two the rings hold one elevation.
    by_row, by_column = place // width, place % width
    spreads = [_spread(elevation, group) for group in (by_row, by_column)]
    missing = np.nonzero(~points.seen)[0]
    ring, column, missing_ring, missing_column = (by_row, by_column, missing // width, missing % width)
    if spreads[1] < spreads[0]:
        ring, column, missing_ring, missing_column = by_column, by_row, missing % width, missing // width
    height, count = _means(elevation, ring, int(max(ring.max(), missing_ring.max())) + 1)
    length = int(max(column.max(), missing_column.max())) + 1
    east, counted = _means(x / np.hypot(x, y), column, length)
    north, _ = _means(y / np.hypot(x, y), column, length)
    known = (count[missing_ring] >= _LEAST_ORGANIZED) & (counted[missing_column] >= _LEAST_ORGANIZED)
    angle = np.arctan2(north, east)[missing_column[known]]
    up = height[missing_ring[known]]
    ends: FloatArray = reach * np.stack([np.cos(up) * np.cos(angle), np.cos(up) * np.sin(angle), np.sin(up)], 1)
    return ends


def _means(value: FloatArray, group: IntArray, groups: int) -> tuple[FloatArray, IntArray]:
    """The mean of each group, and its number of values."""
    count = np.bincount(group, minlength=groups)
    return np.bincount(group, value, groups) / np.maximum(count, 1), count


def _spread(value: FloatArray, group: IntArray) -> float:
    mean, _ = _means(value, group, int(group.max()) + 1)
    return float(np.sqrt(np.mean((value - mean[group]) ** 2)))


def _moved_plane(plane: FloatArray, pose: Pose) -> FloatArray:
    normal = pose.rotation_matrix() @ plane[:3]
    return np.array([*normal, plane[3] - normal @ pose.position])
