"""YOLO folders as other programs write them, and what is wrong with them."""

import numpy as np
import pytest
import yaml

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects
from simjudge.data.formats.yolo import (
    is_prediction_folder,
    is_yolo,
    read_prediction_folder,
    read_yolo,
    write_yolo,
)
from simjudge.data.sets import read_predictions

BOX = "1 0.5 0.5 0.25 0.2"  # in 40 x 30 pixels: 15..25 x 12..18


def counts(frames):
    return dict(frames.losses.counts)


def test_boxes_are_pixels(yolo):
    frames = read_yolo(yolo({"train": {"a": BOX}}))
    np.testing.assert_array_equal(frames.objects.box, [[15, 12, 25, 18]])
    assert frames.objects.class_id.tolist() == [1]
    assert frames.size.tolist() == [[40, 30]]
    assert frames.class_names == {0: "red", 1: "green"}
    assert frames.predictions is None
    assert frames.objects.masks is None


@pytest.mark.parametrize(
    "text",
    [
        "names: [red, green]\ntrain: ../train/images\nval: ../valid/images\n",  # Roboflow
        "names: {0: red, 1: green}\ntrain: train/images\nval: valid/images\n",  # ultralytics
        "names:\n  0: red\n  1: green\npath: .\ntrain: train\nval: valid\n",  # the folder above images/
        "names: [red, green]\ntrain: [train/images, valid/images]\n",  # a list of folders
        "\ufeffnames: [red, green]\r\ntrain: ./train/images\r\nvalid: ./valid/images\r\n",  # BOM, CRLF
        "names: [red, green]\nnc: 2\n",  # no paths at all: found by looking
        "names: [red, green]\npath: ../datasets/elsewhere\ntrain: train/images\nval: valid/images\n",  # moved away
        "names: [red, green]\ntrain: train\\images\nval: .\\valid\\images\n",  # Windows
        "names: [red, green]\ntrain: ..\\train\\images\nval: valid\\images\n",
    ],
)
def test_descriptions(yolo, text):
    root = yolo({"train": {"a": BOX}, "valid": {"b": BOX}}, text)
    for path in (root, root / "data.yaml"):
        assert is_yolo(path)
        frames = read_yolo(path)
        assert sorted(frames.frame_name) == ["a", "b"]
        assert frames.class_names == {0: "red", 1: "green"}
        assert frames.name == "set"


def test_one_split_takes_its_names_from_above(yolo):
    root = yolo({"train": {"a": BOX}, "test": {"b": BOX}})
    frames = read_yolo(root / "test")
    assert list(frames.frame_name) == ["b"]
    assert frames.class_names == {0: "red", 1: "green"}


def test_folders_of_images_and_lists_of_them(tmp_path, image):
    for kind in ("train", "val"):
        image(tmp_path / f"images/{kind}/{kind}1.png")
        (tmp_path / f"labels/{kind}").mkdir(parents=True)
        (tmp_path / f"labels/{kind}/{kind}1.txt").write_text(BOX)
    assert len(read_yolo(tmp_path).objects) == 2
    assert len(read_yolo(tmp_path / "images" / "val").objects) == 1
    (tmp_path / "list.txt").write_text("images/train/train1.png\n\nimages/val/gone.png\n")
    (tmp_path / "data.yaml").write_text("names: [a, b]\ntrain: list.txt\n")
    frames = read_yolo(tmp_path)
    assert list(frames.frame_name) == ["train1"]
    assert counts(frames) == {"listed images that do not exist": 1}


def test_same_name_in_two_splits(yolo):
    frames = read_yolo(yolo({"train": {"a": BOX, "b": ""}, "test": {"a": ""}}))
    assert list(frames.frame_name) == ["train_a", "b", "test_a"]


@pytest.mark.parametrize(
    ("text", "lost", "kept"),
    [
        ("", {}, 0),
        ("\r\n\n", {}, 0),
        (BOX.encode() + b"\r\n" + BOX.encode(), {"labels that stand twice": 1}, 1),
        (b"\xef\xbb\xbf" + BOX.encode(), {}, 1),
        ("1.0 .5 .5 .2 .2", {}, 1),
        ("0 0 0.5 0.2 0.2", {}, 1),  # over the edge
        ("0 .5 .5 .2", {"malformed rows": 1}, 0),
        ("0 .5 .5 .2 .2 .9", {"malformed rows": 1}, 0),  # a prediction among labels
        ("red .5 .5 .2 .2\n" + BOX, {"malformed rows": 1}, 1),
        ("0 .5 .5 .2 O.2", {"malformed rows": 1}, 0),
        (b"\xff\xfe\x00", {"malformed rows": 1}, 0),
        ("0 nan .5 .2 .2", {"boxes with NaN or infinite coordinates": 1}, 0),
        ("0 .5 .5 inf .2", {"boxes with NaN or infinite coordinates": 1}, 0),
        ("0 .5 .5 1e9 .2", {"boxes with coordinates beyond a billion pixels": 1}, 0),
        ("0 .5 .5 -.2 .2", {"inverted boxes": 1}, 0),
        ("0 .5 .5 0 .2", {"boxes with zero area": 1}, 0),
        ("0 1.5 .5 .2 .2", {"boxes outside the image": 1}, 0),
        ("0 150 120 40 30", {"boxes outside the image": 1}, 0),  # pixels, not shares
        ("2 .5 .5 .2 .2", {"class ids without a name": 1}, 0),
        ("-1 .5 .5 .2 .2", {"class ids that are not a whole number from 0 to 2147483647": 1}, 0),
        ("0.5 .5 .5 .2 .2", {"class ids that are not a whole number from 0 to 2147483647": 1}, 0),
        ("nan .5 .5 .2 .2", {"class ids that are not a whole number from 0 to 2147483647": 1}, 0),
        ("0 .1 nan .5 .1 .9 .9", {"boxes with NaN or infinite coordinates": 1}, 0),
    ],
)
def test_rows(yolo, text, lost, kept):
    frames = read_yolo(yolo({"train": {"a": text}}))
    assert counts(frames) == lost
    assert len(frames.objects) == kept
    assert frames.labelled.tolist() == [True]


def test_losses_name_file_row_and_value(yolo):
    frames = read_yolo(yolo({"train": {"a": f"{BOX}\n\n0 .5 .5 0 .2"}}))
    (line,) = frames.losses.lines()
    assert line.startswith("1 box with zero area: ")
    assert line.endswith("a.txt:3 ([20.0, 12.0, 20.0, 18.0])")


def test_many_losses_are_all_counted_and_few_named(yolo):
    frames = read_yolo(yolo({"train": {"a": "".join(f"0 .5 .{i} 0 .2\n" for i in range(11, 23))}}))
    (line,) = frames.losses.lines()
    assert line.startswith("12 boxes with zero area")
    assert line.endswith("(and 7 more)")


def test_polygons_are_masks(yolo):
    square = "0 .25 .2 .5 .2 .5 .6 .25 .6"  # 10..20 x 6..18
    frames = read_yolo(yolo({"train": {"a": f"{square}\n{BOX}"}}))
    np.testing.assert_array_equal(frames.objects.box, [[10, 6, 20, 18], [15, 12, 25, 18]])
    expected = np.zeros((30, 40), bool)
    expected[6:18, 10:20] = True
    np.testing.assert_array_equal(frames.objects.masks.to_image(0, 40, 30), expected)
    assert not frames.objects.masks.has(1)


def test_outlines_over_the_edge_have_the_box_that_the_picture_shows(yolo):
    """Drawn beyond the edge by hand, as annotation tools allow: on 40x30, x 32 to 88, and x -4 to 12."""
    frames = read_yolo(yolo({"train": {"a": "0 .8 .2 2.2 .2 2.2 .6 .8 .6\n0 -.1 .2 .3 .2 .3 .6 -.1 .6"}}))
    np.testing.assert_array_equal(frames.objects.box, [[32, 6, 40, 18], [0, 6, 12, 18]])
    assert [int(frames.objects.masks.to_image(i, 40, 30).sum()) for i in range(2)] == [8 * 12, 12 * 12]


def test_label_files_and_images_that_do_not_belong_together(yolo):
    root = yolo({"train": {"a": BOX, "b": None, "c": BOX}})
    (root / "train/images/c.jpg").unlink()
    (root / "train/labels/classes.txt").write_text("red\ngreen\n")
    frames = read_yolo(root)
    assert list(frames.frame_name) == ["a", "b"]
    assert frames.labelled.tolist() == [True, False]
    assert counts(frames) == {"label files without an image": 1, "images without a label file": 1}


def test_without_any_label_file_nothing_is_missing(yolo):
    frames = read_yolo(yolo({"train": {"a": None, "b": None}}))
    assert not frames.labelled.any()
    assert not frames.losses


def test_damaged_and_double_images(yolo, image):
    root = yolo({"train": {"a": BOX, "b": BOX, "c": BOX}})
    (root / "train/images/b.jpg").write_bytes(b"")
    (root / "train/images/c.jpg").write_bytes((root / "train/images/a.jpg").read_bytes()[:20])
    image(root / "train/images/a.png")
    frames = read_yolo(root)
    assert list(frames.frame_name) == ["a"]
    assert counts(frames) == {"unreadable images": 2, "images with the same name as another": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("names: [red\ntrain: x\n", "data.yaml:2: not valid YAML"),
        ("names: red\n", "'names' is neither a list nor"),
        ("names: {a: red}\n", "class id a is not a whole number"),
        ("- 1\n", "not a data set description"),
        ("names: [a]\ntrain: gone/images\n", "data.yaml: train: gone/images does not exist; correct the path or"),
    ],
)
def test_unusable_descriptions(tmp_path, text, message):
    (tmp_path / "data.yaml").write_text(text)
    with pytest.raises(SimjudgeError) as caught:
        read_yolo(tmp_path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_empty_set_is_an_error(tmp_path):
    (tmp_path / "images").mkdir()
    (tmp_path / "labels").mkdir()
    with pytest.raises(SimjudgeError, match="holds no readable image"):
        read_yolo(tmp_path)


@pytest.mark.parametrize(
    ("text", "score", "lost"),
    [
        ("0 .5 .5 .2 .2 .75", [0.75], {}),
        ("0 .5 .5 .2 .2", [1.0], {}),  # the authors' rows have no score
        ("0 .1 .1 .5 .1 .5 .9 .625", [0.625], {}),  # a polygon with a score
        ("0 .5 .5 .2 .2 1.2", [], {"scores outside [0, 1]": 1}),
        ("0 .5 .5 .2 .2 nan", [], {"scores outside [0, 1]": 1}),
        ("0 .5 .5 .2 .2 .9 7", [], {"malformed rows": 1}),  # a tracker's id
    ],
)
def test_prediction_rows(yolo, text, score, lost):
    root = yolo({"train": {"a": BOX, "b": BOX}})
    (root / "train/predictions").mkdir()
    (root / "train/predictions/a.txt").write_text(text)
    frames = read_yolo(root)
    assert frames.predictions.score.tolist() == score
    assert frames.predicted.tolist() == [True, True]  # no file: the detector found nothing
    assert counts(frames) == lost


def test_a_bare_folder_of_predictions(tmp_path):
    (tmp_path / "run/labels").mkdir(parents=True)
    (tmp_path / "run/labels/a.txt").write_text("1 0.5 0.5 0.25 0.2 0.5\n")
    (tmp_path / "run/labels/z.txt").write_text("1 0.5 0.5 0.25 0.2 0.5\n")
    onto = FrameSet.build("x", [(40, 30), (40, 30)], Objects.empty(), frame_name=["a", "b"])
    assert is_prediction_folder(tmp_path / "run")
    losses = Losses()
    found = read_prediction_folder(tmp_path / "run", onto, None, losses)
    np.testing.assert_array_equal(found.box, [[15, 12, 25, 18]])
    assert dict(losses.counts) == {"prediction files for frames that the set lacks": 1}
    with pytest.raises(SimjudgeError, match="no file is named after a frame"):
        read_prediction_folder(tmp_path / "run", onto.take([1]), None, losses)


def test_written_folders_suit_ultralytics(tmp_path):
    """A name for every number from 0 on, labels where "images" becomes "labels", class ids as they are."""
    frames = FrameSet.build("x", [(40, 30)], Objects.build([0], [2], [[15, 12, 25, 18]]), class_names={2: "green"})
    write_yolo(frames, tmp_path / "out")
    description = yaml.safe_load((tmp_path / "out/data.yaml").read_text())
    assert description == {"train": "images", "val": "images", "names": {0: "0", 1: "1", 2: "green"}}
    assert (tmp_path / "out/labels/000000.txt").read_text() == "2 0.5 0.5 0.25 0.2\n"


POSE = "0 .5 .5 .25 .5 "
TRIPLES = ".4 .3 2 .6 .3 2 .6 .7 2 .4 .7 1"
PAIRS = ".4 .3 .6 .3 .6 .7 .4 .7"


@pytest.mark.parametrize(
    ("shape", "keypoints"),
    [
        ("kpt_shape: [4, 3]\n", TRIPLES),
        ("kpt_shape: [4, 2]\n", PAIRS),
        ("", TRIPLES),  # each ends with 0, 1 or 2: no polygon does
        ("", "0.4 0.3 0 .6 .3 1"),
        ("kpt_shape: [4, 3]\n", ""),
    ],
)
def test_keypoints_behind_a_box_are_no_polygon(yolo, shape, keypoints):
    root = yolo({"train": {"a": POSE + keypoints}}, "names: [cone]\ntrain: train/images\n" + shape)
    frames = read_yolo(root)
    np.testing.assert_allclose(frames.objects.box, [[15, 7.5, 25, 22.5]])
    assert frames.objects.masks is None
    assert not frames.losses
    np.testing.assert_allclose(read_yolo(root / "train").objects.box, frames.objects.box)


def test_a_pose_set_may_hold_polygons_and_boxes_beside(yolo):
    rows = f"{POSE}{TRIPLES}\n0 .5 .5 .5 .5\n0 .1 .1 .5 .1 .5 .5\n"
    frames = read_yolo(yolo({"train": {"a": rows}}, "names: [cone]\ntrain: train/images\nkpt_shape: [4, 3]\n"))
    np.testing.assert_allclose(frames.objects.box, [[15, 7.5, 25, 22.5], [10, 7.5, 30, 22.5], [4, 3, 20, 15]])
    assert [frames.objects.masks.has(i) for i in range(3)] == [False, False, True]
    assert not frames.losses


@pytest.mark.parametrize(("tail", "score"), [("", 1.0), (" .7", 0.7)])
@pytest.mark.parametrize("keypoints", [".4 .3 .99 .6 .3 .8 .6 .7 .7 .4 .7 .6", PAIRS])
def test_predicted_keypoints(yolo, tmp_path, keypoints, tail, score):
    root = yolo({"train": {"a": POSE + TRIPLES}}, "names: [cone]\ntrain: train/images\nkpt_shape: [4, 3]\n")
    (tmp_path / "run").mkdir()
    (tmp_path / "run/a.txt").write_text(POSE + keypoints + tail)
    found = read_predictions(tmp_path / "run", read_yolo(root), root).predictions
    np.testing.assert_allclose(found.box, [[15, 7.5, 25, 22.5]])
    assert found.score.tolist() == [score]
    assert found.masks is None


@pytest.mark.parametrize("shape", ["[4]", "[4, 5]", "17", "[-1, 3]"])
def test_a_kpt_shape_that_is_none(yolo, shape):
    root = yolo({"train": {"a": POSE}}, f"names: [cone]\ntrain: train/images\nkpt_shape: {shape}\n")
    with pytest.raises(SimjudgeError, match=r"data\.yaml: kpt_shape: .* is not \[keypoints, 2 or 3\]"):
        read_yolo(root)
