"""Finished frames in a folder: kept whole, found again, never mixed with those of another plan."""

import json

import numpy as np
import pytest

from simjudge.capture.frame_store import FrameStore
from simjudge.core.digest import hash_value
from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import Objects
from simjudge.core.images import EncodedImage, encode_png
from simjudge.scene.model import PointLight

PLAN = {"seed": 1, "scene": {"sha256": "ab"}}
PICTURES = [np.full((6, 8, 3), 40 * index, np.uint8) for index in range(4)]


def objects(index):
    return Objects.build([0] * index, [1] * index, [[i, 0, i + 2, 3] for i in range(index)], list(range(index)))


def add(store, index):
    store.add(index, EncodedImage(encode_png(PICTURES[index]), ".png"), objects(index))


def test_frames_are_what_was_added_in_whatever_order(tmp_path):
    store = FrameStore.beside(tmp_path / "out.mcap", PLAN)
    for index in (2, 0, 3, 1):
        assert not store.has(index)
        add(store, index)
        assert store.has(index)
    found = store.frames("x", list("abcd"), np.array([5, 6, 7, 8]), (8, 6), {1: "red"})
    assert (list(found.frame_name), found.stamp.tolist(), found.class_names) == (list("abcd"), [5, 6, 7, 8], {1: "red"})
    assert found.labelled.all()
    assert found.objects.frame.tolist() == [1, 2, 2, 3, 3, 3]
    np.testing.assert_array_equal(found.objects.box[3:], objects(3).box)
    np.testing.assert_array_equal(found.objects.instance[3:], objects(3).instance)
    for index, picture in enumerate(PICTURES):
        np.testing.assert_array_equal(found.images.read(index), picture)


def test_it_is_found_again_and_removed(tmp_path):
    add(FrameStore.beside(tmp_path / "out", PLAN), 1)
    again = FrameStore.beside(tmp_path / "out", {"scene": {"sha256": "ab"}, "seed": 1})
    assert (again.has(0), again.has(1)) == (False, True)
    assert again.folder == tmp_path / ".out.partial"
    again.remove()
    assert list(tmp_path.iterdir()) == []


def test_frames_of_another_plan_are_refused(tmp_path):
    add(FrameStore.beside(tmp_path / "out", PLAN), 1)
    with pytest.raises(
        SimjudgeError, match=r"holds unfinished frames of another run \(camera, seed differ\); go on with"
    ):
        FrameStore.beside(tmp_path / "out", {**PLAN, "seed": 2, "camera": "x"})
    assert FrameStore.beside(tmp_path / "out", PLAN).has(1)


def test_a_frame_without_its_text_is_not_finished(tmp_path):
    """The picture is written first: a stop between the two leaves a frame that is made again."""
    store = FrameStore.beside(tmp_path / "out", PLAN)
    add(store, 1)
    (store.folder / "000001.json").unlink()
    assert not store.has(1)


def test_what_is_missing_is_filled_and_told(tmp_path):
    store = FrameStore.beside(tmp_path / "out", PLAN)
    add(store, 2)
    looked, told = [], []

    def observe(index):
        looked.append(index)
        return lambda: add(store, index)

    store.fill(4, observe, lambda done, total: told.append((done, total)))
    assert looked == [0, 1, 3]
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_an_end_in_the_middle_keeps_what_was_looked_at(tmp_path):
    store = FrameStore.beside(tmp_path / "out", PLAN)

    def observe(index):
        if index == 2:
            raise KeyboardInterrupt
        return lambda: add(store, index)

    with pytest.raises(KeyboardInterrupt):
        store.fill(4, observe, lambda *_: None)
    assert [store.has(index) for index in range(4)] == [True, True, False, False]


def test_an_error_while_finishing_is_raised(tmp_path):
    store = FrameStore.beside(tmp_path / "out", PLAN)

    def fail():
        raise SimjudgeError("the disk is full")

    with pytest.raises(SimjudgeError, match="the disk is full"):
        store.fill(4, lambda _: fail, lambda *_: None)


# Fingerprints.


def light(**changes):
    return PointLight(**{"position": (0.0, 0.0, 1.0), "intensity": (1.0, 1.0, 1.0), "range": 2.0, **changes})


def test_a_fingerprint_follows_from_content_alone():
    assert hash_value({"a": 1, "b": [light(), np.arange(3)]}) == hash_value({"b": [light(), np.arange(3)], "a": 1})
    different = [
        1, 1.0, "1", True, None, [1], (1, 2), {"a": 1}, np.arange(3), np.arange(3.0), np.arange(4), light(),
        light(range=2.5), [light()], json.dumps([1]), b"1",
    ]  # fmt: skip
    assert len({hash_value(value) for value in different}) == len(different)


def test_what_has_no_content_has_no_fingerprint():
    with pytest.raises(SimjudgeError, match="function: nothing to take a fingerprint of"):
        hash_value([1, {"f": lambda: 0}])
