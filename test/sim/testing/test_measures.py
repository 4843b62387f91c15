"""Defects planted in a sound engine are found and named, and nothing is found in the sound one."""

from dataclasses import replace

import pytest

pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")

from seeded_defects import DEFECTS

from simjudge.sim.engines.registry import make_engine
from simjudge.sim.testing import lidar_measures
from simjudge.sim.testing.lidar_measures import LIDAR_MEASUREMENTS, capture
from simjudge.sim.testing.measures import PICTURE_MEASUREMENTS

MEASUREMENTS = (*PICTURE_MEASUREMENTS, *LIDAR_MEASUREMENTS)


def measured(builder):
    return {measure.name: measure for each in MEASUREMENTS for measure in each.run(builder)}


def sound(scene, vehicle=None, start=None):
    return make_engine("default", scene, vehicle, start)


def test_nothing_is_found_in_the_default_engine():
    found = measured(sound)
    assert {name for names in MEASUREMENTS for name in names.names} == set(found)
    assert [measure for measure in found.values() if measure.status != "pass"] == []


def test_there_are_more_than_twenty_defects():
    assert len(DEFECTS) >= 20


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_planted_defect_is_found_by_name(defect):
    builder, name, words = DEFECTS[defect]
    measure = next(
        measure for each in MEASUREMENTS if name in each.names for measure in each.run(builder) if measure.name == name
    )
    assert measure.status == "fail"
    assert words in measure.finding


def test_a_scan_of_too_few_points_says_why_of_each_of_its_numbers(monkeypatch):
    def few(engine):
        scan = capture(engine)
        return replace(scan, points=scan.points[:60] * 0 + (5, 0, 0))

    monkeypatch.setattr(lidar_measures, "capture", few)
    found = LIDAR_MEASUREMENTS[-1].run(sound)
    assert tuple(measure.name for measure in found) == LIDAR_MEASUREMENTS[-1].names
    assert [measure.status for measure in found] == ["fail", *["cannot be checked"] * 5]
    assert {measure.finding for measure in found} == {"only 60 points where the wall is; 100 are needed"}
    assert {measure.value for measure in found} == {None}
