"""What is seen: a ChSystem of its own that never steps, with the scene's looks, a camera rig, and Chrono's sensors.

Physics runs in another system (`bodies.py`), so that instants of an exposure can put things anywhere. A sensor belongs
to a manager of its own here: updating the manager takes one picture, of that sensor alone. The stage's clock makes it
due, by whole seconds at 1 Hz, which floats hold exactly; lag and collection window are zero, so that the picture of
this update, and no other, is what the buffer gives (ChSensorManager::Update waits for it: OptiX renders in threads of
its own). Exposure times, rates and lag are simjudge's own affair: instants, and the camera's clock.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections import OrderedDict
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.engines.chrono import buffers
from simjudge.engines.chrono.lenses import SensorRequest
from simjudge.engines.chrono.modules import Modules
from simjudge.engines.chrono.own_noise import noise_filter
from simjudge.engines.chrono.phys_camera import PhysCamera, make_deep_camera, make_phys_camera, saved_values
from simjudge.engines.chrono.scenes import PlannedBody, PlannedMaterial, ScenePlan, dim_lights, wavefront
from simjudge.engines.chrono.versions import Release, camera_arguments
from simjudge.geometry.poses import OPTICAL_ORIENTATION, Pose
from simjudge.scene.model import Mesh
from simjudge.sensors.camera.chrono_camera import ChronoNoise
from simjudge.sensors.camera.lens import Lens
from simjudge.sensors.lidar.lidar_fields import LidarSpec

FARTHEST = 10_000.0
"""Metres: what the depth camera says where nothing is hit."""
_SEED = 1
"""Of Chrono's own noise, where it can be seeded; ours is the camera's affair."""
_KEPT = 6
"""Sensors that are kept for the next picture of the same kind."""
_PINHOLE = 0
"""CameraLensModelType::PINHOLE (ChSensorRenderTypes.h), where the bindings lack the name."""
_RADIAL = 2
"""CameraLensModelType::RADIAL, likewise."""
_GRADIENT = 1
"""BackgroundMode::GRADIENT (ChSensorRenderTypes.h), likewise."""
_LEGACY = 5
"""Integrator::LEGACY, likewise."""
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


class ChronoScene:
    """The looks of a scene in Chrono::Sensor.

    Args:
        modules: PyChrono.
        release: which one it is.
        plan: what to show.

    Raises:
        SimjudgeError: the sensors are not exposed to Python.
    """

    def __init__(self, modules: Modules, release: Release, plan: ScenePlan) -> None:
        """Make the bodies; sensors come when they are asked for."""
        if not release.cameras:
            raise SimjudgeError(
                f"PyChrono {release.version}: its cameras are not exposed to Python (pychrono.sensor has no"
                " ChCameraSensor); take a build with OptiX, or with Vulkan RT whose bindings wrap the rendered sensors"
            )
        self._core, self._sensor, self._release, self._plan = modules.core, modules.sensor, release, plan
        self._folder = tempfile.TemporaryDirectory(prefix="simjudge-chrono-")
        self._files = 0
        self._textures: dict[tuple[tuple[int, ...], bytes], Path] = {}
        self._views: OrderedDict[tuple[Any, ...], _View] = OrderedDict()
        if release.random_seed:
            self._sensor.ChSensorManager.SetRandomSeed(_SEED)
        self._system = self._core.ChSystemNSC()
        self._bodies = {planned.name: self._body(planned) for planned in plan.bodies}
        self._rig = self._core.ChBody()
        self._rig.SetFixed(True)
        self._system.AddBody(self._rig)

    def put(self, name: str, pose: Pose) -> None:
        """Put a body somewhere.

        Args:
            name: of the body.
            pose: of the thing's frame in the world, metres.

        Raises:
            UsageError: there is no such body.
        """
        body = self._bodies.get(name)
        if body is None:
            raise UsageError(f"{name}: nothing of that name")
        self._move(body, pose)

    def put_camera(self, optical: Pose) -> None:
        """Put the camera; Chrono's looks along x, its y to the left and its z up.

        Args:
            optical: pose of the optical frame (REP 103) in the world, metres.
        """
        self._move(self._rig, optical @ Pose(orientation=OPTICAL_ORIENTATION).inverse())

    def colours(self, asked: SensorRequest, light: float = 1.0) -> npt.NDArray[np.uint8]:
        """Gamma-encoded colours (H, W, 3), upright, in a part of the scene's light.

        Args:
            asked: size, field and lens to ask for.
            light: part of the scene's light, above 0, at most 1.

        Returns:
            Uint8 (H, W, 3), red first.
        """
        view = self._taken("camera", asked, light)
        return buffers.rgb(view.sensor.GetMostRecentRGBA8Buffer())

    def deep(self, asked: SensorRequest, light: float = 1.0) -> npt.NDArray[np.uint16]:
        """Linear colours (H, W, 3), upright, in a part of the scene's light, 16 bits: the physical camera's, bare.

        Args:
            asked: size, field and lens to ask for.
            light: part of the scene's light, above 0, at most 1.

        Returns:
            Uint16 (H, W, 3), linear; 65535 is a radiance of 1.
        """
        path = _written(self._taken("deep", asked, light), "*.bin")
        values = saved_values(path)[..., :3]
        path.unlink()
        return values

    def labels(self, asked: SensorRequest) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint16]]:
        """Classes and instances (H, W), upright.

        Args:
            asked: size, field and lens to ask for.

        Returns:
            Uint16 (H, W) each.
        """
        view = self._taken("segmentation", asked)
        if view.folder is None:
            return buffers.labels(view.sensor.GetMostRecentSemanticBuffer())
        return buffers.saved_labels(_written(view, "*.png"))

    def distances(self, asked: SensorRequest) -> npt.NDArray[np.float32]:
        """Distances along the rays (H, W), upright; FARTHEST where nothing is hit.

        Args:
            asked: size, field and lens to ask for.

        Returns:
            Float32 (H, W), metres.
        """
        return buffers.ranges(self._taken("depth", asked).sensor.GetMostRecentDepthBuffer())

    def scan(self, spec: LidarSpec) -> npt.NDArray[np.float32]:
        """Ranges and intensities (rings, beams, 2) of a lidar at the camera's place; range 0 where nothing is met.

        Args:
            spec: of a lidar.

        Returns:
            Float32 (rings, beams, 2): range in metres and intensity.
        """
        buffer = self._taken("lidar", spec).sensor.GetMostRecentDIBuffer()
        return buffers.returns(buffer)

    def noisy(self, what: Noisy, light: float) -> npt.NDArray[np.uint8]:
        """Gamma-encoded colours (H, W, 3), upright, in a part of the scene's light, with Chrono's own noise.

        Args:
            what: size, field and lens to ask for, with Chrono's noise.
            light: part of the scene's light.

        Returns:
            Uint8 (H, W, 3), red first.
        """
        return buffers.rgb(self._taken("noisy", what, light).sensor.GetMostRecentRGBA8Buffer())

    def values(self, what: Physical) -> npt.NDArray[np.uint16]:
        """A picture (H, W, 4), upright, of Chrono's own physical camera, 16 bits, linear unless its stages bend it.

        Args:
            what: the physical camera to ask for.

        Returns:
            Uint16 (H, W, 4), red first; 65535 is Chrono's 1.
        """
        view = self._taken("physical", what)
        return saved_values(_written(view, "*.bin"))

    def close(self) -> None:
        """Give everything back, sensors first: their managers hold the system."""
        self._views.clear()
        self._bodies.clear()
        self._rig = self._system = None
        self._folder.cleanup()

    def _taken(self, kind: Kind, asked: What, light: float = 1.0) -> _View:
        """Take one picture."""
        view = self._view(kind, asked, light)
        launched = view.sensor.GetNumLaunches()
        self._system.SetChTime(float(launched))
        view.manager.Update()
        if view.sensor.GetNumLaunches() != launched + 1:
            raise SimjudgeError(f"engine chrono: the {kind} camera took no picture at its turn {launched}")
        return view

    def _view(self, kind: Kind, asked: What, light: float) -> _View:
        key = (kind, asked, light)
        if key in self._views:
            self._views.move_to_end(key)
            return self._views[key]
        while len(self._views) >= _KEPT:
            self._views.popitem(last=False)
        self._system.SetChTime(0.0)
        manager = self._core_manager(light)
        if isinstance(asked, SensorRequest):
            sensor = self._deep(asked) if kind == "deep" else self._camera(kind, asked)
        elif isinstance(asked, LidarSpec):
            sensor = self._lidar(asked)
        elif isinstance(asked, Noisy):
            sensor = self._camera("camera", asked.asked, asked.side)
            sensor.PushFilter(noise_filter(self._sensor, asked.noise))
        else:
            sensor = make_phys_camera(self._sensor, self._core, *asked, self._rig)
        folder = self._filters(kind, sensor)
        sensor.SetName(f"simjudge_{kind}")
        sensor.SetLag(0.0)
        sensor.SetCollectionWindow(0.0)
        manager.AddSensor(sensor)
        self._views[key] = _View(manager, sensor, folder)
        return self._views[key]

    def _core_manager(self, light: float) -> Any:
        """A sensor manager with the scene's lamps in a part of their light."""
        chrono, sensors = self._core, self._sensor
        plan = dim_lights(self._plan, light)
        manager = sensors.ChSensorManager(self._system)
        scene = manager.scene
        scene.SetAmbientLight(chrono.ChVector3f(*map(float, plan.ambient)))
        for lamp in plan.lights:
            constant = () if lamp.const_color is None else (lamp.const_color,)
            colour = chrono.ChColor(*map(float, lamp.colour))
            position = chrono.ChVector3f(*map(float, lamp.position))
            scene.AddPointLight(position, colour, float(lamp.max_range), *constant)
        if plan.sun is not None:
            if not hasattr(scene, "AddDirectionalLight"):
                raise SimjudgeError(
                    f"engine chrono: PyChrono {self._release.version} has no directional light: remove the sun, or take"
                    " 10.0.0 or later"
                )
            colour = chrono.ChColor(*map(float, plan.sun.colour))
            scene.AddDirectionalLight(colour, float(plan.sun.elevation), float(plan.sun.azimuth))
        if hasattr(sensors, "Background"):
            background = sensors.Background()
            plain = plan.background == plan.horizon
            background.mode = (
                getattr(sensors, "BackgroundMode_SOLID_COLOR", 0)
                if plain
                else getattr(sensors, "BackgroundMode_GRADIENT", _GRADIENT)
            )
            background.color_zenith = chrono.ChVector3f(*map(float, plan.background))
            background.color_horizon = chrono.ChVector3f(*map(float, plan.horizon))
            scene.SetBackground(background)
        elif any((*plan.background, *plan.horizon)):
            raise SimjudgeError(
                "engine chrono: this PyChrono wraps no Background: the scene's background cannot be set; wrap"
                " ChSensorRenderTypes.h, or give the scene a black one"
            )
        return manager

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

    def _lidar(self, spec: LidarSpec) -> Any:
        lidar, frame = spec.model(), self._core.ChFramed()
        low, high = lidar.elevation[0], lidar.elevation[-1]
        return self._sensor.ChLidarSensor(
            self._rig, 1.0, frame, lidar.columns, len(lidar.elevation), lidar.field_of_view, high, low, lidar.range[1]
        )

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

    def _body(self, planned: PlannedBody) -> Any:
        chrono = self._core
        body = chrono.ChBody()
        body.SetName(planned.name)
        body.SetFixed(True)
        for mesh, material in planned.shapes:
            body.AddVisualShape(self._shape(mesh, self._material(material)))
        self._system.AddBody(body)
        self._move(body, planned.pose)
        return body

    def _shape(self, mesh: Mesh, material: Any) -> Any:
        chrono = self._core
        path = Path(self._folder.name) / f"{self._count()}.obj"
        path.write_text(wavefront(mesh), encoding="ascii")
        shape = chrono.ChVisualShapeTriangleMesh()
        shape.SetMesh(chrono.ChTriangleMeshConnected.CreateFromWavefrontFile(str(path), True, True))
        if shape.GetNumMaterials():
            shape.SetMaterial(0, material)
        else:
            shape.AddMaterial(material)
        return shape

    def _material(self, planned: PlannedMaterial) -> Any:
        chrono = self._core
        material = chrono.ChVisualMaterial()
        material.SetDiffuseColor(chrono.ChColor(*map(float, planned.diffuse)))
        material.SetSpecularColor(chrono.ChColor(0.0, 0.0, 0.0))
        material.SetOpacity(1.0)
        material.SetRoughness(float(planned.roughness))
        material.SetMetallic(float(planned.metallic))
        material.SetUseSpecularWorkflow(False)
        material.SetClassID(int(planned.class_id))
        material.SetInstanceID(int(planned.instance))
        if planned.texture is not None:
            material.SetKdTexture(str(self._texture(planned.texture)))
        return material

    def _texture(self, pixels: npt.NDArray[np.uint8]) -> Path:
        """The file of a texture, one for all things that have the same."""
        key = (pixels.shape, hashlib.sha256(pixels.tobytes()).digest())
        if key not in self._textures:
            from PIL import Image

            path = Path(self._folder.name) / f"{self._count()}.png"
            Image.fromarray(pixels).save(path, compress_level=1)
            self._textures[key] = path
        return self._textures[key]

    def _count(self) -> int:
        """A number that no file of the folder has yet."""
        self._files += 1
        return self._files

    def _move(self, body: Any, pose: Pose) -> None:
        x, y, z, w = pose.orientation
        body.SetPos(self._core.ChVector3d(*pose.position))
        body.SetRot(self._core.ChQuaterniond(w, x, y, z))


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
    """A sensor by its constructor; with the first `needed` arguments where the bindings do not know lens models.

    A radial lens is then ignored, which the probe sees.
    """
    try:
        return kind(*arguments)
    except TypeError:
        return kind(*arguments[:needed])
