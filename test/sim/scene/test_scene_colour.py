"""Colours: sRGB both ways, and what a black body looks like."""

import numpy as np
import pytest

from simjudge.sim.scene.scene_fields import image_to_linear, parse_srgb, temperature_to_linear, to_linear, to_srgb


def test_srgb_is_the_standards():
    # IEC 61966-2-1: mid grey 188 is half the light; the linear piece ends at 0.04045.
    assert to_linear(188 / 255) == pytest.approx(0.5029, abs=1e-4)
    assert to_linear(0.04045) == pytest.approx(0.0031308, abs=1e-6)
    assert to_linear([0.0, 1.0]) == pytest.approx([0, 1])
    values = np.linspace(0, 1, 1001)
    assert to_srgb(to_linear(values)) == pytest.approx(values, abs=1e-6)
    assert np.all(np.diff(to_linear(values)) > 0)
    picture = np.arange(256, dtype=np.uint8)
    assert image_to_linear(picture) == pytest.approx(to_linear(picture / 255), abs=1e-7)


@pytest.mark.parametrize(
    ("given", "right"),
    [
        ("#ff8000", (1, 128 / 255, 0)),
        ([0, 0.5, 1], (0, 0.5, 1)),
        ("#fff", None),
        ("red", None),
        ([0, 0.5], None),
        ([0, 0.5, 2], None),
        ([0, 0.5, True], None),
        ([0, 0.5, float("nan")], None),
        (None, None),
    ],
)
def test_colours_as_written(given, right):
    assert parse_srgb(given) == right


def spectrum_of(kelvin):
    """Chromaticity of Planck's law with the multi-lobe fit of the CIE 1931 observer by Wyman et al. (2013)."""
    nm = np.arange(360.0, 831.0)

    def lobe(middle, low, high):
        return np.exp(-0.5 * ((nm - middle) * np.where(nm < middle, low, high)) ** 2)

    x = 1.056 * lobe(599.8, 0.0264, 0.0323) + 0.362 * lobe(442.0, 0.0624, 0.0374) - 0.065 * lobe(501.1, 0.0490, 0.0382)
    y = 0.821 * lobe(568.8, 0.0213, 0.0247) + 0.286 * lobe(530.9, 0.0613, 0.0322)
    z = 1.217 * lobe(437.0, 0.0845, 0.0278) + 0.681 * lobe(459.0, 0.0385, 0.0725)
    power = nm**-5.0 / np.expm1(1.4388e7 / (nm * kelvin))
    xyz = np.array([np.sum(power * each) for each in (x, y, z)])
    return xyz / xyz.sum()


@pytest.mark.parametrize("kelvin", [1800, 2200, 2700, 3500, 4000, 5000, 6500, 10000, 20000])
def test_temperatures_are_plancks(kelvin):
    rgb = temperature_to_linear(kelvin)
    assert rgb @ [0.2126, 0.7152, 0.0722] == pytest.approx(1)
    if kelvin >= 2200:  # in gamut
        to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
        xyz = to_xyz @ rgb
        assert xyz / xyz.sum() == pytest.approx(spectrum_of(kelvin), abs=0.004)
