"""Camera poses from which the surroundings of some thing look like a given context."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.geometry.poses import OPTICAL_ORIENTATION, Pose
from simjudge.questions.cover.label_sketch import LabelSketch
from simjudge.sim.capture.camera_poses import HEIGHTS, TILT

_FIRST_SHARE = 0.4
"""Share of the tries that are spread over all things and directions; the others are drawn around the best of those."""
_KEPT = (48, 32, 16, 10, 6, 4, 4)
"""Poses around which further ones are drawn, in each round."""
_AROUND_ONE = 2
"""Poses that see the same thing, of those kept, in the first half of the rounds: a good one may be behind others."""
_SHRINKING = 0.6
"""Steps of a round, as a share of those of the round before."""
_STEPS = (0.12, 0.12, 0.06, 0.12, 0.5, 0.5)
"""Standard deviations of the first steps: across the floor and upwards in distances to the thing, yaw in radians, pitch
and roll in spreads of random poses."""
_TILT_LIMIT = 3.0
"""Pitch and roll stay within as many spreads."""
_ENOUGH = 0.07
"""A sketch that is as much more similar than needed is not improved."""


@dataclass(frozen=True, repr=False, eq=False)
class SearchedContext(ShortRepr):
    """A context that is looked for.

    Attributes:
        planes: bool (h, w) by class id.
        box: (4,), the anchor's, pixels.
        size: width and height of its picture.
    """

    planes: Mapping[int, npt.NDArray[np.bool_]]
    class_id: int
    box: FloatArray
    size: tuple[int, int]


class SketchedPose(NamedTuple):
    """A pose that was found.

    Attributes:
        body: of the camera's body in the world, x ahead.
    """

    body: Pose
    similarity: float


class PoseSearch:
    """Searches for poses in one placed scene; heights and tilts are those that random poses may have."""

    def __init__(
        self, sketch: LabelSketch, mount: Pose, area: tuple[float, float, float, float], theta: float, seed: int
    ) -> None:
        """Take a scene.

        Args:
            mount: the optical frame above the floor, as a car carries it.
            area: x0, y0, x1, y1, metres, where cameras may stand.
        """
        self._sketch, self._area, self._theta = sketch, area, theta
        self._seed = seed
        _, self._pitch, self._roll = (mount @ Pose(orientation=OPTICAL_ORIENTATION).inverse()).angles()
        self._height = mount.position[2]

    def search(self, context: SearchedContext, number: int, tries: int, most: int) -> list[SketchedPose]:
        """Search for poses from which a context is seen.

        Returns:
            The most similar ones, best first, those around one thing at most half of them; none where the scene has no
            thing of the class.
        """
        things = np.flatnonzero(self._sketch.things.class_id == context.class_id)
        if not len(things) or not tries:
            return []
        random = np.random.default_rng((self._seed, number))
        first = max(int(_FIRST_SHARE * tries), 1)
        poses, anchors = self._spread(context, things, first, random)
        scores = self._similarity(poses, anchors, context)
        steps = np.array(_STEPS)
        for turn, kept in enumerate(_KEPT):
            best = _best_rows(scores, anchors, kept, _AROUND_ONE if turn < len(_KEPT) // 2 else kept)
            if scores[best[0]] >= min(self._theta + _ENOUGH, 1):
                break
            children = np.repeat(best, max((tries - first) // (len(_KEPT) * len(best)), 1))
            moved = self._moved(poses[children], anchors[children], steps, random)
            poses = np.concatenate([poses[best], moved])
            anchors = np.concatenate([anchors[best], anchors[children]])
            scores = np.concatenate([scores[best], self._similarity(moved, anchors[len(best) :], context)])
            steps = steps * _SHRINKING
        return self._best(poses, anchors, scores, most)

    def _best(self, poses: FloatArray, anchors: IntArray, scores: FloatArray, most: int) -> list[SketchedPose]:
        found: list[SketchedPose] = []
        for row in _best_rows(scores, anchors, most, max(most // 2, 1)).tolist():
            if scores[row] > 0:
                x, y, z, yaw, pitch, roll = poses[row].tolist()
                body = Pose.from_euler(x, y, z, yaw=yaw, pitch=pitch, roll=roll)
                found.append(SketchedPose(body, float(scores[row])))
        return found

    def _spread(
        self, context: SearchedContext, things: IntArray, count: int, random: np.random.Generator
    ) -> tuple[FloatArray, IntArray]:
        """Poses that see a thing of the class as large and in the same column as the context's anchor."""
        own, lens = self._sketch.things, self._sketch.lens
        anchors = things[random.integers(len(things), size=count)]
        x0, y0, x1, y1 = context.box
        scale = lens.size[1] / context.size[1]
        distance = lens.focal[1] * own.height[anchors] / max((y1 - y0) * scale, 1.0) * random.uniform(0.8, 1.25, count)
        column = (x0 + x1) / 2 * lens.size[0] / context.size[0]
        aside = math.atan((column - lens.centre[0]) / lens.focal[0])
        bearing = random.uniform(-math.pi, math.pi, count)
        centre = own.centre[anchors]
        return self._within(np.column_stack([
            centre[:, 0] - distance * np.cos(bearing), centre[:, 1] - distance * np.sin(bearing),
            self._height * random.uniform(*HEIGHTS, count) + self._floor(anchors),
            bearing + aside + random.normal(0, 0.05, count),
            self._pitch + random.normal(0, TILT[0], count), self._roll + random.normal(0, TILT[1], count),
        ]), anchors), anchors  # fmt: skip

    def _floor(self, anchors: IntArray) -> FloatArray:
        """Height of the floor, taken as that on which the thing stands, metres."""
        return np.asarray(self._sketch.things.points[anchors, :, 2].min(1))

    def _moved(
        self, poses: FloatArray, anchors: IntArray, steps: FloatArray, random: np.random.Generator
    ) -> FloatArray:
        """Poses nearby."""
        centre = self._sketch.things.centre[anchors]
        distance = np.linalg.norm(poses[:, :2] - centre[:, :2], axis=1)
        scale = np.column_stack([*[distance] * 3, np.ones(len(poses)), np.full(len(poses), TILT[0]),
                                 np.full(len(poses), TILT[1])])  # fmt: skip
        moved = poses + random.normal(0, 1, poses.shape) * steps * scale
        # The camera turns with its step, so that the thing stays in its column.
        before, after = (np.arctan2(*(centre[:, :2] - each[:, :2]).T[::-1]) for each in (poses, moved))
        moved[:, 3] += after - before
        return self._within(moved, anchors)

    def _within(self, poses: FloatArray, anchors: IntArray) -> FloatArray:
        """Poses that random poses might have too."""
        floor = self._floor(anchors)
        low, high = (self._height * factor + floor for factor in HEIGHTS)
        poses[:, 0] = np.clip(poses[:, 0], self._area[0], self._area[2])
        poses[:, 1] = np.clip(poses[:, 1], self._area[1], self._area[3])
        poses[:, 2] = np.clip(poses[:, 2], low, high)
        for column, middle, spread in ((4, self._pitch, TILT[0]), (5, self._roll, TILT[1])):
            poses[:, column] = np.clip(poses[:, column], middle - _TILT_LIMIT * spread, middle + _TILT_LIMIT * spread)
        return poses

    def _similarity(self, poses: FloatArray, anchors: IntArray, context: SearchedContext) -> FloatArray:
        optical = Rotation.from_euler("ZYX", poses[:, 3:]) * Rotation.from_quat(OPTICAL_ORIENTATION)
        return self._sketch.similarity(
            np.ascontiguousarray(optical.as_matrix()), np.ascontiguousarray(poses[:, :3]), anchors, context.planes
        )


def _best_rows(scores: FloatArray, anchors: IntArray, most: int, around_one: int) -> IntArray:
    """The rows of the highest scores, best first, at most some of the same anchor."""
    order = np.argsort(-scores, kind="stable")
    by_anchor = order[np.argsort(anchors[order], kind="stable")]
    starts = np.flatnonzero(np.diff(anchors[by_anchor], prepend=-1))
    place = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
    rank = np.empty(len(order), np.int64)
    rank[by_anchor] = place
    return order[rank[order] < around_one][:most]
