"""Compute a comparison of policies again from trials.csv (docs/guides/policies.md of simjudge).

Of each cell (one policy at one task under one named condition), each policy, task and condition, and all cells
together: rates, W1 between real and simulated outcomes, chance, gap, p, verdict. Of the ranking of the policies: r,
rho, tau, MMRV and their p, the choice and what it costs, posteriors, which pairs are in order, what each task decides.
"""

from __future__ import annotations

import csv
import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simjudge.questions.certify.check_files import Array, Json, RefusedError, bounded
from simjudge.questions.certify.check_ranks import Rows, ranking_of
from simjudge.questions.certify.check_statistics import (
    AT_ZERO,
    SIGNIFICANCE,
    UNTESTED,
    Together,
    compare_class,
    entry_of,
    erf,
    normal_numbers,
    step_down,
    student,
    too_little,
)

TIE, GAPS = 1e-7, 400
MOST_NORMALS, LEAST_DRAWS, MOST_DRAWN = 2e8, 100, 1 << 24
"""Of many trials fewer normal numbers are drawn; numbers that one step of the permutations holds."""
TAKEN_POLICIES = (
    *("version", "losses", "notes", "parameters", "next", "next_regret", "sharpened", "contexts", "*.scope"),
    *(f"ranking*.{name}.{kind}" for name in ("r", "rho", "tau", "mmrv") for kind in ("interval", "redrawn")),
)
"""Of policies.json: what is not computed here, or what is computed with."""
UNCHECKED_POLICIES = (
    "that the trials are real: invented outcomes give numbers that agree",
    "sampling units and pairs: taken as the table has them",
    "that nothing was left out: other comparisons, trials, policies",
)

Widened = Callable[[float, float, float], tuple[float, float]]
"""From a gap and its interval to the ends that few samples leave open."""


def read_trials(path: Path) -> tuple[Rows, list[str]]:
    """The rows, and the names of the conditions that are words."""
    with path.open(encoding="utf-8", newline="") as stream:
        layout = json.loads(stream.readline().partition(": ")[2])
        rows = list(csv.DictReader(stream))
    bounded(len(rows), "contexts")
    if not all(0 <= float(row["outcome"]) <= 1 for row in rows):
        raise RefusedError(f"{path.name}: an outcome is not within 0 and 1")
    return rows, list(layout["words"])


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
            raise RefusedError("trials.csv: units must be numbered from 0 on")
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
                mine_below: Array = random.hypergeometric(total[0], total[1], count, size)[:, None]
            else:
                mine_below = np.cumsum(random.multivariate_hypergeometric(total, count, size, method="count"), 1)[
                    :, :-1
                ]
            signed = mine_below / count - (np.cumsum(total)[:-1] - mine_below) / len(sim)
            found.append(np.abs(signed) @ width)
    else:
        unit = np.unique(cells.unit[rows], return_inverse=True)[1].reshape(-1)
        below_of = np.zeros((int(unit.max()) + 1, len(levels)))
        np.add.at(below_of, (unit, held.reshape(-1)), 1.0)
        below_of = np.cumsum(below_of, 1)
        for size in parts_of(draws, len(below_of) + len(levels)):
            held_by = np.zeros((size, len(below_of)))
            held_by[:, : len(np.unique(cells.unit[real]))] = 1.0
            mine = random.permuted(held_by, axis=1) @ below_of
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
        return np.asarray(share / share.sum())

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
        rows |= {
            name: np.asarray(weight @ np.stack([part[name] for part in parts]))
            for name in ("around", "around_square", "extreme")
        }
        square = np.column_stack([self.permuted[told], self.w1[told]]) ** 2
        usual = square.mean(1, keepdims=True)
        tie = weight @ (square / np.where(usual > 0, usual, 1.0))
        chance = weight @ self.permuted[told] + TIE * (tie[:-1] - tie[-1])
        rows["adjusted"] = self.w1[told]
        mean = float(weight @ rows["adjusted"])
        known: Json = {"weight": weight, "chance": chance, "told": len(told) / len(chosen), "mean": mean}
        return Together(**known | rows)

    def judge(self, family: list[list[int]], least: float) -> list[Json]:
        """Judge groups of cells, each as one of several; p is at least that of all cells."""
        boots = [self.together(chosen) for chosen in family]
        units = [[self.cells.units(chosen, side) for side in (0, 1)] for chosen in family]
        why = [too_little(boot, held) for boot, held in zip(boots, units, strict=True)]
        tested = {k: boot for k, boot in enumerate(boots) if boot is not None and not why[k]}
        p = step_down({k: b.mean for k, b in tested.items()}, {k: b.chance for k, b in tested.items()})
        out = []
        for k, (chosen, boot) in enumerate(zip(family, boots, strict=True)):
            draws, entry = {"draws": self.permuted.shape[1]}, UNTESTED
            if draws["draws"]:
                entry = entry | {"verdict": "too_few", "verdict_reason": why[k], **draws, "margin": self.margin}
                entry |= {"units_a": units[k][0], "units_b": units[k][1]}
            if boot is not None:
                judged = why[k], max(p.get(k, 0.0), least), max(1, len(tested))
                spreads = student(max(1, min(units[k]) - 1))
                widen = self.widened(chosen, boot, min(units[k]))
                entry = entry_of(boot, units[k], self.margin, spreads, judged, widen) | draws
            out.append(self.rates(chosen) | entry)
        return out

    def widened(self, chosen: list[int], boot: Together, units: int) -> Widened:
        """How few trials, or outcomes that are all alike, widen an interval."""
        least, pull, hidden = np.array([cell_spread(self.cells, *self.cells.rows[k]) for k in self.told(chosen)]).T
        ends = widest_ends(boot, units, least, pull)
        most = float((boot.weight * hidden).max(initial=0.0))

        def widen(gap: float, low: float, high: float) -> tuple[float, float]:
            return min(low, ends[0]), min(boot.largest, gap + math.hypot(max(high, ends[1]) - gap, most))

        return widen

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


def policy_draws(said: Json, cells: PolicyCells) -> PolicyDraws:
    """Draw what the seed gives."""
    parameters = said["parameters"]
    draws, seed = int(parameters["draws"]), int(parameters["seed"])
    bounded(draws, "draws")
    w1 = np.array([w1_of(cells.outcome[real], cells.outcome[sim]) for real, sim in cells.rows])
    permuted, drawn = np.zeros((len(w1), 0)), list[dict[str, Array]]()
    if draws and not cells.is_rate:
        random = np.random.default_rng([seed, 2])
        bounded(draws * len(w1), "normal numbers")
        permuted = np.stack([permuted_cell(cells, *sides, draws, random) for sides in cells.rows])
        fewer = max(LEAST_DRAWS, min(draws, int(MOST_NORMALS / max(1, len(cells.outcome)))))
        drawn = drawn_cells(cells, fewer, seed)
    by_trials = parameters.get("weights") == "trials"
    return PolicyDraws(cells, w1, permuted, drawn, by_trials, float(parameters["margin"]))


def w1_of(first: Array, second: Array) -> float:
    """W1 of two samples: the area between their distribution functions."""
    values = np.unique(np.concatenate([first, second]))
    below = [np.searchsorted(np.sort(side), values[:-1], "right") / len(side) for side in (first, second)]
    return float(np.abs(below[0] - below[1]) @ np.diff(values))


def recompute_policies(folder: Path, said: Json) -> tuple[Json, list[str]]:
    """What trials.csv gives of policies.json."""
    rows, words = read_trials(folder / "trials.csv")
    cells = PolicyCells.of_rows(rows, words)
    if not cells.keys:
        raise RefusedError("no cell has trials of both sides")
    drawn, names, every = policy_draws(said, cells), ("policy", "task", *words), [*range(len(cells.keys))]
    [overall] = drawn.judge([every], 0.0)
    margin, seed = drawn.margin, int(said["parameters"]["seed"])
    tree: Json = {name: sorted({row[one] for row in rows}) for name, one in (("policies", "policy"), ("tasks", "task"))}
    tree |= {"overall": overall, "ranking": ranking_of(rows, margin, seed), "rankings": []}
    for place, kind in enumerate((*names, "cell")):
        values = cells.keys if kind == "cell" else [(key[place],) for key in cells.keys]
        groups, columns = sorted(set(values)), names if kind == "cell" else (kind,)
        judged = drawn.judge([[k for k in every if values[k] == group] for group in groups], overall["p_value"] or 0.0)
        tree[f"by_{kind}"] = [
            dict(zip(columns, group, strict=True)) | row for group, row in zip(groups, judged, strict=True)
        ]
        if kind in words:
            held = [(value, [row for row in rows if row[kind] == value]) for (value,) in groups]
            found = [(value, ranking_of(own, margin, seed)) for value, own in held]
            tree["rankings"] += [{"condition": kind, "value": value, **one} for value, one in found if one is not None]
    return tree, []
