"""A line in each picture, above which nothing is an object: a table of rows by frame, or the horizon."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import BoolArray, FloatArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.text import one_line, parse_number, read_text
from simjudge.objects.sightings import Sightings

_HEADINGS = {"frame", "row", "slope"}
_FARTHEST_ROW = 1e6


@dataclass(frozen=True, eq=False, repr=False)
class PictureLines(ShortRepr):
    """A line in each frame of a set.

    Attributes:
        row: float64 (F,), where the line meets the picture's left edge, pixels from the upper edge.
        slope: float64 (F,), rows that it falls by a column; 0 for a level line.
    """

    row: FloatArray
    slope: FloatArray

    def above(self, sightings: Sightings) -> BoolArray:
        """Tell which sightings have their centroid above the line of their frame.

        Returns:
            bool (N,).
        """
        line = self.row[sightings.frame] + self.slope[sightings.frame] * sightings.centroid[:, 0]
        return np.asarray(sightings.centroid[:, 1] < line)


def read_lines(path: Path, frames: FrameSet) -> PictureLines:
    """Read a table `frame row [slope]` with comma, semicolon, tab or blanks between, and # for comments.

    Args:
        path: a text file. A frame is given by its name, or by its number from 0 in order of time; its row is where the
            line meets the left edge, pixels. Frames between two of the table have a line between theirs; those before
            the first and after the last have that one's.
    """
    number = {name: i for i, name in enumerate(frames.frame_name)}
    found: dict[int, tuple[float, float]] = {}
    for line_number, line in enumerate(read_text(path).splitlines(), 1):
        plain = line.split("#", 1)[0].strip()
        words = re.split(r"\s*[,;\t]\s*|\s+", plain) if plain else []
        if not words or (not found and {word.lower() for word in words} <= _HEADINGS):
            continue
        where = f"{path}:{line_number}"
        values = [parse_number(word) for word in words[1:]]
        if not 1 <= len(values) <= 2 or any(value is None or not abs(value) <= _FARTHEST_ROW for value in values):
            raise SimjudgeError(f"{where}: {one_line(plain)!r}: frame, row (pixels) and perhaps slope are needed")
        frame = number.get(words[0], int(words[0]) if words[0].isdecimal() and len(words[0]) <= 9 else -1)
        if not 0 <= frame < len(frames):
            raise SimjudgeError(
                f"{where}: {frames.name} has no frame {one_line(words[0])}; give a frame's name, or its number from 0"
                f" to {len(frames) - 1}"
            )
        if frame in found:
            raise SimjudgeError(f"{where}: frame {one_line(words[0])} stands there twice; leave one out")
        found[frame] = (float(values[0] or 0), float(values[1] or 0) if len(values) > 1 else 0.0)
    if not found:
        raise SimjudgeError(f"{path}: no rows; `frame row` in each line is needed")
    given = np.array(sorted(found))
    table = np.array([found[frame] for frame in given])
    every = np.arange(len(frames))
    return PictureLines(np.interp(every, given, table[:, 0]), np.interp(every, given, table[:, 1]))


def horizon_lines(orientation: FloatArray, matrix: FloatArray) -> PictureLines:
    """The horizon of flat ground in each picture: where rays are level.

    A ray through pixel u has the direction R K^-1 u in a world whose z axis is up. It is level where its z is 0, which
    is a line in the picture: (0 0 1) R K^-1 (x y 1)^T = 0.

    Args:
        orientation: float64 (F, 4), quaternions x, y, z, w of the camera's optical frame (z along the view, y down) in
            a world whose z axis is up.
        matrix: float64 (3, 3), the camera matrix K, pixels.

    Returns:
        The line of each frame; NaN for a camera that looks straight up or down.

    Source:
        R. Hartley and A. Zisserman, Multiple View Geometry, 2nd ed., section 8.6 (vanishing lines).
    """
    up = Rotation.from_quat(orientation).as_matrix()[:, 2] @ np.linalg.inv(matrix)
    with np.errstate(divide="ignore", invalid="ignore"):
        row, slope = -up[:, 2] / up[:, 1], -up[:, 0] / up[:, 1]
    level = np.abs(up[:, 1]) > 1e-12
    return PictureLines(np.where(level, row, np.nan), np.where(level, slope, np.nan))
