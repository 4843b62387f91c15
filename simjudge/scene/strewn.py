"""Things at random places: `random: {kinds, count, area, spacing, clear, keep_out, yaw}` in a scene's placements."""

from __future__ import annotations

import math

import numpy as np

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import BoolArray, FloatArray
from simjudge.geometry.poses import Pose
from simjudge.scene.content import random_of
from simjudge.scene.entry import Entry
from simjudge.scene.floor import Floor
from simjudge.scene.forms import Form, Forms, Placed
from simjudge.scene.scatter import scatter

Area = tuple[float, float, float, float]
_FIELDS = ("kinds", "count", "area", "spacing", "clear", "keep_out", "yaw")
_MOST = 5000


def strew(name: str, entry: Entry, forms: Forms, floor: Floor, area: Area | None, seed: int) -> list[Placed]:
    """Strew things over an area: apart from each other, clear of all that stands on the floor, outside keep-outs."""
    entry.only(_FIELDS)
    chosen = _counted(entry, forms)
    radius = max((form.radius for form in chosen), default=0.0)
    spacing, clear = max(entry.positive("spacing"), 2 * radius), entry.number("clear", 0.1, least=0)
    if entry.has("area"):
        area = read_area(entry)
    if area is None:
        raise SimjudgeError(f"{entry.path}: {entry.name_of('area')}: [x0, y0, x1, y1] is needed, here or for the scene")
    keep_out = _keep_out(entry)

    def free(points: FloatArray) -> BoolArray:
        bad = floor.blocked(points, radius + clear)
        for x0, y0, x1, y1 in keep_out:
            bad |= (points[:, 0] > x0) & (points[:, 0] < x1) & (points[:, 1] > y0) & (points[:, 1] < y1)
        for x, y, other in floor.circles.tolist():
            bad |= np.hypot(points[:, 0] - x, points[:, 1] - y) < max(spacing, radius + other)
        return ~bad

    random = random_of(seed, entry.where)
    order = random.permutation(len(chosen))
    points = scatter(len(chosen), area, spacing, free, random)
    if len(points) < len(chosen):
        raise SimjudgeError(
            f"{entry.path}: {entry.where}: {len(chosen)} things {spacing:.3g} m apart do not fit into {list(area)}:"
            f" there was room for {len(points)}; take fewer, a smaller spacing or a larger area"
        )
    yaws = random.uniform(-math.pi, math.pi, len(points))
    if entry.has("yaw"):
        yaws[:] = math.radians(entry.number("yaw"))
    return [
        Placed(f"{name}_{number + 1}", chosen[order[number]], Pose.from_euler(x, y, yaw=yaw))
        for number, (x, y, yaw) in enumerate(np.column_stack([points, yaws]).tolist())
    ]


def _counted(entry: Entry, forms: Forms) -> list[Form]:
    """The forms to place: `kinds: {name: count}`, or `kinds: [names]` and `count`, as many of each as can be."""
    if isinstance(entry.content.get("kinds"), dict):
        if entry.has("count"):
            raise SimjudgeError(f"{entry.path}: {entry.name_of('count')}: kinds has the counts; remove one of the two")
        counts = entry.section("kinds")
        names = [str(name) for name in counts.content for _ in range(counts.whole(name, most=_MOST))]
    else:
        listed = [str(name) for name in entry.items("kinds", "kinds")]
        names = [listed[number % len(listed)] for number in range(entry.whole("count", most=_MOST))]
    return [forms.kind_named(name, entry, "kinds") for name in names]


def _keep_out(entry: Entry) -> list[Area]:
    given = entry.items("keep_out", "areas") if entry.has("keep_out") else []
    listed = Entry(entry.path, entry.name_of("keep_out"), dict(enumerate(given)))
    return [read_area(listed, number) for number in range(len(given))]


def read_area(entry: Entry, field: int | str = "area") -> Area:
    """An area of a file, x0 < x1 and y0 < y1."""
    x0, y0, x1, y1 = entry.numbers(field, "x0 y0 x1 y1")
    if not (x0 < x1 and y0 < y1):
        raise entry.wrong(field, "[x0, y0, x1, y1] with x0 < x1 and y0 < y1 is needed")
    return x0, y0, x1, y1
