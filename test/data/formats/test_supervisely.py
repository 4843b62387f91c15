"""Supervisely's projects: boxes, polygons with holes and bitmaps against what was drawn."""

import base64
import io
import json
import zlib

import numpy as np
import pytest
from PIL import Image

from simjudge.core.errors import SimjudgeError
from simjudge.data.formats.supervisely import read_supervisely, sniff_supervisely
from simjudge.data.sets import read_set


def bitmap(mask, mode):
    """As Supervisely's own library writes it (a palette with a transparent colour), as the browser (RGBA), or plain."""
    values = mask.astype(np.uint8)
    stream, options = io.BytesIO(), {}
    if mode == "P":
        picture = Image.fromarray(values, "L").convert("P")
        picture.putpalette([0, 0, 0, 255, 255, 255])
        options = {"transparency": 0}
    elif mode == "RGBA":
        picture = Image.fromarray(np.dstack([values * 0, values * 0, values * 0, values * 255]), "RGBA")
    else:
        picture = Image.fromarray(values * 255, "L")
    picture.save(stream, "PNG", **options)
    return base64.b64encode(zlib.compress(stream.getvalue())).decode()


def rectangle(title, *corners):
    return {"classTitle": title, "geometryType": "rectangle", "points": {"exterior": list(corners), "interior": []}}


@pytest.fixture
def project(tmp_path, image):
    def write(sets, meta=("blue_cone", "yellow_cone"), size=(40, 30)):
        root = tmp_path / "fsoco"
        root.mkdir()
        if meta is not None:
            classes = [{"title": title, "shape": "rectangle", "color": "#0000ff"} for title in meta]
            (root / "meta.json").write_text(json.dumps({"classes": classes, "tags": []}))
        for name, frames in sets.items():
            (root / name / "ann").mkdir(parents=True)
            for stem, objects in frames.items():
                image(root / name / "img" / f"{stem}.png", size)
                text = {"tags": [], "size": {"width": size[0], "height": size[1]}, "objects": objects}
                (root / name / "ann" / f"{stem}.png.json").write_text(json.dumps(text))
        return root

    return write


def test_a_rectangle_holds_its_last_column_and_row(project):
    root = project({"amz": {"1": [rectangle("yellow_cone", [3, 4], [12, 23])], "2": []}})
    assert sniff_supervisely(root)
    assert sniff_supervisely(root / "amz")
    for path in (root, root / "amz"):
        frames = read_set(path)
        assert frames.objects.box.tolist() == [[3, 4, 13, 24]]
        assert frames.class_names == {0: "blue_cone", 1: "yellow_cone"}
        assert frames.objects.class_id.tolist() == [1]
        assert list(frames.frame_name) == ["1", "2"]
        assert frames.labelled.all()
        assert frames.images.read(0).shape == (30, 40, 3)
        assert not frames.losses


@pytest.mark.parametrize("mode", ["P", "RGBA", "L"])
@pytest.mark.parametrize("origin", [(5, 6), (-2, 25), (36, -3)])
def test_a_bitmap_is_its_pixels_inside_the_picture(project, mode, origin):
    mask = np.random.default_rng(0).random((8, 9)) > 0.4
    given = {"classTitle": "blue_cone", "geometryType": "bitmap"}
    root = project({"a": {"1": [given | {"bitmap": {"data": bitmap(mask, mode), "origin": list(origin)}}]}})
    frames = read_supervisely(root)
    expected = np.zeros((60, 80), bool)
    expected[15 + origin[1] : 23 + origin[1], 20 + origin[0] : 29 + origin[0]] = mask
    expected = expected[15:45, 20:60]
    assert np.array_equal(frames.objects.masks.to_image(0, 40, 30), expected)
    rows, columns = np.nonzero(expected)
    box = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
    assert frames.objects.box.tolist() == [box]


def test_a_polygon_has_its_holes(project):
    given = {
        "classTitle": "blue_cone",
        "geometryType": "polygon",
        "points": {
            "exterior": [[2, 2], [22, 2], [22, 22], [2, 22]],
            "interior": [[[6, 6], [12, 6], [12, 12], [6, 12]]],
        },
    }
    frames = read_supervisely(project({"a": {"1": [given]}}))
    assert frames.objects.box.tolist() == [[2, 2, 22, 22]]
    mask = frames.objects.masks.to_image(0, 40, 30)
    assert mask[4, 4]
    assert not mask[9, 9]
    assert mask.sum() == pytest.approx(400 - 36, abs=2)


def test_sets_of_a_project_are_one_set(project):
    one = {"1": [rectangle("seg_cone", [1, 1], [5, 5])]}
    frames = read_supervisely(project({"amz": one, "eufs": one | {"2": []}}, meta=None))
    assert list(frames.frame_name) == ["amz_1", "eufs_1", "2"]
    assert frames.class_names == {0: "seg_cone"}
    assert frames.objects.frame.tolist() == [0, 1]


def test_sets_in_sets_are_read_and_pictures_without_a_file_of_labels_counted(project, image):
    """As Supervisely exports nested datasets; all but the outermost had been left aside without a word."""
    box = [rectangle("yellow_cone", [3, 4], [12, 23])]
    root = project(
        {"amz": {"1": box}, "amz/datasets/wet": {"1": box, "2": []}, "amz/datasets/wet/datasets/a": {"3": []}}
    )
    image(root / "amz/datasets/wet/img/4.png")
    frames = read_set(root)
    assert (frames.frame_name, len(frames.objects)) == (["amz_1", "wet_1", "2", "3"], 2)
    assert frames.losses.counts == {"images that nothing names (left aside)": 1}
    assert dict(read_set(root / "amz/datasets/wet").class_names) == {0: "blue_cone", 1: "yellow_cone"}


def test_what_cannot_be_used_is_counted(project):
    cuboid = {"classTitle": "blue_cone", "geometryType": "cuboid", "points": []}
    broken = {"classTitle": "blue_cone", "geometryType": "bitmap", "bitmap": {"data": "!", "origin": [0, 0]}}
    short = {"classTitle": "blue_cone", "geometryType": "polygon", "points": {"exterior": [[1, 1]]}}
    bad = [cuboid, broken, short, rectangle("unknown", [0, 0], [1, 1]), 7, rectangle("blue_cone", [50, 9], [60, 15])]
    root = project({"a": {"1": bad, "2": [], "3": []}})
    (root / "a/img/2.png").unlink()
    (root / "a/img/3.png").write_bytes(b"no picture")
    frames = read_supervisely(root)
    assert list(frames.frame_name) == ["1", "2"]
    assert len(frames.objects) == 0
    assert dict(frames.losses.counts) == {
        "images that are named but missing (their labels are kept)": 1,
        "unreadable images": 1,
        "shapes that are neither box, polygon nor mask": 1,
        "malformed rows": 2,
        "class ids without a name": 2,
        "boxes outside the image": 1,
    }


def test_damage_is_one_clear_line(project):
    root = project({"a": {"1": []}})
    (root / "a/ann/1.png.json").write_text('{"objects": 3}')
    with pytest.raises(SimjudgeError, match="no annotation of Supervisely"):
        read_supervisely(root)
    (root / "a/ann/1.png.json").unlink()
    with pytest.raises(SimjudgeError, match="empty set"):
        read_supervisely(root)
