"""A fingerprint of a scene's files: of what they say, not of what is computed from it.

Poses, meshes and textures are computed in floating point. Their last bits depend on the processor and its libraries.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simjudge.core.digest import hash_value
from simjudge.core.files import hash_files
from simjudge.core.installed import SCENE, find_file
from simjudge.sim.scene.file_content import FILE_FIELDS, read_content
from simjudge.sim.scene.mesh_files import SUFFIXES, read_mesh


def scene_digest(given: str | Path, seed: int = 0) -> str:
    """Hash what a scene's file says, with all that it extends, what its seed draws, and the files that it names."""
    path = find_file(given, SCENE)
    return hash_value([path.stem, seed, _with_files(read_content(path, seed).content)])


def _with_files(content: Any) -> Any:
    """The content with what files hold in place of their paths."""
    if isinstance(content, list):
        return [_with_files(each) for each in content]
    if not isinstance(content, Mapping):
        return content
    return {
        str(key): _file_digest(Path(each)) if key in FILE_FIELDS and isinstance(each, str) else _with_files(each)
        for key, each in content.items()
    }


def _file_digest(path: Path) -> str:
    """Of a mesh what was read, because materials and images may stand in further files."""
    return hash_value(read_mesh(path, materials=True)) if path.suffix.lower() in SUFFIXES else hash_files(path)
