"""Many sets, many nets: every set predicts every other one, and the certainty is that of the whole study.

Which contexts are similar depends on labels alone. So one join a pair of sets serves all nets and both directions.

The settings of a comparison of many sets (see `simjudge.core.settings`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from simjudge.core.arrays import IntArray, hash_value
from simjudge.core.errors import Log, Losses, ProgressBar, SimjudgeError, UsageError, no_log, no_progress
from simjudge.core.frames import FrameSet
from simjudge.core.installed import version
from simjudge.core.names import DetectorRecord
from simjudge.core.settings import ReadSettings, takes_setting_keywords
from simjudge.core.text import nearest_name
from simjudge.data.semantic_classes import common_classes
from simjudge.detectors.detector_settings import RenameSettings
from simjudge.judging.class_numbering import ClassNumbering, ClassSelection, describe_numbers, match_predicted_classes
from simjudge.judging.compare_settings import (
    PATCH_METRICS,
    SEMANTIC,
    AsksComparisons,
    CertaintySettings,
    ClassSettings,
    CompareSettings,
    ContextSettings,
    SemanticSettings,
    UnitSettings,
)
from simjudge.judging.comparison import Comparison
from simjudge.judging.inputs import InputSet, comparable_pairs, read_input, with_pixels_judged
from simjudge.judging.judged_set import JudgedSet, judge_patches, judge_set, take_frames
from simjudge.judging.painted_masks import PaintedGeometry, choose_patch, log_patch
from simjudge.judging.pair import add_pointwise, compare_judged, entry_numbers, painted_sets
from simjudge.judging.result_writing import (
    certainty_parameters,
    comparison_parameters,
    describe_units,
    false_positives,
    method_parameters,
)
from simjudge.judging.set_comparison import ScheduledComparison, SetComparison, compare_together, comparison_units
from simjudge.method.compiled import choose_loops
from simjudge.method.entry_numbers import ComparisonNumbers, EntryNumbers
from simjudge.method.method import MOST_DRAWS
from simjudge.method.multiple_tests import holm
from simjudge.method.verdicts import verdict_by_margin
from simjudge.questions.many_sets.result import ManySetsResult, many_sets_from_content, save_many_sets
from simjudge.results.gallery import PER_KIND
from simjudge.results.saved_result import check_result_place


@dataclass(frozen=True, kw_only=True)
class ManySetsSettings(
    ReadSettings,
    RenameSettings,
    ClassSettings,
    ContextSettings,
    SemanticSettings,
    CertaintySettings,
    UnitSettings,
    AsksComparisons,
):
    """The settings of all comparisons of many sets: who sees them, and which are pairs, is said set by set."""


DOMAINS = ("real", "sim")
"""What a set may be of."""
_PAIR, _PAIR_AND_NET = 2, 3


@dataclass(frozen=True)
class WantedComparison:
    """One comparison: how well B predicts A, as a net sees it."""

    a: str
    b: str
    net: str


def check_names(predictions: Mapping[str, Mapping[str, object]], domains: Mapping[str, str], nets: list[str]) -> None:
    """Refuse sets and domains that do not go together."""
    if len(predictions) < _PAIR or not nets:
        raise UsageError("predictions: two sets or more are needed, each with the predictions of a net")
    for name in predictions:
        if domains.get(name) not in DOMAINS:
            raise UsageError(f"domains: {name} needs one of {' and '.join(DOMAINS)}")
    for name in domains:
        if name not in predictions:
            raise UsageError(f"domains: {name} is no set{nearest_name(name, predictions)}")


def wanted_comparisons(
    predictions: Mapping[str, Mapping[str, object]], nets: list[str], pairs: Sequence[Sequence[str]] | None
) -> list[WantedComparison]:
    """The comparisons to make, each once."""
    if pairs is None:
        every = [WantedComparison(a, b, net) for a, b in permutations(predictions, 2) for net in nets]
        return _predicted(every, predictions)
    wanted: list[WantedComparison] = []
    known = frozenset(predictions)
    if not pairs:
        raise UsageError("pairs: names no comparison; leave it out for every ordered pair")
    for pair in pairs:
        a, b = two_sets(list(pair)[:_PAIR], known, "pairs")
        chosen = list(pair)[_PAIR:] or nets
        if len(pair) > _PAIR_AND_NET or chosen[0] not in nets:
            raise UsageError(f"pairs: {', '.join(map(str, pair))}: give two sets, or two sets and a net")
        wanted.extend(WantedComparison(a, b, net) for net in chosen)
    return _predicted(list(dict.fromkeys(wanted)), predictions)


def two_sets(pair: Sequence[str], known: frozenset[str], label: str) -> tuple[str, str]:
    """Two different sets."""
    for name in pair:
        if name not in known:
            raise UsageError(f"{label}: {name} is no set{nearest_name(str(name), known)}")
    if len(pair) != _PAIR or pair[0] == pair[1]:
        raise UsageError(f"{label}: {', '.join(pair)}: two different sets are needed")
    return pair[0], pair[1]


def domain_kind(each: WantedComparison, domains: Mapping[str, str]) -> str:
    """The domains of a pair, whatever its direction: "real-sim"."""
    return "-".join(sorted((domains[each.a], domains[each.b])))


def _predicted(
    wanted: list[WantedComparison], predictions: Mapping[str, Mapping[str, object]]
) -> list[WantedComparison]:
    """The comparisons, unless a set lacks the predictions of a net that one of them needs."""
    for pair in wanted:
        for name in (pair.a, pair.b):
            if pair.net not in predictions[name]:
                raise UsageError(f"predictions: {name} has none of net {pair.net}, which it is to be compared for")
    return wanted


DRAWS_A_TEST = 100
"""Draws for each test of a family: the smallest p, corrected for their number, is then 0.01."""


@dataclass
class JudgedSets:
    """Sets with what nets found in them: what all comparisons of many sets share."""

    inputs: dict[tuple[str, str], InputSet]
    judged: dict[tuple[str, str], JudgedSet]  # by set and net: the frames that are labelled and predicted
    settings: CompareSettings  # of the comparisons, with the draws of the whole study, and one patch for all sets
    twins: set[frozenset[str]]  # pairs of sets whose frames of one name or stamp show the same
    losses: Losses  # what was left out, once for each set and net, and once for each pair of twins
    painted: dict[frozenset[str], PaintedGeometry]  # what patches were painted from, by pair of sets


def read_judged_sets(
    predictions: Mapping[str, Mapping[str, FrameSet | Path | str]],
    wanted: Sequence[WantedComparison],
    settings: CompareSettings,
    twins: set[frozenset[str]],
    log: Log,
) -> JudgedSets:
    """Read every set with the predictions of every net that is asked for, under one numbering of classes."""
    inputs = {}
    for name, net in dict.fromkeys((name, pair.net) for pair in wanted for name in (pair.a, pair.b)):
        source = predictions[name][net]
        given = read_input(source, None, allow_outside=settings.allow_outside, thinning=settings.thinning)
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
    settings = choose_patch(settings, [judged_set.frames for judged_set in judged.values()])
    log_patch(settings, log)
    tests = len(wanted) * max(
        1, len({k for judged_set in judged.values() for k in judged_set.frames.objects.class_id.tolist()})
    )
    count = min(MOST_DRAWS, max(settings.draws, DRAWS_A_TEST * tests)) if settings.draws else 0
    if count > settings.draws:
        log(f"note: {count:,} draws in place of {settings.draws:,}: {tests} tests ask for small p values")
    return JudgedSets(inputs, judged, replace(settings, draws=count), twins, losses, {})


def _judge_pixels(
    inputs: Mapping[tuple[str, str], InputSet], settings: CompareSettings, losses: Losses
) -> dict[tuple[str, str], JudgedSet]:
    """The patches of every set and net, under one numbering of classes."""
    sets = {key: with_pixels_judged(item.frames) for key, item in inputs.items()}
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
    first = next((given.frames for given in inputs.values() if given.frames.class_names), None)
    if first is not None:
        for note in dict.fromkeys(describe_numbers(first, given.frames) for given in inputs.values()):
            if note:
                log(note)
    numbering = ClassNumbering({} if first is None else first.class_names)
    numbered = {key: numbering.apply(item.frames) for key, item in inputs.items()}
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
    for (name, net), item in judged.items():
        detector = item.frames.detector
        if detector is not None and by_net.setdefault(net, detector) != detector:
            log(f"warning: net {net} is {by_net[net]} of one set and {detector} of {name}")
        count = len(item.frames)
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


MOST_EXAMPLES = 4
"""How many comparisons of the largest gap, one a net, are saved with their contexts."""
CONTEXTS_A_KIND = 1
"""How many contexts of each kind and class have neighbours; of those without overlap there are `PER_KIND`."""


@dataclass(frozen=True)
class ExampleComparison:
    """A comparison of a study, to be saved with its contexts and gallery."""

    folder: str
    a: str  # a, b: names of the predicted and of the predicting set
    b: str
    net: str
    study: JudgedSets

    def content(self) -> dict[str, str]:
        """Its entry in sets.json (docs/reference/results.md)."""
        return {"folder": self.folder, "a": self.a, "b": self.b, "net": self.net}

    def save(self, out: Path) -> None:
        """Compare once more, now with contexts, and write the result."""
        study, losses = self.study, Losses()
        twins = frozenset((self.a, self.b)) in study.twins
        settings = replace(study.settings, paired=twins)
        sides = judged_sides(study, self.a, self.b, self.net, losses)
        result = compare_judged(sides, painted_sets(*sides, settings), settings, losses)
        inputs: dict[str, object] = {
            key: study.inputs[name, self.net].describe(judged.frames, false_positives(judged)) | describe_units(drawn)
            for key, name, judged, drawn in zip(("a", "b"), (self.a, self.b), sides, result.units.sides, strict=True)
        }
        inputs["model"] = None
        parameters = comparison_parameters(settings, result.numbers.overall, result.painted)
        Comparison(result, parameters, inputs, losses).save(out, CONTEXTS_A_KIND, PER_KIND)


def example_comparisons(
    study: JudgedSets, comparisons: Sequence[tuple[WantedComparison, EntryNumbers]]
) -> list[ExampleComparison]:
    """Choose for each net the comparison with the largest gap, and the one where least overlaps, if not all does."""
    best: dict[str, tuple[float, WantedComparison]] = {}
    for comparison, overall in comparisons:
        if overall.mean_w1 is None:
            continue
        worth = overall.mean_w1 - (overall.noise or 0.0)
        if comparison.net not in best or worth > best[comparison.net][0]:
            best[comparison.net] = (worth, comparison)
    chosen = [pair for _, pair in best.values()][:MOST_EXAMPLES]
    shares = {pair: overall.overlap_a for pair, overall in comparisons if overall.overlap_a is not None}
    least = min(shares, key=lambda pair: shares[pair], default=None)
    if least is not None and shares[least] < 1 and least not in chosen:
        chosen.append(least)
    return [
        ExampleComparison(str(number), choice.a, choice.b, choice.net, study)
        for number, choice in enumerate(chosen, start=1)
    ]


_NOT_HERE = (
    "a_predictions",
    "b_predictions",
    "a_image_topic",
    "b_image_topic",
    "a_rename",
    "b_rename",
    "model",
    "paired",
    "sensor",
)


@takes_setting_keywords
def compare_many_sets(
    predictions: Mapping[str, Mapping[str, FrameSet | Path | str]],
    out: str | Path | None = None,
    *,
    domains: Mapping[str, str],
    pairs: Sequence[Sequence[str]] | None = None,
    twins: Sequence[Sequence[str]] = (),
    settings: ManySetsSettings,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> ManySetsResult:
    """Compare many sets for many nets: how well does each set predict each other one?

    The numbers of each pair and net are those of `simjudge.compare` with as many draws. Beside them stand p
    values and verdicts that are corrected for the number of comparisons of the study.
    """
    nets = list(dict.fromkeys(net for of_set in predictions.values() for net in of_set))
    check_names(predictions, domains, nets)
    known = frozenset(predictions)
    wanted = wanted_comparisons(predictions, nets, pairs)
    twin_pairs = {frozenset(two_sets(pair, known, "twins")) for pair in twins}
    check_result_place(out, log)
    study = read_judged_sets(predictions, wanted, settings.comparison, twin_pairs, log)
    choose_loops()
    found: dict[WantedComparison, ComparisonNumbers] = {}
    joins = list(dict.fromkeys(frozenset((comparison.a, comparison.b)) for comparison in wanted))
    with progress("comparing sets") as advance:
        for done, names in enumerate(joins):
            found |= _compare_pair_of_sets(
                study, [comparison for comparison in wanted if frozenset((comparison.a, comparison.b)) == names]
            )
            advance(done + 1, len(joins))
    corrected = correct_for_study([found[comparison] for comparison in wanted])
    comparisons = [
        {
            "a": each.a,
            "b": each.b,
            "net": each.net,
            "kind": domain_kind(each, domains),
            "paired": frozenset((each.a, each.b)) in twin_pairs,
            **numbers.to_json(),
        }
        for each, numbers in zip(wanted, corrected, strict=True)
    ]
    content = _content(study, comparisons, corrected[0].overall, predictions, domains)
    if out is not None:
        examples = example_comparisons(
            study, [(pair, numbers.overall) for pair, numbers in zip(wanted, corrected, strict=True)]
        )
        content["examples"] = [example.content() for example in examples]
        save_many_sets(content, Path(out), {example.folder: example.save for example in examples})
    return many_sets_from_content(content, study.losses)


def correct_for_study(comparisons: Sequence[ComparisonNumbers]) -> list[ComparisonNumbers]:
    """Add `p_study` and `verdict_study` to the numbers of comparisons.

    All comparisons over all classes are one family of Holm's correction. So are all classes of all comparisons, and a
    class has at least the p of its comparison: it is called a gap only where the sets as a whole differ.
    """
    least = holm([comparison.overall.p_adjusted for comparison in comparisons])
    classes = [entry for comparison in comparisons for entry in comparison.by_class.values()]
    of_class = iter(holm([None if entry.p_adjusted is None else entry.p_value for entry in classes]))
    out = []
    for each, lowest in zip(comparisons, least, strict=True):
        p_values = {key: next(of_class) for key in each.by_class}
        by_class = {
            key: _in_study(each.by_class[key], None if p is None else max(p, lowest or 0.0))
            for key, p in p_values.items()
        }
        out.append(replace(each, by_class=by_class, overall=_in_study(each.overall, lowest)))
    return out


def _in_study(entry: EntryNumbers, p: float | None) -> EntryNumbers:
    verdict, low, high = entry.verdict, entry.gap_low, entry.gap_high
    if verdict.decided and p is not None and low is not None and high is not None:
        verdict = verdict_by_margin(p, low, high, entry.margin)
    return replace(entry, p_study=p, verdict_study=verdict)


def _compare_pair_of_sets(
    study: JudgedSets, wanted: Sequence[WantedComparison]
) -> dict[WantedComparison, ComparisonNumbers]:
    """The comparisons of two sets: all nets and both directions, with one join where the nets saw the same objects."""
    first, names = wanted[0], frozenset((wanted[0].a, wanted[0].b))
    groups: dict[str, list[tuple[WantedComparison, SetComparison]]] = {}
    sides: dict[str, tuple[JudgedSet, JudgedSet]] = {}
    lost = Losses()
    for pair in wanted:
        if pair.net not in sides:
            of_net = Losses()
            sides[pair.net] = judged_sides(study, first.a, first.b, pair.net, of_net)
            lost.count_once(of_net)  # a frame without a twin is without one for every net
        a, b = sides[pair.net] if pair.a == first.a else sides[pair.net][::-1]
        painted = painted_sets(a, b, study.settings)
        study.painted[names] = painted
        method = replace(study.settings.method, paint_masks=painted.use_masks)
        units = comparison_units(a, b, study.settings, paired=names in study.twins)
        comparison = SetComparison((a, b), units, method, adjusts=study.settings.preset != "cpd")
        key = hash_value([_objects_digest(side.frames) for side in sides[pair.net]])
        groups.setdefault(key, []).append((pair, comparison))
    study.losses.extend(lost)
    found: dict[WantedComparison, ComparisonNumbers] = {}
    for group in groups.values():
        begin = group[0][0].a
        scheduled = [
            ScheduledComparison(comparison, comparison.schedule(study.settings), swapped=pair.a != begin)
            for pair, comparison in group
        ]
        for (pair, comparison), (by_theta, drawn) in zip(group, compare_together(scheduled), strict=True):
            classes, overall = comparison.certainty(by_theta[0], drawn, 0, study.settings.margin)
            found[pair] = _numbers(comparison, by_theta[0], classes, overall, paired=names in study.twins)
    return found


def _objects_digest(frames: FrameSet) -> str:
    """The same where a join would find the same."""
    objects = frames.objects
    of_objects = [objects.frame, objects.class_id, objects.box, objects.masks]
    return hash_value([list(frames.frame_name), frames.size, *of_objects])


def _numbers(comparison: SetComparison, found: Any, classes: Any, overall: Any, *, paired: bool) -> ComparisonNumbers:
    a, b = comparison.sets
    by_class = {str(k): entry_numbers([one], classes[k], a.numbers(k), b.numbers(k)) for k, one in found.items()}
    together = entry_numbers(list(found.values()), overall, a.numbers(None), b.numbers(None))
    numbers = ComparisonNumbers(by_class, together)
    return add_pointwise(a, b, numbers) if paired else numbers


def _content(
    study: JudgedSets,
    comparisons: list[dict[str, object]],
    first: EntryNumbers,
    predictions: Iterable[str],
    domains: Mapping[str, str],
) -> dict[str, object]:
    """The content of sets.json (docs/reference/results.md)."""
    names: dict[int, str] = {}
    nets: dict[str, dict[str, object]] = {name: {} for name in predictions}
    for (name, net), judged in study.judged.items():
        names = judged.frames.class_names | names
        nets[name][net] = study.inputs[name, net].describe(judged.frames, false_positives(judged)) | {
            "mean_performance": float(judged.assignment.performance.mean())
        }
    painted = {geometry.name for geometry in study.painted.values()}
    return {
        "version": version(),
        "parameters": method_parameters(study.settings, None)
        | {"painted": painted.pop() if len(painted) == 1 else ""}
        | certainty_parameters(study.settings, first)
        | {"metric": study.settings.metric, "comparisons": len(comparisons)},
        "sets": {name: {"domain": domains[name], "nets": found} for name, found in nets.items()},
        "class_names": {str(k): name for k, name in sorted(names.items())},
        "comparisons": comparisons,
        "losses": study.losses.lines(),
    }
