"""`simjudge data join` end to end."""

import numpy as np
import pytest
from support import processes

from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages
from simjudge.core.object_tables import Objects, Predictions
from simjudge.data.sets import read_set, write_set


def run(*arguments):
    return processes.run(
        [*processes.SIMJUDGE, "join", *map(str, arguments)], capture_output=True, text=True, check=False
    )


def made(name, seed, names, stamps=None):
    rng = np.random.default_rng(seed)
    pictures = [rng.integers(0, 256, (24, 32, 3), np.uint8) for _ in range(3)]
    objects = Objects.build([0, 1, 2], list(names), [[1, 2, 9, 9], [3, 3, 8, 8], [0, 0, 5, 5]])
    found = Predictions.build([0], [min(names)], [[1, 2, 9, 8]], [0.9])
    return FrameSet.build(
        name,
        [[32, 24]] * 3,
        objects,
        found,
        stamp=stamps,
        predicted=[True, True, False],
        class_names=names,
        images=ArrayImages(pictures),
    )


@pytest.fixture
def inputs(tmp_path):
    """A YOLO folder and a recording of the same classes under other ids."""
    write_set(made("site", 1, {0: "red", 1: "green", 2: "blue"}), tmp_path / "site", "yolo")
    write_set(made("drive", 2, {1: "red", 2: "blue", 3: "green"}, [10, 20, 30]), tmp_path / "drive.mcap")
    return [tmp_path / "site", tmp_path / "drive.mcap"]


@pytest.mark.parametrize(("out", "to"), [("all", "yolo"), ("all", "coco"), ("all", "cvat"), ("all.mcap", None)])
def test_a_folder_and_a_recording_become_one_set(inputs, tmp_path, out, to):
    done = run(*inputs, tmp_path / out, *([] if to is None else ["--to", to]))
    assert done.returncode == 0, done.stderr
    assert "6 frames, 6 objects, 2 predictions" in done.stderr
    parts, whole = [read_set(path) for path in inputs], read_set(tmp_path / out)
    assert sorted(whole.class_names.values()) == ["blue", "green", "red"]
    number = {name: i for i, name in enumerate(whole.frame_name)}
    for part in parts:
        for i in range(3):
            j = number[part.frame_name[i]] if to else parts.index(part) * 3 + i
            assert whole.predicted[j] == part.predicted[i]
            assert np.array_equal(whole.images.read(j), part.images.read(i))
            for mine, theirs in ((whole.objects, part.objects), (whole.predictions, part.predictions)):
                a, b = mine.frame == j, theirs.frame == i
                np.testing.assert_allclose(mine.box[a], theirs.box[b], atol=1e-6)
                assert [whole.class_name(int(k)) for k in mine.class_id[a]] == [
                    part.class_name(int(k)) for k in theirs.class_id[b]
                ]


def test_what_a_set_lost_is_said(inputs, tmp_path):
    text = next((inputs[0]).rglob("labels/**/*.txt"))
    text.write_text(text.read_text() + "0 0.5 0.5 0 0\n")
    done = run(*inputs, tmp_path / "all.json")
    assert done.returncode == 3
    assert "zero" in done.stderr
    assert text.name in done.stderr
    assert len(read_set(tmp_path / "all.json")) == 6


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["SITE", "o.json"], 2, "nothing to join it with"),
        (["SITE", "SITE", "o.json"], 2, "given twice"),
        (["SITE", "DRIVE", "SITE"], 2, "is an input"),
        (["SITE", "DRIVE", "o"], 2, "needs --to"),
        (["SITE", "nowhere", "o.json"], 1, "nowhere: does not exist"),
        (["SITE", "bare.json", "o.json"], 1, "bare: class 1 has no name, while other"),
        (["DRIVE", "again.mcap", "o.mcap"], 1, "has the same stamp as"),
    ],
)
def test_bad_requests_are_one_line_and_leave_nothing(inputs, tmp_path, arguments, code, says):
    write_set(FrameSet.build("bare", [[9, 9]], Objects.build([0], [1], [[1, 1, 5, 5]])), tmp_path / "bare.json")
    write_set(made("again", 3, {1: "red", 2: "blue", 3: "green"}, [10, 20, 30]), tmp_path / "again.mcap")
    places = {"SITE": inputs[0], "DRIVE": inputs[1]}
    done = run(*(places.get(a, tmp_path / a) for a in arguments))
    assert done.returncode == code, done.stderr
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not list(tmp_path.glob("o*"))
    assert not list(tmp_path.glob(".*"))
