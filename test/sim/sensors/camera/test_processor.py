"""Denoising, colour correction, tone mapping and RCCC, each against an independent implementation."""

import math

import cv2
import numpy as np
import pytest
from scipy import ndimage

from simjudge.core.errors import UsageError
from simjudge.sim.sensors.camera import filters, isp
from simjudge.sim.sensors.camera.chain import Step, apply_steps
from simjudge.sim.sensors.camera.filters import CAMERA_FILTERS

NOISY = np.random.default_rng(5).integers(0, 256, (23, 30, 3), np.uint8)


def plain_bilateral(image, strength, radius):
    """Pixel by pixel, neighbour by neighbour."""
    reach = round(3 * radius)
    padded = np.pad(image, ((reach, reach), (reach, reach), (0, 0)), mode="reflect")
    out = np.zeros_like(image)
    for row in range(image.shape[0]):
        for column in range(image.shape[1]):
            total, weights = np.zeros(image.shape[2]), 0.0
            for down in range(-reach, reach + 1):
                for right in range(-reach, reach + 1):
                    if math.hypot(down, right) > reach:
                        continue
                    other = padded[row + reach + down, column + reach + right]
                    apart = np.abs(other - image[row, column]).sum() * 255
                    weight = math.exp(-(down**2 + right**2) / (2 * radius**2) - apart**2 / (2 * strength**2))
                    total, weights = total + weight * other, weights + weight
            out[row, column] = total / weights
    return out


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(("strength", "radius"), [(20, 1.0), (90, 1.5)])
def test_denoising_is_the_bilateral_filter_s_formula(strength, radius, channels):
    image = NOISY[:, :, :channels] / 255
    found = filters.denoise(image, strength=strength, radius=radius)
    assert found == pytest.approx(plain_bilateral(image, strength, radius), abs=2e-4)


def test_denoising_takes_noise_and_keeps_edges():
    edge = np.full((60, 60, 3), 60.0)
    edge[:, 30:] = 190
    noisy = edge + np.random.default_rng(1).normal(0, 4, edge.shape)
    found = filters.denoise(noisy / 255, strength=30, radius=2) * 255
    assert (found - edge).std() < 0.45 * (noisy - edge).std()
    assert np.abs((found - edge)[:, 28:32].mean()) < 1


def test_colour_correction_is_the_matrix_s_product():
    names = ("rr", "rg", "rb", "gr", "gg", "gb", "br", "bg", "bb")
    numbers = np.array([1.6, -0.4, -0.2, -0.3, 1.5, -0.2, 0.0, -0.6, 1.6])
    found = filters.colour_correction(NOISY / 255, **dict(zip(names, numbers, strict=True)))
    assert found == pytest.approx(cv2.transform(NOISY / 255, numbers.reshape(3, 3)), abs=1e-12)
    grey = np.full((2, 2, 3), 0.4)
    assert filters.colour_correction(grey, **dict(zip(names, numbers, strict=True))) == pytest.approx(grey)
    assert np.array_equal(filters.colour_correction(NOISY), NOISY)


def test_tone_mapping_is_the_paper_s_formula_pixel_by_pixel():
    light = NOISY / 255 * 6
    found = filters.tone_map(light, white=4.0, exposure=1.5)
    for row, column in np.ndindex(*light.shape[:2]):
        red, green, blue = 1.5 * light[row, column]
        luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
        shown = luminance * (1 + luminance / 16) / (1 + luminance)
        expected = np.array([red, green, blue]) * (shown / luminance if luminance else 1)
        assert found[row, column] == pytest.approx(expected)
    white = np.full((1, 1, 3), 4.0)
    assert filters.tone_map(white, white=4.0) == pytest.approx(np.ones((1, 1, 3)))
    ramp = filters.tone_map(np.repeat(np.linspace(0, 4, 100)[:, None, None], 3, 2), white=4.0)[:, 0, 1]
    assert (np.diff(ramp) > 0).all(), "brighter light stays brighter"


@pytest.mark.parametrize("pattern", filters.RCCC_PATTERNS)
def test_rccc_interpolates_red_and_clear_as_normalized_convolution_does(pattern):
    image = NOISY / 255
    row, column = divmod(pattern.index("R"), 2)
    is_red = np.zeros(image.shape[:2])
    is_red[row::2, column::2] = 1
    clear = image.mean(2)
    tent = np.outer([1, 2, 1], [1, 2, 1]) / 4.0
    red = ndimage.convolve(image[..., 0] * is_red, tent, mode="mirror")
    cross = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    filled = ndimage.convolve(clear * (1 - is_red), cross, mode="mirror")
    filled = filled / ndimage.convolve(1 - is_red, cross, mode="mirror")
    clear = np.where(is_red > 0, filled, clear)
    expected = np.stack([red, (3 * clear - red) / 2, (3 * clear - red) / 2], -1)
    assert filters.rccc(image, pattern=pattern) == pytest.approx(expected, abs=1e-12)


def test_rccc_keeps_flat_greys_and_reds_and_does_not_know_green_from_blue():
    for colour, seen in (((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)), ((0.8, 0, 0), (0.8, 0, 0)), ((0, 0.6, 0), (0, 0.3, 0.3))):
        flat = np.broadcast_to(np.array(colour), (6, 7, 3))
        assert filters.rccc(flat) == pytest.approx(np.broadcast_to(np.array(seen), (6, 7, 3)), abs=1e-12)


def test_channels_get_their_own_means_and_deviations():
    wanted = {"red": 120, "green": 90, "blue": 60, "red_deviation": 30, "green_deviation": 20, "blue_deviation": 10}
    found = isp.match_channels(NOISY / 255, **wanted) * 255
    assert [*found.mean((0, 1)), *found.std((0, 1))] == pytest.approx(list(wanted.values()))
    for channel in range(3):
        alone = np.repeat(NOISY[:, :, channel : channel + 1], 3, 2) / 255
        mean, deviation = list(wanted.values())[channel], list(wanted.values())[3 + channel]
        expected = isp.match_exposure(alone, mean=mean, deviation=deviation)
        assert found[:, :, channel] / 255 == pytest.approx(expected[:, :, 0])
    flat = isp.match_channels(np.full((4, 4, 3), 10, np.uint8), **wanted)
    assert np.unique(flat.reshape(-1, 3), axis=0).tolist() == [[120, 90, 60]]


@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        ("denoise", {"strength": 0}, "strength 0"),
        ("denoise", {"strength": 9, "radius": 17}, "radius 17"),
        ("colour_correction", {"rr": math.nan}, "finite"),
        ("tone_map", {"white": 0}, "white 0"),
        ("tone_map", {"white": 4, "exposure": math.inf}, "exposure inf"),
        ("rccc", {"pattern": "RGGB"}, "pattern 'RGGB'"),
        ("rccc", {"green": 0, "blue": 0}, "green or blue above 0"),
        ("match_channels", dict.fromkeys(("red", "green", "blue"), 1) | {"red_deviation": -1}, "deviations 0 or more"),
    ],
)
def test_senseless_parameters_of_the_processor_are_refused(name, given, says):
    if name == "match_channels":
        given = {"green_deviation": 1, "blue_deviation": 1} | given
    with pytest.raises(UsageError, match=says):
        CAMERA_FILTERS.find(name)(NOISY, **given)


def test_the_whole_processor_runs_as_one_chain():
    steps = [
        Step("bayer"),
        Step("denoise", {"strength": 8}),
        Step("colour_correction", {"rr": 1.4, "rg": -0.4}),
        Step("tone_map", {"white": 4}),
        Step("srgb"),
        Step("sharpen", {"amount": 0.3}),
    ]
    assert apply_steps(NOISY, steps).shape == NOISY.shape
