"""The plain JSON: a bare list of frames, what else it may hold, and what is wrong with it."""

import json
from unittest.mock import MagicMock

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages, FileImages
from simjudge.core.object_tables import Objects
from simjudge.data.formats.plain_json import read_plain_json, write_plain_json
from simjudge.data.sets import read_set, sniff_format

OBJECT = {"class": 1, "box": [1.5, 2, 11, 22]}
FRAME = {"size": [40, 30], "objects": [OBJECT], "predictions": [OBJECT | {"score": 0.5}]}


def written(folder, content):
    path = folder / "set.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_a_bare_list(tmp_path):
    path = written(tmp_path, [FRAME, {"size": [40, 30], "objects": []}, {"size": [8, 9], "stamp": 5}])
    assert sniff_format(path) == "json"
    frames = read_plain_json(path)
    assert list(frames.frame_name) == ["000000", "000001", "0_000000005"]
    assert frames.labelled.tolist() == [True, True, False]
    assert frames.predicted.tolist() == [True, False, False]
    np.testing.assert_array_equal(frames.objects.box, [[1.5, 2, 11, 22]])
    assert frames.predictions.score.tolist() == [0.5]
    assert frames.name == "set"


def test_a_name_of_null_is_no_name(tmp_path):
    path = written(tmp_path, [{"size": [8, 9], "name": None}, {"size": [8, 9], "name": None, "stamp": 5}])
    assert list(read_plain_json(path).frame_name) == ["000000", "0_000000005"]


def test_what_a_bare_list_can_hold_is_written_as_one(tmp_path):
    path = written(tmp_path, [FRAME, {"size": [40, 30], "objects": [], "predictions": []}])
    write_plain_json(read_plain_json(path), tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text()) == json.loads(path.read_text())


def test_class_names_make_it_an_object(tmp_path):
    path = written(tmp_path, {"class_names": {"1": "red"}, "frames": [FRAME | {"name": "x"}]})
    write_plain_json(read_plain_json(path), tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text()) == json.loads(path.read_text())


def test_images_that_are_files_below_are_named_and_others_written(tmp_path, image):
    source = image(tmp_path / "out/in" / "a.jpg")
    frames = FrameSet.build("x", [(40, 30)], images=FileImages([source]))
    write_plain_json(frames, tmp_path / "out/x.json")
    assert json.loads((tmp_path / "out/x.json").read_text())[0]["image"] == "in/a.jpg"
    assert read_plain_json(tmp_path / "out/x.json").images.read_encoded(0).data == source.read_bytes()
    source.unlink()
    frames = read_plain_json(tmp_path / "out/x.json")
    assert frames.images is None
    assert dict(frames.losses.counts) == {"images that are named but missing": 1}
    elsewhere = image(tmp_path / "elsewhere" / "a.jpg")
    frames = FrameSet.build("z", [(40, 30)], images=FileImages([elsewhere]))
    write_plain_json(frames, tmp_path / "out/z.json")
    elsewhere.unlink()
    assert read_set(tmp_path / "out/z.json").images.paths[0] == tmp_path / "out/z.images/000000.jpg"
    frames = FrameSet.build("y", [(40, 30)], images=ArrayImages([np.full((30, 40, 3), 7, np.uint8)]))
    write_plain_json(frames, tmp_path / "out/y.json")
    assert (tmp_path / "out/y.images/000000.png").is_file()
    assert (read_plain_json(tmp_path / "out/y.json").images.read(0) == 7).all()
    assert [path.name for path in (tmp_path / "out/y.images").iterdir()] == ["000000.png"]


def test_images_whose_json_was_never_written_are_replaced_by_the_next_run(tmp_path, monkeypatch):
    frames = FrameSet.build("y", [(40, 30)], images=ArrayImages([np.full((30, 40, 3), 7, np.uint8)]))
    with monkeypatch.context() as patched:
        patched.setattr(json, "dumps", MagicMock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            write_plain_json(frames, tmp_path / "y.json")
    assert (tmp_path / "y.images").is_dir()
    write_plain_json(frames, tmp_path / "y.json")
    assert [path.name for path in (tmp_path / "y.images").iterdir()] == ["000000.png"]
    (tmp_path / "y.json").unlink()
    with pytest.raises(SimjudgeError, match=r"y.images: exists already"):
        write_plain_json(frames, tmp_path / "y.json")


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"box": [1, 2, 3]}, "malformed rows"),
        ({"box": [1, 2, 3, "x"]}, "malformed rows"),
        ({"box": [1, 2, 1, 5]}, "boxes with zero area"),
        ({"box": [4, 2, 1, 5]}, "inverted boxes"),
        ({"box": [1, 2, float("nan"), 5]}, "boxes with NaN or infinite coordinates"),
        ({"box": [41, 2, 43, 5]}, "boxes outside the image"),
        ({"class": 2}, "class ids without a name"),
        ({"class": 1.5}, "class ids that are not a whole number from 0 to 2147483647"),
        ({"class": None}, "class ids that are not a whole number from 0 to 2147483647"),
        ({"class": []}, "class ids that are not a whole number from 0 to 2147483647"),
        ({"class": [1, 2]}, "class ids that are not a whole number from 0 to 2147483647"),
        ({"class": {}}, "class ids that are not a whole number from 0 to 2147483647"),
        ({"class": 123456789012345678901234567890}, "class ids that are not a whole number from 0 to 2147483647"),
        ({"instance": 123456789012345678901234567890}, "malformed rows"),
        ({"mask": {"size": 5, "counts": "1"}}, "unusable masks (the box is kept)"),
        ({"score": 1.01}, "scores outside [0, 1]"),
        ({"score": "high"}, "malformed rows"),
        ({"mask": {"size": [1, 1], "counts": "0"}}, "unusable masks (the box is kept)"),
    ],
)
def test_bad_rows(tmp_path, change, kind):
    frame = FRAME | {"predictions": [FRAME["predictions"][0], FRAME["predictions"][0] | change]}
    frames = read_plain_json(written(tmp_path, {"class_names": {"1": "red"}, "frames": [frame]}))
    assert dict(frames.losses.counts) == {kind: 1}
    assert "set.json: frame 0 prediction 1" in frames.losses.examples[kind][0]


@pytest.mark.parametrize("size", [[0, 30], [40], [40.5, 30], ["a", 1], None, 7, [-3, 3]])
def test_frames_without_a_size(tmp_path, size):
    frames = read_plain_json(written(tmp_path, [FRAME, FRAME | {"size": size}]))
    assert len(frames) == 1
    assert dict(frames.losses.counts) == {"frames without a size": 1}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[", "set.json:1: not valid JSON"),
        ("", "not a data set that simjudge knows"),
        ("[]", "holds COCO results only"),
        ("{}", "neither COCO annotations nor a list of frames"),
        ("[1, 2]", "neither COCO annotations nor a list of frames"),
        ({"frames": [FRAME], "class_names": ["red"]}, '"class_names" is not like'),
        ([FRAME | {"name": "x"}, FRAME | {"name": "x"}], "two frames are called x"),
        ([FRAME | {"stamp": "now"}], "stamp now is not a number of nanoseconds"),
        ([FRAME | {"stamp": 2**70}], "is not a number of nanoseconds"),
    ],
)
def test_unusable_files(tmp_path, content, message):
    with pytest.raises(SimjudgeError) as caught:
        read_set(written(tmp_path, content))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_objects_that_are_no_list(tmp_path):
    frames = read_plain_json(written(tmp_path, [FRAME | {"objects": {"class": 1}}]))
    assert not frames.labelled.any()
    assert sum(frames.losses.counts.values()) == 1


def test_a_hundred_thousand_objects_are_a_few_arrays(tmp_path):
    random = np.random.default_rng(3)
    low = random.uniform(0, 600, (100_000, 2))
    box = np.concatenate([low, low + 20], 1)
    frame = np.sort(random.integers(0, 1400, 100_000))
    frames = FrameSet.build("big", np.full((1400, 2), 720), Objects.build(frame, np.ones(100_000), box))
    write_plain_json(frames, tmp_path / "big.json")
    back = read_plain_json(tmp_path / "big.json")
    np.testing.assert_array_equal(back.objects.box, box)


def test_a_picture_of_another_size_or_of_none_is_left_out(tmp_path, image):
    image(tmp_path / "a.png")
    image(tmp_path / "b.png", (20, 30))
    (tmp_path / "c.png").write_text("root:x:0:0:root:/root:/bin/bash")
    (tmp_path / "d.png").write_text("%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 40 30\n")
    path = written(tmp_path, [{"name": n, "size": [40, 30], "image": f"{n}.png", "objects": [OBJECT]} for n in "abcd"])
    frames = read_set(path)
    assert list(frames.frame_name) == ["a"]
    assert dict(frames.losses.counts) == {"images of another size than annotated": 1, "unreadable images": 2}
    assert "set.json: frame 1: " in frames.losses.lines()[0]
    assert "b.png is 20x30, said 40x30" in frames.losses.lines()[0]
    assert "set.json: frame 2: " in frames.losses.lines()[1]
