"""Chrono's own lidar in a program's system, with the truth of its points: which of them lie on labelled bodies."""

from __future__ import annotations

from typing import Any

import numpy as np

from simjudge.bridge.live_system import LiveSystem
from simjudge.core.arrays import FloatArray
from simjudge.sim.engines.chrono.views import ChronoViews
from simjudge.sim.engines.contract import STANDING, BodyMotion, Hits, Poses
from simjudge.sim.engines.mesh_rays import MeshRays
from simjudge.sim.scene.model import Mesh, Surface, Thing
from simjudge.sim.sensors.lidar.lidar_fields import LidarSpec
from simjudge.sim.vehicle.vehicle import VehicleState

_NEAR = 0.01
"""Metres within which a point and the surface of a labelled body are one."""
_NOWHERE = Mesh(np.zeros((0, 3)), np.zeros((0, 3), np.int64), np.zeros((0, 2)), np.zeros((0, 3)))


class LiveLidar:
    """A lidar's view of a program's system, for `SensorFeed`.

    All beams fire at once, at the step at which a turn is due: Chrono's lidar knows no turn. Its intensity is Chrono's.
    """

    def __init__(self, world: LiveSystem, spec: LidarSpec, views: ChronoViews) -> None:
        """Put the lidar into the system."""
        self._world, self._views, self._spec = world, views, spec
        # What is not labelled sends light back too: one more thing, nowhere, stands for all of it.
        rest = Thing("everything else", _NOWHERE, Surface(reflectance=1.0))
        self.name, self.things = world.name, (*world.things, rest)
        self._rays = MeshRays([thing.mesh for thing in world.things])

    @property
    def time(self) -> float:
        """Simulated seconds."""
        return self._world.time

    def poses(self) -> Poses:
        """Where everything is now."""
        return self._world.poses()

    def vehicle_state(self) -> VehicleState:
        """How the vehicle moves now."""
        return self._world.vehicle_state()

    def cast_timed_rays(
        self, origins: FloatArray, directions: FloatArray, times: FloatArray, motion: BodyMotion = STANDING
    ) -> Hits:
        """What Chrono's lidar meets now, beam by beam as `lidar_beams` has them."""
        del times, motion
        found = self._views.scan(self._spec).astype(np.float64)
        ranges, intensity = (found[..., k].T.ravel() for k in (0, 1))
        poses = self._world.object_poses()
        distance = np.where(ranges > 0, ranges, np.inf)
        thing = np.where(np.isfinite(distance), len(self.things) - 1, -1)
        if len(self.things) > 1:
            own = self._rays.cast(origins, directions, [poses[each.name] for each in self._world.things])
            both = np.isfinite(distance) & np.isfinite(own.distance)
            met = np.abs(np.where(both, own.distance, np.inf) - np.where(both, distance, 0.0)) <= _NEAR
            thing[met] = own.thing[met]
        return Hits(distance, thing, np.where((thing >= 0)[:, None], -directions * intensity[:, None], np.nan))


def lidar_views(world: LiveSystem, body: Any, frame: Any, manager: Any) -> ChronoViews:
    """The pictures that a lidar on a body takes.

    Args:
        frame: ChFrame of the lidar in the body's reference frame.
    """
    return ChronoViews(world.modules, world.release, world.system, body, manager, frame)
