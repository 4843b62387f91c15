"""What things are made of, as a scene's file says it: colour or texture, roughness, metallic.

surfaces:
  floor: {texture: {pattern: concrete, seed: 3}, repeat: 2.5, roughness: 0.3}
  poster: {texture: {file: poster.png}, repeat: [0.6, 0.8]}
  steel: {colour: "#b8b8b8", roughness: 0.4, metallic: 1}
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from simjudge.core.documents import Location
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.text import nearest_name, one_line
from simjudge.sim.scene.mesh_files import face_areas
from simjudge.sim.scene.model import Paint, Surface, Thing
from simjudge.sim.scene.obj import read_normal_map, read_texture
from simjudge.sim.scene.scene_fields import linear_radiance, luminance
from simjudge.sim.scene.scene_file import SceneDocument
from simjudge.sim.scene.textures import make_texture
from simjudge.sim.scene.thing_fields import NormalMapFields, SurfaceFields, TextureFields

Repeat = tuple[float, float]
_PLAIN = Surface()
"""One object: parts of one surface are joined."""


def lidar_reflectance(surface: Surface) -> float:
    """The share of a lidar's light that a surface sends back straight, facing the beam.

    Args:
        surface: its own reflectance, else the luminance of its colour times the mean luminance of its texture.

    Returns:
        0 to 1.
    """
    if surface.reflectance is not None:
        return surface.reflectance
    texture = 1.0 if surface.texture is None else float(luminance(surface.texture).mean())
    return min(float(luminance(surface.colour)) * texture, 1.0)


def stops_lidar(surface: Surface) -> bool:
    """Whether a lidar's beam ends at a surface: it passes clear glass that has no reflectance of its own."""
    return surface.refractive_index is None or surface.reflectance is not None


def as_lidars_meet_it(thing: Thing) -> Thing:
    """A thing without its parts of clear glass; of what is nothing else no face is left.

    Args:
        thing: of a scene. What moves by itself and is of glass alone stays as it is.
    """
    paint = thing.paint or Paint((thing.surface,), np.zeros(len(thing.mesh.faces), np.int64))
    kept = np.array([stops_lidar(surface) for surface in paint.surfaces])[paint.of_face]
    if kept.all() or (not kept.any() and thing.motion != "static"):
        return thing
    mesh = replace(thing.mesh, faces=thing.mesh.faces[kept])
    return replace(thing, mesh=mesh, paint=replace(paint, of_face=paint.of_face[kept]))


def thing_reflectance(thing: Thing) -> float:
    """The same of a thing: the mean over its surfaces by their areas, where it is painted with several.

    Returns:
        0 to 1.
    """
    if thing.paint is None:
        return lidar_reflectance(thing.surface)
    each = np.array([lidar_reflectance(surface) for surface in thing.paint.surfaces])
    met = np.array([stops_lidar(surface) for surface in thing.paint.surfaces])[thing.paint.of_face]
    if not met.any():
        return lidar_reflectance(thing.surface)
    return float(np.average(each[thing.paint.of_face], weights=face_areas(thing.mesh) * met))


class Surfaces:
    """The surfaces of a scene: named ones, and those that things spell out. Equal ones are one object."""

    def __init__(self, document: SceneDocument) -> None:
        """Make the named ones."""
        self._document = document
        self._named = document.content.surfaces
        self._made: dict[str, tuple[Surface, Repeat]] = {}
        for name, fields in self._named.items():
            self._of(fields, ("surfaces", name))

    def surface(self, given: str | SurfaceFields | None, location: Location) -> tuple[Surface, Repeat]:
        """The surface that a field names or spells out, and the units of texture coordinates per repeat.

        Args:
            given: name or fields; None for the plain one.
        """
        if given is None:
            return _PLAIN, (1.0, 1.0)
        if isinstance(given, SurfaceFields):
            return self._of(given, location)
        if given not in self._named:
            raise self._document.error(location, f"there is no {one_line(given)!r}{nearest_name(given, self._named)}")
        return self._of(self._named[given], ("surfaces", given))

    def _of(self, fields: SurfaceFields, location: Location) -> tuple[Surface, Repeat]:
        key = json.dumps(fields.model_dump(exclude_unset=True), sort_keys=True, default=str)
        if key not in self._made:
            self._made[key] = self._new(fields, (*location, "texture"))
        return self._made[key]

    def _new(self, fields: SurfaceFields, location: Location) -> tuple[Surface, Repeat]:
        texture = self._texture(fields.texture, location) if fields.texture is not None else None
        white = texture is not None or fields.refractive_index is not None
        plain = (1.0, 1.0, 1.0) if white else Surface.colour
        emission = linear_radiance(fields.emission)
        surface = Surface(
            fields.colour or plain, texture, fields.roughness, fields.metallic, fields.reflectance, emission,
            self._normal_map(fields.normal_map, (*location[:-1], "normal_map")), fields.refractive_index,
        )  # fmt: skip
        return surface, fields.repeat or (1.0, 1.0)

    def _normal_map(self, fields: NormalMapFields | None, location: Location) -> npt.NDArray[np.float32] | None:
        if fields is None:
            return None
        try:
            return read_normal_map(Path(fields.file), fields.strength)
        except SimjudgeError as error:
            raise self._document.error((*location, "file"), str(error)) from error

    def _texture(self, fields: TextureFields, location: Location) -> npt.NDArray[np.float32]:
        """A texture from an image's file, or painted by one of the patterns in `simjudge.sim.scene.textures`."""
        try:
            if fields.pattern is not None:
                return make_texture(fields.pattern, fields.parameters())
            return read_texture(Path(str(fields.file)))
        except UsageError as error:
            raise self._document.error(location, str(error)) from error
        except SimjudgeError as error:
            raise self._document.error((*location, "file"), str(error)) from error
