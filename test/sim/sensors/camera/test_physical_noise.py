"""Photon and read noise against formulas: mean, variance, Poisson's distribution, a data sheet's figures."""

import math

import numpy as np
import pytest
from scipy import stats

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera.chain import Step, develop_light
from simjudge.sim.sensors.camera.isp import emva1288_noise, physical_noise

LEVELS = (0.0, 0.02, 0.1, 0.4, 0.8)
COUNT = 90_000


def flat(level, count=COUNT):
    return np.full((count // 300, 300, 1), level)


@pytest.mark.parametrize(
    ("s1", "s2", "s_adc", "gain"), [(0.02, 0, 0, 1), (0.1, 0.01, 0, 1), (0, 0.03, 0, 1), (0.05, 0.004, 0.01, 4)]
)
def test_mean_and_variance_are_those_of_the_formula(s1, s2, s_adc, gain):
    for number, level in enumerate(LEVELS):
        noisy = physical_noise(flat(level), s1=s1, s2=s2, s_adc=s_adc, seed=number, amplification=gain)
        # Phi t g^2 + s_read^2 g^2 + s_adc^2 with the gain G times as high: the same value is fewer electrons.
        expected = s1**2 * gain * level + (s2 * gain) ** 2 + s_adc**2
        assert noisy.mean() == pytest.approx(level, abs=5 * math.sqrt(expected / COUNT) + 1e-7)
        # The variance of a variance: (mu4 - sigma^4) / n; Poisson's excess kurtosis is 1 / mean.
        kurtosis = 2 + (gain * s1**2 / level if level else 0)
        assert noisy.var() == pytest.approx(expected, rel=5 * math.sqrt(kurtosis / COUNT), abs=1e-9)


@pytest.mark.parametrize("electrons", [0.3, 3, 40])
def test_few_electrons_are_counted_as_poisson_has_it(electrons):
    """Not a normal distribution: whole electrons, in Poisson's proportions."""
    count = physical_noise(flat(electrons / 400), s1=1 / 20, s2=0, seed=3) * 400
    assert np.allclose(count, np.rint(count), atol=1e-6)
    seen = np.bincount(np.rint(count).astype(int).ravel(), minlength=200)
    expected = stats.poisson.pmf(np.arange(len(seen)), electrons) * COUNT
    common = expected > 5
    pooled = np.append(expected[common], expected[~common].sum() + 1e-9)
    found = np.append(seen[common], seen[~common].sum())
    assert stats.chisquare(found, pooled * found.sum() / pooled.sum()).pvalue > 1e-4


def test_many_electrons_have_poisson_s_mean_and_variance_across_the_change_to_a_normal_distribution():
    for electrons in (900, 1100):
        count = physical_noise(flat(electrons / 1e4), s1=0.01, s2=0, seed=8) * 1e4
        assert count.mean() == pytest.approx(electrons, abs=5 * math.sqrt(electrons / COUNT))
        assert count.var() == pytest.approx(electrons, rel=5 * math.sqrt(2 / COUNT))


def test_noise_follows_its_seed_and_pixels_and_channels_are_independent():
    grey = np.full((200, 200, 3), 0.3, np.float32)
    first, again, other = (physical_noise(grey, s1=0.1, s2=0.01, seed=seed) for seed in ((1, 7), (1, 7), (1, 8)))
    assert np.array_equal(first, again)
    assert first.dtype == np.float32
    assert not np.array_equal(first, other)
    for one, two in ((first[:, 1:, 0], first[:, :-1, 0]), (first[..., 0], first[..., 1]), (first, other)):
        assert abs(np.corrcoef(one.ravel(), two.ravel())[0, 1]) < 0.02


SHEET = {"bit_depth": 10, "temporal_dark_noise": 8, "system_gain": 0.1, "saturation_capacity": 10_000}


def test_a_data_sheet_s_figures_give_the_variance_of_emva_1288():
    """sigma_y^2 = K^2 (sigma_d^2 + mu_e) + 1/12 in digital numbers, mu_y = K eta mu_p."""
    for photons, level in ((3000, 0.9), (900, 0.5), (100, 0.1), (0.001, 0.0)):
        given = SHEET | {"quantum_efficiency": 0.6, "photons": photons}
        digital = emva1288_noise(flat(level), **given, seed=2) * 1023
        assert np.allclose(digital, np.rint(digital), atol=1e-6)
        mean = 0.6 * photons * level
        expected = 0.1**2 * (64 + mean) + 1 / 12
        assert digital.mean() == pytest.approx(0.1 * mean, abs=5 * math.sqrt(expected / COUNT))
        assert digital.var() == pytest.approx(expected, rel=6 * math.sqrt(2 / COUNT) + 0.01)


def test_light_of_1_is_full_scale_without_photons_and_a_full_pixel_saturates():
    given = {"bit_depth": 12, "temporal_dark_noise": 0}
    by_capacity = emva1288_noise(flat(0.25), **given, saturation_capacity=8000, seed=1)
    by_gain = emva1288_noise(flat(0.25), **given, system_gain=4095 / 8000, seed=1)
    assert np.array_equal(by_capacity, by_gain)
    assert by_capacity.mean() == pytest.approx(0.25, abs=5 * math.sqrt(0.25 / 8000 / COUNT))
    assert emva1288_noise(flat(3.0), **given, saturation_capacity=8000).max() == 1
    # 6000 electrons at 4095 / 8000 are 75 % of full scale.
    low = emva1288_noise(flat(3.0), **given, system_gain=4095 / 8000, saturation_capacity=6000)
    assert np.unique(low).tolist() == [pytest.approx(0.75, abs=1e-3)]


def test_offsets_and_responses_are_fixed_to_the_device_and_have_the_data_sheet_s_spread():
    """Over frames the noise goes, the pattern stays: s_y^2 = K^2 DSNU^2 in the dark, PRNU^2 of the mean on top."""

    def mean_image(level, **given):
        frames = [emva1288_noise(flat(level, 30_000), **SHEET, dsnu=20, prnu=3, seed=n, **given) for n in range(30)]
        return np.mean(frames, 0) * 1023 / 0.1, np.var(frames, 0, ddof=1).mean() * (1023 / 0.1) ** 2 / 30

    dark, rest = mean_image(0.0)
    assert dark.var() - rest == pytest.approx(20**2, rel=0.05)
    bright, rest = mean_image(0.5)
    light = 0.5 * 10_230
    assert bright.mean() == pytest.approx(light, rel=0.002)
    assert bright.var() - rest == pytest.approx(20**2 + (0.03 * light) ** 2, rel=0.05)
    assert np.corrcoef(dark.ravel(), mean_image(0.0)[0].ravel())[0, 1] > 0.9
    assert abs(np.corrcoef(dark.ravel(), mean_image(0.0, device=1)[0].ravel())[0, 1]) < 0.05


def test_a_gray_camera_has_one_noise_a_pixel():
    light = np.full((100, 100, 3), 0.2, np.float32) * np.array([1, 0.5, 2], np.float32)
    steps = [
        Step("gray", {"red": 1, "green": 1, "blue": 1}),
        Step("physical_noise", {"s1": 0.1, "s2": 0}),
        Step("srgb"),
    ]
    image = develop_light(light, steps, 5)
    assert image.shape == (100, 100, 1)
    value = 0.2 * 3.5 / 3
    linear = ((image / 255 + 0.055) / 1.055) ** 2.4
    assert linear.mean() == pytest.approx(value, rel=0.01)
    assert linear.var() == pytest.approx(0.01 * value, rel=0.08)


NOISE = "{physical_noise: {s1: 0.02, s2: 0.001}}"
EMVA = "bit_depth: 12, temporal_dark_noise: 5"


@pytest.mark.parametrize(
    ("filters", "says"),
    [
        ("[{physical_noise: {s1: 0.02}}, srgb]", "filter physical_noise: s2 is missing"),
        ("[{physical_noise: {s1: -0.02, s2: 0}}, srgb]", "s1 -0.02.* shares of full scale, 0 to 1"),
        ("[{physical_noise: {s1: 6, s2: 0.5}}, srgb]", "s1 6.* shares of full scale"),
        ("[{physical_noise: {s1: .nan, s2: 0}}, srgb]", "a finite number is needed"),
        ("[{physical_noise: {s1: 0.1, s2: 0, system_gain: 1}}, srgb]", "no parameter 'system_gain'; it has s1"),
        ("[{physical_noise: {s1: 0.1, s3: 0}}, srgb]", "no parameter 's3'"),
        (f"[{NOISE}, {{emva1288_noise: {{{EMVA}, system_gain: 0.4}}}}, srgb]", "the noise of one sensor twice"),
        (f"[{NOISE}, {{shot_noise: {{shot: 6, read: 1}}}}, srgb]", "physical_noise and shot_noise are the noise"),
        (f"[{NOISE}]", "physical_noise is the noise of linear light; put it above srgb"),
        (f"[srgb, {NOISE}]", "put it above srgb"),
        (f"[{{emva1288_noise: {{{EMVA}}}}}, srgb]", "give system_gain, saturation_capacity, or both"),
        (f"[{{emva1288_noise: {{{EMVA}, system_gain: 9, saturation_capacity: 10000}}}}, srgb]", "contradict each"),
        (f"[{{emva1288_noise: {{{EMVA}, system_gain: 0.4, photons: 99}}}}, srgb]", "go together"),
        (f"[{{emva1288_noise: {{{EMVA}, system_gain: 0.4, prnu: -1}}}}, srgb]", "prnu -1"),
        (f"[{{emva1288_noise: {{{EMVA}, system_gian: 0.4}}}}, srgb]", "no parameter 'system_gian'.*system_gain"),
        ("[{emva1288_noise: {bit_depth: 12.5, temporal_dark_noise: 1, system_gain: 1}}, srgb]", "bit_depth 12.5"),
        ("[gray, gray_world]", "filter gray_world needs colours; put it above gray"),
        ("[gray, bayer]", "filter bayer needs colours"),
        ("[{gray: {red: 0, green: 0, blue: 0}}]", "one above 0"),
    ],
)
def test_bad_noise_is_refused_with_its_remedy(filters, says, tmp_path):
    file = tmp_path / "camera.yaml"
    file.write_text(f"{{size: [8, 8], field_of_view: 60, rate: 1, filters: {filters}}}")
    with pytest.raises(SimjudgeError, match=says):
        read_camera(file)


def test_a_number_that_is_none_is_refused_from_python_too():
    with pytest.raises(UsageError, match="s1 nan"):
        physical_noise(flat(0.1, 300), s1=math.nan, s2=0)
