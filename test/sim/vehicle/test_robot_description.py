"""The car as URDF, read by MuJoCo's own reader of URDF; its joints, and where its wheels are, by another hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
from defusedxml.ElementTree import fromstring

from simjudge.geometry.poses import Pose
from simjudge.sim.vehicle.vehicle import WHEELS, VehicleState, read_vehicle
from simjudge.sim.vehicle.vehicle_messages import (
    JOINTS,
    JointAngles,
    JointTracker,
    robot_description,
    sensor_links,
    wheel_links,
)

CARS = ["art1", "compact", "hmmwv"]
STILL = VehicleState(0.0, Pose(), (0.0,) * 3, (0.0,) * 3, (0.0,) * 3, 0.0, (0.0,) * 4)
# Static bodies stay apart; the steering's knuckles have no mass of their own.
COMPILER = '<mujoco><compiler fusestatic="false" boundmass="1e-9" boundinertia="1e-12" balanceinertia="true"/></mujoco>'


def in_mujoco(car, angles):
    """The model that MuJoCo makes of a car's URDF, with its joints at some angles."""
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
    model = mujoco.MjModel.from_xml_string(robot_description(car).replace("</robot>", f"{COMPILER}</robot>"))
    data = mujoco.MjData(model)
    for name, angle in angles.items():
        data.joint(name).qpos[0] = angle
    mujoco.mj_forward(model, data)
    return model, data


def composed(links):
    """The pose of every frame in base_link."""
    out = {"base_link": Pose()}
    for link in links:
        out[link.child] = out[link.parent] @ link.pose
    return out


@pytest.mark.parametrize("name", CARS)
def test_another_reader_puts_the_wheels_where_tf_has_them(name):
    car = read_vehicle(name)
    left, right = car.wheel_angles(0.3)
    angles = dict(zip(JOINTS, (left, right, 0.4, 1.1, -2.0, 7.0), strict=True))
    _, data = in_mujoco(car, angles)
    ours = composed([*wheel_links(car, JointAngles(tuple(angles.values()), (0.0,) * 6)), *sensor_links(car.mounts)])
    assert set(ours) >= {f"{wheel}_wheel" for wheel in WHEELS} | {"camera_link", "camera_optical_frame"}
    for frame in set(ours) - {"base_link"}:
        np.testing.assert_allclose(data.body(frame).xpos, ours[frame].position, atol=1e-8)
        np.testing.assert_allclose(data.body(frame).xmat.reshape(3, 3), ours[frame].rotation_matrix(), atol=1e-8)


@pytest.mark.parametrize("name", CARS)
def test_the_axles_of_all_wheels_meet_in_one_point_on_the_rear_axle(name):
    car, angle = read_vehicle(name), 0.25
    frames = composed(wheel_links(car, JointTracker(car).update(0, replace(STILL, steering_angle=angle))))
    radius = car.wheelbase / math.tan(angle)
    for wheel in WHEELS:
        pose = frames[f"{wheel}_wheel"]
        axle, offset = pose.rotation_matrix()[:, 1], np.array([0.0, radius, car.wheel_radius]) - pose.position
        np.testing.assert_allclose(np.cross(axle, offset), 0, atol=1e-9)
        assert pose.position[2] == car.wheel_radius


@pytest.mark.parametrize("name", CARS)
def test_masses_and_limits_are_those_of_the_file(name):
    car = read_vehicle(name)
    model, _ = in_mujoco(car, {})
    assert sum(model.body_mass) == pytest.approx(car.mass, abs=1e-6)
    wheel = model.body("rear_left_wheel")
    assert sorted(wheel.inertia)[2] == pytest.approx(car.wheel_inertia)
    low, high = model.joint("front_left_steer_joint").range
    assert (low, high) == pytest.approx((-high, max(car.wheel_angles(car.steering_limit))))


def test_the_links_and_joints_are_one_tree_with_names_that_come_once():
    root = fromstring(robot_description(read_vehicle("art1"), {"camera": Pose((0.4, 0, 0.2)), "gps": Pose()}))
    links = [each.get("name") for each in root.iter("link")]
    children = [each.find("child").get("link") for each in root.iter("joint")]
    assert len(set(links)) == len(links)
    assert sorted(children) == sorted(set(links) - {"base_link"})
    assert {each.find("parent").get("link") for each in root.iter("joint")} <= set(links)
    assert {"gps_link", "camera_link", "camera_optical_frame", "chassis"} <= set(links)
    kinds = [each.get("type") for each in root.iter("joint")]
    assert (kinds.count("revolute"), kinds.count("continuous")) == (2, 4)


def test_joints_turn_by_the_mean_of_two_speeds_and_time_that_goes_back_turns_nothing():
    tracker = JointTracker(read_vehicle("art1"))
    first = tracker.update(10.0, replace(STILL, wheel_speeds=(1.0, 2.0, 3.0, 4.0)))
    assert first.position == (0.0,) * 6
    second = tracker.update(10.5, replace(STILL, wheel_speeds=(3.0, 2.0, 3.0, 0.0), steering_angle=0.1))
    assert second.position[2:] == pytest.approx((1.0, 1.0, 1.5, 1.0))
    left, right = read_vehicle("art1").wheel_angles(0.1)
    assert second.position[:2] == (left, right)
    assert second.velocity == pytest.approx((left / 0.5, right / 0.5, 3.0, 2.0, 3.0, 0.0))
    assert tracker.update(2.0, STILL).position[2:] == second.position[2:]
