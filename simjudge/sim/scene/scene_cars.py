"""The other cars of a scene: where they start, and the routes that they drive."""

from __future__ import annotations

import logging
import math
import re
from functools import cache
from pathlib import Path

import numpy as np
from scipy.signal import savgol_filter

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.documents import Location
from simjudge.core.errors import SimjudgeError
from simjudge.data.pose_text import read_trajectory
from simjudge.data.rosbag2.storage import is_recording
from simjudge.geometry.poses import Pose, Trajectory
from simjudge.sim.scene.course_progress import CourseProgress
from simjudge.sim.scene.forms import Forms
from simjudge.sim.scene.ground import Ground, build_line, offset_line, resample
from simjudge.sim.scene.model import NO_INSTANCE, STOPPED, CarRoute, Course, SceneCar, Thing
from simjudge.sim.scene.scene_fields import MOST_INSTANCES, named_vehicle
from simjudge.sim.scene.scene_file import CarDriveFields, SceneCarFields, SceneDocument

_log = logging.getLogger(__name__)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_AHEAD = 2000.0  # Metres of a line straight ahead
_STEP = 0.1  # Metres between the points of a recorded line, at least
_SMOOTH = 1.0  # Metres of a recorded line, at least, over which it is made smooth before another runs beside it
_POSES_AT_LEAST = 4  # Steps between poses, likewise
_AROUND = 0.1  # Seconds before and after a pose over which its speed is taken
_BACKWARDS = 0.1  # Share of a trajectory's length that may be driven backwards: noise of poses at rest
_MOST_TURNED = math.radians(135)  # Between where a car faces and where its line leads, at its start


def build_cars(
    document: SceneDocument, forms: Forms, course: Course | None, things: tuple[Thing, ...]
) -> tuple[SceneCar, ...]:
    """The other cars of a scene with a course and some things; labelled ones get the instance ids after these."""
    file, ground, cars = document.content, Ground.of(things), list[SceneCar]()
    following = 1 + max((thing.instance for thing in things), default=NO_INSTANCE)
    for name, fields in file.cars.items():
        location = ("cars", name)
        if not _NAME.fullmatch(name):
            message = "its topics are called so: letters, digits and underscores are needed, a letter first"
            raise document.error(location, message)
        class_id = forms.class_id(fields.class_, (*location, "class"))
        counted = forms.is_counted(class_id)
        if counted and following > MOST_INSTANCES:
            raise document.error(location, f"more than {MOST_INSTANCES} things with a class; place fewer")
        route, start = None, fields.pose()
        if fields.drive is not None:
            route = _route(document, fields.drive, course, start, (*location, "drive"))
        if route is not None:
            start = _start_on(document, route, fields, location) if fields.at is None else start
            _check_start(document, route, start, (*location, "start" if fields.at is None else "at"))
        instance = following if counted else NO_INSTANCE
        following += counted
        cars.append(
            SceneCar(
                name,
                named_vehicle(fields.vehicle or file.vehicle),
                ground.stand(start),
                route,
                fields.colour,
                class_id,
                instance,
            )
        )
    return tuple(cars)


def _start_on(document: SceneDocument, route: CarRoute, fields: SceneCarFields, location: Location) -> Pose:
    along = fields.start or 0.0
    if not along < route.length:
        raise document.error(
            (*location, "start"), f"{along:g} m is beyond its line, which is {route.length:.1f} m long"
        )
    return route.course.pose_at(along)


def _check_start(document: SceneDocument, route: CarRoute, start: Pose, location: Location) -> None:
    """Refuse a start from which a driver, who only drives ahead, would stand still or leave the line behind."""
    progress = CourseProgress(route.course)
    progress.locate(*start.position[:2])
    if not route.course.closed and progress.distance >= route.length - STOPPED:
        message = (
            f"this is {progress.distance:.1f} m along its line, which ends at {route.length:.1f} m: it would stand"
            " still; start before the end, or leave drive out to park it"
        )
        raise document.error(location, message)
    along = route.course.pose_at(progress.distance).angles()[0]
    turned = abs(math.remainder(start.angles()[0] - along, 2 * math.pi))
    if turned > _MOST_TURNED:
        message = (
            f"it faces {math.degrees(turned):.0f} degrees away from where its line leads here, and it only drives"
            f" ahead; give yaw: {round(math.degrees(along))}, or a line that leads the other way"
        )
        raise document.error(location, message)


def _route(
    document: SceneDocument, fields: CarDriveFields, course: Course | None, start: Pose, location: Location
) -> CarRoute:
    if fields.file is not None:
        return _recorded_route(document, fields, (*location, "file"))
    if fields.along == "ahead":
        x, y, _ = start.to_world([_AHEAD, 0.0, 0.0]).tolist()
        line, closed = resample(np.array([start.position[:2], (x, y)]), 1.0), False
    elif fields.path is not None:
        line, closed = build_line(document, fields.path, (*location, "path")), fields.path.closed
    elif course is not None:
        line, closed = course.centre_line, course.closed
    else:
        raise document.error((*location, "along"), "the scene has no course; give a path instead")
    course = _course(document, line, fields.left, (*location, "left"), closed=closed)
    speeds = [(0.0, 0.0), *fields.speeds] if fields.speeds is not None else [(0.0, fields.speed or 0.0)]
    return CarRoute(course, np.array(speeds))


def _course(
    document: SceneDocument, line: FloatArray, left: float, location: Location, *, closed: bool = False, over: int = 1
) -> Course:
    """The line beside a line, unless it runs back somewhere inside a bend: from a point to that so many further."""
    if not left:
        return Course(line, 0.0, closed=closed)
    beside = offset_line(line, left, closed=closed)
    way = line[over:] - line[:-over]
    least = float(np.min(np.sum((beside[over:] - beside[:-over]) * way, 1) / np.sum(way * way, 1)))
    if least <= 0:
        radius = abs(left) / (1 - least)
        message = f"{left:g} m is beyond the centre of the line's tightest bend; less than {radius:.2f} is needed"
        raise document.error(location, message)
    return Course(beside, 0.0, closed=closed)


def _smooth(line: FloatArray, span: float) -> tuple[FloatArray, int]:
    """A recorded line, evenly spaced, without noise: cubics over so many metres, twice; and half of their points."""
    half = min(round(span / _STEP / 2), (len(line) - 1) // 2)
    for _ in range(2 if half > 1 else 0):
        line = savgol_filter(line, 2 * half + 1, 3, axis=0)
    return line, max(half, 1)


def _recorded_route(document: SceneDocument, fields: CarDriveFields, location: Location) -> CarRoute:
    if fields.topic is not None and not is_recording(Path(str(fields.file))):
        raise document.error((*location[:-1], "topic"), f"{fields.file} is no recording, which has topics; remove it")
    try:
        trajectory, losses = read_trajectory(str(fields.file), fields.topic)
    except SimjudgeError as error:
        raise document.error(location, str(error)) from error
    for lost in losses.lines():
        _say_left_out(str(fields.file), lost)
    if not trajectory.is_timed:
        raise document.error(location, f"{fields.file} has no times; a trajectory with stamps is needed")
    flat = trajectory.position[:, :2]
    kept = _points_apart(flat)
    if len(kept) < 2:
        raise document.error(location, f"{fields.file} does not move; leave drive out, and give at")
    steps = np.diff(flat[kept], axis=0)
    lengths = np.linalg.norm(steps, axis=1)
    backwards = lengths[np.einsum("ij,ij->i", steps, _ahead(trajectory)[kept[:-1]]) < 0].sum() / lengths.sum()
    if backwards > _BACKWARDS:
        message = f"{fields.file} goes backwards for {100 * backwards:.0f} % of its way; these drivers only drive ahead"
        raise document.error(location, message)
    line = resample(flat[kept], _STEP)
    beside, half = line, 1
    if fields.left:  # far from a line, noise of its direction is large
        beside, half = _smooth(line, max(_SMOOTH, _POSES_AT_LEAST * float(np.median(lengths)), abs(fields.left)))
    course = _course(document, beside, fields.left, (*location[:-1], "left"), over=half)
    ends = np.concatenate([[0.0], np.cumsum(lengths)])
    piece = np.clip(np.searchsorted(kept, np.arange(len(flat)), side="right") - 1, 0, len(steps) - 1)
    share = np.einsum("ij,ij->i", flat - flat[kept[piece]], steps[piece]) / lengths[piece] ** 2
    recorded = np.maximum.accumulate(ends[piece] + np.clip(share, 0.0, 1.0) * lengths[piece])
    # Metres of the line that is driven, which is longer or shorter beside the recorded one.
    driven = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(course.centre_line, axis=0), axis=1))])
    along = np.interp(recorded, np.linspace(0.0, ends[-1], len(line)), driven)
    time = (trajectory.stamp - trajectory.stamp[0]) / 1e9
    before, after = np.maximum(time - _AROUND, 0.0), np.minimum(time + _AROUND, time[-1])
    speed = (np.interp(after, time, along) - np.interp(before, time, along)) / (after - before)
    return CarRoute(course, np.zeros((1, 2)), np.stack([time, along, speed], 1))


@cache  # a scene is read many times
def _say_left_out(file: str, lost: str) -> None:
    """Say what cannot be used of a recorded trajectory, once in a process."""
    _log.warning("cars: %s: left out: %s", file, lost)


def _points_apart(positions: FloatArray) -> IntArray:
    """Which positions make the line: each a step from the one before, so that noise adds no length; and the last."""
    kept = [0]
    for row, position in enumerate(positions):
        if np.hypot(*(position - positions[kept[-1]])) >= _STEP:
            kept.append(row)
    if len(kept) > 1:
        kept[-1] = len(positions) - 1
    return np.array(kept)


def _ahead(trajectory: Trajectory) -> FloatArray:
    """The direction of the x axis from above at each pose, (N, 2)."""
    x, y, z, w = trajectory.orientation.T
    return np.stack([1 - 2 * (y * y + z * z), 2 * (x * y + w * z)], 1)
