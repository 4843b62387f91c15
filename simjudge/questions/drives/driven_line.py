"""A drive measured along a line (how far along, beside, turned, how fast), and cut into stretches of the course."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.ndimage import gaussian_filter1d
from scipy.spatial import cKDTree

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.data.drive_logs import DriveLog
from simjudge.questions.drives.settings import METRICS
from simjudge.sim.driving.course import lane_classes
from simjudge.sim.scene.course_progress import follow_line
from simjudge.sim.scene.model import Course, Scene

SPACING = 0.05
"""Metres between the points of a line."""
_SMOOTH = 0.3
"""Metres: standard deviation of the window that a mean line is smoothed by."""


def smoothed(values: FloatArray, *, closed: bool) -> FloatArray:
    """Values along a line, smoothed over 0.3 m; of a closed line the last one is the first.

    `values`: (N, ...), at each of its points.
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
    """Whether distances lie between start and finish; on a closed course all do. `distance`: metres along it."""
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
    """Points SPACING apart, about: a whole number of equal steps. `points`: (N, 2), metres."""
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
    """The cones on either side of a course."""

    # left, right: float64 (C, 2), metres along the course and metres beside it (left positive), by the first
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

    `starts`: (W,), metres along the course; `reach`: metres ahead within which a cone is seen; returns float64 (W,
    COORDINATES count): for each cone, nearest first, metres ahead of the start and metres beside the line, left
    positive; of the left side, then of the right. NO_CONE twice where there is none within reach.
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


FARTHEST_ASIDE = 10.0
"""Metres beside the line from which on a car does not drive along it."""
_NEAR = 1.0
"""Metres farther than the nearest one that a part of the line may be away to be the one that a car drives along."""
_STEP = 1.0
"""Metres between positions, at most, with which a car is followed along the line."""
_BACK = 1.0
"""Metres that a car may roll back before it is said that it drives against the course."""


@dataclass(frozen=True, eq=False, repr=False)
class DrivenLine(ShortRepr):
    """A drive by distance along the course, every SPACING metres.

    Where the drive has a hole, jumps or leaves the course, points are missing; after it they may begin farther back.
    """

    # float64 (G,), metres along the course, whole multiples of SPACING; on a closed course from lap to lap
    distance: FloatArray
    # float64 (G, 3), lateral error in metres (left positive), heading error in degrees, speed in m/s
    values: FloatArray
    position: FloatArray  # float64 (G, 2), x and y, metres
    # float64 (G,), how much the steering has changed in all up to there; NaN where it is not known
    steering: FloatArray

    def parts(self) -> list[slice]:
        """Its unbroken parts."""
        broken = np.rint(np.diff(self.distance) / SPACING) != 1
        ends = [0, *(np.flatnonzero(broken) + 1).tolist(), len(self.distance)]
        return [slice(first, last) for first, last in pairwise(ends) if last > first]


def driven_line(course: Course, drive: DriveLog, losses: Losses | None = None) -> DrivenLine:
    """Measure a drive along a line, each unbroken piece by itself."""
    losses = Losses() if losses is None else losses
    tree, length = cKDTree(course.centre_line), line_length(course)
    rows, begin = [np.empty((0, 7))], -np.inf
    for piece in drive.pieces():
        away, _ = tree.query(piece.position)
        for part in _runs(piece, away <= FARTHEST_ASIDE, losses):
            distance, lateral = _followed(course, part)
            if course.closed and np.isfinite(begin):
                distance = distance + length * max(0.0, np.ceil((begin - _BACK - distance[0]) / length))
            begin = float(distance.max())
            back = np.maximum.accumulate(distance) - distance
            if back.max() > _BACK:
                losses.add(
                    "parts of drives against the direction of the course",
                    f"{drive.name}: {back.max():.1f} m up to {part.time[back.argmax()]:.3f} s",
                )
            found = _on_grid(course, part, distance, lateral)
            # What the driver did in a hole is not known; what he did before it is not done once more.
            found[:, 6] += rows[-1][-1, 6] if len(rows[-1]) else 0.0
            rows.append(found)
    table = np.concatenate(rows)
    return DrivenLine(table[:, 0], table[:, 1:4], table[:, 4:6], table[:, 6])


def _runs(piece: DriveLog, near: BoolArray, losses: Losses) -> list[DriveLog]:
    """The parts of a piece that are near the line."""
    if not near.all():
        losses.add(
            f"instants more than {FARTHEST_ASIDE:g} m beside the course",
            f"{piece.name} at {piece.time[~near][0]:.3f} s",
            int((~near).sum()),
        )
    ends = np.flatnonzero(np.diff(near)) + 1
    runs = np.split(np.arange(len(near)), ends)
    return [piece[rows] for rows in runs if near[rows[0]] and len(rows) > 1]


def _followed(course: Course, drive: DriveLog) -> tuple[FloatArray, FloatArray]:
    """Metres along the line and beside it. Where the line passes itself, the heading tells where the car begins."""
    heading, first = line_heading(course), drive.position[0]
    away = np.linalg.norm(course.centre_line - first, axis=1)
    there = np.flatnonzero((away <= away.min() + _NEAR) & (np.cos(heading - drive.yaw[0]) > 0))
    point = int(there[away[there].argmin()]) if len(there) else int(away.argmin())
    start = point / (len(heading) - 1) * line_length(course)
    # A car is sought a few metres around its last place: no two positions may be farther apart.
    step = np.linalg.norm(np.diff(drive.position, axis=0), axis=1)
    row = np.concatenate([[0], np.cumsum(np.maximum(1, np.ceil(step / _STEP)).astype(np.int64))])
    fine = np.interp(np.arange(row[-1] + 1), row, np.arange(len(drive)))
    path = np.stack([np.interp(fine, np.arange(len(drive)), axis) for axis in drive.position.T], 1)
    distance, lateral = follow_line(course, path, start)
    return distance[row], lateral[row]


def _on_grid(course: Course, drive: DriveLog, distance: FloatArray, lateral: FloatArray) -> FloatArray:
    """Distance, lateral and heading error, speed, x, y and steering effort so far, at whole multiples of SPACING."""
    length, heading = line_length(course), line_heading(course)
    place = distance % length if course.closed else distance
    way = np.interp(place, np.linspace(0.0, length, len(heading)), heading)
    error = np.degrees((drive.yaw - way + np.pi) % (2 * np.pi) - np.pi)
    effort = _effort(drive.steering)
    # Where the car stands or rolls back, the first instant at a distance counts.
    ahead = np.flatnonzero(distance > np.maximum.accumulate(np.concatenate([[-np.inf], distance[:-1]])))
    grid = np.arange(np.ceil(distance[ahead[0]] / SPACING), np.floor(distance[ahead[-1]] / SPACING) + 1) * SPACING
    columns = (lateral, error, drive.speed, drive.position[:, 0], drive.position[:, 1], effort)
    return np.stack([grid, *(np.interp(grid, distance[ahead], values[ahead]) for values in columns)], 1)


def _effort(steering: FloatArray) -> FloatArray:
    """How much the steering has changed in all. A command holds until the next; before the first nothing changes."""
    known = np.isfinite(steering)
    if not known.any():
        return np.full(len(steering), np.nan)
    last = np.maximum.accumulate(np.where(known, np.arange(len(steering)), -1))
    held = np.where(last >= 0, steering[last], steering[known.argmax()])
    return np.concatenate([[0.0], np.cumsum(np.abs(np.diff(held)))])


_ROUNDS = 3
"""Times that the line is moved by the mean offset."""
_AWAY = 3.0
"""A drive is in laps if it comes back to its start after it was this many times as far away as it comes near."""
_NEAR_LINE = 1.0
"""Metres to its start at which a drive has come back, heading the same way."""
_TURN = np.pi / 3
"""Radians by which its heading may then differ."""
_THIN = 0.2
"""Metres between the positions that a first guess is made of."""
_GUESSES = 8
"""Longest pieces that are tried as first guesses."""
_ENOUGH = 0.8
"""Share of all metres driven along a guess from which no other is tried."""


def mean_line(drives: Sequence[DriveLog]) -> Course:
    """The mean line of several drives of one course, in which each passage of a place weighs alike.

    So no drive is nearer to the line than another by construction, whichever side it is of and however many drives that
    side has. The piece or lap along which most of the drives run is the first guess; their mean offset moves it.
    """
    points, closed = _first_guess(drives)
    for turn in range(_ROUNDS):
        course = Course(points, 0.0, closed)
        offset, heading = _mean_offset(course, drives), line_heading(course)
        # First the line itself is smoothed, so that nothing of the guess stays; what this moves inwards in bends comes
        # back with the next offsets.
        offset = offset if turn == 0 else smoothed(offset, closed=closed)
        moved = points + offset[:, np.newaxis] * np.stack([-np.sin(heading), np.cos(heading)], 1)
        moved = smoothed(moved, closed=closed) if turn == 0 else moved
        if closed:
            moved[-1] = moved[0]
        points = resampled(moved, closed=closed)
    return Course(points, 0.0, closed)


def _first_guess(drives: Sequence[DriveLog]) -> tuple[FloatArray, bool]:
    """The piece or lap along which most metres are driven in its direction; and whether it is a lap."""
    pieces = [piece for drive in drives for piece in drive.pieces()]
    thinned = [_thinned(piece.position) for piece in pieces]
    metres = [float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum()) for points, _ in thinned]
    best, most = None, 0
    for number in sorted(range(len(pieces)), key=lambda k: -metres[k])[:_GUESSES]:
        lap, closed = _first_lap(pieces[number][thinned[number][1]])
        points = smoothed(resampled(lap, closed=closed), closed=closed)
        if len(points) < 4:
            continue
        course = Course(points, 0.0, closed)
        along = sum(int(on_course(course, driven_line(course, drive).distance).sum()) for drive in drives)
        if along > most:
            best, most = (points, closed), along
        if most * SPACING >= _ENOUGH * sum(metres):
            break
    if best is None:
        raise SimjudgeError(
            f"{drives[0].name}: moves less than {4 * SPACING:.1f} m, as all drives do; a line cannot be made of them"
        )
    return best


def _thinned(points: FloatArray) -> tuple[FloatArray, IntArray]:
    """Points at least _THIN apart, so that noise where a car stands makes no line; and their rows."""
    places = points.tolist()
    rows = [0]
    for row, place in enumerate(places):
        if math.dist(place, places[rows[-1]]) >= _THIN:
            rows.append(row)
    return points[rows], np.array(rows)


def _mean_offset(course: Course, drives: Sequence[DriveLog]) -> FloatArray:
    """Mean offset of all drives at each point of a line, metres; interpolated where nobody drove."""
    # By distance driven and not by time: a slow drive, or one recorded more often, weighs no more.
    lines = [driven_line(course, drive) for drive in drives]
    distance = np.concatenate([line.distance for line in lines])
    offset = np.concatenate([line.values[:, 0] for line in lines])
    length, last = line_length(course), len(course.centre_line) - 1
    kept = on_course(course, distance)
    place = distance[kept] % length if course.closed else distance[kept]
    point = np.rint(place / length * last).astype(np.int64)
    total, count = np.bincount(point, offset[kept], last + 1), np.bincount(point, minlength=last + 1)
    if course.closed:
        total[0], count[0] = total[0] + total[-1], count[0] + count[-1]
        total[-1], count[-1] = total[0], count[0]
    known = np.flatnonzero(count)
    return np.interp(np.arange(last + 1), known, total[known] / count[known])


def _first_lap(drive: DriveLog) -> tuple[FloatArray, bool]:
    """The positions of a drive up to where it comes back to its start; and whether it does."""
    away = np.linalg.norm(drive.position - drive.position[0], axis=1)
    left = np.flatnonzero(away > _AWAY * _NEAR_LINE)
    if not len(left):
        return drive.position, False
    turned = np.abs((drive.yaw - drive.yaw[0] + np.pi) % (2 * np.pi) - np.pi)
    back = np.flatnonzero((away < _NEAR_LINE) & (turned < _TURN))
    back = back[back > left[0]]
    if not len(back):
        return drive.position, False
    # The first visit's nearest instant.
    visit = back[: np.argmax(np.append(np.diff(back) > 1, True)) + 1]
    end = int(visit[np.argmin(away[visit])])
    return np.concatenate([drive.position[: end + 1], drive.position[:1]]), True


AHEAD = 3
"""Stretches whose curvature is the context: the window's own, and those that the driver sees ahead."""


@dataclass(frozen=True, eq=False, repr=False)
class DriveWindows(ShortRepr):
    """The windows of several drives: N in all."""

    drive: IntArray  # int64 (N,), the drive of each
    window: IntArray  # int64 (N,), number along the course from its start, on from lap to lap
    place: FloatArray  # float64 (N,), metres along the course, or lap, to the window's middle
    curvature: FloatArray  # float64 (N, AHEAD), mean curvature of the window and of the stretches ahead, 1/m
    speed: FloatArray  # float64 (N,), m/s on entry
    performance: FloatArray  # float64 (N, 4), by METRICS; NaN where steering is not known
    # float64 (N, K), places of the next cones as `next_cones` has them; K is 0 where they are not asked for
    cones: FloatArray

    def chosen(self, rows: BoolArray) -> DriveWindows:
        """Some of the windows. `rows`: bool (N,)."""
        return DriveWindows(**{name: values[rows] for name, values in vars(self).items()})


@dataclass(frozen=True)
class ConesAhead:
    """Which cones a window's context holds."""

    cones: LaneCones
    count: int


def median_speed(course: Course, lines: Sequence[DrivenLine]) -> FloatArray:
    """The usual speed at each place, over all drives of both sides alike.

    Returns float64 (P,), m/s at each of the line's points; interpolated where nobody drove, 0 where nobody drove at
    all.
    """
    count = len(course.centre_line)
    place = np.concatenate([line_points(course, line.distance) for line in lines])
    speed = np.concatenate([line.values[:, 2] for line in lines])
    order = np.lexsort((speed, place))
    place, speed = place[order], speed[order]
    start = np.searchsorted(place, np.arange(count + 1))
    known = np.flatnonzero(np.diff(start))
    if not len(known):
        return np.zeros(count)
    medians = [float(np.median(speed[start[k] : start[k + 1]])) for k in known]
    return np.interp(np.arange(count), known, medians)


def line_points(course: Course, distance: FloatArray) -> IntArray:
    """The number of the line's point nearest to each distance along it.

    `distance`: metres, on a closed course from lap to lap.
    """
    last, length = len(course.centre_line) - 1, line_length(course)
    share = (distance % length if course.closed else distance) / length
    return np.clip(np.rint(share * last), 0, last).astype(np.int64)


def cut_windows(
    course: Course, lines: Sequence[DrivenLine], usual: FloatArray, size: float, cones: ConesAhead | None = None
) -> DriveWindows:
    """Cut drives into windows that are covered from end to end.

    `usual`: the speed that speed errors are from, at each of the line's points, m/s; `size`: wanted length of a window,
    metres; on a closed course a lap has a whole number of them.
    """
    length = line_length(course)
    per_lap = max(1, round(length / size)) if course.closed else max(1, int(length / size))
    width = length / per_lap if course.closed else size
    ahead = _curvature_ahead(course, width, per_lap)
    cones_ahead = (
        np.empty((per_lap, 0))
        if cones is None
        else next_cones(course, cones.cones, width * np.arange(per_lap, dtype=np.float64), cones.count, AHEAD * width)
    )
    rows: list[tuple[FloatArray, ...]] = []
    for number, line in enumerate(lines):
        speed_error = line.values[:, 2] - usual[line_points(course, line.distance)]
        for part in line.parts():
            distance, steering = line.distance[part], line.steering[part]
            first, last = int(np.ceil(distance[0] / width - 1e-9)), int(np.floor(distance[-1] / width + 1e-9))
            if not course.closed:
                first, last = max(first, 0), min(last, per_lap)
            starts = np.searchsorted(distance, width * np.arange(first, last + 1) - 1e-9)
            for window, (begin, end) in enumerate(pairwise(starts), first):
                # The next window's first point closes this one: it is measured to its end.
                stop = min(end + 1, len(distance))
                effort = (steering[stop - 1] - steering[begin]) / width
                of_lap, values = window % per_lap, line.values[part][begin:end]
                performance = [*values[:, :2].mean(0), speed_error[part][begin:end].mean(), effort]
                rows.append(
                    (
                        np.array([number, window, (of_lap + 0.5) * width, values[0, 2]]),
                        ahead[of_lap],
                        np.array(performance),
                    )
                )
    named = np.array([row[0] for row in rows]).reshape(-1, 4)
    return DriveWindows(
        drive=named[:, 0].astype(np.int64),
        window=named[:, 1].astype(np.int64),
        place=named[:, 2],
        curvature=np.array([row[1] for row in rows]).reshape(-1, AHEAD),
        speed=named[:, 3],
        performance=np.array([row[2] for row in rows]).reshape(-1, len(METRICS)),
        cones=cones_ahead[named[:, 1].astype(np.int64) % per_lap],
    )


def _curvature_ahead(course: Course, width: float, count: int) -> FloatArray:
    """Mean curvature of each window and of those ahead of it: (count, AHEAD). An open line goes on straight."""
    curvature = line_curvature(course)[:-1]
    axis = np.linspace(0.0, line_length(course), len(curvature), endpoint=False)
    number = np.minimum((axis / width + 1e-9).astype(np.int64), count - 1)
    inside: BoolArray = axis < count * width
    held = np.bincount(number[inside], minlength=count)
    mean = np.bincount(number[inside], curvature[inside], count) / np.maximum(held, 1)
    further = np.concatenate([mean, mean[: AHEAD - 1] if course.closed else np.zeros(AHEAD - 1)])
    if len(further) < count + AHEAD - 1:
        further = np.resize(further, count + AHEAD - 1)
    return np.stack([further[k : k + count] for k in range(AHEAD)], 1)
