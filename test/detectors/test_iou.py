"""IoU of boxes and of masks, against hand-computed values and whole-picture pixel counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simjudge.core.object_tables import Masks, Objects, Predictions
from simjudge.detectors.iou import box_iou, mask_iou, pair_iou, pixel_counts


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([0, 0, 10, 10], [0, 0, 10, 10], 1.0),  # the same
        ([0, 0, 10, 10], [5, 0, 15, 10], 1 / 3),  # half over
        ([0, 0, 10, 10], [10, 0, 20, 10], 0.0),  # edge to edge
        ([0, 0, 10, 10], [20, 20, 30, 30], 0.0),  # apart
        ([0, 0, 10, 10], [2, 2, 4.5, 4], 0.05),  # inside, not on the pixel grid
        ([-5, -5, 5, 5], [0, 0, 5, 5], 0.25),  # over the picture's edge
        ([3, 3, 3, 3], [3, 3, 3, 3], 0.0),  # no area at all
    ],
)
def test_box_iou_by_hand(a, b, expected):
    assert box_iou(np.array([a], float), np.array([b], float))[0] == pytest.approx(expected, abs=1e-15)


@given(st.integers(0, 2**32 - 1))
def test_mask_iou_is_the_pixel_count(seed):
    rng = np.random.default_rng(seed)
    pictures = [rng.random((9, 12)) < rng.uniform(0, 0.8) for _ in range(6)]
    a, b = Masks.from_images(pictures[:3]), Masks.from_images(pictures[3:])
    rows, columns = (v.ravel() for v in np.meshgrid(np.arange(3), np.arange(3)))
    for row, column, value in zip(rows, columns, mask_iou(a, b, rows, columns), strict=True):
        first, second = pictures[row], pictures[3 + column]
        union = np.count_nonzero(first | second)
        assert value == (np.count_nonzero(first & second) / union if union else 0.0)
    assert pixel_counts(a).tolist() == [int(p.sum()) for p in pictures[:3]]


def test_masks_where_both_have_one_else_boxes():
    picture = np.zeros((10, 10), bool)
    picture[:, :5] = True
    objects = Objects.build([0, 0], [1, 1], [[0, 0, 10, 10]] * 2, masks=Masks.from_images([picture, picture]))
    predictions = Predictions.build(
        [0, 0], [1, 1], [[0, 0, 10, 10]] * 2, [1, 1], Masks.from_images([np.ones((10, 10), bool), None])
    )
    assert pair_iou(objects, predictions, np.array([0, 1]), np.array([0, 1])).tolist() == [0.5, 1.0]
