"""What follows a path, as cameras and lidars see it: at each frame's, each instant's and each beam's own time."""

import math
from dataclasses import replace

import numpy as np
import pytest
from render_scenes import CAMERA, camera_file, scene_file

pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")

from simjudge.data.sets import read_set
from simjudge.geometry.keyframes import Keyframes
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.capture import Capture, exposure_at, scripted_bodies
from simjudge.sim.capture.rendering import render
from simjudge.sim.capture.sensor_feed import LidarCapture, SensorFeed, scripted_motion
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.scene.read import read_scene
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.lidar.lidar import Lidar
from simjudge.sim.sensors.sensor_file import read_sensors
from simjudge.sim.vehicle.vehicle import read_vehicle

SPEED, RADIUS, AHEAD = 2.0, 0.3, 3.0
POST = {
    "cylinder": {"radius": RADIUS, "height": 1.0, "segments": 128},
    "surface": {"colour": "#d01010"},
    "class": "red",
    "path": {"waypoints": [[AHEAD, 1.0], [AHEAD, -1.0]], "speed": SPEED},
}
"""A post that goes across, 3 m ahead of the origin, for one second."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scripted")
    floor = {"plane": [6, 6], "surface": {"colour": "#808080"}}
    scene_file(folder, things={"floor": floor, "post": POST}, placements=None)
    camera_file(folder)
    return folder


@pytest.fixture(scope="module")
def engine(folder):
    engine = make_engine("default", read_scene(folder / "tiny.yaml"), read_vehicle("art1"), Pose())
    yield engine
    engine.close()


def test_render_sees_it_at_each_frames_time(folder):
    """The camera stands at the origin; the post's middle goes from column to column by the pinhole's formula."""
    rows = [f"{100 + 0.1 * k:.1f} 0 0 0.5 0 0 0 1" for k in range(11)]
    (folder / "poses.txt").write_text("\n".join(rows) + "\n")
    done = render(
        folder / "tiny.yaml",
        folder / "out.mcap",
        camera=folder / "camera.yaml",
        poses=folder / "poses.txt",
        mount="body",
        min_size=1,
        min_visible=0,
    )
    assert done.frames == 11
    objects = read_set(folder / "out.mcap").objects
    width = CAMERA["size"][0]
    focal = width / 2 / math.tan(math.radians(CAMERA["field_of_view"] / 2))
    for frame in range(11):
        y = 1 - SPEED * 0.1 * frame
        sides = math.atan2(y, AHEAD) + np.array([1, -1]) * math.asin(RADIUS / math.hypot(y, AHEAD))
        left, right = width / 2 - focal * np.tan(sides)
        (box,) = objects.box[objects.frame == frame]
        assert box[[0, 2]] == pytest.approx([left, right], abs=1.01)


def test_a_long_exposure_smears_it(engine, folder):
    camera = replace(read_camera(folder / "camera.yaml"), exposure_time=0.4, exposure_samples=8)
    pose = Pose((0, 0, 0.5)).optical_frame()
    bodies_at = scripted_bodies(engine.scene, 10**9)
    exposure = exposure_at(camera, 10**9, "a", lambda stamps: [pose] * len(stamps), bodies_at)
    y = [state.bodies["post"].position[1] for state in exposure.scene_states]
    assert y == pytest.approx(1 - SPEED * 0.4 * (np.arange(8) + 0.5) / 8)
    sharp = Capture(engine, replace(camera, exposure_samples=1)).capture(exposure, image=False)
    assert sharp.truth.objects.box[:, [0, 2]].mean() == pytest.approx(96 / 2 - 57.2 * 0.6 / 3, abs=1)


def test_a_lidar_sees_it_at_each_beams_time(engine):
    """Each point lies on the post where the post was then: a turn of 0.2 s, in which it goes 0.4 m."""
    lidar = Lidar("roof", rate=5, columns=4000, elevation=(0.0,), range=(0.1, 10), window=0.2, field_of_view=0.9)
    times = [-0.2, 0.0]
    sensor = Keyframes.build(times, [[Pose((0, 0, 0.5))]] * 2)
    found = LidarCapture(engine, lidar).capture(600_000_000, sensor, scripted_motion(engine.scene, times, 0.6))
    on_post = found.class_id == 1
    assert on_post.sum() > 500
    y = 1 - SPEED * (0.6 + found.scan.time[on_post])
    points = found.scan.points[on_post]
    assert np.hypot(points[:, 0] - AHEAD, points[:, 1] - y) == pytest.approx(np.full(len(y), RADIUS), abs=1e-3)
    # The beam goes to the left while the post goes to the right: it looks narrower than it is, by the two speeds.
    sweep = 0.9 / 0.2 * AHEAD
    assert np.ptp(points[:, 1]) == pytest.approx(2 * RADIUS * sweep / (sweep + SPEED), rel=0.05)
    assert found.boxes.centre[0] == pytest.approx([AHEAD, 1 - SPEED * 0.6, 0.0], abs=1e-6)


def test_a_cars_lidar_sees_it_while_physics_runs(engine, folder):
    engine.reset()
    sensors = folder / "sensors.yaml"
    sensors.write_text(
        "front: {kind: lidar, rate: 40, columns: 541, field_of_view: 135, range: [0.1, 30],"
        " mount: {position: [0.25, 0, 0.5]}}"
    )
    (spec,) = read_sensors(sensors)
    feed = SensorFeed(engine, [spec])
    scans = []
    for step in range(1, 101):
        engine.step(0.002)
        feed.observe(2_000_000 * step)
        batch = feed.take(2_000_000 * step)
        scans += [] if batch is None else batch.events
    scan = scans[-1].reading
    on_post = scan.class_id == 1
    time = scan.stamp / 1e9 + scan.scan.time[on_post]
    points = engine.poses()["vehicle"].to_world(spec.mount.to_world(scan.scan.points[on_post]))
    assert on_post.sum() > 20
    off = np.hypot(points[:, 0] - AHEAD, points[:, 1] - (1 - SPEED * time))
    assert off == pytest.approx(np.full(len(off), RADIUS), abs=2e-3)
