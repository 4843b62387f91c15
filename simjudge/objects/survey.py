"""True cuboids from a survey: the scans of a real lidar merged, without ground, in clusters, each in its cuboid.

Ground is found by the simple morphological filter (SMRF), which needs no training and few settings. Source: Pingel,
Clarke and McBride, "An improved simple morphological filter for the terrain classification of airborne LIDAR data",
ISPRS Journal of Photogrammetry and Remote Sensing 77, 2013: the lowest points of cells, cells without points filled;
low outliers and progressive opening, of a surface that a net cuts where roofs are wider than any opening; provisional
ground; points near it.

A connected structure that is longer than an object can be is a building: its walls and roofs, the planes of that
length, are cut off, so that what stands against them is an object of its own. Without such planes it is left out whole.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt
from scipy.ndimage import map_coordinates
from scipy.sparse import coo_array
from scipy.sparse.linalg import spsolve
from scipy.spatial import ConvexHull, QhullError, cKDTree

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.data.clouds import CloudSet, lidar_points
from simjudge.detectors.clouds.clusters import euclidean_clusters
from simjudge.geometry.poses import Pose
from simjudge.objects.lidar_truth import StandingCuboids
from simjudge.objects.series import ScanPoses
from simjudge.objects.settings import LidarObjectSettings, SurveySettings

MOST_CELLS = 4_000_000
MOST_OPENING = 6e12
"""Cells times cells of the disks that open them: an hour of computing time, some 1.3e9 a second."""
LOW_SLOPE = 5.0
"""Slope above which a single low cell is an outlier (500 %)."""
HEIGHT_SCALE = 1.25
"""Metres that the height from which points are objects grows with the ground's slope."""


@dataclass(frozen=True, eq=False, repr=False)
class GroundSurface(ShortRepr):
    """The ground beneath a survey."""

    corner: FloatArray  # float64 (2,), x and y of the middle of the cell of row 0 and column 0, metres
    cell: float  # metres
    z: FloatArray  # float64 (R, C), of the middle of each cell, metres; rows along y
    slope: FloatArray  # float64 (R, C), rise over run

    def height(self, points: FloatArray) -> FloatArray:
        """How far points lie above the ground, metres. `points`: (N, 3)."""
        above: FloatArray = points[:, 2] - self._at(self.z, points)
        return above

    def slope_at(self, points: FloatArray) -> FloatArray:
        """The ground's slope below points. `points`: (N, 3)."""
        return self._at(self.slope, points)

    def _at(self, grid: FloatArray, points: FloatArray) -> FloatArray:
        place = (points[:, :2] - self.corner) / self.cell
        found: FloatArray = map_coordinates(grid, place.T[::-1], order=1, mode="nearest")
        return found


def ground_surface(
    points: FloatArray, cell: float, slope: float, window: float, net: float | None = None
) -> GroundSurface:
    """The ground beneath points (N, 3), N at least 1, z upwards.

    `cell`, `window` (the largest object's radius), `net` (between the lines of a net that cuts roofs): metres.
    """
    first = np.floor(points[:, :2].min(0) / cell)
    columns, rows = (np.floor(points[:, :2].max(0) / cell) - first).astype(int) + 1
    if rows * columns > MOST_CELLS:
        raise SimjudgeError(
            f"the survey is {columns * cell:.0f} m x {rows * cell:.0f} m, {columns} x {rows} cells, over {MOST_CELLS}:"
            " give a larger --survey-cell, or coordinates in metres if they are in another unit"
        )
    column, row = (np.floor(points[:, :2] / cell) - first).astype(np.int64).T
    lowest = np.full((rows, columns), np.inf)
    np.minimum.at(lowest, (row, column), points[:, 2])
    surface = fill_cells(np.where(np.isfinite(lowest), lowest, np.nan))
    low = object_cells(-surface, cell, LOW_SLOPE, cell)
    surface = fill_cells(np.where(low, np.nan, surface))
    if net is None:
        objects = object_cells(surface, cell, slope, window)
    else:
        cut = cut_net(surface, cell, net)
        objects = object_cells(cut, cell, slope, window) | (surface - cut > slope * 2 * net)
    z = fill_cells(np.where(objects | low | ~np.isfinite(lowest), np.nan, surface))
    rise = np.gradient(np.pad(z, 1, mode="edge"), cell)
    steepness = np.hypot(*rise)[1:-1, 1:-1]
    return GroundSurface((first + 0.5) * cell, cell, z, steepness)


def ground_points(points: FloatArray, surface: GroundSurface, height: float) -> BoolArray:
    """Which of points (N, 3) are ground: within `height` metres of level ground, more where it slopes."""
    return np.asarray(np.abs(surface.height(points)) <= height + HEIGHT_SCALE * surface.slope_at(points))


def object_cells(surface: FloatArray, cell: float, slope: float, window: float) -> BoolArray:
    """Cells (R, C) of a surface that stand out, by opening with disks of 1, 2, ... cells up to `window` metres."""
    last: FloatArray = surface
    found = np.zeros(surface.shape, np.bool_)
    widest = _affordable_radius(
        math.ceil(window / cell), surface, f"--survey-window {window:g}", cell, progressive=True
    )
    for radius in range(1, widest + 1):
        opened = np.asarray(cv2.morphologyEx(last, cv2.MORPH_OPEN, disk(radius)), np.float64)
        found |= last - opened > slope * radius * cell
        last = opened
    return found


def cut_net(surface: FloatArray, cell: float, net: float) -> FloatArray:
    """A surface (R, C) that is opened by a disk of twice the net's width along its lines, `net` metres apart."""
    lines = max(math.ceil(net / cell), 1)
    radius = _affordable_radius(2 * lines, surface, f"--survey-net {net:g}", cell, progressive=False)
    opened = np.asarray(cv2.morphologyEx(surface, cv2.MORPH_OPEN, disk(radius)), np.float64)
    out = surface.copy()
    out[::lines], out[:, ::lines] = opened[::lines], opened[:, ::lines]
    return out


def _affordable_radius(radius: int, surface: FloatArray, option: str, cell: float, *, progressive: bool) -> int:
    """The radius of the largest disk that changes a surface, cells; options that would take hours are refused."""
    # A disk that covers the whole surface from each cell opens it as any larger one does.
    radius = min(radius, math.ceil(math.hypot(*surface.shape)))
    work = surface.size * math.pi * (radius**3 / 3 if progressive else radius**2)
    if work > MOST_OPENING:
        rows, columns = surface.shape
        raise SimjudgeError(
            f"{option} would take hours on a survey of {columns} x {rows} cells of {cell:g} m: give a smaller one, or a"
            " larger --survey-cell"
        )
    return radius


def disk(radius: int) -> npt.NDArray[np.uint8]:
    """Cells within a radius of the middle. Returns uint8 (2 radius + 1, 2 radius + 1)."""
    y, x = np.ogrid[-radius : radius + 1, -radius : radius + 1]
    return np.asarray(x * x + y * y <= radius * radius, np.uint8)


def fill_cells(surface: FloatArray) -> FloatArray:
    """Fill cells without a value as a net of springs between neighbours does: each is the mean of its neighbours.

    `surface`: (R, C); NaN where there is no value; returns float64 (R, C); all NaN where no cell has a value.
    """
    empty = np.isnan(surface)
    if not empty.any() or empty.all():
        return surface
    number = np.full(surface.shape, -1, np.int64)
    number[empty] = np.arange(empty.sum())
    count, right = np.zeros(int(empty.sum())), np.zeros(int(empty.sum()))
    pairs: list[IntArray] = []
    for axis, shift in ((0, 1), (0, -1), (1, 1), (1, -1)):
        inside = np.ones(surface.shape, np.bool_)
        edge = -1 if shift == 1 else 0
        inside[(edge, slice(None)) if axis == 0 else (slice(None), edge)] = False
        chosen = empty & inside
        mine, other = number[chosen], np.roll(number, -shift, axis)[chosen]
        count[mine] += 1
        known = other < 0
        right[mine[known]] += np.roll(surface, -shift, axis)[chosen][known]
        pairs.append(np.stack([mine[~known], other[~known]]))
    i, j = np.concatenate(pairs, axis=1)
    size = len(count)
    row, column = np.r_[np.arange(size), i], np.r_[np.arange(size), j]
    matrix = coo_array((np.r_[count, np.full(len(i), -1.0)], (row, column)), shape=(size, size)).tocsc()
    filled = surface.copy()
    filled[empty] = spsolve(matrix, right)
    return filled


VOXEL = 0.05
"""Metres: of points in one voxel the first is kept."""
_NEIGHBOURS = 8
_OUTLYING = 2.0
"""Standard deviations of the mean distance to neighbours beyond which a point is an outlier."""


def survey_cuboids(clouds: CloudSet, scans: ScanPoses, settings: LidarObjectSettings) -> StandingCuboids:
    """Survey what stands around a lidar."""
    points = merged_points(clouds, scans, settings.map_range)
    if not len(points):
        raise SimjudgeError(f"{clouds.name}: its scans hold no point within {settings.map_range:g} m to survey")
    surface = ground_surface(
        points, settings.survey_cell, settings.survey_slope, settings.survey_window, settings.survey_net
    )
    objects = points[~ground_points(points, surface, settings.survey_height)]
    objects = objects[surface.height(objects) > 0]
    objects = objects[~outliers(objects)]
    longest = 2 * settings.survey_window if settings.survey_building is None else settings.survey_building
    poses, sizes = [], []
    for member in _clusters(objects, settings):
        for part in [member] if _length(member) <= longest else _beside_buildings(member, surface, longest, settings):
            base = float((part[:, 2] - surface.height(part)).min())
            pose, size = smallest_cuboid(np.r_[part, [[*part[0, :2], base]]])
            if size[0] <= longest:
                poses.append(pose)
                sizes.append(size)
    return StandingCuboids([f"object {n}" for n in range(len(poses))], poses, np.array(sizes).reshape(-1, 3))


def _clusters(points: FloatArray, settings: SurveySettings) -> list[FloatArray]:
    cluster = euclidean_clusters(points, np.ones(len(points), np.bool_), settings.survey_gap)
    members = [points[cluster == number] for number in range(int(cluster.max(initial=-1)) + 1)]
    return [member for member in members if len(member) >= settings.survey_points]


def _length(points: FloatArray) -> float:
    return float(smallest_cuboid(points)[1][0])


def _beside_buildings(
    points: FloatArray, surface: GroundSurface, longest: float, settings: SurveySettings
) -> list[FloatArray]:
    """What is left of a structure without its walls and roofs, and stands on the ground."""
    left = points[~building_points(points, longest / 2)]
    if len(left) == len(points):
        return []
    return [
        part
        for part in _clusters(left, settings)
        if surface.height(part).min() <= settings.survey_height + _FREE_STANDING
    ]


_WALL = 0.15
"""Metres from a plane within which points are of the wall or the roof."""
_FREE_STANDING = 0.5
"""Metres above the least height of objects at which what stands on the ground begins at the latest."""
_TRIALS, _SCORED, _MOST_PLANES, _LEAST_SHARE, _REFITS = 500, 3000, 12, 12, 3


def building_points(points: FloatArray, length: float) -> BoolArray:
    """Which of points (N, 3) are of planes of buildings, `length` metres long or longer: bool (N,), by RANSAC."""
    found = np.zeros(len(points), np.bool_)
    random = np.random.default_rng(0)
    for _ in range(_MOST_PLANES):
        left = np.flatnonzero(~found)
        if len(left) < _NEIGHBOURS:
            break
        scored = points[random.choice(left, min(_SCORED, len(left)), replace=False)]
        corner = scored[random.integers(0, len(scored), (_TRIALS, 3))]
        normal = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
        normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12)
        offset = (normal * corner[:, 0]).sum(1)
        count = (np.abs(scored @ normal.T - offset) <= _WALL).sum(0)
        # A plane of the length that was asked for, of those that hold most points.
        for best in np.argsort(-count)[:_NEIGHBOURS]:
            apart = _fitted_distances(points[left], normal[best], float(offset[best]))
            near = apart <= _WALL
            enough = near.sum() >= len(points) / _LEAST_SHARE
            # Points of a volume fill three times the thickness with three times as many.
            stands_out = near.sum() > (apart <= 3 * _WALL).sum() / 2
            if enough and stands_out and _plane_length(points[left[near]]) >= length:
                found[left[near]] = True
                break
        else:
            break
    return found


def _fitted_distances(points: FloatArray, normal: FloatArray, offset: float) -> FloatArray:
    """Distances of points (N, 3) from a plane that is fitted to those near it: three points alone are too few."""
    apart: FloatArray = np.abs(points @ normal - offset)
    for _ in range(_REFITS):
        near = points[apart <= _WALL]
        if len(near) < _NEIGHBOURS:
            break
        middle = near.mean(0)
        normal = np.linalg.eigh((near - middle).T @ (near - middle))[1][:, 0]
        apart = np.abs((points - middle) @ normal)
    return apart


def _plane_length(points: FloatArray) -> float:
    """How long a plane's points reach, without the outermost hundredths."""
    centred = points - points.mean(0)
    along = centred @ np.linalg.eigh(centred.T @ centred)[1][:, 2]
    low, high = np.quantile(along, [0.01, 0.99])
    return float(high - low)


def merged_points(clouds: CloudSet, scans: ScanPoses, reach: float) -> FloatArray:
    """Scans within `reach` metres of the lidar merged in the fixed frame, one point a voxel: (N, 3), metres."""
    kept = np.empty((0, 3))
    waiting: list[FloatArray] = []
    for index, pose in zip(scans.index.tolist(), scans.poses, strict=True):
        try:
            cloud = clouds[index]
        except SimjudgeError:
            continue  # who measures the scans counts those that cannot be read
        points = lidar_points(cloud.table, cloud.where).stored.astype(np.float64)
        near = points[np.linalg.norm(points, axis=1) <= reach]
        waiting.append(_one_a_voxel(pose.to_world(near)))
        # Not after each scan: that would go through all points each time.
        if sum(map(len, waiting)) > len(kept):
            kept = _one_a_voxel(np.concatenate([kept, *waiting]))
            waiting.clear()
    return _one_a_voxel(np.concatenate([kept, *waiting]))


def _one_a_voxel(points: FloatArray) -> FloatArray:
    return points[first_of_voxels(points)]


def first_of_voxels(points: FloatArray, voxel: float = VOXEL) -> IntArray:
    """The rows of the first of points (N, 3) in each voxel, in order."""
    key = np.floor(points / voxel).astype(np.int64)
    key -= key.min(0, initial=0)
    size = key.max(0, initial=0) + 1
    # One number a voxel sorts faster than three.
    single = (key[:, 0] * size[1] + key[:, 1]) * size[2] + key[:, 2]
    _, first = np.unique(single, return_index=True)
    return np.sort(first)


def outliers(points: FloatArray) -> BoolArray:
    """Find points far from their neighbours.

    `points`: (N, 3), metres; returns bool (N,): the mean distance to the 8 nearest lies over 2 standard deviations
    above the mean of all. Source: Rusu et al., "Towards 3D point cloud based object maps", Robotics and Autonomous
    Systems 56, 2008.
    """
    if len(points) <= _NEIGHBOURS:
        return np.zeros(len(points), np.bool_)
    distance = cKDTree(points).query(points, _NEIGHBOURS + 1)[0][:, 1:].mean(1)
    return np.asarray(distance > distance.mean() + _OUTLYING * distance.std())


def smallest_cuboid(points: FloatArray) -> tuple[Pose, FloatArray]:
    """The upright cuboid of least footprint around points; one of its sides lies on a side of their convex hull.

    `points`: (N, 3), metres; N is 1 or more; returns its pose, x along the longer side, and its size (3,), metres.
    Source: Freeman and Shapira, "Determining the minimum-area encasing rectangle for an arbitrary closed curve",
    Communications of the ACM 18(7), 1975.
    """
    flat = points[:, :2]
    try:
        corners = flat[ConvexHull(flat).vertices]
    except (QhullError, ValueError):
        # Points on a line, or too few: the line's own direction.
        far = flat[np.linalg.norm(flat - flat[0], axis=1).argmax()]
        corners = np.stack([flat[0], far])
    side = np.roll(corners, -1, axis=0) - corners
    angle = np.arctan2(side[:, 1], side[:, 0])
    along = flat @ np.stack([np.cos(angle), np.sin(angle)])
    across = flat @ np.stack([-np.sin(angle), np.cos(angle)])
    length, width = np.ptp(along, axis=0), np.ptp(across, axis=0)
    best = int((length * width).argmin())
    yaw, size = float(angle[best]), [float(length[best]), float(width[best])]
    middle = [(float(part[:, best].min()) + float(part[:, best].max())) / 2 for part in (along, across)]
    x = middle[0] * np.cos(yaw) - middle[1] * np.sin(yaw)
    y = middle[0] * np.sin(yaw) + middle[1] * np.cos(yaw)
    low, high = float(points[:, 2].min()), float(points[:, 2].max())
    if size[1] > size[0]:
        yaw, size = yaw + np.pi / 2, size[::-1]
    return Pose.from_euler(float(x), float(y), (low + high) / 2, yaw=yaw), np.array([*size, high - low])
