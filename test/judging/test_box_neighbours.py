"""Neighbours and cover of boxes, held against counted pixels."""

import numpy as np
import pytest

from simjudge.judging.box_neighbours import covered_shares, neighbour_counts


def counted_pixels(boxes: np.ndarray) -> np.ndarray:
    """(N, 100, 100) which pixels each of whole boxes holds."""
    y, x = np.mgrid[:100, :100]
    x0, y0, x1, y1 = boxes.T[:, :, None, None]
    return (x >= x0) & (x < x1) & (y >= y0) & (y < y1)


def test_cover_and_neighbours_are_those_of_counted_pixels():
    random = np.random.default_rng(3)
    count = 60
    frame, low = np.sort(random.integers(0, 9, count)), random.integers(0, 70, (count, 2))
    boxes = np.hstack([low, low + random.integers(4, 30, (count, 2))])
    pixels = counted_pixels(boxes)
    cover, near = covered_shares(frame, boxes.astype(float)), neighbour_counts(frame, boxes.astype(float), (40, 20))
    twice = boxes[:, :2] + boxes[:, 2:]
    for i in range(count):
        others = [j for j in range(count) if j != i and frame[j] == frame[i]]
        hidden = pixels[others].any(0) if others else np.zeros((100, 100), bool)
        assert cover[i] == pytest.approx((hidden & pixels[i]).sum() / pixels[i].sum())
        window = np.concatenate([twice[i] - [20, 40], twice[i] + [20, 40]])
        overlap = [
            (np.minimum(window[2:], 2 * boxes[j, 2:]) > np.maximum(window[:2], 2 * boxes[j, :2])).all() for j in others
        ]
        assert near[i] == sum(overlap)
    assert np.count_nonzero(cover) > 10
    assert near.max() > 1
