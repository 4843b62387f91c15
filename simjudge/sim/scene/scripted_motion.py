"""From waypoints to poses by time: `path: {waypoints, speed or times, smooth, closed, facing, start}` of a thing.

A path is two functions: the line through the waypoints by its arc length, and the arc length by time. Without `smooth`
the line is straight between waypoints and the speed even between them; with it the line is a cubic spline over the
chords, and with `times` the arc length is a monotone cubic of time (PCHIP), which never runs back or beyond a waypoint.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline, PchipInterpolator
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import FloatArray
from simjudge.core.documents import Location
from simjudge.geometry.poses import Pose
from simjudge.sim.scene.model import MotionPath
from simjudge.sim.scene.scene_fields import MotionPathFields
from simjudge.sim.scene.scene_file import SceneDocument

_APART = 1e-6
"""Metres from which on two waypoints are two places."""
_PIECES = 2000
"""Straight pieces that stand for a smooth line, and for a smooth arc length by time."""
_SHORTEST = 1e-3
"""Seconds between two waypoints at least."""
_CORNER = 1e-6
"""Seconds in which a thing turns at a corner."""


class _Line(NamedTuple):
    """Points (M, 3), their arc lengths (M,), and those of the waypoints (N,), metres."""

    points: FloatArray
    lengths: FloatArray
    waypoints: FloatArray

    def at(self, length: FloatArray, *, closed: bool) -> FloatArray:
        """Points at arc lengths; beyond an end the end itself, or, on a closed line, what follows there."""
        inside = np.mod(length, self.lengths[-1]) if closed else length
        return np.stack([np.interp(inside, self.lengths, self.points[:, k]) for k in range(3)], 1)


def build_motion_path(
    document: SceneDocument, fields: MotionPathFields, turned: Pose, location: Location
) -> MotionPath:
    """The path of a thing."""
    from simjudge.geometry.keyframes import Keyframes  # noqa: PLC0415 - compiles its loops, only where things move

    points = np.array(fields.waypoints, np.float64)
    if fields.closed:
        points = np.concatenate([points, points[:1]])
    chords = np.linalg.norm(np.diff(points, axis=0), axis=1)
    if not np.any(chords > _APART):
        raise document.error((*location, "waypoints"), "all waypoints are one point; two places are needed")
    line = _smooth_line(points, chords, closed=fields.closed) if fields.smooth else _straight_line(points, chords)
    times = _waypoint_times(document, fields, line, chords, location)
    if fields.smooth:
        time, length = _smooth_pace(fields, line, times)
        ahead = _tangents(line, length, closed=fields.closed)
        position = line.at(length, closed=False)
    else:
        time, position, ahead = _corners(points, chords, times)
    path = _looking_ahead(ahead if fields.facing == "along" else np.tile([1.0, 0, 0], (len(time), 1)))
    orientation = (path * Rotation.from_quat(turned.orientation)).as_quat()
    return MotionPath(Keyframes(time - fields.start, position[:, None], orientation[:, None]), fields.closed)


def _straight_line(points: FloatArray, chords: FloatArray) -> _Line:
    lengths = np.concatenate([[0], np.cumsum(chords)])
    return _Line(points, lengths, lengths)


def _smooth_line(points: FloatArray, chords: FloatArray, *, closed: bool) -> _Line:
    """A cubic spline over the chords; waypoints that stand where the one before does are one knot with it."""
    distinct = np.concatenate([[True], chords > _APART])
    knots, places = np.concatenate([[0], np.cumsum(chords[chords > _APART])]), points[distinct]
    if closed:
        places[-1] = places[0]
    at = np.linspace(0, knots[-1], _PIECES + 1)
    if len(places) > 2:
        fine = CubicSpline(knots, places, bc_type="periodic" if closed else "natural")(at)
    else:
        fine = np.stack([np.interp(at, knots, places[:, k]) for k in range(3)], 1)
    lengths = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(fine, axis=0), axis=1))])
    return _Line(fine, lengths, np.interp(knots, at, lengths)[np.cumsum(distinct) - 1])


def _waypoint_times(
    document: SceneDocument, fields: MotionPathFields, line: _Line, chords: FloatArray, location: Location
) -> FloatArray:
    """Seconds at each waypoint, and at the return to the first one on a closed path."""
    if fields.speed is not None:
        if not np.all(chords > _APART):
            second = int(np.argmin(chords)) + 1
            end = " at the end of the closed path" if second == len(fields.waypoints) else ""
            message = f"it is where the one before is{end}; remove it, or wait there by times in place of speed"
            raise document.error((*location, "waypoints", second % len(fields.waypoints)), message)
        return line.waypoints / fields.speed
    times = np.array(fields.times or (), np.float64)
    if len(times) != len(chords) + 1:
        and_back = ", and one for the return to the first" if fields.closed else ""
        message = f"{len(chords) + 1} times are needed, one for each waypoint{and_back}; these are {len(times)}"
        raise document.error((*location, "times"), message)
    late = np.flatnonzero(np.diff(times) < _SHORTEST)
    if len(late):
        after = f"more than {times[late[0]]:g} s is needed, the time before it; this is {times[late[0] + 1]:g}"
        raise document.error((*location, "times", int(late[0]) + 1), after)
    return times


def _smooth_pace(fields: MotionPathFields, line: _Line, times: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Keyframes' times, and how far along the line the thing is then."""
    if fields.speed is not None:
        return line.lengths / fields.speed, line.lengths
    knots, lengths = times, line.waypoints
    if fields.closed:  # one round before and one after, so that the pace goes on smoothly
        period, whole = times[-1] - times[0], lengths[-1]
        knots = np.concatenate([times[:-1] - period, times, times[1:] + period])
        lengths = np.concatenate([lengths[:-1] - whole, lengths, lengths[1:] + whole])
    time = np.union1d(np.linspace(times[0], times[-1], _PIECES + 1), times)
    return time, np.clip(PchipInterpolator(knots, lengths)(time), 0, line.lengths[-1])


def _tangents(line: _Line, length: FloatArray, *, closed: bool) -> FloatArray:
    step = line.lengths[-1] / _PIECES
    return line.at(length + step, closed=closed) - line.at(length - step, closed=closed)


def _corners(points: FloatArray, chords: FloatArray, times: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Two keyframes for each leg, at its ends: times, positions and directions."""
    legs = np.diff(points, axis=0)
    # Who waits at a waypoint looks where he came from, at the first one where he will go.
    moving = np.flatnonzero(chords > _APART)
    legs = legs[moving[np.maximum(np.searchsorted(moving, np.arange(len(legs)), side="right") - 1, 0)]]
    begin, end = times[:-1].copy(), times[1:]
    begin[1:] += _CORNER
    share = ((begin - times[:-1]) / (end - times[:-1]))[:, None]
    first = points[:-1] + share * (points[1:] - points[:-1])
    time = np.stack([begin, end], 1).ravel()
    return time, np.stack([first, points[1:]], 1).reshape(-1, 3), np.repeat(legs, 2, axis=0)


def _looking_ahead(ahead: FloatArray) -> Rotation:
    """Rotations (N,) that turn x into directions, z as far up as can be."""
    yaw = np.arctan2(ahead[:, 1], ahead[:, 0])
    pitch = -np.arctan2(ahead[:, 2], np.hypot(ahead[:, 0], ahead[:, 1]))
    return Rotation.from_euler("ZYX", np.stack([yaw, pitch, np.zeros(len(yaw))], 1))
