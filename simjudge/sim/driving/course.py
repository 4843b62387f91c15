"""A car on its course: how far along and beside the line, what the lane is, and how near it comes to things."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from scipy.spatial import ConvexHull

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import SimjudgeError
from simjudge.geometry.poses import Pose
from simjudge.sim.driving.cones import ConeShape
from simjudge.sim.engines.contract import Engine
from simjudge.sim.scene.course_progress import CourseProgress
from simjudge.sim.scene.model import NO_INSTANCE, Course, Scene, Thing
from simjudge.sim.vehicle.vehicle import PARTS

_LANE_REACH = 1.3  # Things count as the lane's cones up to this many half widths of the lane beside its line
_START_STREAM = 0x57A27  # Separates the random numbers of the start from others with the same seed
_MOST_SIGMAS = 2.0  # Errors of the start are cut off at this many standard deviations


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
        corners = np.concatenate([thing.pose.to_world(thing.mesh.vertices) for thing in things])
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
    """Pose of base_link at the start: the line's first point; with a seed a little off it, anywhere on a closed one."""
    if seed is None:
        return course.start()
    random = np.random.default_rng((seed, _START_STREAM))
    across, heading = np.clip(random.normal(size=2), -_MOST_SIGMAS, _MOST_SIGMAS) * (offset, angle)
    start = course.pose_at(random.uniform(0.0, CourseProgress(course).length)) if course.closed else course.start()
    return start @ Pose.from_euler(0.0, float(across), yaw=float(heading))


_HEAD_ROOM = 0.5  # Metres: things that begin above are in no car's way


class Clearance:
    """The distance between a car's outline and those of labelled static things, and the least so far.

    Attributes:
        least: metres, 0 where they meet; infinite before the first update, or where nothing labelled stands fast.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        standing = [thing for thing in engine.scene.things if _stands(thing)]
        self._outlines = [_outline(thing.pose.to_world(thing.mesh.vertices)) for thing in standing]
        self._centres = np.array([outline.mean(0) for outline in self._outlines]).reshape(-1, 2)
        radii = [np.linalg.norm(o - c, axis=1).max() for o, c in zip(self._outlines, self._centres, strict=True)]
        self._radii = np.array(radii)
        self._parts: Mapping[str, FloatArray] = {
            thing.name: thing.mesh.vertices[ConvexHull(thing.mesh.vertices).vertices]
            for thing in engine.things
            if thing.name in PARTS
        }
        self.least = math.inf

    def update(self) -> None:
        """Take note of where the car is now."""
        if not self._outlines:
            return
        poses = self._engine.poses()
        car = _outline(np.concatenate([poses[name].to_world(mesh) for name, mesh in self._parts.items()]))
        inside = np.all(_beyond(car, self._centres) <= 0, axis=0)
        at_least = np.where(inside, 0.0, _side_distances(self._centres, car)) - self._radii
        for row in np.flatnonzero(at_least < self.least):
            self.least = min(self.least, outline_distance(car, self._outlines[row]))


def outline_distance(one: FloatArray, other: FloatArray) -> float:
    """The distance between two convex outlines (M, 2), counter-clockwise, in metres; 0 where they overlap."""
    # Two convex outlines are apart if and only if a side of one of them has the whole other beyond it.
    if not any(np.any(_beyond(a, b).min(1) > 0) for a, b in ((one, other), (other, one))):
        return 0.0
    return float(min(_side_distances(one, other).min(), _side_distances(other, one).min()))


def _beyond(outline: FloatArray, points: FloatArray) -> FloatArray:
    """How far points are beyond each side of an outline (sides, points), in any unit above 0."""
    sides = np.roll(outline, -1, 0) - outline
    away = points[None] - outline[:, None]
    out: FloatArray = sides[:, None, 1] * away[..., 0] - sides[:, None, 0] * away[..., 1]
    return out


def _side_distances(points: FloatArray, outline: FloatArray) -> FloatArray:
    """The distance of each point to the nearest side of an outline."""
    sides = np.roll(outline, -1, 0) - outline
    away = points[:, None] - outline
    share = np.clip(np.einsum("psk,sk->ps", away, sides) / np.einsum("sk,sk->s", sides, sides), 0.0, 1.0)
    distance: FloatArray = np.linalg.norm(away - share[..., None] * sides, axis=2).min(1)
    return distance


def _stands(thing: Thing) -> bool:
    solid = thing.motion == "static" and thing.instance != NO_INSTANCE and thing.collider.kind != "none"
    return solid and bool(thing.pose.to_world(thing.mesh.vertices)[:, 2].min() < _HEAD_ROOM)


def _outline(vertices: FloatArray) -> FloatArray:
    """The convex hull of vertices seen from above, counter-clockwise: (N, 2)."""
    flat = vertices[:, :2]
    corners: FloatArray = flat[ConvexHull(flat).vertices]
    return corners
