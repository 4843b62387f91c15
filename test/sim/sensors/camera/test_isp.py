"""The sensor's and ISP's filters, each against the formula it claims."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simjudge.core.errors import UsageError
from simjudge.sim.sensors.camera import isp
from simjudge.sim.sensors.camera.chain import Step, apply_steps
from simjudge.sim.sensors.camera.filters import CAMERA_FILTERS, camera_filter, gaussian_noise

NOISY = np.random.default_rng(5).integers(0, 256, (41, 60, 3), np.uint8)


@pytest.mark.parametrize(("shot", "read"), [(0, 3), (8, 0), (6, 2), (25.5, 5.1)])
def test_noise_variance_lies_on_the_line(shot, read):
    levels = np.array([0.0, 0.1, 0.25, 0.5, 0.75, 1.0])
    pictures = np.broadcast_to(levels[:, None, None, None], (6, 300, 300, 3))
    count = 300 * 300 * 3
    for number, (level, picture) in enumerate(zip(levels, pictures, strict=True)):
        added = (isp.shot_noise(picture, shot=shot, read=read, seed=number) - picture) * 255
        expected = shot**2 * level + read**2
        assert added.var() == pytest.approx(expected, rel=5 * math.sqrt(2 / count), abs=1e-9)
        assert abs(added.mean()) <= 5 * math.sqrt(expected / count)


def test_a_line_through_the_measured_variances_has_the_slope_and_the_offset_of_the_model():
    ramp = np.broadcast_to(np.linspace(0, 1, 64)[None, :, None], (4000, 64, 3))
    measured = ((isp.shot_noise(ramp, shot=10, read=4, seed=2) - ramp) * 255).var((0, 2))
    slope, offset = np.polyfit(ramp[0, :, 0], measured, 1)
    assert slope == pytest.approx(100, rel=0.02)
    assert offset == pytest.approx(16, rel=0.05)


def test_noise_is_independent_follows_its_seed_and_knows_no_negative_light():
    grey = np.full((200, 200, 3), 0.5)
    first, again, other = (isp.shot_noise(grey, shot=9, read=2, seed=s) for s in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    for one, two in ((first[:, 1:, 0], first[:, :-1, 0]), (first[..., 0], first[..., 1])):
        assert abs(np.corrcoef(one.ravel(), two.ravel())[0, 1]) < 0.02
    assert np.array_equal(isp.shot_noise(grey - 1, shot=9, read=0), grey - 1)
    without_shot = isp.shot_noise(grey, shot=0, read=5, seed=3)
    assert without_shot == pytest.approx(gaussian_noise(grey, sigma=5, seed=3), abs=1e-7)


@pytest.mark.parametrize("method", ["edge_aware", "bilinear"])
@pytest.mark.parametrize("pattern", isp.PATTERNS)
@pytest.mark.parametrize("size", [(2, 2), (3, 5), (24, 31)])
def test_a_flat_picture_comes_through_the_mosaic_unchanged(pattern, method, size):
    flat = np.broadcast_to(np.array([200, 90, 30], np.uint8), (*size, 3))
    assert np.array_equal(isp.bayer(flat, pattern=pattern, method=method), flat)
    precise = isp.bayer(flat / 255, pattern=pattern, method=method)
    assert np.abs(precise - flat / 255).max() <= 1.001 / 65535


@pytest.mark.parametrize("pattern", isp.PATTERNS)
def test_samples_are_the_pattern_s_and_stay_as_they_are(pattern):
    samples = isp.mosaic(NOISY, pattern)
    out = isp.bayer(NOISY, pattern=pattern)
    for row in range(41):
        for column in range(60):
            colour = "RGB".index(pattern[row % 2 * 2 + column % 2])
            assert samples[row, column] == NOISY[row, column, colour] == out[row, column, colour]


def psnr(one, two):
    return -10 * math.log10(float(np.mean((one - two) ** 2)))


@pytest.mark.parametrize("pattern", isp.PATTERNS)
@pytest.mark.parametrize("turned", [False, True])
def test_along_an_edge_is_better_than_across(pattern, turned):
    edge = np.full((64, 64, 3), 0.1)
    edge[:, 32:] = 0.9
    edge = edge.transpose(1, 0, 2) if turned else edge
    aware, plain = (isp.bayer(edge, pattern=pattern, method=m) for m in ("edge_aware", "bilinear"))
    assert psnr(aware, edge) > psnr(plain, edge) + 0.4
    # Red and blue are interpolated alike; it is green that is found along the edge, and there exactly.
    assert np.abs(aware - edge)[..., 1].max() < 1e-4
    assert np.abs(plain - edge)[..., 1].max() > 0.1


@pytest.mark.parametrize("bits", [1, 2, 5, 8, 12])
def test_quantization_has_so_many_levels_and_saturates(bits):
    values = np.broadcast_to(np.linspace(-0.2, 1.2, 20001)[None, :, None], (1, 20001, 3))
    out = isp.quantization(values, bits=bits)
    top = 2**bits - 1
    assert np.unique(out).tolist() == pytest.approx([n / top for n in range(top + 1)])
    inside = np.clip(values, 0, 1)
    assert np.abs(out - inside).max() <= 0.5 / top + 1e-12
    if bits == 8:
        assert np.array_equal(isp.quantization(NOISY, bits=8), NOISY)


@given(mean=st.floats(20, 230), deviation=st.floats(0, 60))
def test_exposure_is_matched(mean, deviation):
    out = isp.match_exposure(NOISY / 255, mean=mean, deviation=deviation) * 255
    assert out.mean() == pytest.approx(mean)
    assert out.std() == pytest.approx(deviation, abs=1e-9)


def test_exposure_of_a_set_matched_to_itself_changes_nothing():
    measured = isp.measure_exposure([NOISY])
    assert measured.mean == pytest.approx(NOISY.mean())
    assert measured.deviation == pytest.approx(NOISY.std())
    assert measured.channels == pytest.approx(NOISY.mean((0, 1)))
    assert np.array_equal(isp.match_exposure(NOISY, mean=measured.mean, deviation=measured.deviation), NOISY)
    both = isp.measure_exposure(iter([np.full((2, 2, 3), 10, np.uint8), np.full((4, 4, 3), 30, np.uint8)]))
    assert both == (pytest.approx(20), pytest.approx(0), pytest.approx((20, 20, 20)))
    flat = isp.match_exposure(np.full((4, 4, 3), 10, np.uint8), mean=99, deviation=40)
    assert np.unique(flat).tolist() == [99]
    with pytest.raises(UsageError, match="without images"):
        isp.measure_exposure([])


@given(gains=st.tuples(*[st.floats(0.2, 3)] * 3))
def test_gray_world_finds_the_tint_and_its_inverse_puts_it_back(gains):
    picture = NOISY / 255 * gains
    balanced = isp.gray_world(picture)
    assert balanced.mean((0, 1)) == pytest.approx([picture.mean()] * 3)
    red, green, blue = picture.mean((0, 1)) * 255
    back = isp.inverse_gray_world(balanced, red=red, green=green, blue=blue)
    np.testing.assert_allclose(back, picture, rtol=1e-6, atol=1e-12)
    grey = isp.gray_world(NOISY / 255)
    np.testing.assert_allclose(balanced / balanced.mean(), grey / grey.mean(), rtol=1e-6, atol=1e-12)


def test_a_black_channel_stays_black():
    picture = NOISY.copy()
    picture[..., 2] = 0
    out = isp.gray_world(picture)
    assert not out[..., 2].any()
    assert np.isfinite(isp.gray_world(picture / 255)).all()


@pytest.mark.parametrize(
    ("name", "given_", "says"),
    [
        ("shot_noise", {"shot": -1, "read": 0}, "shot -1"),
        ("shot_noise", {"shot": 1, "read": math.nan}, "read nan"),
        ("bayer", {"pattern": "RGBG"}, "pattern 'RGBG'"),
        ("bayer", {"method": "magic"}, "method 'magic'"),
        ("quantization", {"bits": 0}, "0 bits"),
        ("quantization", {"bits": 2.5}, "2.5 bits"),
        ("match_exposure", {"mean": math.inf, "deviation": 1}, "mean inf"),
        ("match_exposure", {"mean": 1, "deviation": -1}, "deviation -1"),
        ("inverse_gray_world", {"red": 0, "green": 1, "blue": 1}, "means 0, 1, 1"),
    ],
)
def test_senseless_parameters_of_the_isp_are_refused(name, given_, says):
    with pytest.raises(UsageError, match=says):
        CAMERA_FILTERS.find(name)(NOISY, **given_)


def test_a_picture_without_all_colours_is_refused():
    with pytest.raises(UsageError, match="at least 2x2"):
        isp.bayer(NOISY[:1])


def test_a_decorated_function_is_a_filter():
    @camera_filter
    def upside_down(picture):
        """A filter of somebody else."""
        return picture[::-1].copy()

    try:
        assert np.array_equal(apply_steps(NOISY, [Step("upside_down")]), NOISY[::-1])
    finally:
        del CAMERA_FILTERS.functions[upside_down.__name__]


def test_srgb_is_the_standard_s_curve_and_linear_light_its_inverse():
    linear = np.array([-0.01, 0.0, 0.0031308, 0.0031309, 0.2140411, 1.0, 2.0])
    # IEC 61966-2-1; 0.5 is the display value of 0.2140411.
    assert isp.srgb(linear)[1:6] == pytest.approx([0, 0.0404499, 0.0404509, 0.5, 1], abs=1e-6)
    assert isp.linear_light(isp.srgb(linear)) == pytest.approx(linear, abs=1e-7)
    assert np.all(np.diff(isp.srgb(linear)) > 0)
    single = linear.astype(np.float32)
    assert isp.linear_light(isp.srgb(single)).dtype == np.float32
