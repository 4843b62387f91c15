"""Rain and spray: against the formulas' integrals, and drawn drops against what they must cover."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

from simjudge.sim.sensors.weather import (
    RainView,
    Spray,
    _draw,
    drop_slope,
    fall_speed,
    rain_extinction,
    section,
    streaks,
)

VIEW = RainView((120, 160), 130.0, 0.5, 3.0)
FAR = np.full(VIEW.size, np.inf)


@pytest.mark.parametrize("rate", [0.5, 5.0, 60.0])
def test_rain_takes_away_twice_the_sections_of_marshall_and_palmer_s_drops(rate):
    sections, _ = quad(lambda d: 8000 * math.exp(-4.1 * rate**-0.21 * d) * math.pi / 4 * (d * 1e-3) ** 2, 0, 30)
    assert section(rate) == pytest.approx(sections, rel=1e-6)
    assert rain_extinction(rate) == pytest.approx(2 * sections, rel=1e-6)
    assert rain_extinction(rate) == pytest.approx(3.65e-4 * rate**0.63, rel=0.001)
    assert rain_extinction(rate, "goodin") == pytest.approx(0.01 * rate**0.6)


def test_rain_takes_away_about_what_is_measured_on_optical_links():
    """Carbonneau: 1.076 R^0.67 dB/km. Drops scatter half of theirs straight on, which such a receiver sees."""
    for rate in (5.0, 25.0, 100.0):
        measured = 1.076 * rate**0.67 / (10 * math.log10(math.e)) / 1000
        assert 0.5 < measured / rain_extinction(rate) < 1


def test_the_water_of_all_drops_is_about_the_rate():
    """Rate = flux of volume: Marshall and Palmer's drops at Atlas's speeds, an independent check of both."""
    for rate in (2.0, 10.0, 50.0):

        def falling(d, rate=rate):
            return 8000 * math.exp(-drop_slope(rate) * d) * math.pi / 6 * d**3 * float(fall_speed(np.array(d)))

        flux, _ = quad(falling, 0, 30)  # mm^3 m/s a m^3 = 1e-9 m/s
        assert flux * 1e-9 * 1000 * 3600 == pytest.approx(rate, rel=0.2)


@pytest.mark.parametrize("rate", [4.0, 40.0])
@pytest.mark.parametrize(("exposure", "velocity"), [(0.0, (0.0, 0.0)), (0.01, (0.0, 0.0)), (0.01, (4.0, 15.0))])
def test_drops_cover_their_sections_times_the_way_however_far_they_move(rate, exposure, velocity):
    shares = [streaks(rate, VIEW, exposure, velocity, FAR, (seed,)).mean() for seed in range(60)]
    expected = section(rate) * (VIEW.far - VIEW.near)
    error = np.std(shares) / math.sqrt(len(shares))
    assert abs(np.mean(shares) - expected) < 4 * error + 0.01 * expected


def test_streaks_are_as_long_as_drops_fall_while_light_is_gathered():
    """By the picture's own correlation: longer exposures join pixels below one another, not beside."""

    def joined(exposure, rows, columns):
        seen = streaks(1.0, VIEW, exposure, (0.0, 0.0), FAR, (1,))
        one, other = seen[: -rows or None, : -columns or None], seen[rows:, columns:]
        return np.corrcoef(one.ravel(), other.ravel())[0, 1]

    assert joined(0.02, 4, 0) > 0.3
    assert joined(0.02, 0, 4) < 0.15
    assert joined(0.0, 4, 0) < 0.2


def test_a_wide_drop_has_no_holes():
    """One drop of 30 px that stands still, by the disc itself."""
    covered = np.zeros((60, 60))
    one = [np.array([value]) for value in (30.0, 30.0, 1.0, 0.03, 0.0)]
    _draw(covered, np.full(covered.shape, np.inf), *one, (0.0, 0.0), 1000.0)
    row, column = np.indices(covered.shape) + 0.5
    away = np.hypot(row - 30, column - 30)
    assert covered[away < 13.5] == pytest.approx(1, abs=0.03)
    assert covered[away > 16.5] == pytest.approx(0)
    assert covered.sum() == pytest.approx(math.pi / 4 * 30**2)


def test_streaks_follow_the_seed_and_hide_behind_things():
    one, again, other = (streaks(10.0, VIEW, 0.01, (0.0, 0.0), FAR, (seed,)) for seed in (1, 1, 2))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)
    near = FAR.copy()
    near[:, :80] = 0.4
    hidden = streaks(10.0, VIEW, 0.01, (0.0, 0.0), near, (1,))
    assert not hidden[:, :80].any()
    assert np.array_equal(hidden[:, 80:], one[:, 80:])


PLUME = Spray(0.4, (8.0, 1.0, -0.5), (3.0, 0.8, 0.6))


@pytest.mark.parametrize("distance", [2.0, 8.0, 30.0, math.inf])
def test_a_plume_s_depth_is_the_integral_along_the_ray(distance):
    random = np.random.default_rng(0)
    for ray in random.normal([4, 0.3, -0.2], [1, 0.7, 0.5], (12, 3)):
        unit = ray / np.linalg.norm(ray)

        def extinction(r, unit=unit):
            away = (unit * r - PLUME.position) / np.array(PLUME.size)
            return 0.4 * math.exp(-0.5 * (away**2).sum())

        expected, _ = quad(extinction, 0, min(distance, 60.0), points=[8.0] if distance > 8 else None, epsabs=1e-12)
        assert PLUME.depth(unit, np.array(distance)) == pytest.approx(expected, rel=1e-6, abs=1e-10)
        assert PLUME.at(unit, np.array(7.0)) == pytest.approx(extinction(7.0))


@pytest.mark.parametrize("given", [{"density": -1}, {"position": (0, math.nan, 0)}, {"size": (1, 0, 1)}])
def test_plumes_that_make_no_sense_are_refused(given):
    with pytest.raises(ValueError, match="spray: "):
        Spray(**({"density": 1, "position": (5, 0, 0), "size": (1, 1, 1)} | given))
