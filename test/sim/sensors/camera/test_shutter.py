"""When frames are due, exposed and handed over: against a clock of whole nanoseconds."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simjudge.sim.sensors.camera.camera import SECOND, exposure_stamps, frame_stamp_offset, middle_stamp, ready_stamp
from simjudge.sim.sensors.camera.camera_file import read_camera

CAMERA = replace(read_camera("plain"), rate=30.0, lag=0.0, exposure_time=0.0, exposure_samples=1)


@pytest.mark.parametrize(
    ("rate", "text"), [(30, "30"), (29.97, "29.97"), (7.5, "7.5"), (1 / 3, repr(1 / 3)), (120, "120")]
)
def test_frames_are_due_at_the_rate_without_drift(rate, text):
    exact = Fraction(text)
    for number in (0, 1, 2, 3, 1000, 10**6, 10**9):
        assert abs(frame_stamp_offset(rate, number) - number * SECOND / exact) <= Fraction(1, 2)
    assert frame_stamp_offset(rate, 0) == 0


def test_an_hour_at_thirty_hertz_ends_to_the_nanosecond():
    stamps = [frame_stamp_offset(30, number) for number in range(3600 * 30 + 1)]
    assert stamps[-1] == 3600 * SECOND
    assert {b - a for a, b in pairwise(stamps)} == {33_333_333, 33_333_334}
    assert all(frame_stamp_offset(30, 30 * k) == k * SECOND for k in range(3600))


@given(st.floats(0.1, 1000), st.integers(0, 10**6))
def test_frames_come_in_order(rate, number):
    assert frame_stamp_offset(rate, number) < frame_stamp_offset(rate, number + 1)


@pytest.mark.parametrize(
    ("exposure", "samples", "offsets", "middle"),
    [
        (0.0, 1, [0], 0),
        (0.01, 1, [5_000_000], 5_000_000),
        (0.01, 4, [1_250_000, 3_750_000, 6_250_000, 8_750_000], 5_000_000),
        (0.003, 3, [500_000, 1_500_000, 2_500_000], 1_500_000),
    ],
)
def test_an_exposure_starts_at_the_stamp(exposure, samples, offsets, middle):
    camera = replace(CAMERA, exposure_time=exposure, exposure_samples=samples)
    assert [at - 77 for at in exposure_stamps(camera, 77)] == offsets
    assert middle_stamp(camera, 77) == 77 + middle


@pytest.mark.parametrize(
    ("lag", "exposure", "after"),
    [(0.0, 0.0, 0), (0.0333, 0.01, 33_300_000), (0.002, 0.01, 10_000_000), (0.5, 0.0, 5 * 10**8)],
)
def test_a_frame_is_handed_over_after_its_lag_and_not_while_exposed(lag, exposure, after):
    camera = replace(CAMERA, lag=lag, exposure_time=exposure)
    for number in range(100):
        stamp = SECOND + frame_stamp_offset(camera.rate, number)
        assert ready_stamp(camera, stamp) == stamp + after
