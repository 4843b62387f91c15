"""Samples by numbers of one's own: a performance from a table or a function, whole frames, contexts by features.

Whole frames as samples: each frame is a context by all of its labels, and has one performance of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects
from simjudge.detectors.assignment import Assignment, assign
from simjudge.judging.class_numbering import match_classes
from simjudge.judging.compare_settings import SEMANTIC, WHOLE_FRAMES, CompareSettings
from simjudge.judging.given_numbers import (
    GivenTable,
    called,
    frame_function_values,
    function_values,
    label_column,
    performance_tables,
    read_table,
    shares_of_range,
    state_range,
    table_values,
)
from simjudge.judging.inputs import InputSet
from simjudge.judging.judged_set import JudgedSet, judge_set
from simjudge.judging.performance_source import OwnPerformance
from simjudge.method.feature_contexts import feature_contexts
from simjudge.method.method import Method
from simjudge.method.patches import Contexts, place_contexts
from simjudge.results.result_header import StatedPerformance

FRAME = "frame"
"""The one class of whole frames."""


def judge_frames(frames: FrameSet, performance: FloatArray, contexts: Contexts) -> JudgedSet:
    """One sample a frame. `performance`: float64 (F,)."""
    count = len(frames)
    everything = np.ones(count, np.bool_)
    box = np.concatenate([np.zeros((count, 2)), frames.size.astype(np.float64)], axis=1)
    objects = Objects.build(np.arange(count), np.zeros(count, np.int64), box)
    shown = replace(
        frames,
        objects=objects,
        predictions=None,
        labelled=everything,
        predicted=everything,
        class_names={0: FRAME},
        classless=True,
    )
    assignment = Assignment(performance, np.full(count, -1, np.int64), everything, {})
    return JudgedSet(shown, assignment, contexts=contexts, whole_frames=True)


def layout_contexts(frames: FrameSet, method: Method) -> Contexts:
    """Each frame's labelled boxes, scaled onto a grid as large as a patch; frames without labels are alike."""
    height, width = method.patch
    objects = frames.objects
    scale = np.array([width, height]) / frames.size[objects.frame]
    grid = np.tile(np.array([width, height], np.int64), (len(frames), 1))
    scaled = replace(
        frames,
        size=grid,
        objects=replace(objects, box=objects.box * np.tile(scale, 2), masks=None),
        images=None,
        cyclic=False,
    )
    whole = replace(method, paint_masks=False, mask_factor=None)
    number = np.arange(len(frames))
    return place_contexts(scaled, whole, number, np.zeros((len(frames), 2), np.int64)).marked_empty()


WITHOUT = "without a number or features of one's own"
"""How objects, patches and frames are counted that a table or function gives none."""


@dataclass(frozen=True)
class GivenTables:
    """The tables of a comparison: one of both sets, or one of each; empty for none."""

    performance: tuple[GivenTable, ...] = ()
    features: tuple[GivenTable, ...] = ()


def read_tables(settings: CompareSettings, sides: Sequence[InputSet]) -> GivenTables:
    """Read the tables that the settings name."""
    own = settings.performance
    sets = [side.frames for side in sides]
    performance = () if own is None or own.function else performance_tables(own, [side.path for side in sides], sets)
    return GivenTables(performance, () if settings.features is None else (read_table(settings.features),))


def number_objects(
    sides: tuple[InputSet, InputSet], settings: CompareSettings, tables: GivenTables, losses: Losses
) -> tuple[InputSet, InputSet]:
    """Give the objects of both sets their numbers as `Objects.given`; those without one are left out, and counted.

    The first column is the performance, the others are features. Objects are numbered as they were read, so this comes
    before classes are chosen.
    """
    if settings.task == SEMANTIC or settings.contexts == WHOLE_FRAMES:
        return sides
    sets = [side.frames for side in sides]
    columns: tuple[list[FloatArray], list[FloatArray]] = ([], [])
    own = settings.performance
    if own is not None and own.function is None and not tables.performance:
        found: Sequence[FloatArray] = [label_column(own, frames)[:, None] for frames in sets]
    elif tables.performance:
        found = table_values(tables.performance, sets, losses, whole_frames=False)
    else:
        found = [np.zeros((len(frames.objects), 1)) for frames in sets]
    parts = [found]
    if tables.features:
        parts.append(_features(tables, sets, losses, whole_frames=False))
    for part in parts:
        for column, values in zip(columns, part, strict=True):
            column.append(values)
    numbered = []
    for side, column in zip(sides, columns, strict=True):
        frames, given = side.frames, np.concatenate(column, axis=1)
        known = ~np.isnan(given).any(1)
        _count_without(losses, "objects", frames, frames.objects.frame[~known])
        objects = replace(frames.objects, given=given).take(np.flatnonzero(known))
        if not len(objects):
            raise SimjudgeError(
                f"{frames.name}: no object has a number (and features) of one's own; nothing can be compared"
            )
        numbered.append(replace(side, frames=replace(frames, objects=objects)))
    return numbered[0], numbered[1]


def _features(
    tables: GivenTables, sets: Sequence[FrameSet], losses: Losses, *, whole_frames: bool
) -> tuple[FloatArray, FloatArray]:
    for table in tables.features:
        wrong = np.argwhere(table.value < 0)
        if len(wrong):
            row, column = wrong[0].tolist()
            raise SimjudgeError(
                f"{table.where(row)}: {table.columns[column]} {table.value[row, column]:g}: features are 0 or more;"
                " shift or split them"
            )
    return table_values(tables.features, sets, losses, whole_frames=whole_frames)


def _count_without(losses: Losses, what: str, frames: FrameSet, lost: IntArray) -> None:
    for index in lost.tolist():
        losses.add(f"{what} {WITHOUT}", frames.describe_frame(index))


def with_own_numbers(
    sets: tuple[JudgedSet, JudgedSet], settings: CompareSettings, tables: GivenTables, losses: Losses
) -> tuple[tuple[JudgedSet, JudgedSet], StatedPerformance | None]:
    """Two judged sets with the performance of one's own, in shares of its range, and with contexts by features."""
    own, stated = settings.performance, None
    if own is not None:
        judged = [_with_raw(judged, own, settings, losses) for judged in sets]
        if settings.task == SEMANTIC:
            judged = _patch_numbers(judged, tables, losses)
        stated = state_range(called(own, tables.performance), [one.assignment.performance for one in judged])
        sets = (_in_shares(judged[0], stated), _in_shares(judged[1], stated))
    if tables.features:
        contexts = _vectors([given[:, 1:] for given in map(_given, sets)])
        sets = (replace(sets[0], contexts=contexts[0]), replace(sets[1], contexts=contexts[1]))
    return sets, stated


def _given(judged: JudgedSet) -> FloatArray:
    given = judged.frames.objects.given
    if given is None:
        raise SimjudgeError(f"{judged.frames.name}: no table was read for its objects")
    return given


def _vectors(features: Sequence[FloatArray]) -> list[Contexts]:
    largest = max(float(values.max(initial=0.0)) for values in features)
    return [feature_contexts(values, largest) for values in features]


def _with_raw(judged: JudgedSet, own: OwnPerformance, settings: CompareSettings, losses: Losses) -> JudgedSet:
    """A judged set with performances in their own unit."""
    if settings.task == SEMANTIC:
        return judged
    if own.function is None:
        return _with_values(judged, _given(judged)[:, 0])
    method = settings.method
    values = function_values(own.function, judged.frames, judged.assignment, method.min_score, name=own.called)
    known = ~np.isnan(values)
    if not known.all():
        frames = judged.frames
        _count_without(losses, "objects", frames, frames.objects.frame[~known])
        left = replace(frames, objects=frames.objects.take(np.flatnonzero(known)))
        judged = judge_set(
            left, method, "iou", losses, precision=bool(judged.average_precision), needs_predictions=False
        )
    return _with_values(judged, values[known])


def _with_values(judged: JudgedSet, values: FloatArray) -> JudgedSet:
    return replace(judged, assignment=replace(judged.assignment, performance=values))


def _in_shares(judged: JudgedSet, stated: StatedPerformance) -> JudgedSet:
    shares = shares_of_range(stated, judged.assignment.performance, judged.frames)
    return replace(_with_values(judged, shares), found=None)


def _patch_numbers(sets: Sequence[JudgedSet], tables: GivenTables, losses: Losses) -> list[JudgedSet]:
    found = table_values(tables.performance, [judged.frames for judged in sets], losses, whole_frames=False)
    out = []
    for judged, values in zip(sets, found, strict=True):
        frames, known = judged.frames, ~np.isnan(values[:, 0])
        _count_without(losses, "patches", frames, frames.objects.frame[~known])
        rows, old = np.flatnonzero(known), judged.assignment
        assignment = replace(
            old, performance=values[rows, 0], prediction=old.prediction[rows], taking_part=old.taking_part[rows]
        )
        contexts = None if judged.contexts is None else judged.contexts.take(rows)
        kept = replace(frames, objects=frames.objects.take(rows))
        out.append(JudgedSet(kept, assignment, contexts=contexts))
    return out


def judge_whole_frames(
    sets: tuple[FrameSet, FrameSet], settings: CompareSettings, tables: GivenTables, losses: Losses
) -> tuple[tuple[JudgedSet, JudgedSet], StatedPerformance]:
    """One sample a frame of two sets, by a performance of each frame."""
    own = settings.performance
    assert own is not None  # noqa: S101 - the settings have been checked
    method = settings.method
    a, b = sets[0], match_classes(*sets) if all(len(frames.objects) for frames in sets) else sets[1]
    if own.function is not None:
        values: Sequence[FloatArray] = [_of_function(own, frames, method.min_score)[:, None] for frames in (a, b)]
    elif not tables.performance:
        raise SimjudgeError(f"performance {own.called}: labels have no number of whole frames; give a table")
    else:
        values = table_values(tables.performance, (a, b), losses, whole_frames=True)
    if tables.features:
        found = _features(tables, (a, b), losses, whole_frames=True)
        values = [np.concatenate(both, axis=1) for both in zip(values, found, strict=True)]
    elif not all(len(frames.objects) for frames in (a, b)):
        bare = next(frames for frames in (a, b) if not len(frames.objects))
        raise SimjudgeError(
            f"{bare.name}: holds no labelled object, so its frames have no contexts; give feature vectors (--features)"
        )
    kept, numbers = [], []
    for frames, of_frames in zip((a, b), values, strict=True):
        known = ~np.isnan(of_frames).any(1)
        _count_without(losses, "frames", frames, np.flatnonzero(~known))
        kept.append(frames.take(np.flatnonzero(known)))
        numbers.append(of_frames[known])
    stated = state_range(called(own, tables.performance), [of_frames[:, 0] for of_frames in numbers])
    contexts = (
        _vectors([of_frames[:, 1:] for of_frames in numbers])
        if tables.features
        else [layout_contexts(frames, method) for frames in kept]
    )
    judged = [
        judge_frames(frames, of_frames[:, 0], context)
        for frames, of_frames, context in zip(kept, numbers, contexts, strict=True)
    ]
    return (_in_shares(judged[0], stated), _in_shares(judged[1], stated)), stated


def _of_function(own: OwnPerformance, frames: FrameSet, min_score: float) -> FloatArray:
    assert own.function is not None  # noqa: S101 - the caller has looked
    return frame_function_values(own.function, frames, assign(frames, min_score), min_score, name=own.called)
