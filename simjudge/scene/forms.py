"""What a thing is, wherever it stands: its shape, surface, class and mass, as a scene's file says it.

A form has one of `mesh`, `box`, `cylinder`, `cone`, `plane`, or `parts` made of further forms, or takes over the form
of a `kind`. Parts of one surface become one mesh: a table of five boxes and two surfaces is two things to a ray tracer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from simjudge.core.errors import SimjudgeError
from simjudge.geometry.poses import Pose
from simjudge.scene import shapes
from simjudge.scene.entry import POSE_FIELDS, Entry, is_numbers
from simjudge.scene.floor import radius_of
from simjudge.scene.model import NO_CLASS, Collider, Mesh, Motion, Surface, Thing
from simjudge.scene.obj import ObjMesh, read_obj
from simjudge.scene.surfaces import Repeat, Surfaces

SHAPES = ("mesh", "box", "cylinder", "cone", "plane", "parts")
FORM = (*SHAPES, "kind", "surface", "uv", "class", "motion", "mass", "collider")
_SLAB = 0.05
"""Metres behind a plane that are solid in physics."""
_LEVEL = 1e-6
"""Metres from height 0, and of a slope, within which a plane is the ground."""
_DEEPEST = 8
_MOST_SEGMENTS = 256


@dataclass(frozen=True, eq=False)
class Piece:
    """One mesh of one surface, in the form's frame."""

    mesh: Mesh
    surface: Surface
    collider: Collider


@dataclass(frozen=True, eq=False)
class Form:
    """A thing without a place.

    Attributes:
        pieces: in the form's frame; only things that are neither free nor labelled have several.
        class_id, motion, mass: as of `Thing`.
        ground: it is a plane without a collider of its own: the ground where it lies level at height 0.
    """

    pieces: tuple[Piece, ...]
    class_id: int
    motion: Motion
    mass: float
    ground: bool

    @property
    def radius(self) -> float:
        """Metres from its origin to its farthest point, seen from above."""
        return max(radius_of(piece.mesh.vertices) for piece in self.pieces)


@dataclass(frozen=True)
class Placed:
    """A form in its place."""

    name: str
    form: Form
    pose: Pose

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
                instance=instance,
                motion=form.motion,
                mass=form.mass,
                collider=Collider("plane") if form.ground and level else piece.collider,
            )


class Forms:
    """The forms of a scene: its kinds, and those that things spell out."""

    def __init__(self, root: Entry, class_names: dict[int, str], surfaces: Surfaces) -> None:
        """Read all kinds, so that what is wrong with one is known even where nothing uses it."""
        self._surfaces, self._class_names = surfaces, class_names
        self._kinds = dict(root.sections("kinds"))
        self._made: dict[str, Form] = {}
        for name, entry in self._kinds.items():
            entry.only(FORM)
            self._made[name] = self._read(entry)

    def kind(self, entry: Entry, field: str) -> Form:
        """The kind that a field names."""
        return self._made[entry.choice(field, self._kinds)]

    def kind_named(self, name: str, entry: Entry, field: str) -> Form:
        """The kind of a name; the field is where it is named."""
        return self.kind(Entry(entry.path, entry.where, {field: name}), field)

    def read(self, entry: Entry) -> Form:
        """The form that an entry spells out, or takes from a kind."""
        changed = [field for field in FORM if field != "kind" and entry.has(field)]
        return self.kind(entry, "kind") if entry.has("kind") and not changed else self._read(entry)

    def _read(self, entry: Entry) -> Form:
        whole = self._with_kind(entry)
        shape = whole.one_of(SHAPES, "a thing")
        pieces = self._parts(whole, 0, None) if shape == "parts" else (self._piece(whole, shape, None),)
        class_id, motion = self._class(whole), whole.choice("motion", ("static", "free"), "static")
        if len(pieces) > 1 and (class_id != NO_CLASS or motion == "free"):
            raise SimjudgeError(
                f"{whole.path}: {whole.where}: what is free or has a class needs one mesh of one surface;"
                f" these parts have {len(pieces)} surfaces"
            )
        free = motion == "free"
        if free and shape == "plane":
            raise SimjudgeError(f"{whole.path}: {whole.name_of('motion')}: a plane has no volume; it cannot be free")
        if whole.has("mass") and not free:
            raise SimjudgeError(f"{whole.path}: {whole.name_of('mass')}: only free things have one; add motion: free")
        ground = shape == "plane" and not whole.has("collider")
        mass = whole.positive("mass") if free else 0.0
        return Form(pieces, class_id, "free" if free else "static", mass, ground)

    def _with_kind(self, entry: Entry, depth: int = 0) -> Entry:
        """An entry with the fields of its kind, and of that one's kind, under its own."""
        if not entry.has("kind"):
            return entry
        base = self._kinds[entry.choice("kind", self._kinds)]
        if depth > _DEEPEST:
            raise SimjudgeError(f"{entry.path}: {entry.where}.kind: it comes back to itself; break the circle")
        below = self._with_kind(base, depth + 1).content
        own = {field: value for field, value in entry.content.items() if field != "kind"}
        shape = [field for field in SHAPES if entry.has(field)]
        if shape:
            raise SimjudgeError(f"{entry.path}: {entry.name_of(shape[0])}: the kind says it; remove one of the two")
        return Entry(entry.path, entry.where, {**below, **own})

    def _class(self, entry: Entry) -> int:
        value = entry.content.get("class")
        if value is None:
            return NO_CLASS
        if isinstance(value, str):
            name = entry.choice("class", self._class_names.values())
            return next(number for number, given in self._class_names.items() if given == name)
        class_id = entry.whole("class", least=1, most=255)
        if class_id not in self._class_names:
            raise entry.wrong("class", "a name or number from classes is needed")
        return class_id

    def _parts(self, entry: Entry, depth: int, inherited: tuple[Surface, Repeat] | None) -> tuple[Piece, ...]:
        """All parts, those of one surface joined."""
        if depth > _DEEPEST:
            raise SimjudgeError(f"{entry.path}: {entry.where}: parts of parts of parts, too deep; break the circle")
        mine = self._surfaces.read(entry) if entry.has("surface") else inherited
        pieces: list[Piece] = []
        for part in entry.listed("parts", "parts"):
            part.only((*SHAPES, "kind", "surface", "uv", "copies", *POSE_FIELDS))
            whole = self._with_kind(part)
            shape = whole.one_of(SHAPES, "a part")
            made = self._parts(whole, depth + 1, mine) if shape == "parts" else (self._piece(whole, shape, mine),)
            pieces += [_elsewhere(piece, pose) for pose in _poses(part) for piece in made]
        surfaces = {id(piece.surface): piece.surface for piece in pieces}
        joined = (_joined([piece for piece in pieces if piece.surface is surface]) for surface in surfaces.values())
        return tuple(replace(piece, collider=_collider(entry, piece)) for piece in joined)

    def _piece(self, entry: Entry, shape: str, inherited: tuple[Surface, Repeat] | None) -> Piece:
        surface, repeat = self._surfaces.read(entry) if entry.has("surface") or not inherited else inherited
        mesh, natural = _mesh(entry, shape, surface)
        piece = Piece(shapes.repeated(mesh, repeat) if surface.texture is not None else mesh, surface, natural)
        return replace(piece, collider=_collider(entry, piece))


def _mesh(entry: Entry, shape: str, surface: Surface) -> tuple[Mesh, Collider]:
    """The mesh of a shape, and the solid that stands for it unless the file says otherwise."""
    if entry.has("uv") and shape != "mesh":
        raise SimjudgeError(f"{entry.path}: {entry.name_of('uv')}: only for meshes; a {shape} has its own")
    if shape == "mesh":
        return _mesh_from_file(entry, surface), Collider("hull")
    if shape == "box":
        x, y, z = entry.numbers("box", "x y z", above=0)
        return shapes.box(x, y, z), Collider("box", (x, y, z), (0, 0, z / 2))
    if shape == "plane":
        x, y = entry.numbers("plane", "x y", above=0)
        return shapes.plane(x, y), Collider("box", (x, y, _SLAB), (0, 0, -_SLAB / 2))
    round_one = entry.section(shape, ("radius", "height", "segments", *(("top",) if shape == "cone" else ())))
    radius, height = round_one.positive("radius"), round_one.positive("height")
    segments = round_one.whole("segments", shapes.SEGMENTS, least=3, most=_MOST_SEGMENTS)
    if shape == "cylinder":
        return shapes.cylinder(radius, height, segments), Collider("cylinder", (radius, height), (0, 0, height / 2))
    top = round_one.number("top", 0.0, least=0)
    return shapes.cone(radius, height, top, segments), Collider("hull")


def _mesh_from_file(entry: Entry, surface: Surface) -> Mesh:
    path = Path(entry.text("mesh"))
    if not path.is_file():
        raise SimjudgeError(f"{entry.path}: {entry.name_of('mesh')}: {path} does not exist; correct the path")
    found = _obj(path, path.stat().st_mtime_ns)
    if entry.has("uv"):
        entry.choice("uv", ("box",))
        return shapes.box_mapped(found.mesh)
    if surface.texture is not None and not found.has_uv:
        raise SimjudgeError(
            f"{entry.path}: {entry.name_of('mesh')}: {path} has no texture coordinates, but its surface has a texture;"
            " export it with them, or add uv: box"
        )
    return found.mesh


@lru_cache(maxsize=64)
def _obj(path: Path, changed: int) -> ObjMesh:  # noqa: ARG001 - a file that changed is another one
    return read_obj(path)


def _collider(entry: Entry, piece: Piece) -> Collider:
    """The solid that the file asks for, or the piece's own."""
    chosen = entry.choice("collider", ("none", "hull", "box", "plane"), "own") if entry.has("collider") else "own"
    if chosen == "box":
        low, high = piece.mesh.vertices.min(0), piece.mesh.vertices.max(0)
        size, centre = tuple((high - low).tolist()), tuple(((low + high) / 2).tolist())
        if min(size) <= 0:
            raise SimjudgeError(f"{entry.path}: {entry.name_of('collider')}: a flat mesh fills no box")
        return Collider("box", size, centre)
    return piece.collider if chosen == "own" else Collider(chosen)  # type: ignore[arg-type]


def _poses(part: Entry) -> list[Pose]:
    """Where a part stands: once, or at each of its copies' [x, y, z] on top of its own pose."""
    pose = part.pose()
    if not part.has("copies"):
        return [pose]
    places = part.items("copies", "places [x, y, z]")
    for number, place in enumerate(places):
        if not is_numbers(place, 3):
            raise SimjudgeError(f"{part.path}: {part.name_of('copies')}[{number}]: [x, y, z] is needed")
    return [Pose(tuple(place)) @ pose for place in places]


def _elsewhere(piece: Piece, pose: Pose) -> Piece:
    collider = piece.collider
    if collider.kind in {"box", "cylinder"}:
        turned = abs(abs(pose.orientation[3]) - 1) > 1e-9
        centre = tuple(pose.to_world(collider.centre).tolist())
        collider = Collider("hull") if turned else replace(collider, centre=centre)
    return replace(piece, mesh=shapes.moved(piece.mesh, pose), collider=collider)


def _joined(pieces: list[Piece]) -> Piece:
    if len(pieces) == 1:
        return pieces[0]
    mesh = shapes.joined([piece.mesh for piece in pieces])
    # Planes side by side fill no hull.
    flat = np.linalg.matrix_rank(mesh.vertices - mesh.vertices.mean(0), tol=1e-6) < 3
    return Piece(mesh, pieces[0].surface, Collider("none" if flat else "hull"))
