"""Tracklets of KITTI's raw data, made by its development kit's format, against the kit's formula of a box's corners."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import simjudge as sj
from simjudge.core.errors import SimjudgeError

HEAD = """<?xml version="1.0" encoding="UTF-8" standalone="yes" ?>
<!DOCTYPE boost_serialization>
<boost_serialization signature="serialization::archive" version="9">
<tracklets class_id="0" tracking_level="0" version="0">
\t<count>2</count>
\t<item_version>1</item_version>
"""
TAIL = "</tracklets>\n</boost_serialization>\n"
CAR = [(25.2, 8.6, -1.79, 0, 0, -3.18), (24.9, 8.5, -1.78, 0, 0, 2.9)]
SITTER = [(5.0, -3.0, -1.6, 0.02, -0.01, 0.4)]


def tracklet(kind, size, first, poses, state=2):
    h, w, length = size
    rows = "".join(
        "\t\t\t<item>"
        + "".join(
            f"<{name}>{value}</{name}>" for name, value in zip(("tx", "ty", "tz", "rx", "ry", "rz"), pose, strict=True)
        )
        + f"<state>{state}</state><occlusion>0</occlusion><occlusion_kf>1</occlusion_kf><truncation>0</truncation>"
        "<amt_occlusion>0</amt_occlusion></item>\n"
        for pose in poses
    )
    return (
        f'\t<item class_id="1" tracking_level="0" version="1">\n\t\t<objectType>{kind}</objectType>\n'
        f"\t\t<h>{h}</h>\n\t\t<w>{w}</w>\n\t\t<l>{length}</l>\n\t\t<first_frame>{first}</first_frame>\n"
        f'\t\t<poses class_id="2" tracking_level="0" version="0">\n\t\t\t<count>{len(poses)}</count>\n'
        f"\t\t\t<item_version>2</item_version>\n{rows}\t\t</poses>\n\t\t<finished>1</finished>\n\t</item>\n"
    )


GOOD = tracklet("Car", (2.17, 1.71, 4.33), 1, CAR) + tracklet("Person (sitting)", (1.2, 0.6, 0.8), 0, SITTER)


@pytest.fixture
def drive(tmp_path):
    """Three scans: frames 0, 1 and 2."""
    folder = tmp_path / "drive/velodyne_points/data"
    folder.mkdir(parents=True)
    for k in range(3):
        np.full((4, 4), k, "<f4").tofile(folder / f"{k:010d}.bin")
    write(tmp_path / "drive", GOOD)
    return tmp_path / "drive"


def write(drive, items):
    (drive / "tracklet_labels.xml").write_text(HEAD + items + TAIL)


def test_boxes_by_the_formula_of_the_development_kit(drive):
    clouds = sj.read_clouds(drive)
    boxes = clouds.boxes
    assert boxes.cloud.tolist() == [0, 1, 2]
    assert boxes.instance.tolist() == [1, 0, 0]
    assert [clouds.class_names[i] for i in boxes.class_id.tolist()] == ["Person_sitting", "Car", "Car"]
    assert clouds.labelled.tolist() == [True] * 3
    assert clouds.losses.counts == {}
    for row, pose in ((1, CAR[0]), (2, CAR[1])):
        h, w, length = 2.17, 1.71, 4.33
        x = np.array([1, 1, -1, -1, 1, 1, -1, -1]) * length / 2
        y = np.array([1, -1, -1, 1, 1, -1, -1, 1]) * w / 2
        z = np.array([0, 0, 0, 0, 1, 1, 1, 1]) * h
        c, s = np.cos(pose[5]), np.sin(pose[5])
        expected = (np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ [x, y, z]).T + pose[:3]
        turn = Rotation.from_quat(boxes.orientation[row]).as_matrix()
        own = np.stack([x, y, z - h / 2], 1) / [length, w, h] * boxes.size[row]
        np.testing.assert_allclose(own @ turn.T + boxes.centre[row], expected, atol=1e-12)
    a, b, c = SITTER[0][3:]
    about = [Rotation.from_rotvec(axis * angle).as_matrix() for axis, angle in zip(np.eye(3), (a, b, c), strict=True)]
    np.testing.assert_allclose(Rotation.from_quat(boxes.orientation[0]).as_matrix(), about[2] @ about[1] @ about[0])


def test_into_a_recording_and_back(drive, tmp_path):
    assert not sj.convert(drive, tmp_path / "d.mcap").losses
    again, before = sj.read_clouds(tmp_path / "d.mcap"), sj.read_clouds(drive)
    np.testing.assert_array_equal(again.boxes.centre, before.boxes.centre)
    np.testing.assert_array_equal(again.boxes.instance, before.boxes.instance)
    assert not sj.convert(tmp_path / "d.mcap", tmp_path / "again", to="kitti").losses
    file = "tracklet_labels.xml"
    assert (tmp_path / "again" / file).read_bytes() == (drive / file).read_bytes()


@pytest.mark.parametrize(
    ("items", "counts"),
    [
        (tracklet("Car", (1, 1, 0), 0, CAR), {"malformed tracklets": 1}),
        (tracklet("", (1, 1, 1), 0, CAR), {"malformed tracklets": 1}),
        (tracklet("Car", (1, 1, "inf"), 0, CAR), {"malformed tracklets": 1}),
        (tracklet("Car", (1, 1, 1), 0.5, CAR), {"malformed tracklets": 1}),
        (tracklet("Car", (1, 1, 1), 0, [("far", *CAR[0][1:]), CAR[1]]), {"malformed poses of tracklets": 1}),
        (tracklet("Car", (1, 1, 1), 0, CAR, state=0), {"poses of tracklets that nobody has set": 2}),
        (tracklet("Car", (1, 1, 1), 2, CAR), {"boxes in space without a scan": 1}),
        ("", {}),
    ],
)
def test_what_cannot_be_used_is_counted(drive, items, counts):
    write(drive, items)
    clouds = sj.read_clouds(drive)
    assert clouds.losses.counts == counts
    assert len(clouds.boxes) == (0 if items == "" or "malformed tracklets" in counts else 2 - sum(counts.values()))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<annotations/>", "holds no <tracklets>"),
        (HEAD, "not valid XML"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><boost_serialization>&a;</boost_serialization>', "XML that is refused"),
    ],
)
def test_files_that_are_no_tracklets(drive, text, words):
    (drive / "tracklet_labels.xml").write_text(text)
    with pytest.raises(SimjudgeError, match=words) as caught:
        sj.read_clouds(drive)
    assert "tracklet_labels.xml" in str(caught.value)


def test_boxes_that_were_changed_leave_no_old_tracklets(drive, tmp_path):
    clouds = sj.read_clouds(drive)
    moved = replace(clouds, boxes=replace(clouds.boxes, centre=clouds.boxes.centre + 1))
    lost = sj.write_clouds(moved, tmp_path / "again", "kitti")
    assert lost.counts == {"boxes that were changed; tracklet_labels.xml is not written anew": 3}
    assert not (tmp_path / "again/tracklet_labels.xml").exists()
