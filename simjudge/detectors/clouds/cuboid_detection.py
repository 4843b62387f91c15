"""Cuboids in a cloud, or in the clouds of a recording or a folder, without a network.

The car's own returns and the ground go, what is left becomes clusters, and each cluster a cuboid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.core.errors import Losses, ProgressBar, SimjudgeError, no_progress
from simjudge.core.installed import DETECTOR, find_file
from simjudge.data.clouds import Cloud, CloudPredictions, CloudSet, lidar_points
from simjudge.data.sets import Topics, read_clouds, refuse_input_as_output, write_clouds
from simjudge.detectors.clouds.beam_grid import (
    MOST_RINGS,
    BeamGrid,
    build_grid,
    nearest_normals,
    ring_normals,
    rings_of_order,
)
from simjudge.detectors.clouds.clusters import (
    euclidean_clusters,
    extents,
    fit_l_shapes,
    lengthen_rectangles,
    nearest_z,
    ring_clusters,
)
from simjudge.detectors.clouds.cuboid_settings import LIDAR_CUBOIDS, LidarCuboidFile, OwnCarFields, read_cuboid_settings
from simjudge.detectors.clouds.ground import fit_ground_plane, patchwork_ground

DEFAULTS = LidarCuboidFile()


@dataclass(frozen=True, eq=False, repr=False)
class CloudObjects(ShortRepr):
    """What a cloud of N points shows."""

    own: BoolArray  # bool (N,), returns of the car that carries the lidar
    ground: BoolArray  # bool (N,)
    # int64 (N,), the row of its cuboid; -1 for own, ground, clusters that are left out, points that are too far away,
    # and points without a return.
    cluster: IntArray
    # K, whose `cloud` and `class_id` are 0 and whose `instance` is -1. Upright; x is along the longer side, and yaw
    # above -90, at most 90 degrees: which end is the front cannot be told.
    cuboids: CloudPredictions
    # float64 (4,), the ground's a, b, c, d with a x + b y + c z + d = 0; None without, or with another method.
    plane: FloatArray | None
    organized: bool  # whether neighbours were told by ring and column
    seen: int  # the number of points with a return


def detect_cloud_cuboids(cloud: Cloud, settings: LidarCuboidFile = DEFAULTS) -> CloudObjects:
    """Find ground, clusters and cuboids in a cloud of any driver, by its field of rings, its rows, or their order."""
    held = lidar_points(cloud.table, cloud.where)
    points = np.full((len(cloud), 3), np.nan)
    points[held.seen] = held.stored
    ring = None
    if held.ring is not None:
        ring = np.zeros(len(cloud), np.int64)
        ring[held.seen] = held.ring
    elif cloud.height > 1:
        # An organized cloud has a row a ring, or a column a ring: there are fewer rings than columns.
        count = len(cloud)
        width = count // cloud.height
        row, column = np.divmod(np.arange(count), width)
        ring = row if cloud.height <= width else column
    return detect_cuboids(points, ring, settings)


def detect_cuboids(
    points: FloatArray, ring: IntArray | None = None, settings: LidarCuboidFile = DEFAULTS
) -> CloudObjects:
    """Find ground, clusters and cuboids.

    Args:
        points: (N, 3), metres, from the lidar, z upwards; NaN or 0 0 0 where a beam had no return.
        ring: int64 (N,); None: the order of the points tells, where they come ring after ring.
        settings: how they are found.

    Returns:
        What is found, for each point.

    Raises:
        UsageError: the settings ask for what is not installed.
    """
    points = np.asarray(points, np.float64).reshape(-1, 3)
    range2 = np.einsum("ij,ij->i", points, points)
    own = _own_returns(points, range2, settings.own)
    seen = int(np.count_nonzero(np.isfinite(range2) & (range2 > 0)))
    rows = np.flatnonzero((range2 > 0) & (range2 <= settings.farthest**2) & ~own)
    ground, cluster = np.zeros(len(points), np.bool_), np.full(len(points), -1, np.int64)
    if not len(rows):
        return CloudObjects(own, ground, cluster, _no_cuboids(), None, organized=False, seen=seen)
    taken = points[rows]
    grid = _grid(taken, None if ring is None else ring[rows], settings)
    ground[rows], plane = _find_ground(taken, grid, settings)
    numbers = _kept(taken, _find_clusters(taken, ~ground[rows], grid, settings), settings)
    cuboids, numbers = _fit_cuboids(taken, numbers, _Ground(taken[ground[rows]], plane), settings)
    cluster[rows] = numbers
    return CloudObjects(own, ground, cluster, cuboids, plane, organized=grid is not None, seen=seen)


@dataclass(frozen=True)
class _Ground:
    """The ground below cuboids."""

    points: FloatArray
    plane: FloatArray | None

    def z(self, places: FloatArray) -> FloatArray:
        """At places (K, 2): of the plane, else of the nearest ground; NaN where there is none."""
        if self.plane is not None:
            a, b, c, d = self.plane
            found: FloatArray = -(places @ np.array([a, b]) + d) / c
        else:
            found = nearest_z(self.points, places)
        return found


def _own_returns(points: FloatArray, range2: FloatArray, own: OwnCarFields) -> BoolArray:
    mask: BoolArray = (range2 > 0) & (range2 < own.distance**2)
    if own.box is not None:
        low, high = np.array(own.box[:3]), np.array(own.box[3:])
        mask |= ((points >= low) & (points <= high)).all(1) & (range2 > 0)
    return mask


def _grid(points: FloatArray, ring: IntArray | None, settings: LidarCuboidFile) -> BeamGrid | None:
    if settings.clusters.neighbours == "euclidean":
        return None
    if ring is None:
        ring = rings_of_order(points)
    return None if ring is None or len(np.unique(ring)) > MOST_RINGS else build_grid(points, ring)


def _find_ground(
    points: FloatArray, grid: BeamGrid | None, settings: LidarCuboidFile
) -> tuple[BoolArray, FloatArray | None]:
    ground = settings.ground
    if ground.method == "patchwork":
        return patchwork_ground(points, ground.sensor_height, settings.farthest), None
    if ground.method == "none":
        return np.zeros(len(points), np.bool_), None
    found = fit_ground_plane(
        points,
        nearest_normals(points) if grid is None else ring_normals(points, grid),
        distance=ground.distance,
        contact=ground.contact,
        angle_deg=ground.angle,
        slope_deg=ground.slope,
        trials=ground.trials,
        least=ground.least,
        seed=ground.seed,
    )
    return (
        (np.zeros(len(points), np.bool_), None)
        if found is None
        else (found.ground, np.array([*found.normal, found.offset]))
    )


def _find_clusters(points: FloatArray, mask: BoolArray, grid: BeamGrid | None, settings: LidarCuboidFile) -> IntArray:
    how = settings.clusters
    if grid is None:
        return euclidean_clusters(points, mask, how.distance)
    return ring_clusters(
        points, mask, grid, distance=how.distance, angle_deg=how.angle, rings=how.rings, columns=how.columns
    )


def _kept(points: FloatArray, numbers: IntArray, settings: LidarCuboidFile) -> IntArray:
    """Clusters of enough points and height, numbered anew."""
    how = settings.clusters
    inside = numbers >= 0
    count = np.bincount(numbers[inside])
    low, high = extents(points[:, 2], numbers, len(count))
    height = high - low
    keep = (count >= how.min_points) & (height >= how.min_height)
    if how.max_points is not None:
        keep &= count <= how.max_points
    if how.max_height is not None:
        keep &= height <= how.max_height
    return _renumbered(numbers, keep)


def _renumbered(numbers: IntArray, keep: BoolArray) -> IntArray:
    """Numbers of the clusters that are kept; -1 for the others."""
    new = np.where(keep, np.cumsum(keep) - 1, -1)
    # The last one is what -1 finds.
    return np.append(new, -1)[numbers].astype(np.int64)


def _fit_cuboids(
    points: FloatArray, numbers: IntArray, ground: _Ground, settings: LidarCuboidFile
) -> tuple[CloudPredictions, IntArray]:
    how = settings.cuboids
    inside = np.flatnonzero(numbers >= 0)
    order = inside[np.argsort(numbers[inside], kind="stable")]
    count = np.bincount(numbers[inside])
    if not len(count):
        return _no_cuboids(), numbers
    start = np.concatenate([[0], np.cumsum(count)])
    fitted = fit_l_shapes(
        np.ascontiguousarray(points[order, :2]),
        start,
        criterion=how.criterion,
        step_deg=how.step,
        nearest=how.nearest,
        side=how.side,
    )
    if how.least_size is not None:
        fitted = lengthen_rectangles(fitted, how.least_size)
    low, high = extents(points[:, 2], numbers, len(count))
    if how.on_ground:
        # Not up to it: what lies below the ground nearby keeps its points inside.
        low = np.fmin(low, ground.z(fitted.centre))
    cuboids = CloudPredictions(
        np.zeros(len(count), np.int64),
        np.zeros(len(count), np.int64),
        np.full(len(count), -1),
        np.column_stack([fitted.centre, (low + high) / 2]),
        np.column_stack([np.zeros((len(count), 2)), np.sin(fitted.yaw / 2), np.cos(fitted.yaw / 2)]),
        np.column_stack([fitted.size, high - low]),
        fitted.fit,
        count,
    )
    if how.max_length is None:
        return cuboids, numbers
    keep = fitted.size[:, 0] <= how.max_length
    return replace(cuboids, **{name: value[keep] for name, value in vars(cuboids).items()}), _renumbered(numbers, keep)


def _no_cuboids() -> CloudPredictions:
    none = np.empty(0, np.int64)
    return CloudPredictions(none, none, none, np.empty((0, 3)), np.empty((0, 4)), np.empty((0, 3)), np.empty(0), none)


def detect_clouds(
    source: CloudSet | str | Path,
    detector: LidarCuboidFile | str | Path = LIDAR_CUBOIDS,
    out: str | Path | None = None,
    *,
    to: str | None = None,
    cloud_topic: str | None = None,
    progress: ProgressBar = no_progress,
) -> CloudSet:
    """Find cuboids in every cloud of a set or a recording.

    Args:
        source: a set of clouds, or the path of a recording or a folder.
        detector: settings, the path of a file of them, or the name of one that comes with simjudge.
        out: where to write the clouds with what was found; None writes nothing.
        to: the format of a folder at `out`, such as kitti.
        cloud_topic: in a recording of several lidars, the clouds to take.
        progress: opens a progress bar.

    Returns:
        The set with predictions, cloud by cloud; clouds that cannot be read are not predicted. `losses` count these,
        clouds without a point or without ground, and those whose points are all the car's own.

    Raises:
        UsageError: `out` is the source or does not say a format, or the settings ask for what is not installed.
        SimjudgeError: the source cannot be read or holds no clouds, or none of its clouds can be read.
    """
    refuse_input_as_output(out, source)
    settings = (
        detector if isinstance(detector, LidarCuboidFile) else read_cuboid_settings(find_file(detector, DETECTOR))
    )
    topics = None if cloud_topic is None else Topics(cloud_topic=cloud_topic)
    clouds = source if isinstance(source, CloudSet) else read_clouds(source, topics)
    losses = Losses()
    losses.extend(clouds.losses)
    with progress(f"detecting in {clouds.name}") as advance:
        parts: dict[int, CloudPredictions] = {}
        for index in range(len(clouds)):
            try:
                cloud = clouds.read(index)
                found = detect_cloud_cuboids(cloud, settings)
            except SimjudgeError as error:
                losses.add("clouds that cannot be read", str(error))
                continue
            _count_empty(found, cloud.where, settings, losses)
            parts[index] = found.cuboids
            advance(index + 1, len(clouds))
    if not parts:
        raise SimjudgeError(f"{clouds.name}: holds no cloud that can be read{losses.reason}")
    done = _with_cuboids(clouds, parts, settings.name)
    if out is not None:
        losses.count_once(write_clouds(done, out, to))
    return replace(done, losses=losses)


def _count_empty(found: CloudObjects, where: str, settings: LidarCuboidFile, losses: Losses) -> None:
    """Count a cloud that cannot hold what is looked for."""
    if not found.seen:
        losses.add("clouds without a point", where)
    elif found.own.sum() == found.seen:
        losses.add("clouds whose points are all the car's own (settings own.distance, own.box)", where)
    elif settings.ground.method != "none" and not found.ground.any():
        losses.add("clouds without ground: all points became clusters (settings ground)", where)


def _with_cuboids(clouds: CloudSet, parts: dict[int, CloudPredictions], name: str) -> CloudSet:
    """The set with what was found in each cloud, in place of what it had."""
    class_names = dict(clouds.class_names)
    known = next((number for number, held in class_names.items() if held == name), None)
    if known is None:
        known = next(number for number in count() if number not in class_names)
        class_names[known] = name
    counts = [len(part) for part in parts.values()]
    cloud: IntArray = np.repeat(np.array(list(parts), np.int64), counts)
    joined = join_predictions(list(parts.values()))
    predictions = replace(joined, cloud=cloud, class_id=np.full(len(cloud), known, np.int64))
    predicted = np.zeros(len(clouds), np.bool_)
    predicted[list(parts)] = True
    return replace(clouds, predictions=predictions, predicted=predicted, class_names=class_names)


def join_predictions(parts: Sequence[CloudPredictions]) -> CloudPredictions:
    """One table of several."""
    return CloudPredictions(**{name: np.concatenate([vars(part)[name] for part in parts]) for name in vars(parts[0])})
