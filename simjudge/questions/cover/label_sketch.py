"""A fast estimate of a picture's labels around one thing, to try poses by the thousand.

A thing's box is that of some of its outermost points. Things that are nearly behind another one's box are left out.
What the estimate finds is looked at again with the labels of the rendering, see `label_view`.
"""
# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.core.numba_cache import njit
from simjudge.geometry.poses import Pose
from simjudge.sim.scene.model import Scene
from simjudge.sim.sensors.camera.lens import Lens

_POINTS = 40
"""Outermost points of a thing."""
_SLOPES, _STEEPEST = 512, math.tan(math.radians(80))
"""Slopes at which a lens's map is sampled."""
_NEAREST = 0.02
"""Metres along the axis: a thing with a point nearer than this has no box."""
_HIDDEN = 0.85
"""A thing of whose box nearer boxes cover this share is left out."""


@dataclass(frozen=True, repr=False, eq=False)
class SketchedThings(ShortRepr):
    """The counted things of a placed scene."""

    points: FloatArray  # float64 (T, V, 3), outermost points in the world, metres
    class_id: IntArray  # int64 (T,)
    height: FloatArray  # float64 (T,), metres
    centre: FloatArray  # float64 (T, 3), metres

    def __len__(self) -> int:
        """The number of things."""
        return len(self.class_id)

    @classmethod
    def of_scene(cls, scene: Scene, bodies: Mapping[str, Pose], class_ids: Mapping[int, int]) -> SketchedThings:
        """Take the counted things of a scene."""
        parts: dict[int, list[FloatArray]] = {}
        kind: dict[int, int] = {}
        for thing in scene.labelled():
            pose = bodies.get(thing.name, thing.pose)
            parts.setdefault(thing.instance, []).append(pose.to_world(thing.mesh.vertices))
            kind[thing.instance] = class_ids.get(thing.class_id, thing.class_id)
        directions = _directions(_POINTS)
        points = np.zeros((len(parts), _POINTS, 3))
        for row, vertices in enumerate(parts.values()):
            every = np.concatenate(vertices)
            points[row] = every[np.argmax(every @ directions.T, axis=0)]
        low, high = points.min(1), points.max(1)
        return cls(points, np.array(list(kind.values()), np.int64), (high - low)[:, 2], (low + high) / 2)


class LabelSketch:
    """How similar the surroundings of a thing look, from many poses, to a context."""

    def __init__(self, things: SketchedThings, lens: Lens, min_size: float) -> None:
        """Take things and lens. `min_size`: boxes narrower or lower are left out, pixels."""
        self.things, self.lens = things, lens
        slopes = np.linspace(0, _STEEPEST, _SLOPES)
        radius = lens.radius(slopes) if lens.is_round else slopes
        ratio = np.divide(radius, slopes, out=np.ones(_SLOPES), where=slopes > 0)
        self._ratio = np.where(np.isfinite(ratio), ratio, np.nan)
        self._min_size = float(min_size)

    def similarity(
        self,
        rotations: FloatArray,
        positions: FloatArray,
        anchors: IntArray,
        target: Mapping[int, npt.NDArray[np.bool_]],
    ) -> FloatArray:
        """Similarity of the patch around a thing to a context, as sketched.

        `rotations`: float64 (P, 3, 3), optical frame to world; `positions`: float64 (P, 3), of the optical frame,
        metres; `anchors`: int64 (P,), the thing around which the patch is cut; `target`: the context's planes, bool (h,
        w), by class id, as `Contexts.planes` gives them; returns float64 (P,); 0 where the thing has no box.
        """
        classes = sorted({*target, *self.things.class_id.tolist()})
        shape = next(iter(target.values())).shape
        planes = np.zeros((len(classes), *shape), np.bool_)
        for number, class_id in enumerate(classes):
            if class_id in target:
                planes[number] = target[class_id]
        plane = np.searchsorted(classes, self.things.class_id)
        focal, centre = np.array(self.lens.focal, np.float64), np.array(self.lens.centre, np.float64)
        size = np.array(self.lens.size, np.int64)
        return np.asarray(
            _similarities(
                rotations,
                positions,
                anchors,
                self.things.points,
                plane,
                planes,
                focal,
                centre,
                size,
                self._ratio,
                self._min_size,
            )
        )


def _directions(count: int) -> FloatArray:
    """Unit vectors spread evenly in all directions (Fibonacci's lattice), (N, 3)."""
    number = np.arange(count) + 0.5
    z, azimuth = 1 - 2 * number / count, math.pi * (1 + math.sqrt(5)) * number
    across = np.sqrt(1 - z * z)
    return np.stack([across * np.cos(azimuth), across * np.sin(azimuth), z], 1)


@njit(cache=True, nogil=True)
def _box(rotation, position, points, focal, centre, ratio, box):
    """The box around a thing's points, not clipped; out: first column and row, end column and row. Its depth, or -1."""
    low_x, low_y, high_x, high_y, depth = np.inf, np.inf, -np.inf, -np.inf, 0.0
    for k in range(len(points)):
        d0, d1, d2 = points[k, 0] - position[0], points[k, 1] - position[1], points[k, 2] - position[2]
        z = d0 * rotation[0, 2] + d1 * rotation[1, 2] + d2 * rotation[2, 2]
        if z < _NEAREST:
            return -1.0
        x = (d0 * rotation[0, 0] + d1 * rotation[1, 0] + d2 * rotation[2, 0]) / z
        y = (d0 * rotation[0, 1] + d1 * rotation[1, 1] + d2 * rotation[2, 1]) / z
        at = math.sqrt(x * x + y * y) / _STEEPEST * (_SLOPES - 1)
        if at >= _SLOPES - 1:
            return -1.0
        i = int(at)
        bent = ratio[i] + (at - i) * (ratio[i + 1] - ratio[i])
        if not math.isfinite(bent):
            return -1.0
        u, v = centre[0] + focal[0] * x * bent, centre[1] + focal[1] * y * bent
        low_x, high_x, low_y, high_y = min(low_x, u), max(high_x, u), min(low_y, v), max(high_y, v)
        depth += z
    box[0], box[1] = math.ceil(low_x), math.ceil(low_y)
    box[2], box[3] = math.floor(high_x) + 1, math.floor(high_y) + 1
    return depth / len(points)


@njit(cache=True, nogil=True)
def _boxes(rotation, position, points, focal, centre, size, ratio, min_size, boxes, depths):
    """Boxes of all things, clipped to the picture; a depth of -1 where a thing has none."""
    for t in range(len(points)):
        depths[t] = _box(rotation, position, points[t], focal, centre, ratio, boxes[t])
        if depths[t] < 0:
            continue
        boxes[t, 0], boxes[t, 1] = max(boxes[t, 0], 0), max(boxes[t, 1], 0)
        boxes[t, 2], boxes[t, 3] = min(boxes[t, 2], size[0]), min(boxes[t, 3], size[1])
        if min(boxes[t, 2] - boxes[t, 0], boxes[t, 3] - boxes[t, 1]) < max(min_size, 1):
            depths[t] = -1.0


@njit(cache=True, nogil=True)
def _is_hidden(boxes, depths, t):
    """Whether boxes of nearer things cover nearly all of a thing's."""
    area, covered = (boxes[t, 2] - boxes[t, 0]) * (boxes[t, 3] - boxes[t, 1]), 0
    for other in range(len(depths)):
        if 0 <= depths[other] < depths[t]:
            width = min(boxes[t, 2], boxes[other, 2]) - max(boxes[t, 0], boxes[other, 0])
            height = min(boxes[t, 3], boxes[other, 3]) - max(boxes[t, 1], boxes[other, 1])
            if width > 0 and height > 0:
                covered += width * height
    return covered >= _HIDDEN * area


@njit(cache=True, nogil=True)
def _similarities(rotations, positions, anchors, points, plane, planes, focal, centre, size, ratio, min_size):
    """The similarity for each pose."""
    count, things, (_, height, width) = len(positions), len(points), planes.shape
    out, boxes, depths = np.zeros(count), np.zeros((things, 4), np.int64), np.zeros(things)
    painted = np.zeros(planes.shape, np.bool_)
    whole = np.count_nonzero(planes)
    for p in range(count):
        _boxes(rotations[p], positions[p], points, focal, centre, size, ratio, min_size, boxes, depths)
        a = anchors[p]
        if depths[a] < 0 or _is_hidden(boxes, depths, a):
            continue
        left, top = (boxes[a, 0] + boxes[a, 2] - width) // 2, (boxes[a, 1] + boxes[a, 3] - height) // 2
        painted[:] = False
        area, inter = 0, 0
        for t in range(things):
            if depths[t] < 0:
                continue
            x0, x1 = max(boxes[t, 0] - left, 0), min(boxes[t, 2] - left, width)
            y0, y1 = max(boxes[t, 1] - top, 0), min(boxes[t, 3] - top, height)
            if x0 >= x1 or y0 >= y1 or _is_hidden(boxes, depths, t):
                continue
            for y in range(y0, y1):
                for x in range(x0, x1):
                    if not painted[plane[t], y, x]:
                        painted[plane[t], y, x] = True
                        area += 1
                        inter += planes[plane[t], y, x]
        out[p] = inter / (area + whole - inter)
    return out
