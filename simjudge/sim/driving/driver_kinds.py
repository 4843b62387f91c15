"""Who can drive, by name."""

from __future__ import annotations

CONES = "cones"  # By cones that a detector finds in the camera's images
LIDAR = "lidar"  # By a lidar, between two barriers
MANUAL = "manual"  # By hand: keys, and on a graph a joystick or a wanted speed
STRAIGHT = "straight"  # Along the course's line by the car's true pose, at a set speed: it looks at nothing
OTHER = "other"  # By software of somebody else's, on a graph
DRIVERS = (CONES, LIDAR, MANUAL, STRAIGHT)  # Who can drive without a graph
DEFAULT_LIDAR = "vlp16"  # The sensors of a car that drives by lidar and whose user names none
