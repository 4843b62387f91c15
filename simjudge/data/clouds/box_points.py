"""Which points of a cloud lie in a box."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import IntArray
from simjudge.data.clouds.cloud_set import CloudBoxes, Table


def points_in_boxes(table: Table, boxes: CloudBoxes, rows: IntArray) -> list[int]:
    """Count the points in some boxes, their faces included.

    Args:
        table: a cloud with x, y and z, metres.
        boxes: in the cloud's frame.
        rows: int64 (K,), of the boxes.
    """
    if not len(rows):
        return []
    points = np.stack([table[name].astype(np.float64) for name in "xyz"], -1)
    counts = []
    for row in rows.tolist():
        own = Rotation.from_quat(boxes.orientation[row]).inv().apply(points - boxes.centre[row])
        counts.append(int((np.abs(own) <= boxes.size[row] / 2).all(1).sum()))
    return counts
