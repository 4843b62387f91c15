"""Sensors along recorded poses: scans at the stamps of the real ones, with the recorded motion; inertial readings."""

import math

import numpy as np
import pytest

from simjudge.core.errors import Losses, UsageError
from simjudge.data.rosbag2.cloud_writing import cloud_message
from simjudge.data.rosbag2.interfaces import header_stamp, standard_types
from simjudge.data.rosbag2.live_recording import record_messages
from simjudge.data.rosbag2.recorded_poses import decoded_messages
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.sets import read_clouds, read_set
from simjudge.geometry.poses import Pose, Trajectory
from simjudge.geometry.trajectories import MotionLimits
from simjudge.sim.capture.replaying import replay
from simjudge.sim.capture.sensor_record import (
    WITHOUT_POSES,
    MessagesByFrame,
    SensorReplay,
    body_in_scene,
    recorded_cloud_stamps,
)
from simjudge.sim.driving.drive import drive
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.scene.model import Collider, Scene, Surface, Thing, box
from simjudge.sim.sensors.lidar.scan import POINT
from simjudge.sim.sensors.radar.detections import DETECTION
from simjudge.sim.sensors.sensor_file import read_sensors
from simjudge.sim.vehicle.vehicle import read_vehicle

pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")

SENSORS = """
roof: {kind: lidar, rate: 10, columns: 401, field_of_view: 40, range: [0.1, 50], mount: {position: [0, 0, 0.5]}}
imu: {kind: imu, rate: 100, window: 0.01}
wheels: {kind: encoders, rate: 20, ticks: 100000, gear: 10}
"""
SECOND = 1_000_000_000


def straight(speed=2.0, seconds=3.0, rate=50):
    """A body that goes along x from 10 s on."""
    time = np.arange(round(seconds * rate) + 1) / rate
    position = np.stack([speed * time, np.zeros_like(time), np.zeros_like(time)], 1)
    stamp = 10 * SECOND + np.rint(time * SECOND).astype(np.int64)
    return Trajectory("t", "map", "base_link", stamp, position, np.tile([0.0, 0, 0, 1], (len(time), 1)))


@pytest.fixture
def specs(tmp_path):
    path = tmp_path / "sensors.yaml"
    path.write_text(SENSORS)
    return read_sensors(path)


@pytest.fixture(scope="module")
def engine():
    solid = Collider("box", (0.2, 40, 4), (0, 0, 2))
    wall = Thing("wall", box(0.2, 40.0, 4.0), Surface(), Pose((20.1, 0, 0)), 1, 5, collider=solid)
    made = make_engine("default", Scene("s", (wall,), (), class_names={1: "wall"}))
    yield made
    made.close()


def test_a_scan_has_the_motion_of_its_turn(specs, engine):
    """At 2 m/s towards a wall each beam sees it where the car is when the beam fires."""
    stamps = np.array([9.9, 11.0, 12.5, 13.2]) * SECOND  # the first and the last have no poses
    losses = Losses()
    carried = SensorReplay(specs[:1], straight(), MotionLimits(), None, cloud_stamps=stamps.astype(np.int64))
    first, second = carried.events(engine, losses)
    assert [first.stamp, second.stamp] == [11 * SECOND, 12_500_000_000]
    assert losses.counts == {WITHOUT_POSES: 2}
    for event in (first, second):
        scan = event.reading.scan
        x = 2.0 * (event.stamp / SECOND - 10 + scan.time)
        assert scan.points[:, 0] == pytest.approx(20.0 - x, abs=1e-5)
        assert len(scan) == 401
    window = specs[0].window
    assert np.ptp(first.reading.scan.points[:, 0]) == pytest.approx(2.0 * window * 400 / 401, rel=1e-3)


def test_without_clouds_scans_come_at_the_lidars_rate(specs, engine):
    carried = SensorReplay(specs[:1], straight(), MotionLimits(), None)
    stamps = [event.stamp for event in carried.events(engine, Losses())]
    begin = 10 * SECOND + round(specs[0].window * SECOND)
    assert stamps == [begin + k * 100_000_000 for k in range(len(stamps))]
    assert len(stamps) == 30


def test_imu_and_encoders_of_a_steady_drive(specs, engine):
    car = read_vehicle("art1")
    carried = SensorReplay(specs[1:], straight(), MotionLimits(), car)
    events = list(carried.events(engine, Losses()))
    imu = np.array([event.reading.values[0] for event in events if event.spec.kind == "imu"])
    assert imu == pytest.approx(np.tile([0, 0, 0, 0, 0, 9.81], (len(imu), 1)), abs=0.01)
    ticks = np.array([event.reading.values[0] for event in events if event.spec.kind == "encoders"])
    turned = ticks[-1] / 1_000_000 * 2 * math.pi
    assert turned == pytest.approx(np.full(4, 2.0 * 3.0 / car.wheel_radius), rel=1e-4)


@pytest.mark.parametrize(
    ("text", "vehicle", "words"),
    [
        ("{a: {kind: gyroscope, rate: 9, source: chrono}}", "art1", "source chrono: along given poses simjudge alone"),
        ("{a: {kind: gyroscope, rate: 9, mount: {body: crate}}}", "art1", "the poses are of the car alone"),
        ("{a: {kind: encoders, rate: 9, ticks: 9}}", None, "encoders need a car: give --vehicle"),
    ],
)
def test_what_poses_cannot_tell_is_refused(tmp_path, text, vehicle, words):
    path = tmp_path / "sensors.yaml"
    path.write_text(text)
    with pytest.raises(UsageError, match=words):
        SensorReplay(read_sensors(path), straight(), MotionLimits(), vehicle and read_vehicle(vehicle))


def test_the_body_is_brought_into_the_scene_and_onto_the_frames_clock():
    align = Pose.from_euler(1, 2, 0.5, yaw=math.pi / 2)
    moved = body_in_scene(straight(), align, 3 * SECOND)
    assert moved.stamp[0] == 7 * SECOND
    for row in (0, 77):
        expected = align @ straight().pose(row)
        assert moved.position[row] == pytest.approx(expected.position)
        assert np.abs(np.dot(moved.orientation[row], expected.orientation)) == pytest.approx(1)


def test_messages_go_to_the_first_frame_at_or_after_their_time(specs, engine):
    carried = SensorReplay(specs[:1], straight(), MotionLimits(), None)
    events = list(carried.events(engine, Losses()))
    frames = np.array([10.5, 11.5, 12.0]) * SECOND
    dealt = MessagesByFrame(events, specs, frames.astype(np.int64), {1: "wall"})
    counts = [sum(topic == "/scan/points" for topic, _ in dealt.of(k)) for k in range(3)]
    times = np.array([event.time for event in events])
    inside = np.count_nonzero((times > frames[0]) & (times <= frames[1]))
    assert counts == [np.count_nonzero(times <= frames[0]), inside, np.count_nonzero(times > frames[1])]


def recorded_clouds(path, topics, stamps, radars=()):
    types = standard_types().types
    with record_messages(path) as recording:
        for stamp in stamps:
            time = types["builtin_interfaces/msg/Time"](sec=stamp // SECOND, nanosec=stamp % SECOND)
            header = types["std_msgs/msg/Header"](stamp=time, frame_id="velodyne")
            for topic in topics:
                table = np.zeros(2, DETECTION if topic in radars else POINT)
                recording.write(topic, stamp, cloud_message(lambda name: types[name], header, table))
    return path


def test_stamps_of_recorded_clouds(tmp_path):
    stamps = [10 * SECOND, 10 * SECOND + 7]
    one = recorded_clouds(tmp_path / "one.mcap", ["/points", "/points/ground_truth"], stamps)
    assert recorded_cloud_stamps(one, None, Losses()).tolist() == stamps
    two = recorded_clouds(tmp_path / "two.mcap", ["/front", "/roof"], stamps)
    with pytest.raises(UsageError, match="has clouds on /front, /roof; name the topic"):
        recorded_cloud_stamps(two, None, Losses())
    assert recorded_cloud_stamps(two, "/roof", Losses()).tolist() == stamps
    with pytest.raises(UsageError, match="/rof is no topic of clouds; is /roof meant"):
        recorded_cloud_stamps(two, "/rof", Losses())
    assert recorded_cloud_stamps(tmp_path / "poses.tum", None, Losses()) is None


def test_a_radars_detections_are_no_clouds_unless_their_topic_is_named(tmp_path):
    stamps = [10 * SECOND, 10 * SECOND + 7]
    both = recorded_clouds(tmp_path / "both.mcap", ["/front", "/roof"], stamps, radars=["/front"])
    assert recorded_cloud_stamps(both, None, Losses()).tolist() == stamps
    assert recorded_cloud_stamps(both, "/front", Losses()).tolist() == stamps
    alone = recorded_clouds(tmp_path / "alone.mcap", ["/front"], stamps, radars=["/front"])
    assert recorded_cloud_stamps(alone, None, Losses()) is None


def test_a_replay_holds_what_the_sensors_read(tmp_path):
    """From poses alone: three frames, and an IMU and a lidar beside them."""
    poses = tmp_path / "poses.tum"
    poses.write_text("".join(f"{100 + k / 20} {0.02 * k} 0 0 0 0 0 1\n" for k in range(21)))
    path = tmp_path / "sensors.yaml"
    path.write_text("{imu: {kind: imu, rate: 50}, scan: {kind: lidar, rate: 10, columns: 90, range: [0.1, 20]}}")
    done = replay(poses, tmp_path / "out.mcap", scene="lab", camera="plain_half", rate=3, sensors=path)
    counts = {info.topic: info.count for info in Recording(done.path).topic_infos()}
    assert counts["/imu/data"] == counts["/imu/data/ground_truth"] == 50
    assert counts["/scan/points"] == counts["/scan/laser"] == 10
    assert len(read_set(done.path)) == done.frames


def test_clouds_of_a_replay_know_where_they_were_taken(tmp_path):
    """The sensor's pose at each scan, in the recorded frame, while the car turns and the scene lies elsewhere."""
    turn = [(100 + k / 20, 0.02 * k, 0.03 * k) for k in range(21)]
    poses = tmp_path / "poses.tum"
    poses.write_text("".join(f"{t} {x} 0 0 0 0 {np.sin(a / 2)} {np.cos(a / 2)}\n" for t, x, a in turn))
    path = tmp_path / "sensors.yaml"
    path.write_text("scan: {kind: lidar, rate: 10, columns: 90, range: [0.1, 20], mount: {position: [0.3, 0.1, 0.4]}}")
    given = {"scene": "lab", "camera": "plain_half", "rate": 3, "sensors": path, "align": "0.5,-0.2,0,40"}
    clouds = read_clouds(replay(poses, tmp_path / "out.mcap", **given).path)
    assert len(clouds.poses) == len(clouds.cloud_name) == 10
    for stamp, pose in zip(clouds.stamp.tolist(), clouds.poses, strict=True):
        seconds = stamp / SECOND - 100
        x, angle = 0.4 * seconds, 0.6 * seconds
        sensor = pose if clouds.mount is None else pose @ clouds.mount
        expected = (x + 0.3 * np.cos(angle) - 0.1 * np.sin(angle), 0.3 * np.sin(angle) + 0.1 * np.cos(angle), 0.4)
        assert sensor.position == pytest.approx(expected, abs=1e-6)
        assert sensor.angles()[0] == pytest.approx(angle, abs=1e-6)


def test_sensors_are_replayed_without_a_camera(tmp_path):
    """A drive's scans, made again along its recorded poses, are those of the drive: nothing but poses lies between."""
    real, again = tmp_path / "real.mcap", tmp_path / "again.mcap"
    (tmp_path / "sensors.yaml").write_text(
        "roof: {kind: lidar, rate: 5, columns: 91, range: [0.1, 50], mount: {position: [0, 0, 0.5]}}\n"
        "gyro: {kind: gyroscope, rate: 50, window: 0.01}\n"
        "accelerometer: {kind: accelerometer, rate: 50, window: 0.01}\n"
    )
    drive("lab", real, sensors=tmp_path / "sensors.yaml", limit=1.0, driver="straight", speed=1.0, images=False)
    result = replay(real, again, scene="lab", sensors=tmp_path / "sensors.yaml", max_speed=50)
    assert str(result).endswith(f"{result.frames} readings")
    assert result.record_path.is_file()
    made, virtual = read_clouds(real), read_clouds(again)
    shared = sorted(set(made.stamp.tolist()) & set(virtual.stamp.tolist()))
    assert len(shared) >= 3
    for stamp in shared:
        one, other = (each.read(each.stamp.tolist().index(stamp)).table for each in (made, virtual))
        assert len(one) == len(other)
    inertial = [message for _, message in decoded_messages(Recording(again), {"/imu/data"}, Losses())]
    stamps = [header_stamp(message.header) for message in inertial]
    assert len(set(stamps)) == len(stamps) > 30, "one message for gyroscope and accelerometer"
    assert all(message.linear_acceleration.z > 5 for message in inertial)
    topics = {info.topic for info in Recording(again).topic_infos()}
    assert {"/scan/points", "/imu/data", "/tf"} <= topics, topics
    assert not any("camera" in topic for topic in topics)


@pytest.mark.parametrize(("given", "car"), [(None, "compact"), ("art1", "art1")])
def test_a_replay_takes_the_scenes_own_car_unless_another_is_given(tmp_path, given, car):
    """The lidar is as high above the poses' ground as the car's roof."""
    path = tmp_path / "path.tum"
    path.write_text("".join(f"{10 + 0.1 * k:.1f} {0.1 * k:.2f} 0 0 0 0 0 1\n" for k in range(6)))
    scene = tmp_path / "plain.yaml"
    scene.write_text("vehicle: compact\nthings: {floor: {plane: [200, 200]}}\n")
    sensors = tmp_path / "roof.yaml"
    sensors.write_text("roof: {kind: lidar, rate: 5, columns: 8, elevation: [-30], mount: {place: roof}}\n")
    lines = []
    more = {} if given is None else {"vehicle": given}
    out = tmp_path / "out.mcap"
    replay(path, out, scene=scene, sensors=sensors, log=lines.append, **more)
    assert any(f"at the places of {car}" in line for line in lines), lines
    z = read_clouds(out).read(0).table["z"]
    height = read_vehicle(given or "compact").places["roof"].position[2]
    assert z[np.isfinite(z)] == pytest.approx(-height, abs=1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [({}, "--sensors"), ({"sensors": "vlp16", "rate": 2.0}, "--rate"), ({"sensors": "vlp16", "start": 1.0}, "--start")],
)
def test_without_a_camera_what_chooses_frames_is_refused(tmp_path, options, message):
    poses = tmp_path / "poses.txt"
    poses.write_text("1 0 0 0 0 0 0 1\n2 1 0 0 0 0 0 1\n")
    with pytest.raises(UsageError, match=message):
        replay(poses, tmp_path / "out.mcap", scene="lab", **options)
    assert not list(tmp_path.glob("out*"))
