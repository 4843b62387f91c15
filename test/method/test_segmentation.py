"""Grid samples of label pictures: similarity and performance against one-hot arrays and scikit-learn-like formulas."""

from __future__ import annotations

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.method.algorithm import compare_class
from simjudge.method.context_tree import ContextTree
from simjudge.method.method import Method
from simjudge.method.segmentation import grid_samples
from simjudge.method.similarity_join import join_tables


def _pictures(seed: int, count: int = 3, shape=(24, 30)):
    random = np.random.default_rng(seed)
    for _ in range(count):
        labels = np.kron(random.integers(0, 3, (4, 5)), np.ones((6, 6), int))[: shape[0], : shape[1]]
        predictions = np.where(random.random(labels.shape) < 0.2, random.integers(0, 3, labels.shape), labels)
        yield labels, predictions


def test_similarity_is_that_of_one_hot_masks():
    samples = grid_samples(_pictures(0), (8, 10)).samples
    patches = [
        labels[r : r + 8, c : c + 10] for labels, _ in _pictures(0) for r in range(0, 17, 8) for c in range(0, 21, 10)
    ]
    hot = [np.stack([p == k for k in range(3)]) for p in patches]
    expected = [[(a & b).sum() >= 0.5 * (a | b).sum() for b in hot] for a in hot]
    found = np.zeros((len(hot), len(hot)), bool)
    joined = join_tables(samples.contexts, ContextTree.by_likeness(samples.contexts), 0.5)
    found[np.repeat(joined.row, np.diff(joined.start)), joined.rank] = True
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("labels", "predictions", "ignore", "accuracy", "mean_iou"),
    [
        ([[0, 0], [1, 1]], [[0, 0], [1, 1]], None, 1.0, 1.0),
        ([[0, 0], [1, 1]], [[0, 1], [1, 1]], None, 0.75, (1 / 2 + 2 / 3) / 2),
        ([[0, 0], [0, 0]], [[2, 2], [0, 0]], None, 0.5, (1 / 2 + 0) / 2),  # a class that is only predicted counts
        ([[0, 255], [1, 1]], [[0, 1], [1, 0]], 255, 2 / 3, (1 / 2 + 1 / 2) / 2),  # ignored pixels count nowhere
    ],
)
def test_performance_of_a_patch(labels, predictions, ignore, accuracy, mean_iou):
    pictures = [(np.array(labels), np.array(predictions))]
    for metric, value in (("accuracy", accuracy), ("mean_iou", mean_iou)):
        out = grid_samples(pictures, (2, 2), metric=metric, ignore=ignore).samples.performance
        assert out.tolist() == pytest.approx([value])


def test_a_patch_of_ignored_pixels_is_no_sample():
    labels = np.full((4, 8), 255)
    labels[:, 4:] = 1
    cut = grid_samples([(labels, labels)], (4, 4), ignore=255)
    assert cut.origin.tolist() == [[4, 0]]


def test_algorithm_1_runs_on_grid_samples():
    method = Method(theta=0.6, patch=(6, 6))
    a, b = (grid_samples(_pictures(seed), (6, 6), (3, 3)).samples for seed in (1, 2))
    [same] = compare_class(a, a, method)
    [other] = compare_class(a, b, method)
    assert np.all(same.w1 == 0)
    assert 0 < other.overlap_a.mean() <= 1
    assert np.nanmean(other.w1) > 0


def test_bad_input_is_refused():
    good = np.zeros((4, 4), int)
    with pytest.raises(SimjudgeError, match="differ"):
        grid_samples([(good, good[:2])], (2, 2))
    with pytest.raises(SimjudgeError, match="fits"):
        grid_samples([(good, good)], (9, 9))
    with pytest.raises(UsageError):
        grid_samples([(good, good)], (2, 2), metric="nice")
