"""Driving by hand: what keys, joysticks and wanted motions become, against kinematics and an engine's physics."""

import math

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.geometry.poses import Pose
from simjudge.sim.driving.manual import JoystickMap, KeyControls, ManualDriver, WantedMotion
from simjudge.sim.vehicle.vehicle import Command, VehicleState, read_vehicle

CAR = read_vehicle("art1")


def state(time, speed=0.0):
    return VehicleState(time, Pose(), (speed, 0.0, 0.0), (0.0,) * 3, (0.0,) * 3, 0.0, (0.0,) * 4)


def test_keys_move_pedals_and_wheel_in_steps():
    controls = KeyControls()
    for _ in range(3):
        controls.press("up", 1.0)
    controls.press("left", 1.0)
    assert (controls.command(1.0).steering, controls.command(1.0).throttle) == pytest.approx((0.2, 0.3))
    assert controls.command(1.6).steering == pytest.approx(0.2), "a held key repeats by then"
    assert controls.command(1.65).steering == pytest.approx(0.1)
    assert (controls.command(2.0).steering, controls.command(2.0).throttle) == pytest.approx((0.0, 0.3))
    for _ in range(3):
        controls.press("down", 2.0)
    assert controls.command(2.0).throttle == pytest.approx(0.0)
    controls.press("down", 2.0)
    assert controls.command(2.0).braking == pytest.approx(0.25)
    controls.press("brake", 2.0)
    assert controls.command(2.0) == Command(0.0, 0.0, 1.0)
    controls.press("up", 2.0)
    assert controls.command(2.0) == Command(0.0, 0.0, 0.0), "off the brake first"
    for _ in range(9):
        controls.press("right", 2.0)
    assert controls.command(2.0).steering == -1.0


@pytest.mark.parametrize(
    ("axes", "buttons", "expected"),
    [
        ([0, 0, 0.5, 0, 0, 0.8], [1], Command(0.5, 0.8, 0.0)),
        ([0, 0, -1.0, 0, 0, -0.3], [1], Command(-1.0, 0.0, 0.3)),
        ([0, 0, 0.5, 0, 0, 0.8], [0], Command(0.0, 0.0, 1.0)),
        ([0, 0, 1.2, 0, 0, 3.0], [1], Command(1.0, 1.0, 0.0)),
    ],
)
def test_a_joystick_as_teleop_twist_joy_has_it(axes, buttons, expected):
    assert JoystickMap().command(axes, buttons) == expected


@pytest.mark.parametrize(
    ("axes", "buttons", "words"),
    [
        ([0.0] * 5, [1], "5 axes, and axes 5 and 2 are asked for"),
        ([0.0] * 6, [], "0 buttons, and button 0 is asked for"),
        ([0.0] * 5 + [math.nan], [1], "no numbers"),
    ],
)
def test_a_joystick_that_cannot_be_obeyed(axes, buttons, words):
    with pytest.raises(SimjudgeError, match=words):
        JoystickMap().command(axes, buttons)
    other = JoystickMap(linear=1, angular=0, require_enable=False)
    assert other.command([0.1, 0.4], []) == Command(0.1, 0.4, 0.0)


def test_a_twist_turns_about_the_radius_that_it_asks_for():
    wanted = WantedMotion.of_twist(1.2, 0.6, CAR.wheelbase)
    assert CAR.wheelbase / math.tan(wanted.steering_angle) == pytest.approx(1.2 / 0.6)
    assert WantedMotion.of_twist(0.0, 1.0, CAR.wheelbase).steering_angle == 0.0
    with pytest.raises(SimjudgeError, match="no motion"):
        ManualDriver(CAR).ask(WantedMotion(math.nan, 0.0), 0.0)


def test_what_came_last_is_obeyed_and_what_falls_silent_brakes():
    driver = ManualDriver(CAR, timeout=0.5)
    driver.ask(Command(0.3, 0.4, 0.0), 1.0)
    assert driver.command(state(1.4)) == Command(0.3, 0.4, 0.0)
    assert driver.command(state(1.6)) == Command(0.0, 0.0, 1.0)
    driver.press(["up"], 2.0)
    assert driver.command(state(9.0)).throttle == pytest.approx(0.1), "keys never time out"
    driver.ask(WantedMotion(-1.0, 0.0), 9.0)
    assert driver.command(state(9.02, speed=1.0)).braking == 1.0, "there is no reverse gear"
    assert not driver.ended
    driver.press(["end"], 9.0)
    assert driver.ended


def test_the_car_drives_the_speed_and_the_circle_that_are_asked_for():
    pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
    pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")
    from physics_scenes import flat  # noqa: PLC0415 - needs MuJoCo

    from simjudge.sim.engines.default.bodies import Bodies  # noqa: PLC0415

    bodies, driver = Bodies(flat(), CAR), ManualDriver(CAR)
    seen = []
    for tick in range(300):
        now = bodies.vehicle_state()
        driver.ask(WantedMotion.of_twist(1.0, 0.5, CAR.wheelbase), now.time)
        bodies.drive(driver.command(now))
        bodies.step(0.02)
        seen += [now] if tick >= 200 else []
    assert np.mean([each.velocity[0] for each in seen]) == pytest.approx(1.0, abs=0.03)
    assert np.mean([each.angular_velocity[2] for each in seen]) == pytest.approx(0.5, rel=0.05)
