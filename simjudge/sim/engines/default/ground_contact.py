"""Tyres on ground that is not flat: where each touches it, and the load by which its own spring carries the wheel.

MuJoCo sees a height field as a row of prisms, and a wheel that rolls over them bumps into their sides: 2 % of a ramp's
pull are lost on cells of 5 cm, 6 % on 2 cm. So tyres do not collide with it. The wheel's lowest point against the
ground's plane below it gives the load, k d - c v, with k as stiff as a step of physics allows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numba import njit

from simjudge.core.arrays import FloatArray
from simjudge.sim.scene.model import Thing

_STIFF = 0.5
"""Stiffness times the square of a step over the wheel's mass; beyond 4 the spring would come apart."""
_DAMPED = 0.7
"""Damping ratio of the wheel on its tyre."""
GroundTable = tuple[FloatArray, FloatArray]
"""Rows of position x y z, cosine and sine of the yaw, middle x y, size x y, rows, columns and first height; heights."""


def pack_grounds(things: Sequence[Thing]) -> GroundTable:
    """The grounds among some things as two arrays.

    Returns:
        Float64 (N, 12), and the heights of all grounds, one after the other.
    """
    rows, heights, first = [], [np.zeros(0)], 0
    for thing in things:
        grid = thing.collider.heights
        if thing.collider.kind != "ground" or grid is None:
            continue
        yaw, _, _ = thing.pose.angles()
        middle, size = thing.collider.centre[:2], thing.collider.size
        rows.append([*thing.pose.position, math.cos(yaw), math.sin(yaw), *middle, *size, *grid.shape, first])
        heights.append(grid.ravel())
        first += grid.size
    return np.array(rows, np.float64).reshape(-1, 12), np.concatenate(heights)


def tyre_spring(wheel_mass: float, step: float) -> tuple[float, float]:
    """Stiffness, N/m, and damping, N s/m, of a tyre on uneven ground.

    Args:
        wheel_mass: kg.
        step: of physics, seconds.
    """
    stiffness = _STIFF * wheel_mass / step**2
    return stiffness, 2 * _DAMPED * math.sqrt(stiffness * wheel_mass)


@njit(cache=True)
def ground_below(table, x, y, normal):  # type: ignore[no-untyped-def]
    """Height of the highest ground at a place, its unit normal into `normal`; minus infinity beside all grounds."""
    grounds, heights = table
    best = -np.inf
    for g in range(len(grounds)):
        row = grounds[g]
        cosine, sine = row[3], row[4]
        u = cosine * (x - row[0]) + sine * (y - row[1]) - row[5]
        v = cosine * (y - row[1]) - sine * (x - row[0]) - row[6]
        rows, columns, first = int(row[9]), int(row[10]), int(row[11])
        at_x, at_y = (u / row[7] + 0.5) * (columns - 1), (v / row[8] + 0.5) * (rows - 1)
        if at_x < 0 or at_y < 0 or at_x > columns - 1 or at_y > rows - 1:
            continue
        j, i = min(int(at_x), columns - 2), min(int(at_y), rows - 2)
        s, t = at_x - j, at_y - i
        a, b = heights[first + i * columns + j], heights[first + i * columns + j + 1]
        c, d = heights[first + (i + 1) * columns + j], heights[first + (i + 1) * columns + j + 1]
        height = row[2] + (a * (1 - s) + b * s) * (1 - t) + (c * (1 - s) + d * s) * t
        if height <= best:
            continue
        best = height
        along = ((b - a) * (1 - t) + (d - c) * t) / (row[7] / (columns - 1))
        across = ((c - a) * (1 - s) + (d - b) * s) / (row[8] / (rows - 1))
        length = math.sqrt(along * along + across * across + 1)
        normal[0] = -(cosine * along - sine * across) / length
        normal[1] = -(sine * along + cosine * across) / length
        normal[2] = 1 / length
    return best


@njit(cache=True)
def lowest_point(centre, rotation, radius, half_width, normal):  # type: ignore[no-untyped-def]
    """The point of a wheel, an ellipsoid about its y axis, that is farthest against a normal."""
    shape = np.array([radius * radius, half_width * half_width, radius * radius])
    local = np.zeros(3)
    length = 0.0
    for k in range(3):
        for j in range(3):
            local[k] += rotation[3 * j + k] * normal[j]
        length += shape[k] * local[k] * local[k]
    length = math.sqrt(length)
    out = centre.copy()
    for j in range(3):
        for k in range(3):
            out[j] -= rotation[3 * j + k] * shape[k] * local[k] / length
    return out


@njit(cache=True)
def touch_ground(table, centre, rotation, radius, half_width, point, normal):  # type: ignore[no-untyped-def]
    """Where a wheel touches the ground, into `point` and `normal`; returns how deep, below 0 in the air, metres."""
    height = ground_below(table, centre[0], centre[1], normal)
    if height == -np.inf:
        return -1.0
    for _ in range(2):  # the plane below the wheel's middle, then that below the point
        point[:] = lowest_point(centre, rotation, radius, half_width, normal)
        height = ground_below(table, point[0], point[1], normal)
        if height == -np.inf:
            return -1.0
    return (height - point[2]) * normal[2]
