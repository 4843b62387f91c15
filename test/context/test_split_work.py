"""Work that all cores share gives the very numbers of the same work in parts so small that one core does each."""

from __future__ import annotations

import numpy as np
import pytest
from naive_method import samples_of

from simjudge.context.algorithm import Samples, compare_class
from simjudge.context.method import Method
from simjudge.context.patches import Contexts, object_contexts
from simjudge.context.raster import PATCHES_TO_SPLIT
from simjudge.context.resampling import STEPS_TO_SPLIT, Resamples
from simjudge.context.similarity_join import PAIRS_TO_SPLIT, area_order, join_tables
from simjudge.context.wasserstein import NEIGHBOURS_TO_SPLIT, compare_rows
from simjudge.core.frames import FrameSet, Objects

METHOD = Method(patch=(24, 24), theta=0.4)
FIELDS = ("start", "plane_class", "words", "blocks", "plane_area", "area")


def many(count, seed=0):
    random = np.random.default_rng(seed)
    corner = random.uniform(0, 60, (count, 2))
    box = np.concatenate([corner, corner + random.uniform(8, 16, (count, 2))], axis=1)
    objects = Objects.build(np.arange(count) // 4, random.integers(0, 2, count), box)
    return FrameSet.build("made", [[80, 80]] * (count // 4), objects), random.random(count)


@pytest.fixture(scope="module")
def joined():
    """1,600 contexts, and the neighbours of each."""
    frames, performance = many(1600)
    contexts = object_contexts(frames, METHOD, np.arange(1600))
    return frames, performance, contexts, join_tables(contexts, contexts, area_order(contexts), METHOD.theta)


def test_contexts(joined):
    frames, _, contexts, _ = joined
    assert len(contexts) >= PATCHES_TO_SPLIT > 400
    parts = [object_contexts(frames, METHOD, np.arange(first, first + 400)) for first in range(0, 1600, 400)]
    for field in FIELDS:
        np.testing.assert_array_equal(getattr(Contexts.concatenate(parts), field), getattr(contexts, field), field)


def test_neighbours(joined):
    _, _, contexts, found = joined
    assert len(contexts) ** 2 >= PAIRS_TO_SPLIT > 100 * len(contexts)
    order = area_order(contexts)
    for first in range(0, 1600, 100):
        part = join_tables(contexts.take(np.arange(first, first + 100)), contexts, order, METHOD.theta)
        mine = slice(found.start[first], found.start[first + 100])
        np.testing.assert_array_equal(part.start, found.start[first : first + 101] - found.start[first])
        np.testing.assert_array_equal(part.rank, found.rank[mine])
        np.testing.assert_array_equal(part.level, found.level[mine])


def test_w1():
    random = np.random.default_rng(0)
    rank = np.sort(random.integers(0, 1600, (1600, 400)), axis=1).astype(np.int32).ravel()
    start, level = np.arange(1601) * 400, random.integers(1, 3, len(rank)).astype(np.uint8)
    samples = np.sort(random.random(1600)), random.random(1600) < 0.5
    assert len(rank) * 2 >= NEIGHBOURS_TO_SPLIT > len(rank) // 4

    def compared(first, last):
        mine = slice(start[first], start[last])
        out = np.empty((last - first, 2)), np.empty((last - first, 2)), np.empty((last - first, 2, 2), np.int64)
        compare_rows(start[first : last + 1] - start[first], rank[mine], level[mine], *samples, 2, 1, *out)
        return out

    whole, parts = compared(0, 1600), [compared(first, first + 200) for first in range(0, 1600, 200)]
    assert np.isfinite(whole[0]).all()
    for number in range(3):
        np.testing.assert_array_equal(np.concatenate([part[number] for part in parts]), whole[number])


def test_resampled_w1():
    frames, performance = many(240)
    every = samples_of(frames, performance, METHOD)
    first = 120
    a, b = (
        Samples(every.contexts.take(rows), performance[rows], frames.objects.frame[rows] - base, 30)
        for rows, base in ((np.arange(first), 0), (np.arange(first, 240), 30))
    )
    random = np.random.default_rng(1)
    labels = random.integers(0, 2, (60, 3000)).astype(np.uint8)
    weights = random.integers(0, 3, (60, 3000)).astype(np.uint8)
    _, (many_columns,) = compare_class(a, b, METHOD, resamples=Resamples(labels, weights))
    _, (few,) = compare_class(a, b, METHOD, resamples=Resamples(labels[:, :20].copy(), weights[:, :20].copy()))
    neighbours = join_tables(every.contexts, every.contexts, area_order(every.contexts), METHOD.theta).start[-1]
    assert neighbours * 3000 >= STEPS_TO_SPLIT > neighbours * 20
    for whole, part in zip(many_columns.arrays(), few.arrays(), strict=True):
        np.testing.assert_array_equal(whole[:20], part)
        assert part.sum() > 0
