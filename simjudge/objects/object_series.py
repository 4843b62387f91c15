"""The metrics of one object over time: box, centroid, velocity, sights, and flicker."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.core.frames import FrameSet
from simjudge.geometry.poses import Trajectory
from simjudge.geometry.trajectories import TrajectoryInterpolator
from simjudge.objects.series import Series, stamps_to_seconds
from simjudge.objects.sightings import Tracks

WINDOW = 5
"""Neighbouring frames of the smooth fit."""
_DEGREE = 2
_MIDDLE = WINDOW // 2


def flicker_in_motion(time: FloatArray, box: FloatArray) -> FloatArray:
    """Box flicker relative to a smooth fit, for cameras that may move.

    A parabola over time is fitted to each edge in five neighbouring frames; the residual of the middle frame, divided
    by the square root of 1 less its leverage, estimates the noise of the edge. The flicker is the root mean square of
    the four edges. Edges that jitter independently with a standard deviation of s pixels have a flicker with a root
    mean square of s over many frames, however fast they move at steady acceleration.

    Args:
        time: float64 (F,), seconds, strictly ascending.
        box: float64 (F, 4), x0, y0, x1, y1 in pixels; NaN where the object is not seen.

    Returns:
        float64 (F,), pixels; NaN where one of the five frames does not show the object.

    Source:
        Least squares on a moving window as in A. Savitzky and M. J. E. Golay, 1964; leverage as in D. A. Belsley,
        E. Kuh and R. E. Welsch, Regression Diagnostics, 1980, section 2.1.
    """
    out = np.full(len(time), np.nan)
    if len(time) < WINDOW:
        return out
    moment = np.lib.stride_tricks.sliding_window_view(time, WINDOW)
    edges = np.lib.stride_tricks.sliding_window_view(box, WINDOW, axis=0)  # (windows, 4, WINDOW)
    scaled = (moment - moment[:, [_MIDDLE]]) / np.ptp(moment, axis=1, keepdims=True)
    design = scaled[:, :, None] ** np.arange(_DEGREE + 1)
    weights = np.linalg.pinv(design)[:, 0, :]  # at the middle frame the fit is its constant
    residual = edges[:, :, _MIDDLE] - np.einsum("wet,wt->we", edges, weights)
    noise = residual / np.sqrt(1 - weights[:, [_MIDDLE]])
    out[_MIDDLE : len(time) - _MIDDLE] = np.sqrt(np.mean(noise**2, axis=1))
    return out


def flicker_while_standing(box: FloatArray, standing: BoolArray) -> FloatArray:
    """Box flicker between neighbouring frames during which the camera stands.

    `box`: float64 (F, 4), x0, y0, x1, y1 in pixels; NaN where the object is not seen; `standing`: bool (F,), whether
    the camera has the pose of the frame before; returns float64 (F,), pixels: the root mean square of the four edges'
    changes since the frame before, over the square root of 2, so that edges that jitter with a standard deviation of s
    pixels have a flicker of s; NaN where the camera moves, or one of the two frames does not show the object.
    """
    out = np.full(len(box), np.nan)
    change = np.sqrt(np.mean(np.diff(box, axis=0) ** 2, axis=1)) / math.sqrt(2)
    out[1:] = np.where(standing[1:], change, np.nan)
    return out


def sight_changes(seen: BoolArray) -> FloatArray:
    """Tell where an object appears or vanishes between its first and its last sight.

    `seen`: bool (F,), whether each frame shows the object; returns float64 (F,): 1 where the frame before showed the
    object and this one does not, or the other way round, else 0; NaN up to the first sight, and after the last one.
    """
    out = np.full(len(seen), np.nan)
    shown = np.flatnonzero(seen)
    if len(shown):
        first, last = shown[0], shown[-1]
        out[first + 1 : last + 1] = np.diff(seen[first : last + 1]) != 0
    return out


STILL = 2e-3
"""Metres that a standing camera moves at most from one frame to the next: what pose estimates jitter by."""
STILL_ANGLE = 5e-4
"""Radians that a standing camera turns at most from one frame to the next: half a pixel at a focal length of 1000."""


def standing_frames(stamp: IntArray, trajectory: Trajectory) -> BoolArray:
    """Find the frames at which a camera stands as it did at the frame before.

    `stamp`: int64 (F,), of the frames, nanoseconds, ascending; returns bool (F,); False for the first frame, and where
    one of the two frames lies outside of the recorded poses or in a gap between them.
    """
    interpolator = TrajectoryInterpolator(trajectory)
    known = interpolator.covers(stamp)
    known[known] = ~interpolator.in_gap(stamp[known])
    standing = np.zeros(len(stamp), np.bool_)
    frames = np.flatnonzero(known)
    if len(frames) > 1:
        position, orientation = interpolator.sample(stamp[frames])
        rotation = Rotation.from_quat(orientation)
        moved = np.linalg.norm(np.diff(position, axis=0), axis=1)
        turned = (rotation[:-1].inv() * rotation[1:]).magnitude()
        standing[frames[1:]] = (moved <= STILL) & (turned <= STILL_ANGLE) & (np.diff(frames) == 1)
    return standing


def standing_in_both(
    sets: tuple[FrameSet, FrameSet], trajectories: tuple[Trajectory | None, Trajectory | None]
) -> tuple[BoolArray | None, BoolArray | None]:
    """Find the frames at which two cameras stand."""
    real, virtual = trajectories
    first, second = real or virtual, virtual or real
    if first is None or second is None:
        return None, None
    standing = standing_frames(sets[0].stamp, first), standing_frames(sets[1].stamp, second)
    return standing if all(box.any() for box in standing) else (None, None)


_AXES = "xy"


@dataclass(frozen=True, eq=False, repr=False)
class ObjectView(ShortRepr):
    """One object in the frames in which objects were looked for."""

    stamp: IntArray  # int64 (F,), nanoseconds, strictly ascending
    box: FloatArray  # float64 (F, 4), x0, y0, x1, y1 in pixels; NaN where the object is not seen
    centroid: FloatArray  # float64 (F, 2), x and y in pixels; NaN where the object is not seen
    # float64 (F,), size of the region, NaN where the object is not seen; None where sightings are boxes
    pixels: FloatArray | None
    # bool (F,), whether the camera has the pose of the frame before; None where its poses are not known
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

    def take(self, frames: IntArray) -> ObjectView:
        """The object in some of the frames, in ascending order; `standing` holds since the last of those before."""
        standing = self.standing
        if standing is not None and not len(frames):
            standing = standing[:0]
        elif standing is not None:
            since = np.append(0, frames[:-1] + 1)
            standing = np.logical_and.reduceat(standing[: frames[-1] + 1], since) & (np.arange(len(frames)) > 0)
        pixels = None if self.pixels is None else self.pixels[frames]
        return ObjectView(self.stamp[frames], self.box[frames], self.centroid[frames], pixels, standing)


def object_views(
    tracks: Tracks, stamp: IntArray, standing: BoolArray | None = None, *, regions: bool = False
) -> list[ObjectView]:
    """Lay out the sightings of each track over the frames in which objects were looked for.

    `stamp`: int64 (F,), of all frames of the set, nanoseconds; `standing`: bool (F,), whether the camera has the pose
    of the frame before; None where not known; `regions`: give the pixels of regions.
    """
    seen = tracks.sightings
    frames = np.flatnonzero(seen.looked_at)
    still = None if standing is None else standing[frames] & np.append(False, np.diff(frames) == 1)
    box, centroid, pixels = (_with_nan_row(column) for column in (seen.box, seen.centroid, seen.pixels))
    return [
        ObjectView(stamp[frames], box[rows], centroid[rows], pixels[rows] if regions else None, still)
        for rows in tracks.by_frame()[:, frames]
    ]


def object_series(view: ObjectView, subject: str, start: float, *, paced: IntArray | None = None) -> list[Series]:
    """Measure one object over time.

    Args:
        start: seconds from which first and last sight count.
        paced: int64 (N,), stamps of the frames from which to measure what depends on how far frames lie apart:
            flicker, changes of sight, first and last sight; None for all.

    Returns:
        Box width and height, centroid and its velocity, whether the object is seen, changes of sight, box flicker;
        box flicker while standing and pixels of the region where the view has them; and first and last sight, which
        have a single value each, at `start`.
    """
    size = view.box[:, 2:] - view.box[:, :2]
    velocity = centroid_velocity(view.elapsed, view.centroid)
    steps = view if paced is None else view.take(np.flatnonzero(np.isin(view.stamp, paced)))
    over_time = [
        ("box width", "px", view, size[:, 0]),
        ("box height", "px", view, size[:, 1]),
        *((f"centroid {axis}", "px", view, view.centroid[:, i]) for i, axis in enumerate(_AXES)),
        *((f"centroid velocity {axis}", "px/s", view, velocity[:, i]) for i, axis in enumerate(_AXES)),
        ("seen", "", view, view.seen.astype(np.float64)),
        ("sight changes", "", steps, sight_changes(steps.seen)),
        ("box flicker", "px", steps, flicker_in_motion(steps.elapsed, steps.box)),
    ]
    if steps.standing is not None:
        standing = flicker_while_standing(steps.box, steps.standing)
        over_time.append(("box flicker while standing", "px", steps, standing))
    if view.pixels is not None:
        over_time.append(("region pixels", "px", view, view.pixels))
    shown = steps.time[steps.seen]
    ends = (shown[0] - start, shown[-1] - start) if len(shown) else (np.nan, np.nan)
    single = [
        Series(metric, "s", subject, np.array([start]), np.array([value]))
        for metric, value in zip(("first sight", "last sight"), ends, strict=True)
    ]
    return [*(Series(metric, unit, subject, of.time, value) for metric, unit, of, value in over_time), *single]


def centroid_velocity(time: FloatArray, centroid: FloatArray) -> FloatArray:
    """Velocity of a centroid by differences of second order over each run of frames that show the object.

    `time`: float64 (F,), seconds, strictly ascending; `centroid`: float64 (F, 2), pixels; NaN where the object is not
    seen; returns float64 (F, 2), px/s: the slope of the parabola through the frame and its two neighbours, at the ends
    of a run the slope to the one neighbour; NaN where the object is not seen, or in one frame only.
    """
    out = np.full(centroid.shape, np.nan)
    for run in seen_runs(np.isfinite(centroid[:, 0])):
        if len(run) > 1:
            out[run] = np.gradient(centroid[run], time[run], axis=0)
    return out


def seen_runs(seen: BoolArray) -> list[IntArray]:
    """Find the runs of neighbouring frames that show an object. `seen`: bool (F,)."""
    shown = np.flatnonzero(seen)
    return np.split(shown, np.flatnonzero(np.diff(shown) > 1) + 1) if len(shown) else []


def _with_nan_row(column: FloatArray) -> FloatArray:
    """A column whose last row is NaN, for sightings numbered -1."""
    return np.concatenate([column, np.full((1, *column.shape[1:]), np.nan)])
