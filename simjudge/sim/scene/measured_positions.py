"""Tables of measured things, `id colour x y` a row: tab, comma, semicolon or blanks between, # for comments."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from simjudge.core.errors import SimjudgeError
from simjudge.core.text import one_line, parse_number, read_text
from simjudge.sim.scene.scene_fields import FARTHEST

_FAR = 10.0
"""A row is a slip where its nearest neighbour is so many times as far off as neighbours usually are."""
_UPON = 1e-3
"""Metres between two rows that are one."""
_HEADINGS = {"id", "colour", "color", "x", "y", "class"}


class MeasuredPosition(NamedTuple):
    """A row.

    Attributes:
        x, y: metres.
    """

    where: str
    id: str
    colour: str
    x: float
    y: float

    @property
    def key(self) -> tuple[str, str]:
        """What tells rows apart: in the lab's tables each colour counts its ids from 0."""
        return self.id, self.colour


def read_positions(path: Path) -> list[MeasuredPosition]:
    """The rows of a table's file."""
    return parse_positions(read_text(path), str(path))


def parse_positions(text: str, where: str) -> list[MeasuredPosition]:
    """The rows of a table's text; `where` names it in messages."""
    rows: dict[tuple[str, str], MeasuredPosition] = {}
    for line_number, line in enumerate(text.splitlines(), 1):
        plain = line.split("#", 1)[0].strip()
        words = re.split(r"\s*[,;\t]\s*|\s+", plain) if plain else []
        if not words or (not rows and {word.lower() for word in words} <= _HEADINGS):
            continue
        row = _row(words, f"{where}:{line_number}", plain)
        if row.key in rows:
            raise SimjudgeError(
                f"{row.where}: id {row.id}, colour {row.colour} stands in {rows[row.key].where} already"
            )
        rows[row.key] = row
    if not rows:
        raise SimjudgeError(f"{where}: no rows; `id colour x y` in each line is needed")
    return list(rows.values())


def _row(words: list[str], where: str, line: str) -> MeasuredPosition:
    numbers = [parse_number(word) for word in words[2:]]
    if len(words) != 4 or any(value is None or not abs(value) <= FARTHEST for value in numbers):
        raise SimjudgeError(f"{where}: {one_line(line)!r}: id, colour, x and y (metres) are needed")
    return MeasuredPosition(where, words[0], words[1], float(words[2]), float(words[3]))


def check_neighbours(rows: list[MeasuredPosition]) -> None:
    """Refuse a row that lies far from all others, or upon another one: one of its figures is a slip."""
    if len(rows) < 2:
        return
    points = np.array([[row.x, row.y] for row in rows])
    tree = cKDTree(points)
    nearest = tree.query(points, k=2)[0][:, 1]
    usual = float(np.median(nearest))
    for one, other in sorted(tree.query_pairs(_UPON)):
        row = rows[other]
        raise SimjudgeError(f"{row.where}: {_named(row)} stands upon {_named(rows[one])}; leave one of them out")
    if len(rows) > 3 and nearest.max() > _FAR * usual:
        row = rows[int(np.argmax(nearest))]
        raise SimjudgeError(
            f"{row.where}: {_named(row)} at x {row.x:g}, y {row.y:g} is {nearest.max():.4g} m from its nearest"
            f" neighbour, others {usual:.2g} m: a slip? Leave it out (leave_out: [[{row.id}, {row.colour}]]) or"
            f" correct it (correct: [[{row.id}, {row.colour}, x, y]])"
        )


def transform_positions(rows: list[MeasuredPosition], at: tuple[float, float], yaw: float) -> list[MeasuredPosition]:
    """Rows of a table whose origin is `at` in the world, its x axis turned by yaw, radians.

    Args:
        at: the table's origin in the world, x and y, metres.
        yaw: of the table's x axis in the world, radians.
    """
    c, s = math.cos(yaw), math.sin(yaw)
    return [row._replace(x=at[0] + c * row.x - s * row.y, y=at[1] + s * row.x + c * row.y) for row in rows]


def _named(row: MeasuredPosition) -> str:
    return f"id {row.id}, colour {row.colour}"
