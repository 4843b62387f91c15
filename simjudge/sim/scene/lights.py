"""Lamps, sun, sky and fog as a scene's file says them.

lights:
  desk: {at: [1, 2, 0.8], intensity: 0.5, range: 3}
  ceiling:
    grid: {columns: 5, rows: 4, from: [-4, -3], to: [4, 3], height: 2.6}
    intensity: {between: [1.5, 2.5]}        # the same for all of them; temperature in kelvin
    temperature: {between: [3800, 5500]}
    spread: 0.1                             # each lamp up to 10 % brighter or darker
    range: 7
    fixture: lamp                           # a kind, its origin at the lamp

sun: {azimuth: 130, elevation: 40, irradiance: 3, temperature: 5600}
sky: {file: meadow.hdr, radiance: 0.8, yaw: 90}
fog: {visibility: 300, radiance: 0.7, colour: "#dfe6ee"}
"""

from __future__ import annotations

import importlib
import math
from functools import lru_cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import SimjudgeError
from simjudge.core.files import LARGEST_IMAGE_FILE, read_bytes
from simjudge.core.images import check_encoded_size, check_image_size, decode_image
from simjudge.core.installed import install_command
from simjudge.geometry.poses import Pose
from simjudge.sim.scene import model as solid_meshes
from simjudge.sim.scene.clouds import GradientSky, clouded, sun_left
from simjudge.sim.scene.forms import Form, Forms
from simjudge.sim.scene.model import Colour, Fog, PointLight, Sky, Sun, Thing
from simjudge.sim.scene.scene_fields import image_to_linear, luminance, random_of
from simjudge.sim.scene.scene_file import FogFields, LightFields, SceneDocument, SkyFields, SunFields


def build_lights(document: SceneDocument, forms: Forms, seed: int) -> tuple[list[PointLight], list[Thing]]:
    """All lamps, and their fixtures."""
    lights: list[PointLight] = []
    fixtures: list[Thing] = []
    for name, fields in document.content.lights.items():
        poses = _poses(fields)
        intensity = np.array(fields.tinted(fields.intensity))
        random = random_of(seed, f"lights.{name}.spread")
        factors = 1 + fields.spread * random.uniform(-1, 1, len(poses))
        for pose, factor in zip(poses, factors, strict=True):
            red, green, blue = (intensity * factor).tolist()
            lights.append(PointLight(pose.position, (red, green, blue), fields.range))
        if fields.fixture is not None:
            location = ("lights", name, "fixture")
            form = forms.kind(fields.fixture, location)
            if form.class_id or form.motion == "free":
                raise document.error(location, "fixtures are neither labelled nor free; take another kind")
            fixtures += _fixtures(name, form, poses)
    return lights, fixtures


def _poses(fields: LightFields) -> list[Pose]:
    grid = fields.grid
    if grid is None:
        return [fields.pose()]
    (x0, y0), (x1, y1) = grid.from_, grid.to
    orientation = fields.pose().orientation
    return [
        Pose((float(x), float(y), grid.height), orientation)
        for y in np.linspace(y0, y1, grid.rows)
        for x in np.linspace(x0, x1, grid.columns)
    ]


def _fixtures(name: str, form: Form, poses: list[Pose]) -> list[Thing]:
    """The fixtures of all lamps, those of one surface joined: nobody moves or counts them one by one."""
    return [
        Thing(
            f"{name}/fixture_{number}",
            solid_meshes.join([solid_meshes.move(piece.mesh, pose) for pose in poses]),
            piece.surface,
        )
        for number, piece in enumerate(form.pieces, 1)
    ]


GRADIENT_ROWS = 256  # Rows of the image of a gradient
_LINEAR = {".hdr", ".exr"}  # File endings of images with linear values


def build_sun(fields: SunFields | None, cloud_cover: float = 0.0) -> Sun | None:
    """The sun, as clouds leave it."""
    return None if fields is None else Sun(fields.towards(), fields.tinted(fields.irradiance * sun_left(cloud_cover)))


def build_fog(fields: FogFields | None) -> Fog | None:
    """The fog."""
    if fields is None:
        return None
    ceiling = math.inf if fields.ceiling is None else fields.ceiling
    return Fog(fields.extinction(), fields.tinted(fields.radiance), ceiling)


def build_sky(document: SceneDocument) -> Sky | None:
    """The sky."""
    fields = document.content.sky
    if fields is None:
        return None
    tint = fields.tinted(fields.radiance)
    if fields.file is not None:
        try:
            image = read_panorama(Path(fields.file))
        except SimjudgeError as error:
            raise document.error(("sky", "file"), str(error)) from error
        return Sky(image * np.array(tint, np.float32), math.radians(fields.yaw))
    if fields.gradient is None and not fields.cloud_cover:
        return Sky(np.ones((2, 4, 3), np.float32) * np.array(tint, np.float32), gradient=(tint, tint))
    zenith, horizon, ground = clouded(clear_sky(fields), level_sun(document.content.sun), fields.cloud_cover)
    return Sky(_gradient(zenith, horizon, ground), gradient=(_colour(zenith), _colour(horizon)))


def clear_sky(fields: SkyFields) -> GradientSky:
    """The gradient of a sky without clouds; one colour is a gradient too."""
    tint, gradient = np.array(fields.tinted(fields.radiance)), fields.gradient
    if gradient is None:
        return GradientSky(tint, tint, tint)
    ground = gradient.ground or gradient.horizon
    return GradientSky(*(np.array(colour) * tint for colour in (gradient.zenith, gradient.horizon, ground)))


def level_sun(fields: SunFields | None) -> float:
    """Luminance of the sun's irradiance of level ground, without clouds; 0 without a sun."""
    if fields is None:
        return 0.0
    return float(luminance(fields.tinted(fields.irradiance))) * fields.towards()[2]


@lru_cache(maxsize=4)
def read_panorama(path: Path) -> npt.NDArray[np.float32]:
    """An equirectangular picture as linear RGB, float32 (H, 2 H, 3): PNG and JPEG are sRGB, HDR and EXR are linear."""
    data = read_bytes(path, LARGEST_IMAGE_FILE)
    if path.suffix.lower() in _LINEAR:
        image = _linear_image(path, data)
    else:
        image = image_to_linear(decode_image(data, str(path)))
    height, width = image.shape[:2]
    if width != 2 * height:
        raise SimjudgeError(f"{path}: {width}x{height} is no panorama; an image twice as wide as high is needed")
    bad = int(np.count_nonzero(~(image >= 0) | ~np.isfinite(image)))
    if bad:
        raise SimjudgeError(f"{path}: {bad} values are negative or not finite; save it again without them")
    image.flags.writeable = False
    return image


def _linear_image(path: Path, data: bytes) -> npt.NDArray[np.float32]:
    """The pixels of an HDR (OpenCV) or EXR file (Mitsuba: OpenCV's wheels come without OpenEXR)."""
    check_encoded_size(data, str(path))
    if path.suffix.lower() == ".exr":
        return _exr(path)
    try:
        image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED) if data else None
    except cv2.error:
        image = None
    if image is None or image.ndim != 3 or image.dtype != np.float32:
        raise SimjudgeError(f"{path}: no HDR image (Radiance RGBE); save it again")
    check_image_size(image.shape[1], image.shape[0], str(path))
    return np.ascontiguousarray(image[:, :, 2::-1], np.float32)


def _exr(path: Path) -> npt.NDArray[np.float32]:
    try:
        mitsuba: Any = importlib.import_module("mitsuba")
    except ImportError as error:
        raise SimjudgeError(
            f"{path}: EXR is read by Mitsuba: {install_command('mitsuba')}, or save it as HDR"
        ) from error
    if mitsuba.variant() is None:
        mitsuba.set_variant("scalar_rgb")
    try:
        bitmap = mitsuba.Bitmap(str(path))
    except RuntimeError as error:
        raise SimjudgeError(f"{path}: no EXR image ({str(error).splitlines()[-1].strip()}); save it again") from error
    check_image_size(bitmap.width(), bitmap.height(), str(path))
    rgb = bitmap.convert(mitsuba.Bitmap.PixelFormat.RGB, mitsuba.Struct.Type.Float32, srgb_gamma=False)
    return np.array(rgb, np.float32)


def _colour(linear: FloatArray) -> Colour:
    red, green, blue = linear.tolist()
    return red, green, blue


def _gradient(zenith: FloatArray, horizon: FloatArray, ground: FloatArray) -> npt.NDArray[np.float32]:
    elevation = (0.5 - (np.arange(GRADIENT_ROWS) + 0.5) / GRADIENT_ROWS) * math.pi
    share = np.sin(np.maximum(elevation, 0.0))[:, None]
    rows = horizon + (zenith - horizon) * share
    rows[elevation < 0] = ground
    return np.repeat(rows[:, None].astype(np.float32), 2 * GRADIENT_ROWS, axis=1)
