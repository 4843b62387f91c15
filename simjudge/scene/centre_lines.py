"""Lines to drive along: from waypoints, from straights and arcs, or a sine; and the lines beside them."""

from __future__ import annotations

import math

import numpy as np
from scipy.interpolate import CubicSpline

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FloatArray
from simjudge.scene.entry import Entry, is_numbers

LINES = ("waypoints", "arcs", "sine")
_STEP = 0.02
"""Metres between the points of a line."""
_LONGEST = 2000.0
_TURNS = 400.0


def read_line(entry: Entry) -> FloatArray:
    """The line of an entry: points (P, 2), metres, evenly 2 cm apart or a little less."""
    kind = entry.one_of(LINES, "a path")
    line = {"waypoints": _waypoints, "arcs": _arcs, "sine": _sine}[kind](entry)
    length = float(np.sum(np.linalg.norm(np.diff(line, axis=0), axis=1)))
    if not 0 < length <= _LONGEST:
        raise SimjudgeError(f"{entry.path}: {entry.name_of(kind)}: {length:.0f} m long; 0 to {_LONGEST:.0f} m can be")
    return even(line, _STEP)


def even(line: FloatArray, step: float) -> FloatArray:
    """The points of a line at even arc lengths, both ends included, at most `step` apart."""
    length = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))])
    at = np.linspace(0, length[-1], max(math.ceil(length[-1] / step - 1e-9), 1) + 1)
    return np.stack([np.interp(at, length, line[:, k]) for k in range(2)], 1)


def headings(line: FloatArray) -> FloatArray:
    """The direction (P,) of a line at its points, radians, counter-clockwise from +x."""
    ahead = np.gradient(line, axis=0)
    return np.arctan2(ahead[:, 1], ahead[:, 0])


def tightest_radius(line: FloatArray) -> float:
    """The smallest radius of curvature, metres, of a line of evenly spaced points."""
    turn = np.abs(np.diff(np.unwrap(headings(line))))
    step = np.linalg.norm(np.diff(line, axis=0), axis=1)
    # The ends' headings are one-sided, half a step off.
    return float(np.min(step[1:-1] / np.maximum(turn[1:-1], 1e-12))) if len(line) > 4 else math.inf


def beside(line: FloatArray, left: float) -> FloatArray:
    """The points `left` metres to the left of a line's points (to the right if negative)."""
    angle = headings(line)
    return line + left * np.stack([-np.sin(angle), np.cos(angle)], 1)


def _waypoints(entry: Entry) -> FloatArray:
    """A cubic spline through the waypoints, over the lengths of its chords."""
    rows = entry.items("waypoints", "points [x, y]")
    for number, row in enumerate(rows):
        if not is_numbers(row, 2):
            raise SimjudgeError(
                f"{entry.path}: {entry.name_of('waypoints')}[{number}]: [x, y] is needed; this is {row}"
            )
    points = np.array(rows, np.float64)
    chords = np.linalg.norm(np.diff(points, axis=0), axis=1)
    if len(points) < 2 or not np.all(chords > 1e-6):
        raise SimjudgeError(f"{entry.path}: {entry.name_of('waypoints')}: two points or more, all apart, are needed")
    if len(points) == 2:
        return points
    along = np.concatenate([[0], np.cumsum(chords)])
    fine = np.linspace(0, along[-1], math.ceil(along[-1] / (_STEP / 4)) + 1)
    line: FloatArray = CubicSpline(along, points, bc_type="natural")(fine)
    return line


def _arcs(entry: Entry) -> FloatArray:
    """`arcs: {start: [x, y, yaw], pieces: [{straight: 1}, {left: 90, radius: 2}, ...]}`, angles in degrees."""
    arcs = entry.section("arcs", ("start", "pieces"))
    x, y, yaw = arcs.numbers("start", "x y yaw")
    angle, parts = math.radians(yaw), [np.array([[x, y]])]
    for piece in arcs.listed("pieces", "pieces"):
        way = piece.one_of(("straight", "left", "right"), "a piece")
        piece.only((way,) if way == "straight" else (way, "radius"))
        if way == "straight":
            length, curvature = piece.positive("straight"), 0.0
        else:
            radius, turn = piece.positive("radius"), piece.number(way, least=1e-3, most=_TURNS)
            length, curvature = radius * math.radians(turn), (1 if way == "left" else -1) / radius
        along = np.linspace(0, length, math.ceil(length / (_STEP / 4)) + 1)[1:]
        parts.append(parts[-1][-1] + _arc(along, angle, curvature))
        angle += length * curvature
    line: FloatArray = np.concatenate(parts)
    return line


def _arc(along: FloatArray, angle: float, curvature: float) -> FloatArray:
    now = angle + along * curvature
    if curvature == 0:
        line: FloatArray = np.stack([along * math.cos(angle), along * math.sin(angle)], 1)
    else:
        line = np.stack([np.sin(now) - math.sin(angle), math.cos(angle) - np.cos(now)], 1) / curvature
    return line


def _sine(entry: Entry) -> FloatArray:
    """`sine: {from: [x, y], to: [x, y], amplitude: 0.8, periods: 1.5}`; it swings to the left first."""
    sine = entry.section("sine", ("from", "to", "amplitude", "periods"))
    start, end = np.array(sine.numbers("from", "x y")), np.array(sine.numbers("to", "x y"))
    length = float(np.linalg.norm(end - start))
    if length <= 1e-6:
        raise sine.wrong("to", "another point than from is needed")
    amplitude, periods = sine.number("amplitude"), sine.positive("periods")
    along = np.linspace(0, 1, math.ceil(length / (_STEP / 8)) + 1)
    ahead = (end - start) / length
    swing = amplitude * np.sin(2 * math.pi * periods * along)
    line: FloatArray = start + along[:, None] * (end - start) + swing[:, None] * np.array([-ahead[1], ahead[0]])
    return line
