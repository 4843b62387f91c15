"""What a data set names must be there, and what it names twice is refused: the last one must not win in silence."""

import copy
import json

import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.data.sets import read_set

BOX = "0 .5 .5 .2 .2"
COCO = {
    "images": [{"id": 1, "file_name": "a.jpg", "width": 40, "height": 30}],
    "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 10, 20]}],
    "categories": [{"id": 1, "name": "red"}],
}
JSON = {"class_names": {"1": "red"}, "frames": [{"name": "a", "size": [40, 30], "objects": []}]}
CVAT = (
    "<annotations><meta><task><labels>{labels}</labels></task></meta>"
    '<image id="0" name="a.jpg" width="40" height="30">{shapes}</image>{more}</annotations>'
)
LABEL = "<label><name>{0}</name><class_id>{1}</class_id></label>"
SHAPE = '<box label="red" xtl="1" ytl="2" xbr="11" ybr="22"/>'


def refusal(path):
    with pytest.raises(SimjudgeError) as caught:
        read_set(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("yaml", "message"),
    [
        ("names: [red, green]\ntrain: train/images\nval: vali/images\n", "val: vali/images does not exist"),
        (
            "names: [red]\ntrain: train/images\ntest: ../test/images\n",
            "data.yaml: test: ../test/images does not exist; correct the path or remove the line",
        ),
        ("names: [red, green]\ntrain: trian\n", "train: trian does not exist; is train meant?"),
        ("names: [red, green]\ntrain: [train/images, gone]\n", "train: gone does not exist"),
        ("names: [red, green]\ntrain: 5\n", "train: 5 is not a path"),
        ("names: [red, green]\ntrain: train/images\ntrain: valid/images\n", "data.yaml:3: not valid YAML (train "),
        ("names: {0: red, 0: green}\ntrain: train/images\n", "0 stands there twice"),
        ("names: {0: red, '0': green}\ntrain: train/images\n", "0 stands there twice"),
        ("names: {0: red, 0.0: green}\ntrain: train/images\n", "two fields are the same number"),
        ("names: {0: red, 1.7: green}\ntrain: train/images\n", "class id 1.7 is not a whole number"),
        ("names: {0: red, true: green}\ntrain: train/images\n", "class id True is not a whole number"),
        ("names: [red, no]\ntrain: train/images\n", "the name of class 1 is False, no text; put it in quotes"),
        ("names: [red, [green]]\ntrain: train/images\n", "the name of class 1 is ['green'], no text"),
        ("names: [red, green]\nnc: 3\ntrain: train/images\n", "2 names for 3 classes"),
        ("names: [Traffic Cone, traffic_cone]\ntrain: train/images\n", "classes 0 and 1 have one name"),
    ],
)
def test_yolo(yolo, yaml, message):
    assert message in refusal(yolo({"train": {"a": BOX, "b": "1 .5 .5 .2 .2"}, "valid": {"c": BOX}}, yaml))


def test_a_second_name_that_no_object_has_may_go(yolo):
    frames = read_set(yolo({"train": {"a": "1 .5 .5 .2 .2"}}, "names: [cone, Cone]\ntrain: train/images\n"))
    assert frames.class_names == {1: "Cone"}
    assert not frames.losses


def coco(change):
    content = copy.deepcopy(COCO)
    change(content)
    return content


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c["categories"].append({"id": 1, "name": "green"}), "class id 1 stands twice, as red and as green"),
        (lambda c: c["categories"].append({"id": 1.7, "name": "green"}), "class id 1.7 is not a whole number"),
        (lambda c: c["categories"].append({"id": True, "name": "green"}), "class id True is not a whole number"),
        (lambda c: c["categories"].append({"id": -1, "name": "green"}), "class id -1 is not a whole number"),
        (lambda c: c["categories"].append({"id": 2, "name": None}), "the name of class 2 is None, no text"),
        (lambda c: c["images"].append(c["images"][0] | {"file_name": "b.jpg"}), "images 0 and 1 both have the id 1"),
        (lambda c: c["images"].append(c["images"][0] | {"id": 1.0}), "images 0 and 1 both have the id 1.0"),
        (lambda c: c["annotations"].append(c["annotations"][0]), "annotations 0 and 1 both have the id 1"),
    ],
)
def test_coco(tmp_path, change, message):
    (tmp_path / "annotations.json").write_text(json.dumps(coco(change)))
    assert message in refusal(tmp_path)


@pytest.mark.parametrize(
    "image",
    [
        {"id": 2, "file_name": "b.jpg", "width": 40.5, "height": 30},
        {"id": 2, "file_name": 7, "width": 40, "height": 30},
        {"id": 2, "file_name": "", "width": 40, "height": 30},
        {"id": [2], "file_name": "b.jpg", "width": 40, "height": 30},
        {"file_name": "b.jpg", "width": 40, "height": 30},
    ],
)
def test_coco_images_without_a_whole_number_or_a_name(tmp_path, image):
    (tmp_path / "annotations.json").write_text(json.dumps(coco(lambda c: c["images"].append(image))))
    frames = read_set(tmp_path)
    assert list(frames.frame_name) == ["a"]
    assert dict(frames.losses.counts) == {"images without id, name or size": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (json.dumps(JSON).replace('"size"', '"name": "b", "size"'), "the field name stands twice in one object"),
        (json.dumps(JSON).replace('"1": "red"', '"1": "red", "1": "green"'), "the field 1 stands twice"),
        (json.dumps(JSON).replace('"1": "red"', '"1": "red", "01": "green"'), "class id 1 stands twice"),
        (json.dumps(JSON).replace('"1": "red"', '"1.7": "red"'), "class id 1.7 is not a whole number"),
        (json.dumps(JSON).replace('"red"', "null"), "the name of class 1 is None, no text"),
        (json.dumps(JSON | {"frames": JSON["frames"] * 2}), "two frames are called a"),
        (json.dumps(COCO).replace('"id": 1,', '"id": 1, "id": 2,'), "the field id stands twice in one object"),
    ],
)
def test_json(tmp_path, text, message):
    (tmp_path / "set.json").write_text(text)
    assert message in refusal(tmp_path / "set.json")


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        ({"class": 1, "box": [1, 2, 11, 22], "instance": 1.7}, "malformed rows"),
        ({"class": 1, "box": [1, 2, 11, 22], "instance": True}, "malformed rows"),
        ({"class": 1.7, "box": [1, 2, 11, 22]}, "class ids that are not a whole number from 0 to 2147483647"),
        ({"class": True, "box": [1, 2, 11, 22]}, "class ids that are not a whole number from 0 to 2147483647"),
    ],
)
def test_json_numbers_that_are_not_whole(tmp_path, row, kind):
    (tmp_path / "set.json").write_text(json.dumps([{"size": [40, 30], "objects": [row]}]))
    frames = read_set(tmp_path / "set.json")
    assert dict(frames.losses.counts) == {kind: 1}
    assert len(frames.objects) == 0


@pytest.mark.parametrize(
    ("labels", "shapes", "more", "message"),
    [
        (LABEL.format("red", 1), SHAPE, '<image id="1" name="a.jpg" width="40" height="30"/>', "both called a.jpg"),
        (LABEL.format("red", 1), SHAPE, '<image id="1" width="40" height="30"/>', "image 1 (id 1) has no name"),
        (LABEL.format("red", 1), SHAPE, '<image id="1" name="" width="40" height="30"/>', "image 1 (id 1) has no name"),
        (LABEL.format("red", 1) + LABEL.format("green", 1), SHAPE, "", "class id 1 stands twice, as red and as green"),
        (LABEL.format("red", 1) + LABEL.format("red", 2), SHAPE, "", "two labels are called red"),
        (LABEL.format("red", 1.7), SHAPE, "", "class id 1.7 is not a whole number"),
    ],
)
def test_cvat(tmp_path, labels, shapes, more, message):
    (tmp_path / "annotations.xml").write_text(CVAT.format(labels=labels, shapes=shapes, more=more))
    assert message in refusal(tmp_path)


def test_a_cvat_shape_without_a_label_is_not_of_a_class_called_none(tmp_path):
    text = CVAT.format(labels=LABEL.format("None", 1), shapes=SHAPE.replace('label="red"', ""), more="")
    (tmp_path / "annotations.xml").write_text(text)
    frames = read_set(tmp_path)
    assert len(frames.objects) == 0
    assert dict(frames.losses.counts) == {"class ids without a name": 1}


@pytest.mark.parametrize(
    "content",
    [
        {"frames": [{"name": "a", "size": [40, 30], "stamp": 1}] * 2},
        {"frames": [{"name": "a", "size": [40, 30], "stamp": 1}], "class_ids": [3, 3]},
    ],
)
def test_sidecar(yolo, content):
    root = yolo({"train": {"a": BOX}})
    (root / "simjudge.json").write_text(json.dumps(content))
    assert "simjudge.json: a frame or a class id that stands twice" in refusal(root)
