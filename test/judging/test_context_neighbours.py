"""The neighbours that a gallery shows: the most similar contexts, against a literal loop over all pairs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from naive_method import naive_counts, naive_patch, naive_similar
from random_frames import made

import simjudge as sj
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Predictions
from simjudge.judging.context_kinds import samples_of_kind
from simjudge.judging.result_writing import MOST_NEIGHBOURS, items_of_named_kind, with_neighbours
from simjudge.questions.compare.result import ComparisonResult
from simjudge.results.gallery import PAIR_KINDS, GalleryItem, select_items


@pytest.fixture(scope="module")
def compared() -> ComparisonResult:
    a, b = made(1, 12), made(2, 12)
    return sj.compare(a, b, patch=40, theta=0.3, draws=0)


def similarities(result: ComparisonResult, row: int) -> dict[int, float]:
    """Row of the table to similarity, of all contexts of the class that are similar to one of A, itself left out."""
    pair, contexts = result.comparison.result, result.contexts
    frames: list[FrameSet] = [pair.a.frames, pair.b.frames]
    count_a, out = len(frames[0].objects), {}
    patches = [naive_patch(each, i, pair.method) for each in frames for i in range(len(each.objects))]
    for other in range(len(contexts)):
        if other == row or contexts.class_id[other] != contexts.class_id[row]:
            continue
        if naive_similar(patches[row], patches[other], pair.method):
            inter, union = naive_counts(patches[row], patches[other])
            out[other] = inter / union if union else 0.0
    assert all(contexts.is_a[other] == (other < count_a) for other in out)
    return out


def test_neighbours_are_the_most_similar_of_each_set_from_other_frames_first(compared: ComparisonResult) -> None:
    contexts = compared.contexts
    items = select_items(contexts, 4)
    shown = [
        each for each in with_neighbours(items, compared.comparison.result) if each.neighbours_a or each.neighbours_b
    ]
    assert shown
    frames = contexts.frame_number()
    for item in shown:
        found = similarities(compared, item.row)
        for is_a, rows in ((True, item.neighbours_a), (False, item.neighbours_b)):
            own = {row: value for row, value in found.items() if contexts.is_a[row] == is_a}
            assert set(rows) <= set(own)
            assert len(rows) == min(MOST_NEIGHBOURS, len(own))
            best: dict[int, float] = {}
            for row, value in own.items():
                best[int(frames[row])] = max(value, best.get(int(frames[row]), 0.0))
            first = rows[: len(best)]
            assert [own[row] for row in first] == pytest.approx(sorted(best.values(), reverse=True)[: len(first)])
            assert len({int(frames[row]) for row in first}) == len(first)


def test_one_context_of_each_kind_and_class_is_shown_with_neighbours(compared: ComparisonResult) -> None:
    items = select_items(compared.contexts, 4)
    made_items = with_neighbours(items, compared.comparison.result)
    assert [(each.kind, each.class_id, each.row, each.match_row) for each in made_items] == [
        (each.kind, each.class_id, each.row, each.match_row) for each in items
    ]
    batch = compared.contexts["batch_a"] + compared.contexts["batch_b"]
    for class_id in np.unique(compared.contexts.class_id):
        for kind in PAIR_KINDS:
            own = [each for each in made_items if (each.class_id, each.kind) == (class_id, kind)]
            with_some = [each for each in own if each.neighbours_a or each.neighbours_b]
            assert len(with_some) <= 1
            for each in with_some:
                assert batch[each.row] == max(batch[other.row] for other in own)


def test_the_gallery_of_a_saved_result_holds_them(compared: ComparisonResult, tmp_path) -> None:
    compared.save(tmp_path / "result")
    read = sj.load_result(tmp_path / "result")
    names = [name for name in read.figures if name.startswith("neighbours_")]
    assert names
    figure = read.figures[names[0]]()
    shown = next(
        each
        for each in with_neighbours(select_items(compared.contexts, 6), compared.comparison.result)
        if each.neighbours_a or each.neighbours_b
    )
    assert len(figure.axes) == 1 + len(shown.neighbours_a) + len(shown.neighbours_b)
    page = read.report(tmp_path / "page.html").path.read_text(encoding="utf-8")
    assert page.count('<div class="neighbours">') == len(names)
    assert GalleryItem("highest", 1, 3, 4, (5, 3), (4, 7)).rows == [3, 4, 5, 7]


def test_of_the_kind_that_differs_most_pairs_of_like_contexts_of_both_sets_are_shown() -> None:
    a, b = made(1, 60), made(2, 60)
    # In B nothing on the left is found.
    kept = np.flatnonzero(b.predictions.box[:, 0] > b.size[0, 0] / 3)
    b = replace(b, predictions=Predictions.take(b.predictions, kept))
    result = sj.compare(a, b, patch=40, theta=0.3, draws=199)
    pair = result.comparison.result
    of_kind = samples_of_kind(pair.comparison, result.where.outstanding[0].kind)
    items = items_of_named_kind(pair, result.contexts, 4)
    assert 0 < len(items) <= 4
    contexts = result.contexts
    for item in items:
        assert contexts.is_a[item.row]
        assert not contexts.is_a[item.match_row]
        assert item.match_row in similarities(result, item.row)
        assert of_kind[[item.row, item.match_row]].all()
    assert len({item.match_row for item in items}) == len(items)
