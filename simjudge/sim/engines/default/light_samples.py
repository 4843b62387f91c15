"""Samples of light on what stands: which lamps each place of every face sees, found once for many pictures.

A face has a grid of samples along two of its sides. What all four samples around a place agree on is taken to hold
there, too: a shadow thinner than the grid may be missed, nothing else. Things that move all the time, the car, are
looked through: their shadows are traced in each picture.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.default import shading
from simjudge.sim.engines.default.glass import OFFSET
from simjudge.sim.engines.default.packed import Floats, Integers
from simjudge.sim.engines.default.surroundings import SunLight
from simjudge.sim.engines.default.tracer import Tracer
from simjudge.sim.scene.model import Thing

SPACING = 0.03
"""Metres between samples, at most, unless they would be too many."""
MOST = 3_000_000
"""Samples, about, at most."""
LAMPS = 31
"""Lamps that a sample has a bit for; the light of others is always traced."""
FACE = 4
"""Numbers in a row of `SampleGrid.faces`."""
LIGHT = 4
"""Numbers in a row of `LightSamples.light`."""
_INSET = 1e-3
"""Metres that samples are moved towards their face's middle: on its edge they might be in another surface."""


@dataclass(frozen=True, eq=False, repr=False)
class SampleGrid(ShortRepr):
    """Places on faces.

    Attributes:
        faces: int32 (F, 4), of every face of every thing: its first sample, the steps along two of its sides (0: it has
            no samples), and the corner where these meet.
        point: float32 (N, 3), world, off the surface.
        normal: float32 (N, 3), the smooth normal, outward, unit, world.
        facet: float32 (N, 3), the face's own.
    """

    faces: Integers
    point: Floats
    normal: Floats
    facet: Floats


@dataclass(frozen=True, eq=False, repr=False)
class LightSamples(ShortRepr):
    """What is known of the light at samples.

    Attributes:
        faces: as of `SampleGrid`.
        seen: int32 (N, 1): bit i is set where nothing that stands hides lamp i.
        light: float32 (N, 4): irradiance by all lamps and the sun, red, green, blue, on the smooth normal's side.
    """

    faces: Integers
    seen: Integers
    light: Floats


NO_SAMPLES = LightSamples(np.zeros((1, FACE), np.int32), np.zeros((1, 1), np.int32), np.zeros((1, LIGHT), np.float32))
"""Nothing is known of any face."""


def lay_samples(things: Sequence[Thing], poses: Sequence[Pose], stands: Sequence[bool]) -> SampleGrid:
    """Lay a grid on every face of what stands."""
    spacing = SPACING
    steps = [_steps(thing, spacing) for thing in things]
    count = sum(_count(each) for each, still in zip(steps, stands, strict=True) if still)
    if count > MOST:
        spacing *= math.sqrt(count / MOST)
        steps = [_steps(thing, spacing) for thing in things]
    faces, parts, first = [], [], 0
    for thing, pose, still, of_thing in zip(things, poses, stands, steps, strict=True):
        rows = np.zeros((len(thing.mesh.faces), FACE), np.int64)
        if still:
            samples = (of_thing[:, 0] + 1) * (of_thing[:, 1] + 1)
            rows[:, 0] = first + np.cumsum(samples) - samples
            rows[:, 1:] = of_thing
            first += int(samples.sum())
            parts.append(_samples_of(thing, pose, of_thing, samples))
        faces.append(rows)
    stacked = [np.concatenate([np.zeros((0, 3)), *column]) for column in zip(*parts, strict=True)] if parts else []
    point, normal, facet = (each.astype(np.float32) for each in stacked or [np.zeros((0, 3))] * 3)
    return SampleGrid(np.concatenate([np.zeros((0, FACE)), *faces]).astype(np.int32), point, normal, facet)


def _count(steps: IntArray) -> int:
    return int(((steps[:, 0] + 1) * (steps[:, 1] + 1)).sum())


def _steps(thing: Thing, spacing: float) -> IntArray:
    """Of each face the steps along two sides, and the corner where these meet, which makes them fewest: (F, 3)."""
    corners = thing.mesh.vertices[thing.mesh.faces]
    sides = np.linalg.norm(np.roll(corners, -1, axis=1) - corners, axis=2)
    along = np.maximum(np.ceil(sides / spacing), 1)
    # From corner k the sides go to k + 1 and to k + 2.
    first, second = along, np.roll(along, 1, axis=1)
    corner = np.argmin((first + 1) * (second + 1), axis=1)
    row = np.arange(len(corners))
    return np.stack([first[row, corner], second[row, corner], corner], 1).astype(np.int64)


def _samples_of(
    thing: Thing, pose: Pose, steps: IntArray, samples: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Points off the surface, smooth normals and the faces' own of all samples of a thing, in the world."""
    face = np.repeat(np.arange(len(steps)), samples)
    number = np.arange(len(face)) - np.repeat(np.cumsum(samples) - samples, samples)
    across, down = steps[face, 0], steps[face, 1]
    s, u = number % (across + 1) / across, number // (across + 1) / down
    # What lies beyond the third side is brought onto it.
    beyond = np.maximum(s + u, 1)
    weights = np.stack([1 - (s + u) / beyond, s / beyond, u / beyond], 1)
    order = (steps[face, 2][:, None] + np.arange(3)) % 3
    corners = thing.mesh.faces[face[:, None], order]
    point = np.einsum("nk,nkd->nd", weights, thing.mesh.vertices[corners])
    inward = thing.mesh.vertices[corners].mean(1) - point
    length = np.linalg.norm(inward, axis=1, keepdims=True)
    point = point + inward * np.minimum(_INSET / np.maximum(length, 1e-12), 0.5)
    turn = pose.rotation_matrix()
    normal = _unit(np.einsum("nk,nkd->nd", weights, thing.mesh.normals[corners])) @ turn.T
    a, b, c = (thing.mesh.vertices[thing.mesh.faces[:, k]] for k in range(3))
    facet = (_unit(np.cross(b - a, c - a)) @ turn.T)[face]
    world = pose.to_world(point)
    return world + facet * (OFFSET * (1 + np.abs(world).max(1, keepdims=True, initial=0.0))), normal, facet


def _unit(vectors: FloatArray) -> FloatArray:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-30))


def find_light(tracer: Tracer, grid: SampleGrid, lamps: Floats, sun: SunLight | None) -> LightSamples:
    """Find which lamps each sample sees, and the light that falls on it.

    Args:
        lamps: (L, 8), as of `Packed.lamps`.
        sun: of the scene; None for none.
    """
    count = len(grid.point)
    if not count:
        return NO_SAMPLES
    parts = [slice(first, first + tracer.wavefront) for first in range(0, count, tracer.wavefront)]

    def work(part: slice) -> tuple[Integers, Floats]:
        return _light_of(tracer, grid, part, lamps, sun)

    found = tracer.follow(work, parts)
    return LightSamples(grid.faces, np.concatenate([each[0] for each in found]), np.concatenate([e[1] for e in found]))


def _light_of(
    tracer: Tracer, grid: SampleGrid, part: slice, lamps: Floats, sun: SunLight | None
) -> tuple[Integers, Floats]:
    t: Any = tracer
    off, normal, facet = (t.given(each[part]) for each in (grid.point, grid.normal, grid.facet))
    rows = len(grid.point[part])
    seen, light = np.zeros((rows, 1), np.int32), np.zeros((rows, LIGHT), np.float32)
    for number, lamp in enumerate(lamps):
        place = t.same(lamp.tolist())
        there = t.vector(place[:3]) - off
        square = t.dot(there, there)
        distance = t.xp.sqrt(square)
        direction = there / distance
        asked = (t.dot(facet, direction) > 0) & (distance < place[3])
        hidden = t.hidden(off, direction, distance, asked)
        n_l = t.dot(normal, direction)
        window = shading.lamp_window(t.xp, distance * place[7])
        strength = t.select(asked & ~hidden & (n_l > 0), n_l / square * window, 0.0)
        blocked, part_of = t.host(t.select(hidden, 1.0, 0.0), strength)
        if number < LAMPS:
            seen[:, 0] |= np.where(np.ravel(blocked) > 0, 0, 1 << number).astype(np.int32)
        light[:, :3] += np.ravel(part_of)[:, None] * lamp[4:7]
    if sun is not None:
        n_l = t.dot(normal, sun.direction)
        asked = (n_l > 0) & (t.dot(facet, sun.direction) > 0)
        hidden = t.hidden(off, sun.direction, sun.distance, asked)
        shone = t.host(t.select(asked & ~hidden, sun.irradiance * n_l, 0.0))[0]
        light[:, :3] += shone
    return seen, light
