"""Parameters of hidden filters are found again from pictures alone."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from painted_discs import paint, pictures

from simjudge.core.errors import SimjudgeError
from simjudge.data.sets import read_set
from simjudge.sim.sensors.camera.chain import Step, apply_steps
from simjudge.sim.sensors.camera_matching.camera_difference import CAUSES, CameraDifference
from simjudge.sim.sensors.camera_matching.camera_estimation import (
    REFITS,
    estimate_difference,
    estimation_error,
    sample_pictures,
)
from simjudge.sim.sensors.camera_matching.picture_statistics import (
    PictureStatistics,
    jpeg_quality,
    measure_picture,
    measure_pictures,
    mosaic_contrast,
    noise_variances,
    tone_difference,
    vignetting_difference,
)

BAGS = Path(__file__).parents[4] / "bags"
PICTURES = pictures(paint(1, 8))


def behind(*steps: Step) -> list[np.ndarray]:
    return [apply_steps(image, steps, (5, number)) for number, image in enumerate(PICTURES)]


def test_equal_pictures_show_no_difference():
    assert estimate_difference(PICTURES, PICTURES, rounds=1).causes() == []


@pytest.mark.parametrize(
    ("step", "cause", "value", "tolerance"),
    [
        (Step("white_balance", {"red": 1.2, "green": 1.0, "blue": 0.8}), "white_balance", lambda d: d.red / 1.2, 0.02),
        (Step("white_balance", {"red": 1.2, "green": 1.0, "blue": 0.8}), "white_balance", lambda d: d.blue / 0.8, 0.02),
        (Step("white_balance", {"red": 0.7, "green": 0.7, "blue": 0.7}), "exposure", lambda d: d.gain / 0.7, 0.02),
        (Step("gamma", {"exponent": 1.4}), "contrast", lambda d: d.exponent / 1.4, 0.03),
        (Step("gaussian_blur", {"sigma": 1.5}), "blur", lambda d: math.sqrt(max(d.blur, 0)) / 1.5, 0.1),
        (Step("gaussian_noise", {"sigma": 6.0}), "noise", lambda d: math.hypot(d.read, d.shot * 0.65) / 6, 0.1),
        (
            Step("vignetting", {"half_angle": 30.0}),
            "vignetting",
            lambda d: math.degrees(math.atan(math.sqrt(max(d.vignetting, 0)))) / 30,
            0.1,
        ),
        (Step("jpeg", {"quality": 40}), "jpeg", lambda d: (100 - d.compression) / 40, 0.05),
        (Step("haze", {"density": 0.35}), "haze", lambda d: d.haze / 0.35, 0.05),
        (Step("haze", {"density": 0.35, "red": 0.7}), "haze", lambda d: d.air[0] / 0.7, 0.05),
        (Step("motion_blur", {"length": 6.0, "angle": 40.0}), "motion_blur", lambda d: math.hypot(*d.motion) / 6, 0.05),
        (
            Step("motion_blur", {"length": 6.0, "angle": 40.0}),
            "motion_blur",
            lambda d: math.degrees(math.atan2(d.motion[1], d.motion[0])) % 180 / 40,
            0.05,
        ),
        (
            Step("chromatic_aberration", {"red": 1.005, "blue": 0.996}),
            "chromatic_aberration",
            lambda d: (d.red_size - 1) / 0.005,
            0.1,
        ),
        (
            Step("chromatic_aberration", {"red": 1.005, "blue": 0.996}),
            "chromatic_aberration",
            lambda d: (1 - d.blue_size) / 0.004,
            0.1,
        ),
        (Step("sharpen", {"amount": 0.8, "radius": 1.5}), "sharpening", lambda d: d.sharpening / 0.8, 0.1),
        (Step("sharpen", {"amount": 0.8, "radius": 1.5}), "sharpening", lambda d: d.radius / 1.5, 0.1),
    ],
)
def test_one_hidden_filter_is_found_with_its_parameter(step, cause, value, tolerance):
    found = estimate_difference(behind(step), PICTURES, rounds=2)
    assert cause in found.causes()
    assert value(found) == pytest.approx(1, abs=tolerance)


@pytest.mark.parametrize(
    ("step", "value"),
    [
        (Step("gaussian_noise", {"sigma": 11.0}), lambda d: math.hypot(d.read, d.shot * 0.65) / 11),
        (Step("gamma", {"exponent": 1.6}), lambda d: d.exponent / 1.6),
    ],
)
def test_what_hides_the_traces_of_jpeg_photographs_is_no_jpeg(step, value):
    photographs = behind(Step("jpeg", {"quality": 50}))
    seen = [apply_steps(image, [step], (6, number)) for number, image in enumerate(photographs)]
    found = estimate_difference(seen, photographs, rounds=2)
    assert found.compression == 0
    assert value(found) == pytest.approx(1, abs=0.1)


def test_a_blur_under_noise_is_not_taken_for_the_widest():
    found = estimate_difference(
        behind(Step("gaussian_blur", {"sigma": 1.5}), Step("gaussian_noise", {"sigma": 14.0})), PICTURES
    )
    assert math.sqrt(found.blur) == pytest.approx(1.5, abs=0.5)


def test_a_hidden_mosaic_is_found_with_its_pattern():
    for pattern in ("RGGB", "BGGR", "GRBG", "GBRG"):
        assert mosaic_contrast(measure_pictures(behind(Step("bayer", {"pattern": pattern}))))[1] == pattern
    found = estimate_difference(behind(Step("bayer", {"pattern": "GRBG"})), PICTURES, rounds=1)
    assert (found.pattern, found.side("mosaic")) == ("GRBG", "b")


def test_what_b_has_too_much_of_is_put_on_a():
    """No filter takes noise, blur, haze, motion or JPEG away: A gets as much."""
    for step, cause in (
        (Step("gaussian_blur", {"sigma": 1.5}), "blur"),
        (Step("jpeg", {"quality": 40}), "jpeg"),
        (Step("gaussian_noise", {"sigma": 6.0}), "noise"),
        (Step("haze", {"density": 0.3}), "haze"),
        (Step("motion_blur", {"length": 7.0}), "motion_blur"),
        (Step("sharpen", {"amount": 0.9}), "sharpening"),
    ):
        found = estimate_difference(PICTURES, behind(step), rounds=1)
        assert found.side(cause) == "a"
        assert found.steps("b", {cause}) == []


def test_several_hidden_filters_are_told_apart():
    found = estimate_difference(
        behind(
            Step("gaussian_blur", {"sigma": 1.2}),
            Step("white_balance", {"red": 1.2, "green": 1.0, "blue": 0.8}),
            Step("gaussian_noise", {"sigma": 5.0}),
        ),
        PICTURES,
    )
    assert set(found.causes()) >= {"blur", "white_balance", "noise"}
    assert found.red == pytest.approx(1.2, abs=0.03)
    assert math.sqrt(found.blur) == pytest.approx(1.2, abs=0.2)
    assert math.hypot(found.read, found.shot * 0.65) == pytest.approx(5, abs=0.8)


def test_statistics_of_several_pictures_are_sums():
    parts = [measure_picture(image) for image in PICTURES[:3]]
    together = PictureStatistics.pooled(parts)
    assert np.array_equal(together.values, sum(part.values for part in parts))
    assert together.values[0].sum() == sum(image[:, :, 0].size for image in PICTURES[:3])
    with pytest.raises(SimjudgeError, match="no picture"):
        PictureStatistics.pooled([])


def test_noise_is_measured_by_brightness():
    """A ramp with shot noise: variance goes up with brightness as it was put in."""
    ramp = np.repeat(np.linspace(20, 235, 512)[None, :, None], 512, axis=0).repeat(3, axis=2).astype(np.uint8)
    noisy = apply_steps(ramp, [Step("shot_noise", {"shot": 12.0, "read": 3.0})], 1)
    brightness, variance = noise_variances(measure_picture(noisy))
    # The darkest and the brightest range are not full.
    assert variance[1:-1] == pytest.approx((144 * brightness + 9)[1:-1], rel=0.1)


def test_tone_is_exact_where_grey_levels_follow_a_law():
    values = np.arange(20, 200, dtype=np.float64)
    image = np.repeat(values[None, :, None], 3, axis=2).repeat(4, axis=0)
    other = 255 * (np.array([1.1, 1.0, 0.9]) * image / 255) ** 1.2
    found = tone_difference(*(measure_picture(np.rint(each).astype(np.uint8)) for each in (other, image)))
    assert found.exponent == pytest.approx(1.2, abs=0.02)
    assert found.gains == pytest.approx([1.1, 1.0, 0.9], abs=0.01)


def test_plain_pictures_tell_nothing():
    plain = measure_picture(np.full((64, 64, 3), 255, np.uint8))
    assert tone_difference(plain, plain).exponent == 1
    assert vignetting_difference(plain, plain) == pytest.approx(0, abs=1e-6)
    assert jpeg_quality(plain) is None


def test_filters_stand_in_the_order_of_a_camera():
    every = CameraDifference(
        1.0,
        0.2,
        0.8,
        1.1,
        0.9,
        1.2,
        "RGGB",
        "b",
        3.0,
        1.0,
        "b",
        40,
        0.3,
        (0.8, 0.8, 0.8),
        (3.0, 4.0),
        "b",
        1.004,
        0.997,
        0.8,
        1.2,
        0.1,
        18.0,
    )
    assert [step.name for step in every.steps("b")] == [
        "glare",
        "srgb",
        "haze",
        "motion_blur",
        "chromatic_aberration",
        "gaussian_blur",
        "vignetting",
        "white_balance",
        "white_balance",
        "gamma",
        "bayer",
        "shot_noise",
        "sharpen",
        "jpeg",
    ]
    assert every.steps("b", {"motion_blur"})[0].parameters == pytest.approx({"length": 5.0, "angle": 53.1301})
    assert every.causes() == [cause.name for cause in CAUSES]
    assert [step.name for step in every.steps("b", {"noise", "blur"})] == ["gaussian_blur", "shot_noise"]


def test_a_parameter_at_the_end_of_what_is_looked_for_is_named():
    assert CameraDifference(exponent=0.2).at_end("contrast") == ["exponent"]
    assert CameraDifference(exponent=0.3).at_end("contrast") == []
    assert CameraDifference(red=20.0, blue=0.05).at_end("white_balance") == ["red", "blue"]
    assert CameraDifference(blur=36.0).at_end("blur") == ["sigma"]
    # An exponent beyond the range is clipped to its end.
    found = estimate_difference(behind(Step("gamma", {"exponent": 0.12})), PICTURES, rounds=2)
    assert (found.exponent, found.at_end("contrast")) == (0.2, ["exponent"])


def test_a_parameter_whose_error_reaches_the_end_of_the_range_is_named():
    """A gamma of 7 leaves two pixels of five black, and estimates of it scatter below the end of 5."""
    estimate = CameraDifference(exponent=4.33)
    scattered = [CameraDifference(exponent=each) for each in (4.7, 3.4, 5.0, 4.74, 4.56)]
    sharp = [CameraDifference(exponent=each) for each in (4.3, 4.32, 4.34, 4.33, 4.35)]
    assert estimate.at_end("contrast", scattered) == ["exponent"]
    assert estimate.at_end("contrast", sharp) == []


def test_estimates_on_drawn_pictures_spread_around_the_estimate_and_errors_are_taken_off():
    """Noise as strong as a cast: the true noise lies within what five draws and the known error leave."""
    seen = behind(Step("white_balance", {"red": 0.8, "blue": 1.15}), Step("gaussian_noise", {"sigma": 14.0}))
    found = estimate_difference(seen, PICTURES)
    error = estimation_error(seen, PICTURES, found, paired=True, seed=1)
    assert len(error.refits) == REFITS
    reds = [refit.red for refit in error.refits]
    assert np.std(reds) > 0
    assert 2 * abs(found.red - error.corrected.red) + 2.6 * np.std(reds) > abs(found.red - 0.8)
    assert estimation_error(seen, PICTURES, found, paired=True, seed=1) == error


def test_no_error_that_is_taken_off_leads_out_of_what_filters_can_do():
    """Of dense haze little is found again on pictures that are hazy already: twice the estimate is no density."""
    hazy = behind(Step("haze", {"density": 0.75}))
    found = estimate_difference(PICTURES, hazy, rounds=1)
    far = replace(found, haze=-0.85, blur=30.0, vignetting=-2.5, sharpening=3.5, motion=(20.0, 20.0), read=39.0)
    corrected = estimation_error(PICTURES, hazy, far, paired=True, seed=1, refits=0).corrected
    for side in ("a", "b"):
        apply_steps(PICTURES[0], corrected.steps(side), 0)
    assert abs(corrected.haze) <= 0.9
    assert math.hypot(*corrected.motion) <= 30.0 + 1e-9
    assert max(abs(corrected.sharpening) / 4, corrected.read / 40, abs(corrected.vignetting) / 3) <= 1


@pytest.mark.long
@pytest.mark.slow
def test_the_camera_of_the_sample_recording_is_found_from_its_pictures():
    """bags/make_samples.py says what that camera is; the other recording's surfaces and poses differ a little."""
    a, b = (sample_pictures(read_set(BAGS / f"{name}.mcap"), 6) for name in ("real_stand_in", "sim"))
    found = estimate_difference(a, b)
    assert math.sqrt(found.blur) == pytest.approx(0.8, abs=0.1)
    assert math.degrees(math.atan(math.sqrt(found.vignetting))) == pytest.approx(32, abs=4)
    assert math.hypot(found.read, found.shot * 0.6) == pytest.approx(5, abs=0.7)
    assert (found.red, found.blue) == (pytest.approx(0.9, abs=0.03), pytest.approx(1.15, abs=0.06))
    assert found.compression == pytest.approx(15, abs=1)
