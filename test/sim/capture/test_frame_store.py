"""Finished frames in a folder: kept whole, found again, never mixed with those of another plan."""

import hashlib
import json

import numpy as np
import pytest

from simjudge.core.arrays import hash_value
from simjudge.core.errors import SimjudgeError
from simjudge.core.images import EncodedImage, encode_png
from simjudge.core.object_tables import Objects
from simjudge.sim.capture.frame_store import FrameStore
from simjudge.sim.scene.model import PointLight

PLAN = {"seed": 1, "scene": {"sha256": "ab"}}
PICTURES = [np.full((6, 8, 3), 40 * index, np.uint8) for index in range(4)]


def objects(index):
    box, numbers = [[i, 0, i + 2, 3] for i in range(index)], np.arange(index)
    return Objects.build([0] * index, [1] * index, box, numbers, distance=numbers / 3, visible=numbers / 7)


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
    for name in ("instance", "distance", "visible"):
        np.testing.assert_array_equal(getattr(found.objects, name)[3:], getattr(objects(3), name))
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

    store.fill(range(4), observe, lambda done, total: told.append((done, total)))
    assert looked == [0, 1, 3]
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_an_end_in_the_middle_keeps_what_was_looked_at(tmp_path):
    store = FrameStore.beside(tmp_path / "out", PLAN)

    def observe(index):
        if index == 2:
            raise KeyboardInterrupt
        return lambda: add(store, index)

    with pytest.raises(KeyboardInterrupt):
        store.fill(range(4), observe, lambda *_: None)
    assert [store.has(index) for index in range(4)] == [True, True, False, False]


def test_an_error_while_finishing_is_raised(tmp_path):
    store = FrameStore.beside(tmp_path / "out", PLAN)

    def fail():
        raise SimjudgeError("the disk is full")

    with pytest.raises(SimjudgeError, match="the disk is full"):
        store.fill(range(4), lambda _: fail, lambda *_: None)


# Fingerprints.


def light(**changes):
    return PointLight(**{"position": (0.0, 0.0, 1.0), "intensity": (1.0, 1.0, 1.0), "range": 2.0, **changes})


def test_a_fingerprint_follows_from_content_alone():
    assert hash_value({"a": 1, "b": [light(), np.arange(3)]}) == hash_value({"b": [light(), np.arange(3)], "a": 1})
    different = [
        1,
        1.0,
        "1",
        True,
        None,
        [1],
        (1, 2),
        {"a": 1},
        np.arange(3),
        np.arange(3.0),
        np.arange(4),
        light(),
        light(range=2.5),
        [light()],
        json.dumps([1]),
        b"1",
    ]
    assert len({hash_value(value) for value in different}) == len(different)


SCALARS = [np.float64(0.1), np.float64("nan"), np.float64(1e16), np.float32(0.1), np.float16(1e-5), np.int64(-7)]
SCALARS += [np.uint8(3), np.bool_(1), np.bool_(0), np.str_("a'b"), np.bytes_(b"a"), np.complex64(1 + 2j)]
SCALARS += [np.longdouble("0.1"), np.complex128(-1j)]


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="shows scalars otherwise")
@pytest.mark.parametrize("value", SCALARS, ids=repr)
def test_scalars_have_the_fingerprint_that_numpy_2_gave_them(value):
    """So that frames and results kept so far are known again, and under NumPy 1 too, which shows no type."""
    expected = hashlib.sha256(f"{type(value).__name__} {value!r} ".encode()).hexdigest()
    assert hash_value(value) == expected
    with np.printoptions(legacy="1.25"):
        assert "np." not in repr(value)
        assert hash_value(value) == expected


def test_what_has_no_content_has_no_fingerprint():
    with pytest.raises(SimjudgeError, match="function: nothing to take a fingerprint of"):
        hash_value([1, {"f": lambda: 0}])


def kept(tmp_path):
    """Four frames of a run that was killed."""
    store = FrameStore.beside(tmp_path / "out", PLAN)
    for index in range(4):
        image, about = EncodedImage(encode_png(PICTURES[index]), ".png"), {"camera": [0.1, 1 / 3]}
        store.add(index, image, objects(index), about, label_images={"semantic": encode_png(PICTURES[index])})
    return store


def cut(data):
    return data[: len(data) // 2]


def flip(data):
    return data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :]


@pytest.mark.parametrize("damage", [cut, flip, lambda _: b"", lambda _: b"[]", lambda _: b'{"sha256": 1}'])
@pytest.mark.parametrize("name", ["000002.png", "000002.semantic.png", "000002.json", "plan.json"])
def test_what_is_damaged_is_made_again_and_said(tmp_path, name, damage):
    """A cut plan, a cut picture, a flipped byte: never a traceback, never in the result."""
    file = kept(tmp_path).folder / name
    file.write_bytes(damage(file.read_bytes()))
    lines, made = [], []
    store = FrameStore.beside(tmp_path / "out", PLAN)

    def observe(index):
        made.append(index)
        return lambda: store.add(index, EncodedImage(encode_png(PICTURES[index]), ".png"), objects(index))

    with store.kept_if_stopped(4, lines.append):
        store.fill(range(4), observe, lambda _done, _count: None)
    assert made == ([] if name == "plan.json" else [2])
    said = f"note: 1 kept frames in {store.folder} are damaged and made again: 000002"
    assert lines == ([] if name == "plan.json" else [said])
    assert json.loads((store.folder / "plan.json").read_text())["plan"] == PLAN
    found = store.frames("x", list("abcd"), np.arange(4), (8, 6), {1: "red"})
    for index, picture in enumerate(PICTURES):
        np.testing.assert_array_equal(found.images.read(index), picture)
    assert found.objects.frame.tolist() == [1, 2, 2, 3, 3, 3]


def test_every_flipped_bit_of_a_kept_frame_is_found(tmp_path):
    store = kept(tmp_path)
    for name in ("000003.png", "000003.semantic.png", "000003.json"):
        whole = (store.folder / name).read_bytes()
        for place in range(len(whole)):
            (store.folder / name).write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
            assert not store._is_whole(3) or json.loads((store.folder / name).read_bytes()) == json.loads(whole)
        (store.folder / name).write_bytes(whole)
        assert store._is_whole(3)


def test_frames_of_another_plan_are_not_taken_where_the_plan_is_lost(tmp_path):
    store = kept(tmp_path)
    (store.folder / "plan.json").unlink()
    other = FrameStore.beside(tmp_path / "out", {**PLAN, "seed": 2})
    lines = []
    with other.kept_if_stopped(4, lines.append):
        assert not any(other.has(index) for index in range(4))
    assert "4 kept frames" in lines[0]


def test_a_link_is_not_followed(tmp_path):
    """Whoever may write beside the output could otherwise have frames written, or files removed, elsewhere."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".out.partial").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SimjudgeError, match="is no folder of unfinished frames but a link or a file"):
        FrameStore.beside(tmp_path / "out", PLAN)
    (tmp_path / ".file.partial").write_text("x")
    with pytest.raises(SimjudgeError, match="but a link or a file"):
        FrameStore.beside(tmp_path / "file", PLAN)
    assert not list((tmp_path / "elsewhere").iterdir())
