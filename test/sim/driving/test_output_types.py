"""What a driver does, as a robot's own messages: the bicycle's formula by hand, and back through `input_types`."""

import math
from types import SimpleNamespace

import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.geometry.poses import Pose
from simjudge.sim.driving.manual import DriveOutput, ManualDriver, WantedMotion, input_converter
from simjudge.sim.vehicle.vehicle import Command, VehicleState, read_vehicle

CAR = read_vehicle("art1")
STAMP = 1_500_000_000


def fields(**values):
    class Message(SimpleNamespace):
        def __init__(self, **given):
            made = {name: value() if callable(value) else value for name, value in values.items()}
            super().__init__(**{**made, **given})

        @classmethod
        def get_fields_and_field_types(cls):
            return dict.fromkeys(values, "")

    return Message


VECTOR = fields(x=0.0, y=0.0, z=0.0)
TWIST = fields(linear=VECTOR, angular=VECTOR)
ACKERMANN = fields(steering_angle=0.0, speed=0.0)
TIME, HEADER = fields(sec=0, nanosec=0), fields(stamp=None, frame_id="")
TYPES = {
    "simjudge_msgs/msg/VehicleInput": fields(header=HEADER, steering=0.0, throttle=0.0, braking=0.0),
    "geometry_msgs/msg/Twist": TWIST,
    "geometry_msgs/msg/TwistStamped": fields(header=HEADER, twist=TWIST),
    "duckietown_msgs/msg/Twist2DStamped": fields(header=HEADER, v=0.0, omega=0.0),
    "ackermann_msgs/msg/AckermannDrive": ACKERMANN,
    "ackermann_msgs/msg/AckermannDriveStamped": fields(header=HEADER, drive=ACKERMANN),
    "sensor_msgs/msg/Joy": fields(header=HEADER, axes=list, buttons=list),
    "std_msgs/msg/Header": HEADER,
    "builtin_interfaces/msg/Time": TIME,
}
SPEEDS = [name for name in TYPES if "Twist" in name or "Ackermann" in name]


def output(kind):
    return DriveOutput(TYPES.__getitem__, kind, CAR, "base_link")


@pytest.mark.parametrize("kind", SPEEDS)
@pytest.mark.parametrize("steering", [-1.0, 0.0, 0.4])
def test_a_robot_gets_the_speed_and_the_turn_that_the_driver_means(kind, steering):
    message = output(kind).message(STAMP, Command(steering, 0.3, 0.0), 1.25)
    back = input_converter(kind, vars(message), CAR.wheelbase)(message)
    assert back.speed == 1.25
    assert back.steering_angle == pytest.approx(steering * CAR.steering_limit, abs=1e-12)
    if "header" in vars(message):
        assert (message.header.stamp.sec, message.header.stamp.nanosec) == (1, 500_000_000)
        assert message.header.frame_id == "base_link"


def test_the_turn_is_that_of_a_bicycle():
    message = output("geometry_msgs/msg/Twist").motion(STAMP, WantedMotion(2.0, 0.3))
    radius = CAR.wheelbase / math.tan(0.3)
    assert message.angular.z == pytest.approx(2.0 / radius)


def test_pedals_stay_pedals():
    made = output("simjudge_msgs/msg/VehicleInput")
    assert not made.asks_for_speed
    message = made.message(STAMP, Command(0.2, 0.3, 0.0), 1.0)
    assert (message.steering, message.throttle, message.braking) == (0.2, 0.3, 0.0)


def test_a_type_that_drives_nothing_is_refused():
    with pytest.raises(SimjudgeError, match="no driver writes sensor_msgs/msg/Joy; they write VehicleInput, Twist"):
        output("sensor_msgs/msg/Joy")


def test_a_person_moves_a_robot_by_a_share_of_its_speed():
    driver = ManualDriver(CAR)

    def state(time):
        return VehicleState(time, Pose(), (0.0,) * 3, (0.0,) * 3, (0.0,) * 3, 0.0, (0.0,) * 4)

    driver.ask(Command(-0.5, 0.4, 0.0), 1.0)
    assert driver.motion(state(1.1), 2.0) == WantedMotion(0.8, -0.5 * CAR.steering_limit)
    driver.ask(Command(0.0, 0.0, 0.1), 1.2)
    assert driver.motion(state(1.2), 2.0).speed == 0
    driver.ask(WantedMotion(-0.3, 0.1), 1.3)
    assert driver.motion(state(1.3), 2.0) == WantedMotion(-0.3, 0.1), "a robot may have a reverse gear"
    assert driver.motion(state(9.0), 2.0) == WantedMotion(0.0, 0.0), "nobody asks any more"
