"""Compute a ranking of policies again from their trials: docs/guides/policies.md of simjudge."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np

from simjudge.questions.certify.check_files import Array, Json
from simjudge.questions.certify.check_statistics import SIGNIFICANCE, holm

ALL_ORDERS, DRAWN, POSTERIOR, PAIRS, SLACK = 8, 10_000, 20_000, 500, 1e-12
Rows = list[dict[str, str]]


@dataclass(frozen=True)
class RankedRates:
    """Policies at the tasks that all of them have on both sides: units' outcomes, and rates (2, P, T)."""

    policies: list[str]
    tasks: list[str]
    outcomes: list[list[list[Array]]]
    rate: Array
    tested: bool

    @classmethod
    def of_rows(cls, rows: Rows) -> RankedRates | None:
        """Read the outcomes; None where nothing can be ranked."""
        cells: dict[tuple[str, str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for row in rows:
            side = "real" if row["side"] == "real" else "sim"
            cells[side, row["policy"], row["task"]][row["unit"]].append(float(row["outcome"]))
        policies, tasks = (sorted({row[name] for row in rows}) for name in ("policy", "task"))
        both = {p: {t for t in tasks if ("real", p, t) in cells and ("sim", p, t) in cells} for p in policies}
        policies = [p for p in policies if both[p]]
        while len(policies) > 2 and not set.intersection(*(both[p] for p in policies)):
            policies.remove(min(policies, key=lambda p: len(both[p])))
        tasks = sorted(set.intersection(*(both[p] for p in policies))) if policies else []
        if len(policies) < 2 or not tasks:
            return None
        alone = max(Counter(row["unit"] for row in rows).values()) == 1

        def units(side: str, policy: str, task: str) -> Array:
            held = cells[side, policy, task]
            order = held if alone else sorted(held, key=lambda unit: int(unit.removeprefix("u")))
            return np.array([np.mean(held[unit]) for unit in order])

        outcomes = [[[units(side, p, t) for t in tasks] for p in policies] for side in ("real", "sim")]
        rate = np.array([[[values.mean() for values in each] for each in side] for side in outcomes])
        known = all(row["is_rate"] != "True" for row in rows if row["policy"] in policies and row["task"] in tasks)
        return cls(policies, tasks, outcomes, rate, known)

    def variance(self) -> Array:
        """(2,) mean over policies of the variance of a policy's rate, by its trials."""
        found = [[[unit_variance(y) / len(y) for y in each] for each in side] for side in self.outcomes]
        return np.asarray(np.array(found).sum(2).mean(1) / len(self.tasks) ** 2)

    def posterior(self, side: int, seed: int) -> Array:
        """(draws, P) rate of each policy: Jeffreys' prior in a cell of successes, the bootstrap in any other."""
        random, found = np.random.default_rng([seed, 4, side]), np.zeros((POSTERIOR, len(self.policies)))
        for p, tasks in enumerate(self.outcomes[side]):
            for values in tasks:
                if np.isin(values, (0.0, 1.0)).all():
                    hits = float(values.sum())
                    found[:, p] += random.beta(hits + 0.5, len(values) - hits + 0.5, POSTERIOR)
                else:
                    found[:, p] += random.dirichlet(np.ones(len(values)), POSTERIOR) @ values
        return found / len(self.tasks)

    def pair_p(self, side: int, i: int, j: int, random: np.random.Generator) -> float:
        """Two-sided p of a difference of two policies: trials dealt anew within each task."""
        total, observed = np.zeros(DRAWN), 0.0
        for ours, theirs in zip(self.outcomes[side][i], self.outcomes[side][j], strict=True):
            values, count = np.concatenate([ours, theirs]), len(ours)
            observed += ours.mean() - theirs.mean()
            levels, of_level = np.unique(values, return_counts=True)
            if len(levels) == 1:
                continue
            if len(levels) == 2:
                few = random.hypergeometric(of_level[0], of_level[1], count, DRAWN)
                mine = few * levels[0] + (count - few) * levels[1]
            else:
                mine = random.multivariate_hypergeometric(of_level, count, DRAWN, method="count") @ levels
            total += mine / count - (values.sum() - mine) / len(theirs)
        return float((1 + (np.abs(total) >= abs(observed) - SLACK).sum()) / (1 + DRAWN))

    def normal_p(self, side: int, i: int, j: int) -> float:
        """The same of many pairs, by the variance that dealing trials anew gives a difference."""
        variance, difference = 0.0, 0.0
        for ours, theirs in zip(self.outcomes[side][i], self.outcomes[side][j], strict=True):
            both = np.concatenate([ours, theirs])
            variance += float(both.var(ddof=1)) * (1 / len(ours) + 1 / len(theirs))
            difference += float(ours.mean() - theirs.mean())
        return math.erfc(abs(difference) / math.sqrt(2 * variance)) if variance > 0 else 1.0

    def order(self, seed: int) -> Array:
        """(P, P) 1 where a pair has a certain order on both sides (Holm), the same one; -1 where opposite ones."""
        count, random = len(self.policies), np.random.default_rng([seed, 5])
        pairs, certain = list(itertools.combinations(range(count), 2)), np.zeros((2, count, count), bool)
        for side in (0, 1) if self.tested else ():
            dealt = len(pairs) <= PAIRS
            p = holm({k: self.pair_p(side, *k, random) if dealt else self.normal_p(side, *k) for k in pairs})
            for i, j in pairs:
                certain[side, i, j] = certain[side, j, i] = p[i, j] <= SIGNIFICANCE
        mean = self.rate.mean(2).round(12)
        difference = mean[:, :, None] - mean[:, None, :]
        return np.where(certain.all(0), np.sign(difference[0] * difference[1]), 0.0)


def unit_variance(values: Array) -> float:
    """Of an outcome. Ten successes of ten do not say that no trial ever fails."""
    if np.isin(values, (0.0, 1.0)).all():
        rate = (float(values.sum()) + 0.5) / (len(values) + 1)
        return rate * (1 - rate)
    return float(values.var(ddof=1)) if len(values) > 1 else 0.25


def choice_of(held: RankedRates, by: Array, real: Array, posterior: Array | None) -> Json:
    """The policy that one side ranks first, of several alike the one that does worst on the robot; what it costs."""
    chosen = worst_of_first(real, by)
    said = {"regret": float(real.max() - real[chosen]), "chance_right": None, "expected_regret": None}
    if posterior is not None:
        first = np.flatnonzero((by == by.max()) & (real == real[chosen]))
        best = posterior.max(1, keepdims=True)
        expected = (best - posterior[:, first]).mean(0)
        chosen = int(first[expected.argmax()])
        right = float((posterior[:, chosen] >= best[:, 0]).mean())
        said |= {"chance_right": right, "expected_regret": float(expected.max())}
    return {"policy": held.policies[chosen], **said}


def ranking_of(rows: Rows, margin: float, seed: int) -> Json | None:
    """The ranking of the policies; None where fewer than two can be ranked."""
    held = RankedRates.of_rows(rows)
    if held is None:
        return None
    # Rounded, since the order of the tasks must break no tie.
    count, (real, sim) = len(held.policies), held.rate.mean(2).round(12)
    posterior = [held.posterior(side, seed) for side in (0, 1)] if held.tested else [None, None]
    choices, order = [choice_of(held, by, real, posterior[0]) for by in (sim, real)], held.order(seed)
    ties = math.prod(math.factorial(int(tie)) for tie in np.unique(sim, return_counts=True)[1])
    least, measures = ties / math.factorial(count), measures_of(real, sim, seed)
    reliability = [
        1 - float(noise / spread) if held.tested and spread > SLACK else None
        for noise, spread in zip(held.variance(), (real.var(ddof=1), sim.var(ddof=1)), strict=True)
    ]
    first, second, r = *reliability, measures["r"]["value"]
    told = None if first is None or second is None or min(first, second) <= 0 else first * second
    reversed_pairs = [(i, j) for i, j in itertools.combinations(range(count), 2) if order[i, j] < 0]
    rho_p, expected = measures["rho"]["p_value"], choices[0]["expected_regret"]
    top = {*np.flatnonzero(sim == sim.max()).tolist()}
    ranks = rho_p is not None and rho_p <= SIGNIFICANCE and expected is not None and expected <= margin / 2
    verdict = "ranks" if ranks else "cannot_tell" if expected is not None else "not_tested"
    if any(top & {*pair} for pair in reversed_pairs):
        verdict = "ranks_wrongly"
    elif least > SIGNIFICANCE:
        verdict = "too_few_policies"
    left = [np.delete(held.rate, k, 2).mean(2).round(12) for k in range(len(held.tasks))] if len(held.tasks) > 1 else []
    return {
        "policies": held.policies,
        "tasks": held.tasks,
        "real": real.tolist(),
        "sim": sim.tolist(),
        "real_interval": interval_of(posterior[0], real),
        "sim_interval": interval_of(posterior[1], sim),
        **measures,
        "least_p": least,
        "reliability_real": first,
        "reliability_sim": second,
        "r_without_noise": r / math.sqrt(told) if r is not None and told is not None else None,
        "by_sim": choices[0],
        "by_real": choices[1],
        "order": order.tolist(),
        "reversals": [
            {
                "first": held.policies[i],
                "second": held.policies[j],
                "real_difference": float(real[i] - real[j]),
                "sim_difference": float(sim[i] - sim[j]),
            }
            for i, j in reversed_pairs
        ],
        "kept_without": [
            {"task": task, "right": bool(a[worst_of_first(a, b)] == a.max())}
            for task, (a, b) in zip(held.tasks, left, strict=False)
        ],
        "verdict": verdict,
    }


def interval_of(posterior: Array | None, measured: Array) -> list[list[float]] | None:
    """(P, 2) of the rates; what was measured is in it."""
    if posterior is None:
        return None
    low, high = np.quantile(posterior, [0.025, 0.975], axis=0)
    ends: list[list[float]] = np.stack([np.minimum(low, measured), np.maximum(high, measured)], 1).tolist()
    return ends


def worst_of_first(real: Array, by: Array) -> int:
    """The policy that one side ranks first; of several alike the one that does worst on the robot."""
    first = np.flatnonzero(by == by.max())
    return int(first[real[first].argmin()])


def measures_of(real: Array, sim: Array, seed: int) -> Json:
    """r, rho, tau and MMRV, and p over all orders, or over many where there are too many."""
    count, random, out = len(real), np.random.default_rng([seed, 3]), {}
    whole = count <= ALL_ORDERS
    orders = np.array([*itertools.permutations(range(count))] if whole else np.tile(np.arange(count), (DRAWN, 1)))
    orders = orders if whole else random.permuted(orders, axis=1)
    for name, measure in {"r": correlation, "rho": rank_correlation, "tau": tau, "mmrv": violation}.items():
        value, p = measure(real, sim), None
        if name != "tau" and math.isfinite(value):
            other = np.array([measure(real, sim[order]) for order in orders])
            reached = other <= value + SLACK if name == "mmrv" else other >= value - SLACK
            p = float(reached.mean() if whole else (1 + reached.sum()) / (1 + len(orders)))
        out[name] = {"value": value if math.isfinite(value) else None, "p_value": p}
    return out


def correlation(first: Array, second: Array) -> float:
    """Pearson's r; NaN where a side is constant."""
    a, b = first - first.mean(), second - second.mean()
    size = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / size if size > 1e-12 else math.nan


def mean_ranks(values: Array) -> Array:
    """Ranks; ties have their mean."""
    return np.array([(values < value).sum() + ((values == value).sum() + 1) / 2 for value in values])


def rank_correlation(first: Array, second: Array) -> float:
    """Spearman's rho."""
    return correlation(mean_ranks(first), mean_ranks(second))


def tau(first: Array, second: Array) -> float:
    """Kendall's tau-b."""
    a, b = (np.sign(side[:, None] - side[None, :]) for side in (first, second))
    size = math.sqrt(float((a * a).sum()) * float((b * b).sum()))
    return float((a * b).sum()) / size if size else math.nan


def violation(real: Array, sim: Array) -> float:
    """MMRV."""
    worst = [
        max(abs(real[i] - real[j]) * ((sim[i] > sim[j]) != (real[i] > real[j])) for j in range(len(real)))
        for i in range(len(real))
    ]
    return float(np.mean(worst))
