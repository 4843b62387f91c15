"""The join and its bounds against the literal double loop over pixels; identical contexts against the pixels too."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_method import METHODS, frame_sets, naive_counts, naive_patch, samples_of

from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects
from simjudge.method.bits import CACHE_LINE, count_common_bits, minimum_sum
from simjudge.method.context_tree import CELLS, LEAF, NODE, ContextTree, context_planes
from simjudge.method.distinct import Members, group_identical
from simjudge.method.method import Method
from simjudge.method.patches import Contexts, object_contexts
from simjudge.method.segmentation import grid_samples
from simjudge.method.similarity_join import join_blocks, join_tables

TREES = (ContextTree.by_likeness, ContextTree.by_area)
THETAS = st.sampled_from([-1.0, 0.0, 0.2, 1 / 3, 0.5, 0.6, 2 / 3, 0.8, 1.0, 1.01])


def label_grid(seed, height=48, width=64, classes=4, patch=(8, 12)):
    """Contexts of several classes, of which many are the same, some empty but for the unlabelled."""
    random = np.random.default_rng(seed)
    labels = np.kron(random.integers(0, classes, (height // 4, width // 4)), np.ones((4, 4), int))
    labels[random.random(labels.shape) < 0.02] = 0
    labels[: height // 3] = 1
    return grid_samples([(labels, labels)], patch, (2, 3)).samples.contexts


def dense(contexts, patch):
    """(N, classes, pixels) of all planes."""
    classes = np.unique(contexts.plane_class).tolist()
    out = np.zeros((len(contexts), len(classes), patch[0] * patch[1]), bool)
    for i in range(len(contexts)):
        for k, plane in contexts.planes(i, patch).items():
            out[i, classes.index(k)] = plane.ravel()
    return out


def intersections(pixels):
    """Whole numbers far below 2^24, which float32 holds exactly."""
    flat = pixels.reshape(len(pixels), -1).astype(np.float32)
    return (flat @ flat.T).astype(np.int64)


def similar_pairs(pixels, theta, *, strict):
    inter = intersections(pixels)
    area = pixels.reshape(len(pixels), -1).sum(1)
    union = area[:, None] + area - inter
    out = inter / np.maximum(union, 1) > theta if strict else inter >= theta * union
    return np.where(union == 0, theta < 0 or (theta == 0 and not strict), out)


@settings(max_examples=100, deadline=None)
@given(frame_sets(), METHODS, THETAS, st.booleans())
def test_no_pair_is_lost_and_none_is_added(made, method, theta, strict):
    frames, performance = made
    contexts = samples_of(frames, performance, method).contexts
    patches = [naive_patch(frames, i, method) for i in range(len(performance))]
    expected = np.zeros((len(patches),) * 2, bool)
    for i, c in enumerate(patches):
        for j, a in enumerate(patches):
            inter, union = naive_counts(c, a)
            if union:
                expected[i, j] = inter / union > theta if strict else inter >= theta * union
            else:
                expected[i, j] = theta < 0 or (theta == 0 and not strict)
    for tree in TREES:
        found = join_tables(contexts, tree(contexts), theta, strict=strict)
        got = np.zeros(expected.shape, bool)
        got[np.repeat(found.row, np.diff(found.start)), found.rank] = True
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("theta", [0.0, 0.3, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("strict", [False, True])
def test_groups_of_many_contexts_of_several_classes_lose_no_pair(theta, strict):
    contexts = Contexts.concatenate([label_grid(seed) for seed in range(2)])
    assert len(contexts) > NODE
    expected = similar_pairs(dense(contexts, (8, 12)), theta, strict=strict)
    for tree in TREES:
        made = tree(contexts)
        got = np.zeros(expected.shape, bool)
        ones = np.ones(len(contexts), np.int64)
        for block in join_blocks(made, np.arange(len(contexts)), ones, [theta], strict=strict):
            got[made.order[np.repeat(block.row, np.diff(block.start))], made.order[block.place]] = True
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(("strict", "found"), [(True, 1), (False, 2)])
def test_126_of_180_pixels_are_not_above_seven_tenths(strict, found):
    """As the authors' tool divides; 126 > 0.7 * 180 is true in floating point, and so is 126 >= 0.7 * 180."""
    frames = FrameSet.build("made", [(40, 40)] * 2, Objects.build([0, 1], [1, 1], [[10, 10, 20, 28], [10, 10, 19, 24]]))
    contexts = object_contexts(frames, Method(patch=(40, 40), integer_boxes=True), np.arange(2))
    joined = join_tables(contexts, ContextTree.by_likeness(contexts), 0.7, strict=strict)
    assert np.diff(joined.start).tolist() == [found, found]


def test_pairs_at_the_very_threshold_are_found():
    contexts = label_grid(1)
    pixels = dense(contexts, (8, 12))
    inter = intersections(pixels)
    union = 2 * 96 - inter
    ties = sorted({Fraction(int(i), int(u)) for i, u in zip(inter.ravel(), union.ravel(), strict=True)})
    tree = ContextTree.by_likeness(contexts)
    for theta in (float(tie) for tie in ties[:: max(1, len(ties) // 12)]):
        for strict in (False, True):
            expected = similar_pairs(pixels, theta, strict=strict)
            assert len(join_tables(contexts, tree, theta, strict=strict).rank) == expected.sum()


def test_bounds_hold_for_every_context_of_a_group():
    contexts = label_grid(2)
    tree = ContextTree.by_likeness(contexts)
    assert sorted(tree.order.tolist()) == list(range(len(contexts)))
    inter = intersections(dense(contexts.take(tree.order), (8, 12)))
    planes = tree.planes
    for size, groups in ((LEAF, tree.leaves), (NODE, tree.nodes)):
        for g in range(len(groups.area)):
            inside = slice(g * size, (g + 1) * size)
            assert groups.area[g].tolist() == [planes.area[inside].min(), planes.area[inside].max()]
            for i in range(0, len(contexts), 29):
                bound = sum(
                    int(np.minimum(planes.cells[p], groups.cells[q]).sum()) * planes.cell_unit
                    for p in range(planes.start[i], planes.start[i + 1])
                    for q in range(groups.start[g], groups.start[g + 1])
                    if planes.plane_class[p] == groups.plane_class[q]
                )
                assert bound >= inter[i, inside].max()


@pytest.mark.parametrize("patch", [(8, 8), (64, 64), (120, 120), (181, 90), (300, 300)])
def test_cells_hold_no_fewer_pixels_than_are_set(patch):
    random = np.random.default_rng(0)
    labels = (random.random((patch[0], patch[1] * 3)) < 0.9).astype(int)
    contexts = grid_samples([(labels, labels)], patch).samples.contexts
    planes = context_planes(contexts)
    assert planes.cells.shape[1] == CELLS
    whole = planes.cells.astype(int).sum(1) * planes.cell_unit
    assert (whole >= contexts.plane_area).all()
    assert (whole - contexts.plane_area < CELLS * planes.cell_unit).all()


def test_lines_outside_of_the_named_ones_are_empty():
    contexts = label_grid(3, patch=(40, 60))
    planes = context_planes(contexts)
    for words, (first, end) in zip(contexts.words, planes.lines, strict=True):
        lines = words.reshape(-1, CACHE_LINE // 8).any(1)
        assert not lines[:first].any()
        assert not lines[end:].any()
        assert lines[first]
        assert lines[end - 1]


def test_compiled_counts_equal_numpy():
    random = np.random.default_rng(0)
    words, others = (random.integers(0, 2**63, (3, 24)).astype(np.uint64) for _ in range(2))
    counts, more = (random.integers(0, 256, (3, 128)).astype(np.uint8) for _ in range(2))
    from simjudge.core.numba_cache import njit  # noqa: PLC0415 - compiled where it is used

    @njit
    def both(words, others, counts, more, first, end):
        return count_common_bits(words, 2, others, 1, first, end), minimum_sum(counts, 1, more, 2, 2)

    for first, end in ((0, 3), (1, 2), (2, 2)):
        bits, least = both(words, others, counts, more, first, end)
        assert bits == np.unpackbits((words[2] & others[1])[8 * first : 8 * end].view(np.uint8)).sum()
        assert least == np.minimum(counts[1], more[2]).astype(int).sum()


def test_identical_contexts_are_those_with_the_same_pixels():
    contexts = Contexts.concatenate([label_grid(4), label_grid(4), label_grid(5)])
    for cut in (0, 400, len(contexts)):
        first, group = group_identical(contexts.take(np.arange(cut)), contexts.take(np.arange(cut, len(contexts))))
        check_groups(contexts, first, group)


def check_groups(contexts, first, group):
    pixels = np.packbits(dense(contexts, (8, 12)).reshape(len(contexts), -1), axis=1)
    _, expected, inverse = np.unique(pixels, axis=0, return_index=True, return_inverse=True)
    assert sorted(expected.tolist()) == first.tolist()
    assert len(first) < 0.6 * len(contexts)
    np.testing.assert_array_equal(first[group], expected[inverse.reshape(-1)])


def test_contexts_of_one_hash_are_told_apart(monkeypatch):
    contexts = label_grid(6), label_grid(6)
    expected = group_identical(*contexts)

    def same_hash(_start, _plane_class, _words, out):
        out[:] = 7

    monkeypatch.setattr("simjudge.method.distinct._hash_contexts", same_hash)
    for one, other in zip(group_identical(*contexts), expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_no_contexts_at_all():
    nothing = label_grid(0).take(np.zeros(0, np.int64))
    for tree in TREES:
        assert len(tree(nothing)) == 0
        assert len(join_tables(label_grid(0), tree(nothing), 0.0).rank) == 0
        assert len(join_tables(nothing, tree(label_grid(0)), 0.0).rank) == 0


def test_the_match_is_the_most_similar_of_those_that_may_match():
    contexts = label_grid(7)
    tree = ContextTree.by_likeness(contexts)
    numbers = np.where(np.arange(len(contexts)) % 3 == 0, np.arange(len(contexts)), -1)
    inter = intersections(dense(contexts.take(tree.order), (8, 12)))
    similarity = inter / (2 * 96 - inter)
    similarity[:, numbers < 0] = -1
    for block in join_blocks(tree, np.arange(len(contexts)), np.ones(len(contexts), np.int64), [0.5]):
        match, match_similarity = block.best_matches(numbers)
        best = similarity[block.row].max(1)
        np.testing.assert_array_equal(match, np.where(best >= 0.5, similarity[block.row].argmax(1), -1))
        np.testing.assert_array_equal(match_similarity, np.where(best >= 0.5, best, 0.0))


def test_samples_of_one_context_are_listed_in_order():
    contexts = label_grid(8)
    tree = ContextTree.by_likeness(contexts)
    random = np.random.default_rng(0)
    place = random.integers(0, len(contexts), 3 * len(contexts))
    members = Members.of_groups(place, len(contexts))
    ranks = Members(members.start, random.permutation(len(place)).astype(np.int32)[members.item])
    for block in join_blocks(tree, np.arange(len(contexts)), np.diff(members.start), [0.3, 0.6]):
        near = block.neighbours(ranks)
        for r in range(len(block.row)):
            found = {}
            for k in range(block.start[r], block.start[r + 1]):
                for m in range(ranks.start[block.place[k]], ranks.start[block.place[k] + 1]):
                    found[int(ranks.item[m])] = int(block.level[k])
            listed = slice(near.start[r], near.start[r + 1])
            assert list(zip(near.rank[listed].tolist(), near.level[listed].tolist(), strict=True)) == sorted(
                found.items()
            )


def test_a_tree_of_some_contexts_of_several_sets():
    parts = [label_grid(seed) for seed in range(3)]
    whole, random = Contexts.concatenate(parts), np.random.default_rng(0)
    rows = random.permutation(len(whole))[:500]
    gathered = Contexts.gather(parts, rows)
    for name, values in vars(whole.take(rows)).items():
        np.testing.assert_array_equal(getattr(gathered, name), values, name)
    tree = ContextTree.by_likeness(*parts, rows=rows)
    np.testing.assert_array_equal(tree.planes.words, whole.take(rows[tree.order]).words)
    assert sorted(tree.order.tolist()) == list(range(500))
