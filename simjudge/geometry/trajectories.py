"""Recorded poses made clean, and poses at any time between them.

Positions go linearly from pose to pose, orientations along the shortest arc at constant speed (slerp: Shoemake,
"Animating rotation with quaternion curves", 1985). What lies outside the recorded time, in a gap, or across a jump is
never made up: it is an error that says what would help, or it is left out and counted.

The arc is computed here from SciPy's `Rotation`. SciPy's own `Slerp` takes times as floats, which hold no nanoseconds
since 1970, and gives a recorded orientation back with other last bits; here a time that has a pose gets that pose.
Poses that tf gave through several links go link by link, as tf2's `BufferCore::lookupTransform` takes them.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.settings import MotionLimitSettings
from simjudge.geometry.poses import NEAR_UNIT, Pose, Trajectory, TrajectoryLink

log = logging.getLogger(__name__)

_SECOND = 1_000_000_000
FARTHEST = 1e12  # Metres from the origin, or length of a quaternion, at most: squares and differences stay finite
_SHORTEST_QUATERNION = 1e-6
_JITTER = 0.1  # Metres that an estimate may move at once, however short the time
_JITTER_ANGLE = math.radians(10)  # Radians that an estimate may turn at once, however short the time


def clean_trajectory(blank: Trajectory, where: Callable[[int], str], losses: Losses, what: str = "poses") -> Trajectory:
    """Rows as they were read, made a trajectory: finite, unit quaternions, in order of time, each stamp once.

    Rows out of order are put in order, and rows that repeat a stamp with the same pose are dropped, for nothing is lost
    by that; the first is said. Of rows that contradict each other under one stamp the first stays.
    """
    stamp, pose = np.asarray(blank.stamp, np.int64), np.hstack([blank.position, blank.orientation])
    finite = np.asarray(np.isfinite(pose).all(axis=1), np.bool_)
    usable = np.asarray((np.abs(pose) <= FARTHEST).all(axis=1), np.bool_)
    length = np.linalg.norm(np.where(usable[:, None], blank.orientation, 0.0), axis=1)
    has_rotation = length > _SHORTEST_QUATERNION
    _count(losses, f"{what} with numbers that are not finite", np.flatnonzero(~finite), where)
    _count(losses, f"{what} with numbers beyond {FARTHEST:g}", np.flatnonzero(finite & ~usable), where)
    _count(losses, f"{what} with a zero quaternion", np.flatnonzero(usable & ~has_rotation), where)
    kept = np.flatnonzero(usable & has_rotation)
    if not len(kept):
        why = f" ({losses.lines()[0]})" if losses else ""
        raise SimjudgeError(f"{blank.name}: holds no pose that can be used{why}")
    back = np.flatnonzero(np.diff(stamp[kept]) < 0)
    if len(back):
        row = int(kept[back[0] + 1])
        log.warning(
            "%s: %d %s come later than their stamps say, the first: %s; they are put in order of their stamps",
            blank.name,
            len(back),
            what,
            where(row),
        )
    kept = kept[np.argsort(stamp[kept], kind="stable")]
    repeated = np.r_[False, np.diff(stamp[kept]) == 0]
    # For each row the first one of its stamp: repeated rows carry the last place that is no repeat.
    first = kept[np.maximum.accumulate(np.where(repeated, 0, np.arange(len(kept))))]
    differs = (pose[kept] != pose[first]).any(axis=1)
    _count(losses, f"{what} that contradict another one of the same stamp", kept[repeated & differs], where)
    kept = kept[~repeated]
    # As `Pose` has it: a unit quaternion stays what it is to the last bit.
    scale = np.where(np.abs(length[kept] - 1) < NEAR_UNIT, 1.0, length[kept])
    unit = pose[kept, 3:] / scale[:, None]
    return replace(blank, stamp=stamp[kept], position=pose[kept, :3], orientation=unit)


def _count(losses: Losses, kind: str, rows: npt.NDArray[np.intp], where: Callable[[int], str]) -> None:
    for row in rows.tolist():
        losses.add(kind, where(row) if len(losses.examples.get(kind, [])) < losses.named_per_kind else "")


@dataclass(frozen=True)
class MotionLimits:
    """What is believed between two poses."""

    # Seconds between two poses, at most, for anything between them to be believed.
    max_gap: float = MotionLimitSettings.max_gap
    max_speed: float = MotionLimitSettings.max_speed  # m/s; two poses further apart (beyond 0.1 m) are a jump
    # Rad/s; two poses turned by more (beyond 10 degrees) are a jump.
    max_turn: float = math.radians(MotionLimitSettings.max_turn)
    skip_gaps: bool = False  # leave out and count what lies in gaps; else it is an error

    def __post_init__(self) -> None:
        for name in ("max_gap", "max_speed", "max_turn"):
            if not 0 < getattr(self, name) < math.inf:
                raise UsageError(f"{name} {getattr(self, name)}: must be above 0, and finite")


DEFAULT_MOTION_LIMITS = MotionLimits()


class TrajectoryInterpolator:
    """Poses of a trajectory at any time within it."""

    def __init__(self, trajectory: Trajectory, limits: MotionLimits = DEFAULT_MOTION_LIMITS) -> None:
        if len(trajectory) < 2:
            raise SimjudgeError(f"{trajectory.name}: holds one pose only; nothing moves between fewer than two")
        self.trajectory, self.limits = trajectory, limits

    def covers(self, stamp: npt.ArrayLike) -> BoolArray:
        """Tell whether times lie within the recorded ones: bool (N,); stamp: integers (N,), nanoseconds."""
        at = np.asarray(stamp, np.int64)
        return np.asarray((at >= self.trajectory.stamp[0]) & (at <= self.trajectory.stamp[-1]))

    def in_gap(self, stamp: npt.ArrayLike) -> BoolArray:
        """Tell whether times lie between poses that are more than `max_gap` apart: bool (N,); stamp: integers (N,)."""
        row, share = self._find(np.asarray(stamp, np.int64))
        stamps = self.trajectory.stamp
        return (stamps[row + 1] - stamps[row] > self.limits.max_gap * _SECOND) & (share > 0) & (share < 1)

    def jumps(self, first: int, last: int) -> IntArray:
        """Rows int64 (K,) of the poses that cannot be reached from the pose before at `max_speed` and `max_turn`."""
        t = self.trajectory
        seconds = np.diff(t.stamp) / _SECOND
        # A constant beside the speed: noise of poses close in time is no jump.
        far = np.linalg.norm(np.diff(t.position, axis=0), axis=1) > _JITTER + self.limits.max_speed * seconds
        rotation = Rotation.from_quat(t.orientation)
        angle = (rotation[:-1].inv() * rotation[1:]).magnitude()
        spun = angle > _JITTER_ANGLE + np.minimum(self.limits.max_turn * seconds, math.pi)
        used = (t.stamp[1:] > first) & (t.stamp[:-1] < last)
        return (np.flatnonzero((far | spun) & used) + 1).astype(np.int64)

    def sample(self, stamp: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Interpolate position and orientation: positions float64 (N, 3); stamp: integers (N,), nanoseconds."""
        at = np.asarray(stamp, np.int64).reshape(-1)
        if not self.covers(at).all():
            off = int(at[~self.covers(at)][0])
            raise SimjudgeError(f"{self.trajectory.name}: has no pose at {off / _SECOND:.6f} s; {self._span()}")
        if self.trajectory.links:
            placed, turned = compose_links(self.trajectory.links, at)
            return placed, turned.as_quat()
        row, share = self._find(at)
        position, orientation = self.trajectory.position, Rotation.from_quat(self.trajectory.orientation)
        # The rotation from one pose to the next, in the axes of the first; a part of its vector is slerp.
        arc = (orientation[row].inv() * orientation[row + 1]).as_rotvec()
        turned = (orientation[row] * Rotation.from_rotvec(arc * share[:, None])).as_quat()
        # A pose that is there is taken to the last bit, whether another one follows by now or not.
        there, index = (share == 0) | (share == 1), np.where(share < 1, row, row + 1)
        turned[there] = self.trajectory.orientation[index[there]]
        return (1 - share)[:, None] * position[row] + share[:, None] * position[row + 1], turned

    def poses(self, stamp: npt.ArrayLike) -> list[Pose]:
        """Interpolate poses, as `sample` does (stamp: integers (N,), nanoseconds)."""
        position, orientation = self.sample(stamp)
        rows = zip(position.tolist(), orientation.tolist(), strict=True)
        return [Pose(tuple(at), tuple(quaternion)) for at, quaternion in rows]

    def _find(self, at: IntArray) -> tuple[IntArray, FloatArray]:
        """The pose before each time, and how far it is on the way to the next: 0 to 1."""
        stamps = self.trajectory.stamp
        # The last pose is the end of the segment before it.
        row = np.clip(np.searchsorted(stamps, at, "right") - 1, 0, len(stamps) - 2)
        return row, (at - stamps[row]) / (stamps[row + 1] - stamps[row])

    def _span(self) -> str:
        first, last = self.trajectory.stamp[[0, -1]] / _SECOND
        return f"its poses are from {first:.3f} s to {last:.3f} s"


def compose_links(links: Sequence[TrajectoryLink], stamp: IntArray) -> tuple[FloatArray, Rotation]:
    """Positions (N, 3) and rotations of the end of a chain of transforms, each link interpolated by itself."""
    position, rotation = np.zeros((len(stamp), 3)), Rotation.identity(len(stamp))
    for link in links:
        its_position, its_rotation = _link_poses(link.trajectory, stamp)
        if link.is_upward:
            back = its_rotation.inv()
            # The inverse of x -> R x + t is x -> R^-1 x - R^-1 t.
            its_position, its_rotation = -back.apply(its_position), back
        position, rotation = position + rotation.apply(its_position), rotation * its_rotation
    return position, rotation


def _link_poses(link: Trajectory, stamp: IntArray) -> tuple[FloatArray, Rotation]:
    if len(link) == 1:
        rotation = Rotation.from_quat(np.tile(link.orientation[0], (len(stamp), 1)))
        return np.tile(link.position[0], (len(stamp), 1)), rotation
    position, orientation = TrajectoryInterpolator(link).sample(stamp)
    return position, Rotation.from_quat(orientation)


@dataclass(frozen=True)
class FrameTiming:
    """When frames need poses."""

    before: int = 0  # nanoseconds before its stamp that a frame needs poses for: its exposure
    after: int = 0  # nanoseconds after its stamp, likewise
    offset: int = 0  # nanoseconds that are added to frames' stamps to get the poses' time


def frames_with_poses(
    interpolation: TrajectoryInterpolator,
    stamp: IntArray,
    where: Callable[[int], str],
    losses: Losses,
    timing: FrameTiming = FrameTiming(),
    clock_offset: Callable[[], int | None] = lambda: None,
) -> BoolArray:
    """Find the frames that have poses; the others are counted, or an error (stamp: int64 (F,)). Bool (F,)."""
    begin, end = stamp + timing.offset - timing.before, stamp + timing.offset + timing.after
    inside = interpolation.covers(begin) & interpolation.covers(end)
    name = interpolation.trajectory.name
    if not inside.any():
        raise SimjudgeError(_no_overlap(interpolation.trajectory, stamp, timing.offset, clock_offset()))
    first, last = interpolation.trajectory.stamp[[0, -1]].tolist()
    for early, kind in ((True, "before the first pose"), (False, "after the last pose")):
        for frame in np.flatnonzero((begin < first) if early else (end > last) & (begin >= first)).tolist():
            losses.add(f"frames {kind} of {name}", where(frame))
    _refuse_jumps(interpolation, int(begin[inside].min()), int(end[inside].max()))
    gaps = inside & (interpolation.in_gap(begin) | interpolation.in_gap(end))
    if gaps.any() and not interpolation.limits.skip_gaps:
        frame = int(np.flatnonzero(gaps)[0])
        raise SimjudgeError(_gap(interpolation, int(begin[frame]), where(frame), int(gaps.sum())))
    for frame in np.flatnonzero(gaps).tolist():
        losses.add(f"frames in gaps of {name}", where(frame))
    if not (inside & ~gaps).any():
        raise SimjudgeError(f"{name}: every frame lies in a gap of its poses; raise --max-gap if they may be believed")
    return inside & ~gaps


def _no_overlap(trajectory: Trajectory, stamp: IntArray, offset: int, clock_offset: int | None) -> str:
    first, last = (trajectory.stamp[[0, -1]] / _SECOND).tolist()
    begin, end = (np.array([stamp.min(), stamp.max()]) / _SECOND).tolist()
    shifted = f" with --time-offset {offset / _SECOND:g}" if offset else ""
    if clock_offset is not None and begin + clock_offset / _SECOND <= last and end + clock_offset / _SECOND >= first:
        helps, why = clock_offset, "by the times at which both were recorded"
    else:
        helps, why = int(trajectory.stamp[0] - stamp.min()), "if both begin together"
    return (
        f"{trajectory.name}: no frame has a pose: the poses are from {first:.3f} s to {last:.3f} s, the frames from"
        f" {begin:.3f} s to {end:.3f} s{shifted}; --time-offset {helps / _SECOND:.3f} would bring them together ({why})"
    )


def _refuse_jumps(interpolation: TrajectoryInterpolator, first: int, last: int) -> None:
    t, limits = interpolation.trajectory, interpolation.limits
    rows = interpolation.jumps(first, last)
    if not len(rows):
        return
    row = int(rows[0])
    seconds = (t.stamp[row] - t.stamp[row - 1]) / _SECOND
    metres = float(np.linalg.norm(t.position[row] - t.position[row - 1]))
    before = t.pose(row - 1).inverse() @ t.pose(row)
    degrees = math.degrees(Rotation.from_quat(before.orientation).magnitude())
    more = f" (and {len(rows) - 1} more jumps)" if len(rows) > 1 else ""
    raise SimjudgeError(
        f"{t.name}: jumps at {t.stamp[row] / _SECOND:.3f} s by {metres:.3g} m and {degrees:.3g} degrees in"
        f" {seconds:.3g} s{more}; more than {limits.max_speed:g} m/s or {math.degrees(limits.max_turn):g} degrees/s"
        " are not believed: replay the part before or after it, or raise --max-speed or --max-turn"
    )


def _gap(interpolation: TrajectoryInterpolator, at: int, where: str, count: int) -> str:
    stamps = interpolation.trajectory.stamp
    row = min(max(int(np.searchsorted(stamps, at, "right")) - 1, 0), len(stamps) - 2)
    seconds = (stamps[row + 1] - stamps[row]) / _SECOND
    more = f" (and {count - 1} more frames in gaps)" if count > 1 else ""
    return (
        f"{interpolation.trajectory.name}: has no pose for {seconds:.3g} s from {stamps[row] / _SECOND:.3f} s on, where"
        f" {where} lies{more}; poses further apart than {interpolation.limits.max_gap:g} s are not believed: raise"
        " --max-gap, or leave such frames out with --skip-gaps"
    )
