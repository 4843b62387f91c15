"""A drive with several cameras: each records what it sees alone; the car is driven as with one; readers choose one."""

import json

import numpy as np
import pytest
import yaml
from driving_scenes import STRAIGHT, camera_file, scene_file
from support import processes

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.data.rosbag2.recorded_poses import decoded_messages, read_poses
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.sets import Topics, read_set
from simjudge.sim.driving.drive import drive

pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")

REAR = {"position": [-0.1, 0.0, 0.2], "yaw": 180}
FOLLOW = {"distance": 1.2, "height": 0.8, "time_constant": 0.2, "aim": 0.1}
SMALL = {"size": [160, 90], "rate": 10}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A drive by a rig, and the same by its front camera alone."""
    folder = tmp_path_factory.mktemp("rig")
    scene, camera = scene_file(folder, STRAIGHT), camera_file(folder, **SMALL)
    cameras = {
        "front": "small.yaml",
        "rear": {"camera": "small.yaml", "mount": REAR},
        "chase": {"camera": "small.yaml", "rate": 5, "follow": FOLLOW},
    }
    (folder / "rig.yaml").write_text(yaml.safe_dump({"cameras": cameras}, sort_keys=False))
    drive(scene, folder / "rig.mcap", camera=folder / "rig.yaml", seed=3, limit=0.75)
    drive(scene, folder / "one.mcap", camera=camera, seed=3, limit=0.75)
    return folder


def messages(path):
    """All messages by topic: time of recording, and bytes."""
    recording = Recording(path)
    found = {}
    for message in recording.messages(set(recording.topics)):
        found.setdefault(message.topic, []).append((message.time, bytes(message.data)))
    return found


def contents(path, topic):
    return [message for _, message in decoded_messages(Recording(path), {topic}, Losses())]


def test_every_camera_has_topics_of_its_own_and_one_drives(folder):
    counts = {topic: len(found) for topic, found in messages(folder / "rig.mcap").items()}
    for name, frames in (("front", 7), ("rear", 7), ("chase", 3)):
        for topic in ("image_raw/compressed", "camera_info", "ground_truth"):
            assert counts[f"/{name}/{topic}"] == frames
    assert counts["/front/detections"] == counts["/vehicle/input"] == 7
    assert not {"/rear/detections", "/chase/detections", "/camera/camera_info"} & set(counts)
    about = json.loads((folder / "rig.mcap.drive.json").read_text())
    assert list(about["cameras"]) == ["front", "rear", "chase"]
    assert "cameras" not in json.loads((folder / "one.mcap.drive.json").read_text())


def test_the_car_is_driven_as_with_the_front_camera_alone(folder):
    rig, one = messages(folder / "rig.mcap"), messages(folder / "one.mcap")
    assert rig["/vehicle/input"] == one["/vehicle/input"]
    assert rig["/vehicle/odometry"] == one["/vehicle/odometry"]


def test_boxes_are_those_of_the_camera_alone(folder):
    rig, one = (
        read_set(folder / f"{name}.mcap", topics=topics) for name, topics in (("rig", Topics("front")), ("one", None))
    )
    np.testing.assert_array_equal(rig.objects.box, one.objects.box)
    np.testing.assert_array_equal(rig.predictions.box, one.predictions.box)
    np.testing.assert_array_equal(rig.images.read(3), one.images.read(3))


def test_what_belongs_to_another_camera_is_not_taken(folder):
    rear = read_set(folder / "rig.mcap", topics=Topics("rear"))
    assert rear.predictions is None, "the detections are the front camera's, of the same stamps"
    assert rear.labelled.all()
    assert not rear.losses
    named = read_set(folder / "rig.mcap", topics=Topics("/rear/image_raw/compressed"))
    np.testing.assert_array_equal(rear.objects.box, named.objects.box)


def test_frames_of_the_tree_are_where_the_cameras_are(folder):
    path = folder / "rig.mcap"
    (fixed,) = contents(path, "/tf_static")
    assert [(transform.header.frame_id, transform.child_frame_id) for transform in fixed.transforms] == [
        ("map", "odom"),
        ("base_link", "front_link"),
        ("front_link", "front_optical_frame"),
        ("base_link", "rear_link"),
        ("rear_link", "rear_optical_frame"),
        ("base_link", "chassis"),
    ]
    assert {content.header.frame_id for content in contents(path, "/rear/camera_info")} == {"rear_optical_frame"}
    rear = read_poses(path, "/tf", "odom", "rear_optical_frame").trajectory
    front = read_poses(path, "/tf", "odom", "front_optical_frame").trajectory
    ahead = np.array(rear.pose(3).to_world([[0, 0, 1.0]])[0]) - rear.position[3]
    assert ahead[0] < -0.99, "it looks back"
    assert front.position[3][0] - rear.position[3][0] == pytest.approx(0.4365 + 0.1, abs=0.02)


def test_the_camera_that_follows_sees_the_car_in_its_middle(folder):
    path = folder / "rig.mcap"
    chase = read_poses(path, "/tf", "odom", "chase_optical_frame").trajectory
    car = read_poses(path, "/vehicle/odometry").trajectory
    stamps = read_set(path, topics=Topics("chase")).stamp
    assert chase.stamp.tolist() == stamps.tolist()
    for row, stamp in enumerate(stamps.tolist()):
        base = car.position[int(np.searchsorted(car.stamp, stamp))]
        behind = base - chase.position[row]
        assert 1.0 < np.hypot(*behind[:2]) < 1.6
        assert behind[2] == pytest.approx(-0.8, abs=0.02)
    pixels = read_set(path, topics=Topics("chase")).images.read(2)
    floor = pixels[80, 10].astype(int)
    assert np.abs(pixels[40:50, 75:85].astype(int) - floor).max() > 25, "the car is no floor"


def test_without_a_choice_the_cameras_are_named(folder):
    with pytest.raises(SimjudgeError) as caught:
        read_set(folder / "rig.mcap")
    message = str(caught.value)
    assert "several image topics; choose one with --image-topic" in message
    for name in ("front", "rear", "chase"):
        assert f"/{name}/image_raw/compressed" in message


def test_commands_take_one_camera_by_its_name(folder):
    def run(*words):
        return processes.simjudge(*words, cwd=folder)

    said = run("info", "rig.mcap", "--image-topic", "rear")
    assert said.returncode == 0, said.stderr
    assert "7" in said.stdout
    assert "no frames" not in said.stdout
    done = run("compare", "rig.mcap", "one.mcap", "--a-image-topic", "front", "--out", "result", "--patch", "30")
    assert done.returncode == 0, done.stderr
    result = json.loads((folder / "result/result.json").read_text())
    assert result["inputs"]["a"]["frames"] == 7
    wrong = run("detect", "rig.mcap", "--model", "cones_red_green", "--image-topic", "reer", "--out", "x.mcap")
    assert wrong.returncode in (1, 2)
    assert "/rear/image_raw/compressed" in wrong.stderr
