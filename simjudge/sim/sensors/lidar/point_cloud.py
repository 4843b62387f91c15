"""A scan's points as a table: a row a point, with the fields that drivers publish, and the truth beside it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simjudge.data.clouds import Table
from simjudge.sim.sensors.lidar.scan import Scan

POINT = np.dtype(
    [("x", "f4"), ("y", "f4"), ("z", "f4"), ("intensity", "f4"), ("ring", "u2"), ("time", "f4")], align=False
)
"""As velodyne_pointcloud publishes its points: `time` is in seconds from the message's stamp."""
TRUE_POINT = np.dtype(
    [("x", "f4"), ("y", "f4"), ("z", "f4"), ("class_id", "u2"), ("instance", "u2"), ("ring", "u2"), ("time", "f4")]
)
"""The truth beside each point, in the same order."""


def point_table(scan: Scan) -> Table:
    """The points of a scan as a driver publishes them."""
    table = np.empty(len(scan), POINT)
    table["x"], table["y"], table["z"] = scan.points.T
    table["intensity"], table["ring"], table["time"] = scan.intensity, scan.ring, scan.time
    return table


def true_point_table(scan: Scan, class_id: npt.NDArray[np.int64], instance: npt.NDArray[np.int64]) -> Table:
    """The points of a scan without noise, and what they lie on.

    Args:
        class_id, instance: (P,), of each point; 0 where it lies on nothing labelled.
    """
    table = np.empty(len(scan), TRUE_POINT)
    table["x"], table["y"], table["z"] = scan.true_points.T
    table["class_id"], table["instance"] = class_id, instance
    table["ring"], table["time"] = scan.ring, scan.time
    return table
