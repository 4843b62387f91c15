"""What ideal sensors on a moving body measure: turn rate, specific force, magnetic field, position.

A signal is given by its values at the start and at the end of each segment between two samples of the motion, in the
sensor's axes. Accelerations that are not given follow from the change of the velocity of the sensor's place.
"""

from __future__ import annotations

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.geometry.poses import Pose
from simjudge.sim.sensors.inertial.motion import SECOND, Motion, cross, rotate, rotate_back

GRAVITY = 9.81
"""m/s^2, down; the engines' own."""
Segments = tuple[FloatArray, FloatArray]


def turn_rate(motion: Motion, mount: Pose) -> Segments:
    """What a gyroscope measures, rad/s.

    Returns:
        float64 (N - 1, 3) each.
    """
    rate = _to_sensor(mount, motion.angular_velocity)
    return rate[:-1], rate[1:]


def specific_force(motion: Motion, mount: Pose) -> Segments:
    """What an accelerometer measures, m/s^2: acceleration less gravity, +9.81 upwards at rest.

    At r from the body's origin it is a + alpha x r + omega x (omega x r) - g.

    Returns:
        float64 (N - 1, 3) each.
    """
    arm, up = np.array(mount.position), np.array([0.0, 0.0, GRAVITY])
    if motion.acceleration is not None and motion.angular_acceleration is not None:
        turning = cross(motion.angular_acceleration, arm)
        turning = turning + cross(motion.angular_velocity, cross(motion.angular_velocity, arm))
        felt = _to_sensor(mount, rotate_back(motion.orientation, motion.acceleration + up) + turning)
        return felt[:-1], felt[1:]
    velocity = motion.velocity + rotate(motion.orientation, cross(motion.angular_velocity, arm))
    seconds = np.diff(motion.stamp)[:, None] / SECOND
    force = (velocity[1:] - velocity[:-1]) / seconds + up
    begin, end = rotate_back(motion.orientation[:-1], force), rotate_back(motion.orientation[1:], force)
    return _to_sensor(mount, begin), _to_sensor(mount, end)


def field_in_sensor(motion: Motion, mount: Pose, field: FloatArray) -> Segments:
    """What a magnetometer measures.

    Args:
        field: (3,), of the earth, east, north, up.

    Returns:
        float64 (N - 1, 3) each, in the field's unit.
    """
    seen = _to_sensor(mount, rotate_back(motion.orientation, field))
    return seen[:-1], seen[1:]


def place(motion: Motion, mount: Pose) -> Segments:
    """Where a sensor is in the world, metres.

    Returns:
        float64 (N - 1, 3) each.
    """
    position = motion.position + rotate(motion.orientation, np.array(mount.position))
    return position[:-1], position[1:]


def _to_sensor(mount: Pose, vector: FloatArray) -> FloatArray:
    return rotate_back(np.array([mount.orientation]), vector)
