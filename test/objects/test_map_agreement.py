"""Agreement of two maps, cell by cell."""

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.objects import occupancy as judged
from simjudge.objects.occupancy import BeamSet, MapExtent, OccupancyMap
from simjudge.objects.settings import OccupancySettings

LEVEL = np.array([0.0, 0.0, 1.0, 0.0])
SETTINGS = OccupancySettings(cells_per_metre=1.0, map_miss=0.4)


def a_map(states):
    """A map with cells of these states: 0 unknown, 1 free, 2 occupied."""
    rows, columns = states.shape
    made = OccupancyMap(MapExtent(0, 0, columns, rows, 1.0), SETTINGS)
    place = np.argwhere(states > 0)
    ends = np.c_[place[:, ::-1] + 0.5, np.ones(len(place))]
    # A beam within its cell: free where nothing came back.
    made.enter(BeamSet(ends - (0.1, 0, 0), ends, states[states > 0] == 2), LEVEL)
    return made


def test_numbers_and_picture():
    random = np.random.default_rng(1)
    real, virtual = random.integers(0, 3, (2, 7, 9))
    pair = a_map(real), a_map(virtual)
    found = judged.map_agreement(*pair)
    counts = {(a, b): 0 for a in range(3) for b in range(3)}
    colours = {
        (0, 0): judged.UNKNOWN,
        (1, 1): (0, 0, 0),
        (2, 2): (255, 255, 255),
        (2, 1): (255, 0, 0),
        (1, 2): (0, 255, 255),
        (0, 1): judged.FREE_IN_ONE,
        (1, 0): judged.FREE_IN_ONE,
        (2, 0): judged.ONLY_REAL_KNOWN,
        (0, 2): judged.ONLY_VIRTUAL_KNOWN,
    }
    picture = judged.agreement_picture(*pair)
    for row in range(7):
        for column in range(9):
            state = real[row, column], virtual[row, column]
            counts[state] += 1
            assert tuple(picture[6 - row, column]) == colours[state]
    assert found.occupied == judged.Agreement(counts[2, 2], counts[2, 1], counts[1, 2])
    assert found.free == judged.Agreement(counts[1, 1], counts[1, 2], counts[2, 1])
    everywhere = judged.Agreement(counts[2, 2], counts[2, 1] + counts[2, 0], counts[1, 2] + counts[0, 2])
    assert found.occupied_anywhere == everywhere
    assert found.known_in_both == sum(count for (a, b), count in counts.items() if a and b)
    assert (found.known_in_real, found.known_in_virtual) == (
        counts[1, 0] + counts[2, 0],
        counts[0, 1] + counts[0, 2],
    )


def test_shares():
    one = judged.Agreement(both=6, only_real=2, only_virtual=4)
    assert (one.precision, one.recall, one.iou) == (0.6, 0.75, 0.5)
    assert one.f1 == pytest.approx(2 * 0.6 * 0.75 / (0.6 + 0.75))
    assert np.isnan([judged.Agreement(0, 0, 0).f1, judged.Agreement(0, 3, 0).precision]).all()


def test_maps_of_different_grids_are_refused():
    with pytest.raises(SimjudgeError, match="different grids"):
        judged.map_agreement(a_map(np.ones((2, 2))), a_map(np.ones((2, 3))))
