"""Errors of an estimated trajectory: absolute and relative pose errors, as evo and the TUM RGB-D benchmark define them.

Sturm et al., "A benchmark for the evaluation of RGB-D SLAM systems", IROS 2012. The alignment is Umeyama,
"Least-squares estimation of transformation parameters between two point patterns", IEEE PAMI 13 (1991).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.geometry.error_names import FRAMES, METRES, NONE, ORIGIN, SIM3
from simjudge.geometry.poses import Trajectory

_SECOND = 1_000_000_000
_FLAT = np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False, repr=False)
class Alignment(ShortRepr):
    """A similarity transform that brings an estimate to the truth: scale, then rotation, then translation."""

    rotation: Rotation
    translation: FloatArray  # (3,), metres
    scale: float = 1.0

    def apply(self, trajectory: Trajectory) -> Trajectory:
        """Transform the poses of a trajectory."""
        position = self.scale * self.rotation.apply(trajectory.position) + self.translation
        orientation = (self.rotation * Rotation.from_quat(trajectory.orientation)).as_quat()
        return replace(trajectory, position=position, orientation=orientation, links=())


def associate_poses(truth: Trajectory, estimate: Trajectory, longest: int) -> tuple[IntArray, IntArray]:
    """Rows of the truth and of the estimate that are of one time, for each pose of the one with fewer poses.

    `longest`: nanoseconds that two stamps of one time may differ by.
    """
    # As evo: each pose of the shorter trajectory gets the nearest of the longer one.
    swapped = len(truth) < len(estimate)
    few, many = (truth.stamp, estimate.stamp) if swapped else (estimate.stamp, truth.stamp)
    after = np.clip(np.searchsorted(many, few, side="right"), 1, max(1, len(many) - 1))
    after = np.minimum(after, len(many) - 1)
    before = np.maximum(after - 1, 0)
    later, earlier = np.abs(many[after] - few), np.abs(few - many[before])
    # Of equally near ones the earlier.
    nearest = np.where(later < earlier, after, before)
    kept = np.flatnonzero(np.minimum(later, earlier) <= longest)
    rows = (kept.astype(np.int64), nearest[kept].astype(np.int64))
    return rows if swapped else (rows[1], rows[0])


def take_poses(trajectory: Trajectory, rows: IntArray) -> Trajectory:
    """Some poses of a trajectory, in the order of `rows`."""
    return replace(
        trajectory,
        stamp=trajectory.stamp[rows],
        position=trajectory.position[rows],
        orientation=trajectory.orientation[rows],
        links=(),
    )


def align_poses(truth: Trajectory, estimate: Trajectory, kind: str) -> Alignment:
    """Find what brings an estimate to the truth; both have the same number of poses, row by row of one time."""
    if kind == ORIGIN:
        first, start = Rotation.from_quat(truth.orientation[0]), Rotation.from_quat(estimate.orientation[0])
        rotation = first * start.inv()
        return Alignment(rotation, truth.position[0] - rotation.apply(estimate.position[0]))
    if kind == NONE:
        return Alignment(Rotation.identity(), np.zeros(3))
    x, y = estimate.position, truth.position
    mean_x, mean_y = x.mean(0), y.mean(0)
    # Umeyama, Least-squares estimation of transformation parameters, IEEE PAMI 13 (1991), equations 38 to 42.
    covariance = (y - mean_y).T @ (x - mean_x) / len(x)
    left, singular, right = np.linalg.svd(covariance)
    if np.count_nonzero(singular > _FLAT) < 2:
        raise SimjudgeError(
            f"{estimate.name}: its poses lie at one place or on one line, which no rotation follows from;"
            f" align by the origin, or not at all (--align {ORIGIN})"
        )
    # The last axis is flipped where the best orthogonal matrix would be a reflection.
    mirror = np.array([1.0, 1.0, np.sign(np.linalg.det(left) * np.linalg.det(right)) or 1.0])
    rotation = left @ np.diag(mirror) @ right
    # Trace of the singular values over the variance of the estimate.
    scale = float(singular @ mirror / ((x - mean_x) ** 2).sum(1).mean()) if kind == SIM3 else 1.0
    return Alignment(Rotation.from_matrix(rotation), mean_y - scale * rotation @ mean_x, scale)


def absolute_errors(truth: Trajectory, estimate: Trajectory) -> FloatArray:
    """Absolute pose errors of each pose: float64 (N, 2), metres of translation and degrees of rotation."""
    metres = np.linalg.norm(estimate.position - truth.position, axis=1)
    turned = Rotation.from_quat(estimate.orientation).inv() * Rotation.from_quat(truth.orientation)
    return np.column_stack([metres, np.degrees(turned.magnitude())])


def relative_errors(truth: Trajectory, estimate: Trajectory, pairs: IntArray) -> FloatArray:
    """Relative pose errors of pairs of poses: float64 (P, 2), metres of translation and degrees of rotation.

    `pairs`: int64 (P, 2), rows of the first and the last pose.
    """
    (moved, turned), (seemed, felt) = _motion(truth, pairs), _motion(estimate, pairs)
    # Inverse of the true motion times the estimated one; its rotation changes no length.
    metres = np.linalg.norm(turned.inv().apply(seemed - moved), axis=1)
    return np.column_stack([metres, np.degrees((turned.inv() * felt).magnitude())])


def _motion(trajectory: Trajectory, pairs: IntArray) -> tuple[FloatArray, Rotation]:
    """From the first pose of each pair to its last one, in the body of the first."""
    rotation = Rotation.from_quat(trajectory.orientation)
    back = rotation[pairs[:, 0]].inv()
    step = trajectory.position[pairs[:, 1]] - trajectory.position[pairs[:, 0]]
    return back.apply(step), back * rotation[pairs[:, 1]]


def pose_pairs(trajectory: Trajectory, delta: float, unit: str) -> IntArray:
    """Consecutive pairs of poses that are `delta` apart: int64 (P, 2), each beginning where the one before ends."""
    if unit == FRAMES:
        ends = np.arange(0, len(trajectory), max(1, round(delta)))
    elif unit == METRES:
        ends = _stations(np.linalg.norm(np.diff(trajectory.position, axis=0), axis=1), delta)
    else:
        ends = _stations(np.diff(trajectory.stamp) / _SECOND, delta)
    return np.column_stack([ends[:-1], ends[1:]]).astype(np.int64)


def _stations(step: FloatArray, delta: float) -> IntArray:
    """Rows at which `delta` has been passed since the last of them; what is passed beyond it does not count."""
    rows, passed = [0], 0.0
    for row, length in enumerate(step.tolist(), 1):
        passed += length
        if passed >= delta:
            rows.append(row)
            passed = 0.0
    return np.array(rows, np.int64)


def path_length(trajectory: Trajectory) -> FloatArray:
    """Metres passed up to each pose: float64 (N,)."""
    step = np.linalg.norm(np.diff(trajectory.position, axis=0), axis=1)
    return np.concatenate([[0.0], np.cumsum(step)])
