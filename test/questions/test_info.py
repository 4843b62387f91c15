"""`simjudge doctor --brief`, as a person runs it."""

import json
from pathlib import Path

import cv2
import numpy as np
import pytest
from made_results import made_contexts, made_set, write_result
from public_data import PUBLIC_DATA, missing
from support import processes

import simjudge as sj
from simjudge.core.files import check_output_folder
from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages
from simjudge.core.object_tables import Objects, Predictions
from simjudge.data.sets import write_set
from simjudge.results.saved_result import RESULT_FOLDER

SHARED = PUBLIC_DATA


def run(path):
    return processes.simjudge("info", str(path))


@pytest.fixture
def frames():
    objects = Objects.build(
        [0, 1, 1],
        [1, 2, 2],
        [[3, 4, 9, 10], [3, 4, 19, 20], [1, 2, 3, 4]],
        [4, 4, 5],
        distance=[12, np.nan, 2.5],
        visible=[np.nan, 0.25, np.nan],
    )
    found = Predictions.build([0], [1], [[3, 4, 9, 11]], [0.5])
    pictures = ArrayImages([np.zeros((30, 40, 3), np.uint8), None])
    stamps = [10**9, 3 * 10**9 + 5 * 10**8]
    names = {1: "red", 2: "[b]green[/b]"}
    size = [(40, 30), (20, 20)]
    return FrameSet.build("s", size, objects, found, stamp=stamps, class_names=names, images=pictures)


@pytest.mark.parametrize("name", ["yolo", "coco", "cvat", "cpd", "x.json", "x.mcap"])
def test_a_set(frames, tmp_path, name):
    path = tmp_path / name
    if name == "x.mcap":
        frames = frames.take([0])
    write_set(frames, path, None if path.suffix else name)
    done = run(path)
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert {"x.json": ": json", "x.mcap": ": recording"}.get(name, f": {name}") in text
    if name == "x.mcap":
        assert "/camera/ground_truth" in text
        assert "frames 1, 1 with an image" in text
        return
    assert "frames 2, 1 with an image" in text
    assert "labelled 2, 2 with a detector run on them" in text
    assert "20x20 (1), 40x30 (1)" in text
    assert "stamps 2 frames, 1.000 s to 3.500 s (2.500 s)" in text
    assert "objects 3, 0 with a mask, 2 instances" in text
    assert "distances 2, 2.5 m to 12 m" in text
    assert "visible 1, 0.25 to 0.25" in text
    assert "predictions 1, scores 0.500 to 0.500" in text
    assert text.endswith("2 [b]green[/b] 2 1 0")


def test_predictions_alone(frames, tmp_path):
    write_set(frames, tmp_path / "y", "yolo")
    write_set(frames, tmp_path / "c", "coco")
    for path, kind in ((tmp_path / "y/predictions", "yolo-predictions"), (tmp_path / "c/results.json", "coco-results")):
        done = run(path)
        assert done.returncode == 0, done.stderr
        assert f"{kind}, 1 prediction for" in done.stdout


def test_a_result(tmp_path):
    a, b = (made_set(name, seed, 6, pictures=False) for seed, name in enumerate("ab"))
    folder = write_result(tmp_path / "r", made_contexts(a, b))
    for path in (folder, folder / "result.json"):
        done = run(path)
        assert done.returncode == 0, done.stderr
        assert "data/hall, 40 frames, 160 objects" in done.stdout
        for row in sj.load_result(folder).table.rows:
            assert " ".join(row) in " ".join(done.stdout.split())
    (folder / "result.json").write_text("{}")
    assert "no result of simjudge compare" in run(folder).stderr


def test_a_result_json_of_label_studio_is_a_data_set_and_no_result_to_be_replaced(tmp_path):
    """It exports COCO under that name."""
    box = {"id": 1, "image_id": 1, "category_id": 0, "bbox": [10, 10, 20, 20], "area": 400, "iscrowd": 0}
    image = {"id": 1, "file_name": "images/a.png", "width": 64, "height": 48}
    coco = {"images": [image], "categories": [{"id": 0, "name": "cone"}], "annotations": [box]}
    (tmp_path / "result.json").write_text(json.dumps(coco))
    assert sj.info(tmp_path / "result.json").kind == "coco"
    with pytest.raises(sj.SimjudgeError, match="exists already, and is no result"):
        check_output_folder(tmp_path, RESULT_FOLDER)
    (tmp_path / "images").mkdir()
    cv2.imwrite(str(tmp_path / "images/a.png"), np.zeros((48, 64, 3), np.uint8))
    assert sj.info(tmp_path).kind == "coco"


def test_a_recording_without_pictures():
    path = SHARED / "real_bags/nav2_turtlebot.mcap"
    if not path.exists():
        pytest.skip(missing("real_bags"))
    done = run(path)
    assert done.returncode == 0
    assert "nav_msgs/msg/Odometry" in done.stdout
    assert "no frames: " in done.stdout


def test_a_model():
    path = Path(__file__).parents[2] / "models/real_signals_yolo11n.onnx"
    if not path.exists():
        pytest.skip("models/real_signals_yolo11n.onnx is not here")
    done = run(path)
    assert done.returncode == 0, done.stderr
    assert "input        320 x 320 pixels" in done.stdout
    assert "0 green, 1 left, 2 red, 3 right, 4 stop, 5 straight, 6 yellow" in done.stdout


def test_losses(frames, tmp_path):
    write_set(frames, tmp_path / "y", "yolo")
    (tmp_path / "y/labels/zzz.txt").write_text("")
    done = run(tmp_path / "y")
    assert done.returncode == 3
    assert "left out 1 label file without an image" in done.stderr


@pytest.mark.long
@pytest.mark.parametrize("name", ["gone", "a.onnx", "a.pt", "a.txt", "a.mcap"])
def test_what_it_does_not_know(tmp_path, name):
    if name != "gone":
        (tmp_path / name).write_bytes(b"nothing of the kind")
    done = run(tmp_path / name)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("error: ")
