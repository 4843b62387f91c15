"""The graph sim with several cameras: who listens to which, what is recorded."""

import pytest
import yaml

from simjudge.core.errors import UsageError
from simjudge.ros.graphs import GRAPHS

SIM = GRAPHS["sim"]


@pytest.fixture
def rig(tmp_path):
    mount = {"position": [-0.1, 0, 0.2], "yaw": 180}
    path = tmp_path / "rig.yaml"
    path.write_text(
        yaml.safe_dump(
            {"cameras": {"rear": {"camera": "plain", "mount": mount}, "front": "plain"}, "driver": "front"},
            sort_keys=False,
        )
    )
    return str(path)


def programs(**given):
    return {process.name: process for process in SIM.processes({"rviz": "false", **given})}


def test_detector_driver_and_judge_take_the_camera_that_drives(rig):
    made = programs(camera=rig, reference="real.mcap", watch="true")
    for name in ("detection_node", "drive_node", "validation_node", "watch_node"):
        pairs = dict(made[name].remappings)
        assert pairs["camera/image_raw"] == "front/image_raw"
        assert pairs["camera/detections"] == "front/detections"
        assert pairs["camera/ground_truth"] == "front/ground_truth"
    world = made["sim_node"]
    assert not world.remappings
    assert world.parameters["camera"] == rig
    awaited = {"detection_node front/image_raw", "drive_node front/detections", "validation_node front/ground_truth"}
    assert awaited <= set(world.parameters["wait_for"])


def test_all_cameras_are_recorded(rig):
    made = programs(camera=rig, out="drive")
    topics = made["record_node"].parameters["topics"]
    for name in ("front", "rear"):
        assert {f"{name}/image_raw", f"{name}/camera_info", f"{name}/ground_truth"} <= set(topics)
    assert [topic for topic in topics if topic.endswith("detections")] == ["front/detections"]
    assert not made["record_node"].remappings
    assert "record_node rear/image_raw" in made["sim_node"].parameters["wait_for"]


def test_a_camera_alone_changes_no_name():
    assert not programs()["detection_node"].remappings
    made = programs(camera="front_chase", out="drive")
    assert not made["detection_node"].remappings
    assert {"camera/image_raw", "chase/image_raw"} <= set(made["record_node"].parameters["topics"])


def test_a_camera_that_is_not_there_is_said_at_once():
    with pytest.raises(UsageError, match="plian: neither a file nor the name of a camera"):
        programs(camera="plian")
