"""Trials whose conditions are numbers: a context is an initial state, and states that are near each other are alike.

Algorithm 1 over them: for each real trial, the real and the simulated trials of its policy, task and named conditions
that began alike. So a simulation that was tried elsewhere is not taken for one that errs, one that errs at some places
and makes up for it at others is found out, and what was never simulated is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import UsageError
from simjudge.core.text import list_some
from simjudge.method.algorithm import ClassComparison
from simjudge.method.bootstrap import Bootstrap, DrawSchedule
from simjudge.method.certainty import Certainty, Evidence, SampleSize, estimate_certainty
from simjudge.method.entry_numbers import reduce_comparisons
from simjudge.method.vector_contexts import PointSamples, compare_points
from simjudge.questions.policies.cells import bootstrap_units
from simjudge.questions.policies.trials import PolicyTrials

NONE = "none"
MOST_TRIALS = 20_000
"""Trials that are compared by context: of more, as many are drawn."""
_APART = 4.0
"""Of the coordinate that keeps cells apart: above 1, where contexts cease to be alike."""
_MAPPED = 1_000
"""Real trials on the map, at most."""


@dataclass(frozen=True, eq=False, repr=False)
class ContextComparison(ShortRepr):
    """Algorithm 1 over initial states.

    Attributes:
        columns: conditions that are numbers.
        scales: by how much each may differ between trials that are alike.
        policies: numbers of the policies that were compared, with what came of each.
        rows: of the trials, the real ones in the order of the comparisons.
        missing: real trials, and simulated ones, that lack a number.
        thinned: how many trials there were before some were drawn.
    """

    columns: Sequence[str]
    scales: FloatArray
    policies: Sequence[int]
    comparisons: Sequence[ClassComparison]
    certainty: Sequence[Certainty]
    overall: Certainty
    rows: IntArray
    missing: int
    thinned: int

    def content(self, trials: PolicyTrials) -> dict[str, Any]:
        """As policies.json has it."""
        parts = [self._numbers([one], sure) for one, sure in zip(self.comparisons, self.certainty, strict=True)]
        return {
            "columns": list(self.columns),
            "alike_within": self.scales.tolist(),
            "missing": self.missing,
            "thinned": self.thinned,
            "overall": self._numbers(self.comparisons, self.overall),
            "by_policy": [
                {"policy": trials.policies[policy], **part} for policy, part in zip(self.policies, parts, strict=True)
            ],
            "map": self._map(trials),
        }

    def _numbers(self, parts: Sequence[ClassComparison], certainty: Certainty) -> dict[str, Any]:
        return reduce_comparisons(parts).judged(certainty).to_json()

    def _map(self, trials: PolicyTrials) -> dict[str, Any]:
        """Where each real trial began, and how much more the simulation promises there."""
        difference = -np.concatenate([one.difference for one in self.comparisons])
        shown = np.arange(len(self.rows))
        if len(shown) > _MAPPED:
            shown = np.sort(np.random.default_rng(0).permutation(len(shown))[:_MAPPED])
        kept = self.rows[shown]
        places = {name: trials.numbers[name][kept].tolist() for name in self.columns}
        promised = [None if np.isnan(value) else float(value) for value in difference[shown]]
        return {"places": places, "sim_less_real": promised}


def compare_contexts(
    trials: PolicyTrials,
    radius: float,
    scales: Mapping[str, float] | None,
    chosen: str | None,
    *,
    draws: int,
    seed: int,
    margin: float,
) -> ContextComparison | None:
    """Compare trials that began alike; None where no condition is a number, or no such trial has both sides.

    Args:
        radius: two trials are alike where no number differs by more than this share of its range.
        scales: in place of the range, by name.
        chosen: names of the numbers, with commas; "none" for none; None for all.
    """
    columns = _columns(trials, chosen)
    if not columns or trials.has_rates:
        return None
    values = np.stack([trials.numbers[name] for name in columns], 1)
    known: BoolArray = np.asarray(np.isfinite(values).all(1), bool)
    scale = radius * _scales(columns, values[known], scales)
    rows = _of_both_sides(trials, known)
    thinned = len(rows)
    if len(rows) > MOST_TRIALS:
        rows = np.sort(np.random.default_rng([seed, 8]).permutation(rows)[:MOST_TRIALS])
        kept = np.zeros(len(trials), bool)
        kept[rows] = True
        rows = _of_both_sides(trials, kept)
    if not len(rows):
        return None
    cell = np.stack([trials.policy, trials.task, *trials.words.values()], 1)
    place = np.column_stack([_APART * np.unique(cell, axis=0, return_inverse=True)[1].reshape(-1), values / scale])
    units = bootstrap_units(trials, rows)
    unit = np.zeros(len(trials), np.int64)
    unit[rows] = units
    normals = DrawSchedule(int(units.max()) + 1, 0, draws, seed).next_batch()
    parts: list[tuple[ClassComparison, Bootstrap | None]] = []
    sizes, order = [], []
    policies = np.unique(trials.policy[rows])
    for policy in policies:
        sides = [rows[(trials.policy[rows] == policy) & (trials.real[rows] == side)] for side in (True, False)]
        samples = [PointSamples(place[side], trials.outcome[side][:, np.newaxis], unit[side]) for side in sides]
        parts += compare_points(samples[0], samples[1], normals)
        sizes.append(SampleSize.of_units((unit[sides[0]], unit[sides[1]])))
        order.append(sides[0])
    found = [
        Evidence(reduce_comparisons([one]).mean_w1, boot, size, tried=draws)
        for (one, boot), size in zip(parts, sizes, strict=True)
    ]
    comparisons = [one for one, _ in parts]
    boots = [boot for _, boot in parts if boot is not None]
    size = SampleSize.of_units((unit[rows[trials.real[rows]]], unit[rows[~trials.real[rows]]]))
    together = Bootstrap.together(boots) if boots else None
    mean = reduce_comparisons(comparisons).mean_w1
    sure, overall = estimate_certainty(found, Evidence(mean, together, size, tried=draws), margin)
    missing = int((~known).sum())
    return ContextComparison(
        columns, scale, policies.tolist(), comparisons, sure, overall, np.concatenate(order), missing, thinned
    )


def _columns(trials: PolicyTrials, chosen: str | None) -> list[str]:
    if chosen == NONE:
        return []
    if chosen is None:
        return list(trials.numbers)
    wanted = [name.strip() for name in chosen.split(",")]
    for name in wanted:
        if name not in trials.numbers:
            held = list_some(list(trials.numbers)) if trials.numbers else "none"
            raise UsageError(f"contexts: {name} is not a condition that is a number on both sides; there are: {held}")
    return wanted


def _scales(columns: Sequence[str], values: FloatArray, scales: Mapping[str, float] | None) -> FloatArray:
    """The range of each number over both sides, or what is given instead."""
    given = scales or {}
    for name in given:
        if name not in columns:
            raise UsageError(f"scales: {name} is not a condition that is a number; there are: {list_some(columns)}")
    ranges = np.ptp(values, 0) if len(values) else np.zeros(len(columns))
    found = np.array([given.get(name, of) for name, of in zip(columns, ranges, strict=True)])
    # A number that is the same everywhere tells nothing apart.
    return np.where(found > 0, found, 1.0)


def _of_both_sides(trials: PolicyTrials, kept: BoolArray) -> IntArray:
    """The rows of policies that both sides have."""
    policies = [set(trials.policy[kept & (trials.real == side)].tolist()) for side in (True, False)]
    return np.flatnonzero(kept & np.isin(trials.policy, sorted(policies[0] & policies[1])))
