"""Many things at once, as a scene's file says it: from a table of measured places, along a path, or at random.

placements:
  measured: {table: {file: cones.csv, kinds: {0: red_cone, 1: green_cone}, leave_out: [[9, 1]]}}
  course: {path: {waypoints: [...], width: 0.95, spacing: 0.5, left: green_cone, right: red_cone}}
  anywhere: {random: {kinds: [red_cone, green_cone], count: 30, spacing: 0.3}}
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree

from simjudge.core.arrays import FloatArray
from simjudge.core.documents import Location, field_name
from simjudge.core.errors import SimjudgeError
from simjudge.geometry.poses import Pose
from simjudge.sim.scene import centre_lines
from simjudge.sim.scene.file_content import random_of
from simjudge.sim.scene.floor import Floor
from simjudge.sim.scene.forms import SOME_INSTANCE, Forms, PlacedForm
from simjudge.sim.scene.measured_positions import (
    MeasuredPosition,
    check_neighbours,
    parse_positions,
    read_positions,
    transform_positions,
)
from simjudge.sim.scene.model import Course
from simjudge.sim.scene.placement_fields import MOST_PLACED, PathFields, TableFields
from simjudge.sim.scene.random_placements import place_at_random
from simjudge.sim.scene.scene_file import SceneDocument

_NEAREST_SIDE = 0.45
"""Share of its width to which a path may come near one of its own sides; half of it is where the side stands."""


@dataclass
class Placements:
    """What all placements of a scene amount to.

    Attributes:
        course: the way to drive that a path gives.
    """

    placed: list[PlacedForm] = field(default_factory=list)
    course: Course | None = None


def place_all(document: SceneDocument, forms: Forms, floor: Floor, seed: int) -> Placements:
    """Place everything: what is measured or follows a path first, so that what is random keeps clear of it."""
    out = Placements()
    placements = document.content.placements
    for name in sorted(placements, key=lambda each: placements[each].random is not None):
        fields, placed = placements[name], []
        if fields.table is not None:
            placed = _from_table(document, name, fields.table, forms, floor)
        elif fields.random is not None:
            placed = place_at_random(document, name, forms, floor, seed)
        elif fields.path is not None:
            if out.course is not None:
                raise document.error(("placements", name, "path"), "a second path; a scene has one course")
            placed, out.course = _along_path(document, name, fields.path, forms, floor, seed)
        placed = [replace(each, pose=floor.ground.stand(each.pose)) for each in placed]
        floor.add(thing for each in placed for thing in each.things(SOME_INSTANCE))
        out.placed += placed
    return out


def _from_table(
    document: SceneDocument, name: str, fields: TableFields, forms: Forms, floor: Floor
) -> list[PlacedForm]:
    location = ("placements", name, "table")
    if fields.file is not None:
        measured = read_positions(Path(fields.file))
    else:
        measured = parse_positions(str(fields.rows), f"{document.path}: {field_name((*location, 'rows'))}")
    measured = _without(document, location, fields, _corrected(document, location, fields, measured))
    check_neighbours(measured)
    placed = []
    for each in transform_positions(measured, fields.at, math.radians(fields.yaw)):
        if each.colour not in fields.kinds:
            kinds = f"{document.path}: {field_name((*location, 'kinds'))}"
            raise SimjudgeError(f"{each.where}: no kind for colour {each.colour} in {kinds}")
        form = forms.kind(fields.kinds[each.colour], (*location, "kinds", each.colour))
        placed.append(PlacedForm(f"{name}_{each.colour}_{each.id}", form, Pose.from_euler(each.x, each.y)))
        _check_free_place(each.where, placed[-1], floor)
    return placed


def _corrected(
    document: SceneDocument, location: Location, fields: TableFields, measured: list[MeasuredPosition]
) -> list[MeasuredPosition]:
    """The rows with those in `correct: [[id, colour, x, y]]` where that says."""
    by_key = {each.key: each for each in measured}
    for number, (row_id, colour, x, y) in enumerate(fields.correct or ()):
        key = (row_id, colour)
        if key not in by_key:
            raise document.error((*location, "correct", number), f"there is no row [{', '.join(key)}]")
        by_key[key] = by_key[key]._replace(x=x, y=y)
    return list(by_key.values())


def _without(
    document: SceneDocument, location: Location, fields: TableFields, measured: list[MeasuredPosition]
) -> list[MeasuredPosition]:
    """The rows but those in `leave_out`: [id, colour], or an id alone for all rows that have it."""
    for number, key in enumerate(fields.leave_out or ()):
        left = [each for each in measured if each.key[: len(key)] != key]
        if len(left) == len(measured):
            raise document.error((*location, "leave_out", number), f"there is no row [{', '.join(key)}]")
        measured = left
    return measured


def _along_path(
    document: SceneDocument, name: str, fields: PathFields, forms: Forms, floor: Floor, seed: int
) -> tuple[list[PlacedForm], Course]:
    location = ("placements", name, "path")
    line = centre_lines.build_line(document, fields, location)
    radius = centre_lines.tightest_radius(line, closed=fields.closed)
    if radius <= fields.width / 2:
        raise document.error(location, f"the path turns about {radius:.2f} m, less than half its width")
    step = float(np.linalg.norm(line[1] - line[0]))
    lined = line[round(fields.lead_in / step) : len(line) - round(fields.lead_out / step)]
    if len(lined) < 2:
        raise document.error((*location, "lead_in"), "nothing of the path is left")
    most = float(np.sum(np.linalg.norm(np.diff(lined, axis=0), axis=1))) / fields.spacing
    if most > MOST_PLACED:
        message = f"{most:.0f} things in a row; {MOST_PLACED} can be: set them further apart"
        raise document.error((*location, "spacing"), message)
    random = random_of(seed, field_name(location))
    placed = []
    for side, kind, sign in (("left", fields.left, 1), ("right", fields.right, -1)):
        if kind is not None:
            form = forms.kind(kind, (*location, side))
            beside = centre_lines.offset_line(lined, sign * fields.width / 2, closed=fields.closed)
            points = centre_lines.resample(beside, fields.spacing)
            if fields.closed:
                points = points[:-1]
            along = centre_lines.headings(beside, closed=fields.closed)[cKDTree(beside).query(points)[1]]
            _check_own_side(document, location, line, points, fields.width)
            points = points + random.uniform(-fields.jitter, fields.jitter, points.shape)
            any_way = random.uniform(-math.pi, math.pi, len(points))
            yaws = (along if fields.facing == "along" else any_way).tolist()
            poses = [Pose.from_euler(x, y, yaw=yaw) for (x, y), yaw in zip(points.tolist(), yaws, strict=True)]
            placed += [PlacedForm(f"{name}_{side}_{number}", form, pose) for number, pose in enumerate(poses, 1)]
    for each in placed:
        _check_free_place(f"{document.path}: {field_name(location)}", each, floor)
    return placed, Course(line, fields.width, closed=fields.closed)


def _check_own_side(
    document: SceneDocument, location: Location, line: FloatArray, points: FloatArray, width: float
) -> None:
    """Refuse a path that comes so near itself that one of its sides stands in its own way."""
    distance, _ = cKDTree(line).query(points)
    if distance.min() < _NEAREST_SIDE * width:
        x, y = points[int(np.argmin(distance))]
        raise document.error(location, f"the path crosses its own side near x {x:.2f}, y {y:.2f}; lay it apart")


def _check_free_place(where: str, placed: PlacedForm, floor: Floor) -> None:
    x, y, _ = placed.pose.position
    other = floor.at(x, y, placed.form.radius / math.sqrt(2))
    if other is not None:
        raise SimjudgeError(f"{where}: what is placed at x {x:.2f}, y {y:.2f} would stand in {other}; move one of them")
