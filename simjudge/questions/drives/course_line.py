"""Lines that drives are measured against: points at even distances, heading, curvature and length."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter1d

from simjudge.core.arrays import BoolArray, FloatArray
from simjudge.core.display import ShortRepr
from simjudge.sim.driving.course import follow_line, lane_classes
from simjudge.sim.scene.model import Course, Scene

SPACING = 0.05
"""Metres between the points of a line."""
_SMOOTH = 0.3
"""Metres: standard deviation of the window that a mean line is smoothed by."""


def smoothed(values: FloatArray, *, closed: bool) -> FloatArray:
    """Values along a line, smoothed over 0.3 m; of a closed line the last one is the first.

    Args:
        values: (N, ...), at each of its points.
    """
    if not closed:
        return np.asarray(gaussian_filter1d(values, _SMOOTH / SPACING, axis=0, mode="nearest"))
    smooth = gaussian_filter1d(values[:-1], _SMOOTH / SPACING, axis=0, mode="wrap")
    return np.concatenate([smooth, smooth[:1]])


def fine_line(course: Course) -> Course:
    """A course with points SPACING apart."""
    points = np.asarray(course.centre_line, np.float64)
    return Course(resampled(points, closed=course.closed), course.width, course.closed)


def on_course(course: Course, distance: FloatArray) -> BoolArray:
    """Whether distances lie between start and finish; on a closed course all do.

    Args:
        distance: metres along it.
    """
    inside: BoolArray = (distance >= 0) & (distance <= line_length(course)) | course.closed
    return inside


def line_heading(course: Course) -> FloatArray:
    """Heading of the line at each of its points, radians, continuous."""
    points = course.centre_line
    if course.closed:
        step = np.roll(points[:-1], -1, 0) - np.roll(points[:-1], 1, 0)
        step = np.concatenate([step, step[:1]])
    else:
        step = np.gradient(points, axis=0)
    return np.unwrap(np.arctan2(step[:, 1], step[:, 0]))


def line_curvature(course: Course) -> FloatArray:
    """Curvature of the line at each of its points, 1/m, left positive, smoothed as a mean line is."""
    heading = line_heading(course)
    if course.closed:
        # One turn more or less from the last point to the first.
        step = np.diff(heading)
        return smoothed(np.concatenate([step, step[:1]]) / SPACING, closed=True)
    return smoothed(np.gradient(heading, SPACING), closed=False)


def line_length(course: Course) -> float:
    """Metres from its start to its finish, or of a lap."""
    return float(np.linalg.norm(np.diff(course.centre_line, axis=0), axis=1).sum())


def resampled(points: FloatArray, *, closed: bool) -> FloatArray:
    """Points SPACING apart, about: a whole number of equal steps.

    Args:
        points: (N, 2), metres.
    """
    step = np.linalg.norm(np.diff(points, axis=0), axis=1)
    points = points[np.concatenate([[True], step > 1e-9])]
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    if not along[-1] > 0:
        return points
    count = max(1, round(float(along[-1]) / SPACING))
    wanted = np.linspace(0.0, along[-1], count + 1)
    out = np.stack([np.interp(wanted, along, axis) for axis in points.T], 1)
    if closed:
        out[-1] = out[0]
    return out


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
    """The cones of a scene, measured along its course. Its class says on which side of the lane a cone stands."""
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
        starts: (W,), metres along the course.
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
