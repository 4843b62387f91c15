"""Engine `baked`: the default engine, quicker in closed loops, with the light of what stands found once.

A face has a grid of samples along two of its sides. What all four samples around a place agree on is taken to hold
there, too: a shadow thinner than the grid may be missed, nothing else. Things that move all the time, the car, are
looked through: their shadows are traced in each picture.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import SceneState
from simjudge.sim.engines.default import shading
from simjudge.sim.engines.default.default_engine import DefaultEngine
from simjudge.sim.engines.default.integrator import Integrator
from simjudge.sim.engines.default.light import Light
from simjudge.sim.engines.default.lookups import OFFSET, SunLight
from simjudge.sim.engines.default.packed import Floats, Integers, Packed
from simjudge.sim.engines.default.tracer import Hit, Spot, Tracer
from simjudge.sim.engines.ray_times import TimedExposure
from simjudge.sim.scene.model import Thing
from simjudge.sim.sensors.camera.lens import Lens


class BakedEngine(DefaultEngine):
    """The default engine but for its light: see docs/concepts/light_model.md, "Baked light"."""

    name = "baked"

    @property
    def variant(self) -> str:
        """What it runs on, for people."""
        return f"{super().variant}, baked light"

    def twin_pictures(
        self, lens: Lens, scene_state: SceneState, rays_per_pixel: int
    ) -> Iterator[tuple[str, npt.NDArray[np.float32]]]:
        """What else shows the same picture: the default engine."""
        default = DefaultEngine(self.scene)
        yield default.name, default.render(lens, [scene_state], rays_per_pixel)
        default.close()

    def _make_light(self) -> Light:
        return BakedLight(self.scene, self._car)


SPACING = 0.03  # Metres between samples, at most, unless they would be too many
MOST = 3_000_000  # Samples, about, at most
LAMPS = 31  # Lamps that a sample has a bit for; the light of others is always traced
FACE = 4  # Numbers in a row of `SampleGrid.faces`
LIGHT = 4  # Numbers in a row of `LightSamples.light`
_INSET = 1e-3  # Metres that samples are moved towards their face's middle: on its edge they might be in another surface


@dataclass(frozen=True, eq=False, repr=False)
class SampleGrid(ShortRepr):
    """Places on faces."""

    # int32 (F, 4), of every face of every thing: its first sample, the steps along two of its sides (0: it has no
    # samples), and the corner where these meet.
    faces: Integers
    point: Floats  # float32 (N, 3), world, off the surface
    normal: Floats  # float32 (N, 3), the smooth normal, outward, unit, world
    facet: Floats  # float32 (N, 3), the face's own


@dataclass(frozen=True, eq=False, repr=False)
class LightSamples(ShortRepr):
    """What is known of the light at samples."""

    faces: Integers  # as of `SampleGrid`
    seen: Integers  # int32 (N, 1): bit i is set where nothing that stands hides lamp i
    light: Floats  # float32 (N, 4): irradiance by all lamps and the sun, red, green, blue, on the smooth normal's side


# Nothing is known of any face.
NO_SAMPLES = LightSamples(np.zeros((1, FACE), np.int32), np.zeros((1, 1), np.int32), np.zeros((1, LIGHT), np.float32))


def lay_samples(things: Sequence[Thing], poses: Sequence[Pose], stands: Sequence[bool]) -> SampleGrid:
    """Lay a grid on every face of what stands."""
    spacing = SPACING
    steps = [_steps(thing, spacing) for thing in things]
    count = sum(
        int(((step[:, 0] + 1) * (step[:, 1] + 1)).sum()) for step, still in zip(steps, stands, strict=True) if still
    )
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
    point, normal, facet = (column.astype(np.float32) for column in stacked or [np.zeros((0, 3))] * 3)
    return SampleGrid(np.concatenate([np.zeros((0, FACE)), *faces]).astype(np.int32), point, normal, facet)


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
    """Find which lamps each sample sees, and the light that falls on it (lamps (L, 8), as of `Packed.lamps`)."""
    count = len(grid.point)
    if not count:
        return NO_SAMPLES
    parts = [slice(first, first + tracer.wavefront) for first in range(0, count, tracer.wavefront)]

    def work(part: slice) -> tuple[Integers, Floats]:
        return _light_of(tracer, grid, part, lamps, sun)

    found = tracer.follow(work, parts)
    return LightSamples(
        grid.faces, np.concatenate([samples[0] for samples in found]), np.concatenate([e[1] for e in found])
    )


def _light_of(
    tracer: Tracer, grid: SampleGrid, part: slice, lamps: Floats, sun: SunLight | None
) -> tuple[Integers, Floats]:
    t: Any = tracer
    off, normal, facet = (t.given(column[part]) for column in (grid.point, grid.normal, grid.facet))
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


_ALL = 0x7FFFFFFF  # A bit for each lamp that has one


class _Cell(NamedTuple):
    """The four samples around places."""

    known: Any
    rows: tuple[Any, Any, Any, Any]
    weights: tuple[Any, Any, Any, Any]  # of the four, for what is in proportion between them


class BakedIntegrator(Integrator):
    """An integrator that asks samples before it traces.

    What a camera sees is lit lamp by lamp, and a way to a lamp is traced only where the samples around disagree. What
    is seen in a mirror, or throws light on, gets the samples' own light: without the gloss of single lamps.
    """

    def __init__(self, tracer: Tracer, packed: Packed) -> None:
        super().__init__(tracer, packed)
        self.set_samples(NO_SAMPLES)

    @property
    def sun(self) -> SunLight | None:
        """The sun on the tracer."""
        return self._surroundings.sun

    def set_samples(self, samples: LightSamples) -> None:
        """Set what is known of the light, now that things stand as they do."""
        self._known = samples is not NO_SAMPLES
        self._faces, self._seen_lamps, self._light_at = (
            self._t.table(column) for column in (samples.faces, samples.seen, samples.light)
        )

    def _cell(self, hit: Hit, front: Any) -> _Cell:
        t = self._t
        active = hit.valid & front
        first, across, down, corner = t.row(self._faces, hit.face, FACE, active)
        known = active & (across > 0)
        b0 = 1 - hit.b1 - hit.b2
        s = t.select(corner == 0, hit.b1, t.select(corner == 1, hit.b2, b0))
        u = t.select(corner == 0, hit.b2, t.select(corner == 1, b0, hit.b1))
        i, x = self._step(s, across)
        j, y = self._step(u, down)
        row = t.select(known, first + j * (across + 1) + i, 0)
        below = t.select(known, row + across + 1, 0)
        right = t.select(known, 1, 0)
        weights = ((1 - x) * (1 - y), x * (1 - y), (1 - x) * y, x * y)
        return _Cell(known, (row, row + right, below, below + right), weights)

    def _step(self, part: Any, steps: Any) -> tuple[Any, Any]:
        t = self._t
        at = t.xp.minimum(t.xp.maximum(part, 0.0), 1.0) * t.decimal(steps)
        cell = t.xp.maximum(t.xp.minimum(t.whole(at), steps - 1), 0)
        return cell, at - t.decimal(cell)

    def _known_sight(self, spot: Spot) -> tuple[Any, Any]:
        if not self._known:
            return 0, None
        t, cell = self._t, self._cell(spot.hit, spot.front)
        a, b, c, d = (t.row(self._seen_lamps, row, 1, cell.known)[0] for row in cell.rows)
        return t.select(cell.known, a & b & c & d, 0), t.select(cell.known, ~(a | b | c | d) & _ALL, 0)

    def _lit(self, hit: Hit, start: Any, direction: Any, footprint: Any) -> tuple[Spot, Any, Any]:
        if not self._known:
            return super()._lit(hit, start, direction, footprint)
        t, spot = self._t, self._spot(hit, start, direction, footprint)
        n_v = t.dot(spot.normal, spot.view)
        a, b, left, lost = self._table(spot.row, n_v)
        reflected = spot.f0 * a + b + spot.base * left + spot.metal * lost
        cell = self._cell(spot.hit, spot.front)
        light = t.vector([0.0, 0.0, 0.0])
        for row, weight in zip(cell.rows, cell.weights, strict=True):
            sample = t.row(self._light_at, row, LIGHT, cell.known)
            light = light + t.vector([sample[0], sample[1], sample[2]]) * weight
        rest = spot._replace(valid=spot.valid & ~cell.known)
        traced = self._direct(rest, n_v, left, lost, together=False)
        sent = t.select(cell.known, light * reflected * (1 / math.pi), traced)
        sent = sent if spot.emitted is None else sent + spot.emitted
        return spot, sent, reflected


class BakedLight(Light):
    """See `simjudge.sim.engines.default.light.Light`.

    When something moves that stood, a cone that is touched, all ways are traced until it has stood for long again.
    """

    _integrator_kind = BakedIntegrator
    _integrator: BakedIntegrator
    _seen_before = False

    def render_timed(self, lens: Lens, exposure: TimedExposure, rays_per_pixel: int) -> npt.NDArray[np.float32]:
        """Linear RGB radiance (H, W, 3), each ray at its own time; see `ray_times.EngineWithRayTimes`."""
        self._count_rays(lens.size[0] * lens.size[1] * rays_per_pixel)
        return super().render_timed(lens, exposure, rays_per_pixel)

    def _count_rays(self, rays: int) -> None:
        if not self._seen_before:
            self._seen_before = self._judged = True
            self._judge_sight()
        super()._count_rays(rays)

    def _forget_sight(self) -> None:
        self._integrator.set_samples(NO_SAMPLES)

    def _judge_sight(self) -> None:
        if not len(self._lamps):
            return
        grid = lay_samples(self._things, self._at, self._stands)
        sun = self._integrator.sun
        self._integrator.set_samples(find_light(self._tracer, grid, self._packed_lamps, sun))
