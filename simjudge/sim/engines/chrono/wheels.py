"""Wheel angles and wheel speeds, as Chrono::Vehicle's wheeled vehicles tell them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.chrono.frames import frame_pose

LEFT = 0
"""VehicleSide::LEFT (ChSubsysDefs.h)."""
RIGHT = 1
"""VehicleSide::RIGHT (ChSubsysDefs.h)."""
SPINDLES = ((0, LEFT), (0, RIGHT), (1, LEFT), (1, RIGHT))
"""Axle and side of the wheels: front left, front right, rear left, rear right."""


def wheel_angles(wheeled: Any) -> tuple[float, float]:
    """Of the front wheels, left and right, radians, left positive, from where their axles point in the chassis.

    Returns:
        Left and right, radians.
    """
    chassis = frame_pose(wheeled.GetChassisBody().GetFrameRefToAbs())
    angles = []
    for side in (LEFT, RIGHT):
        rotation = wheeled.GetSpindleRot(0, side)
        axle = Pose(orientation=(rotation.e1, rotation.e2, rotation.e3, rotation.e0)).rotation_matrix()[:, 1]
        x, y, _ = (chassis.rotation_matrix().T @ axle).tolist()
        angles.append(-math.atan2(x, y))
    return angles[0], angles[1]


def wheel_spins(wheeled: Any) -> FloatArray:
    """(4,) in the car, rad/s about their axles, positive ahead.

    From the spindles' own turning: GetSpindleOmega is that of a shaft whose axis points to the right, and negative
    when the car goes ahead.

    Returns:
        Float64 (4,), rad/s.
    """
    body = wheeled.GetChassisBody().GetAngVelParent()
    spins = []
    for axle, side in SPINDLES:
        rotation, speed = wheeled.GetSpindleRot(axle, side), wheeled.GetSpindleAngVel(axle, side)
        x, y, z, w = rotation.e1, rotation.e2, rotation.e3, rotation.e0
        left = (2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x))
        spins.append((speed.x - body.x) * left[0] + (speed.y - body.y) * left[1] + (speed.z - body.z) * left[2])
    return np.array(spins)


def bicycle_angle(left: float, right: float) -> float:
    """The angle of a single front wheel in the middle: its cotangent is the mean of theirs.

    Args:
        left: angle of the left front wheel, radians.
        right: angle of the right front wheel, radians.
    """
    a, b = math.tan(left), math.tan(right)
    return math.atan(2 * a * b / (a + b) if a * b > 0 else (a + b) / 2)
