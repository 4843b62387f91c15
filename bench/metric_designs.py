"""Trials of comparisons of metrics over runs, and the row of a table that says how often verdicts are right."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
from scipy.stats import binomtest

from simjudge.judging.point_metrics import JudgedMetric
from simjudge.method.verdicts import GAPS, Verdict

HEAD = (
    "| design | trials | any metric a gap | metric | right | wrong | cannot tell | p at most 0.05 | G in its interval |"
)


@dataclass(frozen=True)
class Found:
    """What a trial said of one metric."""

    name: str
    verdict: Verdict
    p: float | None  # before the correction for several metrics
    low: float | None
    high: float | None
    difference: float  # of the means of both sides
    margin: float


def found_of(results: Sequence[JudgedMetric]) -> list[Found]:
    """What a comparison says, metric by metric."""
    out = []
    for result in results:
        certainty, compared = result.certainty, result.comparison
        difference = float(compared.performance_b.mean() - compared.performance_a.mean())
        low, high = certainty.gap_low, certainty.gap_high
        name = result.metric.name
        out.append(Found(name, certainty.verdict, certainty.p_value, low, high, difference, certainty.margin))
    return out


def share(count: int, total: int) -> str:
    """A share with its binomial interval, in percent."""
    if not total:
        return "-"
    low, high = binomtest(count, total).proportion_ci(method="exact")
    return f"{100 * count / total:.1f} % ({100 * low:.1f}-{100 * high:.1f})"


def judged(verdict: Verdict, gap: float, margin: float) -> str:
    """Whether a verdict is right, wrong, or leaves the question open."""
    if verdict not in (*GAPS, Verdict.PREDICTS):
        return "open"
    if gap == 0:
        return "right" if verdict == Verdict.PREDICTS else "wrong"
    if gap < margin:
        return "wrong" if verdict == Verdict.LARGE_GAP else "right"
    return "right" if verdict in (Verdict.GAP, Verdict.LARGE_GAP) else "wrong"


def row(name: str, trials: Sequence[Sequence[Found]], metric: str | None) -> str:
    """The row of a design. `metric`: the one that differs; None where nothing does: all metrics count."""
    gaps = sum(any(one.verdict in GAPS for one in trial) for trial in trials)
    rows = [one for trial in trials for one in trial if metric in (None, one.name)]
    # Contexts say nothing of performance in these designs: G is the difference of the means, here over all trials.
    gap = 0.0 if metric is None else abs(float(np.mean([one.difference for one in rows])))
    words = Counter(judged(one.verdict, gap, one.margin) for one in rows)
    tested = [one for one in rows if one.p is not None]
    small = sum(one.p is not None and one.p <= 0.05 for one in tested)
    held = [one.low <= gap <= one.high for one in rows if one.low is not None and one.high is not None]
    metric = "all" if metric is None else f"{metric}, G {gap:.3g}"
    cells = [name, str(len(trials)), share(gaps, len(trials)), metric]
    cells += [share(words[word], len(rows)) for word in ("right", "wrong", "open")]
    return f"| {' | '.join([*cells, share(small, len(tested)), share(sum(held), len(held))])} |"


class Design(Protocol):
    """How the runs of both sides are made."""

    @property
    def name(self) -> str:
        """What it is."""

    @property
    def differing(self) -> str | None:
        """The metric that must find the planted gap; None where nothing differs."""


D = TypeVar("D", bound=Design)


def run_designs(
    designs: Sequence[D], trial: Callable[[tuple[D, int]], list[Found]], trials: int, seed: int, jobs: int
) -> Iterator[str]:
    """A row each design; `trial` is given a design and a seed."""
    with ProcessPoolExecutor(jobs) as pool:
        for design in designs:
            seeds = [(design, seed * trials + number) for number in range(trials)]
            yield row(design.name, list(pool.map(trial, seeds)), design.differing)


def main(text: str | None, designs: Sequence[D], trial: Callable[[tuple[D, int]], list[Found]]) -> None:
    """Print the rows of docs/measurements/trajectories.md."""
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="designs whose name holds this text")
    given = parser.parse_args()
    print(HEAD)
    print("| --- " * (HEAD.count("|") - 1) + "|")
    for line in run_designs([d for d in designs if given.only in d.name], trial, given.trials, given.seed, given.jobs):
        print(line, flush=True)
