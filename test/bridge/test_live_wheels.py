"""The wheels of a vehicle, from spindles that are formulas: where they are, how they turn, and what is recorded."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from simjudge.bridge.bridge_devices import BridgeRecorder, BridgeSetup
from simjudge.bridge.live_system import find_wheels
from simjudge.core.errors import Losses
from simjudge.data.rosbag2.live_recording import record_messages
from simjudge.data.rosbag2.recorded_poses import decoded_messages
from simjudge.data.rosbag2.recording import Recording
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.lock_step import MotionSample
from simjudge.sim.scene.model import Scene
from simjudge.sim.vehicle.vehicle import VehicleState
from simjudge.sim.vehicle.vehicle_messages import JOINTS

YAW, TURN = math.radians(90), 0.7
CENTRES = {(0, 0): (1.2, 0.5, 0.3), (0, 1): (1.2, -0.5, 0.3), (1, 0): (-1.3, 0.5, 0.3), (1, 1): (-1.3, -0.5, 0.3)}
STEER = {(0, 0): 0.25, (0, 1): 0.2, (1, 0): 0.0, (1, 1): 0.0}
SPIN = {(0, 0): 10.0, (0, 1): 12.0, (1, 0): 9.0, (1, 1): 11.0}
BASE = Pose((-1.3, 0, -0.3))
"""base_link below the rear axle; the chassis's own frame is between the axles."""


def vector(x, y, z):
    return SimpleNamespace(x=x, y=y, z=z)


def about_z(angle):
    return SimpleNamespace(e0=math.cos(angle / 2), e1=0.0, e2=0.0, e3=math.sin(angle / 2))


class Vehicle:
    """A ChWheeledVehicle at (5, 6, 1) with a yaw of 90 degrees, that turns about z."""

    axles = 2

    def GetNumberAxles(self):  # noqa: N802 - Chrono's name
        return self.axles

    def GetChassisBody(self):  # noqa: N802 - Chrono's name
        frame = SimpleNamespace(GetPos=lambda: vector(5, 6, 1), GetRot=lambda: about_z(YAW))
        return SimpleNamespace(GetFrameRefToAbs=lambda: frame, GetAngVelParent=lambda: vector(0, 0, TURN))

    def GetSpindlePos(self, *at):  # noqa: N802 - Chrono's name
        x, y, z = CENTRES[at]
        return vector(5 - y, 6 + x, 1 + z)

    def GetSpindleRot(self, *at):  # noqa: N802 - Chrono's name
        return about_z(YAW + STEER[at])

    def GetSpindleAngVel(self, *at):  # noqa: N802 - Chrono's name
        heading = YAW + STEER[at]
        return vector(-math.sin(heading) * SPIN[at], math.cos(heading) * SPIN[at], TURN)

    def GetTire(self, axle, _side):  # noqa: N802 - Chrono's name
        return SimpleNamespace(GetRadius=lambda: 0.3 + 0.1 * axle, GetWidth=lambda: 0.2)


def test_centres_angles_and_speeds_are_those_of_the_spindles():
    wheels = find_wheels(SimpleNamespace(GetVehicle=Vehicle), BASE)
    assert wheels.figures["front_left"].centre == pytest.approx((2.5, 0.5, 0.6), abs=1e-12)
    assert wheels.figures["rear_right"].centre == pytest.approx((0, -0.5, 0.6), abs=1e-12)
    assert [figure.radius for figure in wheels.figures.values()] == [0.3, 0.3, 0.4, 0.4]
    angle, speeds = wheels.motion()
    assert speeds == pytest.approx((10, 12, 9, 11), abs=1e-12)
    # The cotangent of the middle wheel is the mean of both.
    assert 1 / math.tan(angle) == pytest.approx((1 / math.tan(0.25) + 1 / math.tan(0.2)) / 2)
    wheels.joints(1.0)
    joints = wheels.joints(1.5)
    assert joints.position == pytest.approx((0.25, 0.2, 5, 6, 4.5, 5.5), abs=1e-12)
    assert joints.velocity == pytest.approx((0, 0, 10, 12, 9, 11), abs=1e-12)


def test_wheels_in_tf_go_with_their_springs(monkeypatch):
    """A HMMWV's wheels are 0.12 m higher in the chassis once it stands: tf has them where they are."""
    wheels = find_wheels(Vehicle(), BASE)
    setup = BridgeSetup(Scene("chrono", (), ()), (), (), (), {}, wheels.figures, wheels.centres)
    monkeypatch.setitem(CENTRES, (0, 0), (1.25, 0.55, 0.42))
    places = {link.child: link.pose.position for link in setup.wheel_links(wheels.joints(1.0))}
    assert places["front_left_steer"] == pytest.approx((2.55, 0.55, 0.72), abs=1e-12)
    assert places["rear_left_wheel"] == pytest.approx((0, 0.5, 0.6), abs=1e-12)
    assert wheels.figures["front_left"].centre == pytest.approx((2.5, 0.5, 0.6), abs=1e-12)


def test_other_vehicles_have_no_wheels_here():
    truck, bare = Vehicle(), Vehicle()
    truck.axles, bare.GetTire = 3, lambda _axle, _side: None
    for vehicle in (truck, bare, Vehicle().GetChassisBody(), SimpleNamespace(GetChassisBody=None)):
        assert find_wheels(vehicle, Pose()) is None


def test_a_recording_has_urdf_joints_and_wheels_in_tf(tmp_path):
    wheels = find_wheels(Vehicle(), BASE)
    setup = BridgeSetup(Scene("chrono", (), ()), (), (), (), {}, wheels.figures)
    state = VehicleState(0.5, Pose((5, 6, 1)), (0,) * 3, (0,) * 3, (0,) * 3, *wheels.motion())
    out = tmp_path / "x.mcap"
    with record_messages(out, {}) as recording:
        recorder = BridgeRecorder(recording, setup, 0)
        for time in (500_000_000, 1_000_000_000):
            recorder.motion(MotionSample(time, state), wheels.joints(time / 1e9))

    def held(topic):
        return [message for _, message in decoded_messages(Recording(out), {topic}, Losses())]

    last = held("/joint_states")[-1]
    assert dict(zip(last.name, last.position, strict=True))["rear_left_wheel_joint"] == pytest.approx(4.5)
    moved = {transform.child_frame_id: transform for transform in held("/tf")[-1].transforms}
    at = moved["front_left_steer"].transform
    assert moved["front_left_steer"].header.frame_id == "base_link"
    assert (at.translation.x, at.translation.y, at.translation.z) == pytest.approx((2.5, 0.5, 0.6))
    assert 2 * math.asin(at.rotation.z) == pytest.approx(0.25)
    (described,) = held("/robot_description")
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
    compiler = '<mujoco><compiler fusestatic="false" boundmass="1" boundinertia="1"/></mujoco></robot>'
    model = mujoco.MjModel.from_xml_string(described.data.replace("</robot>", compiler))
    data = mujoco.MjData(model)
    for name, angle in zip(JOINTS, last.position, strict=True):
        data.joint(name).qpos[0] = angle
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(data.body("front_left_wheel").xpos, (2.5, 0.5, 0.6), atol=1e-8)
    np.testing.assert_allclose(data.body("rear_right_wheel").xpos, (0, -0.5, 0.6), atol=1e-8)
