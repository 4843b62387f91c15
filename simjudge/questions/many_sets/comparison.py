"""Many sets, many nets: every set predicts every other one, and the certainty is that of the whole study.

Which contexts are similar depends on labels alone. So one join a pair of sets serves all nets and both directions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from simjudge.core.digest import hash_value
from simjudge.core.errors import Losses
from simjudge.core.frames import FrameSet
from simjudge.core.progress import Log, ProgressBar, no_log, no_progress
from simjudge.core.settings import takes_setting_keywords
from simjudge.core.version import version
from simjudge.method.compiled import forgo_blas
from simjudge.method.entry_numbers import ComparisonNumbers, EntryNumbers
from simjudge.method.multiple_tests import holm
from simjudge.method.verdicts import GAPS, Verdict, verdict_by_margin
from simjudge.questions.many_sets.examples import example_comparisons
from simjudge.questions.many_sets.inputs import JudgedSets, judged_sides, read_judged_sets
from simjudge.questions.many_sets.pairs import (
    WantedComparison,
    check_names,
    domain_kind,
    two_sets,
    wanted_comparisons,
)
from simjudge.questions.many_sets.saved import ManySetsResult, many_sets_from_content, save_many_sets
from simjudge.questions.many_sets.settings import ManySetsSettings
from simjudge.results.result_folder import check_result_folder
from simjudge.studies.judged_set import JudgedSet
from simjudge.studies.pair import add_pointwise, entry_numbers, painted_sets, side_numbers
from simjudge.studies.result_writing import certainty_parameters, false_positives, method_parameters
from simjudge.studies.set_comparison import ScheduledComparison, SetComparison, compare_together, comparison_units

_DECIDED = (*GAPS, Verdict.PREDICTS, Verdict.CANNOT_TELL)


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

    Args:
        predictions: by name of the set and name of the net, the set with its labels and the net's predictions. A set
            needs those of the nets that its comparisons are made for.
        out: folder to save the result in; None saves nothing.
        pairs: the comparisons to make, each [A, B], for all nets, or [A, B, net]; None for every ordered pair.
        twins: pairs of sets whose frames of one stamp or name show the same: compared object by object too, and
            relabelled within pairs.
        settings: of all comparisons.
    """
    nets = list(dict.fromkeys(net for of_set in predictions.values() for net in of_set))
    check_names(predictions, domains, nets)
    known = frozenset(predictions)
    wanted = wanted_comparisons(predictions, nets, pairs)
    twin_pairs = {frozenset(two_sets(pair, known, "twins")) for pair in twins}
    if out is not None and check_result_folder(Path(out)):
        log(f"note: {out} holds an earlier result, which will be replaced")
    study = read_judged_sets(predictions, wanted, settings.comparison, twin_pairs, log)
    forgo_blas()
    found: dict[WantedComparison, ComparisonNumbers] = {}
    joins = list(dict.fromkeys(frozenset((each.a, each.b)) for each in wanted))
    with progress("comparing sets") as advance:
        for done, names in enumerate(joins):
            found |= _compare_pair_of_sets(study, [each for each in wanted if frozenset((each.a, each.b)) == names])
            advance(done + 1, len(joins))
    corrected = correct_for_study([found[each] for each in wanted])
    comparisons = [
        {"a": each.a, "b": each.b, "net": each.net, "kind": domain_kind(each, domains),
         "paired": frozenset((each.a, each.b)) in twin_pairs, **numbers.to_json()}
        for each, numbers in zip(wanted, corrected, strict=True)
    ]  # fmt: skip
    content = _content(study, comparisons, corrected[0].overall, predictions, domains)
    if out is not None:
        examples = example_comparisons(
            study, [(each, numbers.overall) for each, numbers in zip(wanted, corrected, strict=True)]
        )
        content["examples"] = [each.content() for each in examples]
        save_many_sets(content, Path(out), {each.folder: each.save for each in examples})
    return many_sets_from_content(content, study.losses)


def correct_for_study(comparisons: Sequence[ComparisonNumbers]) -> list[ComparisonNumbers]:
    """Add `p_study` and `verdict_study` to the numbers of comparisons.

    All comparisons over all classes are one family of Holm's correction. So are all classes of all comparisons, and a
    class has at least the p of its comparison: it is called a gap only where the sets as a whole differ.
    """
    least = holm([each.overall.p_adjusted for each in comparisons])
    classes = [entry for each in comparisons for entry in each.by_class.values()]
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
    if verdict in _DECIDED and p is not None and low is not None and high is not None:
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
    for each in wanted:
        if each.net not in sides:
            of_net = Losses()
            sides[each.net] = judged_sides(study, first.a, first.b, each.net, of_net)
            lost.count_once(of_net)  # a frame without a twin is without one for every net
        a, b = sides[each.net] if each.a == first.a else sides[each.net][::-1]
        painted = painted_sets(a, b, study.settings)
        study.painted[names] = painted
        method = replace(study.settings.method, paint_masks=painted.use_masks)
        units = comparison_units(a, b, study.settings, paired=names in study.twins)
        comparison = SetComparison((a, b), units, method, adjusts=study.settings.preset != "cpd")
        key = hash_value([_objects_digest(side.frames) for side in sides[each.net]])
        groups.setdefault(key, []).append((each, comparison))
    study.losses.extend(lost)
    found: dict[WantedComparison, ComparisonNumbers] = {}
    for group in groups.values():
        begin = group[0][0].a
        scheduled = [
            ScheduledComparison(comparison, comparison.schedule(study.settings), swapped=each.a != begin)
            for each, comparison in group
        ]
        for (each, comparison), (by_theta, drawn) in zip(group, compare_together(scheduled), strict=True):
            classes, overall = comparison.certainty(by_theta[0], drawn, 0, study.settings.margin)
            found[each] = _numbers(comparison, by_theta[0], classes, overall, paired=names in study.twins)
    return found


def _objects_digest(frames: FrameSet) -> str:
    """The same where a join would find the same."""
    objects = frames.objects
    of_objects = [objects.frame, objects.class_id, objects.box, objects.masks]
    return hash_value([list(frames.frame_name), frames.size, *of_objects])


def _numbers(comparison: SetComparison, found: Any, classes: Any, overall: Any, *, paired: bool) -> ComparisonNumbers:
    a, b = comparison.sets
    by_class = {
        str(k): entry_numbers([one], classes[k], side_numbers("a", a, k), side_numbers("b", b, k))
        for k, one in found.items()
    }
    together = entry_numbers(list(found.values()), overall, side_numbers("a", a, None), side_numbers("b", b, None))
    numbers = ComparisonNumbers(by_class, together)
    return add_pointwise(a, b, numbers) if paired else numbers


def _content(
    study: JudgedSets,
    comparisons: list[dict[str, Any]],
    first: EntryNumbers,
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
        | certainty_parameters(study.settings, first)
        | {"metric": study.settings.metric, "comparisons": len(comparisons)},
        "sets": sets,
        "class_names": {str(k): name for k, name in sorted(names.items())},
        "comparisons": comparisons,
        "losses": study.losses.lines(),
    }
