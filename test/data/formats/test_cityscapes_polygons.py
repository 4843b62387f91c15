"""Objects of Cityscapes' polygons: drawn over each other as the public scripts do, groups and damage counted."""

import json

import numpy as np
import pytest
from PIL import Image

from simjudge.core.errors import SimjudgeError
from simjudge.data.sets import read_set

STEM = "aachen_000000_000019"
SIZE = (40, 30)


def square(x0, y0, x1, y1):
    """The corner pixels of a rectangle that holds them."""
    return [[x0, y0], [x1, y0], [x1, y1], [x0, y1]]


@pytest.fixture
def city(tmp_path, image):
    def write(objects, *, stem=STEM, size=SIZE):
        image(tmp_path / f"set/leftImg8bit/train/aachen/{stem}_leftImg8bit.png", SIZE)
        folder = tmp_path / "set/gtFine/train/aachen"
        folder.mkdir(parents=True, exist_ok=True)
        if objects is not None:
            content = {"imgWidth": size[0], "imgHeight": size[1], "objects": objects}
            (folder / f"{stem}_gtFine_polygons.json").write_text(json.dumps(content))
        return tmp_path / "set"

    return write


def test_a_box_is_around_what_is_seen_of_a_polygon(city):
    """The painter's order by hand: a pole covers columns 15 to 17 of the car, the person its left part."""
    objects = [
        {"label": "road", "polygon": square(0, 15, 39, 29)},
        {"label": "car", "polygon": square(10, 5, 29, 20)},
        {"label": "pole", "polygon": square(15, 0, 17, 25)},
        {"label": "person", "polygon": square(8, 4, 12, 24)},
        {"label": "license plate", "polygon": square(20, 10, 22, 12)},
        {"label": "bicycle", "polygon": square(2, 2, 3, 3), "deleted": 1},
    ]
    root = city(objects)
    labels = np.full((30, 40), 7, np.uint8)
    Image.fromarray(labels).save(root / f"gtFine/train/aachen/{STEM}_gtFine_labelIds.png")
    frames = read_set(root)
    car = np.zeros((30, 40), bool)
    car[5:21, 10:30] = True
    car[:, 15:18] = False
    person = np.zeros((30, 40), bool)
    person[4:25, 8:13] = True
    car &= ~person
    assert [frames.class_names[i] for i in frames.objects.class_id] == ["car", "person"]
    for index, expected in enumerate((car, person)):
        assert np.array_equal(frames.objects.masks.to_image(index, 40, 30), expected)
        rows, columns = np.nonzero(expected)
        box = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
        assert frames.objects.box[index].tolist() == box
    assert frames.objects.box[0].tolist() == [13, 5, 30, 21]
    assert frames.semantic.has(0)
    assert frames.labelled.all()
    assert not frames.losses


def test_what_cannot_be_used_is_counted(city):
    objects = [
        {"label": "cargroup", "polygon": square(1, 1, 9, 9)},
        {"label": "tuk-tuk", "polygon": square(1, 1, 2, 2)},
        {"label": "car", "polygon": square(20, 5, 25, 9)},
        {"label": "wall", "polygon": square(18, 3, 30, 12)},
        {"label": "car", "polygon": [[1, "x"]]},
        {"label": "car"},
        7,
        {"label": "car", "polygon": [[1e300, 1]] * 3},
        {"label": "rider", "polygon": square(-5, -5, 2, 2)},
    ]
    city(objects)
    city(None, stem="aachen_000001_000019")
    frames = read_set(city([], stem="aachen_000002_000019", size=(99, 30)))
    assert frames.objects.box.tolist() == [[0, 0, 3, 3]]
    assert frames.labelled.tolist() == [True, False, False]
    assert dict(frames.losses.counts) == {
        "regions of a crowd or to be ignored": 1,
        "class ids without a name": 1,
        "malformed rows": 4,
        "polygons of which no pixel is seen": 1,
        "images without a file of polygons": 1,
        "images of another size than annotated": 1,
    }


def test_damage_is_one_clear_line(city):
    root = city([])
    (root / f"gtFine/train/aachen/{STEM}_gtFine_polygons.json").write_text('{"objects": 3}')
    with pytest.raises(SimjudgeError, match=r"polygons\.json: no polygons of Cityscapes"):
        read_set(root)
