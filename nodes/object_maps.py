"""The occupancy maps of objects_node: scans of a real and a virtual lidar in, one picture of both maps out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from simjudge.core.errors import SimjudgeError
from simjudge.data.clouds import Cloud
from simjudge.geometry.poses import Pose
from simjudge.geometry.trajectories import MotionLimits
from simjudge.objects.occupancy import OccupancyMap
from simjudge.objects.occupancy_settings import OccupancySettings
from simjudge.ros.node_settings import LIVE_MAPPING
from simjudge.studies.live.live_maps import SIDES, LiveMaps

from .endpoints import declared_publisher
from .headers import make_header
from .object_messages import map_markers
from .runtime import SimjudgeNode
from .scan_input import MountInput, ScanInput


class ObjectMaps:
    """Enters scans into the maps of both lidars; all that touches the maps is done on the worker's thread.

    Attributes:
        changed: whether scans came since the maps were published.
        newest_stamp: of a scan that was entered, nanoseconds; 0 before the first.
    """

    def __init__(self, node: SimjudgeNode, post: Callable[[Callable[[], object]], None]) -> None:
        """Subscribe."""
        self.changed, self.newest_stamp = False, 0
        self._node, self._post = node, post
        settings = OccupancySettings(**{name: node.settings[name] for name in LIVE_MAPPING})
        self._maps = LiveMaps(settings, node.settings["map_size"], node.losses)
        self._markers = declared_publisher(node, "objects/map/markers")
        mounts, limits = MountInput(node), MotionLimits(max_speed=settings.max_speed)
        self._inputs = [
            ScanInput(node, name, mounts, limits, partial(self._take, side)) for side, name in enumerate(SIDES)
        ]

    def settle(self, wait: float) -> None:
        """Take the scans whose poses are known; give up those that waited too long.

        Args:
            wait: seconds.
        """
        for each in self._inputs:
            each.settle(wait)

    def counts(self) -> dict[str, int]:
        """Scans that came."""
        return {f"{name} scans received": each.received for name, each in zip(SIDES, self._inputs, strict=True)}

    def publish(self) -> tuple[OccupancyMap, OccupancyMap] | None:
        """Publish the maps' picture; runs on the worker's thread.

        Returns:
            The maps; None until each has a scan.
        """
        self.changed = False
        maps = self._maps.maps
        if maps is not None:
            self._markers.publish(map_markers(make_header(self.newest_stamp, self._inputs[0].frame_id), *maps))
        return maps

    def _take(self, side: int, stamp: int, cloud: Cloud, pose: Pose) -> None:
        self._post(partial(self._enter, side, stamp, cloud, pose))

    def _enter(self, side: int, stamp: int, cloud: Cloud, pose: Pose) -> None:
        try:
            self._maps.enter(side, stamp, cloud, pose)
        except SimjudgeError as error:
            self._node.lose(f"{SIDES[side]} scans that cannot be read", str(error))
            return
        self.changed, self.newest_stamp = True, max(self.newest_stamp, stamp)
