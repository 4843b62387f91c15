"""Check a dossier of policies: `python verify.py [FOLDER]`. It needs Python 3.10 or later and NumPy.

Each file must be the one that manifest.sha256 and dossier.json name. Then these are computed again from trials.csv, by
the plain definitions, and policies.json must say them:

* Of each cell (one policy at one task under one named condition), each policy, task and condition, and all cells
  together: rates, W1 between real and simulated outcomes, its level of chance, noise, the gap with its interval, p and
  corrected p, the gap that would have been shown, the verdict and its reason. Permutations and normal numbers are those
  of the seed.
* r, rho, MMRV over the policies, their p over all orders of up to eight policies, the choice and what it costs as
  measured, and whether it is right without each task.

What it does not check is named at the end. Exit code 0: everything agrees; 1: something does not.
"""

from __future__ import annotations

import csv
import itertools
import json
import math
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from simjudge.questions.certify.check import (
    AT_ZERO,
    FEWEST_UNITS,
    LEAST_TOLD,
    NOISE_DOUBT,
    POWER,
    SIGNIFICANCE,
    UNREADABLE,
    WORDS,
    Array,
    Json,
    RefusedError,
    Together,
    agree,
    bounded,
    check_results,
    compare_class,
    doubted_gap,
    erf,
    estimate_gap,
    gap_behind,
    gap_draws,
    largest_even_gap,
    normal_numbers,
    number,
    p_of,
    print_check,
    read_json,
    said_of,
    step_down,
    student,
    verdict_by_margin,
)

TRIALS, POLICIES = "trials.csv", "policies.json"
ALL_ORDERS, TIE, GAPS = 8, 1e-7, 400
MOST_NORMALS, LEAST_DRAWS, MOST_DRAWN = 2e8, 100, 1 << 24
"""Of many trials fewer normal numbers are drawn; numbers that one step of the permutations holds."""
UNDECIDED_CELLS = ("too_few", "not_tested", "no_overlap")
UNCHECKED_POLICIES = (
    "that the trials are real: invented outcomes give numbers that agree",
    "sampling units and pairs: taken as the table has them",
    "that nothing was left out: other comparisons, trials, policies",
    "posteriors (chance of the right choice, expected loss), intervals of r, rho and MMRV, the ranking's verdict",
    "rankings under single conditions, sharpened means, next trials, contexts of numbers",
    "words and pictures of the page: simjudge certify --check makes the page again",
)

Rows = list[dict[str, str]]


def read_trials(path: Path) -> tuple[Rows, list[str]]:
    """The rows, and the names of the conditions that are words."""
    with path.open(encoding="utf-8", newline="") as stream:
        layout = json.loads(stream.readline().partition(": ")[2])
        rows = list(csv.DictReader(stream))
    bounded(len(rows), "contexts")
    if not all(0 <= float(row["outcome"]) <= 1 for row in rows):
        raise RefusedError(f"{path.name}: an outcome is not within 0 and 1")
    return rows, list(layout["words"])


def distance(first: Array, second: Array) -> float:
    """W1 of two samples: the area between their distribution functions."""
    values = np.unique(np.concatenate([first, second]))
    below = [np.searchsorted(np.sort(side), values[:-1], "right") / len(side) for side in (first, second)]
    return float(np.abs(below[0] - below[1]) @ np.diff(values))


@dataclass(frozen=True)
class PolicyCells:
    """Trials by cell, in the order of the cells' names; rows of the real and of the simulated trials of each."""

    keys: list[tuple[str, ...]]
    rows: list[tuple[Array, Array]]
    outcome: Array
    unit: Array
    pair: Array  # -1: none
    is_rate: bool

    @classmethod
    def of_rows(cls, rows: Rows, words: list[str]) -> PolicyCells:
        """Read the columns; a cell that one side alone has is left out."""
        cells: dict[tuple[str, ...], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for place, row in enumerate(rows):
            cells[tuple(row[name] for name in ("policy", "task", *words))][row["side"] != "real"].append(place)
        keys = sorted(key for key, sides in cells.items() if all(sides))
        names = sorted({row["pair"] for row in rows})
        pair = np.array([names.index(row["pair"]) if row["pair"] else -1 for row in rows], np.int64)
        unit = np.array([int(row["unit"].removeprefix("u")) for row in rows], np.int64)
        if (unit < 0).any() or (unit >= 2 * len(rows)).any():
            raise RefusedError(f"{TRIALS}: units must be numbered from 0 on")
        held = [(np.array(cells[key][0]), np.array(cells[key][1])) for key in keys]
        rates = any(rows[place]["is_rate"] == "True" for sides in held for side in sides for place in side.tolist())
        return cls(keys, held, np.array([float(row["outcome"]) for row in rows]), unit, pair, rates)

    @property
    def alone(self) -> bool:
        """Whether each trial is a unit of its own."""
        return bool(np.bincount(self.unit).max() <= 1)

    def pairs(self, real: Array, sim: Array) -> Array:
        """(P, 2) rows of a real and a simulated trial from the same initial state, where these are half or more."""
        first, second = real[self.pair[real] >= 0], sim[self.pair[sim] >= 0]
        _, i, j = np.intersect1d(self.pair[first], self.pair[second], return_indices=True)
        found = np.stack([first[i], second[j]], 1)
        return found if 2 * len(found) >= max(len(real), len(sim)) else found[:0]

    def units(self, chosen: list[int], side: int) -> int:
        """How many sampling units some cells have on a side."""
        return len(np.unique(self.unit[np.concatenate([self.rows[k][side] for k in chosen])]))


def parts_of(draws: int, width: int) -> Iterator[int]:
    """How many draws each step makes."""
    step = max(1, MOST_DRAWN // max(1, width))
    return (min(draws, k + step) - k for k in range(0, draws, step))


def permuted_cell(cells: PolicyCells, real: Array, sim: Array, draws: int, random: np.random.Generator) -> Array:
    """(draws,) W1 of a cell after its units were dealt anew to the two sides, or swapped within their pairs."""
    rows = np.concatenate([real, sim])
    outcome = cells.outcome
    levels, held = np.unique(outcome[rows], return_inverse=True)
    width, found, paired = np.diff(levels), [np.zeros(0)], cells.pairs(real, sim)
    if len(levels) == 1:
        return np.zeros(draws)
    if len(paired):
        free = [np.setdiff1d(side, paired[:, k]) for k, side in enumerate((real, sim))]
        below = [np.searchsorted(np.sort(outcome[side]), levels[:-1], "right") for side in free]
        swap = (outcome[paired][:, :, None] <= levels[:-1]).astype(np.float64)
        fixed, half = (swap[:, 0].sum(0) + swap[:, 1].sum(0)) / 2, (swap[:, 0] - swap[:, 1]) / 2
        for size in parts_of(draws, len(paired)):
            moved = random.choice((-1.0, 1.0), (size, len(paired))) @ half
            signed = (fixed + moved + below[0]) / len(real) - (fixed - moved + below[1]) / len(sim)
            found.append(np.abs(signed) @ width)
    elif cells.alone:
        total, count = np.bincount(held, minlength=len(levels)), len(real)
        for size in parts_of(draws, len(levels)):
            if len(levels) == 2:
                mine = random.hypergeometric(total[0], total[1], count, size)[:, None]
            else:
                mine = random.multivariate_hypergeometric(total, count, size, method="count")
                mine = np.cumsum(mine, 1)[:, :-1]
            signed = mine / count - (np.cumsum(total)[:-1] - mine) / len(sim)
            found.append(np.abs(signed) @ width)
    else:
        unit = np.unique(cells.unit[rows], return_inverse=True)[1].reshape(-1)
        below_of = np.zeros((int(unit.max()) + 1, len(levels)))
        np.add.at(below_of, (unit, held.reshape(-1)), 1.0)
        below_of = np.cumsum(below_of, 1)
        for size in parts_of(draws, len(below_of) + len(levels)):
            dealt = np.zeros((size, len(below_of)))
            dealt[:, : len(np.unique(cells.unit[real]))] = 1.0
            mine = random.permuted(dealt, axis=1) @ below_of
            other = below_of.sum(0) - mine
            found.append(np.abs(mine[:, :-1] / mine[:, -1:] - other[:, :-1] / other[:, -1:]) @ width)
    return np.concatenate(found)


def drawn_cells(cells: PolicyCells, draws: int, seed: int) -> list[dict[str, Array]]:
    """What the normal numbers give for each cell; no "own" where a side of it is a single unit."""
    rows = np.concatenate([side for of in (0, 1) for side in (each[of] for each in cells.rows)])
    key = np.where(cells.pair[rows] >= 0, cells.pair[rows], cells.unit[rows] + cells.pair[rows].max() + 1)
    unit, place = np.zeros(len(cells.unit), np.int64), np.unique(key, return_inverse=True)[1].reshape(-1)
    unit[rows] = place
    every, of_a = np.zeros(len(unit), np.int64), np.zeros(len(unit), bool)
    of_a[rows[: sum(len(real) for real, _ in cells.rows)]] = True
    table = {"performance": cells.outcome, "of_a": of_a, "unit": unit, "block": every - 1}
    table["expected"] = np.full((len(unit), 2), np.nan)
    normals = normal_numbers(table, draws, seed, (int(place.max()) + 1, 0))
    found = []
    for real, sim in cells.rows:
        own, counted = np.concatenate([real, sim]), np.zeros(len(unit), bool)
        counted[real[0]] = True  # one real trial stands for its cell, which counts once
        everything = np.arange(len(own))
        alike, same = [everything] * len(own), np.zeros(len(own), np.int64)
        found.append(compare_class(table, own, alike, same, normals[own], 1, counted))
    return found


def cell_spread(cells: PolicyCells, real: Array, sim: Array) -> tuple[float, float, float]:
    """The least spread of a cell's difference, how much nearer to 0 it is by a unit at either end, what may hide."""
    paired = cells.pairs(real, sim)
    if len(paired):
        difference, count = cells.outcome[paired[:, 0]] - cells.outcome[paired[:, 1]], len(paired) + 2
        centre = float(difference.sum()) / count
        size = math.sqrt((float((difference**2).sum() + 1) / count - centre**2) / count)
        hidden = 0.0 if difference.any() else 1 - (SIGNIFICANCE / 2) ** (1 / len(paired))
        return size, abs(float(difference.mean())) - abs(centre), hidden
    sides = [cells.outcome[side] for side in (real, sim)]
    units = sides if cells.alone else [unit_means(cells, side) for side in (real, sim)]
    smooth = [smoothed(values, outcomes) for values, outcomes in zip(units, sides, strict=True)]
    measured, centre = float(units[0].mean() - units[1].mean()), smooth[0][0] - smooth[1][0]
    same = len(np.unique(np.concatenate(sides))) == 1
    hidden = 1 - (SIGNIFICANCE / 2) ** (1 / min(map(len, units))) if same else 0.0
    return math.sqrt(smooth[0][1] + smooth[1][1]), abs(measured) - math.copysign(centre, measured * centre), hidden


def unit_means(cells: PolicyCells, rows: Array) -> Array:
    """The mean outcome of each unit of some trials."""
    unit = np.unique(cells.unit[rows], return_inverse=True)[1].reshape(-1)
    return np.bincount(unit, cells.outcome[rows]) / np.bincount(unit)


def smoothed(units: Array, outcomes: Array) -> tuple[float, float]:
    """Mean of a side and the variance of that mean, with a unit at either end where outcomes are few or alike."""
    if not np.isin(outcomes, (0.0, 0.5, 1.0)).all() and np.ptp(units) > 0:
        return float(units.mean()), float(units.var(ddof=1)) / len(units)
    count = len(units) + 2
    centre = float(units.sum() + 1) / count
    return centre, (float((units**2).sum() + 1) / count - centre**2) / count


def widest_ends(boot: Together, units: int, least: Array, pull: Array) -> tuple[float, float]:
    """Ends of the gap from differences that are about normal in each cell (docs/guides/policies.md of simjudge)."""
    spread = np.maximum(boot.noise / AT_ZERO, least)

    def moments(gap: Array) -> tuple[Array, Array]:
        ratio = gap / np.where(spread > 0, spread, 1.0)
        folded = spread * (AT_ZERO * np.exp(-(ratio**2) / 2) + ratio * erf(ratio / math.sqrt(2)))
        folded = np.where(spread > 0, folded, gap)
        return folded, np.maximum(0.0, gap**2 + spread**2 - folded**2)

    tried = np.linspace(0.0, boot.largest, GAPS + 1)
    expected, variance = moments(tried[:, None] * np.ones(len(spread)))
    alone = float(boot.weight**2 @ moments(boot.adjusted[None])[1][0])
    shared = max(1.0, float(boot.around.var()) / alone) if alone > 0 else 1.0
    width = student(max(1, units - 1))
    low = max(0.0, boot.mean - math.sqrt(shared * float(boot.weight**2 @ (pull + width * spread) ** 2)))
    lower = expected @ boot.weight - width * np.sqrt(shared * (variance @ boot.weight**2))
    held = np.flatnonzero(lower <= boot.mean + 1e-12)
    last = int(held[-1]) if len(held) else 0
    if last == GAPS:
        return low, boot.largest
    share = (boot.mean - lower[last]) / (lower[last + 1] - lower[last])
    return low, float(tried[last] + min(1.0, max(0.0, share)) * (tried[1] - tried[0]))


@dataclass(frozen=True)
class PolicyDraws:
    """All that cells are judged by."""

    cells: PolicyCells
    w1: Array
    permuted: Array
    drawn: list[dict[str, Array]]
    by_trials: bool
    margin: float

    def weight(self, chosen: list[int]) -> Array:
        """The share of each cell."""
        share = np.array([len(self.cells.rows[k][0]) if self.by_trials else 1 for k in chosen], np.float64)
        return share / share.sum()

    def told(self, chosen: list[int]) -> list[int]:
        """The cells that carry draws."""
        return [k for k in chosen if self.drawn and len(self.drawn[k]["own"])]

    def together(self, chosen: list[int]) -> Together | None:
        """The draws of some cells; what p compares with are permutations, of one mean ordered by their squares."""
        told = self.told(chosen)
        if not told:
            return None
        weight, parts = self.weight(told), [self.drawn[k] for k in told]
        rows = {
            name: np.concatenate([part[name] for part in parts]) for name in ("units", "adjusted", "noise", "square")
        }
        draws = {
            name: np.asarray(weight @ np.stack([part[name] for part in parts]))
            for name in ("around", "around_square", "extreme")
        }
        square = np.column_stack([self.permuted[told], self.w1[told]]) ** 2
        usual = square.mean(1, keepdims=True)
        tie = weight @ (square / np.where(usual > 0, usual, 1.0))
        chance = weight @ self.permuted[told] + TIE * (tie[:-1] - tie[-1])
        rows["adjusted"] = self.w1[told]
        mean = float(weight @ rows["adjusted"])
        return Together(weight=weight, chance=chance, told=len(told) / len(chosen), mean=mean, **rows, **draws)

    def reason(self, chosen: list[int], boot: Together | None) -> str:
        """Why there is too little to tell."""
        if min(self.cells.units(chosen, side) for side in (0, 1)) < FEWEST_UNITS:
            return "few_units"
        if boot is None:
            return "lone_units"
        if boot.told < LEAST_TOLD:
            return "lone_units"
        if 1 / (1 + len(boot.chance)) > SIGNIFICANCE:
            return "few_draws"
        return "uneven_units" if p_of(1.0, boot.extreme) > SIGNIFICANCE else ""

    def judge(self, family: list[list[int]], least: float) -> list[Json]:
        """Judge groups of cells, each as one of several; p is at least that of all cells."""
        boots = [self.together(chosen) for chosen in family]
        reasons = [self.reason(chosen, boot) for chosen, boot in zip(family, boots, strict=True)]
        tested = {k: boot for k, boot in enumerate(boots) if boot is not None and not reasons[k]}
        corrected = step_down({k: b.mean for k, b in tested.items()}, {k: b.chance for k, b in tested.items()})
        out = []
        for k, (chosen, boot) in enumerate(zip(family, boots, strict=True)):
            p = max(corrected[k], least) if k in corrected else None
            out.append(self.rates(chosen) | self.entry(chosen, boot, reasons[k], p, max(1, len(tested))))
        return out

    def rates(self, chosen: list[int]) -> Json:
        """What needs no draws."""
        weight, rows = self.weight(chosen), [self.cells.rows[k] for k in chosen]
        rate = weight @ np.array([[self.cells.outcome[side].mean() for side in sides] for sides in rows])
        drawn = self.permuted.shape[1] > 0
        return {
            "cells": len(chosen),
            "trials_real": sum(len(real) for real, _ in rows),
            "trials_sim": sum(len(sim) for _, sim in rows),
            "rate_real": float(rate[0]),
            "rate_sim": float(rate[1]),
            "w1": float(weight @ self.w1[chosen]),
            "permutation_floor": float((weight @ self.permuted[chosen]).mean()) if drawn else None,
        }

    def entry(self, chosen: list[int], boot: Together | None, why: str, p: float | None, family: int) -> Json:
        """Numbers and verdict of some cells."""
        draws, units = self.permuted.shape[1], [self.cells.units(chosen, side) for side in (0, 1)]
        entry: Json = {"verdict": "not_tested", "verdict_reason": "", "draws": 0, "units_a": 0, "units_b": 0}
        if draws:
            entry |= {"draws": draws, "units_a": units[0], "units_b": units[1]}
        if boot is None:
            return entry | ({"verdict": "too_few", "verdict_reason": why} if draws else {})
        gap, share, size = estimate_gap(boot)
        wide, alone = student(max(1, min(units) - 1)), p_of(boot.mean, boot.chance)
        error = wide * float(gap_draws(boot).std())
        even = largest_even_gap(boot, wide * float(boot.around.std()), boot.noise * (1 - NOISE_DOUBT / boot.units))
        low = 0.0 if alone > SIGNIFICANCE else max(0.0, doubted_gap(boot, 1) - error)
        high = min(boot.largest, max(doubted_gap(boot, -1) + error, even))
        told = self.told(chosen)
        least, pull, hidden = np.array([cell_spread(self.cells, *self.cells.rows[k]) for k in told]).T
        ends = widest_ends(boot, min(units), least, pull)
        low, high = min(low, ends[0]), max(high, ends[1])
        most = float((boot.weight * hidden).max(initial=0.0))
        high = min(boot.largest, gap + math.hypot(high - gap, most))
        needed = float(np.quantile(boot.chance, 1 - SIGNIFICANCE / family))
        entry |= {
            "noise": float(boot.weight @ boot.noise),
            "noise_q95": float(np.quantile(boot.chance, 1 - SIGNIFICANCE)),
            "gap": gap,
            "gap_low": low,
            "gap_high": high,
            "gap_share": share,
            "gap_size": size,
            "p_value": alone,
            "drawn_share": 1.0,
        }
        if why or p is None:
            return entry | {"verdict": "too_few", "verdict_reason": why, "p_adjusted": None, "detectable_gap": None}
        verdict = verdict_by_margin(p, low, high, self.margin)
        shown = gap_behind(needed + POWER * float(boot.around.std()), boot)
        return entry | {"p_adjusted": p, "verdict": verdict, "detectable_gap": shown}


def policy_draws(said: Json, cells: PolicyCells) -> PolicyDraws:
    """Draw what the seed gives."""
    parameters = said["parameters"]
    draws, seed = int(parameters["draws"]), int(parameters["seed"])
    bounded(draws, "draws")
    w1 = np.array([distance(cells.outcome[real], cells.outcome[sim]) for real, sim in cells.rows])
    permuted, drawn = np.zeros((len(w1), 0)), list[dict[str, Array]]()
    if draws and not cells.is_rate:
        random = np.random.default_rng([seed, 2])
        bounded(draws * len(w1), "normal numbers")
        permuted = np.stack([permuted_cell(cells, *sides, draws, random) for sides in cells.rows])
        fewer = max(LEAST_DRAWS, min(draws, int(MOST_NORMALS / max(1, len(cells.outcome)))))
        drawn = drawn_cells(cells, fewer, seed)
    by_trials = parameters.get("weights") == "trials"
    return PolicyDraws(cells, w1, permuted, drawn, by_trials, float(parameters["margin"]))


def check_policies(folder: Path) -> tuple[list[str], list[str]]:
    """A line for what is judged; what policies.json says and the trials do not."""
    try:
        said = read_json(folder / POLICIES)
        rows, words = read_trials(folder / TRIALS)
        cells = PolicyCells.of_rows(rows, words)
        if not cells.keys:
            raise RefusedError("no cell has trials of both sides")
        drawn, names = policy_draws(said, cells), ("policy", "task", *words)
        everything = list(range(len(cells.keys)))
        [overall] = drawn.judge([everything], 0.0)
        lines = [f"all cells: {WORDS[overall['verdict']]}: gap {number(overall.get('gap'))}"]
        wrong = differing_row("all cells", said["overall"], overall, drawn.margin)
        for place, kind in enumerate((*names, "cell")):
            values = [(key[place],) for key in cells.keys] if kind != "cell" else cells.keys
            groups = sorted(set(values))
            chosen = [[k for k in everything if values[k] == group] for group in groups]
            columns = names if kind == "cell" else (kind,)
            stated = said[f"by_{kind}"]
            if [tuple(row[name] for name in columns) for row in stated] != groups:
                wrong.append(
                    f"by_{kind}: {len(groups)} rows are found, {len(stated)} are stated, or called differently"
                )
                continue
            least = overall.get("p_value") or 0.0
            for group, row, found in zip(groups, stated, drawn.judge(chosen, least), strict=True):
                wrong += differing_row(", ".join(group), row, found, drawn.margin, columns)
        ranks = len({row["policy"] for row in rows}) > 1
        if said["ranking"] is not None:
            wrong += wrong_ranking(said["ranking"], rows)
        elif ranks and all(len({key[0] for key in cells.keys if key[1] == task}) > 1 for _, task, *_ in cells.keys):
            wrong.append("ranking: none is stated, though two policies have trials of both sides at each task")
    except UNREADABLE as error:
        return [], [f"cannot be computed: {said_of(error)}"]
    return lines, wrong


def differing_row(what: str, row: Json, found: Json, margin: float, names: tuple[str, ...] = ()) -> list[str]:
    """A line for each field that is not what was found."""
    more = dict.fromkeys(
        ("adjusted_w1", "noise", "noise_q95", "gap", "gap_low", "gap_high", "gap_share", "gap_size", "detectable_gap"),
    )
    more |= dict.fromkeys(("p_value", "p_adjusted", "drawn_share", "verdict_below", "verdict_above"))
    known = {**more, **found, "margin": margin}
    return [
        f"{what}, {name}: {row.get(name, 'nothing')} is stated, {known.get(name)} is found"
        for name in (*known, *(name for name in row if name not in known and row[name] is not None))
        if name not in (*names, "scope") and not agree(row.get(name, "missing"), known.get(name))
    ]


def differs(what: str, found: float, stated: Any) -> list[str]:
    """A line where two numbers do not agree; NaN is stated as none."""
    right = None if math.isnan(found) else float(found)
    return [] if agree(stated, right) else [f"{what}: {stated} is stated, {right} is found"]


def correlation(first: Array, second: Array) -> float:
    """Pearson's r; NaN where a side is constant."""
    a, b = first - first.mean(), second - second.mean()
    size = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / size if size > 1e-12 else math.nan


def mean_ranks(values: Array) -> Array:
    """Ranks; ties have their mean."""
    return np.array([(values < value).sum() + ((values == value).sum() + 1) / 2 for value in values])


def violation(real: Array, sim: Array) -> float:
    """MMRV."""
    worst = [
        max(abs(real[i] - real[j]) * ((sim[i] > sim[j]) != (real[i] > real[j])) for j in range(len(real)))
        for i in range(len(real))
    ]
    return float(np.mean(worst))


def wrong_ranking(said: Json, rows: Rows) -> list[str]:
    """What the ranking says and the trials do not."""
    cells: dict[tuple[str, str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        cells[row["side"], row["policy"], row["task"]][row["unit"]].append(float(row["outcome"]))
    policies, tasks = said["policies"], said["tasks"]
    rate = np.array(
        [
            [[np.mean([np.mean(unit) for unit in cells[side, p, t].values()]) for t in tasks] for p in policies]
            for side in ("real", "sim")
        ]
    )
    # Rounded, since the order of the tasks must break no tie.
    real, sim = rate.mean(2).round(12)
    wrong = []
    for name, values in (("real", real), ("sim", sim)):
        for policy, found, stated in zip(policies, values, said[name], strict=True):
            wrong += differs(f"{name} rate of {policy}", float(found), stated)
    wrong += wrong_measures(said, real, sim)
    chosen = worst_of_first(real, sim)
    stated = policies.index(said["by_sim"]["policy"])
    if (sim[stated], real[stated]) != (sim[chosen], real[chosen]):
        wrong.append(f"choice: {said['by_sim']['policy']} is stated, {policies[chosen]} is found")
    wrong += differs("points lost", float(real.max() - real[chosen]), said["by_sim"]["regret"])
    for k, each in enumerate(said["kept_without"]):
        left = np.delete(rate, k, 2).mean(2).round(12)
        right = bool(left[0][worst_of_first(*left)] == left[0].max())
        if right != each["right"]:
            wrong.append(f"without {each['task']}: {each['right']} is stated, {right} is found")
    return wrong


def worst_of_first(real: Array, sim: Array) -> int:
    """The policy that the simulation ranks first; of several alike the one that does worst on the robot."""
    first = np.flatnonzero(sim == sim.max())
    return int(first[real[first].argmin()])


def wrong_measures(said: Json, real: Array, sim: Array) -> list[str]:
    """r, rho and MMRV, and their p over all orders."""
    measures = {
        "r": correlation,
        "rho": lambda a, b: correlation(mean_ranks(a), mean_ranks(b)),
        "mmrv": violation,
    }
    wrong = []
    for name, measure in measures.items():
        value = measure(real, sim)
        wrong += differs(name, value, said[name]["value"])
        if len(real) <= ALL_ORDERS and not math.isnan(value):
            other = np.array([measure(real, sim[list(order)]) for order in itertools.permutations(range(len(real)))])
            reached = other <= value + 1e-12 if name == "mmrv" else other >= value - 1e-12
            wrong += differs(f"p of {name}", float(reached.mean()), said[name]["p_value"])
    return wrong


def check_policy_dossier(folder: Path) -> tuple[list[str], list[str]]:
    """What was found, and what is wrong; a line each."""
    return check_results(folder, check_policies, UNCHECKED_POLICIES)


def main() -> int:
    """Check a dossier of policies."""
    return print_check(check_policy_dossier)


if __name__ == "__main__":
    sys.exit(main())
