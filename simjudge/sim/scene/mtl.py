"""Materials of Wavefront OBJ files, and what of them can be shown."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

from simjudge.core.errors import SimjudgeError
from simjudge.core.text import one_line, read_text
from simjudge.sim.scene.model import Colour

_NUMBERS = {"Kd": 3, "Ke": 3, "Ns": 1, "Pr": 1, "Pm": 1, "d": 1, "Tr": 1}
"""Keywords that are followed by so many numbers."""
_NOT_SHOWN = {
    "map_Ke": "emission textures",
    "map_Ks": "textures of the gloss",
    "map_Ns": "textures of the gloss",
    "map_Pr": "textures of the roughness",
    "map_Pm": "textures of the metal",
    "map_d": "transparency",
    "map_Tr": "transparency",
    "bump": "bump maps",
    "map_bump": "bump maps",
    "map_Bump": "bump maps",
    "disp": "displacement",
    "decal": "decals",
    "refl": "reflection maps",
}


@dataclass
class MtlMaterial:
    """A material.

    Attributes:
        colour: `Kd`, linear RGB.
        texture: `map_Kd`; None for none.
        emission: `Ke`, linear RGB.
        roughness: of `Pr`, else of `Ns`: GGX alpha is the root of 2 / (Ns + 2), and roughness that of alpha.
        metallic: `Pm`.
        normal_map: `norm`; None for none.
        not_shown: what else it has, that cannot be shown.
    """

    colour: Colour = (0.8, 0.8, 0.8)
    texture: Path | None = None
    emission: Colour = (0.0, 0.0, 0.0)
    roughness: float = 0.7
    metallic: float = 0.0
    normal_map: Path | None = None
    not_shown: set[str] = field(default_factory=set)


def read_mtl(path: Path) -> dict[str, MtlMaterial]:
    """Read the materials of an MTL file by name."""
    materials: dict[str, MtlMaterial] = {}
    material: MtlMaterial | None = None
    for number, line in enumerate(read_text(path).splitlines(), 1):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        if words[0] == "newmtl":
            material = materials.setdefault(" ".join(words[1:]), MtlMaterial())
        elif material is None:
            raise SimjudgeError(f"{path}:{number}: {one_line(words[0])}: a line with newmtl NAME is needed before")
        else:
            _take(material, words, path, number)
    return materials


def _take(material: MtlMaterial, words: list[str], path: Path, number: int) -> None:
    """What a line says of a material."""
    key, where = words[0], f"{path}:{number}"
    if key in _NUMBERS:
        _take_numbers(material, key, _values(where, words))
    elif key == "map_Kd":
        material.texture = _file(where, words)
    elif key == "norm":
        material.normal_map = _file(where, words)
    elif key in _NOT_SHOWN:
        material.not_shown.add(_NOT_SHOWN[key])


def _take_numbers(material: MtlMaterial, key: str, values: list[float]) -> None:
    if key == "Kd":
        material.colour = (values[0], values[1], values[2])
    elif key == "Ke":
        material.emission = (values[0], values[1], values[2])
    elif key == "Ns":
        material.roughness = (2 / (values[0] + 2)) ** 0.25
    elif key == "Pr":
        material.roughness = values[0]
    elif key == "Pm":
        material.metallic = values[0]
    elif values[0] != (1.0 if key == "d" else 0.0):
        material.not_shown.add("transparency")


def _values(where: str, words: list[str]) -> list[float]:
    count = _NUMBERS[words[0]]
    try:
        numbers = [float(word) for word in words[1 : count + 1]]
    except ValueError:
        numbers = []
    if len(numbers) == 1 and count == 3:  # green and blue are those of red
        numbers *= 3
    largest = 1.0 if words[0] in {"Kd", "Pr", "Pm", "d", "Tr"} else 1e5
    if len(numbers) != count or not all(math.isfinite(each) and 0 <= each <= largest for each in numbers):
        raise SimjudgeError(
            f"{where}: {one_line(' '.join(words))}: {count} {'number' if count == 1 else 'numbers'} from 0 to"
            f" {largest:g} {'is' if count == 1 else 'are'} needed"
        )
    return numbers


def _file(where: str, words: list[str]) -> Path:
    """The path that ends a line; options before it move, scale or clamp the texture."""
    if any(word.startswith("-") for word in words[1:]):
        raise SimjudgeError(f"{where}: {one_line(' '.join(words))}: options of textures are not read; remove them")
    if len(words) < 2:
        raise SimjudgeError(f"{where}: {words[0]}: the path of an image is needed")
    # Some exporters write the separators of Windows.
    return Path(where.rsplit(":", 1)[0]).parent / " ".join(words[1:]).replace("\\", "/")
