"""Flicker of boxes: against polynomial fits one by one, and against noise of a known size."""

import numpy as np
import pytest

from simjudge.objects.object_series import flicker_in_motion, flicker_while_standing, sight_changes

EDGES = np.array([100.0, 80.0, 140.0, 160.0])


def test_against_numpys_polyfit_one_window_at_a_time():
    rng = np.random.default_rng(0)
    time = np.cumsum(rng.uniform(0.05, 0.2, 30)) + 1.7e9
    box = EDGES + rng.normal(0, 3, (30, 4))
    found = flicker_in_motion(time, box)
    for i in range(2, 28):
        t = time[i - 2 : i + 3] - time[i]
        noise = []
        for edge in range(4):
            y = box[i - 2 : i + 3, edge]
            # The residual of a point that takes no part in its own fit is e / (1 - h); ours is e / sqrt(1 - h).
            e = y[2] - np.polyval(np.polyfit(t, y, 2), 0.0)
            alone = y[2] - np.polyval(np.polyfit(np.delete(t, 2), np.delete(y, 2), 2), 0.0)
            noise.append(e * alone)
        assert found[i] == pytest.approx(np.sqrt(np.mean(noise)), rel=1e-5)
    assert np.isnan(found[[0, 1, 28, 29]]).all()


def test_steady_acceleration_is_no_flicker():
    time = np.arange(20) / 15
    box = EDGES + 40 * time[:, None] + 9 * time[:, None] ** 2 * [1, -1, 2, 0]
    assert np.nanmax(flicker_in_motion(time, box)) < 1e-9


def test_noise_of_one_pixel_flickers_by_one_pixel():
    rng = np.random.default_rng(1)
    box = EDGES + rng.normal(0, 1, (20_000, 4))
    moving = box + np.arange(20_000)[:, None]
    for found in (flicker_in_motion(np.arange(20_000.0), moving), flicker_while_standing(box, np.ones(20_000, bool))):
        assert np.sqrt(np.nanmean(found**2)) == pytest.approx(1, abs=0.01)


def test_where_there_is_no_flicker_to_tell():
    box = np.tile(EDGES, (8, 1))
    box[4] = np.nan
    assert np.isnan(flicker_in_motion(np.arange(8.0), box)).tolist() == [True] * 8
    assert np.isnan(flicker_in_motion(np.arange(3.0), box[:3])).all()
    standing = np.array([1, 1, 0, 1, 1, 1, 1, 1], bool)
    found = flicker_while_standing(box, standing)
    assert np.isnan(found).tolist() == [True, False, True, False, True, True, False, False]
    assert np.nanmax(found) == 0


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        ("....", "    "),
        ("#...", "    "),
        ("####", " 000"),
        (".#.##.", "  110 "),
        ("##..#", " 0101"),
    ],
)
def test_changes_of_sight(seen, expected):
    found = sight_changes(np.array([c == "#" for c in seen]))
    assert "".join(" " if np.isnan(v) else str(int(v)) for v in found) == expected
