"""SMRF against its steps written as loops, and on ground whose height is known."""

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.objects.survey import fill_cells, ground_points, ground_surface, object_cells


def opened(surface, radius):
    """Opening with a disk: the largest of the least, over the cells of the grid alone."""

    def each(values, choose):
        out = np.empty_like(values)
        for row, column in np.ndindex(values.shape):
            out[row, column] = choose(
                values[r, c] for r, c in np.ndindex(values.shape) if (r - row) ** 2 + (c - column) ** 2 <= radius**2
            )
        return out

    return each(each(surface, min), max)


@pytest.mark.parametrize("seed", range(2))
def test_cells_that_stand_out_are_those_of_loops(seed):
    surface = np.random.default_rng(seed).normal(0, 0.3, (9, 12))
    surface[2:5, 3:7] += 2
    last, expected = surface, np.zeros(surface.shape, bool)
    for radius in (1, 2, 3):
        lower = opened(last, radius)
        expected |= last - lower > 0.4 * radius * 0.5
        last = lower
    assert np.array_equal(object_cells(surface, 0.5, 0.4, 1.5), expected)
    assert expected[3, 5]


def test_empty_cells_are_the_mean_of_their_neighbours():
    random = np.random.default_rng(3)
    surface = random.normal(0, 1, (8, 7))
    empty = random.random((8, 7)) < 0.5
    filled = fill_cells(np.where(empty, np.nan, surface))
    assert np.array_equal(filled[~empty], surface[~empty])
    for row, column in np.argwhere(empty):
        near = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
        values = [filled[r, c] for r, c in near if 0 <= r < 8 and 0 <= c < 7]
        assert filled[row, column] == pytest.approx(np.mean(values))
    assert np.isnan(fill_cells(np.full((2, 2), np.nan))).all()


def test_ground_of_a_slope_with_a_hut_and_a_stray_low_point():
    random = np.random.default_rng(5)
    at = random.uniform(0, 20, (8000, 2))
    z = 0.08 * at[:, 0] + random.normal(0, 0.01, len(at))
    hut = (np.abs(at - (8, 11)) < (2, 1.5)).all(1)
    z[hut] += 2.5
    points = np.r_[np.c_[at, z], [[15.0, 5.0, -6.0]]]
    surface = ground_surface(points, 0.5, 0.15, 5.0)
    ground = ground_points(points, surface, 0.3)
    assert not ground[:-1][hut].any()
    assert ground[:-1][~hut].mean() > 0.995
    assert not ground[-1]
    middle = np.array([[8.0, 11.0, 3.0]])
    assert surface.height(middle) == pytest.approx([3 - 0.64], abs=0.1)
    assert surface.slope_at(np.array([[4.0, 4.0, 0.0]])) == pytest.approx([0.08], abs=0.05)


def test_too_many_cells():
    with pytest.raises(SimjudgeError, match="survey-cell"):
        ground_surface(np.array([[0.0, 0, 0], [5000, 5000, 0]]), 0.5, 0.15, 5.0)
