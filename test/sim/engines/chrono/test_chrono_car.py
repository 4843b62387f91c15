"""ARTcar told what a vehicle's file says, by the formulas and figures of Chrono's sources."""

import math
from dataclasses import replace

import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.chrono.car import ArtCar, check_vehicle, motor_settings
from simjudge.sim.engines.chrono.wheeled_car import Stance, base_in_reference, bicycle_angle, steering_input
from simjudge.sim.vehicle.vehicle import read_vehicle


def chrono_wheel_torque(speed, throttle, voltage_ratio, stall_torque):
    """N m on all four wheels at a wheel speed, rad/s, step by step as Chrono's files have it (9.0.1 to 7689fbc0)."""
    shaft = speed / 0.5  # ChShaftsDriveline4WD.cpp, m_front_conicalgear_ratio of ARTcar_Driveline4WD.cpp; differentials
    motor = shaft / (1 / 3)  # ChAutomaticTransmissionSimpleMap.cpp, Synchronize; SetGearRatios of ARTcar's
    top = 1300 * 7.4 * voltage_ratio * math.pi / 30  # ARTcar_EngineSimpleMap.cpp, GetMaxEngineSpeed
    motor = min(max(motor, 0.0), top)  # ChEngineSimpleMap.cpp, Synchronize
    torque = throttle * stall_torque * (1 - motor / top)  # linear maps of two points, that of no throttle zero
    return torque / (1 / 3) / 0.5


CARS = {
    "art1": read_vehicle("art1"),
    "Chrono's demo": replace(read_vehicle("art1"), voltage=0.16 * 7.4, rolling_resistance=0.06),
    "geared down": replace(read_vehicle("art1"), gear_ratio=0.21, stall_torque=0.5),
    "another motor": replace(read_vehicle("art1"), motor_kv=2000.0, battery_voltage=11.1, voltage=1.5),
}


@pytest.mark.parametrize("name", CARS)
@pytest.mark.parametrize("throttle", [0.3, 1.0])
def test_speed_and_force_at_the_wheels_are_the_files(name, throttle):
    car = CARS[name]
    top = car.motor_kv * car.voltage * car.gear_ratio * math.pi / 30
    for share in (0.0, 0.2, 0.7, 1.0, 1.2):
        ours = max(0.0, throttle * car.stall_torque / car.gear_ratio * (1 - share))
        theirs = chrono_wheel_torque(share * top, throttle, *motor_settings(car))
        assert theirs == pytest.approx(ours, abs=1e-9)


def test_art1_told_as_it_is_would_have_half_the_speed_and_twice_the_force():
    """The figures: twice the voltage, half the torque."""
    assert motor_settings(CARS["art1"]) == pytest.approx((0.18, 0.15))
    assert chrono_wheel_torque(0.0, 1.0, 0.09, 0.3) == pytest.approx(2 * 0.3 * 3)
    half = CARS["art1"].top_wheel_speed / 2
    assert chrono_wheel_torque(half, 1.0, 0.09, 0.3) == pytest.approx(0, abs=1e-9)
    assert chrono_wheel_torque(half, 1.0, *motor_settings(CARS["art1"])) == pytest.approx(0.3 * 3 / 2)


def test_base_link_of_a_standing_car():
    """A reference frame 0.122 m up, nose 1 degree down: base_link is level, on the ground below the rear axle."""
    reference = Pose.from_euler(2, 3, 0.122, yaw=0.7, pitch=math.radians(1))
    base = reference @ base_in_reference(reference, ArtCar.rear)
    assert base.position[2] == pytest.approx(0, abs=1e-12)
    assert base.angles() == pytest.approx((0.7, 0, 0), abs=1e-9)
    axle = reference.to_world([0.1426 - 0.46524, 0, -0.03725])
    assert base.position[:2] == pytest.approx(axle[:2].tolist())


def test_steering_is_left_positive_whatever_chrono_has():
    stood = Stance(Pose(), 0.4, 1)
    assert steering_input(0.2, stood) == pytest.approx(0.5)
    assert steering_input(0.2, Stance(Pose(), 0.4, -1)) == pytest.approx(-0.5)
    assert steering_input(-1.0, stood) == -1


def test_a_bicycles_angle_is_between_its_wheels():
    car = read_vehicle("art1")
    for angle in (0.3, -0.2, 0.0):
        assert bicycle_angle(*car.wheel_angles(angle)) == pytest.approx(angle, abs=1e-12)


def test_art1_is_artcar_and_other_cars_are_not():
    art1 = read_vehicle("art1")
    check_vehicle(art1)
    with pytest.raises(SimjudgeError, match=r"wheelbase 0\.3, but Chrono's ARTcar has 0\.465"):
        check_vehicle(replace(art1, wheelbase=0.3))
