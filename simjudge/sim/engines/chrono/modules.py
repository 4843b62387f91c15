"""What all parts of the Chrono engine use: PyChrono's modules and version, frames as poses, the length of a step.

Files are named as in projectchrono/chrono at tags 9.0.1 and 10.0.0 and at commit 7689fbc0 ("head", which reports
10.0.0 as well). Versions alone do not decide: what a module has (`Release`), and what it renders (`cameras.py`), do.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import math
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

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
