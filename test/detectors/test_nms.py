"""Suppression against the naive definition, and against torchvision's operator as torch calls it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simjudge.detectors import nms as torchvision_nms
from simjudge.detectors.nms import non_maximum_suppression, non_maximum_suppression_by_class


def naive(boxes, scores, threshold):
    """Take the best, throw away what overlaps it too much, and again."""
    left = sorted(range(len(boxes)), key=lambda i: (-scores[i], i))
    kept = []
    while left:
        best = left.pop(0)
        kept.append(best)
        left = [i for i in left if iou(boxes[best], boxes[i]) <= threshold]
    return kept


def iou(a, b):
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    inter = np.prod(np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0))
    return inter / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - inter)


def random_boxes(seed, count=30):
    rng = np.random.default_rng(seed)
    corner = rng.uniform(0, 30, (count, 2))
    boxes = np.concatenate([corner, corner + rng.uniform(5, 30, (count, 2))], axis=1).astype(np.float32)
    return boxes, rng.permutation(count).astype(np.float32) / count, rng.integers(0, 3, count)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.3, 0.5, 0.7]))
def test_suppress_is_the_naive_definition(seed, threshold):
    boxes, scores, _ = random_boxes(seed)
    assert non_maximum_suppression(boxes, scores, threshold).tolist() == naive(boxes, scores, threshold)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_by_class_is_each_class_alone(seed):
    boxes, scores, classes = random_boxes(seed)
    expected = []
    for each in range(3):
        rows = np.flatnonzero(classes == each)
        expected += rows[naive(boxes[rows], scores[rows], 0.5)].tolist()
    found = non_maximum_suppression_by_class(boxes, scores, classes, 0.5).tolist()
    assert sorted(found) == sorted(expected)
    assert found == sorted(found, key=lambda i: -scores[i])


def test_equal_scores_keep_the_first():
    assert non_maximum_suppression([[0, 0, 10, 10]] * 3, [0.5, 0.5, 0.5], 0.5).tolist() == [0]


def test_nothing():
    assert non_maximum_suppression(np.empty((0, 4)), [], 0.5).tolist() == []
    assert non_maximum_suppression_by_class(np.empty((0, 4)), [], [], 0.5).tolist() == []


def test_torchvision_operator_is_there_and_agrees():
    torch = pytest.importorskip("torch", reason="torch (the extra 'train') is not installed")
    torchvision_nms.register_missing_nms()
    torchvision = pytest.importorskip("torchvision", reason="torchvision (the extra 'train') is not installed")
    boxes, scores, _ = random_boxes(3, 200)
    found = torchvision.ops.nms(torch.from_numpy(boxes), torch.from_numpy(scores), 0.5)
    assert found.tolist() == naive(boxes, scores, 0.5)
    assert not torchvision_nms.register_missing_nms()


@pytest.mark.parametrize(("height", "threshold", "kept"), [(5, 0.5, [0, 1]), (6, 0.6, [0]), (7, 0.7, [0, 1])])
def test_an_iou_of_exactly_the_threshold_is_compared_in_single_precision(height, threshold, kept):
    # As in torchvision: 0.6 rounds up to single precision and is more than 0.6, 0.7 rounds down.
    assert non_maximum_suppression([[0, 0, 10, 10], [0, 0, 10, height]], [0.9, 0.8], threshold).tolist() == kept
