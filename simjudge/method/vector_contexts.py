"""Algorithm 1 where a context is a point instead of a patch: a stretch of a course, by its curvature and speed.

Two points are similar where no coordinate differs by more than its tolerance. Everything after that is the method's:
A_c, B_c, W1, overlap, and draws over sampling units.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.method.algorithm import ClassComparison
from simjudge.method.bootstrap import Bootstrap, DrawnRows, DrawnSamples, Normals, UnitNumbers
from simjudge.method.distinct import Members
from simjudge.method.similarity_join import Neighbours
from simjudge.method.wasserstein import compare_rows, mark_overlap

THETA = 0.8
"""Similarity at the tolerance. It falls from 1 to 0 as the largest difference grows to five tolerances."""


@dataclass(frozen=True, eq=False, repr=False)
class PointSamples(ShortRepr):
    """N contexts of one set, with M performances each.

    Attributes:
        context: float64 (N, D), in units of the tolerances, finite.
        performance: float64 (N, M), finite.
        unit: int64 (N,), the sampling unit of each, numbered over both sets.
    """

    context: FloatArray
    performance: FloatArray
    unit: IntArray


@dataclass(frozen=True, eq=False, repr=False)
class PointJoin(ShortRepr):
    """The similar contexts of each context of A, then of B, itself among them."""

    start: IntArray  # int64 (N + 1,), where those of each begin
    near: IntArray  # int64 (P,), their numbers
    match: IntArray  # int64 (A,), the most similar context of B of each of A; -1 where none is similar
    match_similarity: FloatArray  # float64 (A,)


def compare_points(
    a: PointSamples, b: PointSamples, normals: Normals | None = None, joined: PointJoin | None = None
) -> list[tuple[ClassComparison, Bootstrap | None]]:
    """Compare two sets of contexts that are points, for each performance, on one join.

    Args:
        normals: the draws; None for none.
        joined: the join of the same contexts, where it is known already.
    """
    if joined is None:
        joined = join_points(a.context, b.context)
    return [_compare_one(a, b, metric, joined, normals) for metric in range(a.performance.shape[1])]


def join_points(a: FloatArray, b: FloatArray) -> PointJoin:
    """Find the similar contexts of each context of both sets ((N, D), in units of the tolerances)."""
    points = np.concatenate([a, b])
    # The tree's own limit is rounded by the last bit; the exact one is drawn below.
    one, other = cKDTree(points).query_pairs(1.0 + 1e-9, p=np.inf, output_type="ndarray").T
    itself = np.arange(len(points))
    row, near = np.concatenate([itself, one, other]), np.concatenate([itself, other, one])
    distance = np.zeros(len(row))
    for coordinate in points.T:
        np.maximum(distance, np.abs(coordinate[row] - coordinate[near]), out=distance)
    kept = np.flatnonzero(distance <= 1.0)
    kept = kept[np.argsort(row[kept], kind="stable")]
    row, near, distance = row[kept], near[kept], distance[kept]
    start = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(points)))]).astype(np.int64)
    return PointJoin(start, near, *_matches(len(a), row, near, distance))


def _compare_one(
    a: PointSamples,
    b: PointSamples,
    metric: int,
    joined: PointJoin,
    normals: Normals | None,
) -> tuple[ClassComparison, Bootstrap | None]:
    start, near = joined.start, joined.near
    count_a, count = len(a.context), len(a.context) + len(b.context)
    performance = np.concatenate([a.performance[:, metric], b.performance[:, metric]])
    order = np.argsort(performance, kind="stable")
    rank_of = np.empty(count, np.int64)
    rank_of[order] = np.arange(count)
    row = np.repeat(np.arange(count), np.diff(start))
    # The ranks of each point's neighbours in order: rows are together already, and stay so.
    rank = np.sort(row * count + rank_of[near]) - row * count
    block = Neighbours(np.arange(count), start, rank.astype(np.int32), np.ones(len(near), np.uint8))
    w1, difference = np.empty((count, 1)), np.empty((count, 1))
    batch, overlap = np.empty((count, 1, 2), np.int64), np.zeros(count, np.uint8)
    from_a = order < count_a
    compare_rows(block.start, block.rank, block.level, performance[order], from_a, 1, 1, w1, difference, batch)
    compared = np.zeros(count, np.uint8)
    compared[:count_a] = ~np.isnan(w1[:count_a, 0])
    mark_overlap(block.start, block.rank, block.level, compared, overlap)
    held: BoolArray = overlap[rank_of] > 0
    comparison = ClassComparison(
        theta=THETA,
        performance_a=a.performance[:, metric],
        performance_b=b.performance[:, metric],
        w1=w1[:count_a, 0],
        difference=difference[:count_a, 0],
        batch=batch[:count_a, 0],
        overlap_a=held[:count_a],
        overlap_b=held[count_a:],
        match=joined.match,
        match_similarity=joined.match_similarity,
    )
    if normals is None:
        return comparison, None
    samples = DrawnSamples.of_sets(performance, count_a, UnitNumbers(np.concatenate([a.unit, b.unit])), None)
    rows = Members(np.arange(count + 1, dtype=np.int64), np.arange(count, dtype=np.int32))
    drawn = DrawnRows.zeros(count, normals.count)
    drawn.add_block(block, slice(0, count), rows, samples, count_a, 1, samples.cells(normals))
    return comparison, Bootstrap.of_batches([drawn], int(comparison.compared.sum()), float(np.ptp(performance)) or 1.0)


def _matches(count_a: int, row: IntArray, near: IntArray, distance: FloatArray) -> tuple[IntArray, FloatArray]:
    """The most similar context of B of each context of A, the first of several; -1 where none is similar."""
    match, similarity = np.full(count_a, -1, np.int64), np.zeros(count_a)
    kept = (row < count_a) & (near >= count_a)
    of, to, far = row[kept], near[kept] - count_a, distance[kept]
    best = np.lexsort((to, far, of))
    first = best[np.concatenate([[True], np.diff(of[best]) > 0])] if len(best) else best
    match[of[first]], similarity[of[first]] = to[first], 1 - (1 - THETA) * far[first]
    return match, similarity
