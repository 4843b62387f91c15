"""Quality over time: the values of single pictures, in the order of the frames; what cannot be read is counted."""

import numpy as np

from simjudge.core.errors import Losses
from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages
from simjudge.objects.image_quality.piqe import piqe
from simjudge.objects.image_quality.quality_series import image_quality_series, picture_metrics
from simjudge.objects.series import WHOLE


def frame_set(pictures, **more):
    return FrameSet.build("made", np.full((len(pictures), 2), 64), images=ArrayImages(pictures), **more)


def pictures(count):
    draw = np.random.default_rng(3)
    return [draw.integers(0, 256, (64, 64, 3), dtype=np.uint8) for _ in range(count)]


def test_values_are_those_of_single_pictures():
    made = pictures(3)
    series = {s.metric: s for s in image_quality_series(frame_set(made, stamp=[0, 500_000_000, 2_000_000_000]))}
    np.testing.assert_array_equal(series["piqe"].value, [piqe(p).score for p in made])
    for name, one in series.items():
        np.testing.assert_array_equal(one.time, [0, 0.5, 2])
        assert (one.unit, one.subject) == ("", WHOLE)
        np.testing.assert_array_equal(one.value, [picture_metrics(p)[name] for p in made])


def test_unreadable_pictures_are_counted():
    losses = Losses()
    first, third = pictures(2)
    series = image_quality_series(frame_set([first, None, third]), losses=losses)
    assert losses.counts == {"pictures that cannot be read": 1}
    for one in series:
        np.testing.assert_array_equal(np.isnan(one.value), [False, True, False])
        np.testing.assert_array_equal(one.time, [0, 1, 2])


def test_a_set_without_pictures_has_no_quality():
    assert image_quality_series(FrameSet.build("labels alone", [(640, 480)])) == []
