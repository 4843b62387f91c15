"""What a thing is, wherever it stands: its shape, class, mass, and what it is made of, as a scene's file says it.

surfaces:
  floor: {texture: {pattern: concrete, seed: 3}, repeat: 2.5, roughness: 0.3}
  poster: {texture: {file: poster.png}, repeat: [0.6, 0.8]}
  steel: {colour: "#b8b8b8", roughness: 0.4, metallic: 1}

A form has one of `mesh`, `box`, `cylinder`, `cone`, `plane`, or `parts` made of further forms, or takes over the form
of a `kind`. Parts of one surface become one mesh: a table of five boxes and two surfaces is two things to a ray tracer.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from simjudge.core.documents import Location
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.files import is_file
from simjudge.core.text import nearest_name, one_line
from simjudge.geometry.poses import Pose
from simjudge.sim.scene import model as solid_meshes
from simjudge.sim.scene.ground import ground_collider, radius_from_above
from simjudge.sim.scene.mesh_files import MeshFile, face_areas, main_surface, read_mesh
from simjudge.sim.scene.model import (
    NO_CLASS,
    NO_INSTANCE,
    Collider,
    Mesh,
    Motion,
    MotionPath,
    Paint,
    Retroreflection,
    Surface,
    Thing,
)
from simjudge.sim.scene.obj import read_normal_map, read_texture
from simjudge.sim.scene.scene_fields import linear_radiance, luminance
from simjudge.sim.scene.scene_file import SceneDocument
from simjudge.sim.scene.textures import make_texture
from simjudge.sim.scene.thing_fields import (
    SHAPES,
    KindFields,
    NormalMapFields,
    PartFields,
    ShapeFields,
    SurfaceFields,
    TextureFields,
)

Repeat = tuple[float, float]
# Power that stone, wood, glass and plastics reflect of waves of 77 GHz, about: ((n - 1) / (n + 1))^2 with n^2 of 2 to 6
# (ITU-R P.2040) gives 0.03 to 0.18.
_NO_METAL = 0.1
_PLAIN = Surface()  # One object: parts of one surface are joined


def reflectance_map(surface: Surface) -> npt.NDArray[np.float32]:
    """The share of a lidar's light that a matt surface sends back straight, facing the beam, (H, W) by its texture."""
    if surface.reflectance is not None:
        return np.full((1, 1), surface.reflectance, np.float32)
    texture = np.ones((1, 1, 3)) if surface.texture is None else surface.texture
    return np.minimum(luminance(texture * np.array(surface.colour)), 1.0).astype(np.float32)


def lidar_reflectance(surface: Surface) -> float:
    """The mean of the same over the texture."""
    return float(reflectance_map(surface).mean(dtype=np.float64))


def radar_reflectance(surface: Surface) -> float:
    """The share of a radar wave's power that a surface reflects when met squarely."""
    if surface.radar_reflectance is not None:
        return surface.radar_reflectance
    return surface.metallic + (1 - surface.metallic) * _NO_METAL


def stops_lidar(surface: Surface) -> bool:
    """Whether a lidar's beam ends at a surface: it passes clear glass that has no reflectance of its own."""
    return surface.refractive_index is None or surface.reflectance is not None


def as_lidars_meet_it(thing: Thing) -> Thing:
    """A thing without its parts of clear glass; of what is nothing else no face is left."""
    paint = thing.paint or Paint((thing.surface,), np.zeros(len(thing.mesh.faces), np.int64))
    kept = np.array([stops_lidar(surface) for surface in paint.surfaces])[paint.of_face]
    if kept.all() or (not kept.any() and thing.motion != "static"):
        return thing
    mesh = replace(thing.mesh, faces=thing.mesh.faces[kept])
    return replace(thing, mesh=mesh, paint=replace(paint, of_face=paint.of_face[kept]))


def thing_reflectance(thing: Thing) -> float:
    """The same of a thing: the mean over its surfaces by their areas, where it is painted with several."""
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
        self._document = document
        self._named = document.content.surfaces
        self._made: dict[str, tuple[Surface, Repeat]] = {}
        for name, fields in self._named.items():
            self._of(fields, ("surfaces", name))

    def surface(self, given: str | SurfaceFields | None, location: Location) -> tuple[Surface, Repeat]:
        """The surface that a field names or spells out, and the units of texture coordinates per repeat."""
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
        emission, retro = linear_radiance(fields.emission), fields.retroreflection
        surface = Surface(
            fields.colour or plain,
            texture,
            fields.roughness,
            fields.metallic,
            fields.reflectance,
            emission,
            self._normal_map(fields.normal_map, (*location[:-1], "normal_map")),
            fields.refractive_index,
            None if retro is None else Retroreflection(retro.factor, math.radians(retro.acceptance)),
            fields.radar_reflectance,
        )
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


_SLAB = 0.05  # Metres behind a plane that are solid in physics
_LEVEL = 1e-6  # Metres from height 0, and of a slope, within which a plane is the ground
# Instance of things that stand on the floor but are not numbered yet: that they are counted is all that matters.
SOME_INSTANCE = 1
_DEEPEST = 8  # Parts of parts, and kinds of kinds, at most


@dataclass(frozen=True, eq=False)
class Piece:
    """One mesh of one surface, or painted with several, in the form's frame."""

    mesh: Mesh
    surface: Surface
    collider: Collider
    paint: Paint | None = None


@dataclass(frozen=True, eq=False)
class Form:
    """A thing without a place."""

    pieces: tuple[Piece, ...]  # in the form's frame; only things that are not free have several
    # class_id, motion, mass: as of `Thing`.
    class_id: int
    motion: Motion
    mass: float
    counted: bool
    ground: bool  # it is a plane without a collider of its own: the ground where it lies level at height 0

    @property
    def radius(self) -> float:
        """Metres from its origin to its farthest point, seen from above."""
        return max(radius_from_above(piece.mesh.vertices) for piece in self.pieces)


@dataclass(frozen=True)
class PlacedForm:
    """A form in its place."""

    name: str
    form: Form
    pose: Pose
    path: MotionPath | None = None

    def things(self, instance: int) -> Iterator[Thing]:
        """A thing for each piece of the form."""
        form = self.form
        level = abs(self.pose.position[2]) < _LEVEL and self.pose.rotation_matrix()[2, 2] > 1 - _LEVEL
        for number, piece in enumerate(form.pieces, 1):
            yield Thing(
                name=self.name if number == 1 else f"{self.name}/{number}",
                mesh=piece.mesh,
                surface=piece.surface,
                pose=self.pose,
                class_id=form.class_id,
                instance=instance if form.counted else NO_INSTANCE,
                motion=form.motion if self.path is None else "scripted",
                mass=form.mass,
                collider=Collider("plane") if form.ground and level and self.path is None else piece.collider,
                path=self.path,
                paint=piece.paint,
            )


class Forms:
    """The forms of a scene: its kinds, and those that things spell out."""

    def __init__(self, document: SceneDocument) -> None:
        self._document = document
        self._surfaces = Surfaces(document)
        self._stuff = {self.class_id(stuff, ("stuff", n)) for n, stuff in enumerate(document.content.stuff)}
        self._kinds = document.content.kinds
        self._made = {name: self._new(fields, ("kinds", name)) for name, fields in self._kinds.items()}

    def is_counted(self, class_id: int) -> bool:
        """Whether things of a class have instance ids: not without a class, nor where the class is stuff."""
        return class_id != NO_CLASS and class_id not in self._stuff

    def kind(self, name: str, location: Location) -> Form:
        """The form of a kind."""
        return self._made[self._known(name, location)]

    def form(self, fields: KindFields, location: Location) -> Form:
        """The form that a thing spells out, or takes from a kind."""
        own = fields.given().keys() & (KindFields.model_fields.keys() - {"kind"})
        return (
            self._new(fields, location) if own or fields.kind is None else self.kind(fields.kind, (*location, "kind"))
        )

    def _known(self, name: str, location: Location) -> str:
        if name not in self._kinds:
            raise self._document.error(location, f"there is no {one_line(name)!r}{nearest_name(name, self._kinds)}")
        return name

    def _new(self, fields: KindFields, location: Location) -> Form:
        whole = self._with_kind(fields, location)
        shape = self._shape(whole, location, "a thing")
        if shape == "parts":
            pieces = self._parts(whole, location, None, 0)
        else:
            pieces = (self._piece(whole, shape, location, None),)
        class_id, free = self.class_id(whole.class_, (*location, "class")), whole.motion == "free"
        if len(pieces) > 1 and free:
            # One body: one thing.
            one = _painted(pieces)
            pieces = (replace(one, collider=self._collider(whole, location, one)),)
        if free and shape == "plane":
            raise self._document.error((*location, "motion"), "a plane has no volume; it cannot be free")
        if free and whole.collider == "ground":
            raise self._document.error((*location, "collider"), "a ground stays where it is; it cannot be free")
        if whole.mass is not None and not free:
            raise self._document.error((*location, "mass"), "only free things have one; add motion: free")
        if free and whole.mass is None:
            raise self._document.error((*location, "mass"), "a number above 0 is needed; nothing is given")
        ground = shape == "plane" and whole.collider is None
        counted = self.is_counted(class_id)
        return Form(pieces, class_id, "free" if free else "static", whole.mass or 0.0, counted, ground)

    def _with_kind(self, fields: ShapeFields, location: Location, depth: int = 0) -> KindFields:
        """The fields of a thing or part, with those of its kind, and of that one's kind, below its own."""
        own = {name: value for name, value in fields.given().items() if name in KindFields.model_fields}
        if fields.kind is None:
            return KindFields.model_construct(set(own), **own)
        base = self._kinds[self._known(fields.kind, (*location, "kind"))]
        if depth > _DEEPEST:
            raise self._document.error((*location, "kind"), "it comes back to itself; break the circle")
        del own["kind"]
        taken = self._with_kind(base, location, depth + 1).given()
        # A mesh may stand for a mesh, a box for a box; another shape would leave the kind's own beside it.
        shape = [name for name in SHAPES if name in own and name not in taken]
        if shape:
            raise self._document.error((*location, shape[0]), "the kind says it; remove one of the two")
        both = {**taken, **own}
        return KindFields.model_construct(set(both), **both)

    def _shape(self, fields: ShapeFields, location: Location, subject: str) -> str:
        given = [name for name in SHAPES if getattr(fields, name) is not None]
        if len(given) != 1:
            found = f"{' and '.join(given)} are given" if given else "none is given"
            raise self._document.error(location, f"{subject} needs one of {', '.join(SHAPES)}; {found}")
        return given[0]

    def class_id(self, given: str | int | None, location: Location) -> int:
        """The class that a field names (given: name or number; None for no class)."""
        classes = self._document.content.classes
        if given is None:
            return NO_CLASS
        if isinstance(given, int):
            if given not in classes:
                message = f"a name or number from classes is needed; this is {given}"
                raise self._document.error(location, message)
            return given
        if given not in classes.values():
            message = f"there is no {one_line(given)!r}{nearest_name(given, list(classes.values()))}"
            raise self._document.error(location, message)
        return next(number for number, name in classes.items() if name == given)

    def _parts(
        self, fields: KindFields, location: Location, inherited: tuple[Surface, Repeat] | None, depth: int
    ) -> tuple[Piece, ...]:
        if depth > _DEEPEST:
            raise self._document.error(location, "parts of parts of parts, too deep; break the circle")
        mine = self._surface(fields, location) if fields.surface is not None else inherited
        pieces: list[Piece] = []
        for number, part in enumerate(fields.parts or ()):
            at = (*location, "parts", number)
            whole = self._with_kind(part, at)
            shape = self._shape(whole, at, "a part")
            if shape == "parts":
                made = self._parts(whole, at, mine, depth + 1)
            else:
                made = (self._piece(whole, shape, at, mine),)
            pieces += [_moved_piece(piece, pose) for pose in _poses(part) for piece in made]
        looks = {_look(piece): None for piece in pieces}
        joined = (_joined([piece for piece in pieces if _look(piece) == look]) for look in looks)
        return tuple(replace(piece, collider=self._collider(fields, location, piece)) for piece in joined)

    def _surface(self, fields: ShapeFields, location: Location) -> tuple[Surface, Repeat]:
        return self._surfaces.surface(fields.surface, (*location, "surface"))

    def _piece(
        self, fields: KindFields, shape: str, location: Location, inherited: tuple[Surface, Repeat] | None
    ) -> Piece:
        if fields.mesh is not None and fields.surface is None:
            found = self._mesh_file(fields, location, materials=True)
            if found.paint is not None:
                piece = Piece(found.mesh, main_surface(found.mesh, found.paint), Collider("hull"), found.paint)
                return replace(piece, collider=self._collider(fields, location, piece))
        spelled_out = fields.surface is not None or inherited is None
        surface, repeat = self._surface(fields, location) if spelled_out or inherited is None else inherited
        mesh, natural = self._mesh(fields, shape, location, surface)
        piece = Piece(solid_meshes.repeat_texture(mesh, repeat) if _is_textured(surface) else mesh, surface, natural)
        return replace(piece, collider=self._collider(fields, location, piece))

    def _mesh(self, fields: ShapeFields, shape: str, location: Location, surface: Surface) -> tuple[Mesh, Collider]:
        """The mesh of a shape, and the solid that stands for it unless the file says otherwise."""
        if fields.uv is not None and shape != "mesh":
            raise self._document.error((*location, "uv"), f"only for meshes; a {shape} has its own")
        if fields.mesh is not None:
            return self._mesh_from_file(fields, location, surface), Collider("hull")
        if fields.box is not None:
            x, y, z = fields.box
            return solid_meshes.box(x, y, z), Collider("box", (x, y, z), (0, 0, z / 2))
        if fields.plane is not None:
            x, y = fields.plane
            return solid_meshes.plane(x, y), Collider("box", (x, y, _SLAB), (0, 0, -_SLAB / 2))
        if fields.cylinder is not None:
            radius, height = fields.cylinder.radius, fields.cylinder.height
            solid = Collider("cylinder", (radius, height), (0, 0, height / 2))
            return solid_meshes.cylinder(radius, height, fields.cylinder.segments), solid
        cone = fields.cone
        if cone is None:
            raise self._document.error(location, f"there is no shape {shape}")
        return solid_meshes.cone(cone.radius, cone.height, cone.top, cone.segments), Collider("hull")

    def _mesh_from_file(self, fields: ShapeFields, location: Location, surface: Surface) -> Mesh:
        found = self._mesh_file(fields, location, materials=False)
        if _is_textured(surface) and not found.has_uv.all():
            message = (
                f"{fields.mesh} has no texture coordinates, but its surface has a texture; export it with them, or add"
                " uv: box"
            )
            raise self._document.error((*location, "mesh"), message)
        return found.mesh

    def _mesh_file(self, fields: ShapeFields, location: Location, *, materials: bool) -> MeshFile:
        path = Path(str(fields.mesh))
        if not is_file(path):
            raise self._document.error((*location, "mesh"), f"{path} does not exist; correct the path")
        found = read_mesh(path, materials=materials)
        if fields.uv is None:
            return found
        return found._replace(mesh=solid_meshes.map_box(found.mesh), has_uv=np.ones_like(found.has_uv))

    def _collider(self, fields: KindFields, location: Location, piece: Piece) -> Collider:
        if fields.cell is not None and fields.collider != "ground":
            raise self._document.error((*location, "cell"), "only of a ground; add collider: ground")
        if fields.collider is None:
            return piece.collider
        if fields.collider == "ground":
            try:
                return ground_collider(piece.mesh, fields.cell)
            except UsageError as error:
                raise self._document.error((*location, "collider"), str(error)) from error
        if fields.collider != "box":
            return Collider(fields.collider)
        low, high = piece.mesh.vertices.min(0), piece.mesh.vertices.max(0)
        size, centre = tuple((high - low).tolist()), tuple(((low + high) / 2).tolist())
        if min(size) <= 0:
            raise self._document.error((*location, "collider"), "a flat mesh fills no box")
        return Collider("box", size, centre)


def _poses(part: PartFields) -> list[Pose]:
    """Where a part stands: once, or at each of its copies' [x, y, z] on top of its own pose."""
    pose = part.pose()
    return [pose] if part.copies is None else [Pose(position) @ pose for position in part.copies]


def _moved_piece(piece: Piece, pose: Pose) -> Piece:
    collider = piece.collider
    if collider.kind in {"box", "cylinder"}:
        rotated = abs(abs(pose.orientation[3]) - 1) > 1e-9
        centre = tuple(pose.to_world(collider.centre).tolist())
        collider = Collider("hull") if rotated else replace(collider, centre=centre)
    return replace(piece, mesh=solid_meshes.move(piece.mesh, pose), collider=collider)


def _is_textured(surface: Surface) -> bool:
    return surface.texture is not None or surface.normal_map is not None


def _look(piece: Piece) -> tuple[int, ...]:
    return (id(piece.surface),) if piece.paint is None else tuple(map(id, piece.paint.surfaces))


def _joined(pieces: list[Piece]) -> Piece:
    if len(pieces) == 1:
        return pieces[0]
    mesh = solid_meshes.join([piece.mesh for piece in pieces])
    first, collider = pieces[0], Collider("none" if _is_flat(mesh) else "hull")
    if first.paint is None:
        return Piece(mesh, first.surface, collider)
    of_face = np.concatenate([piece.paint.of_face for piece in pieces if piece.paint is not None])
    return Piece(mesh, first.surface, collider, replace(first.paint, of_face=of_face))


def _painted(pieces: tuple[Piece, ...]) -> Piece:
    """Pieces of several surfaces as one, painted with them all."""
    mesh = solid_meshes.join([piece.mesh for piece in pieces])
    surfaces: list[Surface] = []
    of_face = []
    for piece in pieces:
        paint = piece.paint or Paint((piece.surface,), np.zeros(len(piece.mesh.faces), np.int64))
        of_face.append(paint.of_face + len(surfaces))
        surfaces += paint.surfaces
    paint = Paint(tuple(surfaces), np.concatenate(of_face))
    return Piece(mesh, main_surface(mesh, paint), Collider("none" if _is_flat(mesh) else "hull"), paint)


def _is_flat(mesh: Mesh) -> bool:
    """Whether it fills no hull: planes side by side."""
    return bool(np.linalg.matrix_rank(mesh.vertices - mesh.vertices.mean(0), tol=1e-6) < 3)
