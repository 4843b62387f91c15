"""Occupancy maps of whole sets of clouds: of a real and a virtual lidar on one grid, from beams in the fixed frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.names import NO_STAMP
from simjudge.data.clouds import ONE_TIME, Cloud, CloudSet, LidarPoints, lidar_points
from simjudge.detectors.clouds.ground import fit_ground_plane
from simjudge.geometry.poses import Pose
from simjudge.objects.occupancy import BeamSet, MapAgreement, MapExtent, OccupancyMap, common_extent, map_agreement
from simjudge.objects.series import ScanPoses, scan_poses, times_from_stamp
from simjudge.objects.settings import OccupancySettings
from simjudge.sim.sensors.lidar.scan import deskewed

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
NO_GROUND = "scans without ground (a neighbour's is taken for the occupancy map)"
NO_TIMES = "scans whose points have no times that can be used (taken as they are)"
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
