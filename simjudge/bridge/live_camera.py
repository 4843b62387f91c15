"""A camera in a program's system, ours or one that the program made itself: when it looks and what it is shown.

Nothing can be interpolated in a system that somebody else steps: soils deform, bodies touch. A picture is therefore
taken at the first step at or after the time at which it is due, and its stamp is the time of that step. An exposure's
moments are taken in the same way, each at a step of its own.

Of a ChCameraSensor that a program made itself the image is the sensor's own, with its own filters; nothing is
developed. What differs:

* rows come bottom first: they are turned over;
* camera_info is the lens that this build's rays truly follow, as the probe has found it;
* ground truth comes from a segmentation camera of simjudge's, whose field is corrected to the same rays;
* the stamp is the time at which the sensor was launched; its lag holds the image back, and no longer moves its labels.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from simjudge.bridge.live_system import LiveSystem, reference_pose
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.names import stamp_to_name
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.capture import CapturedFrame, CapturedImage, FrameExposure, FrameFinisher, RawFrame
from simjudge.sim.capture.ground_truth import Labelling, ground_truth
from simjudge.sim.engines.chrono import modules as buffers
from simjudge.sim.engines.chrono.cameras import ChronoCameras, ProbeResult
from simjudge.sim.engines.chrono.lenses import SensorRequest, chrono_slopes, slope_factor
from simjudge.sim.engines.chrono.modules import Factor, frame_pose
from simjudge.sim.engines.contract import Labels, SceneState
from simjudge.sim.engines.pinhole_pictures import rays_of_a_scene_state
from simjudge.sim.sensors.camera.camera import (
    SECOND,
    Camera,
    exposure_stamps,
    frame_stamp_offset,
    middle_stamp,
    ready_stamp,
)
from simjudge.sim.sensors.camera.lens import Lens
from simjudge.sim.sensors.camera.rig import MountedCamera


@dataclass(frozen=True)
class CameraPlace:
    """Where a camera is."""

    body: Any
    pose: Pose  # of the camera's body (x ahead, y left, z up) in the body's reference frame, metres

    def optical_pose(self) -> Pose:
        """The optical frame in the world now."""
        return (reference_pose(self.body) @ self.pose).optical_frame()


@dataclass(frozen=True)
class LiveFrame:
    """A frame that is handed over."""

    time: int  # nanoseconds from which on it may be
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
        self,
        world: LiveSystem,
        mounted: MountedCamera,
        place: CameraPlace,
        cameras: ChronoCameras,
        labelling: Labelling,
        seed: int,
    ) -> None:
        """Begin now; the first picture is due one period later."""
        camera = mounted.camera
        if camera.has_ray_times:
            raise UsageError(
                f"{camera.path}: rays with times of their own (line_time, motion_blur: rays) are not"
                " Chrono's; take motion_blur: moments"
            )
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
        self._number += 1
        camera, due = self.mounted.camera, self._start + frame_stamp_offset(self.mounted.camera.rate, self._number)
        self._due, self._stamp = due, -1
        self._moments, self._middle = exposure_stamps(camera, due), middle_stamp(camera, due)
        self._light: list[npt.NDArray[np.float32]] = []
        self._states: list[SceneState] = []
        self._labels: Labels | None = None
        self._labelled: SceneState | None = None

    def observe(self, time: int) -> None:
        """Look at the system now if a picture is due (time: nanoseconds)."""
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
        """The frames that may be handed over now, each once (time: nanoseconds)."""
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


_MODELS = {0: "pinhole", 1: "FOV lens", 2: "radial"}  # CameraLensModelType (ChSensorRenderTypes.h)


def sensor_place(sensor: Any) -> CameraPlace:
    """Where a sensor of Chrono's is."""
    frame = sensor.GetOffsetPose()
    return CameraPlace(sensor.GetParent(), frame_pose(frame))


def true_lens(sensor: Any, probed: ProbeResult) -> tuple[Lens, float]:
    """The lens that a camera's rays truly follow: the lens, and by how many pixels Chrono's rays miss it at most."""
    size, field = (int(sensor.GetWidth()), int(sensor.GetHeight())), float(sensor.GetHFOV())
    factor: Factor = probed.factors["camera"]
    model = _MODELS.get(int(sensor.GetLensModelType()), "unknown lens")
    if model not in ("pinhole", "radial"):
        raise UsageError(
            f"adopt: {sensor.GetName()!r} has Chrono's {model}: no camera_info says what it does; give the"
            " bridge a camera of its own (bridge.camera with lens: {model: fov})"
        )
    focal = size[0] / 2 / slope_factor(field, factor)
    centre = ((size[0] - 1) / 2, (size[1] - 1) / 2)
    if model == "pinhole" or "camera" not in probed.radial:
        return Lens("pinhole", size, (focal, focal), centre), 0.0
    terms = sensor.GetCameraDistortionCoefficients()
    k1, k2, k3 = float(terms.x), float(terms.y), float(terms.z)
    lens = Lens("radial", size, (focal, focal), centre, (k1, k2, k3))
    across, down = (np.linspace(0, side - 1, min(side, 41)) for side in size)
    pixels = np.stack(np.meshgrid(across, down), -1)
    slopes = chrono_slopes(SensorRequest(size, field, (k1, k2, k3)), pixels, factor)
    seen = lens.project(np.concatenate([slopes, np.ones((*slopes.shape[:-1], 1))], -1))
    return lens, float(np.nanmax(np.linalg.norm(seen - pixels, axis=-1)))


class AdoptedCamera:
    """A program's own camera; the program's own manager updates it.

    Attributes:
        notes: what was wrong, one line each, and what became of it.
    """

    def __init__(self, world: LiveSystem, sensor: Any, name: str, probed: ProbeResult, labelling: Labelling) -> None:
        if not hasattr(sensor, "GetMostRecentRGBA8Buffer") or not hasattr(sensor, "GetHFOV"):
            raise UsageError(f"adopt: a ChCameraSensor is needed; this is a {type(sensor).__name__}")
        lens, miss = true_lens(sensor, probed)
        self._world, self._sensor, self._labelling = world, sensor, labelling
        self._place, lag = sensor_place(sensor), float(sensor.GetLag())
        self._lag = round(lag * 1e9)
        camera = Camera(name, Path(f"adopted/{name}"), lens, (), float(sensor.GetUpdateRate()), lag)
        self.mounted = MountedCamera(name, camera, self._place.pose)
        self.missed = 0
        self._cameras: ChronoCameras | None = None
        self._launched = int(sensor.GetNumLaunches())
        self._waiting: deque[tuple[int, int, Labels, SceneState]] = deque()
        self._ready: deque[LiveFrame] = deque()
        self.notes = _notes(sensor, probed, lens, miss, lag)

    @property
    def place(self) -> CameraPlace:
        """Where the camera is."""
        return self._place

    def look_through(self, cameras: ChronoCameras) -> None:
        """Say what labels are taken with."""
        self._cameras = cameras

    def observe(self, time: int) -> None:
        """See whether the sensor was launched at this step, and label what it sees (time: nanoseconds)."""
        launched = int(self._sensor.GetNumLaunches())
        if launched != self._launched and self._cameras is not None:
            self._launched = launched
            found = self._cameras.labels(self.mounted.camera.lens)
            classes, instances = self._world.own_labels(found.class_id, found.instance)
            state = SceneState(self._place.optical_pose(), self._world.object_poses())
            self._waiting.append((launched, time, Labels(classes, instances, found.depth), state))
        while self._waiting and self._waiting[0][1] + self._lag <= time:
            if not self._collect(time):
                break

    def take(self, time: int) -> list[LiveFrame]:
        """The frames that may be handed over now, each once (time: nanoseconds)."""
        found = [frame for frame in self._ready if frame.time <= time]
        self._ready.clear()
        return found

    def _collect(self, time: int) -> bool:
        """Take the image of the oldest launch, if the sensor has it."""
        launched, stamp, labels, state = self._waiting[0]
        buffer = self._sensor.GetMostRecentRGBA8Buffer()
        # Chrono counts a buffer's launches from 1 or from 0, by release; the image is this launch's or an older one's.
        if not buffer.HasData() or int(buffer.LaunchedCount) < launched - 1:
            period = 1e9 / self.mounted.camera.rate
            if time > stamp + self._lag + 2 * period:
                raise SimjudgeError(
                    f"adopt: camera {self.mounted.name} was launched at {stamp / 1e9:.3f} s and gave no image: push a"
                    " ChFilterRGBA8Access before AddSensor, and call the manager's Update() before bridge.step()"
                )
            return False
        self._waiting.popleft()
        image = CapturedImage(buffers.rgb(buffer))
        lens = self.mounted.camera.lens
        truth = ground_truth(self._world.scene(), lens, state, labels, self._labelling)
        exposure = FrameExposure(stamp_to_name(stamp), stamp, (state,), state)
        self._ready.append(LiveFrame(time, CapturedFrame(exposure, image, labels, truth)))
        return True


def _notes(sensor: Any, probed: ProbeResult, lens: Lens, miss: float, lag: float) -> tuple[str, ...]:
    """What is wrong in a camera of Chrono's, and what became of it."""
    notes = ["rows come bottom first: turned over"]
    if probed.factors["segmentation"] != probed.factors["camera"]:
        off = segmentation_error(lens, probed)
        notes.append(f"Chrono's own labels would be up to {off:.0f} px off: made anew, with a field that is corrected")
    if miss > 0.1:
        notes.append(f"Chrono's radial lens misses its own coefficients by up to {miss:.1f} px; camera_info has these")
    if lens.model == "pinhole" and int(sensor.GetLensModelType()) == 2:
        notes.append("this build ignores the radial lens: camera_info says pinhole")
    gamma = float(sensor.GetGamma()) if hasattr(sensor, "GetGamma") else buffers.GAMMA
    notes.append(f"bytes are light to the power 1 / {gamma:.2g}, not sRGB; kept as they are")
    if lag > 0:
        notes.append(f"an image comes {lag:.3f} s after its stamp, which is when it was launched")
    if float(sensor.GetCollectionWindow()) > 0:
        notes.append("its collection window is kept; labels are those of its end")
    return tuple(notes)


def segmentation_error(lens: Lens, probed: ProbeResult) -> float:
    """Pixels by which an uncorrected segmentation camera of the same hFOV is off, at most, along the middle row."""
    width = lens.size[0]
    true = width / 2 / lens.focal[0]
    field = 2 * np.arctan(true) if probed.factors["camera"] == "tangent" else np.pi * true / 2
    other = slope_factor(float(field), probed.factors["segmentation"])
    return float(abs(width / 2 * (1 - true / other)) if other > true else abs(width / 2 * (1 - other / true)))
