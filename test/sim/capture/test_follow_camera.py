"""A third-person camera against the solution of its differential equation, and against Euler's method."""

import math

import numpy as np
import pytest

from simjudge.geometry.poses import Pose
from simjudge.sim.capture.lock_step import FollowCamera
from simjudge.sim.sensors.camera.lens import lens_with_field
from simjudge.sim.sensors.camera.rig import Follow

SECOND = 1_000_000_000
FOLLOW = Follow(distance=2.0, height=1.0, time_constant=0.4, aim=0.1)


def test_it_begins_behind_and_above_whatever_the_cars_pitch():
    camera = FollowCamera(FOLLOW).pose(0, Pose.from_euler(1.0, 2.0, 0.0, yaw=math.pi / 2, pitch=0.3, roll=-0.2))
    np.testing.assert_allclose(camera.position, [1.0, 0.0, 1.0], atol=1e-12)


@pytest.mark.parametrize("rate", [7, 30, 100])
def test_at_a_steady_speed_it_is_behind_by_speed_times_time_constant(rate):
    camera = FollowCamera(FOLLOW)
    for number in range(8 * rate):
        time = number / rate
        found = camera.pose(round(time * SECOND), Pose((1.5 * time, 0, 0)))
        lag = 1.5 * 0.4 * (1 - math.exp(-time / 0.4))
        np.testing.assert_allclose(found.position, [1.5 * time - 2.0 - lag, 0, 1.0], atol=1e-6)


def test_in_a_bend_it_is_where_eulers_method_in_small_steps_has_it():
    def car(time):
        return Pose.from_euler(1.5 * math.sin(time), 1.5 * (1 - math.cos(time)), yaw=time)

    camera, step = FollowCamera(FOLLOW), 1e-4
    place = np.array(camera.pose(0, car(0)).position)
    for number in range(1, 30_001):
        time = number * step
        x, y, _ = car(time).position
        behind = np.array([x - 2.0 * math.cos(time), y - 2.0 * math.sin(time), 1.0])
        place = place + (behind - place) * step / 0.4
        if number % 333 == 0:  # 30 images a second
            np.testing.assert_allclose(camera.pose(round(time * SECOND), car(time)).position, place, atol=2e-3)


def test_without_a_time_constant_it_keeps_its_place():
    camera = FollowCamera(Follow(1.0, 0.5, 0.0, 0.1))
    camera.pose(0, Pose())
    found = camera.pose(SECOND, Pose.from_euler(3.0, 0.0, yaw=0.5))
    np.testing.assert_allclose(found.position, [3 - math.cos(0.5), -math.sin(0.5), 0.5])


def test_the_car_is_in_the_middle_of_the_image():
    lens = lens_with_field("pinhole", (640, 360), 80)
    camera, car = FollowCamera(FOLLOW), Pose.from_euler(4.0, -1.0, yaw=2.0)
    camera.pose(0, Pose())
    seen = camera.pose(SECOND // 2, car).to_body(np.array([[4.0, -1.0, 0.1], [4.0, -1.0, 0.4]]))
    pixels = lens.project(seen)
    np.testing.assert_allclose(pixels[0], [319.5, 179.5], atol=1e-6)
    assert pixels[1][1] < pixels[0][1], "up is up"
    assert abs(pixels[1][0] - 319.5) < 1e-6, "the horizon is level"
