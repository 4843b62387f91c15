"""Pascal VOC: coordinates from 1 with the last pixel inside, pictures in several places, losses counted."""

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.data.formats.pascal_voc import read_pascal_voc, sniff_pascal_voc
from simjudge.data.set_parts import convert
from simjudge.data.sets import read_set

SIDES = ("xmin", "ymin", "xmax", "ymax")
PLACES = [("Annotations", "JPEGImages"), ("Annotations", "Images"), ("labels", "images"), (".", ".")]


def annotation(objects, size=(40, 30)):
    boxes = "".join(
        f"<object><name>{name}</name><pose>Unspecified</pose><difficult>0</difficult><bndbox>"
        + "".join(f"<{side}>{value}</{side}>" for side, value in zip(SIDES, box, strict=True))
        + "</bndbox></object>"
        for name, box in objects
    )
    sides = f"<size><width>{size[0]}</width><height>{size[1]}</height><depth>3</depth></size>"
    return f"<annotation><folder>x</folder><filename>else.jpg</filename>{sides}{boxes}</annotation>"


@pytest.fixture
def folder(tmp_path, image):
    def write(texts, labels="Annotations", images="JPEGImages"):
        (tmp_path / labels).mkdir(exist_ok=True)
        for stem, text in texts.items():
            image(tmp_path / images / f"{stem}.jpg")
            if text is not None:
                (tmp_path / labels / f"{stem}.xml").write_text(text)
        return tmp_path

    return write


@pytest.mark.parametrize("places", PLACES)
def test_a_box_holds_its_first_and_last_pixel(folder, places, tmp_path_factory):
    painted = np.zeros((30, 40), bool)
    painted[4:24, 0:10] = True  # from column 1 to column 10, from row 5 to row 24, counted from 1
    root = folder({"a": annotation([("yellow", (1, 5, 10, 24)), ("blue", (2.5, 1, 40, 30))]), "b": None}, *places)
    assert sniff_pascal_voc(root)
    frames = read_set(root)
    x0, y0, x1, y1 = (int(side) for side in frames.objects.box[0])
    assert painted[y0:y1, x0:x1].all()
    assert painted.sum() == (x1 - x0) * (y1 - y0)
    assert frames.objects.box[1].tolist() == [1.5, 0, 40, 30]
    assert frames.class_names == {0: "blue", 1: "yellow"}
    assert frames.objects.class_id.tolist() == [1, 0]
    assert frames.labelled.tolist() == [True, False]
    assert not frames.losses
    out = tmp_path_factory.mktemp("out") / "yolo"
    convert(root, out, to="yolo")
    assert np.allclose(read_set(out).objects.box, frames.objects.box)


@pytest.mark.parametrize(
    ("boxes", "expected", "said"),
    [
        ([(0, 5, 10, 24), (3, 2, 40, 30)], [[0, 5, 10, 24], [3, 2, 40, 30]], "1 of 2 boxes begin at 0"),
        ([(1, 5, 10, 24), (3, 2, 40, 30)], [[0, 4, 10, 24], [2, 1, 40, 30]], ""),
    ],
)
def test_tools_that_count_from_0_are_known_by_a_box_that_begins_there(folder, caplog, boxes, expected, said):
    root = folder({"a": annotation([("red", box) for box in boxes[:1]]), "b": annotation([("red", boxes[1])])})
    assert read_set(root).objects.box.tolist() == expected
    assert caplog.text.count("begin at 0") == bool(said)
    assert said in caplog.text


def test_what_cannot_be_used_is_counted(folder):
    good = ("red", (1, 1, 5, 5))
    texts = {
        "a": annotation([("red", ("x", 1, 2, 3)), ("", (1, 1, 2, 2)), good, ("red", (9, 9, 2, 2))]).replace(
            "</annotation>", "<object><name>red</name><polygon/></object></annotation>"
        ),
        "b": annotation([good]),
        "c": annotation([good], (99, 30)),
        "d": annotation([good]),
    }
    root = folder(texts)
    (root / "JPEGImages/b.jpg").unlink()
    (root / "JPEGImages/d.jpg").write_bytes(b"")
    frames = read_pascal_voc(root)
    assert list(frames.frame_name) == ["a", "b"]
    assert dict(frames.losses.counts) == {
        "images that are named but missing (their labels are kept)": 1,
        "images of another size than annotated": 1,
        "unreadable images": 1,
        "malformed rows": 2,
        "shapes that are neither box, polygon nor mask": 1,
        "inverted boxes": 1,
    }


@pytest.mark.parametrize("flag", ["difficult", "truncated", "occluded"])
def test_flags_are_counted_and_their_boxes_kept(folder, flag):
    text = annotation([("red", (1, 1, 5, 5))]).replace("<bndbox>", f"<{flag}>1</{flag}><bndbox>")
    frames = read_pascal_voc(folder({"a": text.replace("<difficult>0</difficult>", "")}))
    assert len(frames.objects) == 1
    assert list(frames.losses.counts.values()) == [1]
    assert flag in next(iter(frames.losses.counts))


def test_a_file_of_another_name_finds_its_picture_by_what_it_says(folder):
    root = folder({"a": annotation([("red", (1, 1, 5, 5))]), "else": None})
    (root / "Annotations/a.xml").rename(root / "Annotations/0001.xml")
    frames = read_pascal_voc(root)
    assert list(frames.frame_name) == ["0001", "a"]
    assert frames.images.has(0)
    assert frames.labelled.tolist() == [True, False]


def test_damage_is_one_clear_line(folder):
    root = folder({"a": annotation([]), "b": "<annotation><object>"})
    with pytest.raises(SimjudgeError, match=r"b\.xml"):
        read_pascal_voc(root)
    (root / "Annotations/b.xml").write_text("<rss/>")
    with pytest.raises(SimjudgeError, match="not of Pascal VOC"):
        read_pascal_voc(root)


def test_other_folders_are_not_claimed(folder, tmp_path):
    assert not sniff_pascal_voc(tmp_path)
    root = folder({"a": "<annotations><image/></annotations>"}, "annotations")
    assert not sniff_pascal_voc(root)
