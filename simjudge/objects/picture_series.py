"""Metrics of whole pictures over time that objects take part in: Hu's moments, and matches of poles.

Hu's seven moment invariants do not change when the picture is shifted, scaled or rotated. Poles match by SIFT: how many
descriptors of a picture match those of a reference pole, and where.

True cuboids from a survey: the scans of a real lidar merged, without ground, in clusters, each in its cuboid.

Ground is found by the simple morphological filter (SMRF), which needs no training and few settings. Source: Pingel,
Clarke and McBride, "An improved simple morphological filter for the terrain classification of airborne LIDAR data",
ISPRS Journal of Photogrammetry and Remote Sensing 77, 2013: the lowest points of cells, cells without points filled;
low outliers and progressive opening; provisional ground; points near it. Cutting with a net (for large buildings) is
left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
from scipy.ndimage import map_coordinates
from scipy.sparse import coo_array
from scipy.sparse.linalg import spsolve
from scipy.spatial import ConvexHull, QhullError, cKDTree

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.core.errors import Losses, ProgressBar, SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.images import FileImages, ImageError, RgbImage
from simjudge.core.names import normalized_name
from simjudge.core.object_tables import row_offsets
from simjudge.core.text import list_some
from simjudge.data.clouds import CloudSet, lidar_points
from simjudge.detectors.clouds.clusters import euclidean_clusters
from simjudge.geometry.poses import Pose
from simjudge.objects.image_quality.scene_statistics import gray_levels
from simjudge.objects.lidar_truth import StandingCuboids
from simjudge.objects.series import WHOLE, ScanPoses, Series, stamps_to_seconds
from simjudge.objects.settings import LidarObjectSettings
from simjudge.objects.sightings import Sightings, label_sightings

COUNT = 7
"""The number of invariants."""


def hu_moments(picture: npt.NDArray[Any]) -> FloatArray:
    """Hu's invariants I1 to I7.

    The central moments are mu_pq = sum over pixels of (x - xm)^p (y - ym)^q f, where f is the pixel's value and
    (xm, ym) the mean place. With eta_pq = mu_pq / mu_00^(1 + (p + q) / 2), a = eta_30 + eta_12, b = eta_21 + eta_03,
    c = eta_30 - 3 eta_12 and d = 3 eta_21 - eta_03::

        I1 = eta_20 + eta_02
        I2 = (eta_20 - eta_02)^2 + 4 eta_11^2
        I3 = c^2 + d^2
        I4 = a^2 + b^2
        I5 = c a (a^2 - 3 b^2) + d b (3 a^2 - b^2)
        I6 = (eta_20 - eta_02) (a^2 - b^2) + 4 eta_11 a b
        I7 = d a (a^2 - 3 b^2) - c b (3 a^2 - b^2)

    I7 changes its sign where the picture is mirrored; x counts columns here and in OpenCV, rows in scikit-image, whose
    I7 has the other sign. Gray values scale the invariants: twice the brightness halves I1.

    Source:
        M.-K. Hu, Visual pattern recognition by moment invariants, 1962.
    """
    values = picture.view(np.uint8) if picture.dtype == np.bool_ else picture
    # Far from the picture's corner, central moments would be small differences of large numbers.
    x, y, width, height = cv2.boundingRect(values)
    if not width:
        return np.full(COUNT, np.nan)
    mu = cv2.moments(np.ascontiguousarray(values[y : y + height, x : x + width]))
    second, third = mu["m00"] ** 2, mu["m00"] ** 2.5
    spread, tilt, trace = (mu["mu20"] - mu["mu02"]) / second, mu["mu11"] / second, (mu["mu20"] + mu["mu02"]) / second
    a, b = (mu["mu30"] + mu["mu12"]) / third, (mu["mu21"] + mu["mu03"]) / third
    c, d = (mu["mu30"] - 3 * mu["mu12"]) / third, (3 * mu["mu21"] - mu["mu03"]) / third
    along, across = a * (a**2 - 3 * b**2), b * (3 * a**2 - b**2)
    return np.array(
        [
            trace,
            spread**2 + 4 * tilt**2,
            c**2 + d**2,
            a**2 + b**2,
            c * along + d * across,
            spread * (a**2 - b**2) + 4 * tilt * a * b,
            d * along - c * across,
        ]
    )


def log_scaled(moments: FloatArray) -> FloatArray:
    """Invariants of any shape on a logarithmic scale with signs: -sign(I) log10 |I|; NaN where one is 0."""
    size = np.where(moments == 0, np.nan, np.abs(moments))
    return np.asarray(-np.sign(moments) * np.log10(size))


Descriptors = npt.NDArray[np.float32]
_MARGIN = 0.5
"""Of the width of a label, on each side of it, that a reference is cut with: SIFT needs what surrounds a thin pole."""
_LEAST_DESCRIPTORS = 2
"""The ratio test needs two."""


@dataclass(frozen=True, eq=False, repr=False)
class KeyPoints(ShortRepr):
    """SIFT key points of a picture."""

    point: FloatArray  # float64 (N, 2), x and y in pixels; pixel (column i, row j) has its centre at (i + 0.5, j + 0.5)
    diameter: FloatArray  # float64 (N,), of the neighbourhood that each describes, pixels
    descriptor: Descriptors  # float32 (N, 128), of length 512 but for rounding


@dataclass(frozen=True, eq=False, repr=False)
class PoleMatcher(ShortRepr):
    """Matches pictures with a reference pole.

    A key point of a picture matches where the reference's nearest descriptor is nearer than `distance`, and nearer than
    `ratio` times the second nearest. Each key point of the picture counts, so that several poles count several times.

    Attributes:
        reference: (M, 128), descriptors of the reference pole.
        ratio: of the distances to the nearest and the second nearest descriptor.
        distance: the largest one of a match.

    Source:
        D. G. Lowe, Distinctive image features from scale-invariant keypoints, 2004, section 7.1.
    """

    reference: Descriptors
    ratio: float
    distance: float

    def match(self, pixels: RgbImage) -> KeyPoints:
        """Find the key points of a picture that match the reference. `pixels`: uint8 (H, W, 3), red first."""
        found = key_points(pixels)
        if not len(found.descriptor):
            return found
        pairs = cv2.BFMatcher(cv2.NORM_L2).knnMatch(found.descriptor, self.reference, k=2)
        kept = [
            near.queryIdx
            for near, second in pairs
            if near.distance <= self.distance and near.distance < self.ratio * second.distance
        ]
        return KeyPoints(found.point[kept], found.diameter[kept], found.descriptor[kept])


def key_points(pixels: RgbImage) -> KeyPoints:
    """Find the SIFT key points of a picture. `pixels`: uint8 (H, W, 3), red first."""
    found, descriptor = cv2.SIFT.create().detectAndCompute(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY), None)
    point = np.array([keypoint.pt for keypoint in found], np.float64).reshape(-1, 2) + 0.5
    diameter = np.array([keypoint.size for keypoint in found], np.float64)
    return KeyPoints(
        point, diameter, np.empty((0, 128), np.float32) if descriptor is None else descriptor.astype(np.float32)
    )


def pole_reference(path: Path) -> Descriptors:
    """Describe a reference pole that a picture shows."""
    return _described(FileImages([path]).read(0), str(path))


def labelled_reference(frames: FrameSet, class_name: str) -> Descriptors:
    """Describe the largest labelled pole of a set."""
    named = {c: normalized_name(frames.class_name(c)) for c in map(int, np.unique(frames.objects.class_id))}
    ids = [c for c, name in named.items() if name == normalized_name(class_name)]
    rows = np.flatnonzero(np.isin(frames.objects.class_id, ids))
    if not len(rows) or frames.images is None:
        what = "has no pictures" if frames.images is None else f"has no object of class {class_name}"
        known = f"; there are {list_some(sorted(named.values()))}" if named and frames.images is not None else ""
        raise UsageError(f"{frames.name}: {what} to cut a reference pole from{known}; give one with --pole")
    size = np.tile(frames.size[frames.objects.frame[rows]], 2)
    box = np.clip(frames.objects.box[rows], 0, size)
    largest = int(np.argmax(np.prod(box[:, 2:] - box[:, :2], axis=1)))
    frame = int(frames.objects.frame[rows[largest]])
    x0, y0, x1, y1 = box[largest]
    margin = _MARGIN * max(x1 - x0, 16)
    left, top = max(0, int(x0 - margin)), max(0, int(y0 - margin))
    picture = frames.images.read(frame)[top : int(np.ceil(y1 + margin)), left : int(np.ceil(x1 + margin))]
    return _described(np.ascontiguousarray(picture), f"{frames.describe_frame(frame)}, its largest {class_name}")


def on_boxes(found: KeyPoints, box: FloatArray) -> int:
    """Count the key points that lie on labelled things with boxes (K, 4), x0, y0, x1, y1 in pixels."""
    apart = np.maximum(box[None, :, :2] - found.point[:, None], found.point[:, None] - box[None, :, 2:])
    distance = np.linalg.norm(np.maximum(apart, 0), axis=2)
    return int(np.any(distance <= found.diameter[:, None] / 2, axis=1).sum())


def _described(pixels: RgbImage, where: str) -> Descriptors:
    found = key_points(pixels).descriptor
    if len(found) < _LEAST_DESCRIPTORS:
        raise UsageError(f"{where}: shows {len(found)} key points; give a larger or sharper picture with --pole")
    return found


def binary_hu_series(frames: FrameSet, seen: Sightings) -> list[Series]:
    """Measure the shape of all that is followed, as one binary picture."""
    looked_at = np.flatnonzero(seen.looked_at)
    start = row_offsets(seen.frame, len(frames))
    values = np.full((len(looked_at), COUNT), np.nan)
    for i, frame in enumerate(looked_at):
        rows = range(start[frame], start[frame + 1])
        if rows:
            width, height = (int(v) for v in frames.size[frame])
            values[i] = hu_moments(np.logical_or.reduce([seen.region(row, width, height) for row in rows]))
    return _hu_series("binary", stamps_to_seconds(frames.stamp[looked_at]), values)


def picture_series(
    frames: FrameSet, losses: Losses, progress: ProgressBar, poles: PoleMatcher | None = None, pole_class: str = ""
) -> list[Series]:
    """Measure all pictures of a set."""
    if frames.images is None:
        return []
    hu = np.full((len(frames), COUNT), np.nan)
    matches = np.full((len(frames), 2), np.nan)
    labels = label_sightings(frames)
    start = row_offsets(labels.frame, len(frames))
    with progress(f"measuring pictures of {frames.name}") as advance:
        for frame in range(len(frames)):
            pixels = _read(frames, frame, losses)
            advance(frame + 1, len(frames))
            if pixels is None:
                continue
            hu[frame] = hu_moments(gray_levels(pixels).astype(np.uint8))
            if poles is not None:
                found = poles.match(pixels)
                rows = np.arange(start[frame], start[frame + 1])
                box = labels.box[rows[labels.class_name[rows] == normalized_name(pole_class)]]
                matches[frame] = len(found.point), on_boxes(found, box) if labels.looked_at[frame] else np.nan
    time = stamps_to_seconds(frames.stamp)
    series = _hu_series("gray", time, hu)
    if poles is not None:
        series.append(Series("pole matches", "", WHOLE, time, matches[:, 0]))
        if pole_class and labels.looked_at.any():
            series.append(Series("pole matches on labels", "", WHOLE, time, matches[:, 1]))
    return series


def _read(frames: FrameSet, frame: int, losses: Losses) -> RgbImage | None:
    assert frames.images is not None  # noqa: S101 - for mypy
    if not frames.images.has(frame):
        losses.add("frames without a picture", frames.describe_frame(frame))
        return None
    try:
        return frames.images.read(frame)
    except ImageError as error:
        losses.add("pictures that cannot be read", str(error))
        return None


def _hu_series(kind: str, time: FloatArray, values: FloatArray) -> list[Series]:
    return [Series(f"hu {i + 1} ({kind})", "", WHOLE, time, values[:, i]) for i in range(COUNT)]


MOST_CELLS = 4_000_000
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


def ground_surface(points: FloatArray, cell: float, slope: float, window: float) -> GroundSurface:
    """The ground beneath points (N, 3), N at least 1, z upwards; `cell`, `window` (largest object's radius): metres."""
    first = np.floor(points[:, :2].min(0) / cell)
    columns, rows = (np.floor(points[:, :2].max(0) / cell) - first).astype(int) + 1
    if rows * columns > MOST_CELLS:
        raise SimjudgeError(f"the survey has {columns} x {rows} cells, over {MOST_CELLS}: give a larger --survey-cell")
    column, row = (np.floor(points[:, :2] / cell) - first).astype(np.int64).T
    lowest = np.full((rows, columns), np.inf)
    np.minimum.at(lowest, (row, column), points[:, 2])
    surface = fill_cells(np.where(np.isfinite(lowest), lowest, np.nan))
    low = object_cells(-surface, cell, LOW_SLOPE, cell)
    surface = fill_cells(np.where(low, np.nan, surface))
    objects = object_cells(surface, cell, slope, window)
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
    for radius in range(1, math.ceil(window / cell) + 1):
        opened = np.asarray(cv2.morphologyEx(last, cv2.MORPH_OPEN, disk(radius)), np.float64)
        found |= last - opened > slope * radius * cell
        last = opened
    return found


def disk(radius: int) -> npt.NDArray[np.uint8]:
    """Cells within a radius of the middle. Returns uint8 (2 radius + 1, 2 radius + 1)."""
    y, x = np.mgrid[-radius : radius + 1, -radius : radius + 1]
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
    surface = ground_surface(points, settings.survey_cell, settings.survey_slope, settings.survey_window)
    objects = points[~ground_points(points, surface, settings.survey_height)]
    objects = objects[surface.height(objects) > 0]
    objects = objects[~outliers(objects)]
    cluster = euclidean_clusters(objects, np.ones(len(objects), np.bool_), settings.survey_gap)
    names: list[str] = []
    poses, sizes = [], []
    for number in range(int(cluster.max(initial=-1)) + 1):
        member = objects[cluster == number]
        if len(member) < settings.survey_points:
            continue
        base = float((member[:, 2] - surface.height(member)).min())
        pose, size = smallest_cuboid(np.r_[member, [[*member[0, :2], base]]])
        if size[0] > 2 * settings.survey_window:
            continue
        names.append(f"object {len(names)}")
        poses.append(pose)
        sizes.append(size)
    return StandingCuboids(names, poses, np.array(sizes).reshape(-1, 3))


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
    """The first point of each voxel, in order."""
    _, first = np.unique(np.floor(points / VOXEL).astype(np.int64), axis=0, return_index=True)
    return points[np.sort(first)]


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
