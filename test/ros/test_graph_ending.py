"""Ctrl-C in the middle of a run, under `simjudge ros run` and under the real launch: what was published is recorded."""

import time

import numpy as np
import pose_samples as samples
import pytest
from driving_scenes import ARCS, camera_file, scene_file
from launched_graphs import ROOT, Run, has_launch

from simjudge.data.rosbag2.recording import Recording
from simjudge.geometry.poses import Pose

pytestmark = pytest.mark.slow
pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")
pytest.importorskip("simjudge_msgs", reason="simjudge_msgs is not installed: make setup-ros")

IMAGES, DETECTIONS, LABELS = "/camera/image_raw", "/camera/detections", "/camera/ground_truth"
LAUNCH = pytest.mark.skipif(not has_launch(), reason="launch and launch_ros are not installed")
RUNNERS = ("run", pytest.param("launch", marks=LAUNCH))


@pytest.fixture(params=RUNNERS)
def start(request, tmp_path, ros_domain):
    runs = []

    def started(graph, **arguments):
        runs.append(Run(request.param, tmp_path, ros_domain, graph, **arguments))
        return runs[-1]

    yield started
    for run in runs:
        run.close()


def recorded(path):
    assert (path / "metadata.yaml").exists()
    recording = Recording(path)
    counts = dict.fromkeys(recording.topics, 0)
    for message in recording.messages(set(recording.topics)):
        counts[message.topic] += 1
    assert not recording.losses
    return counts


@pytest.mark.long
def test_detect_records_the_detections_of_all_its_images(start, tmp_path):
    bag, out = ROOT / "bags/real_stand_in.mcap", tmp_path / "out"
    run = start("detect", bag=bag, model="cones_red_green", rate="5", out=out)
    run.wait_for("images come from")
    time.sleep(1)
    run.interrupt()
    nodes, counts = run.end(), recorded(out)
    images = counts[f"{IMAGES}/compressed"]
    assert 0 < images < 40
    assert counts[DETECTIONS] == nodes["detection_node"]["images received"] == images
    assert nodes["play_node"]["messages played"] == images + counts[LABELS]
    assert nodes["record_node"] == {"messages recorded": sum(counts.values()), "lost before arrival": 0}


def pose_recording(path, count=1200, period=50_000_000):
    """`count` small images, 20 in a second, and poses around each."""
    rows = []
    for index in range(count):
        stamp = samples.START + index * period
        pose = Pose.from_euler(-3.3 + 0.002 * index, -1.2 + 0.003 * index, yaw=1.4)
        roi = samples.new(
            "sensor_msgs/msg/RegionOfInterest", x_offset=0, y_offset=0, height=0, width=0, do_rectify=False
        )
        info = samples.new(
            "sensor_msgs/msg/CameraInfo",
            header=samples.header(stamp, "lens"),
            height=6,
            width=8,
            distortion_model="plumb_bob",
            d=np.zeros(5),
            k=np.zeros(9),
            r=np.zeros(9),
            p=np.zeros(12),
            binning_x=0,
            binning_y=0,
            roi=roi,
        )
        rows += [("/where", stamp - period // 2, samples.odometry(stamp - period // 2, pose)), ("/info", stamp, info)]
    return samples.write_messages(path, rows)


@pytest.mark.long
def test_replay_records_every_frame_that_it_took(start, tmp_path):
    pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
    pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")
    bag, out = pose_recording(tmp_path / "real"), tmp_path / "out"
    run = start("replay", bag=bag, scene="lab", camera=camera_file(tmp_path, size=[64, 48]), out=out)
    run.wait_for("recording /camera/image_raw")
    time.sleep(8)
    run.interrupt()
    nodes, counts = run.end(), recorded(out)
    replay = nodes["replay_node"]
    assert 0 < replay["camera_info messages received"] < 1200
    assert counts[IMAGES] == counts[LABELS] == replay["rendered"]
    # The last one may have been played before the pose behind it.
    assert replay["rendered"] >= replay["camera_info messages received"] - 1
    assert nodes["record_node"]["lost before arrival"] == 0


@pytest.mark.long
def test_sim_records_every_frame_and_its_detections(start, tmp_path):
    pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
    pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")
    out = tmp_path / "out"
    camera = camera_file(tmp_path, size=[160, 96])
    run = start("sim", scene=scene_file(tmp_path, ARCS), camera=camera, out=out)
    run.wait_for("images come from", timeout=150)
    time.sleep(1)
    run.interrupt()
    nodes, counts = run.end(), recorded(out)
    frames = nodes["sim_node"]["frames published"]
    assert frames > 0
    assert counts[IMAGES] == counts[LABELS] == counts[DETECTIONS] == frames
    assert nodes["drive_node"]["detections received"] == frames


def slow_detector(folder):
    """A detector of very many colours."""
    path = folder / "slow.yaml"
    each = "{name: red, hue: [345, 15], saturation: [0.5, 1], value: [0.5, 1], closing: 25}"
    path.write_text("classes:\n" + "".join(f"  {number}: {each}\n" for number in range(400)))
    return path


@pytest.mark.long
def test_a_second_ctrl_c_stops_at_once_and_closes_the_recording(start, tmp_path):
    bag, out = ROOT / "bags/real_stand_in.mcap", tmp_path / "out"
    run = start("detect", bag=bag, model=slow_detector(tmp_path), rate="20", out=out)
    run.wait_for("images come from")
    time.sleep(1)
    run.interrupt()
    run.wait_for("still wait")
    time.sleep(1.2)
    begin = time.monotonic()
    run.interrupt()
    nodes, counts = run.end(), recorded(out)
    assert time.monotonic() - begin < 30
    detection = nodes["detection_node"]
    assert detection["not detected on"] > 0
    assert counts[f"{IMAGES}/compressed"] == detection["images received"]
    assert "images that still waited when the node was ended" in run.output
