"""Occupancy maps of whole sets of clouds: of a real and a virtual lidar on one grid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.data.clouds import CloudSet
from simjudge.objects.map_agreement import MapAgreement, map_agreement
from simjudge.objects.occupancy import BeamSet, MapExtent, OccupancyMap, common_extent
from simjudge.objects.occupancy_settings import OccupancySettings
from simjudge.objects.scan_beams import EMPTY, NO_GROUND, scan_beams
from simjudge.objects.scan_poses import ScanPoses, scan_poses

DEFAULT_SETTINGS = OccupancySettings()
UNREADABLE = "clouds that cannot be read, left out of the occupancy map"
LEFT_OUT = "scans whose pose jumps, left out of the occupancy map"


@dataclass(frozen=True, eq=False, repr=False)
class MapPair(ShortRepr):
    """The maps of a real and a virtual lidar.

    Attributes:
        real_losses, virtual_losses: scans of each that were left out.
    """

    real: OccupancyMap
    virtual: OccupancyMap
    agreement: MapAgreement
    real_losses: Losses
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
    """Make the maps of two sets in one fixed frame, and compare them.

    Args:
        virtual: with poses in the same fixed frame.
    """
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
    """Enter the scans of a set into a map.

    Args:
        losses: takes scans that are empty, without ground, or cannot be read.
    """
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
        for each in early:
            result.enter(each, ground)
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
