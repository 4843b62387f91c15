"""True cuboids from a survey: the scans of a real lidar merged, without ground, in clusters, each in its cuboid."""

from __future__ import annotations

import numpy as np
from scipy.spatial import ConvexHull, QhullError, cKDTree

from simjudge.core.arrays import BoolArray, FloatArray
from simjudge.core.errors import SimjudgeError
from simjudge.data.clouds import CloudSet
from simjudge.data.lidar_points import lidar_points
from simjudge.detectors.clouds.euclidean_clusters import euclidean_clusters
from simjudge.geometry.poses import Pose
from simjudge.objects.lidar_settings import LidarObjectSettings
from simjudge.objects.lidar_truth import StandingCuboids
from simjudge.objects.scan_poses import ScanPoses
from simjudge.objects.smrf import ground_points, ground_surface

VOXEL = 0.05
"""Metres: of points in one voxel the first is kept."""
_NEIGHBOURS = 8
_OUTLYING = 2.0
"""Standard deviations of the mean distance to neighbours beyond which a point is an outlier."""


def survey_cuboids(clouds: CloudSet, scans: ScanPoses, settings: LidarObjectSettings) -> StandingCuboids:
    """Survey what stands around a lidar.

    Returns:
        The cuboids, in the fixed frame, from the ground up; those longer than twice `survey_window` are left out.
    """
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
    """Merge scans in the fixed frame, one point a voxel.

    Args:
        reach: metres from the lidar, beyond which points are left out.

    Returns:
        (N, 3), metres.
    """
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

    Args:
        points: (N, 3), metres.

    Returns:
        bool (N,): the mean distance to the 8 nearest lies over 2 standard deviations above the mean of all.
    Source: Rusu et al., "Towards 3D point cloud based object maps", Robotics and Autonomous Systems 56, 2008.
    """
    if len(points) <= _NEIGHBOURS:
        return np.zeros(len(points), np.bool_)
    distance = cKDTree(points).query(points, _NEIGHBOURS + 1)[0][:, 1:].mean(1)
    return np.asarray(distance > distance.mean() + _OUTLYING * distance.std())


def smallest_cuboid(points: FloatArray) -> tuple[Pose, FloatArray]:
    """The upright cuboid of least footprint around points; one of its sides lies on a side of their convex hull.

    Args:
        points: (N, 3), metres; N is 1 or more.

    Returns:
        Its pose, x along the longer side, and its size (3,), metres.
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
