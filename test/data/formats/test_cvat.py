"""CVAT for images 1.1 as CVAT exports it, and what is wrong with it."""

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects
from simjudge.data.formats.cvat import read_cvat, sniff_cvat, write_cvat
from simjudge.data.sets import read_set

META = """<meta><job><labels><label><name>red</name><color>#f00</color><attributes></attributes></label>
<label><name>green &amp; blue</name></label></labels></job></meta>"""


def xml(shapes, meta=META, image='id="0" name="a.jpg" width="40" height="30"'):
    image = f"<image {image}>{shapes}</image>"
    return f'<?xml version="1.0"?>\n<annotations>\n<version>1.1</version>\n{meta}\n{image}\n</annotations>'


def read(folder, text):
    (folder / "annotations.xml").write_text(text)
    assert sniff_cvat(folder)
    return read_cvat(folder / "annotations.xml")


BOX = '<box label="red" source="manual" occluded="0" xtl="1.50" ytl="2" xbr="11.5" ybr="22" z_order="0"></box>'


def test_box(tmp_path):
    frames = read(tmp_path, xml(BOX.replace('"red"', '"green &amp; blue"')))
    np.testing.assert_array_equal(frames.objects.box, [[1.5, 2, 11.5, 22]])
    assert frames.class_names == {0: "red", 1: "green & blue"}
    assert frames.objects.class_id.tolist() == [1]
    assert frames.size.tolist() == [[40, 30]]
    assert frames.labelled.tolist() == [True]


def test_polygon_and_mask_are_masks(tmp_path):
    shapes = '<polygon label="red" points="10.00,6.00;20,6;20,18;10,18"/>'
    shapes += '<mask label="red" rle="1, 2, 3" left="4" top="5" width="3" height="2"/>'
    frames = read(tmp_path, xml(shapes))
    np.testing.assert_array_equal(frames.objects.box, [[10, 6, 20, 18], [5, 5, 7, 6]])
    square, run = np.zeros((2, 30, 40), bool)
    square[6:18, 10:20] = True
    run[5, 5:7] = True
    np.testing.assert_array_equal(frames.objects.masks.to_image(0, 40, 30), square)
    np.testing.assert_array_equal(frames.objects.masks.to_image(1, 40, 30), run)


def test_instances_are_an_attribute(tmp_path):
    frames = read(tmp_path, xml(BOX.replace("></box>", '><attribute name="instance">12</attribute></box>') + BOX))
    assert frames.objects.instance.tolist() == [12, -1]


def test_without_a_list_of_labels_classes_are_numbered_as_they_come(tmp_path):
    shapes = BOX.replace("red", "zebra") + BOX.replace("red", "ape")
    assert read(tmp_path, xml(shapes, meta="")).class_names == {0: "zebra", 1: "ape"}


@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        (BOX.replace("11.5", "1.5"), "boxes with zero area"),
        (BOX.replace("11.5", "0.5"), "inverted boxes"),
        (BOX.replace("11.5", "nan"), "boxes with NaN or infinite coordinates"),
        (BOX.replace("11.5", "wide"), "malformed rows"),
        (BOX.replace('xbr="11.5"', ""), "malformed rows"),
        (BOX.replace('"1.50"', '"45"').replace("11.5", "50"), "boxes outside the image"),
        (BOX.replace("red", "pink"), "class ids without a name"),
        (BOX.replace("z_order", 'rotation="15.00" z_order'), "rotated boxes"),
        ('<polygon label="red" points="1,2;3,4"/>', "malformed rows"),
        ('<polygon label="red" points="1,2;3,4;5"/>', "malformed rows"),
        ('<mask label="red" rle="1, 2" left="4" top="5" width="3" height="2"/>', "malformed rows"),
        ('<mask label="red" rle="" left="4" top="5" width="3" height="2"/>', "malformed rows"),
        ('<polyline label="red" points="1,2;3,4"/>', "shapes that are neither box, polygon nor mask"),
    ],
)
def test_bad_shapes(tmp_path, shape, kind):
    frames = read(tmp_path, xml(shape + BOX))
    assert dict(frames.losses.counts) == {kind: 1}
    assert "annotations.xml: image a.jpg" in frames.losses.examples[kind][0]
    assert len(frames.objects) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (xml(BOX)[:-20], "annotations.xml:6: not valid XML"),
        (xml(BOX).replace("annotations>", "other>"), "annotations.xml: not an export as 'CVAT for images 1.1'"),
        (xml("").replace("<version>", '<track id="0"/><version>'), "an export as 'CVAT for video'"),
        ('<!DOCTYPE a [<!ENTITY b "c">]>' + xml(BOX)[22:].replace("red", "&b;"), "XML that is refused"),
        (f"<annotations>{META}</annotations>", "names no usable image"),
    ],
)
def test_unusable_files(tmp_path, text, message):
    (tmp_path / "annotations.xml").write_text(text)
    with pytest.raises(SimjudgeError) as caught:
        read_set(tmp_path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_labelled_by_hand(tmp_path):
    """Written unlabelled, labelled in CVAT, its export (other label order, folder in the names) put in the place."""
    frames = FrameSet.build("bag", [(40, 30)] * 3, stamp=[5, 6, 10**9], class_names={1: "red", 2: "green"})
    write_cvat(frames, tmp_path / "work")
    assert not read_cvat(tmp_path / "work").labelled.any()
    text = xml(BOX, image='id="0" name="task/0_000000006.png" width="40" height="30"')
    (tmp_path / "work/annotations.xml").write_text(text)
    back = read_cvat(tmp_path / "work")
    assert list(back.frame_name) == list(frames.frame_name)
    assert back.labelled.tolist() == [False, True, False]
    assert back.objects.frame.tolist() == [1]
    assert back.stamp.tolist() == [5, 6, 10**9]
    assert back.class_names == {0: "red", 1: "green & blue"}
    assert not back.losses


def test_images_that_the_annotations_do_not_name_are_unlabelled(tmp_path, image):
    image(tmp_path / "images/a.jpg")
    image(tmp_path / "images/b.jpg")
    frames = read(tmp_path, xml(BOX))
    assert list(frames.frame_name) == ["a", "b"]
    assert frames.labelled.tolist() == [True, False]
    assert frames.losses.counts["images without labels (the annotations do not name them)"] == 1


def test_class_ids_are_in_the_file(tmp_path):
    frames = FrameSet.build("x", [(40, 30)], Objects.build([0], [90], [[1, 2, 3, 4]]), class_names={7: "a", 90: "b"})
    write_cvat(frames, tmp_path / "out")
    (tmp_path / "out/simjudge.json").unlink()
    back = read_cvat(tmp_path / "out")
    assert back.class_names == {7: "a", 90: "b"}
    assert back.objects.class_id.tolist() == [90]
