"""A scene as what Chrono is told, and the ChSystem of it that is seen and never steps.

Bodies, shapes, materials and lamps are plain data; `Stage` says them to Chrono.

Where the numbers come from (src/chrono_sensor at 10.0.0 and head, `camera_legacy_shader.cuh` and its copy in
`vulkan/ChFilterVulkanRTRender.cpp`; 9.0.1 `material_shaders.cu` where it differs):

* Chrono's BRDF has no 1/pi, neither in its diffuse term nor in its gloss: lamps are given 1/pi of their intensity.
* A point light with const_color = False falls off as 0.01 max_range^2 / d^2 and never ends; up to 9.0.1 it falls off as
  R^2 / (d^2 + R^2) and ends at 2 R.
* NdL is multiplied in twice. Nothing can be done about it from outside: what a lamp lights at an angle is darker than
  physics has it by one cosine. At normal incidence it is right.
* Ambient light is weighted by NdV + (n_z + 1) / 2; its mean over a sphere seen from the side is 2/3 + 1/2 = 7/6.
* A diffuse texture replaces the colour (it is not multiplied) and is decoded with the power 2.2: the colour is baked
  into the texture's file.
* Roughness is GGX's alpha itself, not its square root, and is 0.02 at least.
* Class and instance live on the material, so every thing has one of its own.

The system that is seen has the scene's looks, a camera rig, and Chrono's sensors. Physics runs in another system
(`bodies.py`), so that instants of an exposure can put things anywhere.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import ShortRepr
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.geometry.poses import OPTICAL_ORIENTATION, Pose
from simjudge.sim.engines.chrono.modules import GAMMA, Age, Modules, Release
from simjudge.sim.engines.chrono.views import ChronoViews, check_cameras
from simjudge.sim.scene.model import Collider, Colour, Mesh, PointLight, Scene, Sun, Surface, Thing

AMBIENT_MEAN = 7 / 6
LARGEST_ID = 65535  # Classes and instances are unsigned 16-bit (ChVisualMaterial.h)
_SMOOTHEST = 0.02


@dataclass(frozen=True, eq=False, repr=False)
class PlannedMaterial(ShortRepr):
    """A ChVisualMaterial of one thing's own."""

    diffuse: Colour  # linear RGB; what the texture replaces
    roughness: float
    metallic: float  # 0 to 1
    class_id: int
    instance: int
    # uint8 (H, W, 3), row 0 at v = 1, encoded with the power 1 / 2.2; None: plain.
    texture: npt.NDArray[np.uint8] | None = None


@dataclass(frozen=True, eq=False, repr=False)
class PlannedBody(ShortRepr):
    """A body: what it looks like, and what it is in physics."""

    name: str
    pose: Pose  # of its frame at the start
    mesh: Mesh
    # A mesh and its material for each of its surfaces, which become ChVisualShapeTriangleMeshes.
    shapes: tuple[tuple[Mesh, PlannedMaterial], ...]
    fixed: bool
    mass: float  # kg; 0 where it is fixed
    centre: tuple[float, float, float]
    inertia: npt.NDArray[np.float64]  # 3 x 3 about the centre of mass, kg m^2, in its axes
    collider: Collider


@dataclass(frozen=True)
class PlannedLight:
    """A point light, as AddPointLight takes it."""

    position: tuple[float, float, float]  # metres
    colour: Colour  # linear RGB, Chrono's units
    max_range: float  # metres
    const_color: bool | None  # None: this release's call has no such argument


@dataclass(frozen=True)
class PlannedSun:
    """A directional light, as AddDirectionalLight takes it: linear RGB, radians above the horizon and from +x."""

    colour: Colour
    elevation: float
    azimuth: float


@dataclass(frozen=True, eq=False)
class ScenePlan:
    """All that Chrono is told of a scene."""

    bodies: tuple[PlannedBody, ...]
    lights: tuple[PlannedLight, ...]
    ambient: Colour  # linear RGB, Chrono's units
    background: Colour  # linear RGB radiance of rays that hit nothing, straight up
    horizon: Colour  # the same at the horizon and below; between them it is linear in the sine of the elevation
    sun: PlannedSun | None = None  # None: no sun


def plan_scene(scene: Scene, age: Age) -> ScenePlan:
    """What Chrono of an age is told of a scene."""
    scripted = [thing.name for thing in scene.things if thing.path is not None]
    if scripted:
        raise SimjudgeError(
            f"scene {scene.name}: {scripted[0]} follows a path, which engine chrono cannot do; take engine default"
        )
    _check_looks(scene)
    bodies = tuple(plan_body(thing) for thing in scene.things)
    lights = tuple(plan_light(light, age) for light in scene.lights)
    zenith, horizon = scene.background, scene.background
    ambient = scene.ambient
    if scene.sky is not None and scene.sky.gradient is not None:
        zenith, horizon = scene.sky.gradient
        red, green, blue = (np.array(ambient) + mean_radiance(scene.sky.image)).tolist()
        ambient = (red, green, blue)
    sun = None if scene.sun is None else plan_sun(scene.sun)
    return ScenePlan(bodies, lights, _times(ambient, 1 / AMBIENT_MEAN), zenith, horizon, sun)


def _check_looks(scene: Scene) -> None:
    """Refuse what Chrono would show otherwise, or not at all."""
    shining = next((thing.name for thing in scene.things for part in thing.parts() if any(part.surface.emission)), None)
    bumpy = next((t.name for t in scene.things for part in t.parts() if part.surface.normal_map is not None), None)
    glass = next((t.name for t in scene.things for p in t.parts() if p.surface.refractive_index is not None), None)
    lacks = {
        f"glass: remove the refractive_index of {glass}": glass is not None,
        f"normal maps: remove that of {bumpy}": bumpy is not None,
        "a picture of the sky: take a gradient or one colour": scene.sky is not None and scene.sky.gradient is None,
        "fog: remove it": scene.fog is not None,
        "light that surfaces throw on each other: remove bounces": scene.bounces > 0,
        f"emission: remove it from {shining}": shining is not None,
    }
    for what, found in lacks.items():
        if found:
            raise SimjudgeError(f"engine chrono: {scene.name}: it does not show {what}, or take the default engine")


def plan_sun(sun: Sun) -> PlannedSun:
    """The sun, so that a white surface that faces it has radiance irradiance / pi (ChOptixDirectionalLight.cu)."""
    x, y, z = sun.direction
    return PlannedSun(_times(sun.irradiance, 1 / math.pi), math.asin(min(z, 1.0)), math.atan2(y, x))


def mean_radiance(image: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """The mean radiance (3,) of a panorama (H, W, 3) over all directions: what surfaces have of it, on the mean."""
    rows = len(image)
    weight = np.cos((0.5 - (np.arange(rows) + 0.5) / rows) * math.pi)
    mean: npt.NDArray[np.float64] = np.average(image.mean(1, dtype=np.float64), axis=0, weights=weight)
    return mean


def plan_body(thing: Thing) -> PlannedBody:
    """One thing: its pose, mesh, material, mass (kg), centre of mass (m) and inertia (kg m^2)."""
    free = thing.motion == "free"
    centre, inertia = solid_inertia(thing.collider, thing.mesh, thing.mass if free else 0.0)
    return PlannedBody(
        thing.name,
        thing.pose,
        thing.mesh,
        tuple(
            (part.mesh, plan_material(part.surface, thing.class_id, thing.instance, thing.name))
            for part in thing.parts()
        ),
        not free,
        thing.mass if free else 0.0,
        centre,
        inertia,
        thing.collider,
    )


def plan_material(surface: Surface, class_id: int, instance: int, name: str) -> PlannedMaterial:
    """A surface with its labels."""
    if not (0 <= class_id <= LARGEST_ID and 0 <= instance <= LARGEST_ID):
        raise SimjudgeError(f"{name}: class {class_id}, instance {instance}: Chrono's labels end at {LARGEST_ID}")
    texture = None
    if surface.texture is not None:
        baked = np.clip(surface.texture * np.asarray(surface.colour, np.float32), 0, 1)
        texture = np.rint(baked ** (1 / GAMMA) * 255).astype(np.uint8)
    return PlannedMaterial(
        surface.colour, max(surface.roughness**2, _SMOOTHEST), surface.metallic, class_id, instance, texture
    )


def plan_light(light: PointLight, age: Age) -> PlannedLight:
    """A lamp of radiance intensity / (pi d^2) on white; up to 9.0.1 so at 2 m, or half the range where nearer."""
    if age == "9":
        reach, at = light.range, min(2.0, light.range / 2)
        gain = (at**2 + reach**2) / (reach**2 * at**2)
        return PlannedLight(light.position, _times(light.intensity, gain / math.pi), reach, None)
    gain = 1 / (0.01 * light.range**2)
    return PlannedLight(light.position, _times(light.intensity, gain / math.pi), light.range, False)


def dim_lights(plan: ScenePlan, part: float) -> ScenePlan:
    """The same scene in a part of its light, everything of it."""
    lights = tuple(
        PlannedLight(light.position, _times(light.colour, part), light.max_range, light.const_color)
        for light in plan.lights
    )
    sun = None if plan.sun is None else replace(plan.sun, colour=_times(plan.sun.colour, part))
    ambient, background, horizon = (_times(light, part) for light in (plan.ambient, plan.background, plan.horizon))
    return ScenePlan(plan.bodies, lights, ambient, background, horizon, sun)


def solid_inertia(
    collider: Collider, mesh: Mesh, mass: float
) -> tuple[tuple[float, float, float], npt.NDArray[np.float64]]:
    """Centre of mass and inertia about it of the solid that stands for a thing, of even density.

    Boxes and cylinders by formula; a hull from its tetrahedra (Tonon, "Explicit exact formulas for the 3-D tetrahedron
    inertia tensor", 2004); without a solid, a small ball at the frame's origin.
    """
    if collider.kind == "box":
        x, y, z = (value**2 for value in collider.size)
        return collider.centre, mass / 12 * np.diag([y + z, x + z, x + y])
    if collider.kind == "cylinder":
        radius, height = collider.size
        across = mass * (3 * radius**2 + height**2) / 12
        return collider.centre, np.diag([across, across, mass * radius**2 / 2])
    if collider.kind == "hull":
        return _hull_inertia(mesh, mass)
    return (0.0, 0.0, 0.0), np.eye(3) * mass * 0.4 * 0.05**2


def hull_points(mesh: Mesh) -> npt.NDArray[np.float64]:
    """The corners of a mesh's convex hull (N, 3): float64 (N, 3), metres (mesh: with vertices (V, 3), metres)."""
    from scipy.spatial import ConvexHull

    points = np.asarray(mesh.vertices, np.float64)
    corners: npt.NDArray[np.float64] = points[ConvexHull(points).vertices]
    return corners


def _hull_inertia(mesh: Mesh, mass: float) -> tuple[tuple[float, float, float], npt.NDArray[np.float64]]:
    from scipy.spatial import ConvexHull

    points = np.asarray(mesh.vertices, np.float64)
    hull = ConvexHull(points)
    middle = points[hull.vertices].mean(0)
    corners = points[hull.simplices] - middle
    volumes = np.abs(np.linalg.det(corners)) / 6
    centre = np.einsum("t,tj->j", volumes, corners.sum(1) / 4) / volumes.sum()
    corners = np.concatenate([corners, np.zeros((len(corners), 1, 3))], 1) - centre
    sums = corners.sum(1)
    products = np.einsum("tki,tkj->tij", corners, corners) + sums[:, :, None] * sums[:, None]
    second = np.einsum("t,tij->ij", volumes, products)
    second *= mass / volumes.sum() / 20
    x, y, z = (middle + centre).tolist()
    return (x, y, z), np.trace(second) * np.eye(3) - second


def wavefront(mesh: Mesh) -> str:
    """A mesh as Wavefront OBJ text, with texture coordinates and normals: the one way in that all releases share."""
    rows = [f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in mesh.vertices.tolist()]
    rows += [f"vt {u:.9g} {v:.9g}" for u, v in mesh.uv.tolist()]
    rows += [f"vn {x:.9g} {y:.9g} {z:.9g}" for x, y, z in mesh.normals.tolist()]
    for face in (mesh.faces + 1).tolist():
        rows.append("f " + " ".join(f"{corner}/{corner}/{corner}" for corner in face))
    return "\n".join(rows) + "\n"


def _times(colour: Colour, factor: float) -> Colour:
    red, green, blue = colour
    return red * factor, green * factor, blue * factor


_GRADIENT = 1  # BackgroundMode::GRADIENT (ChSensorRenderTypes.h), where the bindings lack the name


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
        """Put a body somewhere (pose of the thing's frame in the world, metres)."""
        body = self._bodies.get(name)
        if body is None:
            raise UsageError(f"{name}: nothing of that name")
        self._move(body, pose)

    def put_camera(self, optical: Pose) -> None:
        """Put the camera at an optical frame (REP 103) in the world; Chrono's looks along x, y to the left and z up."""
        self._move(self._rig, optical @ Pose(orientation=OPTICAL_ORIENTATION).inverse())

    def close(self) -> None:
        """Give everything back, sensors first: their managers hold the system."""
        super().close()
        self._bodies.clear()

    def _with_lamps(self, light: float) -> Any:
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
