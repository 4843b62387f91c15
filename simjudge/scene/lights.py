"""Lamps as a scene's file says them: one, or a grid of them, perhaps each with a fixture that can be seen.

lights:
  desk: {at: [1, 2, 0.8], intensity: 0.5, range: 3}
  ceiling:
    grid: {columns: 5, rows: 4, from: [-4, -3], to: [4, 3], height: 2.6}
    intensity: {between: [1.5, 2.5]}        # the same for all of them; temperature in kelvin
    temperature: {between: [3800, 5500]}
    spread: 0.1                             # each lamp up to 10 % brighter or darker
    range: 7
    fixture: lamp                           # a kind, its origin at the lamp
"""

from __future__ import annotations

import numpy as np

from simjudge.core.errors import SimjudgeError
from simjudge.geometry.poses import Pose
from simjudge.scene import shapes
from simjudge.scene.content import random_of
from simjudge.scene.entry import POSE_FIELDS, Entry
from simjudge.scene.forms import Forms
from simjudge.scene.model import PointLight, Thing

_FIELDS = ("grid", "intensity", "colour", "temperature", "range", "spread", "fixture", *POSE_FIELDS)
_GRID = ("columns", "rows", "from", "to", "height")
_MOST = 64


def read_lights(root: Entry, forms: Forms, seed: int) -> tuple[list[PointLight], list[Thing]]:
    """All lamps, and their fixtures."""
    lights: list[PointLight] = []
    fixtures: list[Thing] = []
    for name, entry in root.sections("lights"):
        entry.only(_FIELDS)
        places = _places(entry)
        intensity, reach = np.array(entry.light("intensity")), entry.positive("range")
        spread = entry.number("spread", 0.0, least=0, most=1)
        share = 1 + spread * random_of(seed, f"{entry.where}.spread").uniform(-1, 1, len(places))
        for place, factor in zip(places, share, strict=True):
            red, green, blue = (intensity * factor).tolist()
            lights.append(PointLight(place.position, (red, green, blue), reach))
        if entry.has("fixture"):
            fixtures += _fixtures(name, entry, forms, places)
    return lights, fixtures


def _places(entry: Entry) -> list[Pose]:
    if entry.one_of(("at", "grid"), "a light") == "at":
        if entry.pose().position[2] <= 0:
            raise entry.wrong("at", "[x, y, z] with z above 0 is needed")
        return [entry.pose()]
    grid = entry.section("grid", _GRID)
    columns, rows = (grid.whole(field, least=1, most=_MOST) for field in ("columns", "rows"))
    (x0, y0), (x1, y1) = grid.numbers("from", "x y"), grid.numbers("to", "x y")
    height, turn = grid.positive("height"), entry.pose().orientation
    return [
        Pose((float(x), float(y), height), turn)
        for y in np.linspace(y0, y1, rows)
        for x in np.linspace(x0, x1, columns)
    ]


def _fixtures(name: str, entry: Entry, forms: Forms, places: list[Pose]) -> list[Thing]:
    """The fixtures of all lamps, those of one surface joined: nobody moves or counts them one by one."""
    form = forms.kind(entry, "fixture")
    if form.class_id or form.motion == "free":
        raise SimjudgeError(f"{entry.path}: {entry.name_of('fixture')}: fixtures are neither labelled nor free")
    return [
        Thing(
            f"{name}/fixture_{number}",
            shapes.joined([shapes.moved(piece.mesh, place) for place in places]),
            piece.surface,
        )
        for number, piece in enumerate(form.pieces, 1)
    ]
