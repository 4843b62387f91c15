"""What is seen: a ChSystem of its own that never steps, with the scene's looks, a camera rig, and Chrono's sensors.

Physics runs in another system (`bodies.py`), so that instants of an exposure can put things anywhere.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.geometry.poses import OPTICAL_ORIENTATION, Pose
from simjudge.sim.engines.chrono.modules import Modules
from simjudge.sim.engines.chrono.scenes import PlannedBody, PlannedMaterial, ScenePlan, dim_lights, wavefront
from simjudge.sim.engines.chrono.versions import Release
from simjudge.sim.engines.chrono.views import ChronoViews, check_cameras
from simjudge.sim.scene.model import Mesh

_GRADIENT = 1
"""BackgroundMode::GRADIENT (ChSensorRenderTypes.h), where the bindings lack the name."""


class ChronoScene(ChronoViews):
    """The looks of a scene in Chrono::Sensor."""

    def __init__(self, modules: Modules, release: Release, plan: ScenePlan) -> None:
        """Make the bodies; sensors come when they are asked for."""
        check_cameras(release)
        self._plan, core = plan, modules.core
        self._textures: dict[tuple[tuple[int, ...], bytes], Path] = {}
        system, rig = core.ChSystemNSC(), core.ChBody()
        super().__init__(modules, release, system, rig, self._with_lamps)
        self._bodies = {planned.name: self._body(planned) for planned in plan.bodies}
        rig.SetFixed(True)
        system.AddBody(rig)

    def put(self, name: str, pose: Pose) -> None:
        """Put a body somewhere.

        Args:
            pose: of the thing's frame in the world, metres.
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

    def close(self) -> None:
        """Give everything back, sensors first: their managers hold the system."""
        super().close()
        self._bodies.clear()

    def _with_lamps(self, light: float) -> Any:
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

    def _move(self, body: Any, pose: Pose) -> None:
        x, y, z, w = pose.orientation
        body.SetPos(self._core.ChVector3d(*pose.position))
        body.SetRot(self._core.ChQuaterniond(w, x, y, z))
