"""Slips of exports that would be wrong numbers without a word: labels twice, corners for sides, shares for pixels."""

from __future__ import annotations

import json

import cv2
import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects
from simjudge.data.sets import read_predictions, read_set, write_set


def coco(path, boxes, areas=None, image_id=1, **more):
    rows = [
        {
            "id": i,
            "image_id": image_id,
            "category_id": 1,
            "bbox": box,
            **({} if areas is None else {"area": area}),
            **more,
        }
        for i, (box, area) in enumerate(zip(boxes, areas or boxes, strict=True))
    ]
    content = {
        "images": [{"id": 1, "file_name": "a.png", "width": 64, "height": 48}],
        "annotations": rows,
        "categories": [{"id": 1, "name": "cone"}],
    }
    path.write_text(json.dumps(content))
    return path


def test_rows_of_yolo_that_stand_twice_count_once(tmp_path):
    for folder in ("images", "labels"):
        (tmp_path / folder).mkdir()
    cv2.imwrite(str(tmp_path / "images" / "a.png"), np.zeros((48, 64, 3), np.uint8))
    rows = ["0 .5 .5 .25 .5", "0 0.50 .5 .25 .5", "1 .5 .5 .25 .5", "0 .5 .5 .25 .25"]
    (tmp_path / "labels" / "a.txt").write_text("\n".join(rows))
    (tmp_path / "data.yaml").write_text("names: [cone, pole]\ntrain: images\nval: images\n")
    frames = read_set(tmp_path)
    assert frames.objects.class_id.tolist() == [0, 1, 0]
    np.testing.assert_allclose(frames.objects.box, [[24, 12, 40, 36], [24, 12, 40, 36], [24, 18, 40, 30]])
    (line,) = frames.losses.lines()
    assert line.startswith("1 label that stands twice: ")
    assert "a.txt:2" in line


def test_annotations_of_coco_that_stand_twice_count_once(tmp_path):
    frames = read_set(coco(tmp_path / "a.json", [[24, 12, 16, 24]] * 3 + [[1, 1, 5, 5]]))
    assert len(frames.objects) == 2
    assert frames.losses.lines()[0].startswith("2 labels that stand twice: ")


def test_what_simjudge_has_written_is_what_it_was_given(tmp_path):
    objects = Objects.build([0, 0], [1, 1], [[1, 1, 9, 9]] * 2, [4, 5])
    made = FrameSet.build("x", [(40, 30)], objects, class_names={1: "cone"}, frame_name=["a"])
    for to in ("coco", "yolo"):
        write_set(made, tmp_path / to, to)
        assert read_set(tmp_path / to).objects.instance.tolist() == [4, 5]


def test_corners_are_refused_where_the_areas_tell(tmp_path):
    corners, areas = [[24, 12, 40, 36], [1, 2, 11, 12]], [384, 100]
    with pytest.raises(SimjudgeError, match="areas that it states are those of boxes x0, y0, x1, y1"):
        read_set(coco(tmp_path / "a.json", corners, areas))
    assert len(read_set(coco(tmp_path / "b.json", corners, [40 * 36, 132])).objects) == 2
    assert len(read_set(coco(tmp_path / "c.json", corners)).objects) == 2
    assert len(read_set(coco(tmp_path / "d.json", corners, [384, 132])).objects) == 2


@pytest.mark.parametrize("corners", [True, False])
def test_corners_are_suspected_where_boxes_reach_beyond_the_pictures(tmp_path, caplog, corners):
    boxes = [[5 + 3 * i, 6 + 2 * i, 14, 12] for i in range(12)]
    rows = [[x, y, x + w, y + h] if corners else [x, y, w, h] for x, y, w, h in boxes]
    labels = coco(tmp_path / "a.json", rows)
    read = read_set(labels)
    beyond = sum(x0 + x1 > read.size[0, 0] + 1 or y0 + y1 > read.size[0, 1] + 1 for x0, y0, x1, y1 in rows)
    said = f"{beyond} of 12 boxes reach beyond their pictures"
    assert (f"a.json: {said}" in caplog.text) == corners
    ids = {image["id"] for image in json.loads(labels.read_text())["images"]}
    results = [{"image_id": min(ids), "category_id": 1, "score": 0.5, "bbox": row} for row in rows]
    (tmp_path / "found.json").write_text(json.dumps(results))
    read_predictions(tmp_path / "found.json", read, labels)
    assert (f"found.json: {said}" in caplog.text) == corners


def test_shares_of_the_picture_are_refused(tmp_path):
    shares = [[0.375, 0.25, 0.25, 0.5], [0.1, 0.1, 0.2, 0.2]]
    with pytest.raises(SimjudgeError, match="all boxes lie between 0 and 1: they are shares of the picture"):
        read_set(coco(tmp_path / "a.json", shares))
    assert len(read_set(coco(tmp_path / "b.json", [*shares, [3, 4, 5, 6]])).objects) == 3
    assert len(read_set(coco(tmp_path / "c.json", [[0, 0, 1, 1]])).objects) == 1


def test_numbers_of_images_may_be_texts(tmp_path):
    frames = read_set(coco(tmp_path / "a.json", [[24, 12, 16, 24]], image_id="1"))
    assert (len(frames.objects), frames.losses.lines()) == (1, [])


def foreign(folder, form, boxes):
    """One picture with boxes of a class, in a format that others write."""
    folder.mkdir()
    picture = np.zeros((48, 64, 3), np.uint8)
    if form == "labelme":
        cv2.imwrite(str(folder / "a.png"), picture)
        shapes = [{"label": "cone", "points": [box[:2], box[2:]], "shape_type": "rectangle"} for box in boxes]
        content = {"shapes": shapes, "imagePath": "a.png", "imageHeight": 48, "imageWidth": 64}
        (folder / "a.json").write_text(json.dumps(content))
        return folder
    inside, labels = {"voc": ("JPEGImages", "Annotations"), "kitti": ("image_2", "label_2")}[form]
    for name in (inside, labels):
        (folder / name).mkdir()
    cv2.imwrite(str(folder / inside / "000000.png"), picture)
    if form == "kitti":
        rows = [f"Cone 0 0 0 {' '.join(map(str, box))} 1 1 1 0 0 5 0\n" for box in boxes]
        (folder / labels / "000000.txt").write_text("".join(rows))
        return folder
    sides = ("xmin", "ymin", "xmax", "ymax")
    objects = ["".join(f"<{side}>{value}</{side}>" for side, value in zip(sides, box, strict=True)) for box in boxes]
    text = "".join(f"<object><name>cone</name><bndbox>{each}</bndbox></object>" for each in objects)
    size = "<size><width>64</width><height>48</height></size>"
    (folder / labels / "000000.xml").write_text(f"<annotation><filename>000000.png</filename>{size}{text}</annotation>")
    return folder


@pytest.mark.parametrize("form", ["labelme", "voc", "kitti"])
def test_repeats_and_shares_are_seen_in_every_format_of_others(tmp_path, form):
    frames = read_set(foreign(tmp_path / "twice", form, [[24, 12, 40, 36], [24, 12, 40, 36], [1, 2, 9, 9]]))
    assert len(frames.objects) == 2
    assert frames.losses.lines()[0].startswith("1 label that stands twice: ")
    with pytest.raises(SimjudgeError, match="all boxes lie between 0 and 1: they are shares of the picture"):
        read_set(foreign(tmp_path / "shares", form, [[0.375, 0.25, 0.625, 0.75], [0.1, 0.2, 0.5, 0.6]]))
