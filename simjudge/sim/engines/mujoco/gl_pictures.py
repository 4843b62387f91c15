"""Pictures of a MuJoCo model by MuJoCo's own renderer (OpenGL), as linear radiance beyond the eight bits that it gives.

The renderer is asked for three kinds of pictures: which geom each pixel shows, its texture, and the light that falls
there on white. The light is taken again, in a larger or smaller part of all light, where a pixel is too dark or too
bright for eight bits. Colour, texture and light are multiplied here.
"""

from __future__ import annotations

import importlib
import logging
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import mujoco
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import SimjudgeError
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.mujoco.visual_model import VisualModel
from simjudge.sim.scene.model import PointLight, Scene
from simjudge.sim.scene.scene_fields import image_to_linear

_NEAR, _FAR = 0.01, 1000.0  # Metres between which something is seen
_LAMPS = 8  # OpenGL's lamps, at most; of more a picture each is taken
_PARTS = tuple(4.0**-power for power in range(-2, 7))  # Parts of the light that pictures are taken in
_FULL = 140  # Bytes from which a picture in less light is taken: a triangle's corner may be brighter than its middle
REMEDY = (
    "on a machine without a screen install EGL with Mesa (apt-get install libegl1 libgl1-mesa-dri), or OSMesa"
    " (apt-get install libosmesa6) and set MUJOCO_GL=osmesa"
)
_log = logging.getLogger(__name__)


class Pinhole(NamedTuple):
    """A pinhole with square pixels."""

    size: tuple[int, int]  # width and height, pixels
    focal: float  # pixels
    centre: tuple[float, float]  # principal point, pixels; (0, 0) is the centre of the upper left pixel


class Drawn(NamedTuple):
    """What a picture shows."""

    radiance: npt.NDArray[np.float32]  # (H, W, 3), linear RGB; 0 where nothing is
    covered: npt.NDArray[np.bool_]  # (H, W), where something is


def make_context() -> tuple[str, Any]:
    """Open OpenGL without a screen: its kind and MuJoCo's context; as MUJOCO_GL says, or the first that works."""
    asked = os.environ.get("MUJOCO_GL", "").lower().strip()
    kinds = (asked,) if asked in {"egl", "osmesa", "glfw"} else ("egl", "osmesa")
    for kind in kinds:
        before = os.environ.get("PYOPENGL_PLATFORM")
        try:
            return kind, importlib.import_module(f"mujoco.{kind}").GLContext(64, 64)
        except Exception as error:  # noqa: BLE001 - each library of OpenGL fails in its own way
            _log.debug("OpenGL by %s: %s: %s", kind, type(error).__name__, error)
            if before is None:
                os.environ.pop("PYOPENGL_PLATFORM", None)
    raise SimjudgeError(f"engine mujoco: there is no OpenGL here (tried {' and '.join(kinds)}); {REMEDY}")


def _release(kind: str) -> None:
    """Let another thread have the context that is current in this one: EGL refuses it otherwise."""
    if kind == "egl":
        egl, library = importlib.import_module("mujoco.egl"), importlib.import_module("OpenGL.EGL")
        library.eglBindAPI(library.EGL_OPENGL_API)  # each thread has its own, and what is released is of it
        none = library.EGL_NO_SURFACE
        library.eglMakeCurrent(egl.EGL_DISPLAY, none, none, library.EGL_NO_CONTEXT)


class GlPictures:
    """Draws a model's bodies, at any poses, in a scene's light."""

    def __init__(self, visual: VisualModel, scene: Scene) -> None:
        self._visual = visual
        self._data = mujoco.MjData(visual.model)
        self._kind, self._context = make_context()
        try:
            self._context.make_current()
            self._gl = mujoco.MjrContext(visual.model, mujoco.mjtFontScale.mjFONTSCALE_50.value)
        except Exception as error:
            self._context.free()
            said = " ".join(str(error).split())
            raise SimjudgeError(f"engine mujoco: its renderer does not begin by {self._kind}: {said}") from error
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._gl)
        self._shown = mujoco.MjvScene(model=visual.model, maxgeom=max(visual.model.ngeom, 1) + 8)
        self._ambient = np.array(scene.ambient) + _mean_sky(scene)
        self._groups = [scene.lights[at : at + _LAMPS] for at in range(0, len(scene.lights), _LAMPS)]
        self._sun = scene.sun

    def draw(self, pinhole: Pinhole, camera: Pose, bodies: Mapping[str, Pose]) -> Drawn:
        """The bodies at their poses, seen by a pinhole at the camera's pose; from any thread, one at a time."""
        self._context.make_current()
        try:
            return self._drawn(pinhole, camera, bodies)
        finally:
            _release(self._kind)

    def _drawn(self, pinhole: Pinhole, camera: Pose, bodies: Mapping[str, Pose]) -> Drawn:
        self._place(bodies)
        self._look(pinhole, camera)
        self._fit(pinhole.size)
        geom = self._geoms(pinhole.size)
        covered = geom >= 0
        surface = self._textures(pinhole.size) if self._visual.model.ntex else np.float32(1)
        light = self._light(pinhole.size)
        # The last row is for -1: nothing is there.
        colour, emission = (
            np.vstack([rows, np.zeros((1, 3))]).astype(np.float32)[geom]
            for rows in (self._visual.colour, self._visual.emission)
        )
        radiance = np.asarray(surface * (colour * (light + self._ambient.astype(np.float32)) + emission), np.float32)
        radiance[~covered] = 0
        return Drawn(radiance, covered)

    def close(self) -> None:
        """Give OpenGL back."""
        with suppress(Exception):  # a context that is gone already
            self._context.make_current()
            self._gl.free()
        self._context.free()

    def _place(self, bodies: Mapping[str, Pose]) -> None:
        for name, row in self._visual.bodies.items():
            x, y, z, w = bodies[name].orientation
            self._data.mocap_pos[row], self._data.mocap_quat[row] = bodies[name].position, (w, x, y, z)
        mujoco.mj_kinematics(self._visual.model, self._data)
        mujoco.mjv_updateScene(
            self._visual.model,
            self._data,
            mujoco.MjvOption(),
            None,
            mujoco.MjvCamera(),
            mujoco.mjtCatBit.mjCAT_ALL.value,
            self._shown,
        )
        for flag in ("SHADOW", "REFLECTION", "SKYBOX", "FOG", "HAZE", "CULL_FACE"):
            self._shown.flags[getattr(mujoco.mjtRndFlag, f"mjRND_{flag}")] = 0

    def _look(self, pinhole: Pinhole, camera: Pose) -> None:
        (width, height), (across, down) = pinhole.size, pinhole.centre
        scale = _NEAR / pinhole.focal
        rotation = camera.rotation_matrix()
        for eye in self._shown.camera:  # MuJoCo averages the two of a pair
            eye.pos[:], eye.forward[:], eye.up[:] = camera.position, rotation[:, 2], -rotation[:, 1]
            eye.frustum_center = ((width - 1) / 2 - across) * scale
            eye.frustum_top = (down + 0.5) * scale
            eye.frustum_bottom = (down + 0.5 - height) * scale
            eye.frustum_near, eye.frustum_far = _NEAR, _FAR
            eye.orthographic = 0

    def _fit(self, size: tuple[int, int]) -> None:
        width, height = size
        gl = importlib.import_module("OpenGL.GL")
        most = min(
            int(gl.glGetIntegerv(gl.GL_MAX_RENDERBUFFER_SIZE)), *gl.glGetIntegerv(gl.GL_MAX_VIEWPORT_DIMS).tolist()
        )
        if max(size) > most:
            raise SimjudgeError(
                f"engine mujoco: OpenGL draws {most} pixels a side here, and {width}x{height} are needed for all rays;"
                " take fewer rays a pixel, or a smaller picture"
            )
        if self._gl.offWidth < width or self._gl.offHeight < height:
            mujoco.mjr_resizeOffscreen(max(width, self._gl.offWidth), max(height, self._gl.offHeight), self._gl)

    def _shoot(self, size: tuple[int, int]) -> npt.NDArray[np.uint8]:
        width, height = size
        rectangle, found = mujoco.MjrRect(0, 0, width, height), np.empty((height, width, 3), np.uint8)
        mujoco.mjr_render(rectangle, self._shown, self._gl)
        mujoco.mjr_readPixels(found, None, rectangle, self._gl)
        return found[::-1]

    def _geoms(self, size: tuple[int, int]) -> npt.NDArray[np.int64]:
        """Which geom each pixel shows, (H, W); -1 where there is none."""
        flags = (mujoco.mjtRndFlag.mjRND_SEGMENT, mujoco.mjtRndFlag.mjRND_IDCOLOR)
        for flag in flags:
            self._shown.flags[flag] = 1
        ids = self._shoot(size).astype(np.int64) @ np.array([1, 1 << 8, 1 << 16])
        for flag in flags:
            self._shown.flags[flag] = 0
        geoms = self._shown.geoms[: self._shown.ngeom]
        table = np.full(max((geom.segid for geom in geoms), default=-1) + 2, -1, np.int64)
        for geom in geoms:
            if geom.segid >= 0:
                table[geom.segid + 1] = geom.objid
        found: npt.NDArray[np.int64] = table[ids]
        return found

    def _textures(self, size: tuple[int, int]) -> npt.NDArray[np.float32]:
        """The texture at each pixel, linear; 1 where there is none."""
        self._set_lights([])
        for geom in self._shown.geoms[: self._shown.ngeom]:
            geom.rgba[:], geom.emission = 1, 1
        return image_to_linear(self._shoot(size))

    def _light(self, size: tuple[int, int]) -> npt.NDArray[np.float32]:
        """The light of lamps and sun on white, matt surfaces (H, W, 3), as radiance."""
        for geom in self._shown.geoms[: self._shown.ngeom]:
            geom.rgba[:], geom.emission, geom.matid, geom.texid = 1, 0, -1, -1
            geom.specular = 0
        total = np.zeros((size[1], size[0], 3), np.float32)
        for lamps in self._groups:
            total += self._in_parts(size, lamps)
        if self._sun is not None:
            self._shown.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = 1
            total += self._in_parts(size, None)
            self._shown.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = 0
        return total

    def _in_parts(self, size: tuple[int, int], lamps: Sequence[PointLight] | None) -> npt.NDArray[np.float32]:
        """The light of lamps (None: of the sun), from pictures in as many parts of it as pixels need."""
        light = np.zeros((size[1], size[0], 3), np.float32)
        left = np.ones(light.shape, bool)
        for part in _PARTS:
            self._set_lights([] if lamps is None else lamps, part, sun=lamps is None)
            found = self._shoot(size)
            light[left] = found[left] / np.float32(255 * part)
            left &= found >= _FULL
            if not left.any():
                break
        return light

    def _set_lights(self, lamps: Sequence[PointLight], part: float = 1.0, *, sun: bool = False) -> None:
        shown = self._shown
        # Without a light MuJoCo lights everything a little: a dark one is none.
        shown.nlight = max(len(lamps), 1)
        for number in range(shown.nlight):
            light = shown.lights[number]
            light.headlight = light.castshadow = 0
            light.ambient[:] = light.diffuse[:] = light.specular[:] = 0
            light.cutoff, light.exponent, light.texid = 180, 0, -1
            light.attenuation[:] = (1, 0, 0)
            light.dir[:] = (0, 0, -1)
            light.type = mujoco.mjtLightType.mjLIGHT_DIRECTIONAL
        for number, lamp in enumerate(lamps):
            light = shown.lights[number]
            light.type = mujoco.mjtLightType.mjLIGHT_SPOT  # all around: the renderer leaves point lights out
            light.pos[:] = lamp.position
            light.diffuse[:] = np.array(lamp.intensity) * part / np.pi
            light.attenuation[:] = (0, 0, 1)
        if sun and self._sun is not None:
            light = shown.lights[0]
            light.castshadow = 1
            light.dir[:] = -np.array(self._sun.direction)
            light.pos[:] = np.array(self._sun.direction) * 10
            light.diffuse[:] = np.array(self._sun.irradiance) * part / np.pi


def _mean_sky(scene: Scene) -> FloatArray:
    """The radiance of the sky's upper half, which stands for its light; 0 without one."""
    if scene.sky is None:
        return np.zeros(3)
    image = scene.sky.image[: max(len(scene.sky.image) // 2, 1)]
    # Row 0 is above, where a row is smallest: as the sine of the angle from there.
    weight = np.sin((np.arange(len(image)) + 0.5) / len(image) * np.pi / 2)
    mean: FloatArray = np.average(image.mean(1), axis=0, weights=weight)
    return mean
