"""The similarity join: what each bound leaves, a pair beside simpler ways, and two workers beside one."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from distributed import LocalCluster
from judge import METHOD, Row, samples
from scenes import cone_scenes

from simjudge.core.numba_cache import njit
from simjudge.judging.join_cluster import join_runner
from simjudge.method.algorithm import compare_pairs, draw_pairs
from simjudge.method.bits import CACHE_LINE, count_common_bits
from simjudge.method.bootstrap import DrawSchedule
from simjudge.method.context_tree import LEAF, ContextTree
from simjudge.method.distinct import group_identical
from simjudge.method.patches import Contexts
from simjudge.method.pool import ClassPair, ContextPool, Samples
from simjudge.method.similarity_join import (
    _can_reach,
    _cell_bound,
    _group_can_reach,
    _intersection,
    _reaches,
    join_blocks,
)

LEFT_AFTER = ("the leaf's cells", "areas", "cells of 64 a patch", "blocks of 8 x 8 px", "similar")


def both_sets(contexts: int, class_id: int = 1) -> tuple[Samples, Samples]:
    """One class of two sets: half of their contexts."""
    (a, of_a), (b, of_b) = cone_scenes(contexts, 1), cone_scenes(contexts, 2)
    return samples(a, of_a, class_id, METHOD), samples(b, of_b, class_id, METHOD, len(a))


@njit
def count_left(rows, wanted, columns, leaves, theta):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Pairs that are left after each bound (see LEFT_AFTER)."""
    left = np.zeros(5, np.int64)
    for i in wanted:
        for leaf in range(len(leaves.area)):
            if not _group_can_reach(rows, i, leaves, leaf, theta):
                continue
            for j in range(leaf * LEAF, min((leaf + 1) * LEAF, len(columns.area))):
                left[0] += 1
                smallest, both = min(rows.area[i], columns.area[j]), rows.area[i] + columns.area[j]
                if not _can_reach(smallest, smallest, both, theta):
                    continue
                left[1] += 1
                bound = _cell_bound(rows, i, columns.start, columns.plane_class, columns.cells, j)
                if not _can_reach(bound, smallest, both, theta):
                    continue
                left[2] += 1
                inter = _intersection(rows, i, columns, j, smallest, both, theta)
                if inter < 0:
                    continue
                left[3] += 1
                left[4] += _reaches(inter, both - inter, theta, False)  # noqa: FBT003 - compiled loops take no keywords
    return left


@njit
def count_all(planes, wanted, lines):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """The intersections of all pairs of first planes, without any bound."""
    total = 0
    for i in wanted:
        for j in range(len(planes.area)):
            total += count_common_bits(planes.words, planes.start[i], planes.words, planes.start[j], 0, lines)
    return total


def processor_seconds(work: Callable[[], object], times: int = 3) -> float:
    """The shortest of some runs, in processor time of this thread."""
    best = np.inf
    for _ in range(times):
        start = time.thread_time()
        work()
        best = min(best, time.thread_time() - start)
    return float(best)


def joined(tree: ContextTree, wanted: np.ndarray) -> int:
    """Similar pairs of some rows."""
    ones = np.ones(len(tree), np.int64)
    return sum(len(block.place) for block in join_blocks(tree, wanted, ones, [METHOD.theta]))


def bounds(contexts: int) -> Iterator[Row]:
    """Pairs left, and the time of a pair, of the distinct contexts of a class."""
    a, b = both_sets(contexts)
    pooled = Contexts.concatenate([a.contexts, b.contexts])
    first, _ = group_identical(a.contexts, b.contexts)
    tree, plain = ContextTree.by_likeness(pooled, rows=first), ContextTree.by_area(pooled.take(first))
    wanted = np.arange(0, len(tree), max(1, len(tree) // 400))
    pairs = len(wanted) * len(tree)
    yield (
        f"{len(pooled):,} contexts of a class",
        f"{len(first):,} distinct",
        "",
        f"{(len(pooled) / len(first)) ** 2:.1f} x fewer pairs",
    )
    for name, count in zip(
        LEFT_AFTER, count_left(tree.planes, wanted, tree.planes, tree.leaves, METHOD.theta), strict=True
    ):
        yield f"pairs left: {name}", f"{100 * count / pairs:.3f} %", "", ""
    lines = tree.planes.words.shape[1] * 8 // CACHE_LINE
    few = wanted[:: max(1, len(wanted) // 20)]
    count_all(tree.planes, few[:1], lines)
    ours = processor_seconds(lambda: joined(tree, wanted)) / pairs
    by_area = processor_seconds(lambda: joined(plain, wanted)) / pairs
    every = processor_seconds(lambda: count_all(tree.planes, few, lines)) / (len(few) * len(tree))
    beside = f"{by_area / ours:.1f} x faster than in order of area, {every / ours:.0f} x than every intersection"
    yield "a pair of distinct contexts", f"{ours * 1e9:.2f} ns", "", beside


def memory(contexts: int) -> Iterator[Row]:
    """What the process that asks holds at most: both sets' contexts of a class, and the tree."""
    code = f"import join; join.print_memory({contexts})"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parent, capture_output=True, text=True, check=True
    )
    cut, whole = json.loads(done.stdout)
    yield f"memory for {contexts:,} contexts of a class", f"{whole:.2f} GB", "4 GB", f"{cut:.2f} GB before the tree"


def print_memory(contexts: int) -> None:
    """Print the gigabytes that this process held at most once contexts were cut, and once the tree stood."""
    a, b = both_sets(contexts)
    cut = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    ContextPool.of_sets(a.contexts, b.contexts)
    print(json.dumps([cut, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6]))


def workers(contexts: int, draws: int) -> Iterator[Row]:
    """One class on one worker and on two, of one thread each: by the clock, and what the processor time allows."""
    a, b = both_sets(contexts)
    pair = ClassPair(a, b, DrawSchedule(int(b.numbers.unit.max()) + 1, 0, draws, 0).next_batch())
    join = draw_pairs if draws else compare_pairs
    small = ClassPair(*both_sets(400))
    took, shares = [], []
    for count in (1, 2):
        with (
            LocalCluster(
                n_workers=count, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
            ) as cluster,
            join_runner(cluster.scheduler_address, None, lambda _line: None) as run,
        ):
            # Every worker loads the compiled loops.
            for _ in range(3):
                compare_pairs([small], METHOD, run=run)
            client = cluster.get_client()
            before = sum(client.run(time.process_time).values())
            start, own = time.perf_counter(), time.process_time()
            join([pair], METHOD, run=run)
            took.append(time.perf_counter() - start)
            shares.append((time.process_time() - own, sum(client.run(time.process_time).values()) - before))
            client.close()
    yield (
        f"a class of {contexts:,} x {contexts:,}, {draws} draws, two workers",
        f"{took[1]:.1f} s",
        "1.8 x one",
        f"{took[0] / took[1]:.2f} x one ({took[0]:.1f} s)",
    )
    (serial, parallel), (serial_two, parallel_two) = shares
    best = (serial + parallel) / (serial_two + parallel_two / 2)
    yield (
        "processor time, client and workers",
        f"{serial:.1f} + {parallel:.1f} s",
        "",
        f"with two {serial_two:.1f} + {parallel_two:.1f} s: at best {best:.2f} x one",
    )


def rows() -> Iterator[Row]:
    """What, how long, what is wanted, beside what."""
    for contexts in (10_000, 100_000):
        yield from bounds(contexts)
        yield from memory(contexts)
    yield from workers(100_000, 0)
    yield from workers(40_000, 200)


if __name__ == "__main__":
    for row in rows():
        print(*row, sep="; ", flush=True)
