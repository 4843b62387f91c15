"""The units in which messages to a car say its steering."""

from __future__ import annotations

LOCK, RADIANS = "of full lock", "rad"
"""Units of steering: -1 to 1, or the angle of the front wheels."""
_ACKERMANN = ("ackermann_msgs/msg/AckermannDriveStamped", "ackermann_msgs/msg/AckermannDrive")


def steering_unit(kind: str) -> str | None:
    """The unit in which messages of a type say how a car is steered.

    Returns:
        LOCK or RADIANS; None where it does not say it (a Twist asks for a turn, not for an angle).
    """
    if kind in _ACKERMANN:
        return RADIANS
    return LOCK if kind.endswith("/VehicleInput") else None
