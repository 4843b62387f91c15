"""What a set shows in each frame: one row for each object and frame, below a line above which nothing is an object.

The line is a table of rows by frame, or the horizon.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.names import normalized_name
from simjudge.core.object_tables import NO_INSTANCE, BoolImage, Masks, Objects, Predictions
from simjudge.core.text import one_line, parse_number, read_text
from simjudge.detectors.iou import pixel_counts


@dataclass(frozen=True, eq=False, repr=False)
class Sightings(ShortRepr):
    """N sightings of objects, ordered by frame.

    Attributes:
        looked_at: bool (F,), the frames in which objects were looked for, perhaps without finding any.
        frame: int64 (N,), the number of the frame.
        class_name: text (N,), as `normalized_name` writes it.
        box: float64 (N, 4), x0, y0, x1, y1 in pixels, inside the picture.
        centroid: float64 (N, 2), x and y in pixels: the mean of the region's pixel centres; the box's middle where the
            sighting has no mask.
        pixels: float64 (N,), size of the region in pixels; NaN where the sighting has no mask.
        instance: int64 (N,), the same thing has the same number in all frames; NO_INSTANCE where unknown.
        masks: the regions; None where there are boxes only.
    """

    looked_at: BoolArray
    frame: IntArray
    class_name: npt.NDArray[np.str_]
    box: FloatArray
    centroid: FloatArray
    pixels: FloatArray
    instance: IntArray
    masks: Masks | None = None

    def __len__(self) -> int:
        """The number of sightings."""
        return len(self.frame)

    def take(self, rows: IntArray) -> Sightings:
        """Take some sightings.

        Args:
            rows: int64 (M,), ascending row numbers.
        """
        return replace(
            self,
            frame=self.frame[rows],
            class_name=self.class_name[rows],
            box=self.box[rows],
            centroid=self.centroid[rows],
            pixels=self.pixels[rows],
            instance=self.instance[rows],
            masks=None if self.masks is None else self.masks.take(rows),
        )

    def region(self, row: int, width: int, height: int) -> BoolImage:
        """Paint the region of a sighting: its mask, or else its box with edges rounded to pixels.

        Args:
            width, height: of the picture, pixels.

        Returns:
            bool (height, width).
        """
        if self.masks is not None and self.masks.has(row):
            return self.masks.to_image(row, width, height)
        picture = np.zeros((height, width), np.bool_)
        x0, y0, x1, y1 = np.floor(self.box[row] + 0.5).astype(int)
        picture[y0:y1, x0:x1] = True
        return picture


def label_sightings(frames: FrameSet) -> Sightings:
    """Take the labels of a set as sightings.

    Returns:
        The sightings; labels that lie outside of their picture are none.
    """
    return _sightings(frames, frames.objects, frames.objects.instance, frames.labelled)


def predicted_sightings(frames: FrameSet, min_score: float = 0.0) -> Sightings:
    """Take the predictions of a set as sightings."""
    given = Predictions.empty() if frames.predictions is None else frames.predictions
    kept = given.take(np.flatnonzero(given.score >= min_score))
    return _sightings(frames, kept, np.full(len(kept), NO_INSTANCE), frames.predicted)


def _sightings(frames: FrameSet, table: Objects | Predictions, instance: IntArray, looked_at: BoolArray) -> Sightings:
    size = np.tile(frames.size[table.frame], 2)
    box = np.clip(table.box, 0.0, size)
    names = {int(c): normalized_name(frames.class_name(int(c))) for c in np.unique(table.class_id)}
    class_name = np.array([names[int(c)] for c in table.class_id], np.str_)
    pixels, centroid = np.full(len(table), np.nan), (box[:, :2] + box[:, 2:]) / 2
    if table.masks is not None:
        for i in np.flatnonzero(pixel_counts(table.masks)):
            pixels[i], centroid[i] = _pixel_mean(table.masks.crop(int(i)), table.masks.origin[i])
    all_rows = Sightings(looked_at, table.frame, class_name, box, centroid, pixels, instance, table.masks)
    inside = np.all(box[:, 2:] > box[:, :2], axis=1) & looked_at[table.frame]
    return all_rows if inside.all() else all_rows.take(np.flatnonzero(inside))


def _pixel_mean(crop: BoolImage, origin: npt.NDArray[np.int32]) -> tuple[int, FloatArray]:
    """The number of set pixels, and the mean of their centres in the picture."""
    columns, rows = np.count_nonzero(crop, axis=0), np.count_nonzero(crop, axis=1)
    count = int(columns.sum())
    middle = [(np.arange(len(n)) + 0.5) @ n / count for n in (columns, rows)]
    return count, origin + np.array(middle)


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
