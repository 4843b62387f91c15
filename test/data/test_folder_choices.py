"""`info` of a folder says what of it is taken, and what else there is."""

import json

import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.data.sets import read_set
from simjudge.questions.info import info

BOX = "0 .5 .5 .2 .2"


def test_a_folder_says_what_is_taken_and_what_else_there_is(yolo):
    root = yolo({"train": {"a": BOX}, "valid": {"b": BOX}})
    (root / "extra.json").write_text(json.dumps([{"size": [40, 30], "objects": []}]))
    (root / "empty").mkdir()
    taken, others = info(root).notes
    assert taken == "taken as YOLO, images in train/images, valid/images"
    assert others == (
        "other choices: data.yaml (YOLO), extra.json (Plain JSON), train (YOLO), valid (YOLO); name what is meant"
    )


def test_of_two_formats_in_one_folder_the_second_is_named(yolo):
    root = yolo({"train": {"a": BOX}})
    coco = {"images": [{"id": 1, "file_name": "train/images/a.jpg", "width": 40, "height": 30}], "annotations": []}
    (root / "annotations.json").write_text(json.dumps(coco))
    taken, others = info(root).notes
    assert taken == "taken as COCO, images in train/images"
    assert others.startswith("other choices: the folder as YOLO, annotations.json (COCO), ")


def test_a_folder_of_data_sets_names_them(yolo, tmp_path):
    yolo({"train": {"a": BOX}})
    with pytest.raises(SimjudgeError, match=r"simjudge knows; it holds set \(YOLO\): give one of them"):
        read_set(tmp_path)


def test_a_folder_with_nothing_else_has_one_note(tmp_path, image):
    image(tmp_path / "some/a.png")
    assert list(info(tmp_path / "some").notes) == ["taken as Images alone, images in ."]
