"""`render --sensors`: a scan for each frame with the motion of its turn, readings along a path, and what is refused."""

import json

import numpy as np
import pytest
import yaml
from render_scenes import COURSE, camera_file, scene_file

from simjudge.core.errors import Losses, UsageError
from simjudge.data.rosbag2.cloud_writing import read_cloud
from simjudge.data.rosbag2.recorded_poses import decoded_messages, read_poses
from simjudge.data.rosbag2.recording import Recording
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.camera_poses import CoursePoses, RandomPoses
from simjudge.sim.capture.render_plan import PlacedScene, RenderPlan
from simjudge.sim.capture.rendering import render
from simjudge.sim.capture.sensor_record import RenderedSensors
from simjudge.sim.scene.read import read_scene
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.inertial.motion import motion_of_trajectory
from simjudge.sim.sensors.sensor_file import read_sensors

pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")

SECOND = 1_000_000_000
LIDAR = {"kind": "lidar", "rate": 10, "columns": 91, "range": [0.1, 20], "mount": {"position": [0.2, 0, 0.3]}}
IMU = {"kind": "imu", "rate": 50}
HALL = {"floor": {"plane": [6, 6], "surface": {"colour": "#808080"}}, "wall": {"box": [0.2, 6, 2], "at": [2.1, 0]}}


@pytest.fixture
def place(tmp_path):
    """A hall with a wall whose near side is at x = 2, a tiny camera, and sensors."""
    scene_file(tmp_path, things=HALL, placements={"course": COURSE})
    camera_file(tmp_path, size=[16, 12])
    (tmp_path / "lidar.yaml").write_text(yaml.safe_dump({"roof": LIDAR}))
    (tmp_path / "both.yaml").write_text(yaml.safe_dump({"roof": LIDAR, "imu": IMU}))
    return tmp_path


def poses_along_x(place, speed, rate=20, seconds=1.0):
    rows = [f"{100 + k / rate} {speed * k / rate - 1} 0 0 0 0 0 1" for k in range(round(rate * seconds) + 1)]
    path = place / "along.tum"
    path.write_text("\n".join(rows) + "\n")
    return path


def made(place, poses, sensors, **more):
    return render(
        place / "tiny.yaml",
        place / "out.mcap",
        camera=place / "camera.yaml",
        poses=poses,
        sensors=place / sensors,
        **more,
    )


def cloud(message):
    return read_cloud(message, "out.mcap")


def contents(path, topic):
    return [message for _, message in decoded_messages(Recording(path), {topic}, Losses())]


def test_each_frame_has_a_scan_with_the_motion_of_its_turn(place):
    """At 1 m/s towards the wall each beam sees it where the car is when the beam fires; at first the car stands."""
    done = made(place, poses_along_x(place, 1.0), "lidar.yaml", n=5)
    clouds = contents(done.path, "/scan/points")
    assert [each.header.stamp.sec * SECOND + each.header.stamp.nanosec for each in clouds] == [
        100 * SECOND + k * SECOND // 4 for k in range(5)
    ]
    for number, message in enumerate(clouds):
        points = cloud(message)
        ahead = np.abs(np.arctan2(points["y"], points["x"])) < 0.4
        moved = np.maximum(number / 4 + points["time"][ahead], 0.0)  # time: before the stamp
        expected = 2.0 - (-1 + moved + 0.2)
        np.testing.assert_allclose(points["x"][ahead], expected, atol=1e-4)
    assert len(contents(done.path, "/scan/points/boxes")) == len(contents(done.path, "/scan/points/ground_truth")) == 5
    roof = read_poses(done.path, "/tf", "map", "roof_link").trajectory
    np.testing.assert_allclose(roof.position, [[-1 + k / 4 + 0.2, 0, 0.3] for k in range(5)], atol=1e-9)


def test_poses_that_are_far_apart_are_places_where_it_stands(place):
    rows = ["100 0 0 0 0 0 0 1", "105 1 0 0 0 0 0 1", "110 -1 0 0 0 0 0 1"]
    (place / "photographs.tum").write_text("\n".join(rows) + "\n")
    done = made(place, place / "photographs.tum", "lidar.yaml")
    for message, x in zip(contents(done.path, "/scan/points"), (0, 1, -1), strict=True):
        points = cloud(message)
        ahead = np.abs(np.arctan2(points["y"], points["x"])) < 0.4
        np.testing.assert_allclose(points["x"][ahead], 2.0 - x - 0.2, atol=1e-4)


def test_inertial_sensors_read_along_a_path_with_times(place):
    done = made(place, poses_along_x(place, 1.0), "both.yaml", n=3)
    readings = contents(done.path, "/imu/data/ground_truth")
    assert 48 <= len(readings) <= 51
    for reading in readings[2:-2]:
        assert reading.linear_acceleration.x == pytest.approx(0, abs=1e-3)
        assert reading.linear_acceleration.z == pytest.approx(9.81, abs=0.02)
    about = json.loads((place / "out.mcap.render.json").read_text())
    assert about["sensors"]["names"] == ["imu", "roof"]


def test_scans_of_random_poses_are_seen_from_the_body_of_the_camera(place):
    """Each scan against single rays of the engine, from where /tf has the lidar."""
    camera, mount = read_camera(place / "camera.yaml"), Pose((0.4, 0, 0.2)).optical_frame()
    poses = RandomPoses("tiny", 4, 10.0, mount, 80.0, seed=5)
    specs = read_sensors(place / "lidar.yaml")
    plan = RenderPlan(place / "tiny.yaml", camera, poses, 2, seed=5, sensors=specs)
    placed = PlacedScene(plan)
    rendered = RenderedSensors(plan, placed)
    for index in range(4):
        messages = dict(rendered.messages(index))
        engine = placed.engine_for(index)
        body = poses.at(index, [poses.stamp[index]], engine)[0] @ mount.inverse()
        roof = body @ specs[0].mount
        points = cloud(messages["/scan/points"])
        local = np.stack([points[axis] for axis in "xyz"], 1).astype(np.float64)
        distance = np.linalg.norm(local, axis=1)
        directions = (roof.to_world(local) - roof.position) / distance[:, None]
        hits = engine.cast_rays(np.tile(roof.position, (len(local), 1)), directions)
        np.testing.assert_allclose(hits.distance, distance, atol=2e-3)
    placed.close()


def test_the_path_of_a_course_is_that_of_its_frames(place):
    course = read_scene(place / "tiny.yaml").course
    poses = CoursePoses(course, Pose((0.4, 0, 0.2)).optical_frame(), 10.0, 7)
    path = poses.path()
    assert (path.stamp[0], path.stamp[-1]) == (poses.stamp[0], poses.stamp[-1])
    camera = poses.at(6, [poses.stamp[6]], None)[0]
    np.testing.assert_allclose((path.pose(len(path) - 1) @ poses.mount).position, camera.position, atol=1e-12)


def test_in_the_bends_of_a_course_the_car_feels_its_speed_squared_over_the_radius():
    course = read_scene("lab").course
    poses = CoursePoses(course, Pose((0.4, 0, 0.2)).optical_frame(), 30.0)
    motion = motion_of_trajectory(poses.path())
    strength = np.linalg.norm(motion.acceleration, axis=1)
    assert poses.actual_speed == 1.0
    assert np.percentile(strength, [50, 95]) == pytest.approx(1.0**2 / 1.65, rel=1e-3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sensors": "both.yaml", "poses": "random", "n": 2}, "sensor imu: imu needs a body that moves; give --poses"),
        ({"sensors": "lidar.yaml", "out": "folder"}, "--sensors: a data set has room for images alone; give --out"),
        ({"sensors": "wheels.yaml", "mount": "body"}, "encoders need a car"),
    ],
)
def test_what_cannot_be_is_said_in_a_line(place, options, words):
    (place / "wheels.yaml").write_text(yaml.safe_dump({"w": {"kind": "encoders", "rate": 9, "ticks": 9}}))
    given = {"poses": "path", "out": "out.mcap", **options}
    out, sensors = place / given.pop("out"), place / given.pop("sensors")
    with pytest.raises(UsageError, match=words) as caught:
        render(place / "tiny.yaml", out, camera=place / "camera.yaml", sensors=sensors, **given)
    assert "\n" not in str(caught.value)
    assert not list(place.glob("*out*"))
    assert not (place / "folder").exists()
