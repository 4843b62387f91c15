"""What a set shows in each frame: one row for each object and frame, from labels or predictions."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.core.class_names import normalized_name
from simjudge.core.display import ShortRepr
from simjudge.core.frames import FrameSet
from simjudge.core.masks import BoolImage, Masks
from simjudge.core.object_tables import NO_INSTANCE, Objects, Predictions
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
