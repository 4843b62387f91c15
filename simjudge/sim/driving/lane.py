"""What a scene says about the lane: which class stands on which side, how large cones are, and where the car starts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from simjudge.core.errors import SimjudgeError
from simjudge.geometry.poses import Pose
from simjudge.sim.driving.cones import ConeShape
from simjudge.sim.driving.course_progress import CourseProgress
from simjudge.sim.scene.model import Course, Scene, Thing

_LANE_REACH = 1.3
"""Things count as the lane's cones up to this many half widths of the lane beside its line."""
_START_STREAM = 0x57A27
"""Separates the random numbers of the start from others with the same seed."""
_MOST_SIGMAS = 2.0
"""Errors of the start are cut off at this many standard deviations."""


class LaneClasses(NamedTuple):
    """Class ids of the cones on either side of the lane."""

    right: int
    left: int


def scene_course(scene: Scene) -> Course:
    """The scene's course."""
    if scene.course is None:
        raise SimjudgeError(f"{scene.path or scene.name}: has no course to drive; give it a placement along a path")
    return scene.course


def lane_classes(scene: Scene) -> LaneClasses:
    """The classes that stand to the right and to the left of the course."""
    counts: tuple[Counter[int], Counter[int]] = (Counter(), Counter())
    for thing, offset in _lane_things(scene):
        counts[offset > 0][thing.class_id] += 1
    best = [max(count, key=lambda number: (count[number], -number), default=None) for count in counts]
    if None in best or best[0] == best[1]:
        raise SimjudgeError(
            f"{scene.path or scene.name}: cannot be driven by cones: things of one class to the right of its course"
            " and of another to the left are needed; between barriers a car drives by its lidar (driver lidar)"
        )
    return LaneClasses(int(best[0] or 0), int(best[1] or 0))


def lane_cones(scene: Scene, classes: LaneClasses) -> ConeShape:
    """The shape of the cones beside the course: the median of their own, to a millimetre."""
    parts: dict[int, list[Thing]] = {}
    for thing, _ in _lane_things(scene):
        if thing.class_id in classes:
            parts.setdefault(thing.instance, []).append(thing)
    sizes = []
    for things in parts.values():
        corners = np.concatenate([each.pose.to_world(each.mesh.vertices) for each in things])
        sizes.append(np.ptp(things[0].pose.to_body(corners), axis=0))
    length, width, height = np.median(sizes, axis=0)
    return ConeShape(radius=round(float(length + width) / 4, 3), height=round(float(height), 3))


def _lane_things(scene: Scene) -> Iterator[tuple[Thing, float]]:
    """What stands at the edges of the lane, and how far to the left of its line, metres."""
    course = scene_course(scene)
    for thing in scene.labelled():
        x, y = thing.pose.position[:2]
        progress = CourseProgress(course)
        progress.locate(x, y)
        if abs(progress.offset) <= _LANE_REACH * course.width / 2:
            yield thing, progress.offset


def start_pose(course: Course, seed: int | None, offset: float = 0.06, angle: float = 0.05) -> Pose:
    """Pose of the car's base_link at the start: at the line's first point, or, with a seed, a little off it.

    On a closed course a seed puts the car anywhere along the line.

    Args:
        seed: seed of the place and the errors; None for neither.
        offset: standard deviation across the line, metres; twice that at most.
        angle: standard deviation of the heading, radians; twice that at most.
    """
    if seed is None:
        return course.start()
    random = np.random.default_rng((seed, _START_STREAM))
    across, heading = np.clip(random.normal(size=2), -_MOST_SIGMAS, _MOST_SIGMAS) * (offset, angle)
    start = course.pose_at(random.uniform(0.0, CourseProgress(course).length)) if course.closed else course.start()
    return start @ Pose.from_euler(0.0, float(across), yaw=float(heading))
