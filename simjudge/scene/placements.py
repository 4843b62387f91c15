"""Many things at once, as a scene's file says it: from a table of measured places, along a path, or at random.

placements:
  measured: {table: {file: cones.csv, kinds: {0: red_cone, 1: green_cone}, leave_out: [[9, 1]]}}
  course: {path: {waypoints: [...], width: 0.95, spacing: 0.5, left: green_cone, right: red_cone}}
  strewn: {random: {kinds: [red_cone, green_cone], count: 30, spacing: 0.3}}
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FloatArray
from simjudge.core.text import one_line
from simjudge.geometry.poses import Pose
from simjudge.scene import centre_lines
from simjudge.scene.content import random_of
from simjudge.scene.entry import Entry, is_numbers
from simjudge.scene.floor import Floor
from simjudge.scene.forms import Forms, Placed
from simjudge.scene.model import NO_INSTANCE, Course
from simjudge.scene.rows import Row, check_neighbours, parse_rows, read_rows, turned
from simjudge.scene.strewn import Area, strew

_WAYS = ("table", "path", "random")
_TABLE = ("file", "rows", "kinds", "leave_out", "correct", "at", "yaw")
_PATH = (*centre_lines.LINES, "width", "spacing", "left", "right", "lead_in", "lead_out", "jitter")


@dataclass
class Placements:
    """What all placements of a scene amount to.

    Attributes:
        placed: the things.
        course: the way to drive that a path gives.
    """

    placed: list[Placed] = field(default_factory=list)
    course: Course | None = None


def read_placements(root: Entry, forms: Forms, floor: Floor, area: Area | None, seed: int) -> Placements:
    """Place everything: what is measured or follows a path first, so that what is random keeps clear of it.

    Args:
        root: the file.
        forms: its kinds.
        floor: what stands there already; what is placed is added.
        area: x0, y0, x1, y1 for random placements that have none of their own.
        seed: of all that is random.
    """
    out = Placements()
    entries = list(root.sections("placements"))
    for _, entry in entries:
        entry.only(_WAYS)
        entry.one_of(_WAYS, "a placement")
    for name, entry in sorted(entries, key=lambda each: each[1].has("random")):
        if entry.has("table"):
            placed = _from_table(name, entry.section("table", _TABLE), forms, floor)
        elif entry.has("random"):
            placed = strew(name, entry.section("random"), forms, floor, area, seed)
        else:
            if out.course is not None:
                raise SimjudgeError(f"{entry.path}: {entry.name_of('path')}: a second path; a scene has one course")
            placed, out.course = _along_path(name, entry.section("path", _PATH), forms, floor, seed)
        floor.add(thing for each in placed for thing in each.things(NO_INSTANCE))
        out.placed += placed
    return out


def _from_table(name: str, entry: Entry, forms: Forms, floor: Floor) -> list[Placed]:
    if entry.one_of(("file", "rows"), "a table") == "file":
        rows = read_rows(Path(entry.text("file")))
    else:
        rows = parse_rows(entry.text("rows"), f"{entry.path}: {entry.name_of('rows')}")
    rows = _without(entry, _corrected(entry, rows))
    check_neighbours(rows)
    kinds = {str(colour): str(kind) for colour, kind in entry.section("kinds").content.items()}
    x, y = entry.numbers("at", "x y") if entry.has("at") else (0.0, 0.0)
    rows = turned(rows, (x, y), math.radians(entry.number("yaw", 0.0)))
    placed = []
    for row in rows:
        if row.colour not in kinds:
            known = f"{entry.path}: {entry.name_of('kinds')}"
            raise SimjudgeError(f"{row.where}: no kind for colour {row.colour} in {known}")
        form = forms.kind_named(kinds[row.colour], entry.section("kinds"), row.colour)
        placed.append(Placed(f"{name}_{row.colour}_{row.id}", form, Pose.from_euler(row.x, row.y)))
        _check_free_place(row.where, placed[-1], floor)
    return placed


def _corrected(entry: Entry, rows: list[Row]) -> list[Row]:
    """The rows with those in `correct: [[id, colour, x, y]]` where that says."""
    by_key = {row.key: row for row in rows}
    for number, given in enumerate(entry.items("correct", "rows") if entry.has("correct") else []):
        where = f"{entry.path}: {entry.name_of('correct')}[{number}]"
        if not isinstance(given, list) or len(given) != 4 or not is_numbers(given[2:], 2):
            raise SimjudgeError(f"{where}: [id, colour, x, y] is needed; this is {one_line(given)}")
        key = (str(given[0]), str(given[1]))
        if key not in by_key:
            raise SimjudgeError(f"{where}: there is no row {one_line(given)}")
        by_key[key] = by_key[key]._replace(x=float(given[2]), y=float(given[3]))
    return list(by_key.values())


def _without(entry: Entry, rows: list[Row]) -> list[Row]:
    """The rows but those in `leave_out`: [id, colour], or an id alone for all rows that have it."""
    for number, given in enumerate(entry.items("leave_out", "rows") if entry.has("leave_out") else []):
        key = tuple(str(each) for each in given) if isinstance(given, list) else (str(given),)
        left = [row for row in rows if row.key[: len(key)] != key]
        if len(key) > 2 or len(left) == len(rows):
            where = f"{entry.path}: {entry.name_of('leave_out')}[{number}]"
            raise SimjudgeError(f"{where}: there is no row {one_line(given)}")
        rows = left
    return rows


def _along_path(name: str, entry: Entry, forms: Forms, floor: Floor, seed: int) -> tuple[list[Placed], Course]:
    line = centre_lines.read_line(entry)
    width, spacing = entry.positive("width"), entry.positive("spacing")
    radius = centre_lines.tightest_radius(line)
    if radius <= width / 2:
        raise SimjudgeError(
            f"{entry.path}: {entry.where}: the path turns about {radius:.2f} m, less than half its width"
        )
    lead_in, lead_out = entry.number("lead_in", 0.0, least=0), entry.number("lead_out", 0.0, least=0)
    step = float(np.linalg.norm(line[1] - line[0]))
    lined = line[round(lead_in / step) : len(line) - round(lead_out / step)]
    if len(lined) < 2:
        raise SimjudgeError(f"{entry.path}: {entry.name_of('lead_in')}: nothing of the path is left")
    jitter, random = entry.number("jitter", 0.0, least=0, most=width / 4), random_of(seed, entry.where)
    placed = []
    for side, sign in (("left", 1), ("right", -1)):
        if entry.has(side):
            form = forms.kind(entry, side)
            points = centre_lines.even(centre_lines.beside(lined, sign * width / 2), spacing)
            _check_beside(entry, line, points, width)
            points = points + random.uniform(-jitter, jitter, points.shape)
            yaws = random.uniform(-math.pi, math.pi, len(points)).tolist()
            poses = [Pose.from_euler(x, y, yaw=yaw) for (x, y), yaw in zip(points.tolist(), yaws, strict=True)]
            placed += [Placed(f"{name}_{side}_{number}", form, pose) for number, pose in enumerate(poses, 1)]
    for each in placed:
        _check_free_place(f"{entry.path}: {entry.where}", each, floor)
    return placed, Course(line, width)


def _check_beside(entry: Entry, line: FloatArray, points: FloatArray, width: float) -> None:
    """Refuse a path that comes so near itself that one of its sides stands in its own way."""
    distance, _ = cKDTree(line).query(points)
    if distance.min() < 0.45 * width:
        x, y = points[int(np.argmin(distance))]
        raise SimjudgeError(
            f"{entry.path}: {entry.where}: the path crosses its own side near x {x:.2f}, y {y:.2f}; lay it apart"
        )


def _check_free_place(where: str, placed: Placed, floor: Floor) -> None:
    x, y, _ = placed.pose.position
    other = floor.at(x, y, placed.form.radius / math.sqrt(2))
    if other is not None:
        raise SimjudgeError(f"{where}: what is placed at x {x:.2f}, y {y:.2f} would stand in {other}; move one of them")
