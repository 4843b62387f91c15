"""The graphs as the pages have them: programs that wait for each other find each other, in the root namespace too."""

import re
import shlex
from pathlib import Path

import numpy as np
import pose_samples as samples
import pytest
from driving_scenes import camera_file
from launched_graphs import ROOT, Run

from simjudge.core.installed import CALIBRATION, find_file
from simjudge.data.sets import read_set
from simjudge.geometry.poses import Pose
from simjudge.ros.description import parse_arguments
from simjudge.ros.graphs import GRAPHS
from simjudge.ros.node_interfaces import NODES

LINE = re.compile(r"^(?:simjudge ros run|ros2 launch simjudge) +(\w+)(?:\.launch\.py)? +(.*:=.*)$")


def documented():
    found = {}
    for page in sorted((ROOT / "docs").rglob("*.md")):
        for line in page.read_text().replace("\\\n", " ").splitlines():
            match = LINE.match(line.strip())
            if match and match[1] in GRAPHS:
                words = shlex.split(match[2], comments=True)
                found.setdefault((match[1], *words), f"{page.name}: {match[1]} {' '.join(words)}")
    return [pytest.param(*key[:1], key[1:], id=name) for key, name in found.items()]


def recording(path, count=2, compressed=False):
    """A drive under the very names that `run sim` records and that the graphs have."""
    rows = []
    for index in range(count):
        stamp = samples.START + index * 100_000_000
        pose = Pose.from_euler(-3.3 + 0.002 * index, -1.2 + 0.003 * index, yaw=1.4)
        given = {"header": samples.header(stamp, "lens"), "data": np.zeros(48, np.uint8)}
        size = {"height": 6, "width": 8, "encoding": "mono8", "is_bigendian": 0, "step": 8}
        kind, more = ("CompressedImage", {"format": "png"}) if compressed else ("Image", size)
        image = samples.new(f"sensor_msgs/msg/{kind}", **given, **more)
        labels = samples.new(
            "simjudge_msgs/msg/LabelledObjectArray",
            header=samples.header(stamp, "lens"),
            frame_name=str(index),
            image_width=8,
            image_height=6,
            class_names=[],
            objects=[],
        )
        topic = "/camera/image_raw/compressed" if compressed else "/camera/image_raw"
        rows += [("/vehicle/odometry", stamp, samples.odometry(stamp, pose)), (topic, stamp, image)]
        rows += [("/camera/ground_truth", stamp, labels)]
    return samples.write_messages(path, rows)


def taken(process):
    """The topics that a program subscribes to, as it has them remapped, in the root namespace."""
    names = dict(reversed(process.remappings))
    own = [end.topic for end in NODES[process.executable].subscribes] + list(process.parameters.get("topics", []))
    return {names.get(topic, topic).lstrip("/") for topic in own}


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize(("graph", "words"), documented())
def test_who_waits_for_a_subscription_waits_for_one_that_will_be(graph, words, compressed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    recording(Path("real.mcap"), compressed=compressed)
    Path("bags").symlink_to(ROOT / "bags")
    Path("src").mkdir()
    Path("src/simjudge").symlink_to(ROOT)
    Path("sim.csv").write_text("policy,task,success\na,x,1\n")
    Path("my_camera.yaml").symlink_to(find_file("art1_camera", CALIBRATION))
    Path("sensors.yaml").write_text("gps: {kind: gps, rate: 5, reference: [-89.4, 43.07, 260]}")
    given = parse_arguments(word for word in words if word != "engine:=mine")
    made = {each.name: each for each in GRAPHS[graph].processes(given)}
    for process in made.values():
        for pair in process.parameters.get("wait_for", []):
            name, _, topic = pair.partition(" ")
            assert topic.lstrip("/") in taken(made[name]), (process.name, pair)


@pytest.fixture
def start(tmp_path, ros_domain):
    pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")
    pytest.importorskip("simjudge_msgs", reason="simjudge_msgs is not installed: make setup-ros")
    runs = []

    def started(graph, **arguments):
        runs.append(Run("run", tmp_path, ros_domain, graph, within=True, **arguments))
        return runs[-1]

    yield started
    for run in runs:
        run.close()


@pytest.mark.long
def test_a_recording_under_the_graphs_own_names_is_replayed(start, tmp_path):
    pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
    pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")
    recording(tmp_path / "real.mcap")
    run = start("replay", bag="real.mcap", scene="lab", camera=camera_file(tmp_path, size=[64, 48]), out="sim")
    assert run.end(timeout=300)["play_node"] == {"messages played": 4}
    assert read_set(tmp_path / "sim").stamp.tolist() == [samples.START, samples.START + 100_000_000]


@pytest.mark.long
@pytest.mark.parametrize(
    ("graph", "words", "node"),
    [
        ("detect", ["camera:=/camera/image_raw", "model:=cones_red_green"], "detection_node"),
        (
            "label",
            ["simulator:=gazebo", "labels:=/segmentation/labels_map", "classes:=1=red,2=green"],
            "ground_truth_node",
        ),
        ("objects", ["real:=/", "virtual:=/sim", "tolerance:=0.02", "window:=30"], "objects_node"),
        ("policies", ["out:=trials.jsonl", "sim:=sim.csv"], "trials_node"),
    ],
)
def test_a_graph_that_waits_for_somebody_starts_and_ends(start, tmp_path, graph, words, node):
    (tmp_path / "sim.csv").write_text("policy,task,success\na,x,1\n")
    run = start(graph, **parse_arguments(words))
    run.wait_until_listening(timeout=300)
    run.interrupt()
    assert node in run.end(timeout=300)
