"""Sensors of a car in lock-step with physics: when readings come, and what they say of a car that is known to stand."""

from dataclasses import replace

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.data.rosbag2.cloud_writing import read_cloud
from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.lock_step import FrameEvent, LockStep, MotionSample
from simjudge.sim.capture.sensor_feed import CapturedScan, SensorBatch, SensorFeed
from simjudge.sim.capture.sensor_record import SensorMessages
from simjudge.sim.driving.course import scene_course, start_pose
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.scene.ground import Ground
from simjudge.sim.scene.model import Collider, Scene, Surface, Thing, box, plane
from simjudge.sim.scene.read import read_scene
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera.rig import MountedCamera
from simjudge.sim.sensors.sensor_file import read_sensors
from simjudge.sim.vehicle.vehicle import read_vehicle

pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")

SENSORS = """
roof:
  {kind: lidar, rate: 10, columns: 720, elevation: [-10, 0], range: [0.5, 30], mount: {position: [0, 0, 0.5]},
   lag: 0.03}
front: {kind: lidar, rate: 10, columns: 181, field_of_view: 180, range: [0.1, 30], mount: {position: [0.3, 0, 0.5]}}
gyro: {kind: gyroscope, rate: 100, mount: {position: [0.1, 0, 0.1]}}
accel: {kind: accelerometer, rate: 100, window: 0.01, mount: {position: [0.1, 0, 0.1]}}
imu: {kind: imu, rate: 50, mount: {position: [0.1, 0, 0.1], roll: 90}}
gps: {kind: gps, rate: 5, reference: [-89.4, 43.07, 260], lag: 0.1, noise: {deviation: 2}}
wheels: {kind: encoders, rate: 20, ticks: 1000}
"""


def world():
    floor = Thing("floor", plane(60, 60), Surface(), collider=Collider("plane"))
    solid = Collider("box", (0.4, 2, 1), (0, 0, 0.5))
    crate = Thing("crate", box(0.4, 2.0, 1.0), Surface(), Pose((3.0, 0, 0)), 1, 7, collider=solid)
    return Scene("s", (floor, crate), (), class_names={1: "crate"})


@pytest.fixture(scope="module")
def drive(tmp_path_factory):
    """Events of 0.6 simulated seconds of a car that stands, and the sensors."""
    path = tmp_path_factory.mktemp("feed") / "sensors.yaml"
    path.write_text(SENSORS)
    specs = read_sensors(path)
    engine = make_engine("default", world(), read_vehicle("art1"), Pose())
    engine.step(1.0)  # until it stands
    camera = replace(read_camera("plain_half"), rate=10)
    events = []
    mounted = MountedCamera("camera", camera, Pose((0.2, 0, 0.1)))
    for event in LockStep(engine, [mounted], feed=SensorFeed(engine, specs, 3)).events():
        if event.time > 1_600_000_000:
            break
        events.append(event)
    engine.close()
    return events, specs


def readings(drive, name):
    batches = [event for event in drive[0] if isinstance(event, SensorBatch)]
    return [(batch.time, each) for batch in batches for each in batch.events if each.spec.name == name]


@pytest.mark.parametrize(
    ("name", "first", "step", "lag"),
    [
        ("gyro", 1.0, 0.01, 0),
        ("accel", 1.01, 0.01, 0),
        ("imu", 1.01, 0.02, 0),
        ("gps", 1.0, 0.2, 0.1),
        ("wheels", 1.0, 0.05, 0),
        ("roof", 1.1, 0.1, 0.03),
        ("front", 1.05, 0.1, 0),
    ],
)
def test_each_reading_comes_once_at_its_stamp_and_lag(drive, name, first, step, lag):
    got = readings(drive, name)
    count = round(0.6 / step) + 1
    stamps = [first + step * k for k in range(count)]
    expected = [round(stamp * 1e9) for stamp in stamps if stamp + lag < 1.6 + 1e-9]
    assert [each.stamp for _, each in got] == pytest.approx(expected, abs=1)
    for time, each in got[1:]:
        assert each.time == each.stamp + round(lag * 1e9)
        assert each.time <= time < each.time + 2_000_000  # the first step of physics from then on


def test_events_come_in_order_of_time_and_frames_last(drive):
    order = {MotionSample: 0, SensorBatch: 1, FrameEvent: 2}
    keys = [(event.time, order[type(event)]) for event in drive[0]]
    assert keys == sorted(keys)
    samples = [event.time for event in drive[0] if isinstance(event, MotionSample)]
    assert len(set(samples)) == len(samples), "also where the drive begins with a scan"
    assert len([event for event in drive[0] if isinstance(event, FrameEvent)]) == 6


def test_a_standing_car_feels_gravity_alone(drive):
    values = np.array([each.reading.values[0] for _, each in readings(drive, "accel")])
    assert values.mean(0) == pytest.approx([0, 0, 9.81], abs=0.02)
    turned = np.array([each.reading.values[0] for _, each in readings(drive, "imu")])
    assert turned.mean(0) == pytest.approx([0, 0, 0, 0, 9.81, 0], abs=0.02)  # rolled by 90 degrees: up is its y


def test_a_gps_knows_the_place_and_its_noise_does_not_touch_the_truth(drive):
    got = [each.reading for _, each in readings(drive, "gps")]
    assert np.array([each.truth[0] for each in got]) == pytest.approx(
        np.tile([43.07, -89.4, 260.0], (len(got), 1)), abs=1e-3
    )
    north = np.array([each.values[0, 0] - each.truth[0, 0] for each in got]) * 111_000
    assert 0.05 < np.abs(north).max() < 8


def test_a_scan_sees_the_crate_and_the_floor(drive):
    for _, each in readings(drive, "roof"):
        captured = each.reading
        assert isinstance(captured, CapturedScan)
        on_crate = captured.instance == 7
        front = captured.scan.points[on_crate & (np.abs(captured.scan.points[:, 1]) < 0.5)]
        assert front[:, 0] == pytest.approx(np.full(len(front), 2.8), abs=0.01)
        floor = captured.scan.points[(captured.class_id == 0) & (captured.scan.ring == 0)]
        assert np.median(floor[:, 2]) == pytest.approx(-0.5, abs=0.01)
        assert captured.boxes.centre[0] == pytest.approx([3, 0, 0], abs=0.01)
        assert captured.boxes.size[0] == pytest.approx([0.4, 2, 1])
        assert captured.boxes.points.tolist() == [on_crate.sum()]


def test_the_same_seed_gives_the_same_readings_however_physics_is_stepped(drive, tmp_path):
    path = tmp_path / "sensors.yaml"
    path.write_text(SENSORS)
    engine = make_engine("default", world(), read_vehicle("art1"), Pose())
    engine.step(1.0)
    feed = SensorFeed(engine, read_sensors(path), 3)
    again = []
    for tick in range(1, 301):
        engine.step(0.002)
        feed.observe(1_000_000_000 + tick * 2_000_000)
        batch = feed.take(1_000_000_000 + tick * 2_000_000)
        again += batch.events if batch else ()
    engine.close()
    for name in ("imu", "gps", "wheels"):
        one = [(each.stamp, each.reading.values.tolist()) for _, each in readings(drive, name)]
        assert one == [(each.stamp, each.reading.values.tolist()) for each in again if each.spec.name == name]
    for (_, one), other in zip(readings(drive, "roof"), [e for e in again if e.spec.name == "roof"], strict=True):
        assert np.array_equal(one.reading.scan.points, other.reading.scan.points)


def test_messages(drive):
    events, specs = drive
    maker = SensorMessages(lambda name: standard_types().types[name], specs, {1: "crate"})
    found = {}
    for batch in events:
        if isinstance(batch, SensorBatch):
            for topic, stamp, message in maker.messages(batch.events, offset=5_000_000_000):
                assert message.header.stamp.sec * 10**9 + message.header.stamp.nanosec in (stamp, stamp - 50_000_000)
                found.setdefault(topic, []).append(message)
    clouds = ("points", "points/ground_truth", "points/boxes")
    points = {f"{name}/{what}" for name in ("roof", "front") for what in clouds}
    own = {"gyro/data", "accel/data", "imu/data", "gps/fix", "wheels/joint_states"}
    found = {topic: each for topic, each in found.items() if not topic.endswith("/vision")}  # where vision_msgs is
    assert set(found) == points | {"front/laser"} | own | {f"{topic}/ground_truth" for topic in own}
    cloud = read_cloud(found["roof/points"][0], "here")
    truth = read_cloud(found["roof/points/ground_truth"][0], "here")
    assert found["roof/points"][0].header.frame_id == "roof_link"
    assert len(cloud) == len(truth)
    assert set(truth["instance"].tolist()) == {0, 7}
    assert cloud["time"].max() <= 0
    (labelled,) = found["roof/points/boxes"][0].boxes
    assert (labelled.class_name, labelled.instance_id, labelled.points) == ("crate", 7, (truth["instance"] == 7).sum())
    imu = found["imu/data"][0]
    assert imu.linear_acceleration.y == pytest.approx(9.81, abs=0.1)
    assert imu.orientation_covariance[0] == -1
    assert found["gps/fix"][0].position_covariance[0] == 4
    assert found["gps/fix/ground_truth"][0].position_covariance[0] == 0
    assert found["wheels/joint_states"][0].name[0] == "wheel_front_left"
    assert min(found["front/laser"][0].ranges) == pytest.approx(2.5, abs=0.02)


def test_a_gyroscope_and_an_accelerometer_of_one_place_share_a_message():
    specs = read_sensors("art1")
    engine = make_engine("default", world(), read_vehicle("art1"), Pose())
    both = [spec for spec in specs if spec.name in ("accelerometer", "gyroscope")]
    both = [replace(spec, window=0.01, source="simjudge") for spec in both]
    feed = SensorFeed(engine, both, 0)
    engine.step(0.002)
    for tick in range(1, 11):
        feed.observe(tick * 2_000_000)
    maker = SensorMessages(lambda name: standard_types().types[name], both)
    topics = [topic for topic, _, _ in maker.messages(feed.take(20_000_000).events)]
    assert topics == ["imu/data", "imu/data/ground_truth"] * 2
    engine.close()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"body": "vehicle/wheel_front_lef"},
            "no body 'vehicle/wheel_front_lef' that moves; is vehicle/wheel_front_left",
        ),
        ({"body": "floor"}, "no body 'floor' that moves"),
        ({"body": "chasis"}, "that moves; there are vehicle, vehicle/wheel_front_left, .*vehicle/wheel_rear_right"),
        ({"source": "chrono"}, "gyroscope: source chrono: only engine chrono has .* is default; take engine chrono"),
    ],
)
def test_what_cannot_be_is_refused(changes, words):
    engine = make_engine("default", world(), read_vehicle("art1"), Pose())
    spec = next(spec for spec in read_sensors("art1") if spec.name == "gyroscope")
    with pytest.raises(UsageError, match=words):
        SensorFeed(engine, [replace(spec, **changes)])
    engine.close()


def first_turn(path, car="art1", where="world"):
    """Points of the first turn of a file's sensors on a car, and whether they lie on it."""
    vehicle = read_vehicle(car)
    scene = world() if where == "world" else read_scene(where, 0)
    start = Pose() if where == "world" else Ground.of(scene.things).stand(start_pose(scene_course(scene), 0))
    engine = make_engine("default", scene, vehicle, start)
    feed = SensorFeed(engine, read_sensors(path, places=vehicle.places))
    batch = None
    for step in range(1, 121):
        batch = batch or feed.take(step * 1_000_000)
        feed.observe(step * 1_000_000)
    is_car = np.array([thing.name.split("/")[0] == "vehicle" for thing in engine.things])
    engine.close()
    (event,) = [event for event in batch.events if isinstance(event.reading, CapturedScan)]
    return is_car[event.reading.scan.thing]


def test_a_lidar_that_sees_mostly_its_own_car_is_refused_unless_asked_for(tmp_path):
    path = tmp_path / "sensors.yaml"
    beams = "roof: {kind: lidar, rate: 10, columns: 90, elevation: [-10, 0], range: [0.01, 30]"
    path.write_text(f"{beams}, mount: {{position: [0.15, 0, 0.1]}}}}")
    with pytest.raises(SimjudgeError, match=r"sensor roof: 100 % of its first turn is the car .* allow_self: true"):
        first_turn(path)
    # None of it far enough to be measured: then the beams count.
    path.write_text(f"{beams}, mount: {{position: [0.15, 0, 0.1]}}}}".replace("0.01, 30", "20, 30"))
    with pytest.raises(SimjudgeError, match="sensor roof: 100 % of its first turn is the car"):
        first_turn(path)
    path.write_text(f"{beams}, mount: {{position: [0.15, 0, 0.1]}}, allow_self: true}}")
    assert first_turn(path).all()
    path.write_text(f"{beams}, mount: {{position: [0.15, 0, 0.5]}}}}")
    assert not first_turn(path).any()


SEEN = [("vlp16", where) for where in ("street", "formula", "krc")]
SEEN += [(name, "street") for name in ("hdl32e", "hdl64e", "pandar40p", "utm30lx")]
FROM = [(*each, car) for each in SEEN for car in ("art1", "compact", "hmmwv")]


# Each lidar, scene and car comes up once at least among those that are not long.
@pytest.mark.parametrize(
    ("name", "where", "car"),
    [pytest.param(*each, marks=() if k // 3 % 3 == k % 3 else pytest.mark.long) for k, each in enumerate(FROM)],
)
def test_a_lidar_sees_the_scene_from_the_roof_of_every_car(name, where, car):
    assert first_turn(name, car, where).mean() < (0.01 if name == "vlp16" else 0.04)


def test_a_place_is_the_cars(tmp_path):
    path = tmp_path / "sensors.yaml"
    path.write_text("low: {kind: gyroscope, rate: 50, mount: {place: bumper}}")
    engine = make_engine("default", world(), read_vehicle("art1"), Pose())
    with pytest.raises(UsageError, match=r"sensor low: mount.place bumper: only a car has such a place"):
        SensorFeed(engine, read_sensors(path))
    engine.close()
