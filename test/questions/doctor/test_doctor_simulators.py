"""The doctor names the simulator whose ground truth is there, and its line makes labels that convert accepts."""

import shlex

import numpy as np
import pytest
from bag_samples import write_mcap
from simulated_worlds import photograph, raw_image, stamps, view
from typer.testing import CliRunner

from simjudge.commands.app import app
from simjudge.data.sets import read_set
from simjudge.questions.doctor import diagnosis as names
from simjudge.questions.doctor.diagnosis import NO
from simjudge.questions.doctor.label_checks import live_line
from simjudge.questions.doctor.run import diagnose, diagnose_recording
from simjudge.sim.capture.simulators.labelling import find_simulator_labels

IMAGE, BOXES, SOLIDS = "sensor_msgs/msg/Image", "vision_msgs/msg/Detection2DArray", "vision_msgs/msg/Detection3DArray"


@pytest.mark.parametrize(
    ("topic", "kind", "simulator", "form", "classes"),
    [
        ("/segmentation/labels_map", IMAGE, "gazebo", "pictures", True),
        ("/boxes_3d", SOLIDS, "gazebo", "solids", True),
        ("/boxes", BOXES, "gazebo", "boxes", True),
        ("/front/instance_segmentation", IMAGE, "isaac_sim", "pictures", False),
        ("/front/bbox_2d_tight", BOXES, "isaac_sim", "boxes", False),
        ("/carla/ego/semantic_segmentation_front/image", IMAGE, "carla", "pictures", False),
        ("/carla/objects", "derived_object_msgs/msg/ObjectArray", "carla", "solids", False),
        ("/carla/ego/instance/image", IMAGE, "carla_native", "pictures", False),
        ("/car/camera/recognitions/webots", "webots_ros2_msgs/msg/CameraRecognitionObjects", "webots", "boxes", False),
        ("/chrono_ros_node/output/barrel/pose", "geometry_msgs/msg/PoseStamped", "chrono_ros", "things", False),
    ],
)
def test_each_simulator_is_known_by_its_topics(topic, kind, simulator, form, classes):
    (found,) = find_simulator_labels({topic: kind, "/camera/image": IMAGE})
    assert (found.simulator, found.form, found.topics, found.needs_classes) == (simulator, form, (topic,), classes)
    line = live_line(found, {"images": "/camera/image", "camera_info": "/camera/camera_info"})
    assert f"form:={form}" in line
    assert ("camera_info:=" in line) == (form != "pictures")


@pytest.mark.parametrize("topic", ["/camera/image_raw", "/chrono_ros_node/output/vehicle/pose", "/cmd_vel"])
def test_what_is_no_ground_truth_is_of_no_simulator(topic):
    assert find_simulator_labels({topic: "geometry_msgs/msg/PoseStamped"}) == []


def gazebo(path):
    messages = []
    for stamp, seen in ((stamp, view(number)) for number, stamp in enumerate(stamps(4))):
        pixels = np.dstack([seen.instances % 256, seen.instances // 256, seen.classes])
        messages += [
            ("/camera/image", stamp, photograph(stamp, seen)),
            ("/segmentation/labels_map", stamp, raw_image(stamp, pixels, "rgb8")),
        ]
    write_mcap(path, messages)
    return path


def test_the_line_for_a_recording_makes_it_usable(tmp_path):
    found = diagnose(gazebo(tmp_path / "g.mcap"))
    assert not any("several cameras" in note for note in found.notes)
    assert found.question("compare").answer == NO
    (shown,) = (each for each in found.findings if each.check == names.SIMULATOR_LABELS)
    assert "gazebo: label pictures on /segmentation/labels_map" in shown.figure
    assert "judge a detector" in shown.figure
    line = next(line for line, checks in found.remedies.items() if names.LABELS in checks)
    words = [word.replace("1=car", "1=red") for word in shlex.split(line, comments=True)]
    words[words.index("labelled.mcap")] = str(tmp_path / "labelled.mcap")
    done = CliRunner().invoke(app, [*words[1:], "--class", "2=green"])
    assert done.exit_code == 0, done.output
    mended = diagnose(tmp_path / "labelled.mcap")
    assert mended.question("compare").answer != NO
    assert read_set(tmp_path / "labelled.mcap").labelled.all()


def test_the_line_for_a_running_graph_is_that_of_ground_truth_node(tmp_path):
    found = diagnose_recording(gazebo(tmp_path / "g.mcap"), None, live=True)
    line = next(line for line, checks in found.remedies.items() if names.LABELS in checks)
    assert shlex.split(line, comments=True) == [
        "simjudge",
        "ros",
        "run",
        "label",
        "simulator:=gazebo",
        "form:=pictures",
        "labels:=/segmentation/labels_map",
        "classes:=1=car",
    ]


def test_missing_json_of_isaac_sim_is_said(tmp_path):
    (stamp,), seen = stamps(1), view(0)
    number = seen.instances.astype(np.uint16)
    write_mcap(
        tmp_path / "i.mcap",
        [
            ("/rgb", stamp, photograph(stamp, seen)),
            ("/instance_segmentation", stamp, raw_image(stamp, number, "16UC1")),
        ],
    )
    lacking = [
        each
        for each in diagnose(tmp_path / "i.mcap").findings
        if each.check == names.SIMULATOR_LABELS and each.verdict == names.MISSING
    ]
    assert "semantic_labels_instance" in lacking[0].note
