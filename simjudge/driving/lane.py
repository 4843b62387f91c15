"""What a scene says about the lane: which class stands on which side, and where the car starts."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from simjudge.core.errors import SimjudgeError
from simjudge.driving.progress import Progress
from simjudge.geometry.poses import Pose
from simjudge.scene.model import Course, Scene

_BEYOND = 1.3
"""Half widths of the lane beside its line within which things count as its cones."""


class Sides(NamedTuple):
    """Class ids of what stands on either side."""

    right: int
    left: int


def course_of(scene: Scene) -> Course:
    """The scene's course.

    Raises:
        SimjudgeError: it has none.
    """
    if scene.course is None:
        raise SimjudgeError(f"{scene.path or scene.name}: has no course to drive; give it a placement along a path")
    return scene.course


def sides_of(scene: Scene) -> Sides:
    """Which classes stand to the right and to the left of the course.

    Raises:
        SimjudgeError: there is no course, or no class is typical for a side.
    """
    course = course_of(scene)
    counts: tuple[Counter[int], Counter[int]] = (Counter(), Counter())
    for thing in scene.labelled():
        x, y = thing.pose.position[:2]
        progress = Progress(course)
        progress.anywhere(x, y)
        if abs(progress.beside) <= _BEYOND * course.width / 2:
            counts[progress.beside > 0][thing.class_id] += 1
    best = [max(count, key=lambda number: (count[number], -number), default=None) for count in counts]
    if None in best or best[0] == best[1]:
        raise SimjudgeError(
            f"{scene.path or scene.name}: cannot be driven: things of one class to the right of its course and of"
            " another to the left are needed"
        )
    return Sides(int(best[0] or 0), int(best[1] or 0))


def start_of(course: Course, seed: int | None, offset: float = 0.06, angle: float = 0.05) -> Pose:
    """Where the car starts: at the line's first point, or, with a seed, a little beside it and askew.

    Args:
        course: where it drives.
        seed: of the errors; None for none.
        offset: standard deviation across the line, metres; twice that at most.
        angle: standard deviation of the heading, radians; twice that at most.
    """
    if seed is None:
        return course.start()
    drawn = np.clip(np.random.default_rng((seed, 0x57A27)).normal(size=2), -2, 2) * (offset, angle)
    return course.start() @ Pose.from_euler(0.0, float(drawn[0]), yaw=float(drawn[1]))
