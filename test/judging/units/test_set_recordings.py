"""Which recordings a set has: by name, by long pauses, and where photographs are none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects
from simjudge.data.formats.plain_json import read_plain_json, write_plain_json
from simjudge.data.set_parts import join_sets
from simjudge.judging.units.set_recordings import find_recordings

TENTH = 100_000_000
EPOCH = 1_700_000_000 * 10**9


def frames_at(tenths: list[int], name: str = "set", **known) -> FrameSet:
    objects = Objects.build(np.arange(len(tenths)), np.ones(len(tenths), np.int64), [[1, 1, 9, 9]] * len(tenths))
    stamp = EPOCH + TENTH * np.array(tenths)
    return FrameSet.build(name, [[20, 20]] * len(tenths), objects, stamp=stamp, **known)


def run_of(*begins: int, frames: int = 20) -> list[int]:
    return [begin + i for begin in begins for i in range(frames)]


@pytest.mark.parametrize(
    ("frames", "count", "named"),
    [
        (frames_at(run_of(0)), 1, False),
        (frames_at(run_of(0, 600, 3600)), 3, False),
        (frames_at(run_of(0, 60)), 1, False),  # four seconds without a frame are a stall
        (frames_at([*run_of(0), 5000, 9000, 20000]), 4, False),
        (frames_at([600 * i for i in range(30)]), 1, False),  # one a minute: photographs
        (frames_at(run_of(0, 600), independent=True), 1, False),
        (frames_at(run_of(0), recording=["dry"] * 8 + ["wet"] * 12), 2, True),
        (frames_at(run_of(0), recording=[f"{i}" for i in range(20)]), 1, True),  # one frame each: units tell it all
        (frames_at(run_of(0), recording=["dry"] * 20), 1, False),
        (join_sets([frames_at(run_of(0), "dry"), frames_at(run_of(0), "wet")]), 2, True),
    ],
)
def test_recordings_are_named_or_lie_between_long_pauses(frames, count, named):
    found = find_recordings(frames)
    assert (found.count, found.named) == (count, named)
    assert len(found.number) == len(frames)


@pytest.mark.parametrize(("names", "count"), [(("train", "valid", "test"), 1), (("monday", "tuesday"), 2)])
def test_the_splits_of_a_data_set_are_no_recordings(names, count):
    joined = join_sets([frames_at(run_of(0), name) for name in names])
    assert find_recordings(joined).count == count


def test_a_file_keeps_what_frames_are_recordings_of(tmp_path):
    frames = frames_at(run_of(0), recording=["dry"] * 8 + ["wet"] * 12)
    write_plain_json(replace(frames, images=None), tmp_path / "set.json")
    read = read_plain_json(tmp_path / "set.json")
    assert list(read.recording) == list(frames.recording)
    assert list(read.take([3, 12]).recording) == ["dry", "wet"]
