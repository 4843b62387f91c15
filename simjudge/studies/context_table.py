"""The table of all contexts of a comparison, one row each, as saved in contexts.parquet (docs/results.md)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from simjudge.core.frames import NO_INSTANCE, NO_STAMP, FrameSet, IntArray, row_offsets
from simjudge.studies.judged_set import JudgedSet
from simjudge.studies.pair import PairResult

EDGES = ("x0", "y0", "x1", "y1")


def context_table(result: PairResult) -> pa.Table:
    """All contexts, those of A first, each set's in the order of its objects.

    Args:
        result: a comparison.

    Returns:
        One row a context; docs/results.md says what the columns are.
    """
    count_a, count_b = len(result.a.frames.objects), len(result.b.frames.objects)
    columns = {
        name: pa.concat_arrays([left, right])
        for (name, left), right in zip(
            _set_columns("a", result.a).items(), _set_columns("b", result.b).values(), strict=True
        )
    }
    overlap = np.zeros(count_a + count_b, np.bool_)
    w1, difference = (np.full(count_a + count_b, np.nan) for _ in range(2))
    batch = np.zeros((count_a + count_b, 2), np.int64)
    match, similarity = np.full(count_a + count_b, -1, np.int64), np.zeros(count_a + count_b)
    for one in result.classes.values():
        comparison = one.comparison
        overlap[one.rows_a], overlap[count_a + one.rows_b] = comparison.overlap_a, comparison.overlap_b
        w1[one.rows_a], difference[one.rows_a] = comparison.w1, comparison.difference
        batch[one.rows_a] = comparison.batch
        found = comparison.match >= 0
        match[one.rows_a[found]] = count_a + one.rows_b[comparison.match[found]]
        similarity[one.rows_a] = comparison.match_similarity
    compared = ~np.isnan(w1)
    columns |= {
        "in_overlap": pa.array(overlap),
        "w1": pa.array(w1, mask=~compared),
        "mean_difference": pa.array(difference, mask=~compared),
        "batch_a": pa.array(batch[:, 0], mask=~compared),
        "batch_b": pa.array(batch[:, 1], mask=~compared),
        "match_row": pa.array(match, mask=match < 0),
        "match_similarity": pa.array(similarity, mask=match < 0),
    }
    return pa.table(columns)


def _set_columns(side: str, judged_set: JudgedSet) -> dict[str, pa.Array]:
    frames, objects = judged_set.frames, judged_set.frames.objects
    count = len(objects)
    size, stamp = frames.size[objects.frame], frames.stamp[objects.frame]
    names = pa.array(list(frames.frame_name), pa.string())
    class_ids, number = np.unique(objects.class_id, return_inverse=True)
    class_names = pa.array([frames.class_name(int(k)) for k in class_ids], pa.string())
    columns = {
        "set": pa.array([side] * count, pa.string()),
        "frame": names.take(pa.array(objects.frame)),
        "object": pa.array(_number_in_frame(frames)),
        "stamp": pa.array(stamp, mask=stamp == NO_STAMP),
        "width": pa.array(size[:, 0]),
        "height": pa.array(size[:, 1]),
        "class_id": pa.array(objects.class_id),
        "class_name": class_names.take(pa.array(number.reshape(-1))),
        "instance": pa.array(objects.instance, mask=objects.instance == NO_INSTANCE),
    }
    columns |= {name: pa.array(objects.box[:, i].copy()) for i, name in enumerate(EDGES)}
    assigned = judged_set.assignment.prediction
    found = assigned >= 0
    box, score = np.zeros((count, 4)), np.zeros(count)
    if frames.predictions is not None:
        box[found], score[found] = frames.predictions.box[assigned[found]], frames.predictions.score[assigned[found]]
    for i, edge in enumerate(EDGES):
        columns[f"predicted_{edge}"] = pa.array(box[:, i].copy(), mask=~found)
    columns["score"] = pa.array(score, mask=~found)
    columns["performance"] = pa.array(judged_set.assignment.performance)
    return columns


def _number_in_frame(frames: FrameSet) -> IntArray:
    first = row_offsets(frames.objects.frame, len(frames))
    return np.arange(len(frames.objects)) - first[frames.objects.frame]
