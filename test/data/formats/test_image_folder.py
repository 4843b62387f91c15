"""Folders of images without labels: when their pictures were taken."""

import json
import logging

import pytest
from PIL import Image

from simjudge.core.errors import SimjudgeError
from simjudge.data.formats.image_folder import read_image_folder
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.writing import INVENTED_KEY, write_recording
from simjudge.data.sets import read_set
from simjudge.questions.doctor.run import diagnose

START = 1_700_000_000_123
"""Milliseconds."""


def test_stamps_that_are_made_up_are_said_when_written_and_by_doctor(tmp_path, caplog):
    (tmp_path / "plain").mkdir()
    for name in ("a", "b", "c"):
        Image.new("RGB", (32, 24)).save(tmp_path / "plain" / f"{name}.png")
    with caplog.at_level(logging.WARNING):
        write_recording(read_image_folder(tmp_path / "plain"), tmp_path / "x.mcap")
    assert "plain: 3 of 3 frames say no time; their stamps are made up, 0.1 s from one to the next" in caplog.text
    assert Recording(tmp_path / "x.mcap").custom_data()[INVENTED_KEY] == "3 of 3"
    (finding,) = [each for each in diagnose(tmp_path / "x.mcap").findings if each.check == "stamps filled in"]
    assert "3 of 3 frames said no time when simjudge wrote them" in finding.note


COCO = {
    "images": [{"id": 1, "file_name": "images/a.jfif", "width": 40, "height": 30}],
    "annotations": [{"id": 1, "image_id": 1, "category_id": 0, "bbox": [1, 1, 5, 5]}],
    "categories": [{"id": 0, "name": "cone"}],
}
LABELME_3 = (
    "<annotation><filename>a.jfif</filename><object><name>cone</name><polygon><pt><x>1</x><y>1</y></pt></polygon>"
    "</object></annotation>"
)


@pytest.mark.parametrize(("pictures", "file"), [("images", "result.json"), ("data", "labels.json")])
def test_coco_beside_pictures_is_read_whatever_tool_named_it(tmp_path, image, pictures, file):
    """Label Studio's export, and FiftyOne's."""
    Image.new("RGB", (40, 30)).save(image(tmp_path / f"{pictures}/a.png").with_suffix(".jfif"), "JPEG")
    (tmp_path / f"{pictures}/a.png").unlink()
    (tmp_path / file).write_text(json.dumps(COCO))
    frames = read_set(tmp_path)
    assert (len(frames.objects), frames.images.has(0), bool(frames.losses)) == (1, True, False)


@pytest.mark.parametrize(
    ("given", "file", "text", "said"),
    [
        ("images", "_annotations.csv", "filename,width,height,class,xmin,ymin,xmax,ymax\n", "a table of labels"),
        ("", "labels.csv", "ImageID,xmin\n", "a table of labels"),
        ("", "labels.json", '{"classes": ["cone"], "labels": {"a": []}}', "labels of an unknown format"),
        ("data", "labels.json", '{"classes": ["cone"], "labels": {"a": []}}', "labels of an unknown format"),
        ("", "cones.tfrecord", "x", "labels as TFRecord"),
        ("", "labels.jsonl", "{}\n{}\n", "perhaps labels as JSON lines"),
        ("", "points.csv", "x,y\n", ""),
    ],
)
def test_what_lies_beside_pictures_and_may_hold_labels_is_named(tmp_path, image, caplog, given, file, text, said):
    image(tmp_path / (given or "images") / "a.png")
    (tmp_path / file).write_text(text)
    assert not read_set(tmp_path / given).labelled.any()
    assert (f"{file}: {said}" in caplog.text) == bool(said)


def test_labels_beside_a_folder_that_is_no_set_are_named(tmp_path, image):
    image(tmp_path / "data/a.png")
    (tmp_path / "labels.json").write_text('{"labels": {"a": []}}')
    with pytest.raises(SimjudgeError, match=r"labels\.json: labels of an unknown format, which simjudge does not read"):
        read_set(tmp_path)


def test_labelme_in_xml_is_called_so_and_not_pascal_voc_without_boxes(tmp_path, image):
    image(tmp_path / "a.png")
    (tmp_path / "a.xml").write_text(LABELME_3)
    with pytest.raises(SimjudgeError, match=r'a\.xml: LabelMe\'s XML of polygons \(CVAT\'s "LabelMe 3\.0"\), which'):
        read_set(tmp_path)
