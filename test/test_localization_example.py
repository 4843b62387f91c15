"""The example of one filter on recorded drives: drives are recorded, read, and the guilty sensor is named."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
pytest.importorskip("filterpy", reason="filterpy is not installed")


@pytest.fixture(scope="module")
def example():
    path = Path(__file__).parents[1] / "examples/localization_by_ekf.py"
    spec = importlib.util.spec_from_file_location("localization_by_ekf", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_guilty_sensor_is_the_one_whose_truth_takes_the_gap_away(example):
    assert example.guilty_sensor({"": 1.0, "imu": 0.9, "wheels": 0.1, "gps": 1.1}) == "wheels"
    assert not example.guilty_sensor({"": 1.0, "imu": 0.9, "wheels": 0.7, "gps": 1.1})


@pytest.mark.slow
def test_wheels_that_count_too_far_are_found_in_recorded_drives(example, tmp_path, monkeypatch):
    monkeypatch.setattr(example, "RUN", 2.0)
    real, sim = (
        example.record_drive(tmp_path, name, engine="default", seed=seed, seconds=14, planted=planted)
        for seed, (name, planted) in enumerate((("real", {}), ("sim", {"wheels": 0.3})))
    )
    for drive, factor in ((real, 1.0), (sim, 1.3)):
        stamp, speed = drive.readings["wheels"][100:].T
        np.testing.assert_allclose(speed.mean(), factor * drive.exact["wheels"][100:, 1].mean(), rtol=0.005)
        way = np.linalg.norm(np.diff(drive.truth.position[:, :2], axis=0), axis=1).sum()
        assert way == pytest.approx((drive.exact["wheels"][:, 1] * np.mean(np.diff(stamp)) / 1e9).sum(), rel=0.02)
    assert abs(np.median(real.readings["gps"][:, 1:] - real.exact["gps"][:, 1:])) < 1.0
    gaps = {exact: example.compare(real, sim, exact, 50).metrics[0]["gap"] for exact in ("", *example.SENSORS)}
    assert example.guilty_sensor(gaps) == "wheels", gaps
