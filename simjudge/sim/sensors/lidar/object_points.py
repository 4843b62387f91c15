"""How many points of a lidar fall on labelled things, by distance: what tells how wide its beams are.

A thing of width w and height h at range r is met by beams whose middles miss it by up to half their divergence d: the
number of points grows like (w + d r) (h + d r) / r^2. A thing of another size, or one that sends less light back, has
as much more or fewer points near by as far away; a wider beam adds points far away only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.data.clouds import CloudSet
from simjudge.data.lidar_points import lidar_points

_AROUND = 0.1
"""Metres beside and above a box in which points are still its own: labels are not exact, and wide beams hang over."""
_LIFT = 0.05
"""Metres above the foot of a box below which points may be the ground's; a tenth and a half of tall boxes."""
_LIFTED_SHARE = 0.15


@dataclass(frozen=True, repr=False, eq=False)
class ObjectPoints(ShortRepr):
    """N labelled things that a lidar has seen with a point at least.

    Attributes:
        cloud: int64 (N,), row of the cloud in its set.
        distance: (N,), metres from the lidar to the thing's middle, seen from above.
        points: (N,), points on it, without those near its foot.
    """

    cloud: IntArray
    distance: FloatArray
    points: FloatArray

    def of_clouds(self, rows: IntArray) -> ObjectPoints:
        """Those of some clouds."""
        kept = np.isin(self.cloud, rows)
        return ObjectPoints(self.cloud[kept], self.distance[kept], self.points[kept])


def points_on_objects(clouds: CloudSet) -> ObjectPoints:
    """Count the points on all labelled things."""
    boxes = clouds.boxes
    if boxes is None or not len(boxes):
        raise SimjudgeError(f"{clouds.name}: no cuboids; divergence is told by the points on labelled things")
    half = boxes.size / 2
    foot = -half[:, 2] + np.maximum(_LIFT, _LIFTED_SHARE * boxes.size[:, 2])
    counts = np.zeros(len(boxes))
    for cloud in np.unique(boxes.cloud).tolist():
        held = clouds[cloud]
        points = lidar_points(held.table, held.where).stored.astype(np.float64)
        for row in np.flatnonzero(boxes.cloud == cloud).tolist():
            reach = np.linalg.norm(half[row]) + 2 * _AROUND
            near = points[(np.abs(points - boxes.centre[row]) <= reach).all(axis=1)]
            if not len(near):
                continue
            own = Rotation.from_quat(boxes.orientation[row]).inv().apply(near - boxes.centre[row])
            inside = (np.abs(own[:, :2]) <= half[row, :2] + _AROUND).all(axis=1)
            counts[row] = np.count_nonzero(inside & (own[:, 2] > foot[row]) & (own[:, 2] <= half[row, 2] + _AROUND))
    seen = counts > 0
    distance = np.hypot(boxes.centre[:, 0], boxes.centre[:, 1])
    return ObjectPoints(boxes.cloud[seen], distance[seen], counts[seen])
