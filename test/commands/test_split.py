"""`simjudge data split`, and the dealing behind it."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.processes import simjudge as run

from simjudge.core.errors import UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages
from simjudge.core.object_tables import Objects
from simjudge.data.frame_sequences import FrameSequence
from simjudge.data.set_parts import contiguous_split, random_split
from simjudge.data.sets import read_set, write_set


@given(st.lists(st.integers(0, 30), min_size=3, max_size=60), st.integers(1, 3), st.integers(0, 5))
def test_every_frame_is_in_one_part_and_no_group_in_two(numbers, count, seed):
    groups = [str(n) for n in numbers]
    if len(set(groups)) < count:
        with pytest.raises(UsageError, match="separable"):
            random_split(groups, count, seed)
        return
    parts = random_split(groups, count, seed)
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(groups)))
    held = [{groups[i] for i in part} for part in parts]
    assert sum(map(len, held)) == len(set(groups))
    # The fewest frames get the next group: no part is larger than another by more than the largest group.
    sizes = [len(p) for p in parts]
    assert max(sizes) - min(sizes) <= max(Counter(groups).values())


def test_the_seed_decides_and_the_order_of_frames_does_not():
    names = [f"f{i}" for i in range(40)]
    held = {seed: frozenset(names[i] for i in random_split(names, 2, seed)[0]) for seed in range(6)}
    assert len(set(held.values())) == 6
    backwards = names[::-1]
    assert frozenset(backwards[i] for i in random_split(backwards, 2, 3)[0]) == held[3]
    assert {len(p) for p in random_split(names[:39], 2, 1)} == {19, 20}


@pytest.mark.parametrize(("count", "seed"), [(0, 0), (5, 0), (2, -1)])
def test_what_cannot_be_dealt_is_refused(count, seed):
    with pytest.raises(UsageError):
        random_split(["a", "b", "c"], count, seed)


@pytest.fixture
def photographs(tmp_path):
    """Six photographs, each in two variants as Roboflow names them."""
    rng = np.random.default_rng(0)
    names = [f"p{i}_jpg.rf.{v:08x}" for i in range(6) for v in range(2)]
    pictures = [rng.integers(0, 256, (20, 30, 3), np.uint8) for _ in names]
    objects = Objects.build(range(12), [0, 1] * 6, [[i, 2, i + 8, 9] for i in range(12)])
    frames = FrameSet.build(
        "p", [[30, 20]] * 12, objects, frame_name=names, class_names={0: "x", 1: "y"}, images=ArrayImages(pictures)
    )
    write_set(frames, tmp_path / "set", "yolo")
    return tmp_path / "set"


@pytest.mark.parametrize(("to", "ends"), [("yolo", ""), ("coco", ""), ("mcap", ".mcap"), ("json", ".json")])
def test_parts_are_sets_that_make_up_the_whole(photographs, tmp_path, to, ends):
    done = run("split", photographs, "--parts", 3, "--seed", 4, "--to", to, "--out", tmp_path / "parts")
    assert done.returncode == 0, done.stderr
    assert "12 frames are variants of 6 photographs" in done.stderr
    parts = [read_set(tmp_path / "parts" / f"{n}{ends}") for n in (1, 2, 3)]
    whole = read_set(photographs)
    assert [len(p) for p in parts] == [4, 4, 4]
    assert sorted(n for p in parts for n in p.frame_name) == sorted(whole.frame_name)
    for part in parts:
        assert set(Counter(n.split("_jpg.rf.")[0] for n in part.frame_name).values()) == {2}
        for i, name in enumerate(part.frame_name):
            j = list(whole.frame_name).index(name)
            box = part.objects.box[part.objects.frame == i]
            assert np.allclose(box, whole.objects.box[whole.objects.frame == j], atol=1e-6)
            if part.images is not None and to != "json":
                assert np.array_equal(part.images.read(i), whole.images.read(j))


def test_by_frame_tears_variants_apart(photographs, tmp_path):
    done = run("split", photographs, "--by-frame", "--seed", 1, "--to", "json", "--out", tmp_path / "parts")
    assert done.returncode == 0, done.stderr
    names = [read_set(tmp_path / f"parts/{n}.json").frame_name for n in (1, 2)]
    sources = [{n.split("_jpg.rf.")[0] for n in part} for part in names]
    assert sources[0] & sources[1]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["nowhere", "--out", "o"], 1, "nowhere: does not exist"),
        (["SET", "--parts", "7", "--out", "o"], 2, "7 parts of 6 separable frames"),
        (["SET", "--to", "gif", "--out", "o"], 2, "--to gif: no such format"),
        (["SET", "--out", "SET"], 1, "exists already"),
    ],
)
def test_bad_requests_are_one_line(photographs, tmp_path, arguments, code, says):
    given_here = [str(photographs) if a == "SET" else a for a in arguments]
    given_here = [str(tmp_path / a) if a == "o" else a for a in given_here]
    done = run("split", *given_here)
    assert done.returncode == code
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "o").exists()


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 12)), min_size=1, max_size=40), st.integers(1, 4))
def test_stretches_follow_each_other(places, count):
    """No part is empty, no place is in two, and parts are in order of run and place."""
    run, position = (np.array(column, np.int64) for column in zip(*places, strict=True))
    sequence = FrameSequence(run, position, 1.0, "numbers")
    if len(set(places)) < count:
        with pytest.raises(UsageError, match="separable"):
            contiguous_split(sequence, count)
        return
    parts = contiguous_split(sequence, count)
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(places)))
    held = [sorted({places[i] for i in part}) for part in parts]
    assert all(held)
    assert [place for part in held for place in part] == sorted(set(places))


def test_contiguous_parts_of_a_numbered_folder(tmp_path):
    """Twelve pictures in two variants: three stretches of four, whatever the order of the files."""
    names = [f"drive_{i:03d}_jpg.rf.{v}" for v in "ab" for i in range(12)]
    frames = FrameSet.build(
        "s",
        [[8, 8]] * 24,
        Objects.build(np.arange(24), [0] * 24, [[1, 1, 4, 4]] * 24),
        frame_name=names,
        class_names={0: "cone"},
        images=ArrayImages([np.zeros((8, 8, 3), np.uint8)] * 24),
    )
    write_set(frames, tmp_path / "in", "yolo")
    ended = run("split", tmp_path / "in", "--contiguous", "--parts", 3, "--out", tmp_path / "out")
    assert ended.returncode == 0, ended.stderr
    for part in range(3):
        held = sorted({name[6:9] for name in read_set(tmp_path / "out" / str(part + 1)).frame_name})
        assert held == [f"{i:03d}" for i in range(4 * part, 4 * part + 4)]


def test_contiguous_needs_a_sequence(photographs):
    ended = run("split", photographs, "--contiguous", "--out", photographs.parent / "out")
    assert ended.returncode == 2
    assert "have neither stamps nor numbers that grow evenly in their names" in ended.stderr
