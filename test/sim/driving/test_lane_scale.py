"""The driver by cones on lanes of any width: cones of the scene's size, and the same line at another scale."""

import math
from dataclasses import replace

import numpy as np
import pytest

from simjudge.sim.driving.cone_driver import DriverParameters, lane_scale, lane_speeds, scale_to_lane
from simjudge.sim.driving.cones import LEFT, RIGHT, ConeShape, LineModel, fit_centre_line, straight_line
from simjudge.sim.driving.course import lane_classes, lane_cones
from simjudge.sim.driving.drive import drive
from simjudge.sim.driving.line_follower import SpeedController
from simjudge.sim.scene.model import Scene
from simjudge.sim.scene.read import read_scene


@pytest.mark.parametrize("width", [0.3, 0.95, 1.0])
def test_up_to_a_metre_nothing_changes(width):
    tuned = DriverParameters(lane_width=width)
    assert scale_to_lane(tuned) == tuned
    assert lane_speeds(width) == SpeedController()


def test_lengths_grow_with_the_lane_and_times_and_speeds_with_its_root():
    tuned = DriverParameters()
    wide = scale_to_lane(replace(tuned, lane_width=4.0))
    assert lane_scale(4.0) == 4.0
    assert (wide.line.ahead, wide.line.cone, wide.horizon) == (16.0, 4 * tuned.line.cone, 4.0)
    assert (wide.line.curvature, wide.line.heading) == (tuned.line.curvature / 4, tuned.line.heading)
    assert wide.look_ahead.metres == 4 * tuned.look_ahead.metres
    assert wide.look_ahead.seconds == 2 * tuned.look_ahead.seconds
    assert wide.uncertainty.pixel_error == tuned.uncertainty.pixel_error
    assert wide.cone == tuned.cone
    speeds, own = lane_speeds(4.0), SpeedController()
    assert (speeds.fastest, speeds.slowest) == (2 * own.fastest, 2 * own.slowest)
    assert speeds.lateral_acceleration == own.lateral_acceleration


def test_the_line_between_cones_four_times_as_far_apart_is_four_times_as_large():
    def fitted(scale: float) -> np.ndarray:
        how = scale_to_lane(DriverParameters(lane_width=scale))
        model: LineModel = replace(how.line, lane=scale)
        angle = np.arange(0.1, 1.0, 0.2)
        both = [np.stack([r * np.sin(angle), 4 - r * np.cos(angle)], 1) for r in (3.5, 4.5)]
        side = np.repeat([LEFT, RIGHT], len(angle)).astype(np.float64)
        error = np.tile(np.eye(2) * (0.02 * scale) ** 2, (len(side), 1, 1))
        line = fit_centre_line(scale * np.concatenate(both), side, error, straight_line(model), model)
        assert line.cones == len(side)
        ahead = scale * np.linspace(0, 3, 7)
        return np.stack([np.interp(ahead, line.distance, line.points[:, axis]) for axis in (0, 1)], 1) / scale

    assert fitted(4.0) == pytest.approx(fitted(1.0), abs=2e-3)
    assert fitted(1.0)[-1] == pytest.approx([4 * math.sin(0.75), 4 - 4 * math.cos(0.75)], abs=0.02)


@pytest.mark.parametrize(
    ("scene", "cone"),
    [
        ("lab", ConeShape()),
        ("hall", ConeShape()),
        ("formula", ConeShape(0.114, 0.325)),  # two parts each: the foot, and what stands on it
    ],
)
def test_cones_have_the_size_that_the_scene_gives_them(scene, cone):
    found: Scene = read_scene(scene, 0)
    assert lane_cones(found, lane_classes(found)) == cone


@pytest.mark.long
def test_a_car_drives_a_course_of_full_size():
    pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
    pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")
    went = drive("formula", images=False, rate=10, seed=1, limit=12).outcome
    assert went.touched == ()
    assert went.distance > 20
    assert went.max_offset < 0.8
