"""What only a simulator knows of an object, in every format: written, read back, and refused where it cannot be."""

import json

import numpy as np
import pytest
from set_examples import assert_same_set

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages
from simjudge.core.object_tables import Objects
from simjudge.data.sets import read_set, write_set

FILES = {
    "yolo": "set/simjudge.json",
    "cpd": "set/simjudge.json",
    "coco": "set/annotations.json",
    "cvat": "set/annotations.xml",
    "json": "set.json",
}
DISTANCES, SHARES = "distances outside [0, 1e9] m (the box is kept)", "visible shares outside [0, 1] (the box is kept)"


@pytest.fixture
def frames():
    box = [[5, 4, 12, 9], [1, 2, 3.5, 4], [1, 2, 8, 9]]
    objects = Objects.build(
        [0, 0, 1], [1, 1, 1], box, [11, 12, 13], distance=[12.5, np.nan, 4.0], visible=[1.0, 0.625, np.nan]
    )
    images = ArrayImages([np.zeros((30, 40, 3), np.uint8)] * 2)
    names = {"frame_name": ["one", "two"], "class_names": {1: "red"}}
    return FrameSet.build("x", [(40, 30)] * 2, objects, images=images, **names)


def written(frames, kind, folder):
    write_set(frames, folder / ("set.json" if kind == "json" else "set"), None if kind == "json" else kind)
    return folder / FILES[kind]


@pytest.mark.parametrize("kind", FILES)
def test_they_come_back(frames, tmp_path, kind):
    text = written(frames, kind, tmp_path).read_text()
    assert text.count("12.5") == text.count("0.625") == 1
    assert "nan" not in text.lower()
    assert_same_set(frames, read_set(tmp_path / ("set.json" if kind == "json" else "set")))


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize(
    ("old", "new", "lost"),
    [
        ("12.5", "-12.5", DISTANCES),
        ("12.5", "1e400", DISTANCES),
        ("12.5", "NaN", DISTANCES),
        ("0.625", "1.625", SHARES),
        ("0.625", "-0.001", SHARES),
        ("0.625", "Infinity", SHARES),
    ],
)
def test_values_out_of_range_are_counted_and_the_boxes_kept(frames, tmp_path, kind, old, new, lost):
    file = written(frames, kind, tmp_path)
    file.write_text(file.read_text().replace(old, new))
    back = read_set(file.parent if file.parent != tmp_path else file)
    assert dict(back.losses.counts) == {lost: 1}
    (example,) = back.losses.examples[lost]
    assert example.startswith(str(file))
    row = 0 if old == "12.5" else 1
    named = {"json": f"frame 0 object {row}", "coco": f"annotation {row}", "cvat": f"image one.png box {row}"}
    assert named.get(kind, f"one object {row}") in example
    np.testing.assert_array_equal(back.objects.box, frames.objects.box)
    assert np.isnan(back.objects.distance).tolist() == [lost == DISTANCES, True, False]
    assert np.isnan(back.objects.visible).tolist() == [False, lost == SHARES, True]


@pytest.mark.parametrize("kind", ["coco", "json"])
def test_what_is_no_number_is_counted(frames, tmp_path, kind):
    file = written(frames, kind, tmp_path)
    file.write_text(file.read_text().replace("12.5", '"far"').replace("0.625", "true"))
    back = read_set(file.parent if kind == "coco" else file)
    assert dict(back.losses.counts) == {DISTANCES: 1, SHARES: 1}
    assert "(far)" in back.losses.examples[DISTANCES][0]


def test_texts_in_cvat_are_somebody_else_s_attributes(frames, tmp_path):
    file = written(frames, "cvat", tmp_path)
    file.write_text(file.read_text().replace(">12.5<", ">far<").replace(">0.625<", "><"))
    back = read_set(file.parent)
    assert not back.losses
    assert np.isnan(back.objects.distance[0])
    assert np.isnan(back.objects.visible[1])


@pytest.mark.parametrize("kind", ["coco", "cvat"])
def test_an_edited_file_wins_over_the_sidecar(frames, tmp_path, kind):
    file = written(frames, kind, tmp_path)
    sidecar = file.with_name("simjudge.json")
    assert "12.5" not in sidecar.read_text()
    file.write_text(file.read_text().replace("12.5", "13.5"))
    assert read_set(file.parent).objects.distance[0] == 13.5


def test_a_sidecar_with_too_few_values_is_damaged(frames, tmp_path):
    file = written(frames, "yolo", tmp_path)
    content = json.loads(file.read_text())
    del content["frames"][0]["objects"]["distance"][0]
    file.write_text(json.dumps(content))
    with pytest.raises(SimjudgeError, match=r"simjudge.json: damaged; remove it"):
        read_set(file.parent)
