"""Where a sensor sits, as people write it in the files of cars and of sensors."""

from __future__ import annotations

import math
from typing import Annotated

from simjudge.core.documents import Fields
from simjudge.core.field_types import Number, Vector
from simjudge.geometry.poses import Pose

_LARGEST = 1e6
"""Metres or degrees; no mount has larger figures."""

Position = Annotated[tuple[float, float, float], Vector("x y z", largest=_LARGEST)]
Degrees = Annotated[float, Number(largest=_LARGEST)]


class MountFields(Fields):
    """Where a sensor sits, in base_link (x ahead, y left, z up)."""

    position: Position
    """x, y, z, metres."""
    yaw: Degrees = 0.0
    """Degrees to the left."""
    pitch: Degrees = 0.0
    """Degrees nose down."""
    roll: Degrees = 0.0
    """Degrees to the right."""

    def pose(self) -> Pose:
        """The sensor's frame in base_link."""
        yaw, pitch, roll = (math.radians(angle) for angle in (self.yaw, self.pitch, self.roll))
        return Pose.from_euler(*self.position, yaw=yaw, pitch=pitch, roll=roll)
