"""A radar as a file has it: cells, point spread and sensitivity against formulas, and what is refused."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.signal.windows import chebwin

from simjudge.core.errors import SimjudgeError
from simjudge.sim.sensors.radar.radar import first_null, point_spread, resolved_steps
from simjudge.sim.sensors.sensor_file import read_sensors, sensor_from_fields

FIELDS = {
    "kind": "radar",
    "rate": 20,
    "field_of_view": {"horizontal": 120, "vertical": 20},
    "range": (0.5, 80),
    "speed": (-30, 30),
    "resolution": {"range": 0.5, "speed": 0.5, "azimuth": 4},
    "sensitivity": {"range": 50, "snr": 13},
}


def radar(**changes):
    return sensor_from_fields("front", FIELDS | changes).model()


@pytest.mark.parametrize("side_lobes", [50, 60, 80])
def test_the_point_spread_is_that_of_scipys_dolph_chebyshev_window(side_lobes):
    """2048 samples, 16 times as many frequencies: the spectrum's bins are 1/16 of a cell apart."""
    spectrum = np.abs(np.fft.fft(chebwin(2048, side_lobes), 16 * 2048))
    u = np.arange(200) / 16
    assert point_spread(u, side_lobes) == pytest.approx(
        np.sign(point_spread(u, side_lobes)) * spectrum[:200] / spectrum[0], abs=2e-3
    )
    assert np.abs(point_spread(np.arange(0, 50, 0.01), side_lobes))[800:].max() == pytest.approx(
        10 ** (-side_lobes / 20)
    )
    half = resolved_steps(side_lobes) / 2
    assert point_spread(np.array([0.0, half, first_null(side_lobes)]), side_lobes) == pytest.approx(
        [1, 0.5, 0], abs=1e-9
    )


def test_cells_cover_the_axes_and_a_resolution_is_the_width_of_the_main_lobe_6_db_down():
    axes = radar().axes
    for axis, (low, high), resolution in zip(
        axes,
        [(0.5, 80), (-30, 30), (-math.sin(math.pi / 3), math.sin(math.pi / 3))],
        [0.5, 0.5, math.sin(math.radians(4))],
        strict=True,
    ):
        # A whole number of cells of speed fills the span, after which speeds come in again.
        rounded = 0.5 / axis.cells if axis.wraps else 1e-9
        assert axis.step == pytest.approx(resolution / resolved_steps(40), rel=rounded)
        assert axis.low == low
        if axis.wraps:
            assert axis.cells * axis.step == pytest.approx(high - low)
        assert high - 2 * axis.step < axis.low + (axis.cells - 1) * axis.step <= high


def test_sensitivity_by_range_and_by_the_radar_equation():
    assert radar().signal(np.ones(2), np.array([50.0, 100.0])) == pytest.approx([10**1.3, 10**1.3 / 16])
    transmitter = {"power": 12, "gain": 40, "noise_figure": 15, "time": 0.01, "losses": 2}
    given = radar(sensitivity=None, transmitter=transmitter, frequency=77)
    # 12 dBm + 40 dB - 30.1 dBm... in decibels throughout: lambda 3.893 mm, kT 4.004e-21 W/Hz.
    db = 12 - 30 + 40 + 20 * math.log10(299792458 / 77e9) + 10 * math.log10(0.01) - 30 * math.log10(4 * math.pi)
    db -= 10 * math.log10(1.380649e-23 * 290) + 15 + 2
    assert 10 * math.log10(given.sensitivity) == pytest.approx(db)


def test_the_threshold_is_passed_by_noise_as_often_as_is_asked_for():
    one = radar(false_alarms=2.0)
    assert one.cells * math.exp(-one.threshold) == pytest.approx(2.0)
    assert replace(one, false_alarms=0.2).threshold > one.threshold


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"range": (80, 0.5)}, "first must be smaller"),
        ({"range": (0, 50)}, "nearest must be above 0"),
        ({"window": 0}, "listening"),
        ({"sensitivity": None}, "sensitivity"),
        ({"transmitter": {"power": 1, "gain": 1, "noise_figure": 1, "time": 1}}, "transmitter"),
        ({"speed": (0, 0.5)}, "narrower than one echo"),
        ({"false_alarms": 1e9}, "1 % of"),
        ({"ray_spacing": 0.01}, "million rays"),
        ({"source": "chrono"}, "simjudge's own"),
        ({"filters": ["drop_return"]}, "drop_returns"),
    ],
)
def test_what_makes_no_sense_is_refused(changes, words):
    fields = {key: value for key, value in (FIELDS | changes).items() if value is not None}
    with pytest.raises(SimjudgeError, match=words):
        sensor_from_fields("front", fields)


def test_the_preset_has_the_figures_of_its_data_sheet():
    (spec,) = read_sensors("ars408")
    preset = spec.model()
    assert spec.place == "bumper"
    assert preset.range == (0.2, 100)
    assert np.array(preset.speed) * 3.6 == pytest.approx([-200, 400], abs=0.2)
    assert preset.resolution == pytest.approx((0.39, 0.43 / 3.6, math.radians(3.2)), rel=5e-3)
    assert preset.noise.speed * 3.6 == pytest.approx(0.1, abs=1e-3)
    assert 1 / preset.rate == pytest.approx(0.072, abs=1e-4)
