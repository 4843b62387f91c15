"""Objects of two sets under one mix of classes and sizes."""

from __future__ import annotations

import numpy as np
import pytest

from simjudge.method.detector_measures import common_mix


def test_like_sets_keep_their_objects_as_they_are() -> None:
    kind, size = np.repeat([1, 2], 50), np.tile(np.linspace(3, 5, 50), 2)
    mix = common_mix(kind, size, kind, size)
    assert not mix.adjusted
    assert (mix.weight_a == 1).all()
    assert (mix.weight_b == 1).all()


def test_b_gets_the_sizes_and_classes_of_a() -> None:
    random = np.random.default_rng(0)
    kind = random.integers(0, 2, 400), (random.random(900) < 0.2).astype(int)
    size = 3 + random.beta(2, 3, 400), 3 + random.beta(3, 2, 900)
    mix = common_mix(kind[0], size[0], kind[1], size[1])
    assert mix.adjusted
    held = mix.weight_a > 0
    assert mix.weight_b.sum() == pytest.approx(900)
    for k in range(2):
        share_a = (mix.weight_a * (kind[0] == k)).sum() / mix.weight_a.sum()
        assert (mix.weight_b * (kind[1] == k)).sum() / 900 == pytest.approx(share_a)
    of_a, of_b = (np.average(s, weights=w) for s, w in zip(size, (mix.weight_a, mix.weight_b), strict=True))
    assert held.mean() > 0.8
    assert of_b == pytest.approx(of_a, abs=0.02)
    assert abs(size[1].mean() - size[0].mean()) > 0.15


def test_what_the_other_set_lacks_does_not_count() -> None:
    small, large = np.full(30, 3.0), np.full(30, 6.0)
    kind = np.ones(60, int)
    mix = common_mix(kind, np.concatenate([small, large]), kind[:30], small + np.linspace(0, 1e-3, 30))
    assert (mix.weight_a[30:] == 0).all()
    assert (mix.weight_a[:30] > 0).any()
    assert common_mix(kind[:30], small, kind[:30], large).weight_a.sum() == 0
    assert not common_mix(kind[:0], small[:0], kind, np.ones(60)).adjusted
