"""Fingerprints of what the files of a scene and of a vehicle say, those that they name among them.

They are not of what is computed from it: poses, meshes and textures are computed in floating point, and their last bits
depend on the processor and its libraries.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from simjudge.core.arrays import hash_value
from simjudge.core.documents import Location
from simjudge.core.files import hash_files
from simjudge.core.installed import SCENE, find_file
from simjudge.core.installed import VEHICLE as VEHICLE_FILE
from simjudge.sim.scene.mesh_files import SUFFIXES, read_mesh
from simjudge.sim.scene.scene_fields import file_field, read_content
from simjudge.sim.vehicle.vehicle import DEFAULT_CAR, read_vehicle


def scene_digest(given: str | Path, seed: int = 0) -> str:
    """Hash what a scene's file says, with all that it extends, what its seed draws, and the files that it names."""
    path = find_file(given, SCENE)
    content = read_content(path, seed).content
    content["vehicle"] = content.get("vehicle") or DEFAULT_CAR
    return hash_value([path.stem, seed, _with_files(content)])


def vehicle_digest(given: str | Path) -> str:
    """Hash a vehicle's file, and the files of Chrono's own that it names."""
    chrono = read_vehicle(given).chrono
    parts = () if chrono is None or chrono.data is None else sorted(chrono.data.rglob("*.json"))
    return hash_value([hash_files(path) for path in (find_file(given, VEHICLE_FILE), *parts)])


def _with_files(content: Any, location: Location = ()) -> Any:
    if isinstance(content, list):
        return [_with_files(item, (*location, number)) for number, item in enumerate(content)]
    if isinstance(content, dict):
        return {str(key): _with_files(value, (*location, str(key))) for key, value in content.items()}
    field = file_field(location) if isinstance(content, str) else ""
    if field == "vehicle":
        return vehicle_digest(content)
    return _file_digest(Path(content)) if field else content


def _file_digest(path: Path) -> str:
    """Of a mesh what was read, because materials and images may stand in further files."""
    return hash_value(read_mesh(path, materials=True)) if path.suffix.lower() in SUFFIXES else hash_files(path)
