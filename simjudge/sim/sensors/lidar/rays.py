"""The rays of a lidar's turn in the world: each starts where the sensor is when its beam fires."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from simjudge.core.arrays import FloatArray
from simjudge.core.display import ShortRepr
from simjudge.geometry.keyframes import Keyframes, place_body
from simjudge.sim.sensors.lidar.beams import lidar_beams
from simjudge.sim.sensors.lidar.lidar import Lidar


@dataclass(frozen=True, eq=False, repr=False)
class LidarRays(ShortRepr):
    """All rays of N beams of S rays, beam by beam.

    Attributes:
        origin, direction: (N S, 3), world, metres and unit.
        time: (N,), seconds from the stamp at which each beam fires, 0 or before.
    """

    origin: FloatArray
    direction: FloatArray
    time: FloatArray


def turn_rays(lidar: Lidar, sensor: Keyframes) -> LidarRays:
    """Aim all beams of one turn.

    Args:
        sensor: poses of its frame in the world (one body), seconds from the stamp, which is the end of the turn.
    """
    beams = lidar_beams(lidar)
    time = beams.time - lidar.window
    count, samples = beams.directions.shape[:2]
    origin, direction = np.empty((count, samples, 3)), np.empty((count, samples, 3))
    _aim(sensor.arrays(), time, beams.directions, origin, direction)
    return LidarRays(origin.reshape(-1, 3), direction.reshape(-1, 3), time)


@njit(cache=True, nogil=True)
def _aim(sensor, time, directions, origin, direction):  # type: ignore[no-untyped-def]
    rotation, position = np.empty((3, 3)), np.empty(3)
    placed = np.nan
    for n in range(len(time)):
        if time[n] != placed:
            placed = time[n]
            place_body(sensor, 0, placed, rotation, position)
        for s in range(directions.shape[1]):
            x, y, z = directions[n, s, 0], directions[n, s, 1], directions[n, s, 2]
            for k in range(3):
                origin[n, s, k] = position[k]
                direction[n, s, k] = rotation[k, 0] * x + rotation[k, 1] * y + rotation[k, 2] * z
