"""Where the next cones stand, seen from the start of each stretch of a course."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.display import ShortRepr
from simjudge.driving.lane import lane_classes
from simjudge.driving.line_following import follow_line
from simjudge.questions.drives.course_line import line_length
from simjudge.scene.model import Course, Scene

NO_CONE = 1e6
"""Metres, ahead and aside, of a cone that is not there: similar to nothing but another that is not there."""
COORDINATES = 4
"""Numbers for each cone that is asked for: ahead and aside of the left one, ahead and aside of the right one."""


@dataclass(frozen=True, eq=False, repr=False)
class LaneCones(ShortRepr):
    """The cones on either side of a course.

    Attributes:
        left, right: float64 (C, 2), metres along the course and metres beside it (left positive), by the first.
    """

    left: FloatArray
    right: FloatArray


def lane_cones(scene: Scene, course: Course) -> LaneCones:
    """The cones of a scene, measured along its course. Its class says on which side of the lane a cone stands.

    Args:
        scene: with a course between cones of two classes.
        course: the line of it.

    Raises:
        SimjudgeError: no class is typical for a side.
    """
    classes = lane_classes(scene)
    sides = []
    for class_id in (classes.left, classes.right):
        places = [thing.pose.position[:2] for thing in scene.labelled() if thing.class_id == class_id]
        # Each by itself: a line is followed from one position to the next.
        found = [follow_line(course, np.array([place], np.float64)) for place in places]
        side = np.array([(along[0], aside[0]) for along, aside in found], np.float64).reshape(-1, 2)
        sides.append(side[np.argsort(side[:, 0], kind="stable")])
    return LaneCones(sides[0], sides[1])


def next_cones(course: Course, cones: LaneCones, starts: FloatArray, count: int, reach: float) -> FloatArray:
    """The next cones on the left and on the right of each start.

    Args:
        course: the line; on a closed one cones come again in the next lap.
        cones: along it.
        starts: (W,), metres along the course.
        count: how many cones of each side.
        reach: metres ahead within which a cone is seen.

    Returns:
        float64 (W, COORDINATES count): for each cone, nearest first, metres ahead of the start and metres beside the
        line, left positive; of the left side, then of the right. NO_CONE twice where there is none within reach.
    """
    length, out = line_length(course), np.full((len(starts), 2, count, 2), NO_CONE)
    for side, held in enumerate((cones.left, cones.right)):
        ahead = held[:, 0] - starts[:, np.newaxis]
        if course.closed:
            ahead %= length
        seen = (ahead >= 0) & (ahead <= reach)
        order = np.argsort(np.where(seen, ahead, np.inf), axis=1, kind="stable")[:, :count]
        there = np.take_along_axis(seen, order, 1)
        places = np.stack([np.take_along_axis(ahead, order, 1), held[order, 1]], 2)
        out[:, side, : order.shape[1]] = np.where(there[..., np.newaxis], places, NO_CONE)
    return out.transpose(0, 2, 1, 3).reshape(len(starts), COORDINATES * count)
