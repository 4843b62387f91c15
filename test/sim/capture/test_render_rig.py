"""`render` through several cameras: each sees what it sees alone from its mount; a stopped run goes on; refusals."""

import numpy as np
import pytest
import yaml
from render_scenes import COURSE, camera_file, scene_file

from simjudge.core.errors import Losses, UsageError
from simjudge.data.rosbag2.recorded_poses import decoded_messages, read_poses
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.sets import Topics, read_set
from simjudge.sim.capture.rendering import render

pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")

LEFT = {"position": [0.3, 0.06, 0.25], "pitch": 10}
REAR = {"position": [-0.1, 0.0, 0.2], "yaw": 180, "pitch": 5}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A scene with a course, rendered by a rig of three cameras, and by one of them alone."""
    folder = tmp_path_factory.mktemp("rig")
    scene, camera = scene_file(folder, placements={"course": COURSE}), camera_file(folder)
    cameras = {
        "pair": {"camera": "camera.yaml", "mount": LEFT, "baseline": 0.1},
        "rear": {"camera": "camera.yaml", "mount": REAR},
    }
    (folder / "rig.yaml").write_text(yaml.safe_dump({"cameras": cameras}, sort_keys=False))
    done = render(scene, folder / "rig.mcap", camera=folder / "rig.yaml", poses="path", n=4)
    assert done.frames == 12
    render(scene, folder / "rear.mcap", camera=camera, poses="path", n=4, mount="-0.1,0,0.2,180,5,0")
    return folder


def test_each_camera_sees_what_it_sees_alone(place):
    rig, alone = read_set(place / "rig.mcap", topics=Topics("rear")), read_set(place / "rear.mcap")
    assert len(rig) == len(alone) == 4
    assert rig.stamp.tolist() == alone.stamp.tolist()
    np.testing.assert_array_equal(rig.objects.box, alone.objects.box)
    np.testing.assert_array_equal(rig.objects.instance, alone.objects.instance)
    difference = np.abs(rig.images.read(1).astype(int) - alone.images.read(1).astype(int))
    assert 0 < difference.mean() < 8, "the same but for the noise, which is each camera's own"


def test_topics_frames_and_camera_info_are_each_cameras_own(place):
    path = place / "rig.mcap"
    counts = {info.topic: info.count for info in Recording(path).topic_infos()}
    for name in ("pair/left", "pair/right", "rear"):
        for topic in ("image_raw/compressed", "ground_truth", "camera_info"):
            assert counts[f"/{name}/{topic}"] == 4
    infos = [message for _, message in decoded_messages(Recording(path), {"/pair/right/camera_info"}, Losses())]
    assert infos[0].header.frame_id == "pair_right_optical_frame"
    assert infos[0].p[3] == pytest.approx(-infos[0].p[0] * 0.1)
    left, right = (
        read_poses(path, "/tf", "map", f"pair_{side}_optical_frame").trajectory for side in ("left", "right")
    )
    apart = [left.pose(row).to_body(right.position[row][None])[0] for row in range(4)]
    np.testing.assert_allclose(apart, [[0.1, 0, 0]] * 4, atol=1e-9)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"out": "folder"}, "a data set has the images of one camera; give --out"),
        ({"mount": "body"}, "have mounts of their own; leave it out"),
        ({"camera": "front_chase"}, "camera chase follows a car that drives; render has none"),
    ],
)
def test_what_cannot_be_is_said_in_a_line(place, options, words):
    given = {"camera": place / "rig.yaml", "out": "again.mcap", **options}
    with pytest.raises(UsageError, match=words) as caught:
        render(place / "tiny.yaml", place / given.pop("out"), poses="path", **given)
    assert "\n" not in str(caught.value)
