"""How scans become an occupancy map, each setting declared once (see `simjudge.core.settings`)."""

from __future__ import annotations

from dataclasses import dataclass

from simjudge.core.settings import Settings, setting


@dataclass(frozen=True, kw_only=True)
class OccupancySettings(Settings, panel="Occupancy map"):
    """How scans become a map, and when a cell of it is occupied."""

    cells_per_metre: float = setting(10.0, "Cells per metre of the occupancy map.", low=0.1, high=1000)
    # a beam tells of the first metres only; a return beyond is none
    map_range: float = setting(30.0, "Range of a beam in the occupancy map.", unit="m", low=0.1, high=1000)
    # map_low, map_high: heights above ground between which things are obstacles. A beam tells of a cell where it is at
    # such a height.
    map_low: float = setting(0.3, "Lowest height above ground of an obstacle.", unit="m")
    map_high: float = setting(2.0, "Greatest height above ground of an obstacle.", unit="m")
    # map_hit, map_miss: probability that a cell is occupied in which a beam ends, or through which it goes
    map_hit: float = setting(0.7, "Occupancy probability of a cell in which a beam ends.", low=0.5, high=0.999)
    map_miss: float = setting(0.4, "Occupancy probability of a cell that a beam crosses.", low=0.001, high=0.5)
    map_least: float = setting(0.12, "Smallest probability of a cell.", low=0.0001, high=0.5)
    map_most: float = setting(0.97, "Largest probability of a cell.", low=0.5, high=0.9999)
    # probability above which a cell is occupied; one that is known and not occupied is free
    map_occupied: float = setting(0.5, "Probability above which a cell is occupied.", low=0.01, high=0.99)
    # how far a beam without a return is free; None: it tells nothing. Needs an organized cloud.
    no_return_range: float | None = setting(
        None,
        "Free length of a beam without a return, in organized clouds. Default: none.",
        unit="m",
        low=0.1,
        high=1000,
    )
    # move the points of a turn to where they were at their own instants
    deskew: bool = setting(default=False, help="Correct the points of a turn for the lidar's motion, by their times.")
    # a scan that cannot be reached from the one before at this speed is left out
    max_speed: float = setting(
        60.0, "Speed above which the pose of a scan is a jump; such scans are left out.", unit="m/s", low=0.1, high=1e4
    )
