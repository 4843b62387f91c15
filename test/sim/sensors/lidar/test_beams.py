"""The beams of a turn: where they point and when they fire."""

import math
from dataclasses import replace

import numpy as np
import pytest

from simjudge.sim.sensors.lidar.lidar import Lidar, lidar_beams, sample_offsets

PLAIN = Lidar("l", rate=10, columns=8, elevation=(0.0,), range=(0, 10))


def degrees(lidar):
    return np.degrees(lidar_beams(lidar).azimuth).round(9).tolist()


@pytest.mark.parametrize(
    ("lidar", "expected"),
    [
        (PLAIN, [-180, -135, -90, -45, 0, 45, 90, 135]),  # the last column does not coincide with the first
        (replace(PLAIN, clockwise=True), [-180, 135, 90, 45, 0, -45, -90, -135]),
        (replace(PLAIN, start=0.0), [0, 45, 90, 135, -180, -135, -90, -45]),
        (replace(PLAIN, field_of_view=math.pi / 2, columns=3), [-45, 0, 45]),  # a part of a turn goes from end to end
        (replace(PLAIN, field_of_view=math.pi / 2, columns=3, clockwise=True), [45, 0, -45]),
        (replace(PLAIN, columns=1, field_of_view=1e-3), [math.degrees(-5e-4)]),
        (replace(PLAIN, columns=2, elevation=(0.0, 0.1), ring_azimuth=(0.0, math.pi / 18)), [-180, -170, 0, 10]),
    ],
)
def test_azimuths(lidar, expected):
    assert degrees(lidar) == pytest.approx(expected)


def test_columns_fire_at_c_j_over_n_and_channels_after_them():
    lidar = replace(PLAIN, columns=4, window=0.1, elevation=(-0.1, 0.0, 0.1), ring_delay=(2e-3, 0.0, 1e-3))
    beams = lidar_beams(lidar)
    assert beams.time == pytest.approx([0.1 * j / 4 + delay for j in range(4) for delay in (0, 1e-3, 2e-3)])
    assert np.all(np.diff(beams.time) > 0)
    assert beams.ring.tolist() == [1, 2, 0] * 4
    assert beams.column.tolist() == [j for j in range(4) for _ in range(3)]
    # The head turns on meanwhile: at 0.1 s a turn, 1 ms is 3.6 degrees.
    first = np.degrees(beams.azimuth[:3])
    assert first - first[0] == pytest.approx([0, 3.6, 7.2])


def test_a_snapshot_has_one_instant():
    beams = lidar_beams(replace(PLAIN, elevation=(0.0, 0.2)))
    assert not beams.time.any()
    assert beams.ring.tolist() == [0, 1] * 8


def test_directions_follow_the_formula():
    lidar = replace(PLAIN, columns=5, elevation=(-0.3, 0.7))
    beams = lidar_beams(lidar)
    a, e = beams.azimuth, beams.elevation
    expected = np.stack([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)], 1)
    assert np.array_equal(beams.directions[:, 0], expected)


@pytest.mark.parametrize("samples", [1, 2, 3, 5])
def test_rays_stand_in_the_middles_of_equal_cells(samples):
    lidar = replace(PLAIN, divergence=(3e-3, 1e-3), samples=samples)
    count = 2 * samples - 1
    across, upwards = sample_offsets(lidar)
    assert len(across) == len(upwards) == count**2
    cells = (np.arange(count) + 0.5) / count - 0.5
    assert np.unique(across.round(15)) == pytest.approx(cells * 3e-3)
    assert np.unique(upwards.round(15)) == pytest.approx(cells * 1e-3)
    assert across[count**2 // 2] == upwards[count**2 // 2] == 0
    assert lidar_beams(lidar).directions.shape == (8, count**2, 3)


@pytest.mark.parametrize("clockwise", [False, True])
def test_an_uneven_head(clockwise):
    """0, 2 and 1 degrees counter-clockwise at the begin, the middle and the end of the window, linear in between."""
    even = replace(PLAIN, window=0.1, clockwise=clockwise, elevation=(0.0, 0.1), ring_delay=(0.0, 0.1 / 16), start=0.5)
    uneven = replace(even, head_deviation=tuple(np.radians((0, 2, 1))))
    off = np.degrees(lidar_beams(uneven).azimuth - lidar_beams(even).azimuth)
    assert np.array_equal(lidar_beams(uneven).time, lidar_beams(even).time)
    share = lidar_beams(even).time / 0.1
    expected = [4 * s if s <= 0.5 else 3 - 2 * s for s in share]
    assert (off + 180) % 360 - 180 == pytest.approx(expected)
