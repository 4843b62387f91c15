"""Unity Perception's SOLO: boxes by corner and size, distances, visible shares, several cameras, damage."""

import json
import shutil

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.data.set_parts import convert
from simjudge.data.sets import read_set, sniff_format

KIND = "type.unity.com/unity.solo."


def box(origin, dimension, name="cone", number=1):
    return {"instanceId": number, "labelId": 7, "labelName": name, "origin": origin, "dimension": dimension}


def boxes(*values):
    return {"@type": f"{KIND}BoundingBox2DAnnotation", "id": "bounding box", "values": list(values)}


def capture(step, annotations, name="camera", kind="RGBCamera", size=(40, 30)):
    return {
        "@type": f"{KIND}{kind}",
        "id": name,
        "position": [0, 1, 0],
        "rotation": [0, 0, 0, 1],
        "filename": f"step{step}.{name}.png",
        "imageFormat": "Png",
        "dimension": list(map(float, size)),
        "projection": "Perspective",
        "annotations": annotations,
    }


@pytest.fixture
def solo(tmp_path, image):
    def write(frames, file="step{}.frame_data.json"):
        root = tmp_path / "solo"
        for (sequence, step), (captures, *metrics) in frames.items():
            folder = root / f"sequence.{sequence}"
            for each in captures:
                image(folder / each.get("filename", "none.png"))
            content = {
                "frame": 3,
                "sequence": sequence,
                "step": step,
                "timestamp": 0.0,
                "captures": captures,
                "metrics": metrics,
            }
            (folder / file.format(step)).write_text(json.dumps(content))
        return root

    return write


@pytest.mark.parametrize("file", ["step{}.frame_data.json", "step.{}.frame.json"])
def test_a_box_is_a_corner_and_a_size(solo, file, tmp_path):
    painted = np.zeros((30, 40), bool)
    painted[4:24, 10:15] = True
    cuboid = {"instanceId": 1, "labelName": "cone", "translation": [2, 3, 6], "size": [1, 1, 1]}
    cuboid = {"@type": f"{KIND}BoundingBox3DAnnotation", "values": [cuboid]}
    seen = {"instanceId": 1, "percentVisible": 0.25, "percentInFrame": 1, "visibilityInFrame": 0.25}
    occlusion = {"@type": f"{KIND}OcclusionMetric", "sensorId": "camera", "values": [seen]}
    found = boxes(box([10, 4], [5, 20]), box([0, 0], [3, 3], "box", 2))
    frames = {(0, k): ([capture(k, [found, cuboid])], occlusion) for k in (0, 2, 10)}
    root = solo({(1, 0): ([capture(0, [])],), **frames}, file)
    assert sniff_format(root) == "solo"
    read = read_set(root)
    assert list(read.frame_name) == ["0_0", "0_2", "0_10", "1_0"]
    assert read.recording == ["sequence.0"] * 3 + ["sequence.1"]
    assert read.labelled.tolist() == [True, True, True, False]
    x0, y0, x1, y1 = (int(side) for side in read.objects.box[0])
    assert painted[y0:y1, x0:x1].all()
    assert painted.sum() == (x1 - x0) * (y1 - y0)
    assert read.class_names == {0: "box", 1: "cone"}
    assert read.objects.class_id.tolist() == [1, 0] * 3
    assert read.objects.instance.tolist() == [1, 2] * 3
    assert read.objects.distance[:2] == pytest.approx([7, np.nan], nan_ok=True)
    assert read.objects.visible[:2] == pytest.approx([0.25, np.nan], nan_ok=True)
    assert not read.losses
    assert len(read_set(root / "sequence.1")) == 1
    convert(root, tmp_path / "out", to="coco")
    assert np.allclose(read_set(tmp_path / "out").objects.box, read.objects.box)


def test_several_cameras_are_frames_of_their_own(solo):
    found = boxes(box([1, 2], [3, 4]))
    frames = read_set(solo({(0, 0): ([capture(0, [found], "left"), capture(0, [found], "right")],)}))
    assert list(frames.frame_name) == ["0_0_left", "0_0_right"]
    assert frames.objects.frame.tolist() == [0, 1]


@pytest.mark.parametrize("parts", [("a", "b"), (".", "b/c")])
def test_data_sets_in_folders_below_are_read(solo, tmp_path, parts):
    made = solo({(0, 0): ([capture(0, [boxes(box([1, 2], [3, 4]))])],)})
    root = tmp_path / "all"
    for part in parts:
        shutil.copytree(made, root / part, dirs_exist_ok=True)
    names = list(read_set(root).frame_name)
    assert names == ["0_0" if part == "." else f"{part}/0_0" for part in parts]


def test_what_cannot_be_used_is_counted(solo):
    bad = [box([1], [3, 4]), box([1, 2], ["x", 4]), box([1, 2], [3, 4], ""), 7]
    bad += [box([50, 1], [3, 3]), box([1, 2], [0, 9])]
    captures = [capture(0, [boxes(*bad), boxes(box([1, 1], [2, 2]))]), capture(0, [], "lidar", "Lidar"), 7]
    root = solo({(0, 0): (captures[:2],), (0, 1): ([capture(1, [])],), (0, 2): ([capture(2, [], size=(99, 30))],)})
    (root / "sequence.0/step1.camera.png").unlink()
    frames = read_set(root)
    assert list(frames.frame_name) == ["0_0", "0_1"]
    assert dict(frames.losses.counts) == {
        "malformed rows": 4,
        "boxes outside the image": 1,
        "boxes with zero area": 1,
        "further bounding box labelers of one capture (the first counts)": 1,
        "captures of other sensors than cameras": 1,
        "images that are named but missing (their labels are kept)": 1,
        "images of another size than annotated": 1,
    }


def test_damage_is_one_clear_line(solo):
    root = solo({(0, 0): ([capture(0, [])],)})
    (root / "sequence.0/step1.frame_data.json").write_text('{"captures": 3}')
    with pytest.raises(SimjudgeError, match=r"step1\.frame_data\.json: no frame of SOLO"):
        read_set(root)
