"""Point clouds of any driver or simulator, held to what a spinning lidar is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from simjudge.data.clouds import CloudSet
from simjudge.sim.sensors.lidar_contract.checked_scans import MOST_SCANS, CheckedScan, read_scans
from simjudge.sim.sensors.lidar_contract.outcomes import CheckOutcome, LidarContract
from simjudge.sim.sensors.lidar_contract.returns import check_beams, check_empty
from simjudge.sim.sensors.lidar_contract.standing import check_wall
from simjudge.sim.sensors.lidar_contract.timing import check_order, check_rate, check_times, check_turns


def check_lidar(
    source: CloudSet | str | Path,
    *,
    topic: str | None = None,
    fields: Sequence[str] | None = None,
    most: int = MOST_SCANS,
) -> list[LidarContract]:
    """Hold point clouds to what a spinning lidar is: times, order, angles, empty points, and a standing wall.

    Args:
        source: clouds, or the path of a recording, a KITTI folder, a folder of PCD or raw .bin files, or an Argoverse 2
            sweep.
        topic: in a recording, the clouds to read where it has several.
        fields: columns of raw .bin files, float32 each: x, y, z and any of intensity, ring, time (seconds), _ (no
            matter); None for clouds in a known format.
        most: scans that are looked at, from the first on.

    Returns:
        One for each lidar: an Argoverse 2 sweep is of two.

    Raises:
        UsageError: the fields make no sense, or there is no such topic.
        SimjudgeError: nothing is there, or it holds no clouds.
    """
    return [
        LidarContract(name, len(scans), check_scans(scans), losses)
        for name, scans, losses in read_scans(source, topic, fields, most)
    ]


def check_scans(scans: Sequence[CheckedScan]) -> list[CheckOutcome]:
    """Make all checks."""
    return [
        check_rate(scans), check_turns(scans), *check_times(scans), check_order(scans), check_beams(scans),
        check_empty(scans), *check_wall(scans),
    ]  # fmt: skip
