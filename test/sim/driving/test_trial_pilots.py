import numpy as np
import pytest

from simjudge.sim.driving.course import LaneClasses
from simjudge.sim.driving.pilots import Pilot
from simjudge.sim.driving.trial_pilots import DelayedPilot, DetectorErrors, LearntDriver, scan_cones
from simjudge.sim.vehicle.vehicle import Command

CLASSES = LaneClasses(right=1, left=2)


def test_observed_cones_have_the_errors_that_were_measured():
    errors = DetectorErrors((0.0, 5.0), (0.7,), (0.2,), (0.05,), (0.1,), 0.25, (9,))
    random = np.random.default_rng(0)
    cones, ids = np.tile([[3.0, 0.0]], (20_000, 1)), np.full(20_000, 1)
    seen = errors.observe(cones, ids, CLASSES, np.zeros(2), random)
    assert len(seen) / 20_000 == pytest.approx(0.7, abs=0.02)
    along, across = (seen.position - [3.0, 0.0]).T
    assert [along.mean(), along.std(), across.mean(), across.std()] == pytest.approx([0.1, 0.2, 0.0, 0.05], abs=0.01)
    assert (seen.class_id == 2).mean() == pytest.approx(0.25, abs=0.02)
    assert seen.covariance[0] == pytest.approx(np.diag([0.04, 0.0025]))
    assert not len(errors.observe(np.array([[6.0, 0.0]]), np.array([1]), CLASSES, np.zeros(2), random)), "too far"


def test_errors_are_read_as_they_were_written(tmp_path):
    errors = DetectorErrors(swapped=0.1)
    errors.save(tmp_path / "e.json")
    assert DetectorErrors.load(tmp_path / "e.json") == errors


def test_small_things_in_a_scan_are_cones_and_walls_are_not():
    angle = np.linspace(-1, 1, 201)
    wall = np.column_stack([np.full(201, 3.0), 3.0 * np.tan(angle) * 0.9, np.zeros(201)])
    arc = np.linspace(-0.02, 0.02, 5)
    cones = [np.column_stack([np.full(5, x - 0.03), y + arc, np.zeros(5)]) for x, y in ((1.0, -0.4), (1.5, 0.4))]
    found = scan_cones(np.concatenate([wall, *cones]))
    assert found == pytest.approx(np.array([[1.0, -0.4], [1.5, 0.4]]), abs=0.03)
    assert scan_cones(np.empty((0, 3))).shape == (0, 2)


class Steady:
    """Commands a steering that is the time."""

    name, ended, needs_frames, needs_images = "steady", False, False, False

    def update(self, state):
        return Command(state.time)


class At:
    def __init__(self, time):
        self.time = time


def test_commands_reach_the_car_after_the_lag():
    pilot: Pilot = DelayedPilot(Steady(), 0.1)
    said = [pilot.update(At(time)) for time in (0.0, 0.05, 0.1, 0.2)]
    assert [None if each is None else each.steering for each in said] == [None, None, 0.0, 0.1]


def test_learnt_driver_steers_towards_the_middle_and_brakes_where_it_is_fast(tmp_path):
    def box(x, side):
        return [x - 0.02, 0.5, x + 0.02, 0.6, side, 1.0]

    driver = LearntDriver((-3.0, 0.0, 0.0, 1.0, 0.5), 7)
    to_the_right = np.array([box(0.5, 1.0), box(0.9, -1.0)], np.float32)
    assert driver.act(to_the_right, 0.0)[0] < 0 < driver.act(to_the_right, 0.0)[1]
    assert driver.act(to_the_right, 5.0)[1] == -1
    driver.save(tmp_path / "d.json")
    assert LearntDriver.load(tmp_path / "d.json") == driver
