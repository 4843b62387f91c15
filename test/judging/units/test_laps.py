"""Laps of a course whose things cannot be followed: found by performance that comes back where labels are alike."""

import numpy as np
import pytest

from simjudge.judging.units.box_tracks import PlacedBoxes
from simjudge.judging.units.laps import lap_of


def boxes_and_performance(seed, frames, lap, *, light=0.0):
    """A thing every second step of a course, seen in four steps at other places; with light that lasts instead."""
    random = np.random.default_rng(seed)
    kept, heights = random.normal(0, 0.1, frames), random.integers(60, 300, frames)
    value, box, frame, glow = np.zeros(frames), [], [], 0.0
    for now in range(frames):
        seen = [(now // 2 + near) % (lap // 2 if lap else frames) for near in (0, 1)]
        glow = 0.8 * glow + random.normal(0, light)
        value[now] = np.mean(kept[seen]) + random.normal(0, 0.03) + glow
        for place, thing in enumerate(seen):
            x = 100 + 180 * (2 * place - now % 2)
            box.append((x, heights[thing], x + 30, heights[thing] + 30))
            frame.append(now)
    return PlacedBoxes.build(np.array(frame), frames, np.array(box, float), np.ones(len(frame), int)), value


@pytest.mark.parametrize("lap", [48, 60, 100])
def test_a_lap_is_found_by_what_comes_back(lap):
    for seed in range(5):
        boxes, value = boxes_and_performance(seed, 300, lap)
        missing = np.random.default_rng(seed).random(300) < 0.1
        kept = np.flatnonzero(~missing)
        assert lap_of(boxes, kept + 7, kept, value[kept]) == pytest.approx(lap, abs=1)


def test_a_straight_road_and_light_that_lasts_have_no_laps():
    found = [lap_of(*placed(seed, light)) for seed in range(20) for light in (0.0, 0.05)]
    assert np.count_nonzero(found) <= 2


def placed(seed, light):
    boxes, value = boxes_and_performance(seed, 300, 0, light=light)
    return boxes, np.arange(300), np.arange(300), value


@pytest.mark.parametrize("frames", [8, 10, 39])
def test_too_few_frames_have_no_laps(frames):
    boxes, value = boxes_and_performance(0, frames, 8)
    assert lap_of(boxes, np.arange(frames), np.arange(frames), value) == 0
