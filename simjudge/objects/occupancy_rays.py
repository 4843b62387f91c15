"""The compiled loops that enter the beams of a scan into an occupancy map. Called by `occupancy`."""
# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import math

import numpy as np

from simjudge.core.numba_cache import njit


@njit(cache=True, nogil=True)
def enter_beams(log_odds, last, number, origins, ends, returned, places, limits, odds):
    """Enter the beams of one scan. Each cell changes once a scan, and a return in a cell wins over beams through it.

    `log_odds`: float32 (R, C), changed in place; `last`: int32 (R, C), the number of the last scan that told something
    of each cell; changed in place; `origins`: float64 (N, 3), where each beam begins, metres, fixed frame; `ends`:
    float64 (N, 3), where each beam ends, likewise; `returned`: bool (N,), whether something is there; `places`: x and y
    of the map's lower left corner and cells a metre; normal x, y, z and offset of the ground; `limits`: lowest and
    highest height above ground, and range, metres.
    """
    rows, columns = log_odds.shape
    for i in range(len(ends)):
        height = _height(places, ends[i])
        if returned[i] and limits[0] <= height <= limits[1] and _length(origins[i], ends[i]) <= limits[2]:
            c, r = _cell_of_point(places, ends[i])
            if 0 <= c < columns and 0 <= r < rows and last[r, c] != number:
                last[r, c] = number
                log_odds[r, c] = min(log_odds[r, c] + odds[0], odds[3])
    for i in range(len(ends)):
        begin, end = _visible_part(origins[i], ends[i], places, limits, rows, columns)
        if begin < end:
            stop = _cell_of_point(places, ends[i]) if returned[i] else (-1, -1)
            _enter_free(log_odds, last, number, origins[i], ends[i], begin, end, stop, places, odds)


@njit(cache=True, nogil=True)
def _enter_free(log_odds, last, number, a, b, begin, end, stop, places, odds):
    """Free the cells that a part of the beam from a to b has in common with the map, but for the cell where it stops.

    Amanatides and Woo: always on to the nearer of the next wall between columns and the next between rows. The walls'
    places are taken anew each time, so that no rounding adds up; through a corner both are crossed at once.
    """
    rows, columns = log_odds.shape
    ax, ay = (a[0] - places[0]) * places[2], (a[1] - places[1]) * places[2]
    dx, dy = (b[0] - a[0]) * places[2], (b[1] - a[1]) * places[2]
    c, last_c = _first_and_last(ax, dx, begin, end, columns)
    r, last_r = _first_and_last(ay, dy, begin, end, rows)
    step_c, step_r = (1 if dx > 0 else -1), (1 if dy > 0 else -1)
    per_c, per_r = (1 / dx if dx != 0 else 0.0), (1 / dy if dy != 0 else 0.0)
    wall_c, wall_r = (c + 1 if dx > 0 else c), (r + 1 if dy > 0 else r)
    at_c = (wall_c - ax) * per_c if c != last_c else np.inf
    at_r = (wall_r - ay) * per_r if r != last_r else np.inf
    while True:
        if last[r, c] != number and not (c == stop[0] and r == stop[1]):
            last[r, c] = number
            log_odds[r, c] = max(log_odds[r, c] + odds[1], odds[2])
        if c == last_c and r == last_r:
            break
        along, across = at_c <= at_r, at_r <= at_c
        if along:
            c += step_c
            wall_c += step_c
            at_c = (wall_c - ax) * per_c if c != last_c else np.inf
        if across:
            r += step_r
            wall_r += step_r
            at_r = (wall_r - ay) * per_r if r != last_r else np.inf


@njit(cache=True, nogil=True)
def _visible_part(a, b, places, limits, rows, columns):
    """The shares of a beam between which it is within range, heights and map; nowhere if the first is not smaller."""
    length = _length(a, b)
    if length == 0:
        return 0.0, 0.0
    first = _height(places, a)
    part = _clip(first, _height(places, b) - first, limits[0], limits[1], (0.0, min(1.0, limits[2] / length)))
    scale = places[2]
    part = _clip((a[0] - places[0]) * scale, (b[0] - a[0]) * scale, 0.0, float(columns), part)
    return _clip((a[1] - places[1]) * scale, (b[1] - a[1]) * scale, 0.0, float(rows), part)


@njit(cache=True, nogil=True)
def _clip(first, change, low, high, part):
    """Cut a part of a line to where a coordinate lies between two bounds."""
    if change == 0:
        return part if low <= first <= high else (1.0, 0.0)
    one, other = (low - first) / change, (high - first) / change
    return max(part[0], min(one, other)), min(part[1], max(one, other))


@njit(cache=True, nogil=True)
def _first_and_last(start, change, begin, end, count):
    """The first and the last cell along one axis in which a part of a line has a length."""
    one, other = start + begin * change, start + end * change
    if change < 0:
        first, final = math.ceil(one) - 1, math.floor(other)
        first = min(max(first, 0), count - 1)
        return first, min(max(final, 0), first)
    first, final = math.floor(one), math.ceil(other) - 1
    first = min(max(first, 0), count - 1)
    return first, max(min(final, count - 1), first)


@njit(cache=True, nogil=True)
def _cell_of_point(places, point):
    return math.floor((point[0] - places[0]) * places[2]), math.floor((point[1] - places[1]) * places[2])


@njit(cache=True, nogil=True)
def _height(places, point):
    return places[3] * point[0] + places[4] * point[1] + places[5] * point[2] + places[6]


@njit(cache=True, nogil=True)
def _length(a, b):
    dx, dy, dz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    return math.sqrt(dx * dx + dy * dy + dz * dz)
