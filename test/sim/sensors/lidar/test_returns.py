"""Returns of a beam against the same rules written down for one beam, in plain Python."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simjudge.sim.sensors.lidar.rays import beam_returns


def naive(ranges, intensity, resolution, mode, threshold):
    """[(range, intensity, ray), ...] of one beam, as the rules of `simjudge.sim.sensors.lidar.rays` say."""
    hits = sorted((r, n) for n, r in enumerate(ranges) if math.isfinite(r))
    groups = []
    for r, n in hits:
        if groups and (mode == "mean" or r - groups[-1][-1][0] < resolution):
            groups[-1].append((r, n))
        else:
            groups.append([(r, n)])
    found = []
    for group in groups:
        total = sum(intensity[n] for _, n in group)
        if total / len(ranges) < threshold:
            continue
        mean = sum(intensity[n] * r for r, n in group) / total if total else sum(r for r, _ in group) / len(group)
        found.append((mean, total / len(ranges), max(group, key=lambda each: intensity[each[1]])[1]))
    if not found:
        return []
    strongest = max(found, key=lambda each: each[1])
    if mode == "dual":
        last = found[-1]
        if strongest is last:
            others = found[:-1]
            return [strongest, max(others, key=lambda each: each[1])] if others else [strongest]
        return [strongest, last]
    return [{"strongest": strongest, "first": found[0], "last": found[-1], "mean": found[0]}[mode]]


values = st.one_of(st.just(math.inf), st.floats(0.1, 3).map(lambda v: round(v, 2)))
beams = st.integers(1, 9).flatmap(
    lambda n: st.lists(
        st.tuples(
            st.lists(values, min_size=n, max_size=n),
            st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=n, max_size=n),
        ),
        min_size=1,
        max_size=6,
    )
)


@settings(max_examples=100)
@given(
    beams,
    st.sampled_from(["strongest", "first", "last", "mean", "dual"]),
    st.sampled_from([0.0, 0.1]),
    st.sampled_from([0.05, 0.3]),
)
def test_equal_to_the_rules_in_plain_python(content, mode, threshold, resolution):
    ranges = np.array([ranges for ranges, _ in content])
    intensity = np.array([power for _, power in content])
    found = beam_returns(ranges, intensity, resolution, mode, threshold)
    assert found.range.shape == (len(content), 2 if mode == "dual" else 1)
    for n, (r, i) in enumerate(content):
        expected = naive(r, i, resolution, mode, threshold)
        seen = np.isfinite(found.range[n])
        assert found.range[n][seen] == pytest.approx([each[0] for each in expected])
        assert found.intensity[n][seen] == pytest.approx([each[1] for each in expected])
        assert found.sample[n][seen].tolist() == [each[2] for each in expected]
        assert (found.sample[n][~seen] == -1).all()


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("strongest", [2.0]),
        ("first", [2.0]),
        ("last", [5.0]),
        ("dual", [2.0, 5.0]),
        ("mean", [(6 * 2 + 3 * 5) / 9]),
    ],
)
def test_a_beam_half_on_a_near_wall_half_on_a_far_one(mode, expected):
    """Six of nine rays on the near wall. One ray gives one of the two, dual both, mean a point in the air between."""
    ranges = np.array([[2.0, 2.0, 5.0] * 3])
    found = beam_returns(ranges, np.ones((1, 9)), 0.1, mode)
    assert found.range[0] == pytest.approx(expected)
    if mode == "dual":
        assert found.intensity[0] == pytest.approx([6 / 9, 3 / 9])
    assert beam_returns(ranges[:, :1], np.ones((1, 1)), 0.1, mode).range[0, 0] == 2.0
