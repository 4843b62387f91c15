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

from simjudge.geometry.poses import Pose
from simjudge.sim.scene import solid_meshes
from simjudge.sim.scene.file_content import random_of
from simjudge.sim.scene.forms import Form, Forms
from simjudge.sim.scene.model import PointLight, Thing
from simjudge.sim.scene.scene_file import LightFields, SceneDocument


def build_lights(document: SceneDocument, forms: Forms, seed: int) -> tuple[list[PointLight], list[Thing]]:
    """All lamps, and their fixtures."""
    lights: list[PointLight] = []
    fixtures: list[Thing] = []
    for name, fields in document.content.lights.items():
        poses = _poses(fields)
        intensity = np.array(fields.tinted(fields.intensity))
        random = random_of(seed, f"lights.{name}.spread")
        factors = 1 + fields.spread * random.uniform(-1, 1, len(poses))
        for pose, factor in zip(poses, factors, strict=True):
            red, green, blue = (intensity * factor).tolist()
            lights.append(PointLight(pose.position, (red, green, blue), fields.range))
        if fields.fixture is not None:
            location = ("lights", name, "fixture")
            form = forms.kind(fields.fixture, location)
            if form.class_id or form.motion == "free":
                raise document.error(location, "fixtures are neither labelled nor free; take another kind")
            fixtures += _fixtures(name, form, poses)
    return lights, fixtures


def _poses(fields: LightFields) -> list[Pose]:
    grid = fields.grid
    if grid is None:
        return [fields.pose()]
    (x0, y0), (x1, y1) = grid.from_, grid.to
    orientation = fields.pose().orientation
    return [
        Pose((float(x), float(y), grid.height), orientation)
        for y in np.linspace(y0, y1, grid.rows)
        for x in np.linspace(x0, x1, grid.columns)
    ]


def _fixtures(name: str, form: Form, poses: list[Pose]) -> list[Thing]:
    """The fixtures of all lamps, those of one surface joined: nobody moves or counts them one by one."""
    return [
        Thing(
            f"{name}/fixture_{number}",
            solid_meshes.join([solid_meshes.move(piece.mesh, pose) for pose in poses]),
            piece.surface,
        )
        for number, piece in enumerate(form.pieces, 1)
    ]
