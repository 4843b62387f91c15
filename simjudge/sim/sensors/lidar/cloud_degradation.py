"""Range noise and drop-out on recorded clouds, as if their lidar had been a worse one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from simjudge.data.clouds import Cloud, CloudSet


@dataclass(frozen=True)
class CloudDegradation:
    """What a lidar does worse.

    Attributes:
        range_noise: standard deviation, metres, independent of what the cloud has already.
        drop_out: probability that a return is lost, 0 to 1.
    """

    range_noise: float = 0.0
    drop_out: float = 0.0


def degraded_cloud(cloud: Cloud, degradation: CloudDegradation, random: np.random.Generator) -> Cloud:
    """Move the points of a cloud along their beams, and lose some.

    Returns:
        The cloud; an organized one becomes a plain list of points where points are lost.
    """
    count = len(cloud)
    moved, luck = random.normal(size=count), random.random(count)
    table = cloud.table.copy()
    place = np.column_stack([table[axis] for axis in "xyz"]).astype(np.float64)
    ranges = np.linalg.norm(place, axis=1)
    factor = np.ones(count)
    hit = np.isfinite(ranges) & (ranges > 0)
    factor[hit] = np.maximum(ranges[hit] + degradation.range_noise * moved[hit], 0.0) / ranges[hit]
    for axis, values in zip("xyz", place.T, strict=True):
        table[axis] = values * factor
    kept = luck >= degradation.drop_out
    if kept.all():
        return replace(cloud, table=table)
    return replace(cloud, table=table[kept], height=1)


def degraded_clouds(clouds: CloudSet, degradation: CloudDegradation, seed: int) -> CloudSet:
    """A set whose clouds have more noise and fewer points."""
    def read(index: int) -> Cloud:
        return degraded_cloud(clouds.read(index), degradation, np.random.default_rng([seed, index]))

    return replace(clouds, read=read, predictions=None, predicted=None)
