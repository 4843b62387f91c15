"""What the error of the estimated cameras does to the parts of a gap: the gap is shared anew under other estimates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.display import ShortRepr
from simjudge.questions.explain.attribution import Causes, all_subsets, shapley_values
from simjudge.questions.explain.excess_judge import ExcessJudge
from simjudge.sim.sensors.camera_matching.camera_estimation import EstimationError

_MOST_IN_FULL = 3
"""Causes up to which all sets of them are tried under every estimate: 2^3."""
_STREAM = 29


@dataclass(frozen=True, repr=False)
class PartErrors(ShortRepr):
    """By how much the parts of a gap move with the estimate: (D,) each, 0 first, then in each draw.

    Attributes:
        parts, alone, last: by cause, of its part, and of what it closes alone and after the others.
    """

    parts: Mapping[str, FloatArray]
    alone: Mapping[str, FloatArray]
    last: Mapping[str, FloatArray]
    rest: FloatArray


def part_errors(judge: ExcessJudge, error: EstimationError, found: Sequence[str], players: Sequence[str]) -> PartErrors:
    """Share the gap anew under other estimates, and draw from how the parts differ."""
    truth = _numbers(judge, found, players)
    moved = [_numbers(judge.with_difference(each), found, players) - truth for each in (*error.refits, error.corrected)]
    spread, known = np.array(moved[:-1]), moved[-1]
    count, draws = len(spread), len(judge.excess[frozenset()]) - 1
    random = np.random.default_rng([judge.settings.seed, _STREAM])
    # Student's t of the spread, so that few estimates do not pass for certain. What is known to be off may be so
    # either way.
    scale = np.sqrt(random.chisquare(count, draws) / count)
    drawn = random.standard_normal((draws, count)) @ spread / np.sqrt(count) / scale[:, None]
    drawn += random.standard_normal(draws)[:, None] * known
    columns = np.concatenate([np.zeros((1, len(truth))), drawn]).T
    parts, rest = columns[: len(players)], columns[len(players)]
    alone, last = np.split(columns[len(players) + 1 :], 2)
    by_name = [dict(zip(names, values, strict=True))
               for names, values in ((players, parts), (found, alone), (found, last))]  # fmt: skip
    return PartErrors(by_name[0], by_name[1], by_name[2], rest)


def _numbers(judge: ExcessJudge, found: Sequence[str], players: Sequence[str]) -> FloatArray:
    """Parts of the players, what is left, and what each cause closes alone and after the others."""
    none, every, shared = frozenset[str](), frozenset(found), frozenset(players)
    wanted: list[Causes] = [none, every, shared]
    wanted += [frozenset({name}) for name in found] + [every - {name} for name in found]
    full = all_subsets(players) if len(players) <= _MOST_IN_FULL else []
    values = judge([*wanted, *full])
    left = {causes: float(value[0]) for causes, value in zip([*wanted, *full], values, strict=True)}
    alone = np.array([left[none] - left[frozenset({name})] for name in found])
    last = np.array([left[every - {name}] - left[every] for name in found])
    if full:
        shares = shapley_values({causes: np.array([left[causes]]) for causes in full}, players)
        parts = np.array([shares[name][0] for name in players])
    else:
        # Between what a cause closes first and last; the parts and what is left are the whole.
        rows = [list(found).index(name) for name in players]
        parts = (alone + last)[rows] / 2
        parts += (left[none] - left[shared] - parts.sum()) / len(players)
    return np.concatenate([parts, [left[shared]], alone, last])
