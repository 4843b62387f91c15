"""Views into a program's system: pictures and scans, taken under the program's own lamps."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from simjudge.bridge.live_camera import CameraPlace
from simjudge.bridge.live_lidar import lidar_views
from simjudge.bridge.live_system import LiveSystem
from simjudge.bridge.visuals import chrono_frame
from simjudge.core.errors import UsageError
from simjudge.sim.engines.chrono.cameras import ProbeResult, probe
from simjudge.sim.engines.chrono.views import ChronoViews


class BridgeViews:
    """Makes views; each is released when the bridge's stack is closed.

    Attributes:
        manager: the ChSensorManager whose lamps and background count; None once the bridge has been closed.
    """

    def __init__(self, world: LiveSystem, manager: Any, stack: ExitStack) -> None:
        """Make nothing yet."""
        self._world, self.manager, self._stack = world, manager, stack
        self._probed: ProbeResult | None = None
        self._views: list[ChronoViews] = []

    def probe(self) -> ProbeResult:
        """What PyChrono's sensors are found to do; they are asked once."""
        if self._probed is None:
            self._probed = probe(self._world.modules, self._world.release)
        return self._probed

    def camera_views(self, place: CameraPlace) -> ChronoViews:
        """The pictures that a camera takes."""
        world = self._world
        frame = chrono_frame(world.modules.core, place.pose)
        return self._kept(ChronoViews(world.modules, world.release, world.system, place.body, self._lamps, frame))

    def lidar_views(self, place: CameraPlace) -> ChronoViews:
        """The scans that a lidar takes."""
        frame = chrono_frame(self._world.modules.core, place.pose)
        return self._kept(lidar_views(self._world, place.body, frame, self._lamps))

    def _kept(self, views: ChronoViews) -> ChronoViews:
        self._views.append(views)
        self._stack.callback(views.close)
        return views

    def _lamps(self, light: float) -> Any:
        """A sensor manager of the system under the program's lamps."""
        if light != 1:
            raise UsageError("the lamps are the program's: they cannot be dimmed for a picture")
        made = self._world.modules.sensor.ChSensorManager(self._world.system)
        made.scene = self.manager.scene
        if hasattr(made, "vulkan_scene"):
            made.vulkan_scene = self.manager.vulkan_scene
        return made
