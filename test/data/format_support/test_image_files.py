"""Where pictures may lie, and labels beside them that are in no known format."""

import json

import pytest

import simjudge as sj
from simjudge.core.errors import SimjudgeError
from simjudge.data.sets import read_predictions, read_set

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
        (
            "json/a.json",
            '{"version": 1}',
            "json: a.json and others are named as the images, perhaps their labels; left aside",
        ),
        ("csv/b.csv", "1,2,3", "b.csv and others are named as the images"),
        ("project.json", json.dumps(STUDIO), "project.json: labels of Label Studio (it exports COCO and YOLO, too)"),
        (
            "all.json",
            '{"labels": []}',
            "all.json: labels of an unknown format, which simjudge does not read; left aside",
        ),
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


COCO = {"annotations": [], "categories": []}


def plain(root, picture):
    (root / "set.json").write_text(json.dumps([{"size": [40, 30], "objects": [], "image": str(picture)}]))
    return root / "set.json"


def coco(root, picture):
    images = [{"id": 1, "file_name": str(picture), "width": 40, "height": 30}]
    (root / "annotations.json").write_text(json.dumps(COCO | {"images": images}))
    return root


def coco_in_annotations(root, picture):
    images = [{"id": 1, "file_name": str(picture), "width": 40, "height": 30}]
    (root / "annotations").mkdir()
    (root / "annotations/val.json").write_text(json.dumps(COCO | {"images": images}))
    return root / "annotations/val.json"


def cvat(root, picture):
    image = f'<image id="0" name="{picture}" width="40" height="30"/>'
    (root / "annotations.xml").write_text(f"<annotations>{image}</annotations>")
    return root


def yolo_list(root, picture):
    (root / "train.txt").write_text(f"{picture}\n")
    (root / "data.yaml").write_text("train: train.txt\nnames: [red]\n")
    return root


def yolo_folder(root, picture):
    (root / "data.yaml").write_text(f"train: {picture.parent}\nnames: [red]\n")
    return root


NAMED = [plain, coco, coco_in_annotations, cvat, yolo_list, yolo_folder]


def linked(folder, name):
    def write(root, picture):
        (root / folder).mkdir(parents=True)
        (root / name).mkdir(exist_ok=True)
        (root / folder / "a.png").symlink_to(picture)
        if name == "labels":
            (root / name / "a.txt").write_text("0 .5 .5 .2 .2")
        return root

    return write


def linked_folder(root, picture):
    (root / "images").symlink_to(picture.parent)
    return root


LINKED = [linked("images", "labels"), linked("imgs", "labels"), linked("images", "nothing"), linked_folder]


@pytest.mark.parametrize("write", NAMED + LINKED)
def test_a_picture_elsewhere_is_refused_unless_it_is_allowed(tmp_path, image, write):
    root = tmp_path / "set"
    root.mkdir()
    path = write(root, image(tmp_path / "private" / "a.png"))
    with pytest.raises(SimjudgeError, match=r"private/a.png lies outside of .*set; .*--allow-outside") as refused:
        read_set(path)
    assert "\n" not in str(refused.value)
    frames = read_set(path, allow_outside=True)
    assert frames.images.read(0).shape == (30, 40, 3)
    with pytest.raises(SimjudgeError, match=r"lies outside of|holds no predictions"):
        read_predictions(path, frames)


@pytest.mark.parametrize("write", NAMED[:4])
def test_steps_upward_do_not_help(tmp_path, image, write):
    root = tmp_path / "set"
    root.mkdir()
    image(tmp_path / "private" / "a.png")
    steps = "../../private/a.png" if write is coco_in_annotations else "../private/a.png"
    with pytest.raises(SimjudgeError, match="lies outside of"):
        read_set(write(root, steps))


@pytest.mark.parametrize("write", [plain, coco, cvat])
def test_what_is_no_picture_is_none(tmp_path, write):
    secret = tmp_path / "passwd"
    secret.write_text("root:x:0:0")
    root = tmp_path / "set"
    root.mkdir()
    with pytest.raises(SimjudgeError, match=r"no usable .*left out: 1 unreadable image: .*passwd: not a readable"):
        read_set(write(root, secret), allow_outside=True)


def test_a_set_behind_a_link_is_a_set(tmp_path, image):
    path = plain(tmp_path, "a.png")
    image(tmp_path / "a.png")
    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
    assert len(read_set(tmp_path / "link" / path.name)) == 1
    image(tmp_path / "folder" / "b.png")
    (tmp_path / "second").symlink_to(tmp_path / "folder")
    assert len(read_set(tmp_path / "second")) == 1
