"""Every format into every other and back: nothing is lost."""

import itertools
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from set_examples import assert_same_set, frame_sets

from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects, Predictions
from simjudge.data.formats import file_suffixes, folder_formats
from simjudge.data.sets import read_set, write_set

FORMATS = {each.name: None for each in folder_formats()} | {name.removeprefix("."): name for name in file_suffixes()}
"""The ending of a file of each format, None for a folder."""
RELAXED = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))


def through(frames, kind, folder, name):
    """Write and read again."""
    path = folder / (name + (FORMATS[kind] or ""))
    lost = write_set(frames, path, to=None if FORMATS[kind] else kind)
    assert not lost
    return read_set(path)


@pytest.mark.parametrize("kind", ["yolo", "coco", "cvat", "cpd", "json"])
@settings(RELAXED, max_examples=60)
@given(frames=frame_sets())
def test_one_format(kind, frames):
    with tempfile.TemporaryDirectory() as folder:
        back = through(frames, kind, Path(folder), "set")
        assert_same_set(frames, back)
        assert back.losses.lines() == []


@pytest.mark.parametrize(("first", "second"), itertools.permutations(FORMATS, 2))
@settings(RELAXED, max_examples=4)
@given(frames=frame_sets())
def test_two_formats(first, second, frames):
    with tempfile.TemporaryDirectory() as folder:
        once = through(frames, first, Path(folder), "one")
        twice = through(once, second, Path(folder), "two")
        back = through(twice, first, Path(folder), "three")
        assert_same_set(frames, twice)
        assert_same_set(frames, back)
        assert back.losses.lines() == []


@pytest.mark.parametrize("kind", FORMATS)
def test_coordinates_with_all_their_digits(kind, tmp_path):
    """What a formula cannot hold to the last bit is kept to a billionth of a pixel, and then stays as it is."""
    random = np.random.default_rng(5)
    low = random.uniform(0, 600, (500, 2))
    box = np.concatenate([low, low + random.uniform(1, 100, (500, 2))], 1)
    frame = np.sort(random.integers(0, 20, 500))
    table = Objects.build(frame, np.ones(500), box)
    found = Predictions.build(frame, np.ones(500), box, random.random(500))
    frames = FrameSet.build("digits", np.full((20, 2), 720), table, found)
    once = through(frames, kind, tmp_path, "one")
    np.testing.assert_allclose(once.objects.box, box, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(once.predictions.score, found.score)
    assert_same_set(once, through(once, kind, tmp_path, "two"))
