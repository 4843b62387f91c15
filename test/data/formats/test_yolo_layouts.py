"""YOLO's labels where other programs put them: beside the images, without a data.yaml, described by Darknet."""

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.data.sets import read_predictions, read_set, sniff_format

FIVE = "1 0.5 0.5 0.25 0.2"  # in 40 x 30 pixels: 15..25 x 12..18
SIX = FIVE + " 0.75"
PLACES = [
    ("a.jpg", "a.txt"),
    ("a.jpg", "labels/a.txt"),
    ("images/a.jpg", "labels/a.txt"),
    ("images/train/a.jpg", "labels/train/a.txt"),
    ("JPEGImages/a.jpg", "labels/a.txt"),
    ("pictures/a.jpg", "labels/a.txt"),
]


def write(root, image, place, text):
    image(root / place[0])
    (root / place[1]).parent.mkdir(parents=True, exist_ok=True)
    (root / place[1]).write_text(text)
    return root


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_rows_without_a_score_are_labels(tmp_path, image, caplog, place):
    root = write(tmp_path / "set", image, place, FIVE)
    assert sniff_format(root) == "yolo"
    frames = read_set(root)
    np.testing.assert_array_equal(frames.objects.box, [[15, 12, 25, 18]])
    assert frames.labelled.all()
    assert frames.predictions is None
    assert "rows without a score: taken for labels" in caplog.text


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_rows_with_a_score_are_a_detectors(tmp_path, image, caplog, place):
    root = write(tmp_path / "set", image, place, SIX)
    frames = read_set(root)
    assert len(frames.objects) == 0
    assert not frames.labelled.any()
    np.testing.assert_array_equal(frames.predictions.box, [[15, 12, 25, 18]])
    assert frames.predictions.score.tolist() == [0.75]
    assert "taken for a detector's predictions" in caplog.text


@pytest.mark.parametrize("place", PLACES[:2], ids=str)
def test_what_is_given_for_its_predictions_holds_predictions(tmp_path, image, place):
    """Ultralytics' save_txt writes five columns, and the drawn images beside them."""
    target = read_set(write(tmp_path / "set", image, PLACES[2], FIVE))
    found = read_predictions(write(tmp_path / "runs", image, place, FIVE), target)
    assert found.predictions.score.tolist() == [1.0]
    assert len(found.objects) == 1


def test_a_folder_within_a_path_called_images(tmp_path, image):
    root = write(tmp_path / "images/night", image, PLACES[0], FIVE)
    assert len(read_set(root).objects) == 1


def test_names_stand_beside_the_labels(tmp_path, image):
    root = write(tmp_path / "set", image, PLACES[0], FIVE)
    (root / "classes.txt").write_text("red\ngreen\n")
    assert read_set(root).class_names == {0: "red", 1: "green"}
    (root / "classes.txt").rename(root / "obj.names")
    assert read_set(root).class_names == {0: "red", 1: "green"}


DATA = """classes = 2
# a comment
train = data/train.txt
valid=data/valid.txt
names = data/obj.names
backup = backup/
"""


@pytest.fixture
def darknet(tmp_path, image):
    """Darknet's own layout: paths are relative to the folder that it is started in."""

    def write_set(text=DATA, names="red\ngreen\n"):
        root = tmp_path / "project"
        for stem in ("a", "b"):
            write(root, image, (f"data/obj/{stem}.jpg", f"data/obj/{stem}.txt"), FIVE)
        (root / "data/train.txt").write_text("data/obj/a.jpg\n")
        (root / "data/valid.txt").write_text("data/obj/b.jpg\n")
        (root / "data/obj.names").write_text(names)
        (root / "data/obj.data").write_text(text)
        return root / "data"

    return write_set


def test_darknet(darknet):
    folder = darknet()
    for path in (folder, folder / "obj.data"):
        assert sniff_format(path) == "yolo"
        frames = read_set(path)
        assert list(frames.frame_name) == ["a", "b"]
        assert frames.class_names == {0: "red", 1: "green"}
        np.testing.assert_array_equal(frames.objects.box, [[15, 12, 25, 18]] * 2)
        assert frames.labelled.all()


@pytest.mark.parametrize("slash", ["/", "\\"])
def test_yolo_of_cvat_whose_paths_begin_with_a_folder_that_is_not_there(tmp_path, image, slash):
    """CVAT's export "YOLO 1.1": obj.data, obj.names, train.txt and obj_train_data/ lie side by side."""
    for stem in ("a", "b"):
        write(tmp_path, image, (f"obj_train_data/{stem}.jpg", f"obj_train_data/{stem}.txt"), FIVE)
    rows = "data/obj_train_data/a.jpg\ndata/obj_train_data/b.jpg\n"
    (tmp_path / "train.txt").write_text(rows.replace("/", slash))
    (tmp_path / "obj.names").write_text("red\ngreen\n")
    data = "classes = 2\ntrain = data/train.txt\nnames = data/obj.names\nbackup = backup/\n"
    (tmp_path / "obj.data").write_text(data.replace("/", slash))
    for path in (tmp_path, tmp_path / "obj.data", tmp_path / "train.txt"):
        assert sniff_format(path) == "yolo"
        frames = read_set(path)
        assert list(frames.frame_name) == ["a", "b"]
        assert frames.class_names == {0: "red", 1: "green"}
        np.testing.assert_array_equal(frames.objects.box, [[15, 12, 25, 18]] * 2)
        assert not frames.losses


@pytest.mark.parametrize(
    ("text", "names", "message"),
    [
        (DATA.replace("2", "3"), "red\ngreen\n", "2 names for 3 classes"),
        (DATA.replace("data/train.txt", "data/trian.txt"), "red\ngreen\n", "train: data/trian.txt does not exist"),
        (DATA.replace("obj.names", "gone.names"), "red\ngreen\n", "names = data/gone.names: does not exist"),
        (DATA + "train = data/valid.txt\n", "red\ngreen\n", "obj.data:7: train stands there twice"),
    ],
)
def test_what_is_wrong_with_darknets(darknet, text, names, message):
    with pytest.raises(SimjudgeError) as caught:
        read_set(darknet(text, names) / "obj.data")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_list_of_images_is_a_set(tmp_path, image):
    root = write(tmp_path / "set", image, PLACES[2], FIVE)
    (root / "some.txt").write_text("images/a.jpg\nimages/gone.jpg\n")
    assert sniff_format(root / "some.txt") == "yolo"
    frames = read_set(root / "some.txt")
    assert len(frames.objects) == 1
    assert dict(frames.losses.counts) == {"listed images that do not exist": 1}


@pytest.mark.parametrize("folder", ["images/test", "test", "test/images"])
def test_a_folder_of_a_described_set_has_its_names_and_no_warning(tmp_path, image, caplog, folder):
    root = tmp_path / "s"
    images = folder if folder == "images/test" else "test/images"
    write(root, image, (f"{images}/a.jpg", f"{images.replace('images', 'labels')}/a.txt"), FIVE)
    (root / "data.yaml").write_text(f"test: {images}\nnames: [red, green]\n")
    frames = read_set(root / folder)
    assert frames.class_names == {0: "red", 1: "green"}
    assert len(frames.objects) == 1
    assert caplog.text == ""


def test_a_picture_that_two_splits_name_is_one_frame(tmp_path, image, caplog):
    for stem in ("a", "b", "c"):
        image(tmp_path / f"images/{stem}.png")
        (tmp_path / "labels").mkdir(exist_ok=True)
        (tmp_path / f"labels/{stem}.txt").write_text("0 0.5 0.5 0.25 0.2\n")
    (tmp_path / "train.txt").write_text("images/a.png\nimages/b.png\n")
    (tmp_path / "val.txt").write_text("./images/b.png\nimages/c.png\n")
    (tmp_path / "data.yaml").write_text("names: [cone]\ntrain: train.txt\nval: val.txt\n")
    frames = read_set(tmp_path)
    assert list(frames.frame_name) == ["a", "b", "c"]
    assert len(frames.objects) == 3
    assert "1 pictures stand in several splits, each is read once: b.png" in caplog.text
    (tmp_path / "data.yaml").write_text("names: [cone]\ntrain: [images, train.txt]\nval: images\n")
    assert len(read_set(tmp_path)) == 3
