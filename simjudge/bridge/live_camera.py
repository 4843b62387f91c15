"""A camera in a program's system: when it looks, what Chrono shows it then, and the labelled frames of that.

Nothing can be interpolated in a system that somebody else steps: soils deform, bodies touch. A picture is therefore
taken at the first step at or after the time at which it is due, and its stamp is the time of that step. An exposure's
moments are taken in the same way, each at a step of its own.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from simjudge.bridge.live_system import LiveSystem
from simjudge.bridge.visuals import reference_pose
from simjudge.core.errors import UsageError
from simjudge.core.names import stamp_to_name
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.capture import CapturedFrame, FrameFinisher, RawFrame
from simjudge.sim.capture.exposure import FrameExposure
from simjudge.sim.capture.label_rules import Labelling
from simjudge.sim.engines.chrono.cameras import ChronoCameras, rays_of_a_scene_state
from simjudge.sim.engines.contract import Labels, SceneState
from simjudge.sim.sensors.camera.rig import MountedCamera
from simjudge.sim.sensors.camera.shutter import SECOND, exposure_stamps, frame_stamp_offset, middle_stamp, ready_stamp


@dataclass(frozen=True)
class CameraPlace:
    """Where a camera is.

    Attributes:
        pose: of the camera's body (x ahead, y left, z up) in the body's reference frame, metres.
    """

    body: Any
    pose: Pose

    def optical_pose(self) -> Pose:
        """The optical frame in the world now."""
        return (reference_pose(self.body) @ self.pose).optical_frame()


@dataclass(frozen=True)
class LiveFrame:
    """A frame that is handed over.

    Attributes:
        time: nanoseconds from which on it may be.
    """

    time: int
    captured: CapturedFrame


class FrameSource(Protocol):
    """A camera that hands over frames while its program goes on."""

    @property
    def mounted(self) -> MountedCamera:
        """Name, lens, rate."""

    def observe(self, time: int) -> None:
        """Look at the system now, after a step, if a picture is due."""

    def take(self, time: int) -> list[LiveFrame]:
        """The frames that may be handed over now, each once."""

    @property
    def missed(self) -> int:
        """Frames that fell between two steps."""


class LiveCamera:
    """A camera of the bridge's own."""

    def __init__(
        self, world: LiveSystem, mounted: MountedCamera, place: CameraPlace, cameras: ChronoCameras,
        labelling: Labelling, seed: int,
    ) -> None:  # fmt: skip
        """Begin now; the first picture is due one period later."""
        camera = mounted.camera
        if camera.has_ray_times:
            raise UsageError(f"{camera.path}: rays with times of their own (line_time, motion_blur: rays) are not"
                             " Chrono's; take motion_blur: moments")  # fmt: skip
        if camera.chrono is not None and camera.gain != 1:
            raise UsageError(f"{camera.path}: gain: the lamps are the program's; take gain 1 with Chrono's own camera")
        self.mounted, self.missed = mounted, 0
        self._world, self._place, self._cameras = world, place, cameras
        self._finisher = FrameFinisher(camera, labelling, mounted.noise_seed(seed))
        self._rays = rays_of_a_scene_state(camera.rays_per_pixel, camera.exposure_samples)
        self._start, self._number = round(world.time * SECOND), 0
        self._waiting: deque[LiveFrame] = deque()
        self._begin()

    def _begin(self) -> None:
        """Plan the next frame."""
        self._number += 1
        camera, due = self.mounted.camera, self._start + frame_stamp_offset(self.mounted.camera.rate, self._number)
        self._due, self._stamp = due, -1
        self._moments, self._middle = exposure_stamps(camera, due), middle_stamp(camera, due)
        self._light: list[npt.NDArray[np.float32]] = []
        self._states: list[SceneState] = []
        self._labels: Labels | None = None
        self._labelled: SceneState | None = None

    def observe(self, time: int) -> None:
        """Look at the system now if a picture is due.

        Args:
            time: nanoseconds.
        """
        if time < self._due:
            return
        if self._stamp < 0:
            self._stamp = time
        state: SceneState | None = None
        while self._moments and self._moments[0] <= time:
            self._moments.pop(0)
            if state is None:
                state, light = self._state(), self._radiance()
            self._light.append(light)
            self._states.append(state)
        if self._labels is None and self._middle <= time:
            self._labelled = state or self._state()
            found = self._cameras.labels(self.mounted.camera.lens)
            classes, instances = self._world.own_labels(found.class_id, found.instance)
            self._labels = Labels(classes, instances, found.depth)
        if not self._moments and self._labels is not None and self._labelled is not None:
            taken = self._stamp
            self._finish(self._labels, self._labelled)
            self._skip(time, taken)

    def take(self, time: int) -> list[LiveFrame]:
        """The frames that may be handed over now, each once.

        Args:
            time: nanoseconds.
        """
        found = []
        while self._waiting and self._waiting[0].time <= time:
            found.append(self._waiting.popleft())
        return found

    def _state(self) -> SceneState:
        return SceneState(self._place.optical_pose(), self._world.object_poses())

    def _radiance(self) -> npt.NDArray[np.float32]:
        camera = self.mounted.camera
        if camera.chrono is not None:
            return self._cameras.own(camera)
        return self._cameras.radiance(camera.lens, self._rays)

    def _finish(self, labels: Labels, middle: SceneState) -> None:
        stamp = self._stamp
        exposure = FrameExposure(stamp_to_name(stamp), stamp, tuple(self._states), middle)
        light = np.asarray(np.mean(self._light, axis=0, dtype=np.float64), np.float32)
        raw = RawFrame(exposure, None, self._world.scene(), light, labels, 0.0, 0.0)
        self._waiting.append(LiveFrame(ready_stamp(self.mounted.camera, stamp), self._finisher.finish(raw)))
        self._begin()

    def _skip(self, time: int, taken: int) -> None:
        """Frames between two steps are lost: a step was longer than the camera's period."""
        rate = self.mounted.camera.rate
        while self._due <= time and (taken == time or self._start + frame_stamp_offset(rate, self._number + 1) <= time):
            self.missed += 1
            self._begin()
        if self._due <= time:  # its time came while the last exposure ended
            self.observe(time)
