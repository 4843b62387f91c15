"""Commands of every robot's type ask for what the bicycle's formula says; what makes no sense is refused."""

import math
from types import SimpleNamespace as Message

import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.geometry.poses import Pose
from simjudge.sim.driving.manual import ManualDriver, WantedMotion, input_converter
from simjudge.sim.vehicle.vehicle import Command, VehicleState, read_vehicle

WHEELBASE = 0.3


def twist(speed, turn):
    return Message(linear=Message(x=speed, y=0.0, z=0.0), angular=Message(x=0.0, y=0.0, z=turn))


def converted(kind, message):
    return input_converter(kind, vars(message), WHEELBASE)(message)


@pytest.mark.parametrize(("speed", "turn"), [(1.0, 0.5), (2.0, -1.5), (0.4, 0.0), (1.0, 3.0)])
def test_a_twist_turns_with_the_radius_of_speed_over_turn(speed, turn):
    for kind, message in (
        ("geometry_msgs/msg/Twist", twist(speed, turn)),
        ("geometry_msgs/msg/TwistStamped", Message(header=None, twist=twist(speed, turn))),
        ("duckietown_msgs/msg/Twist2DStamped", Message(header=None, v=speed, omega=turn)),
    ):
        wanted = converted(kind, message)
        assert wanted.speed == speed
        # A bicycle with this front wheel runs on a circle of radius L / tan(angle), at turn = speed / radius.
        assert speed * math.tan(wanted.steering_angle) / WHEELBASE == pytest.approx(turn, abs=1e-12)


def test_a_twist_at_a_standstill_steers_nowhere():
    assert converted("geometry_msgs/msg/Twist", twist(0.0, 1.0)) == WantedMotion(0.0, 0.0)


def test_ackermann_says_speed_and_angle_itself():
    drive = Message(speed=1.5, steering_angle=0.2, acceleration=0.0)
    assert converted("ackermann_msgs/msg/AckermannDrive", drive) == WantedMotion(1.5, 0.2)
    assert converted("ackermann_msgs/msg/AckermannDriveStamped", Message(header=None, drive=drive)) == WantedMotion(
        1.5, 0.2
    )


def test_pedals_and_joystick_are_commands():
    pedals = Message(header=None, steering=0.1, throttle=0.2, braking=0.0)
    assert converted("art_msgs/msg/VehicleInput", pedals) == Command(0.1, 0.2, 0.0)
    joy = Message(header=None, axes=[0.0, 0.0, 0.5, 0.0, 0.0, -0.25], buttons=[1])
    assert converted("sensor_msgs/msg/Joy", joy) == Command(0.5, 0.0, 0.25)


@pytest.mark.parametrize(
    "message",
    [
        twist(math.nan, 0.0),
        Message(speed=1.0, steering_angle=math.inf),
        Message(header=None, steering=0.0, throttle=1.5, braking=0.0),
        Message(header=None, axes=[0.0], buttons=[1]),
    ],
)
def test_what_makes_no_sense_is_refused(message):
    with pytest.raises(SimjudgeError):
        converted("x", message)


def test_a_type_that_drives_nothing_is_refused_by_name():
    with pytest.raises(SimjudgeError, match="std_msgs/msg/String has none of the fields that drive a car"):
        input_converter("std_msgs/msg/String", {"data"}, WHEELBASE)


def test_the_speed_controller_brakes_above_the_speed_and_gives_throttle_below():
    vehicle = read_vehicle("art1")
    driver = ManualDriver(vehicle)
    driver.ask(converted("geometry_msgs/msg/Twist", twist(1.0, 0.0)), 0.0)

    def at(speed):
        state = VehicleState(0.0, Pose(), (speed, 0.0, 0.0), (0.0,) * 3, (0.0,) * 3, 0.0, (0.0,) * 4)
        return driver.command(state)

    free = 1.0 / (vehicle.top_wheel_speed * vehicle.wheel_radius)
    assert at(0.9).throttle == pytest.approx(free + 1.5 * 0.1, abs=1e-9)
    assert at(2.0).braking == pytest.approx(min(1.5 * 1.0 - free, 1.0), abs=1e-9)
