"""The light that rays see where samples on what stands say which lamps are in sight: see `light_samples`."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from simjudge.sim.engines.default.camera_rays import Spot
from simjudge.sim.engines.default.integrator import Integrator
from simjudge.sim.engines.default.light_samples import FACE, LIGHT, NO_SAMPLES, LightSamples
from simjudge.sim.engines.default.packed import Packed
from simjudge.sim.engines.default.surroundings import SunLight
from simjudge.sim.engines.default.tracer import Hit, Tracer

_ALL = 0x7FFFFFFF
"""A bit for each lamp that has one."""


class _Cell(NamedTuple):
    """The four samples around places.

    Attributes:
        weights: of the four, for what is in proportion between them.
    """

    known: Any
    rows: tuple[Any, Any, Any, Any]
    weights: tuple[Any, Any, Any, Any]


class BakedIntegrator(Integrator):
    """An integrator that asks samples before it traces.

    What a camera sees is lit lamp by lamp, and a way to a lamp is traced only where the samples around disagree. What
    is seen in a mirror, or throws light on, gets the samples' own light: without the gloss of single lamps.
    """

    def __init__(self, tracer: Tracer, packed: Packed) -> None:
        """Begin without samples."""
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
            self._t.table(each) for each in (samples.faces, samples.seen, samples.light)
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
        """The cell along a side, and the place within it."""
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
