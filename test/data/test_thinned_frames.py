"""Thinned sets against naive loops: every N-th frame, so many a second, and what is said and refused."""

from pathlib import Path

import numpy as np
import pytest

from simjudge.core.errors import UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects
from simjudge.core.settings import Thinning
from simjudge.data.sets import as_frames, read_set, thin_frames

BAG = Path(__file__).parents[2] / "bags" / "sim.mcap"


def stamped(times, name="drive"):
    count = len(times)
    objects = Objects.build(range(count), [0] * count, [[0, 0, 5, 5]] * count)
    return FrameSet.build(name, [[20, 20]] * count, objects, stamp=np.rint(np.array(times) * 1e9).astype(np.int64))


def test_every_nth_frame_is_taken_in_the_order_of_time():
    times = np.random.default_rng(0).permutation(np.arange(23) / 10)
    found = thin_frames(stamped(times), Thinning(every=5))
    assert sorted(found.stamp / 1e9) == pytest.approx([0, 0.5, 1.0, 1.5, 2.0])
    assert found.name == "drive, every 5th frame"
    assert len(found.objects) == 5


@pytest.mark.parametrize("rate", [0.7, 1, 3, 7, 10, 29])
def test_a_rate_takes_the_first_frame_of_each_period(rate):
    times = np.arange(120) / 10 + np.random.default_rng(1).uniform(-0.02, 0.02, 120)
    found = thin_frames(stamped(times), Thinning(rate=rate))
    kept, last = [], None
    step = np.median(np.diff(times))
    for time in times:
        period = int((time - times[0] + step / 2) * rate)
        if period != last:
            kept.append(time)
            last = period
    assert found.stamp / 1e9 == pytest.approx(kept, abs=1e-8)
    assert len(found) == pytest.approx(min(12 * rate, 120), abs=1)


def test_times_of_a_thinned_recording_stay_true():
    whole, thinned = read_set(BAG), as_frames(BAG, thinning=Thinning(rate=0.5))
    assert set(thinned.stamp) <= set(whole.stamp)
    assert np.diff(thinned.stamp) / 1e9 == pytest.approx([2.0] * 9)
    assert thinned.name == f"{whole.name}, 0.5 frames a second"


def test_frames_without_times_have_no_rate():
    frames = FrameSet.build("photos", [[8, 8]] * 4, frame_name=["b", "a", "d", "c"])
    with pytest.raises(UsageError, match="--rate 2: the frames of photos have no times; give --every N"):
        thin_frames(frames, Thinning(rate=2))
    assert list(thin_frames(frames, Thinning(every=2)).frame_name) == ["b", "d"]


def test_both_are_refused():
    with pytest.raises(UsageError, match="give one of them"):
        Thinning(every=2, rate=5)


@pytest.mark.parametrize(
    ("every", "words"), [(1, ""), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (21, "21st"), (112, "112th")]
)
def test_what_is_taken_is_said_in_words(every, words):
    assert str(Thinning(every)) == (f"every {words} frame" if words else "")
