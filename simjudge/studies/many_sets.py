"""Many sets, many nets: every set predicts every other one, and the certainty is that of the whole study.

Which contexts are similar depends on labels alone. So one join a pair of sets serves all nets and both directions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from simjudge.context.compiled import forgo_blas
from simjudge.context.multiple_tests import holm
from simjudge.context.sample_size import permutation_count
from simjudge.context.verdicts import CANNOT_TELL, GAPS, PREDICTS, verdict_by_margin
from simjudge.core.arrays import IntArray
from simjudge.core.detector_record import DetectorRecord
from simjudge.core.digest import hash_value
from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.progress import Log, ProgressBar, no_log, no_progress
from simjudge.core.setting_keywords import takes_setting_keywords
from simjudge.core.text import nearest_name
from simjudge.core.version import version
from simjudge.data.semantic_classes import common_classes
from simjudge.results.many_sets_result import ManySetsResult, many_sets_from_content, save_many_sets
from simjudge.results.result_folder import check_result_folder
from simjudge.studies.class_numbering import ClassNumbering, describe_numbers
from simjudge.studies.class_selection import ClassSelection
from simjudge.studies.compare_settings import CompareSettings
from simjudge.studies.frame_pairs import comparable_pairs
from simjudge.studies.inputs import InputSet, read_input
from simjudge.studies.judged_patches import judge_patches, take_frames
from simjudge.studies.judged_set import JudgedSet, judge_set
from simjudge.studies.painted_masks import PaintedGeometry
from simjudge.studies.pair import add_pointwise, entry_numbers, painted_sets, side_numbers
from simjudge.studies.result_writing import certainty_parameters, false_positives, method_parameters
from simjudge.studies.semantic_inputs import with_pixels_judged
from simjudge.studies.semantic_settings import PATCH_METRICS, SEMANTIC
from simjudge.studies.set_comparison import ScheduledComparison, SetComparison, compare_together, comparison_units

DOMAINS = ("real", "sim")
"""What a set may be of."""
_PAIR, _PAIR_AND_NET = 2, 3
_NOT_HERE = ("a_predictions", "b_predictions", "a_image_topic", "b_image_topic", "model", "paired", "sensor")
_DECIDED = (*GAPS, PREDICTS, CANNOT_TELL)


@dataclass(frozen=True)
class _Wanted:
    """One comparison: how well B predicts A, as a net sees it."""

    a: str
    b: str
    net: str


@dataclass
class _Study:
    """What all comparisons of a study share.

    Attributes:
        inputs: by set and net.
        judged: by set and net: the frames that are labelled and predicted.
        settings: of the comparisons, with the permutations of the whole study.
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


@takes_setting_keywords
def compare_many_sets(
    predictions: Mapping[str, Mapping[str, FrameSet | Path | str]],
    out: str | Path | None = None,
    *,
    domains: Mapping[str, str],
    pairs: Sequence[Sequence[str]] | None = None,
    twins: Sequence[Sequence[str]] = (),
    settings: CompareSettings,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> ManySetsResult:
    """Compare many sets for many nets: how well does each set predict each other one?

    The numbers of each pair and net are those of `simjudge.compare` with as many permutations. Beside them stand p
    values and verdicts that are corrected for the number of comparisons of the study.

    Args:
        predictions: by name of the set and name of the net, the set with its labels and the net's predictions. A set
            needs those of the nets that its comparisons are made for.
        out: folder to save the result in; None saves nothing.
        domains: "real" or "sim" for each set.
        pairs: the comparisons to make, each [A, B], for all nets, or [A, B, net]; None for every ordered pair.
        twins: pairs of sets whose frames of one stamp or name show the same: compared object by object too, and
            relabelled within pairs.
        settings: of all comparisons. Those that say where predictions come from are refused.
        log: receives what a person should know.
        progress: opens a progress bar.

    Returns:
        The numbers of every comparison.

    Raises:
        UsageError: a set, net or domain has no such name, or a setting makes no sense here.
        SimjudgeError: a set cannot be read, holds no predictions, or shares no class with another; `out` cannot be
            written.
    """
    _check_settings(settings)
    nets = list(dict.fromkeys(net for of_set in predictions.values() for net in of_set))
    _check_names(predictions, domains, nets)
    known = frozenset(predictions)
    wanted = _wanted(predictions, nets, pairs)
    twin_pairs = {frozenset(_named(pair, known, "twins")) for pair in twins}
    if out is not None and check_result_folder(Path(out)):
        log(f"note: {out} holds an earlier result, which will be replaced")
    study = _read(predictions, wanted, settings, twin_pairs, log)
    forgo_blas()
    found: dict[_Wanted, dict[str, Any]] = {}
    joins = list(dict.fromkeys(frozenset((each.a, each.b)) for each in wanted))
    with progress("comparing sets") as advance:
        for done, names in enumerate(joins):
            found |= _compare_pair_of_sets(study, [each for each in wanted if frozenset((each.a, each.b)) == names])
            advance(done + 1, len(joins))
    comparisons = [
        {"a": each.a, "b": each.b, "net": each.net, "kind": _kind(each, domains),
         "paired": frozenset((each.a, each.b)) in twin_pairs, **found[each]}
        for each in wanted
    ]  # fmt: skip
    correct_for_study(comparisons)
    content = _content(study, comparisons, predictions, domains)
    if out is not None:
        save_many_sets(content, Path(out))
    return many_sets_from_content(content, study.losses)


def correct_for_study(comparisons: Sequence[dict[str, Any]]) -> None:
    """Add `p_study` and `verdict_study` to the numbers of comparisons.

    All comparisons over all classes are one family of Holm's correction. So are all classes of all comparisons, and a
    class has at least the p of its comparison: it is called a gap only where the sets as a whole differ.

    Args:
        comparisons: with "overall" and "by_class", as docs/results.md has them; they are changed.
    """
    together = [each["overall"] for each in comparisons]
    for entry, p in zip(together, holm([each["p_adjusted"] for each in together]), strict=True):
        entry["p_study"] = p
    classes = [(each["overall"]["p_study"], entry) for each in comparisons for entry in each["by_class"].values()]
    tested = [None if entry["p_adjusted"] is None else entry["p_value"] for _, entry in classes]
    for (least, entry), p in zip(classes, holm(tested), strict=True):
        entry["p_study"] = None if p is None else max(p, least or 0.0)
    for entry in (*together, *(entry for _, entry in classes)):
        p, verdict = entry["p_study"], entry["verdict"]
        if verdict in _DECIDED and p is not None:
            verdict = verdict_by_margin(p, entry["excess_low"], entry["excess_high"], entry["margin"])
        entry["verdict_study"] = verdict


def _check_settings(settings: CompareSettings) -> None:
    defaults = {field.name: field.default for field in fields(settings)}
    for name in _NOT_HERE:
        if getattr(settings, name) != defaults[name]:
            more = "; name the sets that are pairs in twins" if name == "paired" else ""
            raise UsageError(f"{name}: does not go with many sets{more}")


def _check_names(predictions: Mapping[str, Mapping[str, Any]], domains: Mapping[str, str], nets: list[str]) -> None:
    if len(predictions) < _PAIR or not nets:
        raise UsageError("predictions: two sets or more are needed, each with the predictions of a net")
    for name in predictions:
        if domains.get(name) not in DOMAINS:
            raise UsageError(f"domains: {name} needs one of {' and '.join(DOMAINS)}")
    for name in domains:
        if name not in predictions:
            raise UsageError(f"domains: {name} is no set{nearest_name(name, predictions)}")


def _wanted(
    predictions: Mapping[str, Any], nets: list[str], pairs: Sequence[Sequence[str]] | None
) -> list[_Wanted]:
    """The comparisons to make, each once."""
    if pairs is None:
        return _predicted([_Wanted(a, b, net) for a, b in permutations(predictions, 2) for net in nets], predictions)
    wanted: list[_Wanted] = []
    known = frozenset(predictions)
    if not pairs:
        raise UsageError("pairs: names no comparison; leave it out for every ordered pair")
    for pair in pairs:
        a, b = _named(list(pair)[:_PAIR], known, "pairs")
        chosen = list(pair)[_PAIR:] or nets
        if len(pair) > _PAIR_AND_NET or chosen[0] not in nets:
            raise UsageError(f"pairs: {', '.join(map(str, pair))}: give two sets, or two sets and a net")
        wanted.extend(_Wanted(a, b, net) for net in chosen)
    return _predicted(list(dict.fromkeys(wanted)), predictions)


def _predicted(wanted: list[_Wanted], predictions: Mapping[str, Any]) -> list[_Wanted]:
    """The comparisons, unless a set lacks the predictions of a net that one of them needs."""
    for each in wanted:
        for name in (each.a, each.b):
            if each.net not in predictions[name]:
                raise UsageError(f"predictions: {name} has none of net {each.net}, which it is to be compared for")
    return wanted


def _named(pair: Sequence[str], known: frozenset[str], label: str) -> tuple[str, str]:
    """Two different sets."""
    for name in pair:
        if name not in known:
            raise UsageError(f"{label}: {name} is no set{nearest_name(str(name), known)}")
    if len(pair) != _PAIR or pair[0] == pair[1]:
        raise UsageError(f"{label}: {', '.join(pair)}: two different sets are needed")
    return pair[0], pair[1]


def _kind(each: _Wanted, domains: Mapping[str, str]) -> str:
    """The domains of a pair, whatever its direction."""
    return "-".join(sorted((domains[each.a], domains[each.b])))


def _read(
    predictions: Mapping[str, Mapping[str, FrameSet | Path | str]],
    wanted: Sequence[_Wanted],
    settings: CompareSettings,
    twins: set[frozenset[str]],
    log: Log,
) -> _Study:
    """Read every set with the predictions of every net that is asked for, under one numbering of classes."""
    inputs = {}
    for name, net in dict.fromkeys((name, each.net) for each in wanted for name in (each.a, each.b)):
        source = predictions[name][net]
        given = read_input(source, None, allow_outside=settings.allow_outside)
        inputs[name, net] = replace(given, frames=replace(given.frames, name=name))
    losses = Losses()
    if settings.task == SEMANTIC:
        judged = _judge_pixels(inputs, settings, losses)
    else:
        judged = _judge_objects(inputs, settings, losses, log)
    _note_differences(judged, log)
    tests = len(wanted) * max(1, len({k for each in judged.values() for k in each.frames.objects.class_id.tolist()}))
    count = permutation_count(settings.permutations, tests)
    if settings.permutations and count > settings.permutations:
        log(f"note: {count} permutations in place of {settings.permutations}: with fewer, none of {tests} tests could "
            "show a gap")  # fmt: skip
    return _Study(inputs, judged, replace(settings, permutations=count), twins, losses, {})


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


def _compare_pair_of_sets(study: _Study, wanted: Sequence[_Wanted]) -> dict[_Wanted, dict[str, Any]]:
    """The comparisons of two sets: all nets and both directions, with one join where the nets saw the same objects."""
    first, names = wanted[0], frozenset((wanted[0].a, wanted[0].b))
    groups: dict[str, list[tuple[_Wanted, SetComparison]]] = {}
    sides: dict[str, tuple[JudgedSet, JudgedSet]] = {}
    lost = Losses()
    for each in wanted:
        if each.net not in sides:
            of_net = Losses()
            sides[each.net] = _judged_sides(study, first.a, first.b, each.net, of_net)
            lost.count_once(of_net)  # a frame without a twin is without one for every net
        a, b = sides[each.net] if each.a == first.a else sides[each.net][::-1]
        painted = painted_sets(a, b, study.settings)
        study.painted[names] = painted
        method = replace(study.settings.method, paint_masks=painted.use_masks)
        units = comparison_units(a, b, study.settings, paired=names in study.twins)
        comparison = SetComparison((a, b), units, method, paired=names in study.twins)
        key = hash_value([_objects_digest(side.frames) for side in sides[each.net]])
        groups.setdefault(key, []).append((each, comparison))
    study.losses.extend(lost)
    found: dict[_Wanted, dict[str, Any]] = {}
    for group in groups.values():
        begin = group[0][0].a
        scheduled = [
            ScheduledComparison(comparison, comparison.schedule(study.settings), swapped=each.a != begin)
            for each, comparison in group
        ]
        for (each, comparison), (by_theta, resampled) in zip(group, compare_together(scheduled), strict=True):
            classes, overall = comparison.certainty(by_theta[0], resampled, 0, study.settings.margin)
            found[each] = _numbers(comparison, by_theta[0], classes, overall)
    return found


def _judged_sides(study: _Study, a: str, b: str, net: str, losses: Losses) -> tuple[JudgedSet, JudgedSet]:
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


def _objects_digest(frames: FrameSet) -> str:
    """The same where a join would find the same."""
    objects = frames.objects
    of_objects = [objects.frame, objects.class_id, objects.box, objects.masks]
    return hash_value([list(frames.frame_name), frames.size, *of_objects])


def _numbers(comparison: SetComparison, found: Any, classes: Any, overall: Any) -> dict[str, Any]:
    a, b = comparison.sets
    by_class = {
        str(k): entry_numbers([one], classes[k], side_numbers("a", a, k), side_numbers("b", b, k))
        for k, one in found.items()
    }
    together = entry_numbers(list(found.values()), overall, side_numbers("a", a, None), side_numbers("b", b, None))
    numbers = {"by_class": by_class, "overall": together}
    if comparison.paired:
        add_pointwise(a, b, numbers)
    return numbers


def _content(
    study: _Study,
    comparisons: list[dict[str, Any]],
    predictions: Mapping[str, Any],
    domains: Mapping[str, str],
) -> dict[str, Any]:
    """The content of sets.json (docs/results.md)."""
    names: dict[int, str] = {}
    sets: dict[str, Any] = {name: {"domain": domains[name], "nets": {}} for name in predictions}
    for (name, net), judged in study.judged.items():
        names = judged.frames.class_names | names
        sets[name]["nets"][net] = study.inputs[name, net].describe(judged.frames, false_positives(judged)) | {
            "mean_performance": float(judged.assignment.performance.mean())
        }
    painted = {each.name for each in study.painted.values()}
    return {
        "version": version(),
        "parameters": method_parameters(study.settings, None)
        | {"painted": painted.pop() if len(painted) == 1 else ""}
        | certainty_parameters(study.settings, comparisons[0]["overall"])
        | {"metric": study.settings.metric, "comparisons": len(comparisons)},
        "sets": sets,
        "class_names": {str(k): name for k, name in sorted(names.items())},
        "comparisons": comparisons,
        "losses": study.losses.lines(),
    }
