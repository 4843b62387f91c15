"""How much of a lidar's light comes back from where a ray meets a thing: by its triangle, and by its texture there.

Engines say which thing a ray hits and how far away. Where that thing is not the same all over, its triangles near the
hit are searched in its own frame at the ray's own time: so it is for every engine, and costs little.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.numba_cache import njit
from simjudge.geometry.keyframes import Keyframes, place_body
from simjudge.sim.engines.contract import BodyMotion, Hits
from simjudge.sim.engines.ray_search import DEPTH, grow_forest, make_ray, meet_triangle, search_thing
from simjudge.sim.scene.forms import as_lidars_meet_it, reflectance_map, thing_reflectance
from simjudge.sim.scene.model import Paint, Surface, Thing
from simjudge.sim.sensors.lidar.rays import LidarRays

_KEPT = 2  # Sets of things whose triangles and textures are kept
# A triangle is searched this far before and behind the hit, metres and share of the distance: engines may trace in
# float32.
_NEAR, _NEAR_SHARE = 1e-4, 1e-5
_SAME = 1e-8  # Metres, and share of the distance, within which a triangle is the one that was hit
_NEAREST = True  # What `search_thing` is asked for


class LidarLight:
    """The light that comes back from the things of an engine."""

    def __init__(self, things: tuple[Thing, ...]) -> None:
        # The row behind the last, index -1, is for rays that hit nothing.
        self._mean = np.array([*(thing_reflectance(thing) for thing in things), 0.0])
        varied = [index for index, thing in enumerate(things) if not _uniform(thing)]
        self._row = np.full(len(things) + 1, -1)
        self._row[varied] = np.arange(len(varied))
        self._things = [things[index] for index in varied]
        self._patches = _patches(self._things)

    def reflected(self, hits: Hits, rays: LidarRays, motion: BodyMotion) -> FloatArray:
        """The share of each ray's light that comes back: rho |n . d|, times a retro-reflector's gain; 0 for no hit."""
        shared = len(rays.origin) // len(rays.time)
        poses = self._keyframes(motion)
        out = np.zeros(len(hits.thing))
        _reflect(
            (rays.origin, rays.direction, rays.time, shared),
            tuple(hits),
            (self._mean, self._row),
            poses.arrays(),
            *self._patches,
            out,
        )
        return out

    def _keyframes(self, motion: BodyMotion) -> Keyframes:
        """Poses of the things that vary; those that the motion does not name stand where the scene has them."""
        given = motion.keyframes
        position = np.array([thing.pose.position for thing in self._things]).reshape(-1, 3)
        orientation = np.array([thing.pose.orientation for thing in self._things]).reshape(-1, 4)
        position, orientation = (np.repeat(array[None], len(given.time), 0) for array in (position, orientation))
        column = {name: index for index, name in enumerate(motion.names)}
        for row, thing in enumerate(self._things):
            if thing.name in column:
                position[:, row] = given.position[:, column[thing.name]]
                orientation[:, row] = given.orientation[:, column[thing.name]]
        return Keyframes(given.time, position, orientation)


@lru_cache(maxsize=_KEPT)
def lidar_light(things: tuple[Thing, ...]) -> LidarLight:
    """The light that comes back from things, made once for all lidars and frames that meet the same things."""
    return LidarLight(things)


def _paint(thing: Thing) -> Paint:
    return thing.paint or Paint((thing.surface,), np.zeros(len(thing.mesh.faces), np.int64))


def _uniform(thing: Thing) -> bool:
    """Whether a thing sends back the same share everywhere."""
    surface, *others = _paint(thing).surfaces
    plain = surface.reflectance is not None or surface.texture is None
    return plain and surface.retroreflection is None and not others


def _patches(things: Sequence[Thing]) -> tuple[Any, Any, Any]:
    """The trees over things' triangles; of each triangle the corners' places in its texture and its surface; surfaces.

    A surface is the first of its texels, their height and width; what a retro-reflector multiplies, from which cosine.
    """
    met = [as_lidars_meet_it(thing) for thing in things]
    forest = grow_forest([thing.mesh for thing in met])
    uv = np.concatenate([np.zeros((0, 3, 2)), *(thing.mesh.uv[thing.mesh.faces] for thing in met)])
    surfaces: dict[Surface, int] = {}
    numbers = [np.zeros(0, np.int64)]
    for thing in met:
        paint = _paint(thing)
        own = [surfaces.setdefault(surface, len(surfaces)) for surface in paint.surfaces]
        numbers.append(np.array(own, np.int64)[paint.of_face])
    maps = [reflectance_map(surface) for surface in surfaces]
    texels = np.concatenate([np.zeros(0, np.float32), *(image.ravel() for image in maps)])
    begin = np.cumsum([0, *(image.size for image in maps)])[:-1]
    size = np.array([image.shape for image in maps], np.int64).reshape(-1, 2)
    retro = [surface.retroreflection for surface in surfaces]
    factor = np.array([1.0 if kind is None else kind.factor for kind in retro])
    least_cosine = np.array([2.0 if kind is None else np.cos(kind.acceptance) for kind in retro])
    triangles = uv[forest.faces], np.concatenate(numbers)[forest.faces]
    return forest.below, triangles, (texels, begin.astype(np.int64), size, factor, least_cosine)


@njit(cache=True, nogil=True)
def _reflect(rays, hits, things, keyframes, below, triangles, surfaces, out):  # type: ignore[no-untyped-def]
    """Write what comes back along each ray; `things`: of each its mean, and its row among those that vary, or -1."""
    origins, directions, times, shared = rays
    distance, hit, normal = hits
    mean, row_of_thing = things
    boxes, links, roots, corners = below
    uv, surface_of = triangles
    texels, begin, size, factor, least_cosine = surfaces
    stack = np.empty(DEPTH, np.int64)
    # Each thing's pose at the time at which a ray met it last: things that rest are placed once.
    count = len(roots)
    rotations, positions, placed = np.empty((count, 3, 3)), np.empty((count, 3)), np.full(count, np.nan)
    moves = np.zeros(count, np.bool_)
    for row in range(count):
        for key in range(1, len(keyframes[0])):
            for k in range(3):
                moves[row] |= keyframes[1][key, row, k] != keyframes[1][0, row, k]
            for k in range(4):
                moves[row] |= keyframes[2][key, row, k] != keyframes[2][0, row, k]
    o, d = np.empty(3), np.empty(3)
    last = np.full(count, -1)
    for n in range(len(hit)):
        thing = hit[n]
        if thing < 0:
            continue
        cosine = 0.0
        for k in range(3):
            cosine += normal[n, k] * directions[n, k]
        cosine = abs(cosine)
        row = row_of_thing[thing]
        if row < 0:
            out[n] = mean[thing] * cosine
            continue
        time = times[n // shared]
        if placed[row] != time and (moves[row] or np.isnan(placed[row])):
            place_body(keyframes, row, time, rotations[row], positions[row])
            placed[row] = time
        near = _NEAR + _NEAR_SHARE * distance[n]
        start = distance[n] - near
        for k in range(3):
            o[k] = d[k] = 0.0
            for j in range(3):
                o[k] += rotations[row, j, k] * (origins[n, j] + start * directions[n, j] - positions[row, j])
                d[k] += rotations[row, j, k] * directions[n, j]
        ray = make_ray(o[0], o[1], o[2], d[0], d[1], d[2])
        # Neighbouring rays mostly meet the same triangle; where two lie within rounding, either is right.
        at, b1, b2 = last[row], 0.0, 0.0
        if at >= 0:
            far, b1, b2 = meet_triangle(corners, at, ray, 2 * near)
            if not abs(far - near) <= _SAME * (1 + distance[n]):
                at = -1
        if at < 0:
            _, at, b1, b2 = search_thing(boxes, links, roots[row], corners, ray, 2 * near, _NEAREST, stack)
            last[row] = at
        if at < 0:  # A ray that slips by an edge here, and did not where the engine searched, takes the thing's mean
            out[n] = mean[thing] * cosine
            continue
        surface = surface_of[at]
        height, width = size[surface]
        u = uv[at, 0, 0] + b1 * (uv[at, 1, 0] - uv[at, 0, 0]) + b2 * (uv[at, 2, 0] - uv[at, 0, 0])
        v = uv[at, 0, 1] + b1 * (uv[at, 1, 1] - uv[at, 0, 1]) + b2 * (uv[at, 2, 1] - uv[at, 0, 1])
        column = min(int((u - np.floor(u)) * width), width - 1)
        up = min(int((v - np.floor(v)) * height), height - 1)
        rho = texels[begin[surface] + (height - 1 - up) * width + column]
        gain = factor[surface] if cosine >= least_cosine[surface] else 1.0
        out[n] = rho * gain * cosine
