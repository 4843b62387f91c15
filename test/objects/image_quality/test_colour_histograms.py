"""Histograms of hue, saturation and value against colorsys, pixel by pixel; their distances against an assignment."""

import colorsys
import json

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.stats import wasserstein_distance

from simjudge.core.errors import Losses
from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages
from simjudge.core.object_tables import Masks, Objects
from simjudge.objects.image_quality.colour_histograms import (
    BINS,
    CHANNELS,
    FULL_SCALE,
    colour_differences,
    colour_histograms,
    histogram_distance,
)
from simjudge.objects.series import WHOLE

SIZE = (12, 16)


def made_set(pictures, objects=None):
    size = np.full((len(pictures), 2), SIZE[::-1])
    return FrameSet.build("made", size, objects, images=ArrayImages(pictures), class_names={1: "cone", 2: "sky"})


def pictures(count, seed=11):
    draw = np.random.default_rng(seed)
    return [draw.integers(0, 256, (*SIZE, 3), dtype=np.uint8) for _ in range(count)]


def naive_counts(pixels):
    """By channel; pixels is (N, 3)."""
    counts = {channel: np.zeros(BINS, int) for channel in CHANNELS}
    for red, green, blue in pixels.reshape(-1, 3) / 255:
        hsv = colorsys.rgb_to_hsv(red, green, blue)
        for channel, value in zip(CHANNELS, hsv, strict=True):
            if channel != "hue" or hsv[1] > 0:
                counts[channel][min(int(value * BINS + 1e-6), BINS - 1)] += 1
    return counts


def by_name(histograms):
    return {(each.subject, each.channel): each for each in histograms}


def test_whole_pictures_equal_colorsys():
    made = pictures(4)
    made[0][:6] = made[0][:6, :, :1]  # gray: without hue
    found = by_name(colour_histograms(made_set(made)))
    for channel in CHANNELS:
        halves = [naive_counts(np.array(half))[channel] for half in (made[:2], made[2:])]
        np.testing.assert_array_equal(found[WHOLE, channel].counts, halves)


def test_objects_by_box_and_mask():
    made = pictures(2)
    mask = np.zeros(SIZE, bool)
    mask[3:9, 4:7] = mask[5, 1:12] = True
    boxes = [[2.4, 3.6, 9, 30], [1, 3, 12, 9], [-9, -9, -1, -1]]
    objects = Objects.build([0, 0, 1], [1, 2, 1], boxes, masks=Masks.from_images([None, mask, None]))
    found = by_name(colour_histograms(made_set(made, objects)))
    for subject, covered in (("cone", made[0][4:, 2:9]), ("sky", made[0][mask])):
        expected = naive_counts(covered)
        for channel in CHANNELS:
            counts = found[subject, channel].counts
            np.testing.assert_array_equal(counts[0], expected[channel])
            assert not counts[1].any()
    assert {subject for subject, _ in found} == {WHOLE, "cone", "sky"}


def test_pictures_that_cannot_be_read_are_counted():
    losses = Losses()
    (one,) = pictures(1)
    found = by_name(colour_histograms(made_set([one, None]), losses=losses))
    assert losses.counts == {"pictures that cannot be read": 1}
    assert found[WHOLE, "value"].counts.sum() == one[:, :, 0].size
    assert colour_histograms(FrameSet.build("labels alone", [(4, 4)])) == []


@pytest.mark.parametrize("channel", CHANNELS)
def test_distance_is_the_cheapest_assignment(channel):
    draw = np.random.default_rng(12)
    a, b = draw.integers(0, BINS, (2, 40))
    shares = [np.bincount(each, minlength=BINS) / 40 for each in (a, b)]
    apart = np.abs(a[:, None] - b[None])
    cost = np.minimum(apart, BINS - apart) if channel == "hue" else apart
    expected = cost[linear_sum_assignment(cost)].mean() * FULL_SCALE[channel] / BINS
    assert histogram_distance(*shares, channel) == pytest.approx(expected)
    if channel != "hue":
        scipy_distance = wasserstein_distance(a, b) * FULL_SCALE[channel] / BINS
        assert histogram_distance(*shares, channel) == pytest.approx(scipy_distance)


def test_a_brighter_copy_differs_in_value_by_so_much():
    real = [np.full((*SIZE, 3), (80, 100, 120), np.uint8)] * 2
    virtual = [np.full((*SIZE, 3), (120, 150, 180), np.uint8)] * 2
    differences = by_name(colour_differences(colour_histograms(made_set(real)), colour_histograms(made_set(virtual))))
    assert differences[WHOLE, "value"].distance == pytest.approx(60 / 255, abs=1 / BINS)
    assert differences[WHOLE, "hue"].distance == 0
    assert differences[WHOLE, "value"].floor == 0
    saved = json.loads(json.dumps(differences[WHOLE, "hue"].as_dict(), allow_nan=False))
    assert (saved["unit"], len(saved["edges"]), sum(saved["real"])) == ("deg", BINS + 1, 1)


def test_what_one_set_alone_has_is_not_compared():
    objects = Objects.build([0], [1], [[0, 0, 8, 8]])
    real, virtual = made_set(pictures(2), objects), made_set(pictures(2, 13))
    differences = colour_differences(colour_histograms(real), colour_histograms(virtual))
    assert {each.subject for each in differences} == {WHOLE}
    one_half = colour_differences(colour_histograms(real), colour_histograms(real))
    assert [np.isnan(each.floor) for each in one_half] == [False] * 3 + [True] * 3
    assert one_half[-1].as_dict()["floor"] is None
