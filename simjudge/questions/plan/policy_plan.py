"""How many trials of policies show a gap, rule it out, or settle which policy is best: forecast from trials at hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.display import SummaryTable
from simjudge.core.errors import SimjudgeError
from simjudge.method.gap import gap_behind
from simjudge.method.verdicts import SIGNIFICANCE
from simjudge.page.number_format import DASH
from simjudge.questions.policies.cells import find_cells
from simjudge.questions.policies.few_real import counted_trials, expected_regret
from simjudge.questions.policies.ranking import ranked_cells
from simjudge.questions.policies.trials import PolicyTrials

SHOWN = 0.8
"""The power that is asked for."""
DRAWS = 2000
NUMBERS = (5, 10, 15, 20, 30, 40, 50, 75, 100, 150, 200, 300, 400, 500, 750, 1000, 1500, 2000, 3000, 5000)
"""Trials a cell and side that are tried."""
_WIDTH = 1.96
_NEXT = (0, 10, 20, 50, 100, 200)


@dataclass(frozen=True)
class TrialsNeeded:
    """Trials a cell and side; None where more than 5,000 are needed.

    Attributes:
        cells: how many are judged together.
        show: that show the gap in 80 of 100 cases.
        rule_out: that rule it out in 80 of 100 cases where nothing differs.
    """

    label: str
    cells: int
    show: int | None
    rule_out: int | None


@dataclass(frozen=True)
class PolicyPlan:
    """How many trials are needed.

    Attributes:
        regret: by further real trials a cell, the success that choosing the best policy is expected to cost.
    """

    gap: float
    needed: Sequence[TrialsNeeded]
    regret: Sequence[tuple[int, float]]

    def content(self) -> dict[str, Any]:
        """The plan as JSON has it."""
        return {
            "gap": self.gap,
            "shown": SHOWN,
            "needed": [vars(each) for each in self.needed],
            "expected_regret": [{"further_trials": count, "regret": regret} for count, regret in self.regret],
        }

    @property
    def table(self) -> SummaryTable:
        """A row for one cell, for a policy, and for all cells."""
        rows = [
            (each.label, str(each.cells), *(DASH if count is None else f"{count:,}" for count in counts))
            for each in self.needed
            for counts in [(each.show, each.rule_out)]
        ]
        columns = ("judged together", "cells", f"trials that show {self.gap:g}", f"trials that rule {self.gap:g} out")
        return SummaryTable(columns, rows)

    def sentences(self) -> list[str]:
        """What the columns are, and what further real trials do for the choice."""
        out = ["Trials are a cell and side, in 80 of 100 cases. Rates are those of the trials at hand."]
        if self.regret:
            falls = ", ".join(f"{100 * regret:.2g} with {count:,} more" for count, regret in self.regret)
            out.append(f"Choosing the best policy by real trials is expected to cost, in points of success: {falls}.")
        return out


def plan_policies(trials: PolicyTrials, gap: float, seed: int = 0) -> PolicyPlan:
    """Plan a comparison of policies."""
    if trials.has_rates:
        raise SimjudgeError("trials: rates without a number of trials; a plan needs trials, or cells with successes")
    cells = find_cells(trials)
    rate = cells.rate.mean(1)
    if not len(cells):
        held = trials.policy * len(trials.tasks) + trials.task
        rate = np.array([trials.outcome[held == key].mean() for key in np.unique(held)])
    middle = np.array([float(np.median(rate))])
    sizes = {"one cell": middle, "all cells": rate}
    if len(cells) and len(trials.policies) > 1:
        per_policy = round(len(cells) / len(np.unique(cells.policy)))
        sizes = {"one cell": middle, "one policy": np.resize(np.sort(rate), per_policy), "all cells": rate}
    needed = [_needed(label, rates, gap, seed) for label, rates in sizes.items()]
    return PolicyPlan(gap, needed, _regret(trials, seed))


def _needed(label: str, rate: FloatArray, gap: float, seed: int) -> TrialsNeeded:
    chances = {count: _chances(rate, gap, count, seed) for count in NUMBERS}
    show, rule_out = (next((n for n in NUMBERS if chances[n][k] >= SHOWN), None) for k in range(2))
    return TrialsNeeded(label, len(rate), show, rule_out)


def _chances(rate: FloatArray, gap: float, count: int, seed: int) -> tuple[float, float]:
    """How often so many trials show the gap, and how often they rule it out where nothing differs."""
    random = np.random.default_rng([seed, 12])
    # Towards the middle, where there is room for the gap.
    other = np.where(rate > 0.5, rate - gap, rate + gap)

    def mean_w1(sim: FloatArray) -> tuple[FloatArray, FloatArray]:
        hits = [random.binomial(count, side, (DRAWS, len(side))) for side in (rate, sim)]
        each = np.abs(hits[0] - hits[1]) / count
        return each.mean(1), each.mean(0)

    same, noise = mean_w1(rate)
    differing, _ = mean_w1(np.clip(other, 0.0, 1.0))
    critical = float(np.quantile(same, 1 - SIGNIFICANCE))
    weight = np.ones(len(rate))
    tried = np.quantile(same, SHOWN)
    high = gap_behind(float(tried) + _WIDTH * float(differing.std()), noise, weight)
    return float((differing > critical + 1e-12).mean()), float(high < gap) * SHOWN


def _regret(trials: PolicyTrials, seed: int) -> list[tuple[int, float]]:
    ranked = ranked_cells(trials)
    if len(ranked.policies) < 2 or not len(ranked.tasks):
        return []
    hits, held = counted_trials(ranked)
    return [(count, expected_regret(hits, held, np.full(hits.shape, count), seed)) for count in _NEXT]
