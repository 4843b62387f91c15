"""A third-person camera: behind and above a car, drawn after it smoothly, always looking at it."""

from __future__ import annotations

import math

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.geometry.poses import Pose
from simjudge.sim.sensors.camera.camera import SECOND
from simjudge.sim.sensors.camera.rig import Follow


class FollowCamera:
    """Where a camera that follows is, from time to time.

    Its place is `distance` behind and `height` above base_link, whatever the car's pitch and roll. The camera goes
    there by a first-order lag, which is integrated exactly while the place moves in a straight line between two times.
    A car at a steady speed v is therefore distance + v time_constant ahead of it.
    """

    def __init__(self, follow: Follow) -> None:
        """Begin at the place behind the car where it is first seen."""
        self._follow = follow
        self._time = 0
        self._place: FloatArray | None = None
        self._position = np.zeros(3)

    def pose(self, time: int, car: Pose) -> Pose:
        """The optical frame in the world; to be asked for in order of time.

        Args:
            time: nanoseconds.
        """
        follow, yaw = self._follow, car.angles()[0]
        base = np.array(car.position)
        behind_and_above = (-follow.distance * math.cos(yaw), -follow.distance * math.sin(yaw), follow.height)
        place: FloatArray = base + np.array(behind_and_above)
        if self._place is None or follow.time_constant == 0:
            self._position = place
        elif time > self._time:
            seconds = (time - self._time) / SECOND
            behind = (place - self._place) / seconds * follow.time_constant
            left = math.exp(-seconds / follow.time_constant)
            self._position = place - behind + (self._position - self._place + behind) * left
        self._time, self._place = time, place
        x, y, z = (base + np.array([0.0, 0.0, follow.aim]) - self._position).tolist()
        pitch = math.atan2(-z, math.hypot(x, y))
        eye = self._position.tolist()
        return Pose.from_euler(*eye, yaw=math.atan2(y, x), pitch=pitch, roll=0.0).optical_frame()
