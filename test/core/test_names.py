"""Names of classes, and the detector that is named with its predictions."""

import hashlib
import json
import logging

import numpy as np
import pytest
from mcap.writer import Writer

import simjudge as sj
from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages
from simjudge.core.names import LARGEST_CLASS_ID, DetectorRecord, free_class_id
from simjudge.core.object_tables import Objects, Predictions
from simjudge.data.rosbag2 import write_recording
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.set_parts import convert, join_sets, split
from simjudge.data.sets import read_predictions, read_set, write_set
from simjudge.detectors.detection import detect, load_detector


@pytest.mark.parametrize(
    ("used", "free"),
    [
        ([], 0),
        ([0, 1], 2),
        ([5], 6),
        ([LARGEST_CLASS_ID], 0),
        ([0, 1, LARGEST_CLASS_ID], 2),
        ([2**31, 2**63 - 1, -4], 0),
    ],
)
def test_the_free_id_is_one_that_files_and_results_can_hold(used, free):
    assert free_class_id(used) == free


@pytest.mark.parametrize("wrong", [-1, 2**31, 2**63 - 1])
def test_a_set_with_an_id_that_no_result_can_hold_is_refused(wrong):
    with pytest.raises(sj.SimjudgeError, match=f"class id {wrong} is not a whole number from 0 to 2147483647"):
        sj.FrameSet.build("a", [[64, 48]], Objects.build([0], [wrong], [[1, 2, 3, 4]]))
    with pytest.raises(sj.SimjudgeError, match=f"class id {wrong} "):
        sj.FrameSet.build("a", [[64, 48]], class_names={wrong: "cone"})


NET = DetectorRecord("net", "ab" * 32, {"imgsz": [640, 384], "min_score": 0.05, "iou": 0.7})
FOLDERS = ("yolo", "coco", "cvat", "cpd")
FORMATS = (*FOLDERS, "x.json", "x.mcap", "x.db3")


@pytest.fixture
def frames():
    objects = Objects.build([0, 1], [1, 2], [[3, 4, 9, 10], [3, 4, 19, 20]])
    found = Predictions.build([0, 1], [1, 2], [[3, 4, 9, 11.3], [3, 5, 19, 20]], [0.5, 0.75])
    images = ArrayImages([np.full((30, 40, 3), 60 * i, np.uint8) for i in range(3)])
    made = FrameSet.build(
        "made",
        [(40, 30)] * 3,
        objects,
        stamp=[10**9, 2 * 10**9, 3 * 10**9],
        class_names={1: "red", 2: "green"},
        images=images,
    )
    return made.with_predictions(found, detector=NET)


def write(frames, path):
    write_set(frames, path, path.name if path.name in FOLDERS else None)
    return path


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_keeps_it(frames, tmp_path, name):
    path = write(frames, tmp_path / name)
    assert read_set(path).detector == NET
    assert read_predictions(path, frames.with_predictions(None)).detector == NET
    bare = write(frames.with_predictions(None), tmp_path / "bare" / name)
    assert read_set(bare).detector is None
    unknown = write(frames.with_predictions(frames.predictions), tmp_path / "unknown" / name)
    assert read_set(unknown).detector is None


def test_a_rosbag2_folder_keeps_it(frames, tmp_path):
    write_recording(frames, tmp_path / "bag")
    assert read_set(tmp_path / "bag").detector == NET
    (tmp_path / "bag/metadata.yaml").unlink()
    assert read_set(tmp_path / "bag").detector == NET


@pytest.mark.parametrize(("name", "part"), [("yolo", "predictions"), ("coco", "results.json")])
def test_predictions_alone_find_it_beside_them(frames, tmp_path, name, part):
    path = write(frames, tmp_path / name)
    assert read_predictions(path / part, frames.with_predictions(None), path).detector == NET


@pytest.mark.parametrize("name", FORMATS)
def test_commands_keep_it(frames, tmp_path, name):
    path = write(frames, tmp_path / name)
    assert convert(path, tmp_path / "again.json").detector == NET
    parts = split(path, 2, tmp_path / "parts", to="coco")
    assert [read_set(part).detector for part in parts.paths] == [NET, NET]
    assert join_sets([*parts]).detector == NET


def test_a_joined_set_of_two_detectors_has_none(frames):
    other = frames.with_predictions(frames.predictions, detector=DetectorRecord("other"))
    assert join_sets([frames, other]).detector is None
    assert join_sets([frames, frames.with_predictions(None)]).detector == NET


def test_predictions_that_somebody_replaced_are_not_its(frames, tmp_path, caplog):
    path = write(frames, tmp_path / "yolo")
    text = next(file for file in sorted((path / "predictions").iterdir()) if file.stat().st_size)
    text.write_text("1 0.5 0.5 0.25 0.2 0.5\n")
    with caplog.at_level(logging.WARNING):
        assert read_set(path).detector is None
    assert "predictions are not those that net made" in caplog.text


@pytest.mark.parametrize("detector", [5, {"name": 5}, {"name": "a", "settings": []}, {"sha256": ""}])
def test_what_names_no_detector(tmp_path, detector):
    content = {"detector": detector, "frames": [{"size": [40, 30], "predictions": []}]}
    (tmp_path / "x.json").write_text(json.dumps(content))
    with pytest.raises(SimjudgeError, match=r'x.json: "detector": .* does not say which detector'):
        read_set(tmp_path / "x.json")


def test_detect_records_the_file(frames, tmp_path):
    colours = tmp_path / "reds.yaml"
    colours.write_text("classes: {0: {name: red, hue: [345, 15], saturation: [0.4, 1], value: [0.2, 1]}}\n")
    digest = hashlib.sha256(colours.read_bytes()).hexdigest()
    found = detect(frames, load_detector(colours, min_score=0.1), tmp_path / "out", to="coco")
    assert found.detector == DetectorRecord("reds", digest, {"min_score": 0.1})
    assert read_set(tmp_path / "out").detector == found.detector
    assert str(found.detector) == f"reds ({digest[:8]}, min_score 0.1)"
    assert str(found.detector) in repr(found)


def test_text():
    assert str(NET) == "net (abababab, imgsz 640x384, min_score 0.05, iou 0.7)"
    assert str(DetectorRecord("net")) == "net"
    assert DetectorRecord.from_json(json.loads(json.dumps(NET.to_json())), "here") == NET


def test_rosbag2_says_it_all_when_it_ends(tmp_path):
    """Its writer keeps metadata in the file when it begins, and once more when it ends."""
    with (tmp_path / "x.mcap").open("wb") as stream:
        writer = Writer(stream)
        writer.start("ros2", "test")
        schema = writer.register_schema("std_msgs/msg/String", "ros2msg", b"string data")
        writer.add_message(writer.register_channel("/a", "cdr", schema), 1, bytes(8), 1)
        for custom in ("custom_data: ~", "custom_data: {who: me}"):
            writer.add_metadata("rosbag2", {"serialized_metadata": f"version: 9\n{custom}\n"})
        writer.finish()
    assert Recording(tmp_path / "x.mcap").custom_data() == {"who": "me"}
