"""The graph replay: what of a recording is played for it, and which parameters its nodes get."""

import importlib
import importlib.util
import re

import numpy as np
import pose_samples as samples
import pytest

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.geometry.poses import Pose
from simjudge.ros.graphs import GRAPHS

START = samples.START
GIVEN = {"scene": "lab", "camera": "plain"}


def processes(**given):
    return {process.name: process for process in GRAPHS["replay"].processes({**GIVEN, **given})}


def image(compressed=False):
    if compressed:
        kind = "sensor_msgs/msg/CompressedImage"
        return samples.new(kind, header=samples.header(START), format="jpeg", data=np.zeros(4, np.uint8))
    return samples.new(
        "sensor_msgs/msg/Image",
        header=samples.header(START),
        height=1,
        width=1,
        encoding="mono8",
        is_bigendian=0,
        step=1,
        data=np.zeros(1, np.uint8),
    )


def info():
    roi = samples.new("sensor_msgs/msg/RegionOfInterest", x_offset=0, y_offset=0, height=0, width=0, do_rectify=False)
    return samples.new(
        "sensor_msgs/msg/CameraInfo",
        header=samples.header(START),
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


MESSAGES = {
    "/odom": samples.odometry(START, Pose()),
    "/amcl": samples.amcl(START, Pose()),
    "/car/tf": samples.transforms((START, "odom", "base_link", Pose())),
    "/car/tf_static": samples.transforms((START, "base_link", "lens", Pose())),
    "/tf": samples.transforms((START, "odom", "base_link", Pose())),
    "/cam": image(),
    "/cam/compressed": image(compressed=True),
    "/other": image(),
    "/info": info(),
}


@pytest.fixture
def bag(tmp_path):
    def make(*topics):
        return str(samples.write_messages(tmp_path / "bag", [(name, START, MESSAGES[name]) for name in topics]))

    return make


@pytest.mark.parametrize(
    ("topics", "given", "played", "pairs", "kind"),
    [
        (["/odom", "/cam"], {}, ["/cam", "/odom"], {"/cam": "image", "/odom": "poses"}, "odometry"),
        (
            ["/amcl", "/cam/compressed"],
            {},
            ["/cam/compressed", "/amcl"],
            {"/cam/compressed": "image/compressed", "/amcl": "poses"},
            "pose_covariance",
        ),
        (["/tf", "/cam"], {}, ["/cam", "/tf"], {"/cam": "image"}, "tf"),
        (
            ["/car/tf", "/car/tf_static", "/cam", "/odom"],
            {"poses": "/car/tf"},
            ["/cam", "/car/tf", "/car/tf_static"],
            {"/cam": "image", "/car/tf": "/tf", "/car/tf_static": "/tf_static"},
            "tf",
        ),
        (
            ["/odom", "/cam", "/other"],
            {"image": "/other"},
            ["/other", "/odom"],
            {"/other": "image", "/odom": "poses"},
            "odometry",
        ),
        (["/odom", "/info"], {}, ["/info", "/odom"], {"/info": "camera_info", "/odom": "poses"}, "odometry"),
        (
            ["/odom", "/info", "/cam"],
            {"trigger": "camera_info"},
            ["/info", "/odom"],
            {"/info": "camera_info", "/odom": "poses"},
            "odometry",
        ),
    ],
)
def test_images_and_poses_are_played_onto_what_the_node_takes(bag, topics, given, played, pairs, kind):
    found = processes(bag=bag(*topics), **given)
    assert list(found) == ["play_node", "replay_node"]
    play, node = found.values()
    assert play.parameters["topics"] == played
    assert dict(play.remappings) == pairs
    assert play.leads
    assert play.parameters["reliability"] == "reliable"
    taken = [name for name in pairs.values() if name != "/tf_static"]
    assert {f"replay_node {name}" for name in taken} <= set(play.parameters["wait_for"])
    assert node.parameters["pose_type"] == kind
    assert node.parameters["trigger"] == ("camera_info" if "camera_info" in pairs.values() else "image")
    assert node.parameters["every_frame"] is True
    assert node.patience > node.parameters["drain"] == node.parameters["wait"] > 600


def test_what_is_recorded_is_waited_for(bag):
    found = processes(bag=bag("/odom", "/cam"), out="there", record="both")
    assert list(found) == ["play_node", "replay_node", "record_node"]
    topics = ["camera/image_raw", "camera/image_raw/compressed", "camera/ground_truth", "camera/camera_info"]
    assert found["record_node"].parameters == {
        "out": "there",
        "topics": topics,
        "use_sim_time": True,
        "ends_after": ["play_node", "replay_node"],
    }
    assert {f"record_node {topic}" for topic in topics} <= set(found["play_node"].parameters["wait_for"])


def test_live_names_are_remapped_and_the_newest_image_counts():
    node = processes(image="/front/image_raw/compressed", poses="/where", pose_type="odometry")["replay_node"]
    assert node.remappings == (("image", "/front/image_raw"), ("poses", "/where"))
    assert node.parameters["every_frame"] is False
    assert node.parameters["pose_type"] == "odometry"
    assert "wait" not in node.parameters
    node = processes(image="/front/camera_info", trigger="camera_info")["replay_node"]
    assert node.remappings == (("camera_info", "/front/camera_info"),)
    robot = processes(robot="art1")["replay_node"]
    assert dict(robot.remappings)["image"] == "sensing/front_facing_camera/raw"


def test_pose_noise():
    assert "noise_angle" not in processes()["replay_node"].parameters
    parameters = processes(noise="true")["replay_node"].parameters
    assert (parameters["noise_angle"], parameters["noise_position"]) == (1.0, 0.01)


@pytest.mark.parametrize(
    ("topics", "given", "error", "said"),
    [
        (["/cam"], {}, SimjudgeError, "holds no poses"),
        (["/odom"], {}, SimjudgeError, "one camera_info to make frames for is needed; it holds none"),
        (["/odom"], {"trigger": "image"}, SimjudgeError, "holds no images to make frames for; simjudge sim replay"),
        (["/odom", "/amcl", "/cam"], {}, SimjudgeError, "several topics of poses; choose one with --poses TOPIC"),
        (["/odom", "/cam", "/other"], {}, SimjudgeError, "several image topics"),
        (["/odom", "/cam"], {"pose_type": "tf"}, UsageError, "pose_type:=tf: /odom of "),
        (["/odom", "/cam"], {"poses": "/no"}, SimjudgeError, "/no is not a topic of poses in it; there are /odom"),
        (["/odom", "/cam"], {"seed": "x"}, UsageError, "seed:=x: must be a whole number"),
    ],
)
def test_what_cannot_be_replayed(bag, topics, given, error, said):
    with pytest.raises(error, match=re.escape(said)):
        processes(bag=bag(*topics), **given)


def test_the_node_knows_every_parameter_that_it_is_given(bag):
    pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")
    pytest.importorskip("simjudge_msgs", reason="simjudge_msgs is not installed: pip install ./msgs")
    known = {row.name: row for row in importlib.import_module("simjudge.nodes.replay_node").ReplayNode.PARAMETERS}
    every = {"vehicle": "art1", "mount": "body", "cones": "t", "cone_kinds": "0=a", "parent": "a", "child": "b"}
    for node in (processes(**every, noise="true"), processes(bag=bag("/odom", "/cam"))):
        for name, value in node["replay_node"].parameters.items():
            if name != "use_sim_time":
                assert type(value) is type(known[name].default), name
                assert known[name].problem(value) is None, name
