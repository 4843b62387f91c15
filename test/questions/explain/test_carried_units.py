"""Units go along with the objects of a set that is rendered again."""

import numpy as np

from simjudge.core.object_tables import Objects
from simjudge.judging.units.sampling_units import SampleUnits, SideUnits
from simjudge.questions.explain.changed_sets import carried_units, same_places


def objects(*rows):
    """Rows of frame, class, centre and instance number."""
    frame, class_id, x, instance = zip(*rows, strict=True)
    box = [[each - 2, 0, each + 2, 4] for each in x]
    return Objects.build(frame, class_id, box, instance)


BEFORE = objects((0, 0, 10, 1), (0, 0, 30, 2), (0, 1, 50, 3), (2, 0, 20, 1))


def test_objects_that_did_not_change_are_themselves():
    assert same_places(BEFORE, BEFORE).tolist() == [0, 1, 2, 3]


def test_an_object_is_found_by_its_frame_then_class_then_number_then_place():
    after = objects((0, 0, 29, 1), (0, 0, 29, 9), (0, 1, 10, 1), (1, 0, 99, 2), (2, 1, 20, 3), (5, 0, 0, 7))
    assert same_places(BEFORE, after).tolist() == [0, 1, 2, 1, 3, 3]


def test_units_and_blocks_of_both_sets_are_carried():
    fewer = objects((0, 0, 31, 2), (2, 0, 20, 1), (2, 0, 24, 1))
    side = SideUnits(4, "frames", 3, 4)
    units = SampleUnits(
        (np.arange(4), np.arange(4, 8)),
        8,
        (np.array([0, 0, 0, 1]), np.array([2, 2, 2, 3])),
        4,
        (np.arange(3), np.arange(3, 6)),
        6,
        (side, side),
    )
    carried = carried_units(units, (BEFORE, BEFORE), (BEFORE, fewer))
    assert [each.tolist() for each in carried.unit] == [[0, 1, 2, 3], [5, 7, 7]]
    assert carried.block is not None
    assert [each.tolist() for each in carried.block] == [[0, 0, 0, 1], [2, 3, 3]]
    assert carried.count == 8
