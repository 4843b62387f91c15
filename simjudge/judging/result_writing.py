"""What a result.json says beside the numbers (docs/reference/results.md), whether a command or a node made it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.errors import Losses
from simjudge.core.frames import FrameSet
from simjudge.core.installed import version
from simjudge.core.names import NO_STAMP
from simjudge.core.object_tables import NO_INSTANCE, row_offsets
from simjudge.judging.compare_settings import LIDAR, SEMANTIC, CompareSettings, MethodSettings, SweepSettings
from simjudge.judging.context_kinds import samples_of_kind
from simjudge.judging.judged_set import JudgedSet, class_samples
from simjudge.judging.painted_masks import PaintedGeometry
from simjudge.judging.pair import ClassResult, PairResult
from simjudge.judging.set_comparison import ClassBalance, SetComparison
from simjudge.judging.units.sampling_units import SampleUnits, SideUnits
from simjudge.method.context_tree import ContextTree
from simjudge.method.entry_numbers import EntryNumbers
from simjudge.method.patches import Contexts
from simjudge.method.similarity_join import join_blocks
from simjudge.results.context_table import ContextTable, number_column, text_column
from simjudge.results.gallery import NAMED, PAIR_KINDS, PER_KIND, GalleryItem, dissimilar_first
from simjudge.results.result_header import StatedPerformance

EDGES = ("x0", "y0", "x1", "y1")


def context_table(result: PairResult) -> pa.Table:
    """All contexts, those of A first, each set's in the order of its objects."""
    columns = _sampled_columns(result.comparison)
    count_a, count_b = len(result.a.frames.objects), len(result.b.frames.objects)
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
        "in_overlap": number_column(overlap),
        "w1": number_column(w1, mask=~compared),
        "mean_difference": number_column(difference, mask=~compared),
        "batch_a": number_column(batch[:, 0], mask=~compared),
        "batch_b": number_column(batch[:, 1], mask=~compared),
        "match_row": number_column(match, mask=match < 0),
        "match_similarity": number_column(similarity, mask=match < 0),
    }
    return pa.table(columns)


def part_table(comparison: SetComparison, part: int) -> pa.Table:
    """The contexts of one of several comparisons as a program needs them that computes it again: numbered by `part`."""
    columns = _sampled_columns(comparison)
    return pa.table({"part": number_column(np.full(len(columns["set"]), part)), **columns})


def describe_draws(units: SampleUnits) -> dict[str, object]:
    """What a program must know of the draws of a comparison beside its contexts."""
    return {"units": units.count, "blocks": units.block_count, "doubted": units.doubted}


def _sampled_columns(comparison: SetComparison) -> dict[str, pa.Array]:
    """The columns that numbers rest on, of A, then of B."""
    (a, b), units = comparison.sets, comparison.units
    columns = {
        name: pa.concat_arrays([left, right])
        for (name, left), right in zip(
            _set_columns("a", a, units.unit[0]).items(), _set_columns("b", b, units.unit[1]).values(), strict=True
        )
    }
    count_a, count = len(a.frames.objects), len(a.frames.objects) + len(b.frames.objects)
    block = np.full(count, -1) if units.block is None else np.concatenate(units.block)
    expected = np.full((count, 2), np.nan)
    for class_id, balance in comparison.balance.items():
        if balance.model is not None:
            rows = np.concatenate([a.rows(class_id), count_a + b.rows(class_id)])
            expected[rows] = np.stack([balance.model.found_mean, balance.model.found_share], axis=1)
    unknown = np.isnan(expected[:, 0])
    return columns | {
        "block": number_column(block, mask=block < 0),
        "expected_performance": number_column(expected[:, 0], mask=unknown),
        "expected_found": number_column(expected[:, 1], mask=unknown),
    }


def _set_columns(side: str, judged_set: JudgedSet, unit: IntArray) -> dict[str, pa.Array]:
    frames, objects = judged_set.frames, judged_set.frames.objects
    count = len(objects)
    size, stamp = frames.size[objects.frame], frames.stamp[objects.frame]
    names = text_column(frames.frame_name)
    class_ids, number = np.unique(objects.class_id, return_inverse=True)
    class_names = text_column([frames.class_name(int(k)) for k in class_ids])
    columns = {
        "set": text_column([side] * count),
        "frame": names.take(number_column(objects.frame)),
        "object": number_column(_number_in_frame(frames)),
        "unit": number_column(unit),
        "stamp": number_column(stamp, mask=stamp == NO_STAMP),
        "width": number_column(size[:, 0]),
        "height": number_column(size[:, 1]),
        "class_id": number_column(objects.class_id),
        "class_name": class_names.take(number_column(number.reshape(-1))),
        "instance": number_column(objects.instance, mask=objects.instance == NO_INSTANCE),
        "distance": number_column(objects.distance, mask=np.isnan(objects.distance)),
        "visible": number_column(objects.visible, mask=np.isnan(objects.visible)),
    }
    columns |= {name: number_column(objects.box[:, i]) for i, name in enumerate(EDGES)}
    assigned = judged_set.assignment.prediction
    found = assigned >= 0
    box, score = np.zeros((count, 4)), np.zeros(count)
    if frames.predictions is not None:
        box[found], score[found] = frames.predictions.box[assigned[found]], frames.predictions.score[assigned[found]]
    for i, edge in enumerate(EDGES):
        columns[f"predicted_{edge}"] = number_column(box[:, i], mask=~found)
    columns["score"] = number_column(score, mask=~found)
    columns["performance"] = number_column(judged_set.assignment.performance)
    return columns


def _number_in_frame(frames: FrameSet) -> IntArray:
    first = row_offsets(frames.objects.frame, len(frames))
    return np.arange(len(frames.objects)) - first[frames.objects.frame]


def items_of_named_kind(result: PairResult, contexts: ContextTable, count: int = PER_KIND) -> list[GalleryItem]:
    """Contexts of A of the kind that differs most beyond chance, each with a similar one of B of that kind.

    Both are chosen for a performance near the mean of their side.
    """
    named = None if result.where is None else next(iter(result.where.outstanding), None)
    if named is None:
        return []
    of_kind, performance, class_id = (
        samples_of_kind(result.comparison, named.kind),
        contexts["performance"],
        contexts.class_id,
    )
    rows = np.flatnonzero(of_kind & contexts.is_a & (contexts["in_overlap"] > 0))
    ordered = rows[np.argsort(np.abs(performance[rows] - named.performance_a), kind="stable")]
    # Some have no counterpart of their kind.
    anchors = dissimilar_first(ordered, (contexts.frame_number(),), 3 * count)
    found: dict[int, int] = {}
    for held in dict.fromkeys(class_id[anchors].tolist()):
        own = [row for row in anchors if class_id[row] == held]
        for row, (similar, _) in zip(own, _similar(result, held, result.classes[held], own), strict=True):
            inside = similar[of_kind[similar] & ~contexts.is_a[similar] & ~np.isin(similar, list(found.values()))]
            if len(inside):
                found[row] = int(inside[np.argmin(np.abs(performance[inside] - named.performance_b))])
    return [GalleryItem(NAMED, int(class_id[row]), row, found[row]) for row in anchors if row in found][:count]


MOST_NEIGHBOURS = 5
"""How many similar contexts of each set are shown."""
MOST_CLASSES = 4
"""How many classes, those with most contexts, show the neighbours of a context."""


def with_neighbours(items: Sequence[GalleryItem], result: PairResult) -> list[GalleryItem]:
    """Add to one context of each kind and class, that with the largest batches, which contexts are similar to it."""
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
    count_a, frames = len(result.a.frames.objects), [side.frames.objects.frame for side in (result.a, result.b)]
    frame = np.concatenate([frames[0], frames[1] + len(result.a.frames)])
    for members, similarity in _similar(result, class_id, of_class, anchors):
        ordered = members[np.lexsort((members, -similarity))]
        own, other = (ordered[(ordered < count_a) == is_a] for is_a in (True, False))
        a, b = (dissimilar_first(part, (frame,), MOST_NEIGHBOURS) for part in (own, other))
        yield tuple(a), tuple(b)


def _similar(
    result: PairResult, class_id: int, of_class: ClassResult, anchors: Sequence[int]
) -> Iterator[tuple[IntArray, FloatArray]]:
    """For each of some contexts of A, the rows of the table of all that are similar to it, and how similar."""
    sides = (result.a, result.b)
    samples = [class_samples(judged, class_id, result.method) for judged in sides]
    tree = ContextTree.by_area(Contexts.concatenate([sample.contexts for sample in samples]))
    table_rows = np.concatenate([of_class.rows_a, len(result.a.frames.objects) + of_class.rows_b])
    place_of = np.argsort(tree.order)
    rows = place_of[np.searchsorted(of_class.rows_a, anchors)]
    ones, method = np.ones(len(tree), np.int64), result.method
    for block in join_blocks(tree, rows, ones, [method.theta], strict=method.strict):
        for number, row in enumerate(block.row):
            part = slice(block.start[number], block.start[number + 1])
            members = tree.order[block.place[part]]
            others = members != tree.order[row]
            yield table_rows[members[others]], block.similarity[part][others]


def comparison_parameters(
    settings: CompareSettings,
    overall: EntryNumbers | None = None,
    painted: PaintedGeometry | None = None,
    performance: StatedPerformance | None = None,
) -> dict[str, object]:
    """The entry `parameters` of result.json."""
    own: dict[str, object] = {}
    if performance is not None:
        own = {"metric": performance.name, "performance": performance.to_json(), "contexts": settings.contexts}
    if settings.features is not None:
        own |= {"features": str(settings.features), "similarity": "sum of minima over sum of maxima"}
    return (
        method_parameters(settings, painted)
        | certainty_parameters(settings, overall)
        | {
            "paired": settings.paired,
            "metric": settings.metric,
            "model": None if settings.model is None else str(settings.model),
        }
        | own
    )


def method_parameters(settings: MethodSettings, painted: PaintedGeometry | None) -> dict[str, object]:
    """The part of `parameters` that says what a context is: preset and `Method`, and the classes if not all count."""
    method = settings.method
    chosen = {} if settings.classes is None else {"classes": list(settings.classes)}
    return (
        chosen
        | _lidar_parameters(settings)
        | _semantic_parameters(settings)
        | {
            "preset": settings.preset,
            "theta": method.theta,
            "patch": list(method.patch),
            "patch_chosen": settings.patch_chosen,
            "mask_factor": method.mask_factor,
            "class_aware": method.class_aware,
            "masks": settings.masks,
            "painted": "" if painted is None else painted.name,
            "min_score": method.min_score,
            "strict": method.strict,
            "min_batch_size": method.min_batch_size,
            "integer_boxes": method.integer_boxes,
        }
    )


def _semantic_parameters(settings: MethodSettings) -> dict[str, object]:
    if settings.task != SEMANTIC:
        return {}
    return {"task": settings.task, "stride": settings.stride, "width": settings.width}


def _lidar_parameters(settings: MethodSettings) -> dict[str, object]:
    if settings.sensor != LIDAR:
        return {}
    return {
        "sensor": settings.sensor,
        "iou": settings.cuboid_iou,
        "paint": settings.paint,
        "range_columns": settings.range_columns,
        "elevations": None if settings.elevations is None else list(settings.elevations),
    }


def certainty_parameters(settings: CompareSettings | SweepSettings, overall: EntryNumbers | None) -> dict[str, object]:
    """The part of `parameters` that says how certainty was found."""
    return {
        "margin": settings.margin,
        "draws": settings.draws if overall is None else overall.draws,
        "seed": settings.seed,
        "block": settings.block,
        "unit": settings.unit,
    }


def describe_units(side: SideUnits) -> dict[str, object]:
    """What an entry of `inputs` says of the sampling units of a set."""
    return {
        "units": side.count,
        "unit_kind": side.kind,
        "things": side.things,
        "passes": side.passes,
        "block_frames": side.block_frames,
        "block_seconds": side.block_seconds,
        "time_blocks": side.time_blocks,
        "doubted": side.doubted,
    } | ({"recordings": side.recordings} if side.recordings > 1 else {})


def _balance_content(balance: ClassBalance) -> dict[str, object]:
    return {"differences": dict(balance.differences), "adjusted": balance.model is not None}


def false_positives(judged_set: JudgedSet) -> int:
    """Predictions left over after the assignment, of all classes."""
    return sum(judged_set.assignment.false_positives.values())


def result_content(
    result: PairResult, parameters: Mapping[str, object], inputs: Mapping[str, object], losses: Losses
) -> dict[str, object]:
    """The content of result.json (docs/reference/results.md)."""
    names = result.b.frames.class_names | result.a.frames.class_names
    return {
        "version": version(),
        "parameters": parameters,
        "inputs": inputs,
        "class_names": {str(k): name for k, name in sorted(names.items())},
        **result.numbers.to_json(),
        "balance": {str(k): _balance_content(one) for k, one in sorted(result.balance.items())},
        **{
            name: found.to_json()
            for name, found in (("where", result.where), ("where_invented", result.where_invented))
            if found is not None
        },
        "losses": losses.lines(),
    }
