"""Poses of several bodies at a few common times, and between them, for loops that ask millions of times.

Between two keyframes positions go linearly and orientations along the shortest arc at constant speed (slerp), as in
`simjudge.geometry.trajectories`; before the first and after the last keyframe a body stands. Times are seconds from an
instant of the caller's choice: what lies within a sensor's window needs no nanoseconds since 1970.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import FloatArray, ShortRepr
from simjudge.core.numba_cache import njit
from simjudge.geometry.poses import Pose

_STRAIGHT = 1 - 1e-12  # Cosine of half an angle above which an arc is as good as straight


@dataclass(frozen=True, eq=False, repr=False)
class Keyframes(ShortRepr):
    """B bodies at K times."""

    time: FloatArray  # (K,), seconds, increasing; K is 1 or more
    position: FloatArray  # (K, B, 3), metres
    orientation: FloatArray  # (K, B, 4), unit quaternions x, y, z, w

    @classmethod
    def build(cls, times: Sequence[float], poses: Sequence[Sequence[Pose]]) -> Keyframes:
        """Put poses together (times: seconds, increasing)."""
        position = np.array([[pose.position for pose in track] for track in poses], np.float64)
        orientation = np.array([[pose.orientation for pose in track] for track in poses], np.float64)
        bodies = len(poses[0])
        return cls(
            np.array(times, np.float64),
            position.reshape(len(times), bodies, 3),
            orientation.reshape(len(times), bodies, 4),
        )

    def arrays(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Time, position and orientation, as `place_body` takes them."""
        return self.time, self.position, self.orientation

    def at(self, time: FloatArray, body: int = 0) -> tuple[FloatArray, FloatArray]:
        """Interpolate the poses of one body: rotation matrices (N, 3, 3); time (N,), seconds."""
        rotation, position = np.empty((len(time), 3, 3)), np.empty((len(time), 3))
        _place_all(self.arrays(), body, np.ascontiguousarray(time, np.float64), rotation, position)
        return rotation, position

    def pose_at(self, time: float, body: int = 0) -> Pose:
        """Interpolate the pose of one body at one time (time: seconds)."""
        position = np.empty(3)
        orientation = _interpolate(self.arrays(), body, time, position)
        x, y, z = position.tolist()
        return Pose((x, y, z), orientation)


@njit(cache=True, nogil=True)
def place_body(keyframes, body, time, rotation, position):  # type: ignore[no-untyped-def]
    """Write the pose of a body at a time into `rotation` (3, 3) and `position` (3,) (time: seconds)."""
    x, y, z, w = _interpolate(keyframes, body, time, position)
    # By the squared length, so that quaternions of any length give a rotation.
    double = 2 / (x * x + y * y + z * z + w * w)
    rotation[0, 0], rotation[1, 1] = 1 - double * (y * y + z * z), 1 - double * (x * x + z * z)
    rotation[2, 2] = 1 - double * (x * x + y * y)
    rotation[0, 1], rotation[1, 0] = double * (x * y - w * z), double * (x * y + w * z)
    rotation[0, 2], rotation[2, 0] = double * (x * z + w * y), double * (x * z - w * y)
    rotation[1, 2], rotation[2, 1] = double * (y * z - w * x), double * (y * z + w * x)


@njit(cache=True, nogil=True)
def _interpolate(keyframes, body, time, position):  # type: ignore[no-untyped-def]
    """Write where a body is at a time into `position` (3,); returns its orientation x, y, z, w, of any length."""
    times, positions, orientations = keyframes
    last = len(times) - 1
    # The keyframe before, and at the ends one that has a neighbour.
    row = min(max(np.searchsorted(times, time, side="right") - 1, 0), max(last - 1, 0))
    following = min(row + 1, last)
    share = 0.0 if following == row else (time - times[row]) / (times[following] - times[row])
    share = min(max(share, 0.0), 1.0)
    for k in range(3):
        position[k] = (1 - share) * positions[row, body, k] + share * positions[following, body, k]
    cosine = 0.0
    for k in range(4):
        cosine += orientations[row, body, k] * orientations[following, body, k]
    one, other = 1 - share, share
    if abs(cosine) < _STRAIGHT:
        # Slerp (Shoemake, 1985); near 0 the sine in the denominator would be rounding, and lines do as well.
        angle = math.acos(min(abs(cosine), 1.0))
        scale = 1 / math.sin(angle)
        one, other = math.sin((1 - share) * angle) * scale, math.sin(share * angle) * scale
    if cosine < 0:  # q and -q are one orientation: take the shorter arc
        other = -other
    x = one * orientations[row, body, 0] + other * orientations[following, body, 0]
    y = one * orientations[row, body, 1] + other * orientations[following, body, 1]
    z = one * orientations[row, body, 2] + other * orientations[following, body, 2]
    w = one * orientations[row, body, 3] + other * orientations[following, body, 3]
    return x, y, z, w


@njit(cache=True, nogil=True)
def _place_all(keyframes, body, times, rotation, position):  # type: ignore[no-untyped-def]
    for n in range(len(times)):
        place_body(keyframes, body, times[n], rotation[n], position[n])
