"""The loops in NumPy give what the compiled ones give, and small sets on a fresh machine compile nothing."""

from __future__ import annotations

import numpy as np
import pytest

from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Masks, Objects, Predictions
from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.pair import compare_pair
from simjudge.method.compiled import choose_loops
from simjudge.method.context_tree import ContextTree
from simjudge.method.loop_choice import FEW_CONTEXTS, use_numpy_loops
from simjudge.method.method import Method
from simjudge.method.numpy_loops import _count_bits
from simjudge.method.patches import object_contexts
from simjudge.method.similarity_join import join_blocks


@pytest.fixture(autouse=True)
def _compiled_afterwards():
    yield
    use_numpy_loops(False)


def made(name, seed, *, masks=False, frames=40):
    """Four objects a frame, of two classes, cut off at edges, with predictions that miss some."""
    random = np.random.default_rng(seed)
    corner = random.uniform(-8, 60, (4 * frames, 2))
    box = np.concatenate([corner, corner + random.uniform(8, 20, (4 * frames, 2))], axis=1)
    frame, kind = np.arange(4 * frames) // 4, random.integers(0, 2, 4 * frames)
    found = random.random(4 * frames) < 0.8
    moved = box[found] + random.normal(0, 1 + seed, (found.sum(), 4))
    moved[:, 2:] = np.maximum(moved[:, 2:], moved[:, :2] + 1)
    painted = None
    if masks:
        shape = np.tile([9, 7], (len(frame), 1)).astype(np.int32)
        bits = [np.packbits(random.random(63) < 0.6) for _ in frame]
        painted = Masks(
            np.floor(corner).astype(np.int32), shape, np.concatenate(bits), np.arange(len(frame) + 1) * len(bits[0])
        )
    objects = Objects.build(frame, kind, box, masks=painted)
    predictions = Predictions.build(frame[found], kind[found], moved, random.random(found.sum()))
    return FrameSet.build(name, [[80, 70]] * frames, objects, predictions=predictions)


def numbers_of(value, path=""):
    """All numbers of nested data classes and containers, by their path."""
    if isinstance(value, np.ndarray):
        return {path: value}
    if isinstance(value, str):
        return {path: np.array([str(value)])}
    if isinstance(value, (int, float, np.number)):
        return {path: np.asarray(value)}
    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, (list, tuple)):
        parts = enumerate(value)
    elif hasattr(value, "__dict__"):
        parts = vars(value).items()
    else:
        return {}
    return {key: array for name, part in parts for key, array in numbers_of(part, f"{path}/{name}").items()}


def both_forms(run):
    out = []
    for wanted in (False, True):
        use_numpy_loops(wanted)
        out.append(run())
    return out


@pytest.mark.parametrize(
    ("changes", "masks"),
    [
        ({}, False),
        ({"preset": "cpd", "patch": (32, 32)}, False),
        ({"class_blind": True, "theta": 0.5}, False),
        ({"paired": True, "theta": 0.4}, False),
        ({"masks": "use", "theta": 0.3}, True),
    ],
)
def test_a_comparison_has_the_same_numbers(changes, masks):
    sets = made("real", 0, masks=masks), made("sim", 1, masks=masks)
    settings = CompareSettings(**{"patch": (32, 30), "theta": 0.6, "draws": 200} | changes)

    def compare():
        result = compare_pair(*sets, settings)
        return numbers_of([result.numbers, result.where, result.overall, result.classes])

    compiled, plain = both_forms(compare)
    assert compiled.keys() == plain.keys()
    assert len(compiled) > 50
    for key, array in compiled.items():
        if array.dtype.kind in "fiub":
            np.testing.assert_allclose(plain[key], array, rtol=1e-9, atol=1e-12, err_msg=key)
        else:
            assert (plain[key] == array).all(), key


def test_trees_of_numpy_serve_the_compiled_join():
    frames, method = made("real", 2), Method(patch=(32, 30), theta=0.3)
    found = []
    for wanted in (False, True):
        use_numpy_loops(wanted)
        tree = ContextTree.by_likeness(object_contexts(frames, method, np.arange(len(frames.objects))))
        use_numpy_loops(False)
        pairs = set()
        for block in join_blocks(tree, np.arange(len(tree)), np.ones(len(tree), np.int64), [0.3]):
            row = np.repeat(block.row, np.diff(block.start))
            pairs |= set(zip(tree.order[row].tolist(), tree.order[block.place].tolist(), strict=True))
        found.append(pairs)
    assert found[0] == found[1]
    assert len(found[0]) > 2 * len(frames.objects)


def test_small_sets_wait_for_no_compiler_and_large_ones_do(monkeypatch):
    monkeypatch.setattr("simjudge.method.compiled.is_compiled", lambda: False)
    assert not choose_loops(FEW_CONTEXTS)
    assert choose_loops(FEW_CONTEXTS + 1)
    assert choose_loops()
    monkeypatch.setattr("simjudge.method.compiled.is_compiled", lambda: True)
    assert not choose_loops(10**6)


def test_bits_are_counted_without_the_function_of_numpy_2(monkeypatch):
    words = np.random.default_rng(0).integers(0, 2**63, (5, 7), np.uint64)
    expected = [sum(int(word).bit_count() for word in row) for row in words]
    assert _count_bits(words).tolist() == expected
    monkeypatch.delattr(np, "bitwise_count", raising=False)
    assert _count_bits(words).tolist() == expected
