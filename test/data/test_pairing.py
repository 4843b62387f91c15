"""Pairing, against a plain search over all pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simjudge.core.frames import FrameSet
from simjudge.data.pairing import count_unpaired, pair_frames, pair_stamps


def naive(a: list[int], b: list[int], tolerance: int) -> dict[int, int]:
    """The nearest of all pairs first; of equally near ones the earlier."""
    near = [(abs(x - y), min(x, y), i, j) for i, x in enumerate(a) for j, y in enumerate(b) if abs(x - y) <= tolerance]
    pairs: dict[int, int] = {}
    for _, _, i, j in sorted(near):
        if i not in pairs and j not in pairs.values():
            pairs[i] = j
    return pairs


STAMPS = st.lists(st.integers(0, 60), max_size=12, unique=True)


@given(STAMPS, STAMPS, st.integers(0, 70))
def test_equals_the_naive_search(a: list[int], b: list[int], tolerance: int) -> None:
    i, j = pair_stamps(a, b, tolerance)
    assert dict(zip(i.tolist(), j.tolist(), strict=True)) == naive(a, b, tolerance)
    assert i.tolist() == sorted(i.tolist())


@pytest.mark.parametrize(
    ("a", "b", "tolerance", "expected"),
    [
        ([], [], 5, []),
        ([10], [], 5, []),
        ([10, 20, 30], [30, 10, 20], 0, [(0, 1), (1, 2), (2, 0)]),
        ([10, 20], [11, 19], 0, []),
        ([10, 20], [11, 19], 1, [(0, 0), (1, 1)]),
        ([0, 100, 200], [3, 97, 205], 10, [(0, 0), (1, 1), (2, 2)]),
        ([0, 10], [9], 10, [(1, 0)]),  # the nearer one gets it, not the first
        ([0, 10], [9, 11], 100, [(0, 1), (1, 0)]),  # the rest is what is left, one to one
        ([0, 100], [50], 49, []),
        ([0, 100], [50], 50, [(0, 0)]),
    ],
)
def test_cases(a: list[int], b: list[int], tolerance: int, expected: list[Any]) -> None:
    i, j = pair_stamps(a, b, tolerance)
    assert list(zip(i.tolist(), j.tolist(), strict=True)) == expected


def test_many_stamps_and_a_wide_tolerance() -> None:
    """A tolerance beyond the whole recording costs neither memory nor time."""
    a = np.arange(50_000) * 100
    i, j = pair_stamps(a, a + 7, 10**12)
    assert np.array_equal(i, j)
    assert len(i) == 50_000


def make(stamps: list[int], names: list[str] | None = None) -> FrameSet:
    return FrameSet.build("set", [[8, 8]] * len(stamps), stamp=stamps, frame_name=names)


@pytest.mark.parametrize(
    ("a", "b", "tolerance", "expected"),
    [
        (make([1, 2, 3]), make([3, 1]), 0, [(0, 1), (2, 0)]),
        (make([10, 20]), make([21, 12]), 2, [(0, 1), (1, 0)]),
        (make([-1, -1], ["x", "y"]), make([-1, -1], ["y", "z"]), 0, [(1, 0)]),
        (make([-1, 5], ["x", "y"]), make([5, -1], ["p", "x"]), 0, [(0, 1), (1, 0)]),
        (make([5], ["x"]), make([-1], ["x"]), 0, [(0, 0)]),
        (make([5], ["x"]), make([6], ["x"]), 0, []),  # where both have stamps, the stamps say no
        (make([]), make([5]), 0, []),
    ],
)
def test_frames(a: FrameSet, b: FrameSet, tolerance: int, expected: list[Any]) -> None:
    i, j = pair_frames(a, b, tolerance)
    assert list(zip(i.tolist(), j.tolist(), strict=True)) == expected
    assert sum(count_unpaired(a, b, (i, j)).counts.values()) == len(a) + len(b) - 2 * len(expected)
