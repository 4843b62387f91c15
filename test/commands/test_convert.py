"""`simjudge data convert`, as a person runs it."""

import json
import zlib

import numpy as np
import pytest
from cloud_samples import ground, table
from support import processes

import simjudge as sj
from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages, encode_png
from simjudge.core.object_tables import Objects, Predictions
from simjudge.data.clouds import Cloud
from simjudge.data.formats.pcd import write_pcd
from simjudge.data.sets import read_set, write_set


def run(*arguments):
    return processes.run(
        [*processes.SIMJUDGE, "convert", *map(str, arguments)], capture_output=True, text=True, check=False
    )


@pytest.fixture
def source(tmp_path):
    objects = Objects.build([0, 1], [1, 2], [[3, 4, 9, 10], [3, 4, 19, 20]], [5, 6])
    found = Predictions.build([0], [1], [[3, 4, 9, 11]], [0.5])
    pictures = ArrayImages([np.full((30, 40, 3), 60 * i, np.uint8) for i in range(2)])
    names = {1: "red", 2: "green"}
    stamps = [10**9, 2 * 10**9]
    frames = FrameSet.build("s", [(40, 30)] * 2, objects, found, stamp=stamps, class_names=names, images=pictures)
    write_set(frames, tmp_path / "source", "yolo")
    return tmp_path / "source"


def checksums(frames):
    return [zlib.crc32(frames.images.read_encoded(i).data) for i in range(len(frames))]


@pytest.mark.long
def test_through_every_format(source, tmp_path):
    place = source
    steps = [("a.mcap",), ("b", "--to", "coco"), ("c.db3",), ("d", "--to", "cvat"), ("e", "--to", "cpd"), ("f.json",)]
    for name, *more in [*steps, ("g", "--to", "yolo")]:
        done = run(place, tmp_path / name, *more)
        assert done.returncode == 0, done.stderr
        assert done.stdout == ""
        assert f"{name}: 2 frames, 2 objects, 1 predictions" in done.stderr
        place = tmp_path / name
    before, after = read_set(source), read_set(place)
    np.testing.assert_array_equal(after.objects.box, before.objects.box)
    assert after.objects.instance.tolist() == [5, 6]
    assert after.predictions.score.tolist() == [0.5]
    assert after.class_names == before.class_names
    assert checksums(after) == checksums(before)
    for part in ("images", "labels", "predictions"):
        files = {p.name: p.read_bytes() for p in (source / part).iterdir()}
        assert {p.name: p.read_bytes() for p in (place / part).iterdir()} == files


def test_hand_labels_for_a_recording(source, tmp_path):
    bare = read_set(source)
    bare = FrameSet.build("bag", bare.size, stamp=bare.stamp, images=bare.images)
    write_set(bare, tmp_path / "bag.mcap")
    assert run(tmp_path / "bag.mcap", tmp_path / "work", "--to", "yolo").returncode == 0
    (tmp_path / "work/labels/2_000000000.txt").write_text("0 0.5 0.5 0.5 0.5\n")
    (tmp_path / "work/data.yaml").write_text("names: [cone]\ntrain: images\nval: images\n")
    done = run(tmp_path / "bag.mcap", tmp_path / "out.mcap", "--labels", tmp_path / "work")
    assert done.returncode == 0, done.stderr
    frames = read_set(tmp_path / "out.mcap")
    assert frames.labelled.tolist() == [False, True]
    assert frames.class_names == {0: "cone"}
    np.testing.assert_array_equal(frames.objects.box, [[10, 7.5, 30, 22.5]])


def test_stamps_that_differ_need_a_tolerance(source, tmp_path):
    labels = tmp_path / "labels.json"
    frame = {"size": [40, 30], "stamp": 10**9 + 4_000_000, "objects": [{"class": 1, "box": [1, 2, 3, 4]}]}
    labels.write_text(json.dumps([frame]))
    done = run(source, tmp_path / "no.json", "--labels", labels)
    assert done.returncode == 1
    assert "--label-tolerance" in done.stderr
    assert not (tmp_path / "no.json").exists()
    done = run(source, tmp_path / "yes.json", "--labels", labels, "--label-tolerance", "0.005")
    assert done.returncode == 0, done.stderr
    assert read_set(tmp_path / "yes.json").labelled.tolist() == [True, False]


def test_losses_are_counted_and_the_exit_code_says_so(source, tmp_path):
    label = source / "labels/1_000000000.txt"
    label.write_text(label.read_text() + "1 .5 .5 0 .1\n")
    done = run(source, tmp_path / "x.json")
    assert done.returncode == 3
    assert "warning: left out 1 box with zero area: " in done.stderr
    assert "1_000000000.txt:2" in done.stderr
    assert len(read_set(tmp_path / "x.json").objects) == 2


@pytest.mark.parametrize(
    ("out", "more", "code", "message"),
    [
        ("folder", [], 2, "a folder needs --to"),
        ("x.json", ["--to", "coco"], 2, "leave out --to coco"),
        ("folder", ["--to", "voc"], 2, "no such format"),
        ("source", ["--to", "yolo"], 2, "is the input"),
        ("source/images/z", ["--to", "yolo"], 2, "which it would change; choose a place outside"),
        ("taken.json", [], 1, "exists already"),
        ("x.json", ["--labels", "gone"], 1, "gone: does not exist"),
        ("x.json", ["--label-tolerance", "-1"], 2, "label-tolerance"),
    ],
)
def test_what_cannot_be(source, tmp_path, out, more, code, message):
    (tmp_path / "taken.json").write_text("mine")
    done = run(source, tmp_path / out, *more)
    assert done.returncode == code
    assert message in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.stderr
    assert (tmp_path / "taken.json").read_text() == "mine"


def test_a_recording_of_images_is_named_by_its_ending(source, tmp_path):
    assert run(source, tmp_path / "x.mcap").returncode == 0
    done = run(tmp_path / "x.mcap", tmp_path / "folder", "--to", "bag")
    assert done.returncode == 2
    assert "--to bag: no such format of a folder; one of" in done.stderr
    assert "a file ends in .json, .mcap, .db3" in " ".join(done.stderr.split())


@pytest.mark.parametrize("to", [("o.mcap",), ("o", "--to", "pcd"), ("o", "--to", "kitti")])
def test_clouds_that_could_not_be_written_are_not_counted_as_written(tmp_path, to):
    for index in range(4):
        write_pcd(tmp_path / "in" / f"{index}.pcd", Cloud(table(ground(seed=index))))
    (tmp_path / "in" / "1.pcd").write_bytes(b"junk")
    done = run(tmp_path / "in", tmp_path / to[0], *to[1:])
    assert done.returncode == 3
    assert f"{to[0]}: 3 clouds\n" in done.stderr
    assert "left out 1 cloud that cannot be read" in done.stderr
    assert len(sj.read_clouds(tmp_path / to[0])) == 3


@pytest.mark.parametrize("to", [("o.mcap",), ("o.db3",), ("o.json",), ("o", "--to", "yolo")])
def test_kitti_pictures_without_scans_go_wherever_pictures_go(tmp_path, to):
    for folder in ("image_2", "label_2"):
        (tmp_path / "in" / folder).mkdir(parents=True)
    row = "Car 0.00 0 -1.5 10 10 30 20 1.5 1.6 3.9 1.0 1.5 20.0 -1.4\n"
    for index in range(2):
        (tmp_path / "in" / "label_2" / f"{index:06d}.txt").write_text(row)
        (tmp_path / "in" / "image_2" / f"{index:06d}.png").write_bytes(encode_png(np.zeros((30, 40, 3), np.uint8)))
    done = run(tmp_path / "in", tmp_path / to[0], *to[1:])
    assert done.returncode == 0, done.stderr
    written = read_set(tmp_path / to[0])
    assert written.objects.box.tolist() == [[10, 10, 30, 20]] * 2
    assert sj.info(tmp_path / "in").kind == "kitti"
    done = run(tmp_path / "in", tmp_path / "clouds", "--to", "pcd")
    assert "holds no scans (velodyne/*.bin); it is a set of images" in done.stderr
