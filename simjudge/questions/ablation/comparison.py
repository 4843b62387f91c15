"""Which part of a camera model matters: variants of a simulated set, each with one change, compared by nets.

The comparisons are those of Elmquist, Serban and Negrut, "Camera simulation for robot simulation: how important are
various camera model components?" Frames of all sets are twins: they show the same from the same poses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from simjudge.core.errors import UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.progress import Log, ProgressBar, no_log, no_progress
from simjudge.core.settings import takes_setting_keywords
from simjudge.core.text import nearest_name
from simjudge.questions.ablation.saved import AblationResult
from simjudge.questions.many_sets.comparison import compare_many_sets
from simjudge.questions.many_sets.settings import ManySetsSettings

REAL = "real"
"""Name of the real set, and of the net that was trained on real images."""
TABLES = ("real", "by_real", "by_baseline", "by_itself", "baseline_by")
"""The tables of predictions that an ablation needs."""
Source = FrameSet | Path | str


@takes_setting_keywords
def compare_variants(
    predictions: Mapping[str, Mapping[str, Source]],
    out: str | Path | None = None,
    *,
    changes: Mapping[str, str],
    baseline: str = "baseline",
    twins: Sequence[Sequence[str]] | None = None,
    settings: ManySetsSettings,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> AblationResult:
    """Compare variants of a simulated set with the real set and with the baseline.

    Args:
        predictions: sets with predictions, in five tables. "real": the real set, by name of its net ("real",
            the baseline, and variants on which a net was trained). "by_real", "by_baseline": the baseline and all
            variants, seen by the nets of the real set and of the baseline. "by_itself": variants, seen by nets that
            were trained on them. "baseline_by": the baseline, by name of the variant whose net saw it.
        out: folder to save the result in; None saves nothing.
        changes: what differs from the baseline, a phrase for each variant; of a larger table those are taken that
            "by_real" has.
        twins: pairs of sets whose frames are compared one by one, and relabelled within pairs; None for all that are
            compared. Frames that follow one another make few independent pairs, too few for a small p.
        settings: of all comparisons.

    Returns:
        The answers to the four questions, and the ranking of the variants.
    """
    variants = [name for name in predictions.get("by_real", {}) if name != baseline]
    trained = [name for name in predictions.get("by_itself", {}) if name != baseline]
    _check(predictions, variants, trained, baseline)
    if missing := [name for name in variants if name not in changes]:
        raise UsageError(f"changes: {missing[0]} has no phrase that says what differs from {baseline}")
    pairs = [(REAL, name, REAL) for name in (baseline, *variants)]
    pairs += [(baseline, name, baseline) for name in variants]
    pairs += [(REAL, name, name) for name in (baseline, *trained)]
    pairs += [(baseline, name, name) for name in trained]
    found = compare_many_sets(
        _by_set_and_net(predictions, variants, trained, baseline),
        out,
        domains={REAL: "real"} | dict.fromkeys((baseline, *variants), "sim"),
        pairs=pairs,
        twins=list(dict.fromkeys(pair[:2] for pair in pairs)) if twins is None else twins,
        settings=settings,
        log=log,
        progress=progress,
    )
    result = AblationResult(found, REAL, baseline, {name: changes[name] for name in variants}, (baseline, *trained))
    if out is not None:
        result.save_beside_sets(Path(out))
    return result


def _by_set_and_net(
    predictions: Mapping[str, Mapping[str, Source]], variants: list[str], trained: list[str], baseline: str
) -> dict[str, dict[str, Source]]:
    """The predictions by name of the set and of the net."""
    sets: dict[str, dict[str, Source]] = {REAL: dict(predictions["real"])}
    for name in (baseline, *variants):
        sets[name] = {REAL: predictions["by_real"][name], baseline: predictions["by_baseline"][name]}
    for name in trained:
        sets[name][name] = predictions["by_itself"][name]
        sets[baseline][name] = predictions["baseline_by"][name]
    return sets


def _check(
    predictions: Mapping[str, Mapping[str, Source]], variants: list[str], trained: list[str], baseline: str
) -> None:
    """Refuse tables and names that are missing or unknown."""
    for table in predictions:
        if table not in TABLES:
            raise UsageError(f"predictions: {table} is no table{nearest_name(table, TABLES)}")
    if not variants:
        raise UsageError(f"predictions: by_real needs a variant beside {baseline}")
    for name in trained:
        if name not in variants:
            raise UsageError(f"predictions: by_itself: {name} is no variant{nearest_name(name, variants)}")
    needed = {
        "real": [REAL, baseline, *trained],
        "by_real": [baseline],
        "by_baseline": [baseline, *variants],
        "baseline_by": trained,
    }
    for table, names in needed.items():
        for name in names:
            if name not in predictions.get(table, {}):
                raise UsageError(f"predictions: {table} has none for {name}")
