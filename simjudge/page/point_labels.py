"""Where the names of points stand in a figure: beside the points, clear of each other, of points and of their lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LABEL_HEIGHT = 13.0
"""Distance of two names that stand below each other, points."""
NEAR = 60.0
"""Points of a figure that lie nearer than this, in points, get their names in one column."""
_DISTANCES = (18.0, 30.0, 45.0, 65.0, 90.0, 120.0, 150.0, 180.0, 220.0, 260.0)
"""How far a column of names may stand from its points, points; the nearest clear place is taken."""
_SHIFTS = tuple(sign * step * 12.0 for step in range(11) for sign in (1, -1))
"""How far a column may be moved up, points."""

Spot = tuple[float, float]
Rectangle = tuple[float, float, float, float]
"""Left, lower, right and upper edge, points."""


@dataclass(frozen=True)
class PlacedLabel:
    """Where a name stands.

    Attributes:
        x, y: the end of the name that is nearer to its point, and the name's middle, points.
        on_left: whether the name is left of its point.
    """

    x: float
    y: float
    on_left: bool


def place_labels(
    spots: Sequence[Spot], widths: Sequence[float], marks: Sequence[Rectangle], room: Rectangle
) -> list[PlacedLabel]:
    """Place the names of points. Names of points near each other stand in a column.

    Args:
        spots: the points, in points from the lower left corner of the axes.

    Returns:
        A place for each name: the first of the candidates, from near to far, that covers nothing; where there is none,
        the one that covers fewest marks.
    """
    out: dict[int, PlacedLabel] = {}
    taken = list(marks)
    for group in _near_groups([x for x, _ in spots]):
        order = sorted(group, key=lambda n: spots[n][1])
        best = min(
            _columns([spots[n] for n in order], [widths[n] for n in order], room),
            key=lambda column: _covered(column, [widths[n] for n in order], taken),
        )
        taken += [_rectangle(place, widths[n]) for n, place in zip(order, best, strict=True)]
        out |= dict(zip(order, best, strict=True))
    return [out[n] for n in range(len(spots))]


def spread_positions(wanted: Sequence[float], apart: float, low: float, high: float) -> list[float]:
    """Move positions apart, each as little as possible."""
    blocks: list[list[float]] = []  # what each block's first position should be, and how many positions it holds
    for n, position in enumerate(wanted):
        blocks.append([position - n * apart, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (mean, size), (other, more) = blocks[-2:]
            blocks[-2:] = [[(mean * size + other * more) / (size + more), size + more]]
    firsts = [mean for mean, size in blocks for _ in range(int(size))]
    top = high - (len(wanted) - 1) * apart
    return [max(low, min(first, top)) + n * apart for n, first in enumerate(firsts)]


def _columns(spots: Sequence[Spot], widths: Sequence[float], room: Rectangle) -> list[list[PlacedLabel]]:
    """The candidates for a column of names, the best first: near its points, and on the side where there is room."""
    lowest, highest, widest = min(x for x, _ in spots), max(x for x, _ in spots), max(widths)
    right_first = highest + _DISTANCES[0] + widest <= room[2]
    out = []
    for distance in _DISTANCES:
        for on_left in (not right_first, right_first):
            x = lowest - distance if on_left else highest + distance
            inside = x - widest >= room[0] if on_left else x + widest <= room[2]
            if not inside and (distance > _DISTANCES[0] or on_left == right_first):
                continue
            x = max(x, room[0] + widest) if on_left else x
            for shift in _SHIFTS:
                ys = spread_positions([y + shift for _, y in spots], LABEL_HEIGHT, room[1], room[3])
                out.append([PlacedLabel(x, y, on_left) for y in ys])
    return out


def _covered(column: Sequence[PlacedLabel], widths: Sequence[float], marks: Sequence[Rectangle]) -> int:
    rectangles = [_rectangle(place, width) for place, width in zip(column, widths, strict=True)]
    return sum(
        x0 < right and left < x1 and y0 < upper and lower < y1
        for x0, y0, x1, y1 in rectangles
        for left, lower, right, upper in marks
    )


def _rectangle(place: PlacedLabel, width: float) -> Rectangle:
    left = place.x - width if place.on_left else place.x
    return (left, place.y - LABEL_HEIGHT / 2, left + width, place.y + LABEL_HEIGHT / 2)


def _near_groups(positions: Sequence[float]) -> list[list[int]]:
    """Group the numbers of positions that lie near each other."""
    out: list[list[int]] = []
    last = -1e9
    for n in sorted(range(len(positions)), key=lambda n: positions[n]):
        if positions[n] - last > NEAR:
            out.append([])
        out[-1].append(n)
        last = positions[n]
    return out
