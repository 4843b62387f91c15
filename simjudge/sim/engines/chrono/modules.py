"""The modules of PyChrono, imported late, and what is missing said in one line."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simjudge.core.errors import SimjudgeError

REMEDY = "conda install -c projectchrono -c conda-forge pychrono (Python 3.12 or 3.13), or environment.yml"
UNKNOWN = "unknown version"
_TEXTURES = "textures"


@dataclass(frozen=True)
class Modules:
    """PyChrono as it was found.

    Attributes:
        core, sensor, vehicle: pychrono.core, pychrono.sensor and pychrono.vehicle; None: not built.
        version: as the package says it; UNKNOWN where nothing says it (builds from source).
    """

    core: Any
    sensor: Any
    vehicle: Any
    version: str


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
