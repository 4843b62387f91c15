"""The sets of a comparison of many, read and judged for every net under one numbering of classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from simjudge.core.arrays import IntArray
from simjudge.core.detector_record import DetectorRecord
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.progress import Log
from simjudge.data.semantic_classes import common_classes
from simjudge.method.method import MOST_DRAWS
from simjudge.questions.many_sets.pairs import WantedComparison
from simjudge.studies.chosen_patch import choose_patch, log_patch
from simjudge.studies.class_numbering import ClassNumbering, ClassSelection, describe_numbers, match_predicted_classes
from simjudge.studies.compare_settings import PATCH_METRICS, SEMANTIC, CompareSettings
from simjudge.studies.frame_pairs import comparable_pairs
from simjudge.studies.inputs import InputSet, read_input
from simjudge.studies.judged_patches import judge_patches, take_frames
from simjudge.studies.judged_set import JudgedSet, judge_set
from simjudge.studies.painted_masks import PaintedGeometry
from simjudge.studies.semantic_inputs import with_pixels_judged

DRAWS_A_TEST = 100
"""Draws for each test of a family: the smallest p, corrected for their number, is then 0.01."""


@dataclass
class JudgedSets:
    """Sets with what nets found in them: what all comparisons of many sets share.

    Attributes:
        judged: by set and net: the frames that are labelled and predicted.
        settings: of the comparisons, with the draws of the whole study, and one patch for all sets.
        twins: pairs of sets whose frames of one name or stamp show the same.
        losses: what was left out, once for each set and net, and once for each pair of twins.
        painted: what patches were painted from, by pair of sets.
    """

    inputs: dict[tuple[str, str], InputSet]
    judged: dict[tuple[str, str], JudgedSet]
    settings: CompareSettings
    twins: set[frozenset[str]]
    losses: Losses
    painted: dict[frozenset[str], PaintedGeometry]


def read_judged_sets(
    predictions: Mapping[str, Mapping[str, FrameSet | Path | str]],
    wanted: Sequence[WantedComparison],
    settings: CompareSettings,
    twins: set[frozenset[str]],
    log: Log,
) -> JudgedSets:
    """Read every set with the predictions of every net that is asked for, under one numbering of classes.

    Args:
        predictions: by name of the set and name of the net, the set with its labels and the net's predictions.
        wanted: the comparisons; sets and nets that none of them needs are not read.
        twins: pairs of sets whose frames of one name or stamp show the same.

    Returns:
        The sets, and as many draws as the number of comparisons asks for.
    """
    inputs = {}
    for name, net in dict.fromkeys((name, each.net) for each in wanted for name in (each.a, each.b)):
        source = predictions[name][net]
        given = read_input(source, None, allow_outside=settings.allow_outside)
        frames = replace(given.frames, name=name)
        if settings.task != SEMANTIC:
            frames = match_predicted_classes(frames, dict(settings.rename or ()))
        inputs[name, net] = replace(given, frames=frames)
    losses = Losses()
    if settings.task == SEMANTIC:
        judged = _judge_pixels(inputs, settings, losses)
    else:
        judged = _judge_objects(inputs, settings, losses, log)
    _note_differences(judged, log)
    settings = choose_patch(settings, [each.frames for each in judged.values()])
    log_patch(settings, log)
    tests = len(wanted) * max(1, len({k for each in judged.values() for k in each.frames.objects.class_id.tolist()}))
    count = min(MOST_DRAWS, max(settings.draws, DRAWS_A_TEST * tests)) if settings.draws else 0
    if count > settings.draws:
        log(f"note: {count:,} draws in place of {settings.draws:,}: {tests} tests ask for small p values")
    return JudgedSets(inputs, judged, replace(settings, draws=count), twins, losses, {})


def _judge_pixels(
    inputs: Mapping[tuple[str, str], InputSet], settings: CompareSettings, losses: Losses
) -> dict[tuple[str, str], JudgedSet]:
    """The patches of every set and net, under one numbering of classes."""
    sets = {key: with_pixels_judged(each.frames) for key, each in inputs.items()}
    classes = common_classes([(frames.name, frames.class_names) for frames in sets.values()])
    judged = {}
    for key, frames in sets.items():
        of_set = Losses()
        of_set.extend(frames.losses)
        metric = PATCH_METRICS[settings.metric]
        judged[key] = judge_patches(frames, classes, settings.method, metric, of_set, settings.width)
        losses.extend(of_set)
    return judged


def _judge_objects(
    inputs: Mapping[tuple[str, str], InputSet], settings: CompareSettings, losses: Losses, log: Log
) -> dict[tuple[str, str], JudgedSet]:
    """The objects of every set and net, under one numbering of classes."""
    first = next((each.frames for each in inputs.values() if each.frames.class_names), None)
    if first is not None:
        for note in dict.fromkeys(describe_numbers(first, each.frames) for each in inputs.values()):
            if note:
                log(note)
    numbering = ClassNumbering({} if first is None else first.class_names)
    numbered = {key: numbering.apply(each.frames) for key, each in inputs.items()}
    selection = ClassSelection(settings.classes or (), list(numbered.values()))
    judged = {}
    for (name, net), frames in numbered.items():
        of_set = Losses()
        of_set.extend(frames.losses)
        judged[name, net] = judge_set(selection.apply(frames), settings.method, settings.metric, of_set)
        losses.extend(of_set)
    return judged


def _note_differences(judged: Mapping[tuple[str, str], JudgedSet], log: Log) -> None:
    """Tell of a name that stands for two detectors, and of nets that did not predict the same frames of a set."""
    by_net: dict[str, DetectorRecord] = {}
    by_set: dict[str, int] = {}
    for (name, net), each in judged.items():
        detector = each.frames.detector
        if detector is not None and by_net.setdefault(net, detector) != detector:
            log(f"warning: net {net} is {by_net[net]} of one set and {detector} of {name}")
        count = len(each.frames)
        if by_set.setdefault(name, count) != count:
            log(f"warning: {name}: net {net} predicted {count} frames, another net {by_set[name]}: overlaps differ")


def judged_sides(study: JudgedSets, a: str, b: str, net: str, losses: Losses) -> tuple[JudgedSet, JudgedSet]:
    """Two sets as they are compared: of twins the frames that both have, in the same order; others are counted."""
    first, second = study.judged[a, net], study.judged[b, net]
    common = {*first.frames.objects.class_id.tolist()} & {*second.frames.objects.class_id.tolist()}
    if not common:
        raise SimjudgeError(f"{a} and {b} have no class in common; give their classes the same names or ids")
    if frozenset((a, b)) not in study.twins:
        return first, second
    settings = study.settings
    rows = comparable_pairs(first.frames, second.frames, round(settings.pair_tolerance * 1e9), losses)
    if not len(rows[0]):
        raise SimjudgeError(f"twins: {a} and {b} have no frame in common by stamp or name")
    return _chosen_frames(first, rows[0], settings), _chosen_frames(second, rows[1], settings)


def _chosen_frames(judged: JudgedSet, chosen: IntArray, settings: CompareSettings) -> JudgedSet:
    """Some frames of a judged set; what is judged already is not judged again where these are all."""
    if np.array_equal(chosen, np.arange(len(judged.frames))):
        return judged
    if settings.task == SEMANTIC:
        return take_frames(judged, chosen)
    return judge_set(judged.frames.take(chosen), settings.method, settings.metric, Losses())
