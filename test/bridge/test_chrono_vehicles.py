"""Real wheeled vehicles under a bridge without cameras, held to Chrono's own getters; skipped where there are none."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pychrono", reason="PyChrono is not installed")
pytest.importorskip("pychrono.vehicle", reason="this PyChrono has no vehicle module", exc_type=ImportError)

import pychrono.core as chrono
import pychrono.vehicle as veh

from simjudge.bridge.chrono import ChronoBridge
from simjudge.core.errors import Losses
from simjudge.data.rosbag2.recorded_poses import decoded_messages
from simjudge.data.rosbag2.recording import Recording
from simjudge.geometry.poses import Pose
from simjudge.sim.vehicle.vehicle import WHEELS

YAW = 0.7
SPINDLES = ((0, 0), (0, 1), (1, 0), (1, 1))


def artcar():
    car = veh.ARTcar()
    car.SetContactMethod(chrono.ChContactMethod_NSC)
    car.SetInitPosition(chrono.ChCoordsysd(chrono.ChVector3d(1, 2, 0.13), chrono.QuatFromAngleZ(YAW)))
    car.SetTireType(veh.TireModelType_TMEASY)
    car.SetTireStepSize(2.5e-4)
    car.SetMaxMotorVoltageRatio(0.16)
    car.SetStallTorque(0.3)
    car.SetTireRollingResistance(0.06)
    return car, 2.5e-4, 0.5


def hmmwv():
    car = veh.HMMWV_Full()
    car.SetContactMethod(chrono.ChContactMethod_SMC)
    car.SetInitPosition(chrono.ChCoordsysd(chrono.ChVector3d(1, 2, 0.6), chrono.QuatFromAngleZ(YAW)))
    car.SetEngineType(veh.EngineModelType_SIMPLE)
    car.SetTransmissionType(veh.TransmissionModelType_AUTOMATIC_SIMPLE_MAP)
    car.SetTireType(veh.TireModelType_TMEASY)
    car.SetTireStepSize(1e-3)
    return car, 2e-3, 1.2


def vector(of):
    return [of.x, of.y, of.z]


def getters(wheeled):
    """What Chrono says: pose, speed, and of each wheel its place, angle and speed; the body's turning."""
    turn = wheeled.GetRot()
    pose = Pose(tuple(vector(wheeled.GetPos())), (turn.e1, turn.e2, turn.e3, turn.e0))
    places = [vector(wheeled.GetSpindlePos(*at)) for at in SPINDLES]
    angles = [wheeled.GetSteeringAngle(0, side) for side in (0, 1)]
    speeds = [-wheeled.GetSpindleOmega(*at) for at in SPINDLES]
    # Chrono's speeds are absolute: without what the body turns about each axle they are those in the car.
    body = vector(wheeled.GetChassisBody().GetAngVelParent())
    speeds = [
        speed - np.dot(body, vector(wheeled.GetSpindleRot(*at).GetAxisY()))
        for speed, at in zip(speeds, SPINDLES, strict=True)
    ]
    return pose, wheeled.GetSpeed(), places, angles, speeds


def nanoseconds(stamp):
    return stamp.sec * 1_000_000_000 + stamp.nanosec


@pytest.mark.slow
@pytest.mark.parametrize("make", [artcar, hmmwv])
def test_a_recording_has_what_chronos_getters_say(make, tmp_path):
    car, step, seconds = make()
    car.Initialize()
    wheeled, ground, inputs, said = car.GetVehicle(), veh.FlatTerrain(0.0, 0.8), veh.DriverInputs(), {}
    out = tmp_path / "drive.mcap"
    with ChronoBridge(car.GetSystem(), out=out) as bridge:
        bridge.vehicle(car)
        while bridge.ok(duration=seconds):
            time = car.GetSystem().GetChTime()
            inputs.m_throttle, inputs.m_steering = 0.6, 0.5
            car.Synchronize(time, inputs, ground)
            car.Advance(step)
            bridge.drive(inputs)
            bridge.step(step)
            said[round(car.GetSystem().GetChTime() * 1e9)] = getters(wheeled)

    def held(topic):
        return [message for _, message in decoded_messages(Recording(out), {topic}, Losses())]

    compared = 0
    for odometry, joints, moved in zip(held("/vehicle/odometry"), held("/joint_states"), held("/tf"), strict=True):
        pose, speed, places, angles, speeds = said[nanoseconds(odometry.header.stamp)]
        at = odometry.pose.pose.position
        np.testing.assert_allclose(vector(at), pose.position, atol=1e-9)
        assert odometry.twist.twist.linear.x == pytest.approx(speed, abs=1e-9)
        angle = dict(zip(joints.name, joints.position, strict=True))
        turning = dict(zip(joints.name, joints.velocity, strict=True))
        assert [angle[f"front_{side}_steer_joint"] for side in ("left", "right")] == pytest.approx(angles, abs=1e-9)
        assert [turning[f"{wheel}_wheel_joint"] for wheel in WHEELS] == pytest.approx(speeds, abs=0.02)
        frames = {transform.child_frame_id: transform.transform.translation for transform in moved.transforms}
        for wheel, place in zip(WHEELS, places, strict=True):
            centre = frames[f"{wheel}_steer" if wheel.startswith("front") else f"{wheel}_wheel"]
            np.testing.assert_allclose(pose.to_world(vector(centre)), place, atol=1e-6)
        compared += 1
    assert compared >= 20
    assert angles[0] > 0.05  # both turn left
    assert speeds[0] > 1


@pytest.mark.slow
def test_a_tracked_vehicle_is_where_chrono_says(tmp_path):
    """An M113 that falls on nothing: pose and speed of its chassis, and no wheels."""
    file = Path(veh.GetVehicleDataFile("M113/vehicle/M113_Vehicle_SinglePin.json"))
    if not file.exists():
        pytest.skip(f"Chrono's data is not there: {file}")
    m113 = veh.TrackedVehicle(str(file), chrono.ChContactMethod_SMC)
    start = chrono.ChCoordsysd(chrono.ChVector3d(1, 2, 0.8), chrono.QuatFromAngleZ(YAW))
    m113.Initialize(start, 2.0)
    system, inputs, said, out = m113.GetSystem(), veh.DriverInputs(), {}, tmp_path / "drive.mcap"
    system.SetCollisionSystemType(chrono.ChCollisionSystem.Type_BULLET)
    with ChronoBridge(system, out=out) as bridge:
        bridge.vehicle(m113)
        while bridge.ok(duration=0.1):
            m113.Synchronize(system.GetChTime(), inputs)
            m113.Advance(5e-4)
            bridge.step(5e-4)
            said[round(system.GetChTime() * 1e9)] = vector(m113.GetPos()), m113.GetSpeed()
    recording = Recording(out)
    compared = 0
    for _, odometry in decoded_messages(recording, {"/vehicle/odometry"}, Losses()):
        place, speed = said[nanoseconds(odometry.header.stamp)]
        np.testing.assert_allclose(vector(odometry.pose.pose.position), place, atol=1e-9)
        assert odometry.twist.twist.linear.x == pytest.approx(speed, abs=1e-9)
        compared += 1
    assert compared == 6
    assert speed > 1
    assert not [topic for topic in recording.topics if "joint" in topic]
