"""Occupancy maps of a real and a virtual lidar while their scans come: the numbers of `simjudge objects`.

Scans are entered one by one, in order of time, by the functions of `simjudge.objects.occupancy_mapping`. The grid lies
around the first scan of either lidar and does not grow.
"""

from __future__ import annotations

import numpy as np

from simjudge.core.errors import Losses
from simjudge.data.clouds import Cloud, CloudSet
from simjudge.geometry.poses import Pose
from simjudge.objects.occupancy import BeamSet, MapExtent, OccupancyMap
from simjudge.objects.occupancy_mapping import EMPTY, LEFT_OUT, NO_GROUND, scan_beams
from simjudge.objects.occupancy_settings import OccupancySettings
from simjudge.objects.scan_poses import scan_poses

SIDES = ("real", "virtual")
OUTSIDE = "scans outside of the occupancy map (map_size)"
LATE = "scans that are not newer than the one before, left out of the occupancy map"


class LiveMaps:
    """The maps of both lidars, on one grid."""

    def __init__(self, settings: OccupancySettings, size: float, losses: Losses) -> None:
        """Start with nothing.

        Args:
            settings: of the maps; `deskew` needs the scan that follows, and is not done.
            size: width and height of the grid, metres.
        """
        self._settings, self._reach, self._losses = settings, size / 2, losses
        self._sides: tuple[_LiveMap, _LiveMap] | None = None

    def enter(self, side: int, stamp: int, cloud: Cloud, pose: Pose) -> None:
        """Enter a scan.

        Args:
            stamp: nanoseconds; a scan that is not newer than the one before of its side is left out.
            pose: of the lidar in the fixed frame, which is that of both lidars.
        """
        if self._sides is None:
            place = np.array([pose.position])
            extent = MapExtent.around(place, self._reach, self._settings.cells_per_metre)
            real, virtual = (_LiveMap(name, extent, self._settings) for name in SIDES)
            self._sides = real, virtual
        self._sides[side].enter(stamp, cloud, pose, self._losses)

    @property
    def maps(self) -> tuple[OccupancyMap, OccupancyMap] | None:
        """The real and the virtual map; None until each has a scan."""
        if self._sides is None or not all(each.map.scans for each in self._sides):
            return None
        return self._sides[0].map, self._sides[1].map


class _LiveMap:
    """The map of one lidar."""

    def __init__(self, name: str, extent: MapExtent, settings: OccupancySettings) -> None:
        self.map = OccupancyMap(extent, settings)
        self._name, self._settings = name, settings
        self._last: tuple[int, Pose] | None = None
        self._ground: np.ndarray | None = None
        self._early: list[BeamSet] = []

    def enter(self, stamp: int, cloud: Cloud, pose: Pose, losses: Losses) -> None:
        if self._last is not None and stamp <= self._last[0]:
            losses.add(LATE, cloud.where)
            return
        if self._is_outside(pose):
            losses.add(OUTSIDE, cloud.where)
            return
        # A scan whose pose cannot be reached from the last one is left out, as of a whole set.
        before = [] if self._last is None else [self._last]
        stamps, poses = zip(*before, (stamp, pose), strict=True)
        clouds = CloudSet(
            self._name, [cloud.where] * len(stamps), np.array(stamps, np.int64), lambda _: cloud, poses=poses
        )
        scans = scan_poses(clouds, self._settings.max_speed, losses, LEFT_OUT)
        if len(scans) < len(stamps):
            return
        self._last = stamp, pose
        beams, own = scan_beams(clouds, scans, len(scans) - 1, self._settings, losses)
        if not len(beams):
            losses.add(EMPTY, cloud.where)
            return
        if own is None:
            losses.add(NO_GROUND, cloud.where)
        self._ground = self._ground if own is None else own
        self._early.append(beams)
        if self._ground is None:
            return
        for each in self._early:
            self.map.enter(each, self._ground)
        self._early.clear()

    def _is_outside(self, pose: Pose) -> bool:
        """Whether beams of a scan would leave the grid."""
        extent, reach = self.map.extent, self._settings.map_range
        x, y = pose.position[:2]
        left, bottom = extent.corner
        right, top = (
            corner + cells / extent.cells_per_metre for corner, cells in ((left, extent.columns), (bottom, extent.rows))
        )
        return not (left + reach <= x <= right - reach and bottom + reach <= y <= top - reach)
