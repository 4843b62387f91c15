"""BDD100K: its old and its new forms, corners that are pixels of the box, flags, crowds and missing pictures."""

import json

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.data.formats.bdd100k import CLASSES
from simjudge.data.set_parts import convert
from simjudge.data.sets import read_set, sniff_format

CORNERS = {"x1": 3, "y1": 4, "x2": 12, "y2": 23}


def label(name="car", box=None, **more):
    flags = {"occluded": False, "truncated": False, "crowd": False, **more}
    return {"id": "0", "category": name, "attributes": flags, "box2d": dict(CORNERS) if box is None else box}


def frame(name, *labels):
    return {"name": f"{name}.jpg", "attributes": {"weather": "clear"}, "timestamp": 10000, "labels": list(labels)}


def new_list(rows):
    return rows


def new_object(rows):
    return {
        "frames": [row | {"videoName": "v"} for row in rows],
        "config": {"imageSize": {"width": 40, "height": 30}, "categories": [{"name": "car"}]},
    }


@pytest.fixture
def root(tmp_path, image):
    """The layout of the data set: labels in `place`, pictures in images/100k/SPLIT/."""

    def write(files, place="labels/det_20", pictures=("a", "b"), split="val"):
        for stem in pictures:
            image(tmp_path / "bdd/images/100k" / split / f"{stem}.jpg")
        for name, content in files.items():
            file = tmp_path / "bdd" / place / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(content))
        return tmp_path / "bdd"

    return write


def old_picture(name, *objects):
    return {"name": name, "attributes": {}, "frames": [{"timestamp": 10000, "objects": list(objects)}]}


FORMS = [
    ({"det_val.json": new_list([frame("a", label()), frame("b")])}, "labels/det_20"),
    ({"det_val.json": new_object([frame("a", label()), frame("b")])}, "labels/det_20"),
    ({"bdd100k_labels_images_val.json": new_list([frame("a", label()), frame("b")])}, "labels"),
    ({"a.json": old_picture("a", label()), "b.json": old_picture("b")}, "labels/100k/val"),
]


@pytest.mark.parametrize(("files", "place"), FORMS)
def test_both_corners_are_pixels_of_the_box(root, files, place, tmp_path):
    painted = np.zeros((30, 40), bool)
    painted[4 : 23 + 1, 3 : 12 + 1] = True
    path = root(files, place)
    assert sniff_format(path) == "bdd100k"
    frames = read_set(path)
    x0, y0, x1, y1 = (int(side) for side in frames.objects.box[0])
    assert painted[y0:y1, x0:x1].all()
    assert painted.sum() == (x1 - x0) * (y1 - y0) == 200
    assert [frames.class_names[i] for i in frames.objects.class_id] == ["car"]
    assert frames.class_names == dict(enumerate(CLASSES))
    assert list(frames.frame_name) == ["a", "b"]
    assert list(frames.recording) == ["v", "v"] * ("config" in str(files))
    assert frames.labelled.all()
    assert frames.images.has(0)
    assert not frames.losses
    convert(path, tmp_path / "out", to="coco")
    assert np.allclose(read_set(tmp_path / "out").objects.box, frames.objects.box)
    for name in files:
        one = read_set(path / place / name)
        assert len(one) == (1 if place.endswith("val") else 2)


def test_labels_and_pictures_in_folders_below_are_read_or_counted(root, image):
    place = root({"day/a.json": [frame("a", label())], "night/1/b.json": [frame("b", label())]}, pictures=("a",))
    image(place / "images/100k/val/night/b.jpg")
    image(place / "images/100k/train/c.jpg")
    frames = read_set(place)
    assert (sorted(frames.frame_name), len(frames.objects), frames.images.has(1)) == (["a", "b"], 2, True)
    assert frames.losses.counts == {"images that nothing names (left aside)": 1}


def test_what_is_left_out_is_counted(root):
    rows = [
        frame(
            "a",
            label(crowd=True),
            label(ignored=True),
            label(occluded=True),
            label("tuk-tuk", truncated=True),
            label(box={"x1": 1}),
            {"category": "lane", "poly2d": []},
            label(""),
            7,
        ),
        frame("b"),
        frame("c", label()),
        {"name": 3},
        frame("b"),
    ]
    frames = read_set(root({"det_val.json": rows}))
    assert list(frames.frame_name) == ["a", "b", "c"]
    assert frames.size.tolist() == [[40, 30], [40, 30], [1280, 720]]
    assert [frames.class_names[i] for i in frames.objects.class_id] == ["car", "tuk-tuk", "car"]
    assert frames.class_names[len(CLASSES)] == "tuk-tuk"
    assert dict(frames.losses.counts) == {
        "regions of a crowd or to be ignored": 2,
        "flags such as occluded, truncated or difficult (their boxes are kept)": 2,
        "malformed rows": 3,
        "shapes that are neither box, polygon nor mask": 1,
        "malformed frames": 1,
        "images with the same name as another": 1,
        "images that are named but missing (their labels are kept)": 1,
    }


def test_damage_is_one_clear_line(root):
    path = root({"a.json": old_picture("a"), "b.json": {"name": "b"}}, "labels/100k/val")
    with pytest.raises(SimjudgeError, match=r"b\.json: no labels of BDD100K"):
        read_set(path)
    (path / "labels/100k/val/b.json").write_text('{"name": "b", "frames": [')
    with pytest.raises(SimjudgeError, match=r"b\.json:1: not valid JSON"):
        read_set(path)
