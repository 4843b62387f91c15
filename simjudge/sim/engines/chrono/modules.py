"""What all parts of the Chrono engine use: PyChrono's modules and version, frames, the step; its buffers as arrays.

Files are named as in projectchrono/chrono at tags 9.0.1 and 10.0.0 and at commit 7689fbc0 ("head", which reports
10.0.0 as well). Versions alone do not decide: what a module has (`Release`), and what it renders (`cameras.py`), do.

Row 0 of every camera buffer is the bottom of the picture (raygen counts up in -uv.y of OptiX's launch index, and
Vulkan's host renderer copies that); ChFilterSave flips when it writes, ChROSCameraHandler does not. SWIG hands out
views of memory that Chrono takes back (numpy.i's ARGOUTVIEW): everything is copied here, while the buffer is held.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import math
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.geometry.poses import Pose

REMEDY = "conda install -c projectchrono -c conda-forge pychrono (Python 3.12 or 3.13), or environment.yml"
UNKNOWN = "unknown version"
_TEXTURES = "textures"


@dataclass(frozen=True)
class Modules:
    """PyChrono as it was found."""

    # core, sensor, vehicle: pychrono.core, pychrono.sensor and pychrono.vehicle; None: not built.
    core: Any
    sensor: Any
    vehicle: Any
    version: str  # as the package says it; UNKNOWN where nothing says it (builds from source)


def load_modules() -> Modules:
    """Import PyChrono."""
    try:
        core = importlib.import_module("pychrono.core")
    except ImportError as error:
        raise SimjudgeError(f"engine chrono: PyChrono is missing ({error}): {REMEDY}") from error
    modules = Modules(core, _module("pychrono.sensor"), _module("pychrono.vehicle"), package_version())
    if modules.vehicle is not None:
        find_textures(core, vehicle_data(modules))
    return modules


def vehicle_data(modules: Modules) -> Path:
    """The folder of Chrono's own vehicle data, as its Python package says it."""
    vehicles = modules.vehicle
    told = vehicles.GetVehicleDataPath if hasattr(vehicles, "GetVehicleDataPath") else vehicles.GetDataPath
    return Path(told())


def find_textures(core: Any, vehicle_folder: Path) -> None:
    """Tell Chrono where its textures are, where it does not know: a tyre that is shown ends without them.

    The package says it only in builds with FEA: its __init__.py imports `fea` before, in the same `try`.
    """
    if not (Path(core.GetChronoDataPath()) / _TEXTURES).is_dir() and (vehicle_folder.parent / _TEXTURES).is_dir():
        core.SetChronoDataPath(f"{vehicle_folder.parent}/")


def package_version(prefix: Path = Path(sys.prefix)) -> str:
    """The version that conda or pip recorded; Chrono's own CHRONO_VERSION is a macro that SWIG does not wrap."""
    records = sorted((prefix / "conda-meta").glob("pychrono-*.json"))
    for record in records:
        try:
            version = json.loads(record.read_text()).get("version")
        except (OSError, ValueError, AttributeError):
            continue
        if isinstance(version, str):
            return version
    try:
        return importlib.metadata.version("pychrono")
    except importlib.metadata.PackageNotFoundError:
        return UNKNOWN


def missing_modules(names: Sequence[str] = ("core", "sensor", "vehicle")) -> tuple[str, ...]:
    """Why modules of PyChrono cannot be imported, one line each: the true error, such as a library that is missing."""
    lines = []
    for name in names:
        try:
            importlib.import_module(f"pychrono.{name}")
        except ImportError as error:  # noqa: PERF203 - the reason of each is what is asked for
            lines.append(f"pychrono.{name}: {type(error).__name__}: {' '.join(str(error).split())}")
    return tuple(lines)


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


Age = Literal["9", "10", "head"]
Sensor = Literal["camera", "segmentation", "depth"]
SENSORS: tuple[Sensor, ...] = ("camera", "segmentation", "depth")
Factor = Literal["tangent", "linear"]  # What makes a ray from a pixel: tan(hFOV / 2), as it should be, or 2 hFOV / pi

FACTORS: dict[Age, dict[Sensor, Factor]] = {
    # src/chrono_sensor/optix/shaders/camera.cu: h_factor = hFOV / pi * 2 in every raygen program
    "9": {"camera": "linear", "segmentation": "linear", "depth": "linear"},
    # optix/shaders/camera_raygen.cu mended; segment_cam_raygen.cu, depth_cam_raygen.cu, normal_cam_raygen.cu not
    "10": {"camera": "tangent", "segmentation": "linear", "depth": "linear"},
    # the same, and vulkan/ChFilterVulkanRTRender.cpp (ray_factor) copies it until PRs #819 and #834
    "head": {"camera": "tangent", "segmentation": "linear", "depth": "linear"},
}

CAMERA_ARGUMENTS: dict[Age, tuple[str, ...]] = {
    # src/chrono_sensor/sensors/ChCameraSensor.h; SWIG takes them by position only
    "9": ("parent", "rate", "pose", "w", "h", "hFOV", "supersample", "lens", "use_gi", "gamma", "use_fog"),
    "10": (
        *("parent", "rate", "pose", "w", "h", "hFOV", "supersample", "lens"),
        *("use_diffuse_reflect", "use_denoiser", "integrator", "gamma", "use_fog"),
    ),
    "head": (
        *("parent", "rate", "pose", "w", "h", "hFOV", "supersample", "lens"),
        *("use_diffuse_reflect", "use_denoiser", "integrator", "gamma", "use_fog"),
    ),
}

CHRONO_WHEELBASE = 2.776  # Metres, as ARTcar_Vehicle.h says in all releases; it is wrong
ARTCAR_WHEELBASE = 0.321 + 0.14424  # Metres, by the hardpoints (ARTcar_DoubleWishbone.cpp)


@dataclass(frozen=True)
class Release:
    """A Chrono, by what its Python modules have."""

    version: str
    age: Age  # "9" (up to 9.0.1), "10" (10.0.0) or "head" (the development branch of 2026)
    cameras: bool  # whether the rendered sensors are exposed to Python at all
    semantic_buffer: bool  # whether segmentation can be read from memory; otherwise it goes through files
    random_seed: bool
    phys_camera: bool
    vehicles: bool  # whether pychrono.vehicle is there, with the ARTcar

    def defects(self) -> tuple[str, ...]:
        """What this engine works around in this release, one line each."""
        lines = []
        wrong = [sensor for sensor in SENSORS if FACTORS[self.age][sensor] == "linear"]
        lines.append(f"field of view 2 hFOV / pi in {', '.join(wrong)}: each gets the angle that makes it right")
        if not self.semantic_buffer and self.cameras:
            lines.append("no GetMostRecentSemanticBuffer: segmentation goes through ChFilterSave and files")
        if not self.random_seed:
            lines.append("no SetRandomSeed: Chrono's own noise differs from run to run, ours is used")
        lines.append("lamps fall off with the cosine's square (NdL twice), fog, lag and GI are switched off")
        if self.age == "9":
            lines.append("lamps fall off with R^2 / (d^2 + R^2), not 1 / d^2: brightness is right at one distance only")
        lines.append(f"ARTcar.GetWheelbase() says {CHRONO_WHEELBASE} m: hardpoints ({ARTCAR_WHEELBASE:.3f} m) are used")
        lines.append("contacts 30 mm wide, speed of bounce unset, tyres unsteady at 1 ms: 2 mm, no bounce, 0.25 ms")
        lines.append("GetCameraIntrinsicMatrix() multiplies by tan(hFOV / 2): never used")
        lines.append("accelerometers mix world and body axes, GPS stamps are 0: corrected, stamped here")
        return tuple(lines)


def identify_release(core: Any, sensor: Any, vehicle: Any, version: str) -> Release:
    """Which Chrono these modules are; None for one that cannot be imported."""
    if not hasattr(core, "ChVector3d"):
        raise SimjudgeError(f"PyChrono {version}: 9.0 or newer is needed (ChVector3d is missing)")
    manager = getattr(sensor, "ChSensorManager", None)
    base = getattr(sensor, "ChSensor", None)
    seeded = hasattr(manager, "SetRandomSeed")
    return Release(
        version=version,
        age="head" if seeded else _age(sensor, vehicle, version),
        cameras=hasattr(sensor, "ChCameraSensor"),
        semantic_buffer=hasattr(base, "GetMostRecentSemanticBuffer"),
        random_seed=seeded,
        phys_camera=hasattr(sensor, "ChPhysCameraSensor"),
        vehicles=hasattr(vehicle, "ARTcar"),
    )


def _age(sensor: Any, vehicle: Any, version: str) -> Age:
    """9 or 10: the constructor's own words decide, then names that moved, then the version."""
    words = str(getattr(getattr(sensor, "ChCameraSensor", None), "__init__", None).__doc__ or "")
    if "use_gi" in words or "integrator" in words:
        return "9" if "use_gi" in words else "10"
    if hasattr(sensor, "Integrator_LEGACY") or hasattr(vehicle, "SetVehicleDataPath"):
        return "10"
    major = re.match(r"\d+", version)
    return "10" if major and int(major[0]) >= 10 else "9"


def camera_arguments(release: Release, given: dict[str, object]) -> tuple[Any, ...]:
    """Positional arguments of ChCameraSensor's constructor, in this release's order."""
    off = {"use_gi": False, "use_diffuse_reflect": False, "use_denoiser": False, "use_fog": False}
    return tuple({**off, **given}[name] for name in CAMERA_ARGUMENTS[release.age])


def frame_pose(frame: Any) -> Pose:
    """A ChFrame as a pose: its pose in its parent, metres."""
    position, rotation = frame.GetPos(), frame.GetRot()
    return Pose((position.x, position.y, position.z), (rotation.e1, rotation.e2, rotation.e3, rotation.e0))


STEP = 1e-3  # Seconds of one step of ours; a car may take several of its own in it


def whole_steps(seconds: float) -> int:
    """How many steps of physics that is."""
    steps = round(seconds / STEP) if math.isfinite(seconds) else 0
    if steps < 1 or abs(steps * STEP - seconds) > 1e-9:
        raise UsageError(f"{seconds} s: a positive multiple of a physics step, {STEP} s, is needed")
    return steps


GAMMA = 2.2  # Chrono's default: byte = 255 x linear^(1 / 2.2), a pure power, not sRGB's curve (`camera_raygen.cu`)
SATURATED = 250  # Bytes from which on a picture is taken again with less light


def flip_rows(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A buffer (H, W, ...) of Chrono's memory, bottom row first, as a copy with the top row first."""
    return np.ascontiguousarray(rows[::-1])


def linear(bytes_: npt.NDArray[np.uint8], gamma: float = GAMMA) -> npt.NDArray[np.float32]:
    """Linear light 0 to 1, float32, of gamma-encoded bytes; half a step is 1.1 / value (0.9 % at 128, 9 % at 12)."""
    table = (np.arange(256) / 255.0) ** gamma
    light: npt.NDArray[np.float32] = table.astype(np.float32)[bytes_]
    return light


def rgb(buffer: Any) -> npt.NDArray[np.uint8]:
    """Colour bytes (H, W, 3), upright, of a UserRGBA8Buffer: uint8 (H, W, 3), red first, top row first."""
    return flip_rows(_data(buffer, "GetRGBA8Data", "colours")[..., :3])


def ranges(buffer: Any) -> npt.NDArray[np.float32]:
    """Distances along the rays (H, W), metres, upright, of a UserDepthBuffer: float32 (H, W), metres."""
    data = _data(buffer, "GetDepthData", "depths")
    return flip_rows(data.reshape(data.shape[:2]))


def returns(buffer: Any) -> npt.NDArray[np.float32]:
    """Ranges (metres) and intensities, float32 (rings, beams, 2), of a UserDIBuffer, lowest ring first as in Chrono."""
    return np.asarray(_data(buffer, "GetDIData", "returns"), np.float32)


def labels(buffer: Any) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint16]]:
    """Classes and instances, uint16 (H, W), upright, of a semantic buffer, whatever accessor its wrapper has."""
    names = [name for name in dir(buffer) if name.startswith("Get") and name.endswith("Data")]
    if not names:
        raise SimjudgeError("engine chrono: GetMostRecentSemanticBuffer is there, but its buffer has no Get...Data()")
    preferred = sorted(names, key=lambda name: name != "GetSemanticData")
    return split_labels(flip_rows(_data(buffer, preferred[0], "labels")))


def split_labels(pixels: npt.NDArray[Any]) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint16]]:
    """Classes and instances of PixelSemantic (class first): (H, W, 2) uint16, or the same memory as (H, W, 4) uint8."""
    if pixels.ndim == 3 and pixels.shape[2] == 4 and pixels.dtype.itemsize == 1:
        pixels = np.ascontiguousarray(pixels).view("<u2")
    if pixels.ndim != 3 or pixels.shape[2] != 2:
        raise SimjudgeError(f"engine chrono: labels of shape {pixels.shape} {pixels.dtype}, not class and instance")
    return pixels[..., 0].astype(np.uint16), pixels[..., 1].astype(np.uint16)


def saved_labels(path: str | os.PathLike[str]) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint16]]:
    """Classes and instances, uint16 (H, W) each, of a picture that ChFilterSave wrote (upright already)."""
    from PIL import Image

    with Image.open(path) as image:
        if image.mode != "RGBA":
            raise SimjudgeError(f"{path}: {image.mode}, not the four channels that ChFilterSave writes")
        return split_labels(np.asarray(image))


def axial_depth(distances: npt.NDArray[np.float32], rays: FloatArray, farthest: float) -> npt.NDArray[np.float32]:
    """Depth along the optical axis of distances along unit rays (H, W, 3); inf from `farthest` on (nothing hit).

    Chrono's depth camera stores the ray's length (depth_cam_shader.cuh: min(max_depth, ray_dist)), not z.
    """
    depth = np.where(distances < farthest, distances * rays[..., 2], np.inf)
    return np.asarray(depth, np.float32)


def _data(buffer: Any, accessor: str, what: str) -> npt.NDArray[Any]:
    if not buffer.HasData():
        raise SimjudgeError(f"engine chrono: the sensor gave no {what}")
    method = getattr(buffer, accessor, None)
    if method is None:
        raise SimjudgeError(f"engine chrono: this PyChrono was built without NumPy (no {accessor}); rebuild it with")
    return np.array(method())
