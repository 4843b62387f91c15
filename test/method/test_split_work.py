"""Work that all cores share gives the very numbers of the same work in parts so small that one core does each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects
from simjudge.method import join_parts
from simjudge.method.algorithm import compare_class, draw_pairs
from simjudge.method.bootstrap import DrawSchedule, UnitNumbers
from simjudge.method.method import Method
from simjudge.method.patches import Contexts, object_contexts
from simjudge.method.pool import ClassPair, Samples
from simjudge.method.raster import PATCHES_TO_SPLIT

METHOD = Method(patch=(24, 24), theta=0.4)
FIELDS = ("start", "plane_class", "words", "plane_area", "area")


def many(count, seed=0):
    random = np.random.default_rng(seed)
    corner = random.uniform(0, 60, (count, 2))
    box = np.concatenate([corner, corner + random.uniform(8, 16, (count, 2))], axis=1)
    objects = Objects.build(np.arange(count) // 4, random.integers(0, 2, count), box)
    return FrameSet.build("made", [[80, 80]] * (count // 4), objects), random.random(count)


@pytest.fixture(scope="module")
def made():
    """1,600 samples in frames of four, and their contexts."""
    frames, performance = many(1600)
    return frames, performance, object_contexts(frames, METHOD, np.arange(1600))


def test_contexts(made):
    frames, _, contexts = made
    assert len(contexts) >= PATCHES_TO_SPLIT > 400
    parts = [object_contexts(frames, METHOD, np.arange(first, first + 400)) for first in range(0, 1600, 400)]
    for field in FIELDS:
        np.testing.assert_array_equal(getattr(Contexts.concatenate(parts), field), getattr(contexts, field), field)


@pytest.mark.parametrize("thetas", [[0.4], [0.3, 0.4, 0.6]])
def test_one_core_and_several(made, monkeypatch, thetas):
    frames, performance, contexts = made
    a, b = (
        Samples(contexts.take(rows), performance[rows], UnitNumbers(frames.objects.frame[rows]))
        for rows in (np.arange(800), np.arange(800, 1600))
    )
    pair = ClassPair(a, b, DrawSchedule(400, 0, 50, 1).next_batch())
    compared, drawn = [], []
    for threads, work in ((1, join_parts.WORK_TO_SPLIT), (3, 0)):
        monkeypatch.setattr("simjudge.method.join_parts.config.NUMBA_NUM_THREADS", threads)
        monkeypatch.setattr("simjudge.method.join_parts.WORK_TO_SPLIT", work)
        compared.append(compare_class(a, b, METHOD, thetas))
        drawn.extend(draw_pairs([pair], METHOD, thetas))
    for one, other in zip(*compared, strict=True):
        for field in vars(one):
            np.testing.assert_array_equal(getattr(one, field), getattr(other, field), field)
        assert one.compared.any()
    for one, other in zip(*drawn, strict=True):
        for field in vars(one):
            np.testing.assert_array_equal(getattr(one, field), getattr(other, field), field)
        assert one.chance.all()


def test_the_size_of_parts_changes_no_number_of_a_context(made, monkeypatch):
    frames, performance, contexts = made
    samples = Samples(contexts, performance, UnitNumbers(frames.objects.frame))
    [one] = compare_class(samples, samples, METHOD)
    monkeypatch.setattr("simjudge.method.join_parts.FEWEST_ROWS", 7)
    monkeypatch.setattr("simjudge.method.join_parts.MOST_ROWS", 7)
    monkeypatch.setattr("simjudge.method.similarity_join.BLOCK_ITEMS", 1)
    [other] = compare_class(samples, samples, replace(METHOD))
    for field in vars(one):
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field), field)
