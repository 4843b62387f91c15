"""What things are made of, as a scene's file says it: colour or texture, roughness, metallic.

surfaces:
  floor: {texture: {pattern: concrete, seed: 3}, repeat: 2.5, roughness: 0.3}
  poster: {texture: {file: poster.png}, repeat: [0.6, 0.8]}
  steel: {colour: "#b8b8b8", roughness: 0.4, metallic: 1}
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.text import one_line
from simjudge.scene.colour import picture_to_linear
from simjudge.scene.entry import Entry, is_numbers
from simjudge.scene.model import Surface
from simjudge.scene.textures import make_texture

_FIELDS = ("colour", "texture", "repeat", "roughness", "metallic")
_PLAIN = Surface()
Repeat = tuple[float, float]


class Surfaces:
    """The surfaces of a scene: named ones, and those that things spell out. Equal ones are one object."""

    def __init__(self, root: Entry) -> None:
        """Read the named ones."""
        self._named = dict(root.sections("surfaces"))
        self._made: dict[str, tuple[Surface, Repeat]] = {}
        for entry in self._named.values():
            self._of(entry)

    def read(self, entry: Entry, field: str = "surface") -> tuple[Surface, Repeat]:
        """The surface that a field names or spells out, and the units of texture coordinates per repeat."""
        if not entry.has(field):
            return _PLAIN, (1.0, 1.0)
        if isinstance(entry.content[field], str):
            return self._of(self._named[entry.choice(field, self._named)])
        return self._of(entry.section(field))

    def _of(self, entry: Entry) -> tuple[Surface, Repeat]:
        key = json.dumps(entry.content, sort_keys=True, default=str)
        if key not in self._made:
            self._made[key] = _read(entry)
        return self._made[key]


def _read(entry: Entry) -> tuple[Surface, Repeat]:
    entry.only(_FIELDS)
    texture = _texture(entry.section("texture")) if entry.has("texture") else None
    surface = Surface(
        colour=entry.colour("colour", (1.0, 1.0, 1.0) if texture is not None else _PLAIN.colour),
        texture=texture,
        roughness=entry.number("roughness", _PLAIN.roughness, least=0, most=1),
        metallic=entry.number("metallic", _PLAIN.metallic, least=0, most=1),
    )
    if not entry.has("repeat"):
        return surface, (1.0, 1.0)
    if texture is None:
        raise SimjudgeError(f"{entry.path}: {entry.name_of('repeat')}: there is no texture that could repeat")
    if is_numbers(entry.content["repeat"], 2):
        across, up = entry.numbers("repeat", "across up", above=0)
        return surface, (across, up)
    repeat = entry.positive("repeat")
    return surface, (repeat, repeat)


def _texture(entry: Entry) -> npt.NDArray[np.float32]:
    """A texture from a picture's file, or painted by one of the patterns in `simjudge.scene.textures`."""
    if entry.one_of(("file", "pattern"), "a texture") == "file":
        entry.only(("file",))
        return _picture(Path(entry.text("file")), f"{entry.path}: {entry.name_of('file')}")
    parameters = {str(key): value for key, value in entry.content.items() if key != "pattern"}
    try:
        return make_texture(entry.text("pattern"), parameters)
    except UsageError as error:
        raise SimjudgeError(f"{entry.path}: {entry.where}: {error}") from error


@lru_cache(maxsize=32)
def _picture(path: Path, where: str) -> npt.NDArray[np.float32]:
    try:
        data = np.frombuffer(path.read_bytes(), np.uint8)
    except OSError as error:
        raise SimjudgeError(f"{where}: {path}: cannot be read: {error.strerror}") from error
    picture = cv2.imdecode(data, cv2.IMREAD_COLOR) if data.size else None
    if picture is None:
        raise SimjudgeError(f"{where}: {one_line(path, 200)}: no picture; PNG or JPEG is needed")
    texture = picture_to_linear(np.ascontiguousarray(picture[:, :, ::-1]))
    texture.flags.writeable = False
    return texture
