"""`simjudge ros run sim`: real nodes drive a course, are judged meanwhile, and leave a set that compare takes."""

import json
from pathlib import Path

import numpy as np
import pytest
from driving_scenes import STRAIGHT, camera_file, lidar_file, scene_file, track_file
from support import processes

from simjudge.data.rosbag2.recorded_poses import read_poses
from simjudge.data.sets import read_set

ROOT = Path(__file__).parents[2]
METHOD = {"patch": "40x40", "theta": "0.6", "draws": "20"}

pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")
pytest.importorskip("simjudge_msgs", reason="simjudge_msgs is not installed: pip install ./msgs")
pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")


@pytest.fixture
def domain(monkeypatch, tmp_path, ros_domain):
    monkeypatch.setenv("ROS_DOMAIN_ID", str(ros_domain))
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path / "ros_log"))


def simjudge(*words, timeout=400, **arguments):
    given = [f"{name}:={text}" for name, text in arguments.items()]
    command = [*processes.SIMJUDGE, *map(str, words), *given]
    return processes.run(command, cwd=ROOT, capture_output=True, text=True, timeout=timeout, check=False)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.usefixtures("domain")
def test_a_drive_is_judged_live_and_recorded_as_the_library_would(tmp_path):
    scene, camera, detector = scene_file(tmp_path, STRAIGHT), camera_file(tmp_path), "cones_red_green"
    for seed, name in ((0, "reference"), (1, "library")):
        options = ["--camera", camera, "--detector", detector, "--seed", seed, "--out", tmp_path / f"{name}.mcap"]
        done = simjudge("drive", scene, *options)
        assert done.returncode == 0, done.stderr
    done = simjudge(
        "run",
        "sim",
        scene=scene,
        camera=camera,
        detector=detector,
        seed=1,
        rviz="false",
        out=tmp_path / "nodes",
        reference=tmp_path / "reference.mcap",
        result=tmp_path / "result",
        **METHOD,
    )
    assert done.returncode == 0, done.stderr
    assert "finished" in done.stderr
    assert "result in" in done.stderr
    library, nodes = read_set(tmp_path / "library.mcap"), read_set(tmp_path / "nodes")
    assert not nodes.losses
    assert nodes.stamp.tolist() == library.stamp.tolist()
    np.testing.assert_array_equal(nodes.objects.box, library.objects.box)
    np.testing.assert_array_equal(nodes.predictions.box, library.predictions.box)
    np.testing.assert_array_equal(nodes.images.read(2), library.images.read(2))
    ways = [
        read_poses(path, "/vehicle/odometry").trajectory for path in (tmp_path / "nodes", tmp_path / "library.mcap")
    ]
    np.testing.assert_array_equal(ways[0].position, ways[1].position)
    options = [word for name, text in METHOD.items() for word in (f"--{name}", text)]
    sets = [tmp_path / "reference.mcap", tmp_path / "nodes"]
    done = simjudge("compare", *sets, "--out", tmp_path / "batch", "--seed", 1, *options)
    assert done.returncode == 0, done.stderr
    live, batch = (json.loads((tmp_path / name / "result.json").read_text()) for name in ("result", "batch"))
    assert live["by_class"] == batch["by_class"]
    assert live["overall"] == batch["overall"]


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.usefixtures("domain")
def test_by_lidar_the_nodes_drive_as_the_library_does(tmp_path):
    scene, camera, lidar = track_file(tmp_path), camera_file(tmp_path, size=[64, 48]), lidar_file(tmp_path, lag=0.03)
    done = simjudge(
        "drive",
        scene,
        "--camera",
        camera,
        "--driver",
        "lidar",
        "--sensors",
        lidar,
        "--limit",
        4,
        "--out",
        tmp_path / "library.mcap",
    )
    assert done.returncode == 0, done.stderr
    done = simjudge(
        "run",
        "sim",
        scene=scene,
        camera=camera,
        driver="lidar",
        sensors=lidar,
        limit=4,
        rviz="false",
        out=tmp_path / "nodes",
    )
    assert "took longer than 4 s" in done.stderr
    assert "touched nothing" in done.stderr
    assert "scans that nobody answered" not in done.stderr, done.stderr
    library, nodes = (
        read_poses(path, "/vehicle/odometry").trajectory for path in (tmp_path / "library.mcap", tmp_path / "nodes")
    )
    np.testing.assert_array_equal(nodes.position, library.position)
    assert np.linalg.norm(library.position[-1] - library.position[0]) > 1.5


@pytest.mark.long
@pytest.mark.usefixtures("domain")
def test_in_a_namespace_and_told_the_truth(tmp_path):
    done = simjudge(
        "run",
        "sim",
        scene=scene_file(tmp_path, STRAIGHT),
        camera=camera_file(tmp_path),
        rviz="false",
        detector="ground_truth",
        robot_ns="car_1",
        out=tmp_path / "drive",
    )
    assert done.returncode == 0, done.stderr
    assert "touched nothing" in done.stderr
    frames = read_set(tmp_path / "drive")
    assert not frames.losses
    np.testing.assert_array_equal(frames.predictions.box, frames.objects.box)
    assert read_poses(tmp_path / "drive", "/car_1/vehicle/odometry").trajectory.position[-1, 0] > 3


def test_what_cannot_be_is_one_line():
    done = simjudge("run", "sim", scene="moon")
    assert done.returncode == 2
    assert "moon" in done.stderr
    assert done.stderr.count("\n") == 1
