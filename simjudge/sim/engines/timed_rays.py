"""Rays that start at different times, against things some of which move meanwhile: what a turning lidar needs.

What rests is searched by whatever the engine searches with. What moves is searched here, each ray in each thing's own
frame at the ray's own time: no pose is rounded to a common instant.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
from numba import njit

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import UsageError
from simjudge.geometry.keyframes import Keyframes, place_body
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.bvh import DEPTH, enters, grow, grow_forest, make_ray, search_thing
from simjudge.sim.engines.contract import STANDING, BodyMotion, Hits
from simjudge.sim.scene.model import Thing

_NEAREST = True
"""What `search_thing` is asked for."""
_BATCH = 1 << 13
"""Rays that one thread searches at a time."""

CastResting = Callable[[FloatArray, FloatArray], Hits]
"""From origins and directions (N, 3) to the first hits among what rests, with its index among all things."""
PlaceResting = Callable[[Sequence[int], Sequence[Pose | None]], None]
"""Puts things, by their indices, where they rest during the next rays, or takes away (None) those that move."""


class TimedRays:
    """Casts timed rays at the things of a scene."""

    def __init__(
        self, things: Sequence[Thing], cast_resting: CastResting, place_resting: PlaceResting | None = None
    ) -> None:
        """Take the things, where the scene has them.

        Args:
            place_resting: says to it what rests where; None: it knows only those whose motion is "static".
        """
        self._cast_resting, self._place_resting = cast_resting, place_resting
        self._index = {thing.name: index for index, thing in enumerate(things)}
        self._movable = [index for index, thing in enumerate(things) if thing.motion != "static"]
        self._row = {things[index].name: row for row, index in enumerate(self._movable)}
        movable = [things[index] for index in self._movable]
        self._position = np.array([thing.pose.position for thing in movable]).reshape(-1, 3)
        self._orientation = np.array([thing.pose.orientation for thing in movable]).reshape(-1, 4)
        self._resting = np.hstack([self._position, self._orientation])
        self._below = grow_forest([thing.mesh for thing in movable]).below
        # A sphere about its origin holds a thing however it is turned.
        vertices = [thing.mesh.vertices for thing in movable]
        self._radius = np.array([np.linalg.norm(each, axis=1).max(initial=0.0) for each in vertices])

    def cast(
        self, origins: FloatArray, directions: FloatArray, times: FloatArray, motion: BodyMotion = STANDING
    ) -> Hits:
        """What rays hit first, each at its own time.

        Args:
            origins, directions: (N, 3), world, metres and unit.
            times: (N,), or (N / S,) where S rays in a row share each; seconds, on the clock of the motion's keyframes.
        """
        keyframes = self._all_keyframes(motion)
        moving = self._moving(keyframes)
        hits = self._cast_resting(origins, directions)
        if not len(moving) or not len(origins):
            return hits
        margin = self._radius[moving, None] * (1 + 1e-9)
        low = keyframes.position[:, moving].min(0) - margin
        high = keyframes.position[:, moving].max(0) + margin
        top = grow(low, high)
        top = top._replace(order=moving[top.order])
        shared = len(origins) // len(times)
        work = (tuple(top), self._below, keyframes.arrays(), np.array(self._movable, np.int64))

        def search(begin: int) -> None:
            rows = slice(begin, begin + _BATCH)
            _search_timed(
                origins[rows], directions[rows], times, shared, begin, *work,
                hits.distance[rows], hits.thing[rows], hits.normal[rows],
            )  # fmt: skip

        begins = range(0, len(origins), _BATCH)
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            list(pool.map(search, begins))
        return hits

    def _all_keyframes(self, motion: BodyMotion) -> Keyframes:
        """Poses of everything that can move, in the order of `self._movable`."""
        unknown = [name for name in motion.names if name not in self._row]
        if unknown:
            what = "stands for ever" if unknown[0] in self._index else "is not in the scene"
            raise UsageError(f"body {unknown[0]!r} {what}: it cannot move")
        given, rows = motion.keyframes, [self._row[name] for name in motion.names]
        position = np.repeat(self._position[None], len(given.time), 0)
        orientation = np.repeat(self._orientation[None], len(given.time), 0)
        position[:, rows], orientation[:, rows] = given.position, given.orientation
        return Keyframes(given.time, position, orientation)

    def _moving(self, keyframes: Keyframes) -> npt.NDArray[np.int64]:
        """Rows of what is searched here; all else is put where it rests."""
        if self._place_resting is None:
            return np.arange(len(self._movable))
        poses = np.concatenate([keyframes.position, keyframes.orientation], 2)
        moves = (poses != poses[0]).any((0, 2))
        resting = np.where(moves[:, None], np.nan, poses[0])
        changed = np.flatnonzero(((resting != self._resting) & ~(np.isnan(resting) & np.isnan(self._resting))).any(1))
        if len(changed):
            self._resting = resting
            self._place_resting(
                [self._movable[row] for row in changed], [_pose(resting[row].tolist()) for row in changed]
            )
        return np.flatnonzero(moves)


def _pose(numbers: Sequence[float]) -> Pose | None:
    """Position and orientation as a pose; None where they are NaN."""
    x, y, z, qx, qy, qz, qw = numbers
    return None if math.isnan(x) else Pose((x, y, z), (qx, qy, qz, qw))


@njit(cache=True, nogil=True)
def _search_timed(  # type: ignore[no-untyped-def]
    origins, directions, times, shared, begin, top, below, keyframes, numbers, distance, hit, normal
):
    """Put whatever moves and is nearer than `distance` into distance, hit and normal."""
    top_boxes, top_links, order = top
    boxes, links, roots, corners = below
    stack, stack_below = np.empty(DEPTH, np.int64), np.empty(DEPTH, np.int64)
    rotation, position = np.empty((3, 3)), np.empty(3)
    o, d = np.empty(3), np.empty(3)
    for n in range(len(origins)):
        u, v, w = directions[n, 0], directions[n, 1], directions[n, 2]
        ray = make_ray(origins[n, 0], origins[n, 1], origins[n, 2], u, v, w)
        best = distance[n]
        stack[0], waiting = 0, 1
        while waiting:
            waiting -= 1
            node = stack[waiting]
            if not enters(top_boxes, node, ray, best):
                continue
            first, count = top_links[node, 0], top_links[node, 1]
            if count == 0:
                stack[waiting], stack[waiting + 1] = first, first + 1
                waiting += 2
            for at in range(first, first + count):
                thing = order[at]
                place_body(keyframes, thing, times[(begin + n) // shared], rotation, position)
                for k in range(3):
                    o[k] = d[k] = 0.0
                    for j in range(3):
                        o[k] += rotation[j, k] * (origins[n, j] - position[j])
                        d[k] += rotation[j, k] * directions[n, j]
                there = make_ray(o[0], o[1], o[2], d[0], d[1], d[2])
                found, row, _, _ = search_thing(boxes, links, roots[thing], corners, there, best, _NEAREST, stack_below)
                if row < 0:
                    continue
                best = distance[n] = found
                hit[n] = numbers[thing]
                side, other = corners[row, 1], corners[row, 2]
                x = side[1] * other[2] - side[2] * other[1]
                y = side[2] * other[0] - side[0] * other[2]
                z = side[0] * other[1] - side[1] * other[0]
                length = max(np.sqrt(x * x + y * y + z * z), 1e-300)
                for k in range(3):
                    normal[n, k] = (rotation[k, 0] * x + rotation[k, 1] * y + rotation[k, 2] * z) / length
