"""COCO annotations and results as other programs write them, and what is wrong with them."""

import copy
import json

import numpy as np
import pytest
from pycocotools import mask as pycoco
from pycocotools.coco import COCO

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Masks, Objects, Predictions
from simjudge.data.formats.coco import read_coco, read_results, write_coco
from simjudge.data.sets import read_predictions, read_set, sniff_format

GOOD = {
    "images": [
        {"id": 7, "file_name": "a.jpg", "width": 40, "height": 30},
        {"id": 9, "file_name": "sub/b.jpg", "width": 40, "height": 30},
    ],
    "annotations": [{"id": 1, "image_id": 9, "category_id": 18, "bbox": [1.5, 2, 10, 20], "iscrowd": 0}],
    "categories": [{"id": 18, "name": "dog"}],
}


def written(folder, content=GOOD, name="annotations.json"):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_reads_boxes_names_and_ids(tmp_path):
    path = written(tmp_path)
    for place in (path, tmp_path):
        assert sniff_format(place) == "coco"
        frames = read_coco(place)
        assert list(frames.frame_name) == ["a", "b"]
        assert frames.objects.frame.tolist() == [1]
        assert frames.objects.class_id.tolist() == [18]
        np.testing.assert_array_equal(frames.objects.box, [[1.5, 2, 11.5, 22]])
        assert frames.class_names == {18: "dog"}
        assert frames.labelled.all()
        assert frames.predictions is None
        assert frames.images is None
        assert not frames.losses


@pytest.mark.parametrize(("videos", "told"), [((3, "b"), ["video 3", "video b"]), ((3, None), [])])
def test_frames_of_videos_say_which(tmp_path, videos, told):
    images = [image | {"video_id": video} for image, video in zip(GOOD["images"], videos, strict=True)]
    assert list(read_coco(written(tmp_path, GOOD | {"images": images})).recording) == told


def test_masks_agree_with_pycocotools(tmp_path):
    content = copy.deepcopy(GOOD)
    image = np.zeros((30, 40), np.uint8)
    image[3:9, 4:20] = 1
    image[5, 6] = 0
    runs = pycoco.encode(np.asfortranarray(image))
    shapes = [
        [[2.5, 3.5, 30, 4, 25.25, 28]],  # one polygon
        [[2, 3, 12, 3, 12, 13], [20, 3, 30, 3, 30, 13]],  # two pieces
        [[-5, -5, 50, -3, 20, 40]],  # over every edge
        {"size": [30, 40], "counts": runs["counts"].decode()},
        {"size": [30, 40], "counts": [100, 50, 1050]},
    ]
    content["annotations"] = [
        {"id": i + 1, "image_id": 7, "category_id": 18, "segmentation": s, "iscrowd": 0} for i, s in enumerate(shapes)
    ]
    path = written(tmp_path, content)
    frames = read_coco(path)
    judge = COCO(str(path))
    assert not frames.losses
    for i in range(len(shapes)):
        expected = judge.annToMask(judge.anns[i + 1]).astype(bool)
        np.testing.assert_array_equal(frames.objects.masks.to_image(i, 40, 30), expected, str(i))
        rows, columns = np.flatnonzero(expected.any(1)), np.flatnonzero(expected.any(0))
        extent = [columns[0], rows[0], columns[-1] + 1, rows[-1] + 1]
        np.testing.assert_array_equal(frames.objects.box[i], extent)


@pytest.mark.parametrize("box", [[], None, [0, 0, 0, 0]])
def test_a_polygon_without_a_box_has_the_polygons_extent(tmp_path, box):
    content = copy.deepcopy(GOOD)
    content["annotations"] = [
        {"id": 1, "image_id": 7, "category_id": 18, "bbox": box, "segmentation": [[5, 10, 15, 10, 15, 20, 5, 20]]}
    ]
    frames = read_coco(written(tmp_path, content))
    assert not frames.losses
    assert frames.objects.box.tolist() == [[5, 10, 15, 20]]


def test_ids_that_pandas_has_made_floats_are_whole_numbers(tmp_path):
    content = copy.deepcopy(GOOD)
    for row in content["annotations"]:
        row.update({key: float(row[key]) for key in ("id", "image_id", "category_id")})
    whole, floats = read_coco(written(tmp_path / "a")), read_coco(written(tmp_path / "b", content))
    assert not floats.losses
    assert floats.objects.box.tolist() == whole.objects.box.tolist()
    assert floats.objects.class_id.tolist() == whole.objects.class_id.tolist()
    for part in ("images", "categories"):
        for row in content[part]:
            row["id"] = float(row["id"])
    again = read_coco(written(tmp_path / "c", content))
    assert not again.losses
    assert again.objects.box.tolist() == whole.objects.box.tolist()
    rows = [{"image_id": 7.0, "category_id": 18.0, "bbox": [1, 2, 3, 4], "score": 0.5}]
    (tmp_path / "c" / "results.json").write_text(json.dumps(rows))
    assert len(read_coco(tmp_path / "c").predictions) == 1


def test_what_is_written_loads_in_pycocotools(tmp_path):
    image = np.zeros((30, 40), bool)
    image[2:5, 3:9] = True
    masks = Masks.from_images([image, None])
    objects = Objects.build([0, 1], [1, 2], [[3, 2, 9, 5], [0.25, 0.5, 10, 20]], masks=masks)
    found = Predictions.build([1], [2], [[0, 0, 10, 20]], [0.75])
    frames = FrameSet.build("x", [(40, 30)] * 2, objects, found, class_names={1: "red", 2: "green"})
    write_coco(frames, tmp_path / "out")
    judge = COCO(str(tmp_path / "out/annotations.json"))
    assert judge.anns[2]["bbox"] == [0.25, 0.5, 9.75, 19.5]
    np.testing.assert_array_equal(judge.annToMask(judge.anns[1]).astype(bool), image)
    results = judge.loadRes(str(tmp_path / "out/results.json"))
    assert results.anns[1]["score"] == 0.75
    assert {c["id"]: c["name"] for c in judge.dataset["categories"]} == {1: "red", 2: "green"}


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"bbox": [1, 2, 0, 5]}, "boxes with zero area"),
        ({"bbox": [1, 2, -3, 5]}, "inverted boxes"),
        ({"bbox": [1, 2, float("nan"), 5]}, "boxes with NaN or infinite coordinates"),
        ({"bbox": [40, 2, 3, 5]}, "boxes outside the image"),
        ({"bbox": [1, 2, 3]}, "malformed rows"),
        ({"bbox": "all"}, "malformed rows"),
        ({"bbox": None}, "malformed rows"),
        ({"category_id": 3}, "class ids without a name"),
        ({"category_id": "dog"}, "class ids that are not a whole number from 0 to 2147483647"),
        ({"image_id": 8}, "annotations of images that are not there"),
        ({"image_id": [1]}, "annotations of images that are not there"),
        ({"iscrowd": 1}, "crowd regions, which are no objects"),
    ],
)
def test_bad_annotations(tmp_path, change, kind):
    content = copy.deepcopy(GOOD)
    content["annotations"].append(content["annotations"][0] | {"id": 2} | change)
    frames = read_coco(written(tmp_path, content))
    assert dict(frames.losses.counts) == {kind: 1}
    assert "annotations.json: annotation 1" in frames.losses.examples[kind][0]
    assert len(frames.objects) == 1


@pytest.mark.parametrize(
    "shape",
    [
        {"size": [30, 40], "counts": "a"},
        {"size": [30, 40], "counts": [5, 6]},
        {"size": [30, 40], "counts": [-5, 1205]},
        {"size": [30, 40], "counts": "\x00\x01"},
        {"size": [40, 30], "counts": [1200]},
        [[1, 2, 3, 4]],
        [[1, 2, 3, 4, 5]],
        [[1, 2, float("inf"), 4, 5, 6]],
        [["a", "b"]],
        7,
    ],
)
def test_bad_masks_leave_the_box(tmp_path, shape):
    content = copy.deepcopy(GOOD)
    content["annotations"][0]["segmentation"] = shape
    frames = read_coco(written(tmp_path, content))
    assert dict(frames.losses.counts) == {"unusable masks (the box is kept)": 1}
    assert len(frames.objects) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "annotations.json:1: not valid JSON"),
        ("", "the file is empty"),
        ('{"images": [],\n "annotations": []\n', "annotations.json:3: not valid JSON"),
        ({"images": [], "annotations": []}, "names no usable image"),
        ({"images": 3, "annotations": []}, "no COCO annotations"),
        (GOOD | {"annotations": {}}, "'annotations' is not a list"),
        (GOOD | {"categories": [{"id": 1}]}, "a category without id and name"),
        ("[" * 100_000, "not usable JSON"),
    ],
)
def test_unusable_files(tmp_path, content, message):
    written(tmp_path, content)
    with pytest.raises(SimjudgeError) as caught:
        read_set(tmp_path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_images(tmp_path, image):
    image(tmp_path / "images/a.jpg")
    image(tmp_path / "sub/b.jpg", (41, 30))
    frames = read_coco(written(tmp_path))
    assert list(frames.frame_name) == ["a"]
    assert frames.images.has(0)
    assert frames.losses.counts["images of another size than annotated"] == 1
    (tmp_path / "sub/b.jpg").write_bytes(b"")
    assert read_coco(tmp_path).losses.counts["unreadable images"] == 1
    (tmp_path / "sub/b.jpg").unlink()
    frames = read_coco(tmp_path)
    assert list(frames.frame_name) == ["a", "b"]
    assert frames.losses.counts["images that are named but missing (their labels are kept)"] == 1


def test_several_annotation_files(tmp_path):
    written(tmp_path, name="annotations/train.json")
    assert len(read_set(tmp_path)) == 2
    written(tmp_path, name="annotations/val.json")
    with pytest.raises(SimjudgeError, match="several annotation files"):
        read_set(tmp_path)
    assert len(read_set(tmp_path / "annotations/val.json")) == 2


def test_same_stem_in_two_folders(tmp_path):
    content = copy.deepcopy(GOOD)
    content["images"][1]["file_name"] = "sub/a.jpg"
    assert list(read_coco(written(tmp_path, content)).frame_name) == ["a", "sub_a"]


RESULT = {"image_id": 9, "category_id": 18, "bbox": [1, 2, 10, 20], "score": 0.5}


def test_results_find_their_images(tmp_path):
    """By the annotations beside them, by those the set was read from, or by the frame's name."""
    path = written(tmp_path / "gt")
    onto = read_set(path)
    for folder, beside in (("gt", None), ("elsewhere", path), ("elsewhere", path.parent)):
        results = written(tmp_path / folder, [RESULT], "predictions.json")
        frames = read_predictions(results, onto, beside)
        assert frames.predictions.frame.tolist() == [1]
        np.testing.assert_array_equal(frames.predictions.box, [[1, 2, 11, 22]])
        assert frames.predicted.all()
    by_name = written(tmp_path / "elsewhere", [RESULT | {"image_id": "b"}], "predictions.json")
    assert read_predictions(by_name, onto).predictions.frame.tolist() == [1]
    by_id = written(tmp_path / "elsewhere", [RESULT], "predictions.json")
    with pytest.raises(SimjudgeError, match=r"its image ids are numbers .* put the file beside its annotations\.json"):
        read_predictions(by_id, onto)


@pytest.mark.parametrize(
    ("names", "ids", "frames"),
    [
        ([f"{i:06d}" for i in range(6)], [1, 2, 3, 4, 5, 6], None),  # ids of an annotations file
        ([f"{i:06d}" for i in range(6)], [0, 1, 2], None),
        ([f"{i:06d}" for i in range(1, 7)], [1, 2, 3.0], None),  # names, or ids in another order: a guess
        (["000004", "000139", "000285"], [139, 285.0, 4], [1, 2, 0]),  # no count of three frames: ultralytics' names
        (["000004", "000139", "000285"], [139, 286], None),
        (["7", "007", "000285"], [285, 7], None),
        (["000004", "000139", "000285"], ["000004", "000139.png"], [0, 1]),
    ],
)
def test_an_image_id_without_annotations_is_a_name_or_refused(tmp_path, names, ids, frames):
    target = FrameSet.build("set", [(40, 30)] * len(names), frame_name=names, class_names={18: "dog"})
    results = written(tmp_path, [RESULT | {"image_id": i, "bbox": [k, 2, 9, 9]} for k, i in enumerate(ids)], "r.json")
    if frames is None:
        with pytest.raises(SimjudgeError, match=r"r\.json: its image ids are numbers .*; put the file beside"):
            read_predictions(results, target)
    else:
        found = read_predictions(results, target).predictions
        assert found.frame[np.argsort(found.box[:, 0])].tolist() == frames


@pytest.mark.parametrize("name", ["annotations.json", "_annotations.coco.json", "annotations/val.json"])
def test_ids_of_results_are_those_of_the_annotations_beside_them_categories_too(tmp_path, name):
    """Images that the set lacks do not make its names into ids."""
    names = [f"{i:06d}" for i in range(6)]
    target = FrameSet.build("set", [(40, 30)] * 5, frame_name=names[:5], class_names={0: "cat", 1: "Dog"})
    images = [{"id": i + 1, "file_name": f"{name}.png", "width": 40, "height": 30} for i, name in enumerate(names)]
    categories = [{"id": 1, "name": "dog"}, {"id": 2, "name": "cat"}, {"id": 3, "name": "cow"}]
    written(tmp_path, {"images": images, "annotations": [], "categories": categories}, name)
    rows = [RESULT | {"image_id": i, "category_id": c} for i, c in ((2, 2), (5, 1), (6, 1), (1, 3))]
    onto = read_predictions(written(tmp_path, rows, "found.json"), target)
    assert onto.predictions.frame.tolist() == [1, 4]
    assert onto.predictions.class_id.tolist() == [0, 1]
    assert dict(onto.losses.counts) == {"predictions for frames that the set lacks": 1, "class ids without a name": 1}


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"score": 1.5}, "scores outside [0, 1]"),
        ({"score": None}, "malformed rows"),
        ({"image_id": 70}, "predictions for frames that the set lacks"),
        ({"category_id": 1}, "class ids without a name"),
        ({"bbox": [0, 0, 0, 0]}, "boxes with zero area"),
    ],
)
def test_bad_results(tmp_path, change, kind):
    path = written(tmp_path)
    losses = Losses()
    found = read_results([RESULT, RESULT | change], path, read_set(path), None, losses)
    assert len(found) == 1
    assert dict(losses.counts) == {kind: 1}


def ultralytics_rows(stems, category):
    """As ultralytics' `pred_to_json` writes them: the number in the name is the image_id."""
    return [
        RESULT | {"image_id": int(stem), "file_name": f"{stem}.jpg", "category_id": category, "bbox": [i, 2, 10, 20]}
        for i, stem in enumerate(stems)
    ]


STEMS = ["000002", "000003", "000001"]
NUMBERED = GOOD | {
    "images": [{"id": i + 1, "file_name": f"{s}.jpg", "width": 40, "height": 30} for i, s in enumerate(STEMS)],
    "annotations": [],
}


def without_names(rows):
    return [{key: value for key, value in row.items() if key != "file_name"} for row in rows]


def test_a_result_belongs_to_the_file_that_it_names_whatever_its_image_id(tmp_path):
    path = written(tmp_path, NUMBERED)
    results = written(tmp_path, ultralytics_rows(STEMS, 18), "predictions.json")
    frames = read_predictions(results, read_set(path), path)
    assert [frames.frame_name[i] for i in frames.predictions.frame] == STEMS
    assert frames.predictions.box[:, 0].tolist() == [0, 1, 2]  # row i was made for STEMS[i]
    gone = written(tmp_path, [*ultralytics_rows(STEMS, 18), *ultralytics_rows(["000009"], 18)], "predictions.json")
    lost = read_predictions(gone, read_set(path), path).losses.lines()
    assert len(lost) == 1
    assert lost[0].startswith("1 prediction for frames that the set lacks")
    assert "result 3 (000009.jpg)" in lost[0]


def test_a_result_without_a_name_goes_by_id_where_ids_are_known_and_by_name_where_names_know_more(tmp_path):
    path = written(tmp_path, NUMBERED)
    results = written(tmp_path, without_names(ultralytics_rows(STEMS, 18)), "predictions.json")
    assert read_predictions(results, read_set(path), path).predictions.box[:, 0].tolist() == [2, 0, 1]  # as COCO says
    other = NUMBERED | {"images": [image | {"id": image["id"] + 100} for image in NUMBERED["images"]]}
    path = written(tmp_path / "other", other)
    assert read_predictions(results, read_set(path), path).predictions.box[:, 0].tolist() == [0, 1, 2]
    rows = without_names(ultralytics_rows(STEMS, 18))
    named = [row | {"image_id": stem} for row, stem in zip(rows, STEMS, strict=True)]
    texts = written(tmp_path, named, "predictions.json")
    assert read_predictions(texts, read_set(path), path).predictions.box[:, 0].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "write",
    [str, float, lambda number: f"{STEMS[number - 5]}.jpg", lambda number: f"val\\{STEMS[number - 5]}.jpg"],
    ids=["text", "float", "file name", "path of Windows"],
)
@pytest.mark.parametrize("texts", [False, True])
def test_an_image_id_may_be_a_text_a_float_or_the_files_name(tmp_path, write, texts):
    images = [
        {"id": 5 + i, "file_name": f"imgs\\{stem}.jpg", "width": 40, "height": 30} for i, stem in enumerate(STEMS)
    ]
    content = GOOD | {"images": [image | {"id": str(image["id"])} if texts else image for image in images]}
    path = written(tmp_path, content | {"annotations": []})
    rows = without_names(ultralytics_rows(STEMS, 18))
    rows = [row | {"image_id": write(5 + i)} for i, row in enumerate(rows)]
    found = read_predictions(written(tmp_path, rows, "found.json"), read_set(path), path)
    assert [found.frame_name[i] for i in found.predictions.frame] == STEMS
    assert found.predictions.box[:, 0].tolist() == [0, 1, 2]


def test_results_of_which_none_can_be_used_say_why(tmp_path):
    path = written(tmp_path, NUMBERED)
    rows = [row | {"score": None} for row in ultralytics_rows(STEMS, 18)]
    with pytest.raises(SimjudgeError, match=r"holds no result that can be used \(left out: 3 malformed rows"):
        read_predictions(written(tmp_path, rows, "found.json"), read_set(path), path)


@pytest.mark.parametrize(
    ("categories", "ids", "said"),
    [
        ([1, 2, 3], [0, 1, 2], "category ids are 1 to 3, those of set 0 to 2"),
        ([0, 1, 2], [0, 1, 2], ""),
        ([1, 2, 2], [1, 2, 2], "no result is of category 0"),
    ],
)
def test_ultralytics_numbers_classes_from_1(tmp_path, caplog, categories, ids, said):
    target = FrameSet.build("set", [(40, 30)] * 3, frame_name=STEMS, class_names={0: "a", 1: "b", 2: "c"})
    rows = [row | {"category_id": c} for row, c in zip(ultralytics_rows(STEMS, 1), categories, strict=True)]
    found = read_predictions(written(tmp_path, rows, "predictions.json"), target).predictions
    assert found.class_id.tolist() == ids
    assert said in caplog.text


def square(x0, y0, x1, y1):
    return [[x0, y0, x1, y0, x1, y1, x0, y1]]


def test_masks_that_lie_outside_their_boxes_are_counted_and_the_boxes_kept(tmp_path):
    """An export turned every polygon upside down: y becomes 30 - y."""
    boxes = [[5, 2, 10, 8], [5, 12, 10, 8], [20, 2, 10, 8], [20, 20, 10, 8]]
    shapes = [square(5, 20, 15, 28), square(5, 10, 15, 18), square(19, 1, 30, 11), square(24, 21, 26, 23)]
    rle = {"size": [30, 40], "counts": [0, 100, 1100]}  # columns 0 to 3
    boxes.append([20, 5, 10, 10])
    annotations = [
        {"id": i, "image_id": 9, "category_id": 18, "bbox": box, "segmentation": shape}
        for i, (box, shape) in enumerate(zip(boxes, [*shapes, rle], strict=True))
    ]
    frames = read_coco(written(tmp_path, GOOD | {"annotations": annotations}))
    np.testing.assert_array_equal(frames.objects.box[:, :2], np.array(boxes)[:, :2])
    assert [frames.objects.masks.has(i) for i in range(5)] == [False, False, True, True, False]
    kind = "masks that lie outside their boxes (the box is kept)"
    assert dict(frames.losses.counts) == {kind: 3}
    assert "annotations.json: annotation 0 ([5.0, 2.0, 15.0, 10.0])" in frames.losses.lines()[0]


def test_masks_outside_their_boxes_in_the_results_beside_annotations(tmp_path):
    rows = [RESULT | {"segmentation": shape} for shape in (square(1, 2, 11, 22), square(20, 2, 30, 22))]
    path = written(tmp_path)
    frames = read_coco(written(tmp_path, rows, "results.json").parent)
    assert path.name == "annotations.json"
    assert [frames.predictions.masks.has(i) for i in range(2)] == [True, False]
    assert list(frames.losses.counts.values()) == [1]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([[0.1, 0.1, 0.4, 0.1, 0.4, 0.4]], "it covers no pixel"),  # shares of the picture
        ({"size": [30, 40], "counts": [1200]}, "it covers no pixel"),
        ([1, 2, 11, 2, 11, 22], "a list within the list"),
        ([[1, 2, 11, 2, 11, 22, 1]], "an x without y"),
        ([[1, 2, 11, 2]], "less than three"),
        *[(empty, "") for empty in ([], [[]], {}, "", None)],
    ],
)
def test_a_mask_that_is_none_is_said_and_its_box_kept(tmp_path, given, said):
    row = {"id": 1, "image_id": 9, "category_id": 18, "bbox": [1, 2, 10, 20], "segmentation": given}
    frames = read_coco(written(tmp_path, GOOD | {"annotations": [row]}))
    assert frames.objects.box.tolist() == [[1, 2, 11, 22]]
    assert frames.objects.masks is None
    assert said in frames.losses.reason
    assert bool(frames.losses.counts) == bool(said)


def test_masks_of_results_outside_their_boxes(tmp_path):
    path = written(tmp_path)
    rows = [RESULT | {"segmentation": shape} for shape in (square(1, 2, 11, 22), square(20, 2, 30, 22))]
    frames = read_predictions(written(tmp_path, rows, "predictions.json"), read_set(path), path)
    assert [frames.predictions.masks.has(i) for i in range(2)] == [True, False]
    assert list(frames.losses.counts.values()) == [1]
