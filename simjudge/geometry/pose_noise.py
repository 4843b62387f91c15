"""Poses a little off, as a motion capture's or a calibration's error would put them: for the pointwise study."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass

import numpy as np

from simjudge.core.errors import UsageError
from simjudge.geometry.poses import Pose

_STREAM = 0x706F7365
"""Keeps these numbers apart from those of the filters, which follow from seed and frame name too."""


@dataclass(frozen=True)
class PoseNoise:
    """Normal errors, independent of one another and from frame to frame.

    Attributes:
        angle: standard deviation of yaw, pitch and roll each, radians.
        position: standard deviation of x, y and z each, metres.
    """

    angle: float = math.radians(1.0)
    position: float = 0.01

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not (0 <= self.angle < math.inf and 0 <= self.position < math.inf):
            raise UsageError(f"pose noise of {self.angle} rad and {self.position} m: 0 or more are needed")

    def error(self, seed: int, frame_name: str) -> Pose:
        """Draw the error of one frame; the same seed and name give the same error."""
        entropy = (_STREAM, seed, zlib.crc32(frame_name.encode()))
        yaw, pitch, roll, x, y, z = np.random.default_rng(entropy).standard_normal(6).tolist()
        angle, metres = self.angle, self.position
        return Pose.from_euler(
            metres * x, metres * y, metres * z, yaw=angle * yaw, pitch=angle * pitch, roll=angle * roll
        )
