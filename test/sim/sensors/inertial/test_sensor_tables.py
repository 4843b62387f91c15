"""White noise and the bias that walks: variances, Allan slopes, seeds, and one by one as all at once."""

import math

import numpy as np
import pytest

from simjudge.sim.sensors.inertial.imu_calibration import allan_deviation, fit_noise
from simjudge.sim.sensors.inertial.sensor_tables import NoiseModel, NoiseSource, walk_of_instability

RATE = 100.0


def series(count=200_000, seed=(7,), **fields):
    return NoiseSource(NoiseModel(**fields), RATE, seed).draw(count)


def slope(tau, deviation):
    return np.polyfit(np.log(tau), np.log(deviation), 1)[0]


def test_the_variance_of_the_bias_is_b0_squared_t_over_t_b():
    """1200 walks of 20 s, each axis its own: the variance grows in proportion to the time."""
    b0, time = 0.3, (4.0, 9.0, 16.0)
    model = NoiseModel(bias=(b0,) * 3, bias_time=time)
    walks = np.stack([NoiseSource(model, RATE, (seed,)).draw(2000) for seed in range(1200)])
    for row in (199, 999, 1999):
        expected = b0**2 * (row + 1) / RATE / np.array(time)
        # Of a variance of 1200 normal numbers the standard error is sqrt(2 / 1200) = 4 %.
        assert walks[:, row].var(axis=0) == pytest.approx(expected, rel=0.16)
    assert np.abs(np.corrcoef(walks[:, -1].T) - np.eye(3)).max() < 0.12, "axes are independent"


def test_white_noise_has_its_mean_and_deviation():
    noise = series(mean=(1.0, -2.0, 0.0), deviation=(0.1, 0.2, 0.0))
    assert noise.mean(axis=0) == pytest.approx([1.0, -2.0, 0.0], abs=5 * 0.2 / math.sqrt(200_000))
    assert noise.std(axis=0) == pytest.approx([0.1, 0.2, 0.0], rel=0.01)


def test_a_mean_step_makes_the_bias_a_line():
    line = series(10, bias_mean=(0.5, 0.0, -1.0))
    assert line == pytest.approx(np.arange(1, 11)[:, None] * [0.5, 0.0, -1.0])


def test_allan_slopes_of_white_noise_and_of_a_random_walk():
    white = allan_deviation(series(deviation=(0.1, 0.2, 0.4))[:, :3], RATE)
    some = white.tau < 20
    for axis, deviation in enumerate((0.1, 0.2, 0.4)):
        assert slope(white.tau[some], white.deviation[some, axis]) == pytest.approx(-0.5, abs=0.02)
        # The Allan deviation of one reading is that of white noise itself.
        assert white.deviation[0, axis] == pytest.approx(deviation, rel=0.01)
    walk = allan_deviation(series(bias=(0.1,) * 3, bias_time=(4.0,) * 3), RATE)
    some = (walk.tau > 0.2) & (walk.tau < 20)
    for axis in range(3):
        assert slope(walk.tau[some], walk.deviation[some, axis]) == pytest.approx(0.5, abs=0.05)
        expected = 0.05 * np.sqrt(walk.tau[some] / 3)
        assert walk.deviation[some, axis] == pytest.approx(expected, rel=0.15)


def test_overlapping_allan_deviation_is_the_definition():
    """Against a naive loop over all clusters."""
    values = np.random.default_rng(3).normal(size=(300, 2)).cumsum(axis=0)
    found = allan_deviation(values, 50.0)
    for tau, row in zip(found.tau, found.deviation, strict=True):
        size = round(tau * 50)
        means = np.array([values[k : k + size].mean(axis=0) for k in range(len(values) - size + 1)])
        squares = [(means[k + size] - means[k]) ** 2 for k in range(len(means) - size)]
        assert row == pytest.approx(np.sqrt(np.mean(squares, axis=0) / 2))


def test_allan_deviation_as_allantools_has_it():
    allantools = pytest.importorskip("allantools", reason="allantools is not installed")
    values = np.random.default_rng(4).normal(size=3000)
    found = allan_deviation(values, 25.0)
    tau, deviation, _, _ = allantools.oadev(values, rate=25.0, data_type="freq", taus=found.tau)
    assert found.tau == pytest.approx(tau)
    assert found.deviation[:, 0] == pytest.approx(deviation)


@pytest.mark.parametrize("seed", range(3))
def test_a_fit_finds_the_noise_again(seed):
    """An hour at 100 Hz: N within 1 %, K within 15 %; b0 and t_b give the same K."""
    noise = series(360_000, seed=(seed,), deviation=(0.02,) * 3, bias=(1e-3, 3e-4, 0.0), bias_time=(4.0, 1.0, 1.0))
    allan = allan_deviation(noise, RATE)
    for axis, walk in enumerate((5e-4, 3e-4)):
        found = fit_noise(allan, axis)
        assert found.deviation(RATE) == pytest.approx(0.02, rel=0.01)
        assert found.walk == pytest.approx(walk, rel=0.15)
        assert found.bias / math.sqrt(found.bias_time) == pytest.approx(found.walk)
    still = fit_noise(allan, 2)
    assert (still.walk, still.bias) == (0.0, 0.0)
    assert still.walk_error < 5e-5


@pytest.mark.parametrize("walk", [2e-3, 0.01])
def test_stated_errors_are_those_of_repetitions(walk):
    """Errors of 60 fits over what is stated: between 0.5 and 1.3 in the root mean square, and no bias."""
    scores = []
    for seed in range(20):
        noise = series(20_000, seed=(seed,), deviation=(0.02,) * 3, bias=(walk,) * 3)
        allan = allan_deviation(noise, RATE)
        for axis in range(3):
            found = fit_noise(allan, axis)
            scores.append(((found.density - 0.002) / found.density_error, (found.walk - walk) / found.walk_error))
    scores = np.array(scores)
    assert np.all(np.abs(scores.mean(axis=0)) < 0.4)
    spread = np.sqrt(np.mean(np.square(scores), axis=0))
    assert np.all((spread > 0.5) & (spread < 1.3)), spread


def test_a_bias_instability_is_the_lowest_allan_deviation():
    density, lowest = 0.002, 4e-4
    walk = float(walk_of_instability(np.array(lowest), np.array(density)))
    tau = np.geomspace(0.1, 1000, 4000)
    deviation = np.sqrt(density**2 / tau + walk**2 * tau / 3)
    assert deviation.min() == pytest.approx(lowest, rel=1e-5)


def test_the_same_seed_gives_the_same_numbers_one_by_one():
    model = NoiseModel(deviation=(1.0, 2.0, 3.0), bias=(0.1, 0.2, 0.3), bias_time=(5.0, 6.0, 7.0))
    whole = NoiseSource(model, RATE, (1, 2)).draw(1000)
    again = NoiseSource(model, RATE, (1, 2))
    pieces = [again.draw(count) for count in [1] * 10 + [0, 7, 300, 1, 682]]
    assert np.array_equal(np.concatenate(pieces), whole)
    other = NoiseSource(model, RATE, (1, 3)).draw(1000)
    assert abs(np.corrcoef(whole[:, 0], other[:, 0])[0, 1]) < 0.1
