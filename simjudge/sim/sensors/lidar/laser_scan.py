"""A scan of one ring as sensor_msgs/LaserScan, as drivers of 2-D scanners publish it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import UsageError
from simjudge.sim.sensors.lidar.lidar import Lidar
from simjudge.sim.sensors.lidar.scan import Scan

SCAN_TYPE = "sensor_msgs/msg/LaserScan"


def makes_laser_scans(lidar: Lidar) -> bool:
    """Whether a lidar's scans can be LaserScans: one level ring, one return a beam."""
    return lidar.elevation == (0.0,) and lidar.returns != "dual"


def scan_message(find: Callable[[str], Any], header: Any, lidar: Lidar, scan: Scan) -> Any:
    """Make a LaserScan.

    REP 117: beams with nothing in reach read +inf. The header's stamp should be that of the first beam
    (sensor_msgs/LaserScan): the end of the turn less the window.

    Returns:
        The message; ranges in metres, counter-clockwise (angle_increment is below 0 where the head turns clockwise).
    """
    if not makes_laser_scans(lidar):
        raise UsageError(f"{lidar.name}: a LaserScan needs one ring at elevation 0 and one return a beam")
    sense = -1.0 if lidar.clockwise else 1.0
    parts = lidar.columns if lidar.full_turn else max(lidar.columns - 1, 1)
    increment = sense * lidar.field_of_view / parts
    start = lidar.start if lidar.start is not None else -sense * lidar.field_of_view / 2
    ranges = np.full(lidar.columns, math.inf, np.float32)
    intensities = np.zeros(lidar.columns, np.float32)
    ranges[scan.column], intensities[scan.column] = scan.range, scan.intensity
    return find(SCAN_TYPE)(
        header=header, angle_min=start, angle_max=start + increment * (lidar.columns - 1), angle_increment=increment,
        time_increment=lidar.window / lidar.columns, scan_time=1 / lidar.rate, range_min=lidar.range[0],
        range_max=lidar.range[1], ranges=ranges, intensities=intensities,
    )  # fmt: skip


def scan_points(message: Any) -> FloatArray:
    """The points of a LaserScan.

    Returns:
        (N, 3), in the scanner's frame, metres; beams without a return within range_min to range_max have none.
    """
    ranges = np.asarray(message.ranges, np.float64)
    angle = message.angle_min + message.angle_increment * np.arange(len(ranges))
    hit = np.isfinite(ranges) & (ranges >= message.range_min) & (ranges <= message.range_max)
    points = np.stack([ranges * np.cos(angle), ranges * np.sin(angle), np.zeros(len(ranges))], -1)
    return np.asarray(points[hit])
