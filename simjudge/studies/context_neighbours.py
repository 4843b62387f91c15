"""The similar contexts of chosen ones, to look at: what A_c and B_c hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.method.context_tree import ContextTree
from simjudge.method.patches import Contexts
from simjudge.method.similarity_join import join_blocks
from simjudge.results.gallery_selection import PAIR_KINDS, GalleryItem, dissimilar_first
from simjudge.studies.judged_set import class_samples
from simjudge.studies.pair import ClassResult, PairResult

MOST_NEIGHBOURS = 5
"""How many similar contexts of each set are shown."""
MOST_CLASSES = 4
"""How many classes, those with most contexts, show the neighbours of a context."""


def with_neighbours(items: Sequence[GalleryItem], result: PairResult) -> list[GalleryItem]:
    """Add to one context of each kind and class, that with the largest batches, which contexts are similar to it.

    Returns:
        The items, in the same order. The neighbours are the most similar ones, one of each frame first.
    """
    sizes = {k: len(one.rows_a) + len(one.rows_b) for k, one in result.classes.items()}
    out = list(items)
    for class_id in sorted(sizes, key=lambda k: -sizes[k])[:MOST_CLASSES]:
        of_class = result.classes[class_id]
        batch = dict(zip(of_class.rows_a.tolist(), of_class.comparison.batch.sum(1).tolist(), strict=True))
        own = [[n for n, item in enumerate(items) if (item.class_id, item.kind) == (class_id, k)] for k in PAIR_KINDS]
        chosen = [max(of_kind, key=lambda n: batch[items[n].row]) for of_kind in own if of_kind]
        anchors = [items[n].row for n in chosen]
        found = _neighbours(result, class_id, of_class, anchors) if chosen else ()
        for number, (of_a, of_b) in zip(chosen, found, strict=True):
            out[number] = replace(items[number], neighbours_a=of_a, neighbours_b=of_b)
    return out


def _neighbours(
    result: PairResult, class_id: int, of_class: ClassResult, anchors: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """For each of some contexts of A, the rows of the table of the most similar ones of A and of B."""
    sides = (result.a, result.b)
    samples = [class_samples(judged, class_id, result.method) for judged in sides]
    tree = ContextTree.by_area(Contexts.concatenate([each.contexts for each in samples]))
    table_rows = np.concatenate([of_class.rows_a, len(result.a.frames.objects) + of_class.rows_b])
    frames = np.concatenate([samples[0].numbers.unit, samples[1].numbers.unit + len(result.a.frames)])
    place_of = np.argsort(tree.order)
    rows = place_of[np.searchsorted(of_class.rows_a, anchors)]
    ones, method = np.ones(len(tree), np.int64), result.method
    for block in join_blocks(tree, rows, ones, [method.theta], strict=method.strict):
        for number, row in enumerate(block.row):
            part = slice(block.start[number], block.start[number + 1])
            members = tree.order[block.place[part]]
            others = members != tree.order[row]
            yield _nearest(members[others], block.similarity[part][others], (of_class, frames, table_rows))


def _nearest(
    members: IntArray, similarity: FloatArray, of: tuple[ClassResult, IntArray, IntArray]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    of_class, frames, table_rows = of
    ordered = members[np.lexsort((members, -similarity))]
    own, other = (ordered[(ordered < len(of_class.rows_a)) == is_a] for is_a in (True, False))
    a, b = (dissimilar_first(part, (frames,), MOST_NEIGHBOURS) for part in (own, other))
    return tuple(table_rows[a].tolist()), tuple(table_rows[b].tolist())
