"""Points on the cones of a real lidar and of virtual ones, by range; docs/measurements/lidar.md has the figures.

    python bench/lidar_gap.py CONES REAL VIRTUAL...

CONES, REAL are cones.txt and scans.mcap of scripts/formula_drive.py; each VIRTUAL is a replay of REAL. The poses are
those of REAL: each cone is looked for where the course has it, in the scans that all recordings have.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.data.clouds import CloudSet, lidar_points
from simjudge.data.sets import read_clouds

RANGES = ((1, 4), (4, 7), (7, 10), (10, 15), (15, 20))
"""Metres from the lidar to a cone."""
BEARING = 55.0
"""Degrees to either side: beyond, the device saw nothing, or the car."""
REACH, LOWEST, HIGHEST = 0.35, 0.05, 0.45
"""Metres: points this near to a cone's axis, between these heights above the ground, are the cone's."""
GROUND, FARTHEST = 0.06, 12.0
"""Metres: points so near to the ground are the ground's, up to this range."""


def main(cones: Path, paths: Sequence[Path]) -> None:
    """Print both tables."""
    place = np.loadtxt(cones, skiprows=1)[:, 2:4]
    sets = [read_clouds(path) for path in paths]
    common = sorted(set.intersection(*(set(each.stamp.tolist()) for each in sets)))
    ranges = _ranges(sets[0], common, place)
    counts = [_on_cones(each, sets[0], common, place) for each in sets]
    rings = [_of_ground(each, sets[0], common) for each in sets]
    print(f"{len(common)} scans; points on a cone, and as a share of the real ones:")
    for low, high in RANGES:
        chosen = (ranges >= low) & (ranges < high)
        mean = [float(each[chosen].mean()) for each in counts]
        shares = "  ".join(f"{each:6.2f} ({each / mean[0]:.2f})" for each in mean[1:])
        print(f"  {low:>2} to {high:<2} m  n {np.count_nonzero(chosen):4d}  real {mean[0]:6.2f}  virtual {shares}")
    print("points of the ground, virtual / real, ring by ring:")
    for number in np.flatnonzero(rings[0] > 500):
        shares = "  ".join(f"{each[number] / rings[0][number]:.3f}" for each in rings[1:])
        print(f"  ring {number:2d}  real {rings[0][number]:6d}  {shares}")


def _ranges(real: CloudSet, common: Sequence[int], place: FloatArray) -> FloatArray:
    """(S, C), metres; NaN where a cone is not within the bearing."""
    rows = []
    for stamp in common:
        local = real.poses[real.stamp.tolist().index(stamp)].to_body(np.column_stack([place, np.zeros(len(place))]))
        bearing = np.degrees(np.arctan2(local[:, 1], local[:, 0]))
        rows.append(np.where(np.abs(bearing) < BEARING, np.hypot(local[:, 0], local[:, 1]), np.nan))
    return np.array(rows)


def _in_map(clouds: CloudSet, real: CloudSet, stamp: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Points in the lidar's frame, in the map, and their rings."""
    cloud = clouds[clouds.stamp.tolist().index(stamp)]
    held = lidar_points(cloud.table, cloud.where)
    points = held.stored.astype(np.float64)
    ring = np.zeros(len(points)) if held.ring is None else held.ring
    return points, real.poses[real.stamp.tolist().index(stamp)].to_world(points), ring


def _on_cones(clouds: CloudSet, real: CloudSet, common: Sequence[int], place: FloatArray) -> FloatArray:
    """(S, C), points on each cone."""
    rows = []
    for stamp in common:
        _, points, _ = _in_map(clouds, real, stamp)
        high = points[(points[:, 2] > LOWEST) & (points[:, 2] < HIGHEST)]
        near = np.hypot(*(high[:, None, :2] - place).transpose(2, 0, 1)) < REACH
        rows.append(near.sum(0))
    return np.array(rows)


def _of_ground(clouds: CloudSet, real: CloudSet, common: Sequence[int]) -> FloatArray:
    """Points of the ground in each ring."""
    count = np.zeros(256, np.int64)
    for stamp in common:
        local, points, ring = _in_map(clouds, real, stamp)
        bearing = np.degrees(np.arctan2(local[:, 1], local[:, 0]))
        ground = (np.abs(points[:, 2]) < GROUND) & (np.abs(bearing) < BEARING) & (np.hypot(*local[:, :2].T) < FARTHEST)
        count += np.bincount(ring[ground].astype(np.int64), minlength=len(count))
    return count


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(str(__doc__))
    main(Path(sys.argv[1]), [Path(each) for each in sys.argv[2:]])
