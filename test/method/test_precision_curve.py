"""Average precision from hits: against the definition, and its derivative against small changes of weights."""

from __future__ import annotations

import numpy as np
import pytest

from simjudge.method.precision_curve import coco_precision, precision_influence


def area(hit: np.ndarray, weight: np.ndarray, objects: float) -> float:
    """The mean over objects of the best precision from their hit on."""
    precision = np.cumsum(weight * hit) / np.cumsum(weight)
    return sum(weight[i] * precision[i:].max() for i in np.flatnonzero(hit)) / objects


def naive_precision(hit: list[bool], objects: int) -> float:
    best = []
    for recall in np.linspace(0, 1, 101):
        at = [sum(hit[: k + 1]) / (k + 1) for k in range(len(hit)) if sum(hit[: k + 1]) / objects >= recall]
        best.append(max(at, default=0.0))
    return float(np.mean(best))


@pytest.mark.parametrize("seed", range(5))
def test_precision_is_the_mean_of_the_best_precision_at_101_recalls(seed: int) -> None:
    random = np.random.default_rng(seed)
    hit = random.random(60) < 0.6
    assert coco_precision(hit, 50) == pytest.approx(naive_precision(hit.tolist(), 50))


def test_weights_count_as_repetitions_do() -> None:
    hit, weight = np.array([True, False, True, True]), np.array([2.0, 1.0, 3.0, 1.0])
    repeated = np.repeat(hit, weight.astype(int))
    # Repeated predictions have more places on the curve: its steps are finer, and nothing else.
    assert coco_precision(hit, 8, weight) == pytest.approx(coco_precision(repeated, 8), abs=0.05)
    assert coco_precision(np.array([True]), 0.3, np.array([0.3])) == 1


@pytest.mark.parametrize("weighted", [False, True])
def test_influence_is_the_derivative_by_the_weights(weighted: bool) -> None:
    random = np.random.default_rng(3)
    hit = random.random(40) < 0.6
    weight = random.uniform(0.5, 2, 40) if weighted else np.ones(40)
    objects, step = 30.0, 1e-6
    found, of_object = precision_influence(hit, objects, weight if weighted else None)
    for i in range(40):
        more = weight.copy()
        more[i] *= 1 + step
        assert found[i] == pytest.approx((area(hit, more, objects) - area(hit, weight, objects)) / step, abs=1e-4)
    changed = (area(hit, weight, objects + step) - area(hit, weight, objects)) / step
    assert of_object == pytest.approx(changed, abs=1e-4)
    assert found.sum() + objects * of_object == pytest.approx(0, abs=1e-12)


def test_no_predictions_have_no_influence() -> None:
    assert coco_precision(np.zeros(0, bool), 3) == 0
    assert precision_influence(np.zeros(0, bool), 3)[1] == 0
