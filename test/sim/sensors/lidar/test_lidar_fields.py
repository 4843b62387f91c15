"""Lidars in sensor files, and those that come with simjudge."""

import math

import numpy as np
import pytest

from simjudge.sim.sensors.lidar.lidar import lidar_beams
from simjudge.sim.sensors.sensor_file import read_sensors

SHIPPED = {  # rings, lowest and highest elevation, columns, farthest
    "vlp16": (16, -15, 15, 1800, 100),
    "hdl32e": (32, -30.6667, 10.6667, 2160, 100),
    "hdl64e": (64, -24.33, 2, 2083, 120),
    "pandar40p": (40, -25, 15, 1800, 200),
    "utm30lx": (1, 0, 0, 1081, 30),
}


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_lidars(name):
    (spec,) = read_sensors(name)
    lidar = spec.model()
    rings, lowest, highest, columns, farthest = SHIPPED[name]
    assert (len(lidar.elevation), lidar.columns, lidar.range[1]) == (rings, columns, farthest)
    assert np.degrees(lidar.elevation[0]) == pytest.approx(lowest)
    assert np.degrees(lidar.elevation[-1]) == pytest.approx(highest)
    beams = lidar_beams(lidar)
    assert len(beams) == rings * columns
    assert 0 <= beams.time.min() <= beams.time.max() < lidar.window <= 1 / lidar.rate


def test_firing_order_of_a_vlp16():
    """VLP-16 User Manual, 63-9243, table 9-1 and section 8.1: lasers 0, 1, 2, ... fire 2.304 us apart."""
    beams = lidar_beams(read_sensors("vlp16")[0].model())
    first = beams.column == 0
    order = np.argsort(beams.time[first])
    degrees = np.degrees(beams.elevation[first][order])
    assert degrees == pytest.approx([-15, 1, -13, 3, -11, 5, -9, 7, -7, 9, -5, 11, -3, 13, -1, 15])
    assert np.diff(np.sort(beams.time[first])) == pytest.approx(2.304e-6)


def test_a_narrow_field_takes_its_share_of_the_period(tmp_path):
    """A head that turns steadily: 270 of 360 degrees in three quarters of 25 ms."""
    assert read_sensors("utm30lx")[0].model().window == pytest.approx(0.01875)
    path = tmp_path / "snapshot.yaml"
    path.write_text("{a: {kind: lidar, rate: 10, window: 0}}")
    assert read_sensors(path)[0].model().window == 0


def test_units(tmp_path):
    path = tmp_path / "units.yaml"
    path.write_text("""
a: {kind: lidar, rate: 5, field_of_view: 90, start: -10, elevation: [-3, 2], ring_azimuth: [1, -1], ring_delay: [0, 7],
    head_deviation: [0, 0.5, -0.5],
    divergence: {horizontal: 3, vertical: 1.5}, samples: 2, range: [0.5, 60],
    noise: {range: 0.02, range_growth: 0.001, azimuth: 0.1, elevation: 0.2, intensity: 3}}
""")
    lidar = read_sensors(path)[0].model()
    assert (lidar.rate, lidar.field_of_view) == (5, pytest.approx(math.pi / 2))
    assert lidar.start == pytest.approx(-math.pi / 18)
    assert np.degrees(lidar.elevation) == pytest.approx([-3, 2])
    assert np.degrees(lidar.ring_azimuth) == pytest.approx([1, -1])
    assert lidar.ring_delay == pytest.approx((0, 7e-6))
    assert np.degrees(lidar.head_deviation) == pytest.approx([0, 0.5, -0.5])
    assert lidar.divergence == pytest.approx((3e-3, 1.5e-3))
    assert lidar.noise.range == (0.02, 0.001)
    assert np.degrees([lidar.noise.azimuth, lidar.noise.elevation]) == pytest.approx([0.1, 0.2])
