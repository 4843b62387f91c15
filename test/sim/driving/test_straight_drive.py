"""The driver that looks at nothing: it holds the line and the speed, and its motion is sampled often."""

import numpy as np
import pytest
from driving_scenes import ARCS, STRAIGHT, camera_file, scene_file
from scipy.spatial.transform import Rotation

from simjudge.core.errors import UsageError
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.lock_step import MotionSample
from simjudge.sim.driving.closed_loop import DriveLimits
from simjudge.sim.driving.drive import DriveOptions, make_closed_loop
from simjudge.sim.scene.model import Course
from simjudge.sim.vehicle.line_driver import StraightDriver
from simjudge.sim.vehicle.vehicle import VehicleState, read_vehicle

pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")

ART1 = read_vehicle("art1")
LINE = Course(np.array([[0.0, 0.0], [50.0, 0.0]]), 1.0)


def state(y=0.0, yaw=0.0, speed=1.0):
    return VehicleState(0.0, Pose.from_euler(3.0, y, yaw=yaw), (speed, 0, 0), (0.0,) * 3, (0.0,) * 3, 0.0, (0.0,) * 4)


@pytest.mark.parametrize(("y", "yaw", "sign"), [(0, 0, 0), (0.1, 0, -1), (-0.1, 0, 1), (0, 0.1, -1), (0, -0.1, 1)])
def test_it_steers_back_to_the_line(y, yaw, sign):
    steering = StraightDriver(ART1, LINE, 1.0).drive(state(y, yaw)).steering
    assert np.sign(np.round(steering, 9)) == sign
    mirrored = StraightDriver(ART1, LINE, 1.0).drive(state(-y, -yaw)).steering
    assert mirrored == pytest.approx(-steering)


def drive(folder, arcs, **changes):
    scene = str(scene_file(folder, arcs))
    loop = make_closed_loop(DriveOptions(scene, str(camera_file(folder)), images=False, driver="straight", **changes))
    try:
        return [each for each in loop.run() if isinstance(each, MotionSample)], loop.outcome()
    finally:
        loop.engine.close()


@pytest.mark.parametrize(("arcs", "seed", "offset"), [(STRAIGHT, 0, 0.13), (STRAIGHT, 4, 0.13), (ARCS, 1, 0.2)])
def test_a_course_is_driven_at_the_speed_and_sampled_200_times_a_second(tmp_path, arcs, seed, offset):
    samples, outcome = drive(tmp_path, arcs, seed=seed, speed=1.0)
    assert outcome.clean
    assert outcome.max_offset < offset, "0.12 m of it may be the start's"
    steps = np.diff([sample.time for sample in samples])
    assert steps.max() <= 5_000_000
    speeds = [sample.state.velocity[0] for sample in samples]
    assert speeds[-1] == pytest.approx(1.0, abs=0.05)
    assert max(speeds) < 1.2
    assert abs(samples[-1].state.pose.angles()[0]) < 0.1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"speed": 40.0}, "--speed 40: must be above 0 m/s and below 2.* art1"),
        ({"speed": -1.0}, "--speed -1: must be above 0"),
        ({"speed": 1.0, "driver": "cones"}, "--speed: driver cones sets its own"),
    ],
)
def test_a_speed_that_cannot_be(tmp_path, changes, words):
    wanted = {"driver": "straight", **changes}
    with pytest.raises(UsageError, match=words):
        make_closed_loop(DriveOptions(str(scene_file(tmp_path, STRAIGHT)), str(camera_file(tmp_path)), **wanted))


@pytest.mark.slow
def test_channels_shake_yaw_pitch_and_roll():
    loop = make_closed_loop(DriveOptions("krc", "plain_half", images=False, driver="straight"), DriveLimits(duration=8))
    samples = [each.state for each in loop.run() if isinstance(each, MotionSample)]
    outcome = loop.outcome()
    loop.engine.close()
    x = np.array([sample.pose.position[0] for sample in samples])
    angles = Rotation.from_quat([sample.pose.orientation for sample in samples]).as_euler("ZYX", degrees=True)
    shaken = np.ptp(angles[(x > 12) & (x < 32)], axis=0)
    assert np.all(shaken > (0.1, 0.5, 0.5)), shaken
    assert not outcome.touched
    assert outcome.max_offset < 0.13
