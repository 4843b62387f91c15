"""The metrics of one object over time: box, centroid, velocity, sights, flicker."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.objects.flicker import flicker_in_motion, flicker_while_standing, sight_changes
from simjudge.objects.series import Series
from simjudge.objects.timed_frames import stamps_to_seconds
from simjudge.objects.tracking import Tracks

_AXES = "xy"


@dataclass(frozen=True, eq=False, repr=False)
class ObjectView(ShortRepr):
    """One object in the frames in which objects were looked for.

    Attributes:
        stamp: int64 (F,), nanoseconds, strictly ascending.
        box: float64 (F, 4), x0, y0, x1, y1 in pixels; NaN where the object is not seen.
        centroid: float64 (F, 2), x and y in pixels; NaN where the object is not seen.
        pixels: float64 (F,), size of the region, NaN where the object is not seen; None where sightings are boxes.
        standing: bool (F,), whether the camera has the pose of the frame before; None where its poses are not known.
    """

    stamp: IntArray
    box: FloatArray
    centroid: FloatArray
    pixels: FloatArray | None
    standing: BoolArray | None = None

    @property
    def time(self) -> FloatArray:
        """The frames' stamps in seconds: float64 (F,)."""
        return stamps_to_seconds(self.stamp)

    @property
    def elapsed(self) -> FloatArray:
        """Seconds since the first frame, which a float64 holds to the nanosecond: float64 (F,)."""
        return stamps_to_seconds(self.stamp - self.stamp[:1])

    @property
    def seen(self) -> BoolArray:
        """Whether each frame shows the object: bool (F,)."""
        return np.isfinite(self.box[:, 0])


def object_views(
    tracks: Tracks, stamp: IntArray, standing: BoolArray | None = None, *, regions: bool = False
) -> list[ObjectView]:
    """Lay out the sightings of each track over the frames in which objects were looked for.

    Args:
        stamp: int64 (F,), of all frames of the set, nanoseconds.
        standing: bool (F,), whether the camera has the pose of the frame before; None where not known.
        regions: give the pixels of regions.
    """
    seen = tracks.sightings
    frames = np.flatnonzero(seen.looked_at)
    still = None if standing is None else standing[frames] & np.append(False, np.diff(frames) == 1)
    box, centroid, pixels = (_with_nan_row(column) for column in (seen.box, seen.centroid, seen.pixels))
    return [
        ObjectView(stamp[frames], box[rows], centroid[rows], pixels[rows] if regions else None, still)
        for rows in tracks.by_frame()[:, frames]
    ]


def object_series(view: ObjectView, subject: str, start: float) -> list[Series]:
    """Measure one object over time.

    Args:
        start: seconds from which first and last sight count.

    Returns:
        Box width and height, centroid and its velocity, whether the object is seen, changes of sight, box flicker;
        box flicker while standing and pixels of the region where the view has them; and first and last sight, which
        have a single value each, at `start`.
    """
    size = view.box[:, 2:] - view.box[:, :2]
    velocity = centroid_velocity(view.elapsed, view.centroid)
    over_time = [
        ("box width", "px", size[:, 0]),
        ("box height", "px", size[:, 1]),
        *((f"centroid {axis}", "px", view.centroid[:, i]) for i, axis in enumerate(_AXES)),
        *((f"centroid velocity {axis}", "px/s", velocity[:, i]) for i, axis in enumerate(_AXES)),
        ("seen", "", view.seen.astype(np.float64)),
        ("sight changes", "", sight_changes(view.seen)),
        ("box flicker", "px", flicker_in_motion(view.elapsed, view.box)),
    ]
    if view.standing is not None:
        over_time.append(("box flicker while standing", "px", flicker_while_standing(view.box, view.standing)))
    if view.pixels is not None:
        over_time.append(("region pixels", "px", view.pixels))
    time = view.time
    shown = time[view.seen]
    ends = (shown[0] - start, shown[-1] - start) if len(shown) else (np.nan, np.nan)
    single = [
        Series(metric, "s", subject, np.array([start]), np.array([value]))
        for metric, value in zip(("first sight", "last sight"), ends, strict=True)
    ]
    return [*(Series(metric, unit, subject, time, value) for metric, unit, value in over_time), *single]


def centroid_velocity(time: FloatArray, centroid: FloatArray) -> FloatArray:
    """Velocity of a centroid by differences of second order over each run of frames that show the object.

    Args:
        time: float64 (F,), seconds, strictly ascending.
        centroid: float64 (F, 2), pixels; NaN where the object is not seen.

    Returns:
        float64 (F, 2), px/s: the slope of the parabola through the frame and its two neighbours, at the ends of a run
        the slope to the one neighbour; NaN where the object is not seen, or in one frame only.
    """
    out = np.full(centroid.shape, np.nan)
    for run in seen_runs(np.isfinite(centroid[:, 0])):
        if len(run) > 1:
            out[run] = np.gradient(centroid[run], time[run], axis=0)
    return out


def seen_runs(seen: BoolArray) -> list[IntArray]:
    """Find the runs of neighbouring frames that show an object.

    Args:
        seen: bool (F,).
    """
    shown = np.flatnonzero(seen)
    return np.split(shown, np.flatnonzero(np.diff(shown) > 1) + 1) if len(shown) else []


def _with_nan_row(column: FloatArray) -> FloatArray:
    """A column whose last row is NaN, for sightings numbered -1."""
    return np.concatenate([column, np.full((1, *column.shape[1:]), np.nan)])
