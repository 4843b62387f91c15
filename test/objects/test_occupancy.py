"""Occupancy maps against brute force: every beam with every cell, Bayes' rule in probabilities."""

import numpy as np
import pytest
import shapely

from simjudge.core.errors import SimjudgeError
from simjudge.objects.occupancy import BeamSet, MapExtent, OccupancyMap
from simjudge.objects.settings import OccupancySettings

LEVEL = np.array([0.0, 0.0, 1.0, 0.0])
EXTENT = MapExtent(-6, -5, 12, 10, 2.0)
SETTINGS = OccupancySettings(cells_per_metre=2.0, map_range=4.0, map_low=0.3, map_high=2.0)


def told(beams, ground, extent, settings):
    """What a scan tells of each cell: 0 nothing, 1 free, 2 occupied; each cell with each beam's part of a height."""
    out = np.zeros((extent.rows, extent.columns), int)
    scale = extent.cells_per_metre
    for origin, end, returned in zip(beams.origin, beams.end, beams.returned, strict=True):
        length = np.linalg.norm(end - origin)
        heights = [ground[:3] @ point + ground[3] for point in (origin, end)]
        stop = tuple(np.floor(end[:2] * scale).astype(int) - (extent.column, extent.row))
        line = visible_part(origin, end, heights, min(1, settings.map_range / length), settings)
        for row in range(extent.rows):
            for column in range(extent.columns):
                here = (column, row) == stop and returned
                if here and length <= settings.map_range and settings.map_low <= heights[1] <= settings.map_high:
                    out[row, column] = 2
                elif line is not None and not here and out[row, column] == 0:
                    x, y = (column + extent.column) / scale, (row + extent.row) / scale
                    cell = shapely.box(x, y, x + 1 / scale, y + 1 / scale)
                    out[row, column] = shapely.intersection(line, cell).length > 1e-9
    return out


def visible_part(origin, end, heights, farthest, settings):
    """The part of a beam, seen from above, at the heights of the map, by cutting in a side view."""
    side = shapely.LineString([(0, heights[0]), (farthest, heights[0] + farthest * (heights[1] - heights[0]))])
    part = shapely.intersection(side, shapely.box(-1, settings.map_low, 2, settings.map_high))
    if part.is_empty or part.length == 0:
        return None
    begin, *_, last = sorted(x for x, _ in part.coords)
    return shapely.LineString([origin[:2] + share * (end - origin)[:2] for share in (begin, last)])


def bayes(probability, states, settings):
    """Bayes' rule with an even prior, one scan after the other."""
    for state in states:
        for kind, chance in ((1, settings.map_miss), (2, settings.map_hit)):
            odds = probability / (1 - probability) * chance / (1 - chance)
            new = np.clip(odds / (1 + odds), settings.map_least, settings.map_most)
            probability = np.where(state == kind, new, probability)
    return probability


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("ground", [LEVEL, np.array([0.1, -0.2, np.sqrt(0.95), 0.4])])
def test_maps_are_those_of_brute_force(seed, ground):
    random = np.random.default_rng(seed)
    made = OccupancyMap(EXTENT, SETTINGS)
    states = []
    for _ in range(3):
        # Some beams begin or end beyond the map.
        begin = random.uniform((-4, -4, 0), (4, 4, 2.5), (12, 3))
        end = begin + random.uniform((-5, -5, -1.5), (5, 5, 1.5), (12, 3))
        beams = BeamSet(begin, end, random.random(12) < 0.7)
        made.enter(beams, ground)
        states.append(told(beams, ground, EXTENT, SETTINGS))
    assert np.isin((1, 2), states).all()
    known = np.any([state > 0 for state in states], axis=0)
    assert np.array_equal(made.known, known)
    expected = bayes(np.full(known.shape, 0.5), states, SETTINGS)
    assert made.probability == pytest.approx(expected, abs=1e-5)
    assert np.array_equal(made.occupied, known & (expected > 0.5))


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        ((-3, -2.5), (2, 2.5)),  # through the corners of cells
        ((2, 2.5), (-3, -2.5)),
        ((-2.75, 0.25), (2.75, 0.25)),  # along a row
        ((0.25, 2.25), (0.25, -2.25)),  # along a column
        ((0.1, 0.1), (0.2, 0.3)),  # within a cell
        ((-9, -0.2), (9, 0.3)),  # from edge to edge
    ],
)
def test_beams_on_the_grids_own_lines(begin, end):
    settings = OccupancySettings(cells_per_metre=2.0, map_range=50.0)
    beams = BeamSet(np.array([[*begin, 1.0]]), np.array([[*end, 1.0]]), np.zeros(1, bool))
    made = OccupancyMap(EXTENT, settings)
    made.enter(beams, LEVEL)
    assert np.array_equal(made.known, told(beams, LEVEL, EXTENT, settings) > 0)
    assert not made.occupied.any()


def test_what_lies_above_or_below_the_heights_is_no_obstacle():
    ends = np.array([[2.2, 0.2, 0.1], [2.2, 1.2, 1.0], [2.2, 2.2, 2.5]])
    made = OccupancyMap(EXTENT, SETTINGS)
    made.enter(BeamSet(np.tile([0.2, 0.2, 1.0], (3, 1)), ends, np.ones(3, bool)), LEVEL)
    assert np.argwhere(made.occupied).tolist() == [[7, 10]]
    assert not made.known[5, 10]  # the beam to the ground left the heights before


def test_maps_with_one_grid_have_the_same_cells():
    near = MapExtent.around(np.array([[0.03, 0.04]]), 1.0, 10.0)
    far = MapExtent.around(np.array([[0.03, 0.04], [5.0, 2.0]]), 1.0, 10.0)
    assert (near.column, near.row) == (far.column, far.row) == (-10, -10)
    assert near.corner == (-1.0, -1.0)
    with pytest.raises(SimjudgeError, match="cells"):
        MapExtent.around(np.array([[0.0, 0.0], [2000.0, 2000.0]]), 30, 10)
