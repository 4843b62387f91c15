"""LabelMe: rectangles, polygons, circles and masks against what was drawn; groups, flags and damage."""

import base64
import io
import json
import shutil

import numpy as np
import pytest
from PIL import Image

from simjudge.core.errors import SimjudgeError
from simjudge.data.formats.labelme import read_labelme
from simjudge.data.set_parts import convert
from simjudge.data.sets import read_set, sniff_format


def shape(kind, points, label="cone", **more):
    return {"label": label, "points": points, "group_id": None, "shape_type": kind, "flags": {}, **more}


def annotation(shapes, stem="a", size=(40, 30), **more):
    return {
        "version": "5.4.1",
        "flags": {},
        "shapes": shapes,
        "imagePath": f"{stem}.png",
        "imageData": None,
        "imageHeight": size[1],
        "imageWidth": size[0],
        **more,
    }


def png(mask):
    stream = io.BytesIO()
    Image.fromarray(mask.astype(np.uint8) * 255).save(stream, "PNG")
    return base64.b64encode(stream.getvalue()).decode()


@pytest.fixture
def folder(tmp_path, image):
    def write(frames):
        root = tmp_path / "set"
        root.mkdir()
        for stem, content in frames.items():
            image(root / f"{stem}.png")
            (root / f"{stem}.json").write_text(json.dumps(content))
        return root

    return write


def test_points_lie_on_the_edges_of_pixels(folder, tmp_path):
    """A rectangle around columns 10 to 19 and rows 4 to 23 is drawn from (10, 4) to (20, 24), in any order."""
    square = [[2, 2], [12, 2], [12, 12], [2, 12]]
    shapes = [
        shape("rectangle", [[20, 4], [10, 24]]),
        shape("rectangle", [[1, 1], [5, 1], [5, 3], [1, 3]]),
        shape("polygon", square, "barrier"),
        shape("circle", [[20, 15], [23, 19]]),
    ]
    root = folder({"a": annotation(shapes), "b": annotation([], "b")})
    assert sniff_format(root) == "labelme"
    assert sniff_format(root / "a.json") == "labelme"
    frames = read_set(root)
    assert frames.objects.box.tolist() == [[10, 4, 20, 24], [1, 1, 5, 3], [2, 2, 12, 12], [15, 10, 25, 20]]
    assert frames.class_names == {0: "barrier", 1: "cone"}
    assert frames.objects.class_id.tolist() == [1, 1, 0, 1]
    assert frames.objects.masks.to_image(2, 40, 30).sum() == 100
    assert list(frames.frame_name) == ["a", "b"]
    assert frames.labelled.all()
    assert not frames.losses
    convert(root, tmp_path / "out", to="coco")
    assert np.allclose(read_set(tmp_path / "out").objects.box, frames.objects.box)
    assert len(read_set(root / "a.json")) == 1


def test_an_outline_over_the_edge_has_the_box_that_the_picture_shows(folder):
    frames = read_set(folder({"a": annotation([shape("polygon", [[30, 20], [60, 20], [60, 50], [30, 50]])])}))
    assert frames.objects.box.tolist() == [[30, 20, 40, 30]]
    assert frames.objects.masks.to_image(0, 40, 30).sum() == 100


def test_a_mask_as_large_as_the_picture_lies_on_it(folder):
    drawn = np.zeros((30, 40), bool)
    drawn[5:12, 20:31] = True
    ends = [[20, 5], [30, 11]]
    shapes = [shape("mask", ends, mask=png(drawn)), shape("mask", ends, mask=png(drawn[5:9, 20:31]))]
    frames = read_set(folder({"a": annotation(shapes)}))
    assert frames.objects.box.tolist() == [[20, 5, 31, 12]]
    assert np.array_equal(frames.objects.masks.to_image(0, 40, 30), drawn)
    assert "a mask of another size than its points" in frames.losses.lines()[0]


@pytest.mark.parametrize("kept", ["a", "none"])
def test_files_in_folders_below_are_read_and_pictures_without_one_counted(folder, image, kept):
    root = folder({"a": annotation([shape("rectangle", [[1, 2], [3, 4]])])})
    shutil.copytree(root, root / "day")
    (root / "day" / "other.json").write_text("{}")
    image(root / "day" / "b.png")
    if kept == "none":
        (root / "a.json").unlink()
        (root / "a.png").unlink()
    frames = read_set(root)
    assert list(frames.frame_name) == [*(["a"] if kept == "a" else []), "day/a"]
    assert frames.losses.counts == {"images that nothing names (left aside)": 1}


@pytest.mark.parametrize("origin", [(5, 6), (0, 0), (33, 24)])
def test_a_mask_covers_its_first_to_its_last_pixel(folder, origin):
    mask = np.random.default_rng(0).random((8, 9)) > 0.4
    last = [origin[0] + 8, origin[1] + 7]
    frames = read_set(folder({"a": annotation([shape("mask", [list(origin), last], mask=png(mask))])}))
    expected = np.zeros((60, 80), bool)
    expected[origin[1] : origin[1] + 8, origin[0] : origin[0] + 9] = mask
    expected = expected[:30, :40]
    assert np.array_equal(frames.objects.masks.to_image(0, 40, 30), expected)
    rows, columns = np.nonzero(expected)
    assert frames.objects.box.tolist() == [[columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]]


def test_a_group_of_one_label_is_one_thing(folder):
    left, right = [[1, 1], [5, 1], [5, 5], [1, 5]], [[9, 2], [12, 2], [12, 8], [9, 8]]
    shapes = [
        shape("polygon", left, group_id=1),
        shape("polygon", right, group_id=1),
        shape("polygon", right, "barrier", group_id=1),
        shape("polygon", left),
        shape("polygon", left),
    ]
    frames = read_set(folder({"a": annotation(shapes)}))
    assert sorted(frames.objects.box.tolist()) == [[1, 1, 5, 5], [1, 1, 5, 5], [1, 1, 12, 8], [9, 2, 12, 8]]
    masks = [frames.objects.masks.to_image(i, 40, 30).sum() for i in range(4)]
    assert sorted(masks) == [16, 16, 18, 34]


def test_what_cannot_be_used_is_counted(folder):
    bad = [
        shape("line", [[1, 1], [5, 5]]),
        shape("point", [[1, 1]]),
        shape("polygon", [[1, 1], [2, 2]]),
        shape("rectangle", [[1, 1], [2, "x"]]),
        shape("mask", [[1, 1], [2, 2]], mask="!"),
        7,
        shape("rectangle", [[50, 1], [60, 9]]),
        shape("rectangle", [[1, 1], [9, 9]], flags={"occluded": True}),
    ]
    root = folder(
        {"a": annotation(bad), "b": annotation([], "b", (99, 30)), "c": annotation([], "c", imageData="QQ==")}
    )
    (root / "c.png").unlink()
    frames = read_labelme(root)
    assert list(frames.frame_name) == ["a", "c"]
    assert frames.objects.box.tolist() == [[1, 1, 9, 9]]
    assert dict(frames.losses.counts) == {
        "shapes that are neither box, polygon nor mask": 2,
        "malformed rows": 4,
        "boxes outside the image": 1,
        "flags such as occluded, truncated or difficult (their boxes are kept)": 1,
        "images of another size than annotated": 1,
        "images that are named but missing (their labels are kept)": 1,
        "pictures that only the JSON holds (imageData; to be saved beside it)": 1,
    }


def test_damage_is_one_clear_line(folder):
    root = folder({"a": annotation([])})
    (root / "b.json").write_text('{"shapes": 3}')
    with pytest.raises(SimjudgeError, match=r"b\.json: no annotation of labelme"):
        read_set(root)
    (root / "b.json").write_text('{"shapes": [')
    with pytest.raises(SimjudgeError, match=r"b\.json:1: not valid JSON"):
        read_set(root)


@pytest.mark.parametrize("label", ["__ignore__", "_background_"])
def test_what_is_to_be_ignored_is_no_object(folder, label):
    shapes = [shape("rectangle", [[2, 3], [12, 13]]), shape("rectangle", [[20, 3], [32, 13]], label)]
    frames = read_set(folder({"a": annotation(shapes)}))
    assert [frames.class_name(k) for k in frames.objects.class_id] == ["cone"]
    assert frames.class_names == {0: "cone"}
    assert dict(frames.losses.counts) == {"regions of a crowd or to be ignored": 1}


def test_a_blank_label_is_no_class(folder):
    shapes = [shape("rectangle", [[2, 3], [12, 13]]), shape("rectangle", [[20, 3], [32, 13]], " ")]
    frames = read_set(folder({"a": annotation(shapes)}))
    assert frames.class_names == {0: "cone"}
    assert dict(frames.losses.counts) == {"shapes without a class": 1}


@pytest.mark.parametrize("named", [None, "", 7])
def test_a_file_that_names_no_picture_takes_that_of_its_own_name(folder, named):
    root = folder({"a": annotation([], imagePath=named), "b": annotation([], "b")})
    (root / "b.png").rename(root / "b.PNG")
    (root / "b.json").write_text(json.dumps(annotation([], imagePath=named)))
    frames = read_set(root)
    assert [path.name for path in frames.images.paths] == ["a.png", "b.PNG"]
    assert not frames.losses


def test_a_file_without_any_picture_is_counted(folder):
    root = folder({"a": annotation([shape("rectangle", [[1, 1], [5, 5]])], imagePath=None)})
    (root / "a.png").unlink()
    frames = read_set(root)
    assert len(frames.objects) == 1
    assert "name no picture (imagePath)" in str(frames.losses)
    assert "a.json" in str(frames.losses)
