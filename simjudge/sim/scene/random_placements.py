"""Things at random places: `random: {kinds, count, area, spacing, clear, keep_out, yaw}` in a scene's placements."""

from __future__ import annotations

import math

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray
from simjudge.geometry.poses import Pose
from simjudge.sim.scene.file_content import random_of
from simjudge.sim.scene.floor import Floor
from simjudge.sim.scene.forms import Form, Forms, PlacedForm
from simjudge.sim.scene.placement_fields import RandomFields
from simjudge.sim.scene.scatter import scatter
from simjudge.sim.scene.scene_file import SceneDocument


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
