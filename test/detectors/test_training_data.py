"""Splitting by photograph, repairing leaks, and the folder that is trained from."""

import cv2
import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages, FileImages
from simjudge.core.object_tables import Objects
from simjudge.data.frame_sequences import source_photograph
from simjudge.detectors.training_data import read_split, repair_split, split_by_photograph, write_working_folder


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("Stop1000_jpg.rf.3e0f692ffec1e2fe2c3c9097ebe19981", "Stop1000"),
        ("frame_12_png.rf.abc", "frame_12"),
        ("a_JPEG.rf.b_jpg.rf.c", "a_JPEG.rf.b"),  # the last one counts
        ("plain", "plain"),
        ("12_000000034", "12_000000034"),
        ("_jpg.rf.abc", "_jpg.rf.abc"),  # nothing before it
    ],
)
def test_source_photograph(name, source):
    assert source_photograph(name) == source


def named(names, labelled=None, name="set"):
    count = len(names)
    objects = Objects.build(range(count), [1] * count, [[0, 0, 5, 5]] * count)
    return FrameSet.build(name, [(20, 10)] * count, objects, frame_name=names, labelled=labelled)


def sources(sets):
    return {source_photograph(name) for frames in sets for name in frames.frame_name}


@settings(max_examples=50)
@given(st.lists(st.integers(0, 12), min_size=2, max_size=60), st.floats(0.05, 0.9), st.integers(0, 9))
def test_variants_stay_on_one_side(photographs, fraction, seed):
    names = [f"p{p}_jpg.rf.{i}" for i, p in enumerate(photographs)]
    if len(set(photographs)) < 2:
        with pytest.raises(SimjudgeError, match="training needs two at least"):
            split_by_photograph(named(names), fraction, seed)
        return
    split = split_by_photograph(named(names), fraction, seed)
    train, valid = sources(split.train), sources(split.valid)
    assert not train & valid
    assert train
    assert valid
    assert sum(map(len, [*split.train, *split.valid])) == len(names)
    assert abs(len(valid) - fraction * len(train | valid)) <= 1
    again = split_by_photograph(named(names), fraction, seed)
    assert again.valid[0].frame_name == split.valid[0].frame_name


def test_unlabelled_frames_are_not_learnt_from():
    split = split_by_photograph(named(["a", "b", "c"], [True, True, False]), 0.5, 0)
    assert sources([*split.train, *split.valid]) == {"a", "b"}


def test_a_leak_is_counted_and_moved():
    split = repair_split(named(["a_jpg.rf.1", "b_jpg.rf.1"]), named(["a_jpg.rf.2", "c_jpg.rf.1", "a_jpg.rf.3"]))
    assert (split.moved, split.own) == (2, True)
    assert sources(split.train) == {"a", "b"}
    assert split.valid[0].frame_name == ["c_jpg.rf.1"]
    assert split.counts()["train_pictures"] == 4


def test_nothing_left_to_validate_on():
    with pytest.raises(SimjudgeError, match="give --val-fraction"):
        repair_split(named(["a_jpg.rf.1"]), named(["a_jpg.rf.2"]))


def test_working_folder(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    file = tmp_path / "picture.png"
    cv2.imwrite(str(file), np.zeros((10, 20, 3), np.uint8))
    damaged = tmp_path / "damaged.png"
    damaged.write_bytes(file.read_bytes()[:30])
    boxes = Objects.build([0, 0, 0], [2, 7, 7], [[-5, 0, 10, 5], [10, 5, 20, 10], [30, 30, 40, 40]])
    train = FrameSet.build(
        "train", [(20, 10)] * 2, boxes, class_names={2: "red", 7: "green"}, images=FileImages([file, damaged])
    )
    valid = FrameSet.build("valid", [(20, 10)], Objects.empty(), images=ArrayImages([np.zeros((10, 20, 3), np.uint8)]))
    losses = Losses()
    empty = FrameSet.build("valid", [(20, 10)], Objects.empty(), frame_name=["v"], images=valid.images)
    split = repair_split(train, empty)
    assert write_working_folder(split, folder, losses) == {2: "red", 7: "green"}
    assert losses.counts == {"pictures that cannot be trained on": 1}
    described = yaml.safe_load((folder / "data.yaml").read_text())
    assert described["names"] == ["red", "green"]
    (picture,) = (folder / "images" / "train").iterdir()
    assert picture.resolve() == file
    rows = (folder / "labels" / "train" / f"{picture.stem}.txt").read_text().splitlines()
    # Clipped to the picture and numbered anew; the one outside is not there.
    assert [[float(v) for v in row.split()] for row in rows] == [[0, 0.25, 0.25, 0.5, 0.5], [1, 0.75, 0.75, 0.5, 0.5]]
    (picture,) = (folder / "images" / "valid").iterdir()
    assert not picture.is_symlink()
    assert (folder / "labels" / "valid" / f"{picture.stem}.txt").read_text() == ""


def yolo_data(root, **splits):
    """A YOLO data set: by split, the file stems."""
    for split, stems in splits.items():
        for kind in ("images", "labels"):
            (root / split / kind).mkdir(parents=True)
        for stem in stems:
            cv2.imwrite(str(root / split / "images" / f"{stem}.jpg"), np.zeros((10, 20, 3), np.uint8))
            (root / split / "labels" / f"{stem}.txt").write_text("0 0.5 0.5 0.5 0.5\n")
    keys = {"train": "train", "valid": "val", "test": "test"}
    lines = [f"{keys[split]}: ../{split}/images" for split in splits]
    (root / "data.yaml").write_text("\n".join([*lines, "names: ['red']"]) + "\n")
    return root


TRAIN, VALID = ["a_jpg.rf.1", "a_jpg.rf.2", "b_jpg.rf.1", "t_jpg.rf.1"], ["c_jpg.rf.1", "b_jpg.rf.2"]


@pytest.mark.parametrize(
    ("splits", "fraction", "own", "moved", "from_test", "train", "valid"),
    [
        # the data's own sides, its leak repair_split, and what is on the test side too left out
        ({"train": TRAIN, "valid": VALID, "test": ["t_jpg.rf.2"]}, None, True, 1, 1, {"a", "b"}, {"c"}),
        # no valid side: split anew, the test side untouched
        ({"train": TRAIN, "test": ["t_jpg.rf.2"]}, None, False, 0, 1, None, None),
        # split anew because that was asked for
        ({"train": TRAIN, "valid": VALID}, 0.3, False, 0, 0, None, None),
    ],
)
def test_sides_of_a_yolo_data_set(tmp_path, splits, fraction, own, moved, from_test, train, valid):
    split, losses = read_split(yolo_data(tmp_path / "data", **splits), fraction, 0)
    assert (split.own, split.moved, split.kept_from_test) == (own, moved, from_test)
    assert not losses
    mine, theirs = sources(split.train), sources(split.valid)
    assert not mine & theirs
    assert ("t" in mine | theirs) == ("test" not in splits)
    if train is not None:
        assert (mine, theirs) == (train, valid)


def test_a_test_side_alone_is_not_trained_on(tmp_path):
    with pytest.raises(SimjudgeError, match="for judging, not for training"):
        read_split(yolo_data(tmp_path / "data", test=["a", "b"]), None, 0)


def test_one_folder_of_a_data_set_is_split(tmp_path):
    data = yolo_data(tmp_path / "data", train=TRAIN, valid=VALID)
    split, _ = read_split(data / "train", None, 0)
    assert not split.own
    assert sources([*split.train, *split.valid]) == {"a", "b", "t"}
