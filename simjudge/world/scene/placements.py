"""Many things at once, as a scene's file says it: from a table of measured places, along a path, or at random.

placements:
  measured: {table: {file: cones.csv, kinds: {0: red_cone, 1: green_cone}, leave_out: [[9, 1]]}}
  course: {path: {waypoints: [...], width: 0.95, spacing: 0.5, left: green_cone, right: red_cone}}
  strewn: {random: {kinds: [red_cone, green_cone], count: 30, spacing: 0.3}}
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree

from simjudge.datasets.text import one_line
from simjudge.errors import SimjudgeError
from simjudge.frames import FloatArray
from simjudge.poses import Pose
from simjudge.world.scene import centre_lines
from simjudge.world.scene.content import random_of
from simjudge.world.scene.entry import Entry, is_numbers
from simjudge.world.scene.footprints import Footprints, radius_of
from simjudge.world.scene.forms import Form, Forms
from simjudge.world.scene.model import Course
from simjudge.world.scene.rows import Row, check_neighbours, parse_rows, read_rows, turned
from simjudge.world.scene.scatter import scatter

Area = tuple[float, float, float, float]
_WAYS = ("table", "path", "random")
_TABLE = ("file", "rows", "kinds", "leave_out", "correct", "at", "yaw")
_PATH = (*centre_lines.LINES, "width", "spacing", "left", "right", "lead_in", "lead_out", "jitter")
_RANDOM = ("kinds", "count", "area", "spacing", "clear", "keep_out", "yaw")
_MOST = 5000


@dataclass(frozen=True)
class Placed:
    """A form in its place."""

    name: str
    form: Form
    pose: Pose


@dataclass
class Placements:
    """What all placements of a scene amount to.

    Attributes:
        placed: the things.
        course: the way to drive that a path gives.
    """

    placed: list[Placed] = field(default_factory=list)
    course: Course | None = None


def read_placements(
    root: Entry, forms: Forms, footprints: Footprints, others: FloatArray, area: Area | None, seed: int
) -> Placements:
    """Place everything: what is measured or follows a path first, so that what is random keeps clear of it.

    Args:
        root: the file.
        forms: its kinds.
        footprints: of what stands there already.
        others: (N, 2), metres, free and labelled things that stand there already.
        area: x0, y0, x1, y1 for random placements that have none of their own.
        seed: of all that is random.
    """
    out = Placements()
    entries = list(root.sections("placements"))
    for name, entry in entries:
        entry.only(_WAYS)
        way = entry.one_of(_WAYS, "a placement")
        if way == "table":
            out.placed += _table(name, entry.section("table", _TABLE), forms, footprints)
        elif way == "path":
            if out.course is not None:
                raise SimjudgeError(f"{entry.path}: {entry.name_of('path')}: a second path; a scene has one course")
            placed, out.course = _path(name, entry.section("path", _PATH), forms, footprints, seed)
            out.placed += placed
    for name, entry in entries:
        if entry.has("random"):
            taken = np.array([each.pose.position[:2] for each in out.placed]).reshape(-1, 2)
            part = entry.section("random", _RANDOM)
            out.placed += _random(name, part, forms, footprints, np.concatenate([others, taken]), area, seed)
    return out


def _table(name: str, entry: Entry, forms: Forms, footprints: Footprints) -> list[Placed]:
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
            raise SimjudgeError(
                f"{row.where}: no kind for colour {row.colour} in {entry.path}: {entry.name_of('kinds')}"
            )
        form = forms.kind_named(kinds[row.colour], entry.section("kinds"), row.colour)
        _check_free_place(row.where, row.x, row.y, form, footprints)
        placed.append(Placed(f"{name}_{row.colour}_{row.id}", form, Pose.facing(row.x, row.y)))
    return placed


def _corrected(entry: Entry, rows: list[Row]) -> list[Row]:
    """The rows with those in `correct: [[id, colour, x, y]]` where that says."""
    by_key = {row.key: row for row in rows}
    for number, given in enumerate(entry.items("correct", "rows") if entry.has("correct") else []):
        if not isinstance(given, list) or len(given) != 4 or not is_numbers(given[2:], 2):
            raise SimjudgeError(f"{entry.path}: {entry.name_of('correct')}[{number}]: [id, colour, x, y] is needed")
        key = (str(given[0]), str(given[1]))
        if key not in by_key:
            raise SimjudgeError(
                f"{entry.path}: {entry.name_of('correct')}[{number}]: there is no row {one_line(given)}"
            )
        by_key[key] = by_key[key]._replace(x=float(given[2]), y=float(given[3]))
    return list(by_key.values())


def _without(entry: Entry, rows: list[Row]) -> list[Row]:
    """The rows but those in `leave_out`: [id, colour], or an id alone for all rows that have it."""
    for number, given in enumerate(entry.items("leave_out", "rows") if entry.has("leave_out") else []):
        key = tuple(str(each) for each in given) if isinstance(given, list) else (str(given),)
        left = [row for row in rows if row.key[: len(key)] != key]
        if len(key) > 2 or len(left) == len(rows):
            raise SimjudgeError(
                f"{entry.path}: {entry.name_of('leave_out')}[{number}]: there is no row {one_line(given)}"
            )
        rows = left
    return rows


def _path(name: str, entry: Entry, forms: Forms, footprints: Footprints, seed: int) -> tuple[list[Placed], Course]:
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
            for number, (x, y) in enumerate(points.tolist(), 1):
                _check_free_place(f"{entry.path}: {entry.where}", x, y, form, footprints)
                placed.append(Placed(f"{name}_{side}_{number}", form, _facing(x, y, random)))
    return placed, Course(line, width)


def _check_beside(entry: Entry, line: FloatArray, points: FloatArray, width: float) -> None:
    """Refuse a path that comes so near itself that one of its sides stands in its own way."""
    distance, _ = cKDTree(line).query(points)
    if distance.min() < 0.45 * width:
        x, y = points[int(np.argmin(distance))]
        raise SimjudgeError(f"{entry.path}: {entry.where}: the path crosses its own side near x {x:.2f}, y {y:.2f}")


def _random(
    name: str, entry: Entry, forms: Forms, footprints: Footprints, taken: FloatArray, area: Area | None, seed: int
) -> list[Placed]:
    chosen = _counted(entry, forms)
    spacing, clear = entry.positive("spacing"), entry.number("clear", 0.1, least=0)
    if entry.has("area"):
        area = read_area(entry)
    if area is None:
        raise SimjudgeError(f"{entry.path}: {entry.name_of('area')}: [x0, y0, x1, y1] is needed, here or for the scene")
    random = random_of(seed, entry.where)
    order = random.permutation(len(chosen))
    margin = clear + max((radius_of(piece.mesh.vertices) for form in chosen for piece in form.pieces), default=0.0)
    keep_out = _keep_out(entry)

    def free(points: FloatArray) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        bad = footprints.within(points, margin)
        for x0, y0, x1, y1 in keep_out:
            bad |= (points[:, 0] > x0) & (points[:, 0] < x1) & (points[:, 1] > y0) & (points[:, 1] < y1)
        return ~bad

    points = scatter(len(chosen), area, spacing, free, taken, random)
    if len(points) < len(chosen):
        raise SimjudgeError(
            f"{entry.path}: {entry.where}: {len(chosen)} things {spacing:g} m apart do not fit into {list(area)}:"
            f" there was room for {len(points)}; take fewer, a smaller spacing or a larger area"
        )
    yaw = math.radians(entry.number("yaw")) if entry.has("yaw") else None
    return [
        Placed(f"{name}_{number}", chosen[order[number - 1]], _facing(x, y, random, yaw))
        for number, (x, y) in enumerate(points.tolist(), 1)
    ]


def _counted(entry: Entry, forms: Forms) -> list[Form]:
    """The forms to place: `kinds: {name: count}`, or `kinds: [names]` and `count`, as many of each as can be."""
    given = entry.content.get("kinds")
    if isinstance(given, dict):
        if entry.has("count"):
            raise SimjudgeError(f"{entry.path}: {entry.name_of('count')}: kinds has the counts; remove one of the two")
        counts = entry.section("kinds")
        names = [str(name) for name in counts.content for _ in range(counts.whole(name, most=_MOST))]
    else:
        listed = [str(name) for name in entry.items("kinds", "kinds")]
        names = [listed[number % len(listed)] for number in range(entry.whole("count", most=_MOST))]
    return [forms.kind_named(name, entry, "kinds") for name in names]


def _keep_out(entry: Entry) -> Sequence[Area]:
    given = entry.items("keep_out", "areas") if entry.has("keep_out") else []
    listed = Entry(entry.path, entry.name_of("keep_out"), dict(enumerate(given)))
    return [read_area(listed, number) for number in range(len(given))]


def read_area(entry: Entry, field: int | str = "area") -> Area:
    """An area of a file, x0 < x1 and y0 < y1."""
    x0, y0, x1, y1 = entry.numbers(field, "x0 y0 x1 y1")  # type: ignore[arg-type]
    if not (x0 < x1 and y0 < y1):
        raise entry.wrong(field, "[x0, y0, x1, y1] with x0 < x1 and y0 < y1 is needed")  # type: ignore[arg-type]
    return x0, y0, x1, y1


def _check_free_place(where: str, x: float, y: float, form: Form, footprints: Footprints) -> None:
    margin = max(radius_of(piece.mesh.vertices) for piece in form.pieces) / math.sqrt(2)
    other = footprints.at(x, y, margin)
    if other is not None:
        raise SimjudgeError(f"{where}: what is placed at x {x:.2f}, y {y:.2f} would stand in {other}; move one of them")


def _facing(x: float, y: float, random: np.random.Generator, yaw: float | None = None) -> Pose:
    turn = float(random.uniform(-math.pi, math.pi))
    return Pose.facing(x, y, yaw=turn if yaw is None else yaw)
