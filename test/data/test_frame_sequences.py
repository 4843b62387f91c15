"""Sequences of frames, and sets whose frames do not follow each other."""

import json
from dataclasses import replace
from datetime import datetime, timezone

import numpy as np
import pytest

from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages
from simjudge.core.object_tables import Objects
from simjudge.data.frame_sequences import ALONE, NUMBERS, STAMPS, find_sequence
from simjudge.data.set_parts import convert, join_sets, split
from simjudge.data.sets import read_set, write_set


def found(names, stamp=None):
    return find_sequence(FrameSet.build("s", [[9, 9]] * len(names), frame_name=names, stamp=stamp))


def clock(milliseconds):
    seconds, rest = divmod(milliseconds, 1000)
    return f"L_{seconds // 3600:02d}{seconds // 60 % 60:02d}{seconds % 60:02d}{rest * 1000:06d}"


RNG = np.random.default_rng(0)
JITTER = RNG.integers(-9, 9, 40)
UNEVEN = 1403636579763555584 + np.cumsum(RNG.choice([12_345_678, 50_000_000, 400_000_001, 2_000_000_003], 40))
EVEN = 1305031102175304000 + 33_333_000 * np.arange(40)


@pytest.mark.parametrize(
    ("names", "unit", "step"),
    [
        ([f"frame_{i:04d}" for i in range(1, 41)], NUMBERS, 1),
        ([f"frame_{i}" for i in range(40)], NUMBERS, 1),  # without zeros in front
        ([f"video7_{i:05d}_left" for i in range(0, 200, 5)], NUMBERS, 5),
        ([f"{i:06d}" for i in range(300) if i % 7], NUMBERS, 1),  # some are gone
        ([f"{i:06d}" for i in np.sort(RNG.permutation(300)[:150])], NUMBERS, None),  # a half of a set that was dealt
        ([f"f{i:03d}_jpg.rf.{v}" for i in range(40) for v in "abc"], NUMBERS, 1),  # three variants of each
        ([clock(60_827_000 + 200 * i) for i in range(40)], "times of day", 200e6),
        ([clock(60_827_000 + 400 * i) for i in range(200)], "times of day", 400e6),  # over minutes
        ([f"{1652189483304967000 + 33_333_333 * i:019d}"[1:] for i in range(40)], "nanoseconds", 33_333_333),
        ([f"cam_{1652189483304967 + 33_333 * i + j}" for i, j in enumerate(JITTER)], "microseconds", 33_333e3),
        ([f"cam_{1652189483304 + 33 * i}" for i in range(40)], "milliseconds", 33e6),
    ],
)
def test_numbers_that_grow_evenly_are_a_sequence(names, unit, step):
    order = np.random.default_rng(1).permutation(len(names))
    sequence = found([names[i] for i in order])
    assert sequence.unit == unit
    assert (sequence.run != ALONE).all()
    if step is not None:
        assert sequence.step == pytest.approx(step, rel=1e-3)
    back = np.empty(len(names), np.int64)
    back[order] = sequence.position
    steps = np.diff(back)
    assert (steps >= 0).all()
    if step is not None:
        assert np.median(steps[steps > 0]) == pytest.approx(step, rel=1e-3)


def dated(stamp, form):
    return datetime.fromtimestamp(stamp // 10**9, timezone.utc).strftime(form)


@pytest.mark.parametrize("stamps", [EVEN, UNEVEN])
@pytest.mark.parametrize(
    ("unit", "kept", "text"),
    [
        ("nanoseconds", 1, lambda s: f"{s}"),  # EuRoC
        ("nanoseconds", 1, lambda s: f"cam0_{s}"),
        ("microseconds", 10**3, lambda s: f"left-{s // 10**3}"),
        ("milliseconds", 10**6, lambda s: f"{s // 10**6}_rgb"),
        ("seconds", 10**3, lambda s: f"{s // 10**9}.{s % 10**9 // 10**3:06d}"),  # TUM
        ("seconds", 10**3, lambda s: f"left-{s // 10**9}.{s % 10**9 // 10**3:06d}"),
        ("seconds", 10**3, lambda s: f"{s // 10**9}.{s % 10**9 // 10**3:06d}".rstrip("0")),  # a float as text
        ("seconds", 1, lambda s: f"{s // 10**9}_{s % 10**9:09d}_left"),
        ("seconds", 1, lambda s: f"{s // 10**9}-{s % 10**9}"),  # without zeros in front
        ("seconds", 1, lambda s: f"{s // 10**9 % 10**4}.{s % 10**9:09d}"),  # a simulator's clock
        ("nanoseconds", 1, lambda s: f"{s}_png.rf.0a{s % 7}"),
        ("dates", 10**6, lambda s: f"{dated(s, 'vlcsnap-%Y-%m-%d-%Hh%Mm%Ss')}{s % 10**9 // 10**6:03d}"),
        ("dates", 10**6, lambda s: f"{dated(s, 'PXL_%Y%m%d_%H%M%S')}{s % 10**9 // 10**6:03d}"),
    ],
)
def test_stamps_in_names_are_read_however_uneven(stamps, unit, kept, text):
    order = np.random.default_rng(2).permutation(len(stamps))
    sequence = found([text(int(stamps[i])) for i in order])
    assert sequence.unit == unit
    assert (sequence.run == 0).all()
    exact = np.diff(stamps[order] // kept * kept)
    assert np.diff(sequence.position).tolist() == exact.tolist()
    assert sequence.step == pytest.approx(np.median(np.diff(np.sort(stamps))), abs=2 * kept)


def test_two_cameras_with_stamps_in_names_are_on_one_axis():
    sequence = found([f"{side}_{s + (side == 'right') * 40_000}" for s in EVEN for side in ("left", "right")])
    assert set(sequence.run) == {0}
    assert sequence.timed


@pytest.mark.parametrize("prefix", ["", "frame_", "0001-"])
def test_numbers_with_zeros_in_front_are_a_sequence(prefix):
    """KITTI's 0000000012 is no second of 1970."""
    sequence = found([f"{prefix}{i:010d}" for i in range(12, 60)])
    assert (sequence.unit, sequence.step) == (NUMBERS, 1)


@pytest.mark.parametrize(
    "names",
    [
        [f"{RNG.integers(10**9, 10**10)}_{RNG.bytes(5).hex()}" for _ in range(200)],  # Flickr's
        [f"{i:012d}" for i in RNG.choice(581_921, 400, replace=False)],  # as COCO numbers its images
        [f"photo_{word}" for word in "abcdefghijklmnop"],
        [f"frame_{i:04d}" for i in range(6)],  # too few to tell
        [f"{v:032d}" for v in range(40)],  # longer than any stamp
    ],
)
def test_other_names_are_none(names):
    assert found(names) is None


def test_every_camera_and_every_drive_is_a_run_of_its_own():
    names = [f"drive{d}_{side}_{i:04d}" for d in (1, 2) for side in ("L", "R") for i in range(20)] + ["extra"]
    sequence = found(names)
    assert sequence.run[:80].reshape(4, 20).tolist() == [[i] * 20 for i in sequence.run[[0, 20, 40, 60]]]
    assert len(set(sequence.run[[0, 20, 40, 60]])) == 4
    assert sequence.run[80] == ALONE
    assert str(sequence) == "80 frames in 4 sequences, numbered in steps of 1"


def test_what_two_cameras_see_at_one_time_is_in_one_place():
    sequence = found([f"{side}_{1652189483304967 + 33_333 * i + j}" for i, j in enumerate(JITTER) for side in "LR"])
    assert set(sequence.run) == {0}
    assert sequence.slot[::2].tolist() == sequence.slot[1::2].tolist()
    views = found([f"house{i}_{j}" for i in range(30) for j in range(5)])
    assert views.position.reshape(30, 5).tolist() == [[i] * 5 for i in range(30)]


def test_stamps_count_before_names():
    names = [f"a{i}" for i in range(20)]
    sequence = found(names, np.arange(20)[::-1] * 10**8)
    assert sequence.unit == STAMPS
    assert sequence.slot.tolist() == list(range(20))[::-1]
    assert str(sequence) == "20 frames, 0.1 s apart by their stamps"


def test_a_minute_is_no_gap():
    """16:59:59.8 and 17:00:00.0 are neighbours, though their numbers are 4,040,200,000 apart."""
    sequence = found([clock(61_199_000 - 2000 + 200 * i) for i in range(40)])
    assert np.diff(sequence.slot).tolist() == [1] * 39


FOLDERS = ("yolo", "coco", "cvat", "cpd")


@pytest.fixture
def frames():
    objects = Objects.build([0, 1], [1, 2], [[3, 4, 9, 10], [3, 4, 19, 20]])
    images = ArrayImages([np.full((30, 40, 3), 60 * i, np.uint8) for i in range(3)])
    made = FrameSet.build(
        "made",
        [(40, 30)] * 3,
        objects,
        stamp=[10**9, 2 * 10**9, 3 * 10**9],
        class_names={1: "red", 2: "green"},
        images=images,
        independent=True,
        recording=["wet", "dry", "wet"],
    )
    assert made.take([0, 2]).independent
    return made


def write(frames, path):
    write_set(frames, path, path.name if path.name in FOLDERS else None)
    return path


@pytest.mark.parametrize("name", [*FOLDERS, "x.json", "x.mcap", "x.db3"])
def test_every_format_keeps_it_and_the_recordings(frames, tmp_path, name):
    path = write(frames, tmp_path / name)
    assert read_set(path).independent
    assert list(read_set(path).recording) == ["wet", "dry", "wet"]
    plain = read_set(write(replace(frames, independent=False, recording=()), tmp_path / "plain" / name))
    assert (plain.independent, list(plain.recording)) == (False, [])
    assert convert(path, tmp_path / "again.json").independent
    assert [read_set(part).independent for part in split(path, 2, tmp_path / "parts", to="coco").paths] == [True] * 2


def test_a_joined_set_has_it_if_all_have(frames):
    assert join_sets([frames, frames]).independent
    assert not join_sets([frames, replace(frames, independent=False)]).independent


def test_a_folder_with_a_frame_of_somebody_else_has_it_not(frames, tmp_path):
    path = write(frames, tmp_path / "yolo")
    stem = next((path / "images").glob("*.png"))
    (path / "images/another.png").write_bytes(stem.read_bytes())
    read = read_set(path)
    assert len(read) == 4
    assert not read.independent


@pytest.mark.parametrize("value", ["yes", 1, None])
def test_only_true_is_a_mark(frames, tmp_path, value):
    path = write(frames, tmp_path / "x.json")
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "independent": value}))
    assert not read_set(path).independent
