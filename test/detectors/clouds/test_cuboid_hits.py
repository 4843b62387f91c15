"""Hits of cuboids on labelled boxes: against pairs found by hand and by trying all assignments, with Shapely's IoU."""

import itertools

import numpy as np
import pytest
import shapely
from cloud_samples import cloud_set, table
from hypothesis import given, settings
from hypothesis import strategies as st
from shapely import affinity

from simjudge.core.errors import SimjudgeError
from simjudge.data.clouds import CloudBoxes, CloudPredictions
from simjudge.detectors.cuboid_iou import HIT, centre_fit, cuboid_hits, iou_fit, match_cuboids


def polygon(row):
    x, y, _, length, width, _, yaw = row
    box = shapely.box(x - length / 2, y - width / 2, x + length / 2, y + width / 2)
    return affinity.rotate(box, yaw, use_radians=True, origin=(x, y))


def shapely_fit(boxes, cuboids):
    out = np.zeros((len(boxes), len(cuboids)))
    for i, j in itertools.product(range(len(boxes)), range(len(cuboids))):
        one, other = polygon(boxes[i]), polygon(cuboids[j])
        iou = one.intersection(other).area / one.union(other).area
        out[i, j] = iou if iou >= HIT else 0
    return out


def cuboids(rng, count):
    return np.column_stack([rng.uniform(0, 4, (count, 3)), rng.uniform(1, 4, (count, 3)), rng.uniform(-3, 3, count)])


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 4), st.integers(0, 4))
def test_the_most_boxes_have_a_partner_with_the_best_fit_in_sum(seed, n, m):
    rng = np.random.default_rng(seed)
    boxes, found = cuboids(rng, n), cuboids(rng, m)
    partner = match_cuboids(boxes, found, (np.zeros(n, int), np.zeros(m, int)), iou_fit)
    table = shapely_fit(boxes, found)
    best = (0, 0.0)
    for choice in itertools.product(range(-1, m), repeat=n):
        used = [each for each in choice if each >= 0]
        fits = [table[i, j] for i, j in enumerate(choice) if j >= 0]
        if len(set(used)) == len(used) and all(fits):
            best = max(best, (len(used), sum(fits)))
    own = [table[i, j] for i, j in enumerate(partner.tolist()) if j >= 0]
    assert (len(own), sum(own)) == (best[0], pytest.approx(best[1]))


def test_centres_inside_are_as_shapely_says():
    rng = np.random.default_rng(5)
    boxes, found = cuboids(rng, 30), cuboids(rng, 40)
    inside = [[polygon(box).covers(shapely.Point(each[:2])) for each in found] for box in boxes]
    assert ((centre_fit(boxes, found) > 0) == np.array(inside)).all()


def made(labelled=(True, True), predicted=(True, True)):
    """Two clouds: a box at 5 m in both and one at 25 m in the second; a cuboid on the near ones and one at nothing."""
    turn = np.tile([0.0, 0, 0, 1], (3, 1))
    boxes = CloudBoxes(
        np.array([0, 1, 1]),
        np.zeros(3, int),
        np.full(3, -1),
        np.array([[5.0, 0, 0], [5, 0, 0], [25, 0, 0]]),
        turn,
        np.tile([4.0, 2, 2], (3, 1)),
    )
    found = CloudPredictions(
        np.array([0, 1, 1]),
        np.ones(3, int),
        np.full(3, -1),
        np.array([[4.5, 0, 0], [5, 0.2, 0], [15, 0, 0]]),
        turn,
        np.tile([3.0, 2, 2], (3, 1)),
        np.ones(3),
        np.full(3, 9),
    )
    return cloud_set(
        [table(np.eye(3))] * 2,
        boxes=boxes,
        labelled=np.array(labelled),
        predictions=found,
        predicted=np.array(predicted),
    )


def numbers(rows):
    return [(row.labelled, row.found, row.predicted, row.hits) for row in rows]


def test_hits_by_distance():
    rows = cuboid_hits(made())
    assert [row.name for row in rows] == [
        "0 to 10 m",
        "10 to 20 m",
        "20 to 30 m",
        "30 to 40 m",
        "40 m and more",
        "0 m and more",
    ]
    assert numbers(rows) == [(2, 2, 2, 2), (0, 0, 1, 0), (1, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0), (3, 2, 3, 2)]


def test_only_clouds_that_are_labelled_and_predicted_take_part():
    assert numbers(cuboid_hits(made(labelled=(True, False))))[-1] == (1, 1, 1, 1)
    assert numbers(cuboid_hits(made(predicted=(False, True))))[-1] == (2, 1, 2, 1)


def test_some_boxes_and_cuboids():
    rows = cuboid_hits(made(), boxes=np.array([True, False, True]), cuboids=np.array([True, True, False]))
    assert numbers(rows)[-1] == (2, 1, 2, 1)


def test_without_labels_there_are_no_hits():
    with pytest.raises(SimjudgeError, match="run 'simjudge detect'"):
        cuboid_hits(cloud_set([table(np.eye(3))]))
