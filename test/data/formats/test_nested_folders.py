"""Pictures in folders below those of a format: read as trainers read them, or counted; names in any form of Unicode."""

import json
import unicodedata

import pytest

from simjudge.data.sets import read_clouds, read_predictions, read_set

ROW = "0 0.5 0.5 0.2 0.2\n"
YAML = "train: images/train\nval: images/train\nnames: [cone]\n"
SIDES = "".join(f"<{side}>{number}</{side}>" for side, number in {"xmin": 2, "ymin": 2, "xmax": 9, "ymax": 9}.items())
VOC = f"<annotation><object><name>cone</name><bndbox>{SIDES}</bndbox></object></annotation>"
NO_LABELS = "images in folders below that hold no labels (left aside)"
BELOW = "images in folders below (left aside)"
SPLITS = "images in folders that are not called train, valid, val, test (left aside)"


def write_texts(root, texts):
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


@pytest.mark.parametrize(
    ("pictures", "texts", "names", "losses"),
    [
        ("images/train/a images/train/day/b", {"data.yaml": YAML}, ["a", "b"], {}),
        ("images/train/a images/train/day/b", {}, ["a", "b"], {}),
        ("images/train/day/a images/train/day/2/b", {"data.yaml": YAML}, ["b", "a"], {}),
        ("images/a images/val/b images/train/c images/more/d", {}, ["a", "c", "b", "d"], {}),
        ("images/train/a images/train/day/a", {"data.yaml": YAML}, ["train_a", "train_day_a"], {}),
        ("images/a images/day/a images/day_a", {"data.yaml": "names: [cone]\n"}, ["a", "day_a", "images_day_a"], {}),
        ("train/images/a train/images/day/b extra/images/c", {}, ["a", "b"], {SPLITS: 1}),
        (
            "images/a",
            {"labels/day/b.txt": ROW, "data.yaml": "names: [cone]\n"},
            ["a"],
            {"label files without an image": 1},
        ),
    ],
)
def test_yolo_reads_folders_below_a_split(tmp_path, image, pictures, texts, names, losses):
    for picture in pictures.split():
        image(tmp_path / f"{picture}.png")
        write_texts(tmp_path, {f"{picture.replace('images', 'labels')}.txt": ROW})
    write_texts(tmp_path, texts)
    frames = read_set(tmp_path)
    assert sorted(frames.frame_name) == sorted(names)
    assert len(frames.objects) == len(names)
    assert dict(frames.losses.counts) == losses


def test_yolo_predictions_find_pictures_of_one_name_in_several_folders(tmp_path, image):
    for folder in ("day", "night"):
        image(tmp_path / f"set/images/{folder}/a.png")
        write_texts(tmp_path, {f"found/labels/{folder}/a.txt": "0 0.5 0.5 0.2 0.2 0.75\n"})
    write_texts(tmp_path, {"set/data.yaml": "train: images\nnames: [cone]\n"})
    found = read_predictions(tmp_path / "found", read_set(tmp_path / "set"))
    assert found.predicted.all()
    assert found.predictions.frame.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("pictures", "texts", "losses"),
    [
        ("a masks/a", {"a.txt": ROW}, {NO_LABELS: 1}),
        ("a more/b more/c", {}, {BELOW: 2}),
        ("imgs/a imgs/more/b", {"labels/a.txt": ROW}, {BELOW: 1}),
        (
            "a more/b",
            {"a.json": json.dumps({"shapes": [], "imagePath": "a.png"})},
            {"images that nothing names (left aside)": 1},
        ),
        ("a more/b", {"a.xml": VOC}, {BELOW: 1}),
        ("leftImg8bit/train/x/a_leftImg8bit leftImg8bit/b", {}, {"images that lie in no SPLIT/CITY (left aside)": 1}),
    ],
)
def test_pictures_in_folders_that_a_format_does_not_have_are_counted(tmp_path, image, pictures, texts, losses):
    for picture in pictures.split():
        image(tmp_path / f"{picture}.png")
    write_texts(tmp_path, texts)
    frames = read_set(tmp_path)
    assert len(frames) == 1
    assert dict(frames.losses.counts) == losses


def test_clouds_in_folders_below_are_counted(tmp_path):
    write_texts(tmp_path, {"1.pcd": "", "more/2.pcd": "", "more/3.pcd": ""})
    assert dict(read_clouds(tmp_path).losses.counts) == {"clouds in folders below (left aside)": 2}


def test_voc_and_cvat_read_folders_below(tmp_path, image):
    for picture in (
        "voc/JPEGImages/a",
        "voc/JPEGImages/day/a",
        "voc/JPEGImages/day/b",
        "cvat/images/a",
        "cvat/images/day/b",
    ):
        image(tmp_path / f"{picture}.png")
    write_texts(tmp_path, {f"voc/Annotations/{name}.xml": VOC for name in ("a", "day/a", "day/b")})
    voc = read_set(tmp_path / "voc")
    assert list(voc.frame_name) == ["a", "day_a", "b"]
    assert len(voc.objects) == 3
    write_texts(
        tmp_path, {"cvat/annotations.xml": '<annotations><image name="a.png" width="40" height="30"/></annotations>'}
    )
    cvat = read_set(tmp_path / "cvat")
    assert list(cvat.frame_name) == ["a", "b"]
    assert cvat.labelled.tolist() == [True, False]


FORMS = [("NFD", "NFC"), ("NFC", "NFD")]
COCO = {
    "images": [{"id": 1, "file_name": "NAME.png", "width": 40, "height": 30}],
    "annotations": [{"id": 1, "image_id": 1, "category_id": 0, "bbox": [1, 1, 5, 5]}],
    "categories": [{"id": 0, "name": "cone"}],
}
CVAT = (
    "<annotations><image name='NAME.png' width='40' height='30'>"
    "<box label='cone' xtl='1' ytl='1' xbr='6' ybr='6'/></image></annotations>"
)
LABELME = {"imagePath": "NAME.png", "shapes": [{"label": "c", "points": [[1, 1], [6, 6]], "shape_type": "rectangle"}]}
PLAIN = [{"name": "NAME", "image": "NAME.png", "size": [40, 30], "objects": [{"class": 0, "box": [1, 1, 6, 6]}]}]


@pytest.mark.parametrize(("of_picture", "of_label"), FORMS)
@pytest.mark.parametrize(
    ("picture", "place", "text", "given"),
    [
        ("images/", "labels/NAME.txt", ROW, ""),
        ("imgs/", "labels/NAME.txt", ROW, ""),
        ("JPEGImages/", "Annotations/NAME.xml", VOC, ""),
        ("images/", "annotations.json", json.dumps(COCO, ensure_ascii=False), ""),
        ("images/", "annotations.xml", CVAT, ""),
        ("", "NAME.json", json.dumps(LABELME, ensure_ascii=False), ""),
        ("", "set.json", json.dumps(PLAIN, ensure_ascii=False), "set.json"),
    ],
)
def test_a_picture_and_its_label_may_be_named_in_two_forms_of_unicode(
    tmp_path, image, of_picture, of_label, picture, place, text, given
):
    """As files that macOS has copied: the accent apart from its letter in one of them."""
    name, other = (unicodedata.normalize(form, "café_1") for form in (of_picture, of_label))
    image(tmp_path / f"{picture}{name}.png")
    write_texts(tmp_path, {place.replace("NAME", other): text.replace("NAME", other)})
    frames = read_set(tmp_path / given)
    assert list(frames.frame_name) == [unicodedata.normalize("NFC", "café_1")]
    assert frames.images.has(0)
    assert len(frames.objects) == 1
    assert not frames.losses


def test_two_pictures_of_one_name_in_two_forms_are_said(tmp_path, image):
    for form in ("NFC", "NFD"):
        image(tmp_path / f"images/{unicodedata.normalize(form, 'é')}.png")
    write_texts(tmp_path, {f"labels/{unicodedata.normalize('NFD', 'é')}.txt": ROW})
    assert dict(read_set(tmp_path).losses.counts) == {"images with the same name as another": 1}


@pytest.mark.parametrize(
    ("scans", "pictures", "held"),
    [
        ("velodyne_points/data", "image_02/data", 1),
        ("velodyne_points/data", "image_02", 1),
        ("velodyne", "image_02/data", 1),
        ("velodyne_points/data", "image_00/data", 0),
        ("velodyne", "image_left", 0),
    ],
)
def test_pictures_beside_scans_of_kitti_are_read_or_counted(tmp_path, image, scans, pictures, held):
    (tmp_path / scans).mkdir(parents=True)
    (tmp_path / scans / "0000000001.bin").write_bytes(bytes(16))
    image(tmp_path / pictures / "0000000001.png")
    clouds = read_clouds(tmp_path)
    assert (0 if clouds.frames is None else len(clouds.frames)) == held
    assert clouds.losses.counts["images of other cameras than the one taken (left aside)"] == 1 - held
