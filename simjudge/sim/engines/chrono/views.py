"""Single pictures of a ChSystem through Chrono's sensors, whoever owns the system.

Chrono's noise filters for cameras, in one unit whatever renders.

ChFilterCameraNoise.cpp has two of each, at 7689fbc0. OptiX (camera_noise.cu, the same from 9.0.1 on): full scale is
1; the pixel-dependent one has the variance slope x value + intercept. Vulkan: figures in bytes, and the pixel-dependent
one is normal with mean `intercept` and deviation `slope` x brightness, which is another thing under the same name.

A sensor belongs to a manager of its own here: updating the manager takes one picture, of that sensor alone. While it
does, the system's clock makes the sensor due, by whole seconds at 1 Hz, which floats hold exactly; then the clock shows
the system's own time again. Lag and collection window are zero, so that the picture of this update, and no other, is
what the buffer gives (ChSensorManager::Update waits for it: OptiX renders in threads of its own). Exposure times, rates
and lag are simjudge's own affair: instants, and the camera's clock.
"""

from __future__ import annotations

import os
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from simjudge.core.errors import SimjudgeError
from simjudge.sim.engines.chrono import modules as buffers
from simjudge.sim.engines.chrono.lenses import (
    PhysCamera,
    SensorRequest,
    lidar_arguments,
    make_deep_camera,
    make_phys_camera,
    saved_values,
)
from simjudge.sim.engines.chrono.modules import Modules, Release, camera_arguments
from simjudge.sim.sensors.camera.camera import ChronoNoise
from simjudge.sim.sensors.camera.lens import Lens
from simjudge.sim.sensors.lidar.lidar import LidarSpec

_FULL = 255.0


def noise_filter(sensors: Any, noise: ChronoNoise) -> Any:
    """The filter, to be pushed before what reads the picture."""
    if not hasattr(sensors, "ChFilterCameraNoiseConstNormal"):
        raise SimjudgeError(
            "engine chrono: this PyChrono wraps no camera noise filters: take one that does, or simjudge's own noise"
            " (filters: shot_noise)"
        )
    in_bytes = not hasattr(sensors, "ChOptixSensor")
    if noise.kind == "constant":
        unit = _FULL if in_bytes else 1.0
        return sensors.ChFilterCameraNoiseConstNormal(noise.mean * unit, noise.deviation * unit)
    if in_bytes:
        raise SimjudgeError(
            "engine chrono: pixel_dependent noise: the Vulkan renderer's has another formula, whose variance is not"
            " slope x value + intercept; take constant, simjudge's shot_noise, or a build with OptiX"
        )
    return sensors.ChFilterCameraNoisePixDep(noise.slope, noise.intercept)


FARTHEST = 10_000.0  # Metres: what the depth camera says where nothing is hit
_SEED = 1  # Of Chrono's own noise, where it can be seeded; ours is the camera's affair
_KEPT = 6  # Sensors that are kept for the next picture of the same kind
_PINHOLE = 0  # CameraLensModelType::PINHOLE (ChSensorRenderTypes.h), where the bindings lack the name
_RADIAL = 2  # CameraLensModelType::RADIAL, likewise
_LEGACY = 5  # Integrator::LEGACY (ChSensorRenderTypes.h), likewise
_ACCESS = {
    "camera": "ChFilterRGBA8Access",
    "noisy": "ChFilterRGBA8Access",
    "segmentation": "ChFilterSemanticAccess",
    "depth": None,
    "lidar": "ChFilterDIAccess",
}


Kind = Literal["camera", "noisy", "segmentation", "depth", "lidar", "physical", "deep"]


class Noisy(NamedTuple):
    """A picture with Chrono's noise: what to ask for, n x n rays a pixel, the noise."""

    asked: SensorRequest
    side: int
    noise: ChronoNoise


class Physical(NamedTuple):
    """A picture of Chrono's physical camera: its settings, the lens, n x n rays a pixel."""

    settings: PhysCamera
    lens: Lens
    side: int


What = SensorRequest | LidarSpec | Noisy | Physical


class _View(NamedTuple):
    manager: Any
    sensor: Any
    folder: Path | None


class ChronoViews:
    """Pictures of a system from one of its bodies.

    Args:
        manager: makes a sensor manager of the system, with its lamps in a part of their light.
        mount: of the sensors in the body's frame, a ChFrame; None: the body's own frame.
    """

    def __init__(
        self,
        modules: Modules,
        release: Release,
        system: Any,
        parent: Any,
        manager: Callable[[float], Any],
        mount: Any = None,
    ) -> None:
        check_cameras(release)
        self._core, self._sensor, self._release = modules.core, modules.sensor, release
        self._system, self._rig, self._core_manager = system, parent, manager
        self._mount = mount
        self._folder = tempfile.TemporaryDirectory(prefix="simjudge-chrono-")
        self._files = 0
        self._views: OrderedDict[tuple[Any, ...], _View] = OrderedDict()
        if release.random_seed:
            self._sensor.ChSensorManager.SetRandomSeed(_SEED)

    def colours(self, asked: SensorRequest, light: float = 1.0) -> npt.NDArray[np.uint8]:
        """Gamma-encoded colours (H, W, 3), upright, in a part of the scene's light: uint8 (H, W, 3), red first."""
        with self._taken("camera", asked, light) as view:
            return buffers.rgb(view.sensor.GetMostRecentRGBA8Buffer())

    def deep(self, asked: SensorRequest, light: float = 1.0) -> npt.NDArray[np.uint16]:
        """Linear colours, uint16 (H, W, 3), 65535 for a radiance of 1, in a part of the light: the bare camera's."""
        with self._taken("deep", asked, light) as view:
            path = _written(view, "*.bin")
        values = saved_values(path)[..., :3]
        path.unlink()
        return values

    def labels(self, asked: SensorRequest) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint16]]:
        """Classes and instances (H, W), upright: uint16 (H, W) each."""
        with self._taken("segmentation", asked) as view:
            if view.folder is None:
                return buffers.labels(view.sensor.GetMostRecentSemanticBuffer())
            return buffers.saved_labels(_written(view, "*.png"))

    def distances(self, asked: SensorRequest) -> npt.NDArray[np.float32]:
        """Distances along the rays (H, W), upright; FARTHEST where nothing is hit. Float32 (H, W), metres."""
        with self._taken("depth", asked) as view:
            return buffers.ranges(view.sensor.GetMostRecentDepthBuffer())

    def scan(self, spec: LidarSpec) -> npt.NDArray[np.float32]:
        """Ranges (metres, 0: nothing met) and intensities (rings, beams, 2) of a lidar at the camera's place."""
        with self._taken("lidar", spec) as view:
            # Of a full turn, one column more than asked for: the first again.
            return buffers.returns(view.sensor.GetMostRecentDIBuffer())[:, : spec.model().columns]

    def noisy(self, what: Noisy, light: float) -> npt.NDArray[np.uint8]:
        """Gamma-encoded colours, uint8 (H, W, 3), upright, in a part of the scene's light, with Chrono's own noise."""
        with self._taken("noisy", what, light) as view:
            return buffers.rgb(view.sensor.GetMostRecentRGBA8Buffer())

    def values(self, what: Physical) -> npt.NDArray[np.uint16]:
        """A picture, uint16 (H, W, 4), upright, of Chrono's own physical camera, linear unless its stages bend it."""
        with self._taken("physical", what) as view:
            return saved_values(_written(view, "*.bin"))

    def close(self) -> None:
        """Give everything back, sensors first: their managers hold the system."""
        self._views.clear()
        self._rig = self._system = None
        self._folder.cleanup()

    @contextmanager
    def _taken(self, kind: Kind, asked: What, light: float = 1.0) -> Iterator[_View]:
        """Take one picture, to be read within the block: Chrono hands a buffer out by the system's time, too."""
        view = self._view(kind, asked, light)
        launched, now = view.sensor.GetNumLaunches(), self._system.GetChTime()
        self._system.SetChTime(float(launched))
        try:
            view.manager.Update()
            if view.sensor.GetNumLaunches() != launched + 1:
                raise SimjudgeError(f"engine chrono: the {kind} camera took no picture at its turn {launched}")
            yield view
        finally:
            self._system.SetChTime(now)

    def _view(self, kind: Kind, asked: What, light: float) -> _View:
        key = (kind, asked, light)
        if key in self._views:
            self._views.move_to_end(key)
            return self._views[key]
        while len(self._views) >= _KEPT:
            self._views.popitem(last=False)
        manager = self._core_manager(light)
        if isinstance(asked, SensorRequest):
            sensor = self._deep(asked) if kind == "deep" else self._camera(kind, asked)
        elif isinstance(asked, LidarSpec):
            sensor = self._sensor.ChLidarSensor(
                self._rig, 1.0, self._core.ChFramed(), *lidar_arguments(self._sensor, asked.model())
            )
        elif isinstance(asked, Noisy):
            sensor = self._camera("camera", asked.asked, asked.side)
            sensor.PushFilter(noise_filter(self._sensor, asked.noise))
        else:
            sensor = make_phys_camera(self._sensor, self._core, *asked, self._rig)
        folder = self._filters(kind, sensor)
        sensor.SetName(f"simjudge_{kind}")
        if self._mount is not None:
            sensor.SetOffsetPose(self._mount)
        sensor.SetLag(0.0)
        sensor.SetCollectionWindow(0.0)
        now = self._system.GetChTime()
        self._system.SetChTime(0.0)
        try:
            manager.AddSensor(sensor)
        finally:
            self._system.SetChTime(now)
        self._views[key] = _View(manager, sensor, folder)
        return self._views[key]

    def _camera(self, kind: Kind, asked: SensorRequest, side: int = 1) -> Any:
        chrono, sensors = self._core, self._sensor
        radial = asked.coefficients is not None
        lens = (
            getattr(sensors, "CameraLensModelType_RADIAL", _RADIAL)
            if radial
            else getattr(sensors, "CameraLensModelType_PINHOLE", _PINHOLE)
        )
        width, height = asked.size
        common = (self._rig, 1.0, chrono.ChFramed(), width, height, float(asked.field))
        if kind == "camera":
            names = ("parent", "rate", "pose", "w", "h", "hFOV")
            given = dict(zip(names, common, strict=True))
            legacy = getattr(sensors, "Integrator_LEGACY", _LEGACY)
            given |= {"supersample": side, "lens": lens, "gamma": buffers.GAMMA, "integrator": legacy}
            camera = _made(sensors.ChCameraSensor, camera_arguments(self._release, given), 7)
        elif kind == "depth":
            camera = _made(sensors.ChDepthCamera, (*common, FARTHEST, lens), 7)
        else:
            camera = _made(sensors.ChSegmentationCamera, (*common, lens), 6)
        if asked.coefficients is not None:
            camera.SetRadialLensParameters(chrono.ChVector3f(*map(float, asked.coefficients)))
        return camera

    def _deep(self, asked: SensorRequest) -> Any:
        return make_deep_camera(self._sensor, self._core, asked, self._rig)

    def _filters(self, kind: Kind, sensor: Any) -> Path | None:
        """What makes its data readable; the folder, where they go through files."""
        if kind in ("physical", "deep") or (kind == "segmentation" and not self._release.semantic_buffer):
            if not hasattr(self._sensor, "ChFilterSave"):
                raise SimjudgeError(
                    f"engine chrono: this PyChrono gives {kind} pictures neither in memory nor through ChFilterSave;"
                    " take a build that wraps one of them"
                )
            folder = Path(self._folder.name) / f"saved_{self._count()}"
            folder.mkdir()
            # A path from here: ChFilterSave creates the parts of an absolute one below the working folder.
            sensor.PushFilter(self._sensor.ChFilterSave(os.path.relpath(folder) + "/"))
            return folder
        access = _ACCESS[kind]
        if access is not None:
            sensor.PushFilter(getattr(self._sensor, access)())
        return None

    def _count(self) -> int:
        """A number that no file of the folder has yet."""
        self._files += 1
        return self._files


def check_cameras(release: Release) -> None:
    """Make sure that there are cameras."""
    if not release.cameras:
        raise SimjudgeError(
            f"PyChrono {release.version}: its cameras are not exposed to Python (pychrono.sensor has no"
            " ChCameraSensor); take a build with OptiX, or with Vulkan RT whose bindings wrap the rendered sensors"
        )


def _written(view: _View, pattern: str) -> Path:
    """The one file that ChFilterSave just wrote; earlier ones are taken away."""
    folder = view.folder
    if folder is None:
        raise SimjudgeError("engine chrono: a sensor that saves nothing was asked for a file")
    newest = sorted(folder.glob(pattern), key=lambda path: path.stat().st_mtime_ns)
    for path in newest[:-1]:
        path.unlink()
    number = view.sensor.GetNumLaunches() - 1
    if not newest or newest[-1].stem != f"frame_{number}":
        raise SimjudgeError(
            f"engine chrono: ChFilterSave wrote no frame_{number} to {folder}; is the disk full, or was the working"
            " folder changed?"
        )
    return newest[-1]


def _made(kind: Any, arguments: tuple[Any, ...], needed: int) -> Any:
    """A sensor by its constructor; by the first `needed` arguments where it knows no lenses, which the probe sees."""
    try:
        return kind(*arguments)
    except TypeError:
        return kind(*arguments[:needed])
