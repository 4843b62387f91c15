"""Labels that nobody reads are said, and pictures alone are not taken for all there is."""

import json

import pytest

import simjudge as sj
from simjudge.data.sets import read_set

STUDIO = [{"id": 1, "data": {"image": "a.jpg"}, "annotations": [{"result": []}]}]
DOTA = "imagesource:x\ngsd:1\n1 1 9 1 9 9 1 9 car 0\n"


@pytest.fixture
def pictures(tmp_path, image):
    for stem in ("a", "b"):
        image(tmp_path / "set" / "images" / f"{stem}.jpg")
    return tmp_path / "set"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("labelTxt/a.txt", DOTA, "a.txt and others are named as the images, labels of DOTA, which simjudge does not"),
        ("labelTxt-v1.0/b.txt", DOTA, "labels of DOTA"),
        ("json/a.json", '{"version": 1}', "json: a.json and others are named as the images"),
        ("csv/b.csv", "1,2,3", "b.csv and others are named as the images"),
        ("project.json", json.dumps(STUDIO), "project.json: labels of Label Studio (it exports COCO and YOLO, too)"),
        ("all.json", '{"labels": []}', "all.json: labels of a format, which simjudge does not read; left aside"),
    ],
)
def test_labels_beside_images_that_are_not_read_are_said(pictures, caplog, name, text, said):
    (pictures / name).parent.mkdir(exist_ok=True)
    (pictures / name).write_text(text)
    for path in (pictures, pictures / "images"):
        caplog.clear()
        assert len(read_set(path)) == 2
        assert said in caplog.text


@pytest.mark.parametrize("name", ["readme.txt", "notes/list.txt", "package.json"])
def test_other_files_beside_images_are_no_matter(pictures, caplog, name):
    (pictures / name).parent.mkdir(exist_ok=True)
    (pictures / name).write_text("{}")
    read_set(pictures)
    assert not caplog.text


def test_a_project_of_label_studio_is_named(tmp_path):
    (tmp_path / "project.json").write_text(json.dumps(STUDIO))
    with pytest.raises(sj.SimjudgeError, match=r"project.json: labels of Label Studio .it exports COCO and YOLO, too"):
        sj.read(tmp_path / "project.json")
