"""The sidecar never overrules files that were changed after it was written."""

import json

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages
from simjudge.core.object_tables import Masks, Objects, Predictions
from simjudge.data.sets import read_set, write_set


@pytest.fixture
def frames():
    image = np.zeros((30, 40), bool)
    image[4:9, 5:12] = True
    image[6, 7] = False  # a hole, which no polygon holds
    masks = Masks.from_images([image, None, None])
    box = [[5, 4, 12, 9], [1, 2, 3.5, 4], [1, 2, 8, 9]]
    return FrameSet.build(
        "x",
        [(40, 30)] * 3,
        Objects.build([0, 0, 1], [1, 1, 1], box, [11, 12, 13], masks),
        Predictions.build([1], [1], [[1, 2, 8, 9]], [0.25]),
        frame_name=["one", "two", "three"],
        stamp=[30, 20, 10],
        labelled=[True, True, False],
        predicted=[False, True, True],
        class_names={1: "red"},
        images=ArrayImages([np.zeros((30, 40, 3), np.uint8)] * 3),
    )


def test_an_edited_label_file_wins(frames, tmp_path):
    write_set(frames, tmp_path / "s", "yolo")
    label = tmp_path / "s/labels/two.txt"
    label.write_text(label.read_text() + "1 0.5 0.5 0.5 0.5\n")
    back = read_set(tmp_path / "s")
    assert back.objects.instance.tolist() == [11, 12, -1, -1]
    assert list(back.frame_name) == ["one", "two", "three"]
    assert back.stamp.tolist() == [30, 20, 10]
    assert not back.objects.masks.to_image(0, 40, 30)[6, 7]


def test_a_label_file_put_in_makes_a_frame_labelled(frames, tmp_path):
    for kind, folder in (("yolo", "labels"), ("cpd", "labels")):
        write_set(frames, tmp_path / kind, kind)
        assert read_set(tmp_path / kind).labelled.tolist() == [True, True, False]
        (tmp_path / kind / folder / "three.txt").write_text("")
        assert read_set(tmp_path / kind).labelled.tolist() == [True, True, True]


def test_a_label_file_taken_away_is_counted(frames, tmp_path):
    write_set(frames, tmp_path / "s", "yolo")
    (tmp_path / "s/labels/one.txt").unlink()
    back = read_set(tmp_path / "s")
    assert back.labelled.tolist() == [False, True, False]
    assert dict(back.losses.counts) == {"images without a label file": 1}


@pytest.mark.parametrize("kind", ["yolo", "coco", "cvat", "cpd"])
def test_a_image_taken_away_and_one_put_in(frames, tmp_path, image, kind):
    write_set(frames, tmp_path / "s", kind)
    images = "imgs" if kind == "cpd" else "images"
    image(tmp_path / "s" / images / "new.png")
    (tmp_path / "s" / images / "three.png").unlink()
    back = read_set(tmp_path / "s")
    assert back.frame_name[:2] == ["one", "two"]
    assert back.frame_name[-1] == ("three" if kind == "coco" else "new")
    assert back.objects.instance.tolist() == [11, 12, 13]


@pytest.mark.parametrize("kind", ["yolo", "coco", "cvat", "cpd"])
def test_without_the_sidecar_the_files_stand_for_themselves(frames, tmp_path, kind):
    write_set(frames, tmp_path / "s", kind)
    (tmp_path / "s/simjudge.json").unlink()
    back = read_set(tmp_path / "s")
    assert len(back) == 3
    assert len(back.objects) == 3
    np.testing.assert_allclose(np.sort(back.objects.box, 0), np.sort(frames.objects.box, 0), atol=0.2)
    assert (back.stamp == -1).all()


@pytest.mark.parametrize(
    "content",
    ["{", "[]", "{}", '{"frames": [{}]}', '{"frames": [{"name": "one", "size": [0, 1], "stamp": 1}]}', '{"frames": 3}'],
)
def test_a_damaged_sidecar(frames, tmp_path, content):
    write_set(frames, tmp_path / "s", "yolo")
    (tmp_path / "s/simjudge.json").write_text(content)
    with pytest.raises(SimjudgeError) as caught:
        read_set(tmp_path / "s")
    assert "simjudge.json" in str(caught.value)


@pytest.mark.parametrize("damage", [[], {"rows": [1]}, {"instance": 3}])
def test_damaged_rows_in_it(frames, tmp_path, damage):
    write_set(frames, tmp_path / "s", "yolo")
    path = tmp_path / "s/simjudge.json"
    content = json.loads(path.read_text())
    entry = content["frames"][0]["objects"]
    content["frames"][0]["objects"] = {"of": entry["of"]} | damage if isinstance(damage, dict) else damage
    path.write_text(json.dumps(content))
    try:
        assert read_set(tmp_path / "s").losses
    except SimjudgeError as error:
        assert "simjudge.json" in str(error)  # noqa: PT017 - either is right, a traceback is not


@pytest.mark.parametrize("kind", ["yolo", "coco", "cvat"])
def test_what_the_format_holds_is_not_in_it(tmp_path, kind):
    """Boxes, classes and scores stand in the format's own files only."""
    random = np.random.default_rng(2)
    low = np.round(random.uniform(0, 20, (20, 2)), 6)
    box = np.concatenate([low, np.round(low + random.uniform(1, 9, (20, 2)), 6)], 1)
    frame = np.sort(random.integers(0, 3, 20))
    objects = Objects.build(frame, random.integers(0, 2, 20), box)
    found = Predictions.build(frame, random.integers(0, 2, 20), box, random.random(20))
    names = {0: "red", 1: "green"}
    frames = FrameSet.build("x", [(40, 30)] * 3, objects, found, frame_name=["a", "b", "c"], class_names=names)
    write_set(frames, tmp_path / "s", kind)
    content = json.loads((tmp_path / "s/simjudge.json").read_text())
    assert set(content) == {"format", "version", "frames"}
    for entry in content["frames"]:
        assert set(entry) == {"name", "size", "stamp", "picture"}
