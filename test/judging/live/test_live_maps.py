"""Occupancy maps while scans come: cell for cell those of the whole sets."""

import pytest
from object_sets import block_drive

from simjudge.core.errors import Losses
from simjudge.judging.live.live_objects import LATE, OUTSIDE, LiveMaps
from simjudge.objects.occupancy import LEFT_OUT, map_agreement, occupancy_maps
from simjudge.objects.settings import OccupancySettings

SETTINGS = OccupancySettings(map_range=15.0, cells_per_metre=5.0)


def enter(maps, sets, scans):
    for index in scans:
        for side, clouds in enumerate(sets):
            maps.enter(side, int(clouds.stamp[index]), clouds[index], clouds.poses[index])


def test_the_maps_are_those_of_the_whole_sets():
    sets = block_drive("real"), block_drive("virtual", 1, shift=0.3)
    losses = Losses()
    maps = LiveMaps(SETTINGS, 60.0, losses)
    assert maps.maps is None
    enter(maps, sets, range(8))
    whole = occupancy_maps(*sets, SETTINGS)
    assert 0.1 < whole.agreement.occupied.f1 < 0.9
    assert map_agreement(*maps.maps) == whole.agreement
    assert not losses


@pytest.mark.parametrize(
    ("size", "max_speed", "scans", "expected"),
    [
        (33.0, 60.0, [0, 1, 2, 7], {OUTSIDE: 1}),  # 1.5 m each way, so that three scans are inside
        (60.0, 3.0, [0, 1, 2], {LEFT_OUT: 2}),
        (60.0, 60.0, [1, 0, 1, 2], {LATE: 2}),
    ],
)
def test_scans_that_cannot_be_entered_are_counted(size, max_speed, scans, expected):
    losses = Losses()
    maps = LiveMaps(OccupancySettings(map_range=15.0, cells_per_metre=5.0, max_speed=max_speed), size, losses)
    enter(maps, (block_drive("real"),), scans)
    assert losses.counts == expected
