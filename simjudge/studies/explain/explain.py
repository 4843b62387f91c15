"""Why B predicts A badly: causes are undone one by one and together, and the judge says what is left of the gap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from simjudge.context.certainty import Certainty
from simjudge.context.compiled import forgo_blas
from simjudge.context.reductions import reduce_comparisons
from simjudge.core.arrays import FloatArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.core.files import hash_files
from simjudge.core.progress import Log, ProgressBar, no_log, no_progress
from simjudge.core.setting_keywords import takes_setting_keywords
from simjudge.perception.detector import Detector
from simjudge.sensors.camera_matching.camera_difference import SIDES, CameraDifference, cause_words
from simjudge.sensors.camera_matching.camera_estimation import estimate_difference, sample_pictures
from simjudge.sensors.camera_matching.cause_names import LABEL_MARGINS
from simjudge.studies.comparison import Source
from simjudge.studies.explain.attribution import (
    FORWARD,
    MOST_SHAPLEY,
    SHAPLEY,
    Causes,
    all_subsets,
    forward_order,
    order_certainty,
    resampled_interval,
    shapley_values,
)
from simjudge.studies.explain.changed_sets import ChangedSets
from simjudge.studies.explain.explain_inputs import check_settings, claimed_folder, read_pictures, required_detector
from simjudge.studies.explain.explain_settings import CAUSE_NAMES, ExplainSettings
from simjudge.studies.explain.explanation import EXPLANATION, EXPLANATION_TABLE, CauseShare, Explanation, Interval
from simjudge.studies.explain.label_margins import WORDS, LabelMargins, estimate_margins
from simjudge.studies.inputs import describe_model
from simjudge.studies.painted_masks import painted_geometry
from simjudge.studies.result_writing import certainty_parameters, method_parameters
from simjudge.studies.sampling_units import SamplingUnits
from simjudge.studies.set_comparison import ScheduledComparison, SetComparison, compare_together, comparison_units

DETECTIONS = "detections"
"""Folder beside explain.json: what the detector found on every changed set, so that an explanation goes on."""
_OURS = {EXPLANATION, EXPLANATION_TABLE, DETECTIONS, "explain.html", "waterfall.svg", "waterfall.pdf", "waterfall.png",
         "waterfall.csv"}  # fmt: skip


@takes_setting_keywords
def explain_sets(
    a: Source,
    b: Source,
    out: str | Path | None = None,
    *,
    settings: ExplainSettings,
    detector: Detector | None = None,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> Explanation:
    """Explain a gap: which differences of the cameras cause it, and what share each of them has.

    Args:
        a: the set to be predicted, usually real, with images and labels.
        b: the set that predicts it, usually simulated.
        out: folder for explain.json and explain.csv; None writes nothing. Detections are kept there, so that an
            explanation that was stopped goes on.
        settings: all settings at once; keywords change single ones.
        detector: a loaded detector; None: that of the settings.
        log: told what a person should know.
        progress: opens a progress bar.

    Returns:
        The share of each cause, with intervals.

    Raises:
        UsageError: no detector is given, or a setting makes no sense here.
        SimjudgeError: a set cannot be read, has no images, or cannot be compared.
    """
    check_settings(settings)
    loaded = required_detector(settings) if detector is None else detector
    folder = None if out is None else claimed_folder(Path(out), _OURS)
    sides = read_pictures(a, b, settings, log, progress)
    sets = ChangedSets(sides, loaded, settings, None if folder is None else folder / DETECTIONS, progress)
    wanted = settings.causes or CAUSE_NAMES
    with progress("comparing the cameras") as advance:
        pictures = [sample_pictures(side.frames, settings.sample) for side in sides]
        difference = estimate_difference(pictures[0], pictures[1], advance=advance)
    found = [name for name in difference.causes() if name in wanted]
    forgo_blas()
    judge = ExcessJudge(sets, difference, settings)
    if LABEL_MARGINS in wanted:
        judge.margins = estimate_margins(*sets.judged(difference, frozenset(found)))
        found += [LABEL_MARGINS] if judge.margins.matters else []
    explanation = _explained(judge, found, [name for name in wanted if name not in found], log)
    if folder is not None:
        explanation.save(folder)
    return explanation


@dataclass(repr=False, eq=False)
class ExcessJudge(ShortRepr):
    """Says what is left of the gap with some causes undone, by the code that `compare` uses.

    Attributes:
        sets: both sets behind any filters.
        difference: between the cameras.
        settings: of the comparison.
        margins: of the labels.
        certainty: of the sets as they are, once they have been compared.
        mean_w1: of the sets as they are.
        excess: by set of causes, the excess W1: (D,), the truth first, then under each bootstrap draw.
        frames: of A and B that were compared.
    """

    sets: ChangedSets
    difference: CameraDifference
    settings: ExplainSettings
    margins: LabelMargins | None = None
    certainty: Certainty | None = None
    mean_w1: float | None = None
    excess: dict[Causes, FloatArray] = field(default_factory=dict)
    frames: tuple[int, int] = (0, 0)
    _units: tuple[SamplingUnits, SamplingUnits] | None = None

    def __call__(self, wanted: Sequence[Causes]) -> list[FloatArray]:
        """The excess W1 with some causes undone.

        Args:
            wanted: sets of causes.

        Returns:
            For each (D,): mean W1 less its floor, the truth first, then under each bootstrap draw. Draws are the same
            for all, so that differences have the spread of pairs.

        Raises:
            SimjudgeError: nothing was compared, because no contexts are alike.
        """
        new = [causes for causes in dict.fromkeys([frozenset[str](), *wanted]) if causes not in self.excess]
        for moved in (False, True):
            group = [causes for causes in new if (LABEL_MARGINS in causes) == moved]
            if group:
                self._compare(group)
        return [self.excess[causes] for causes in wanted]

    def _compare(self, group: Sequence[Causes]) -> None:
        """Compare changed sets that have the same labels, on one join."""
        scheduled = []
        for causes in group:
            a, b = self.sets.judged(self.difference, causes, self.margins)
            if self._units is None:
                self._units = comparison_units(a, b, self.settings, paired=self.settings.paired)
                self.frames = (len(a.frames), len(b.frames))
            painted = painted_geometry((a.frames, b.frames), self.settings.masks)
            method = replace(self.settings.method, paint_masks=painted.use_masks)
            comparison = SetComparison((a, b), self._units, method, paired=self.settings.paired)
            scheduled.append(ScheduledComparison(comparison, comparison.schedule(self.settings)))
        with self.sets.progress("comparing contexts") as advance:
            compared = compare_together(scheduled, advance=advance)
        for causes, each, (by_theta, resampled) in zip(group, scheduled, compared, strict=True):
            _, overall = each.comparison.certainty(by_theta[0], resampled, 0, self.settings.margin)
            mean = reduce_comparisons(list(by_theta[0].values()))["mean_w1"]
            if mean is None or overall.floor_mean is None:
                raise SimjudgeError("no context of A has a like one in B: there is no W1 to explain")
            if not causes:
                self.certainty, self.mean_w1 = overall, mean
            pooled = None
            for of_class in resampled.values():
                if of_class:
                    pooled = of_class[0] if pooled is None else pooled.added(of_class[0])
            draws = np.zeros(0) if pooled is None else pooled.weight_means()[1:]
            self.excess[causes] = np.concatenate([[mean], draws]) - overall.floor_mean


def _explained(judge: ExcessJudge, found: Sequence[str], missing: Sequence[str], log: Log) -> Explanation:
    """Try every cause alone and last, and share the gap among those that matter."""
    none, every = frozenset[str](), frozenset(found)
    judge([none, every, *(frozenset({name}) for name in found), *(every - {name} for name in found)])
    alone = {name: _fall(judge, none, frozenset({name})) for name in found}
    last = {name: _fall(judge, every - {name}, every) for name in found}
    players = list(found)
    if len(players) > MOST_SHAPLEY:
        players = [name for name in found if alone[name].sign or last[name].sign]
    if len(players) <= MOST_SHAPLEY:
        sharing = SHAPLEY
        subsets = all_subsets(players)
        values = shapley_values(dict(zip(subsets, judge(subsets), strict=True)), players)
    else:
        sharing = FORWARD
        log(f"note: {len(players)} causes matter; the gap is shared in a forward order, not by Shapley values")
        values = forward_order(players, judge)
    return _explanation(judge, values, (alone, last), missing, sharing)


def _fall(judge: ExcessJudge, before: Causes, after: Causes) -> Interval:
    """By how much the excess falls from one set of undone causes to another."""
    first, second = judge([before, after])
    return _interval(first - second)


def _interval(values: FloatArray) -> Interval:
    return Interval(float(values[0]), *resampled_interval(values))


def _explanation(
    judge: ExcessJudge,
    values: dict[str, FloatArray],
    tried: tuple[dict[str, Interval], dict[str, Interval]],
    missing: Sequence[str],
    sharing: str,
) -> Explanation:
    whole, left = judge([frozenset(), frozenset(values)])
    sure = judge.certainty
    if sure is None:
        raise SimjudgeError("nothing was compared")
    ordered = dict(sorted(values.items(), key=lambda item: -float(item[1][0])))
    draft = Explanation(
        names=(judge.sets.sides[0].frames.name, judge.sets.sides[1].frames.name),
        frames=judge.frames,
        mean_w1=judge.mean_w1,
        certainty=sure,
        causes=(),
        rest=_interval(left),
        rest_share=None,
        sharing=sharing,
        first_sure=None,
        order_sure=None,
        without_effect=tuple(missing),
        parameters=_parameters(judge),
        runs=judge.sets.runs,
        losses=judge.sets.losses,
    )
    first, order = order_certainty(ordered)
    names = [*ordered, *(name for name in tried[0] if name not in ordered)]
    causes = tuple(
        _cause(judge, name, (tried[0][name], tried[1][name]), ordered.get(name), whole if draft.is_gap else None)
        for name in names
    )
    rest_share = _interval(left / whole) if draft.is_gap else None
    return replace(draft, causes=causes, rest_share=rest_share, first_sure=first, order_sure=order)


def _cause(
    judge: ExcessJudge,
    name: str,
    tried: tuple[Interval, Interval],
    value: FloatArray | None,
    whole: FloatArray | None,
) -> CauseShare:
    """One row; a share only where the whole can be told from nothing."""
    share = None if value is None or whole is None else _interval(value / whole)
    w1 = None if value is None else _interval(value)
    if name == LABEL_MARGINS:
        growth = [] if judge.margins is None else judge.margins.growth.tolist()
        moved = {"name": LABEL_MARGINS, "parameters": {"growth": growth}}
        return CauseShare(name, WORDS, "b", (moved,), *tried, w1, share)
    side = judge.difference.side(name)
    filters = tuple(
        {"name": step.name, "parameters": dict(step.parameters)}
        for each in SIDES
        for step in judge.difference.steps(each, {name})
    )
    return CauseShare(name, cause_words(name), side, filters, *tried, w1, share)


def _parameters(judge: ExcessJudge) -> dict[str, Any]:
    settings = judge.settings
    sure = judge.certainty
    made = None if sure is None else vars(sure)
    sides = {
        which: None if side.path is None else {"path": str(side.path), "sha256": hash_files(side.path)}
        for which, side in zip("ab", judge.sets.sides, strict=True)
    }
    return method_parameters(settings, None) | certainty_parameters(settings, made) | {
        "metric": settings.metric, "paired": settings.paired, "sample": settings.sample, "inputs": sides,
        "model": describe_model(settings),
    }  # fmt: skip
