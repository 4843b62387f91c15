"""Many things at once, as a scene's file says it: at measured places from a table, along a path, or at random.

placements:
  measured: {table: {file: cones.csv, kinds: {0: red_cone, 1: green_cone}, leave_out: [[9, 1]]}}
  course: {path: {waypoints: [...], width: 0.95, spacing: 0.5, left: green_cone, right: red_cone}}
  anywhere: {random: {kinds: [red_cone, green_cone], count: 30, spacing: 0.3}}
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from simjudge.core.arrays import BoolArray, FloatArray
from simjudge.core.documents import Location, field_name
from simjudge.core.errors import SimjudgeError
from simjudge.core.text import one_line, parse_number, read_text
from simjudge.geometry.poses import Pose
from simjudge.sim.scene.forms import SOME_INSTANCE, Form, Forms, PlacedForm
from simjudge.sim.scene.ground import Floor, build_line, headings, offset_line, resample, tightest_radius
from simjudge.sim.scene.model import Course
from simjudge.sim.scene.scene_fields import FARTHEST, random_of
from simjudge.sim.scene.scene_file import MOST_PLACED, PathFields, RandomFields, SceneDocument, TableFields

_BATCH = 1000  # Points that are tried together
_BATCHES = 60  # Batches until an area counts as full


def scatter(
    count: int,
    area: tuple[float, float, float, float],
    spacing: float,
    free: Callable[[FloatArray], BoolArray],
    random: np.random.Generator,
) -> FloatArray:
    """Up to `count` points (N, 2), evenly random in x0, y0, x1, y1, no two nearer than `spacing`; 60,000 tries."""
    x0, y0, x1, y1 = area
    side = spacing / math.sqrt(2)
    points: list[tuple[float, float]] = []
    # Cells so small that two points in one of them are too near: only 5 x 5 of them need a look.
    cells: dict[tuple[int, int], list[tuple[float, float]]] = {}

    def cell(x: float, y: float) -> tuple[int, int]:
        return math.floor((x - x0) / side), math.floor((y - y0) / side)

    def near(x: float, y: float) -> bool:
        i, j = cell(x, y)
        around = (cells.get((i + a, j + b), ()) for a in range(-2, 3) for b in range(-2, 3))
        return any(math.hypot(x - u, y - v) < spacing for there in around for u, v in there)

    for _ in range(_BATCHES):
        if len(points) >= count:
            break
        tries = random.uniform((x0, y0), (x1, y1), (_BATCH, 2))
        for x, y in tries[free(tries)].tolist():
            if len(points) < count and not near(x, y):
                points.append((x, y))
                cells.setdefault(cell(x, y), []).append((x, y))
    return np.array(points, np.float64).reshape(-1, 2)


def place_at_random(document: SceneDocument, name: str, forms: Forms, floor: Floor, seed: int) -> list[PlacedForm]:
    """Place things over an area: apart from each other, clear of all that stands on the floor, outside keep-outs."""
    location = ("placements", name, "random")
    fields = document.content.placements[name].random
    if fields is None:
        return []
    chosen = [forms.kind(kind, (*location, "kinds")) for kind in _kinds(fields)]
    radius = max((form.radius for form in chosen), default=0.0)
    spacing = max(fields.spacing, 2 * radius)
    area = fields.area or document.content.area
    if area is None:
        raise document.error((*location, "area"), "[x0, y0, x1, y1] is needed, here or for the scene")

    def free(points: FloatArray) -> BoolArray:
        bad = floor.blocked(points, radius + fields.clear)
        for x0, y0, x1, y1 in fields.keep_out or ():
            bad |= (points[:, 0] > x0) & (points[:, 0] < x1) & (points[:, 1] > y0) & (points[:, 1] < y1)
        for x, y, other in floor.circles.tolist():
            bad |= np.hypot(points[:, 0] - x, points[:, 1] - y) < max(spacing, radius + other)
        return ~bad

    random = random_of(seed, f"placements.{name}.random")
    order = random.permutation(len(chosen))
    points = scatter(len(chosen), area, spacing, free, random)
    if len(points) < len(chosen):
        message = (
            f"{len(chosen)} things {spacing:.3g} m apart do not fit into {list(area)}: there was room for"
            f" {len(points)}; take fewer, a smaller spacing or a larger area"
        )
        raise document.error(location, message)
    return _placed(name, [chosen[number] for number in order], points, _yaws(fields, len(points), random))


def _yaws(fields: RandomFields, count: int, random: np.random.Generator) -> FloatArray:
    """Radians; drawn even where the file says them, so that nothing else that is random changes."""
    yaws = random.uniform(-math.pi, math.pi, count)
    return yaws if fields.yaw is None else np.full(count, math.radians(fields.yaw))


def _placed(name: str, forms: list[Form], points: FloatArray, yaws: FloatArray) -> list[PlacedForm]:
    rows = np.column_stack([points, yaws]).tolist()
    return [
        PlacedForm(f"{name}_{number}", form, Pose.from_euler(x, y, yaw=yaw))
        for number, (form, (x, y, yaw)) in enumerate(zip(forms, rows, strict=True), 1)
    ]


def _kinds(fields: RandomFields) -> list[str]:
    """The kinds to place: `kinds: {name: count}`, or `kinds: [names]` and `count`, as many of each as can be."""
    if isinstance(fields.kinds, dict):
        return [name for name, count in fields.kinds.items() for _ in range(count)]
    return [fields.kinds[number % len(fields.kinds)] for number in range(fields.count or 0)]


_FAR = 10.0  # A row is a slip where its nearest neighbour is so many times as far off as neighbours usually are
_UPON = 1e-3  # Metres between two rows that are one
_HEADINGS = {"id", "colour", "color", "x", "y", "class"}


class MeasuredPosition(NamedTuple):
    """A row."""

    where: str
    id: str
    colour: str
    # x, y: metres.
    x: float
    y: float

    @property
    def key(self) -> tuple[str, str]:
        """What tells rows apart: in the lab's tables each colour counts its ids from 0."""
        return self.id, self.colour


def read_positions(path: Path) -> list[MeasuredPosition]:
    """The rows of a table's file."""
    return parse_positions(read_text(path), str(path))


def parse_positions(text: str, where: str) -> list[MeasuredPosition]:
    """The rows of a table's text; `where` names it in messages."""
    rows: dict[tuple[str, str], MeasuredPosition] = {}
    for line_number, line in enumerate(text.splitlines(), 1):
        plain = line.split("#", 1)[0].strip()
        words = re.split(r"\s*[,;\t]\s*|\s+", plain) if plain else []
        if not words or (not rows and {word.lower() for word in words} <= _HEADINGS):
            continue
        row = _row(words, f"{where}:{line_number}", plain)
        if row.key in rows:
            raise SimjudgeError(
                f"{row.where}: id {row.id}, colour {row.colour} stands in {rows[row.key].where} already"
            )
        rows[row.key] = row
    if not rows:
        raise SimjudgeError(f"{where}: no rows; `id colour x y` in each line is needed")
    return list(rows.values())


def _row(words: list[str], where: str, line: str) -> MeasuredPosition:
    numbers = [parse_number(word) for word in words[2:]]
    if len(words) != 4 or any(value is None or not abs(value) <= FARTHEST for value in numbers):
        raise SimjudgeError(f"{where}: {one_line(line)!r}: id, colour, x and y (metres) are needed")
    return MeasuredPosition(where, words[0], words[1], float(words[2]), float(words[3]))


def check_neighbours(rows: list[MeasuredPosition]) -> None:
    """Refuse a row that lies far from all others, or upon another one: one of its figures is a slip."""
    if len(rows) < 2:
        return
    points = np.array([[row.x, row.y] for row in rows])
    tree = cKDTree(points)
    nearest = tree.query(points, k=2)[0][:, 1]
    usual = float(np.median(nearest))
    for one, other in sorted(tree.query_pairs(_UPON)):
        row = rows[other]
        raise SimjudgeError(f"{row.where}: {_named(row)} stands upon {_named(rows[one])}; leave one of them out")
    if len(rows) > 3 and nearest.max() > _FAR * usual:
        row = rows[int(np.argmax(nearest))]
        raise SimjudgeError(
            f"{row.where}: {_named(row)} at x {row.x:g}, y {row.y:g} is {nearest.max():.4g} m from its nearest"
            f" neighbour, others {usual:.2g} m: a slip? Leave it out (leave_out: [[{row.id}, {row.colour}]]) or"
            f" correct it (correct: [[{row.id}, {row.colour}, x, y]])"
        )


def transform_positions(rows: list[MeasuredPosition], at: tuple[float, float], yaw: float) -> list[MeasuredPosition]:
    """Rows of a table whose origin is `at` in the world, its x axis turned by yaw, radians."""
    c, s = math.cos(yaw), math.sin(yaw)
    return [row._replace(x=at[0] + c * row.x - s * row.y, y=at[1] + s * row.x + c * row.y) for row in rows]


def _named(row: MeasuredPosition) -> str:
    return f"id {row.id}, colour {row.colour}"


# Share of its width to which a path may come near one of its own sides; half of it is where the side stands.
_NEAREST_SIDE = 0.45


@dataclass
class Placements:
    """What all placements of a scene amount to."""

    placed: list[PlacedForm] = field(default_factory=list)
    course: Course | None = None  # the way to drive that a path gives


def place_all(document: SceneDocument, forms: Forms, floor: Floor, seed: int) -> Placements:
    """Place everything: what is measured or follows a path first, so that what is random keeps clear of it."""
    out = Placements()
    placements = document.content.placements
    for name in sorted(placements, key=lambda name: placements[name].random is not None):
        fields, placed = placements[name], []
        if fields.table is not None:
            placed = _from_table(document, name, fields.table, forms, floor)
        elif fields.random is not None:
            placed = place_at_random(document, name, forms, floor, seed)
        elif fields.path is not None:
            if out.course is not None:
                raise document.error(("placements", name, "path"), "a second path; a scene has one course")
            placed, out.course = _along_path(document, name, fields.path, forms, floor, seed)
        placed = [replace(placement, pose=floor.ground.stand(placement.pose)) for placement in placed]
        floor.add(thing for placement in placed for thing in placement.things(SOME_INSTANCE))
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
    for transform_position in transform_positions(measured, fields.at, math.radians(fields.yaw)):
        if transform_position.colour not in fields.kinds:
            kinds = f"{document.path}: {field_name((*location, 'kinds'))}"
            raise SimjudgeError(
                f"{transform_position.where}: no kind for colour {transform_position.colour} in {kinds}"
            )
        form = forms.kind(fields.kinds[transform_position.colour], (*location, "kinds", transform_position.colour))
        placed.append(
            PlacedForm(
                f"{name}_{transform_position.colour}_{transform_position.id}",
                form,
                Pose.from_euler(transform_position.x, transform_position.y),
            )
        )
        _check_free_place(transform_position.where, placed[-1], floor)
    return placed


def _corrected(
    document: SceneDocument, location: Location, fields: TableFields, measured: list[MeasuredPosition]
) -> list[MeasuredPosition]:
    """The rows with those in `correct: [[id, colour, x, y]]` where that says."""
    by_key = {cone.key: cone for cone in measured}
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
        left = [cone for cone in measured if cone.key[: len(key)] != key]
        if len(left) == len(measured):
            raise document.error((*location, "leave_out", number), f"there is no row [{', '.join(key)}]")
        measured = left
    return measured


def _along_path(
    document: SceneDocument, name: str, fields: PathFields, forms: Forms, floor: Floor, seed: int
) -> tuple[list[PlacedForm], Course]:
    location = ("placements", name, "path")
    line = build_line(document, fields, location)
    radius = tightest_radius(line, closed=fields.closed)
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
            beside = offset_line(lined, sign * fields.width / 2, closed=fields.closed)
            points = resample(beside, fields.spacing)
            if fields.closed:
                points = points[:-1]
            along = headings(beside, closed=fields.closed)[cKDTree(beside).query(points)[1]]
            _check_own_side(document, location, line, points, fields.width)
            points = points + random.uniform(-fields.jitter, fields.jitter, points.shape)
            any_way = random.uniform(-math.pi, math.pi, len(points))
            yaws = (along if fields.facing == "along" else any_way).tolist()
            poses = [Pose.from_euler(x, y, yaw=yaw) for (x, y), yaw in zip(points.tolist(), yaws, strict=True)]
            placed += [PlacedForm(f"{name}_{side}_{number}", form, pose) for number, pose in enumerate(poses, 1)]
    for placement in placed:
        _check_free_place(f"{document.path}: {field_name(location)}", placement, floor)
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
