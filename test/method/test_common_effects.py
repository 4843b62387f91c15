"""Effects of time beside those of things."""

import numpy as np
import pytest

from simjudge.method.common_effects import _lag_product, things_differ, time_effect


def sightings(seed, light=0.0, length=1, things=40, life=25, frames=200):
    """Things that come and go; what frames have in common changes every so many frames."""
    rng = np.random.default_rng(seed)
    begin = rng.integers(-life, frames, things)
    since = np.arange(frames)[:, None] - begin
    frame, thing = np.nonzero((since >= 0) & (since < life))
    value = rng.normal(0, 0.2, things)[thing] + rng.normal(0, 0.1, len(thing))
    return thing, frame, value + light * rng.normal(0, 1, frames // length + 1)[frame // length]


def test_without_common_light_one_set_in_five_is_taken_to_have_one():
    there = sum(time_effect(*sightings(seed)).there for seed in range(200))
    assert 22 <= there <= 58  # binomial(200, 0.2): outside once in 500


@pytest.mark.parametrize(("length", "least", "most"), [(1, 1, 6), (10, 8, 40)])
def test_common_light_is_found_with_its_length(length, least, most):
    found = [time_effect(*sightings(seed, 0.1, length)) for seed in range(20)]
    assert all(effect.there for effect in found)
    assert least <= np.median([effect.steps for effect in found]) <= most
    assert time_effect(*sightings(0, 0.1, length), lags=0).steps == 1  # frames in no order


@pytest.mark.parametrize("lag", [0, 1, 3])
def test_products_of_different_things_are_those_of_a_loop(lag):
    thing, frame, value = sightings(1, 0.1, 5, things=8, frames=30)
    products = [
        value[i] * value[j]
        for i in range(len(thing))
        for j in range(len(thing))
        if thing[i] != thing[j] and frame[j] - frame[i] == lag
    ]
    times, at = np.unique(frame, return_inverse=True)
    assert _lag_product(thing, at, value, times, lag)[0] == pytest.approx(np.mean(products))


def test_things_differ_where_their_means_do():
    rng = np.random.default_rng(0)
    thing = np.repeat(np.arange(5), 50)
    assert things_differ(thing, thing * 0.1 + rng.normal(0, 0.1, 250))
    same = [things_differ(thing, rng.normal(0, 0.1, 250)) for _ in range(200)]
    assert 22 <= sum(same) <= 58
    assert not things_differ(np.zeros(9, np.int64), rng.normal(0, 1, 9))
