"""The noise of a standing IMU found again, and series that tell none refused."""

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.sim.sensors.inertial.imu_calibration import ImuSeries, calibrate_series
from simjudge.sim.sensors.inertial.sensor_tables import NoiseModel, NoiseSource
from simjudge.sim.sensors.sensor_file import read_sensors

RATE = 100.0
GYROSCOPE = NoiseModel((0.01, -0.02, 0.0), (2e-3, 3e-3, 4e-3), (6e-5, 9e-5, 0.0), (4.0, 1.0, 1.0))
ACCELEROMETER = NoiseModel(deviation=(0.02, 0.03, 0.05), bias=(4e-4, 0.0, 8e-4), bias_time=(1.0, 1.0, 4.0))


def standing(seconds=120.0, gyroscope=GYROSCOPE, accelerometer=ACCELEROMETER, seed=1):
    count = round(seconds * RATE)
    stamp = 1_700_000_000_000_000_000 + np.arange(count, dtype=np.int64) * 10_000_000
    felt = NoiseSource(accelerometer, RATE, (seed, 2)).draw(count) + np.array([0, 0, 9.81])
    return ImuSeries(
        "bag: /imu", stamp, {"gyroscope": NoiseSource(gyroscope, RATE, (seed, 1)).draw(count), "accelerometer": felt}
    )


@pytest.fixture(scope="module")
def hour():
    return calibrate_series(standing(3600.0))


def test_known_parameters_are_found_again(hour, tmp_path):
    """From an hour at 100 Hz: s_a within 1 %, K = b0 / sqrt(t_b) within 20 %, through the file as well."""
    path = tmp_path / "imu.yaml"
    path.write_text(hour.sensor_file(), encoding="utf-8")
    (spec,) = read_sensors(path)
    assert (spec.kind, spec.rate) == ("imu", pytest.approx(RATE))
    for part, model in (("gyroscope", GYROSCOPE), ("accelerometer", ACCELEROMETER)):
        assert [each.deviation(RATE) for each in hour.noise[part]] == pytest.approx(model.deviation, rel=0.01)
        assert getattr(spec, part).deviation == pytest.approx(model.deviation, rel=0.01)
        for found in ([each.walk for each in hour.noise[part]], getattr(spec, part).random_walk()):
            assert found == pytest.approx(model.random_walk(), rel=0.2)
    assert spec.gyroscope.mean == pytest.approx(hour.mean["gyroscope"], rel=1e-4)
    assert hour.rate == pytest.approx(RATE)
    assert hour.missing == 0


def test_a_minute_tells_the_white_noise_and_no_drift():
    made = calibrate_series(standing(61.0, *(NoiseModel(deviation=(0.02,) * 3),) * 2))
    text = made.sensor_file()
    assert text.count("# no drift is seen in 61 s") == 2
    assert "bias: {" not in text
    for noise in made.noise.values():
        assert [each.deviation(RATE) for each in noise] == pytest.approx([0.02] * 3, rel=0.05)


def changed(series, part, rows, value):
    values = series.parts[part].copy()
    values[rows] += value
    return ImuSeries(series.name, series.stamp, series.parts | {part: values})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda s: s.between(0, 50), "5001 readings in 50 s are too few; record 60 s or more"),
        (lambda s: changed(s, "gyroscope", slice(3000, 3200), 0.1), r"moves: after 3. s its gyroscope is 0\.\d+"),
        (lambda s: changed(s, "accelerometer", slice(9000, 9100), [0, 1, 0]), r"r 90 s its accelerometer is .* m/s"),
        (lambda s: changed(s, "gyroscope", slice(None), [0, 0, 0.5]), "the IMU turns by 0.5 rad/s all the time"),
        (lambda s: changed(s, "accelerometer", slice(None), [0, 0, 1 - 9.81]), "is it in g"),
        (lambda s: changed(s, "accelerometer", slice(None), [0, 0, 5]), "this one 14.8; sensor_msgs/Imu holds m/s"),
        (
            lambda s: ImuSeries(s.name, s.stamp + np.where(np.arange(len(s.stamp)) > 5000, 3 * 10**9, 0), s.parts),
            r"300 readings are missing, the most \(3.01 s\) from 50.000 s on",
        ),
    ],
)
def test_what_tells_no_noise_is_refused(change, says):
    with pytest.raises(SimjudgeError, match=f"bag: /imu: .*{says}" if "readings" not in says else says) as caught:
        calibrate_series(change(standing()))
    assert "\n" not in str(caught.value)


def test_accelerations_without_gravity_and_a_few_missing_readings_will_do():
    series = changed(standing(), "accelerometer", slice(None), [0, 0, -9.81])
    keep = np.ones(len(series.stamp), bool)
    keep[4000:4020] = False
    made = calibrate_series(ImuSeries(series.name, series.stamp[keep], {p: v[keep] for p, v in series.parts.items()}))
    assert made.missing == 20
    assert made.rate == pytest.approx(RATE, rel=1e-6)
