"""What `compare-policies` tells, against known truth: `python bench/policies.py [--share 1] [--only NAME ...]`.

False gaps of trials that do not differ, coverage of the intervals of gaps, means, differences, r, rho and MMRV, what
pairs save, how often a sequence errs over all times, how sure a "predicts" is, and the time of a million trials. Each
table is Markdown, with binomial intervals (Clopper and Pearson, 95 %). With a share of 1 it takes less than an hour of
one core.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

from simjudge.core.arrays import FloatArray
from simjudge.method.betting import SequenceVerdict
from simjudge.method.certainty import Certainty
from simjudge.method.verdicts import GAPS, Verdict
from simjudge.questions.policies.cells import GapEvidence, find_cells, permuted_w1
from simjudge.questions.policies.few_real import StreamedTrial, TrialStream, sharpen_mean
from simjudge.questions.policies.ranking import mmrv, noise_intervals, pearson, spearman
from simjudge.questions.policies.run import compare_policies
from simjudge.questions.policies.trials import PolicyTrials

DRAWS, MARGIN, CORRELATION = 199, 0.1, 0.7
TRIALS, CELLS = (10, 20, 50), (3, 10, 30)
Rows = list[list[str]]


def share(count: int, of: int) -> str:
    """A share with its binomial interval, in percent."""
    ends = binomtest(count, of).proportion_ci(0.95)
    return f"{100 * count / of:.1f} ({100 * ends.low:.1f}-{100 * ends.high:.1f})"


def made(real: FloatArray, sim: FloatArray, counts: tuple[int, int], random: np.random.Generator) -> PolicyTrials:
    """Trials of one policy at as many tasks as there are rates."""
    tasks = len(real)
    outcome = [random.random((tasks, n)) < rate[:, np.newaxis] for rate, n in zip((real, sim), counts, strict=True)]
    task = np.concatenate([np.repeat([f"t{k}" for k in range(tasks)], n) for n in counts])
    side = np.repeat([True, False], [tasks * n for n in counts])
    values = np.concatenate([each.reshape(-1) for each in outcome]).astype(np.float64)
    return PolicyTrials.of_columns(np.full(len(task), "p"), task, side, values)


def judged(trials: PolicyTrials, seed: int = 0) -> Certainty:
    """All cells together."""
    cells = find_cells(trials)
    evidence = GapEvidence.of_trials(trials, cells, DRAWS, seed)
    return evidence.judge([], MARGIN)[1]


def false_gaps(times: Callable[[int], int]) -> Rows:
    """Trials that do not differ."""
    rows = [["rates", "cells", "trials a side", "tables", "false gap %", '"predicts" %', "too few"]]

    def add(
        name: str, cells: int, trials: str, tables: int, make: Callable[[np.random.Generator], PolicyTrials]
    ) -> None:
        random = np.random.default_rng(list(f"{name} {cells} {trials}".encode()))
        # Draws of their own: one set of 199 for all tables would err with all of them.
        found = [judged(make(random), int(random.integers(1 << 31))).verdict for _ in range(tables)]
        gaps, same = sum(v in GAPS for v in found), found.count(Verdict.PREDICTS)
        few = str(found.count(Verdict.TOO_FEW))
        rows.append([name, str(cells), trials, str(tables), share(gaps, tables), share(same, tables), few])

    for name, low, high in (("0.3-0.7", 0.3, 0.7), ("0.05-0.95", 0.05, 0.95)):
        for cells in CELLS:
            for trials in TRIALS:

                def alike(
                    random: np.random.Generator,
                    low: float = low,
                    high: float = high,
                    size: tuple[int, int] = (cells, trials),
                ) -> PolicyTrials:
                    rate = random.uniform(low, high, size[0])
                    return made(rate, rate, (size[1], size[1]), random)

                add(name, cells, str(trials), times(4000 if cells < 30 else 2000), alike)
    add("0.3-0.7, pairs", 10, "20", times(4000), made_pairs)
    add("0.3-0.7, sessions of 5", 10, "20", times(4000), made_sessions)
    return rows


def made_pairs(random: np.random.Generator) -> PolicyTrials:
    """Ten cells of 20 pairs whose outcomes correlate."""
    rate = random.uniform(0.3, 0.7, 10)
    first, luck = random.random((10, 20)), random.random((10, 20))
    second = np.where(random.random((10, 20)) < CORRELATION, first, luck)
    values = (np.stack([first, second]) < rate[:, np.newaxis]).astype(np.float64)
    task, pair = np.tile(np.repeat([f"t{k}" for k in range(10)], 20), 2), np.tile(np.arange(200), 2).astype(str)
    return PolicyTrials.of_columns(np.full(400, "p"), task, np.repeat([True, False], 200), values.ravel(), pair=pair)


def made_sessions(random: np.random.Generator) -> PolicyTrials:
    """Ten cells of four sessions a side, five trials each; the rate of a session is its own."""
    rate = np.clip(random.uniform(0.3, 0.7, 10)[:, np.newaxis] + random.normal(0, 0.2, (2, 10, 4)), 0, 1)
    values = (random.random((2, 10, 4, 5)) < rate[..., np.newaxis]).astype(np.float64)
    task, unit = np.tile(np.repeat([f"t{k}" for k in range(10)], 20), 2), np.repeat(np.arange(80), 5).astype(str)
    return PolicyTrials.of_columns(np.full(400, "p"), task, np.repeat([True, False], 200), values.ravel(), unit=unit)


def gaps(times: Callable[[int], int]) -> Rows:
    """A true gap: its interval, how often it is shown, and how often "predicts" is said though it is the margin."""
    rows = [
        [
            "true gap",
            "real rates",
            "cells",
            "trials real / sim",
            "tables",
            "interval holds %",
            "gap shown %",
            '"predicts" %',
        ]
    ]
    for gap in (0.0, 0.1, 0.2):
        for cells, counts, low, high in (
            (1, (50, 50), 0.3, 0.7),
            (1, (200, 200), 0.3, 0.7),
            (10, (20, 200), 0.3, 0.7),
            (10, (50, 50), 0.3, 0.7),
            (30, (20, 20), 0.3, 0.7),
            (5, (20, 20), 0.9, 1.0),
        ):
            random, tables = np.random.default_rng([cells, *counts, int(100 * gap)]), times(2000)
            held = shown = same = 0
            for _ in range(tables):
                real = random.uniform(low, high, cells)
                sim = real + gap * (random.choice((-1.0, 1.0), cells) if high + gap < 1 else -1)
                found = judged(made(real, sim, counts, random), int(random.integers(1 << 31)))
                held += (found.gap_low or 0.0) - 1e-9 <= gap <= (found.gap_high or 0.0) + 1e-9
                shown += found.verdict in GAPS
                same += found.verdict == Verdict.PREDICTS
            size = f"{counts[0]} / {counts[1]}"
            rates = f"{low:g}-{high:g}"
            rows.append(
                [f"{gap:g}", rates, str(cells), size, str(tables), *(share(k, tables) for k in (held, shown, same))]
            )
    return rows


def paired(
    random: np.random.Generator, rate: float, correlation: float, pairs: int, further: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Outcomes of pairs, and further simulated ones: 0 and 1, which agree with this correlation."""
    real = (random.random(pairs) < rate).astype(np.float64)
    sim = np.where(random.random(pairs) < correlation, real, random.random(pairs) < rate).astype(np.float64)
    return real, sim, (random.random(further) < rate).astype(np.float64)


def means(times: Callable[[int], int]) -> Rows:
    """Means from few real trials and many simulated ones, and differences of two policies."""
    rows = [
        ["what", "pairs", "correlation", "rate", "tries", "holds %", "real alone holds %", "narrower by %", "worth"]
    ]
    for what in ("mean", "difference"):
        for pairs in (20, 100):
            for correlation, rate in ((0.7, 0.5), (0.7, 0.9), (0.0, 0.5)):
                random = np.random.default_rng([pairs, int(10 * correlation), int(10 * rate)])
                tries = times(4000)
                found = []
                for _ in range(tries):
                    first = paired(random, rate, correlation, pairs, 2000)
                    if what == "mean":
                        found.append((rate, sharpen_mean(*first)))
                        continue
                    second = paired(random, 0.4, correlation, pairs, 2000)
                    less = [a - b for a, b in zip(first, second, strict=True)]
                    found.append((rate - 0.4, sharpen_mean(less[0], less[1], less[2], low=-1.0)))
                held = sum(one.both.low <= truth <= one.both.high for truth, one in found)
                alone = sum(one.real.low <= truth <= one.real.high for truth, one in found)
                narrower = 1 - np.mean([one.both.width for _, one in found]) / np.mean(
                    [one.real.width for _, one in found]
                )
                worth = np.median([one.worth for _, one in found])
                parts = [share(held, tries), share(alone, tries), f"{100 * narrower:.0f}", f"{worth:.0f}"]
                rows.append([what, str(pairs), f"{correlation:g}", f"{rate:g}", str(tries), *parts])
    return rows


def correlations(times: Callable[[int], int]) -> Rows:
    """Intervals of r, rho and MMRV for the noise of the trials."""
    rows = [["policies", "trials real / sim", "true r", "tries", "r holds %", "width", "rho holds %", "MMRV holds %"]]
    for policies in (3, 6, 12):
        for counts in ((60, 300), (150, 150)):
            for agreement in (0.3, 0.7, 0.886, 1.0):
                random, tries = np.random.default_rng([policies, counts[0], int(1000 * agreement)]), times(600)
                held, width = np.zeros(3, int), []
                for _ in range(tries):
                    truth, rates, variance = two_sides(random, agreement, policies, counts)
                    found = noise_intervals(rates, variance)
                    for k, (name, value) in enumerate((("r", pearson), ("rho", spearman), ("mmrv", mmrv))):
                        low, high = getattr(found, name) or (-1.0, 1.0)
                        held[k] += low - 1e-9 <= float(value(truth[0], truth[1])) <= high + 1e-9
                    width.append(np.ptp(found.r or (-1.0, 1.0)))
                parts = [share(int(count), tries) for count in held]
                size = f"{counts[0]} / {counts[1]}"
                rows.append(
                    [str(policies), size, f"{agreement:g}", str(tries), parts[0], f"{np.mean(width):.2f}", *parts[1:]]
                )
    return rows


def two_sides(
    random: np.random.Generator, agreement: float, policies: int, counts: tuple[int, int]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """True rates whose r is about `agreement`, what was measured, and its variances."""
    first, second = random.standard_normal((2, policies))
    first = (first - first.mean()) / np.linalg.norm(first - first.mean())
    second -= second.mean() + (second @ first) * first
    second = agreement * first + np.sqrt(1 - agreement**2) * second / np.linalg.norm(second)
    truth = np.clip(0.5 + 0.2 * np.sqrt(policies) * np.stack([first, second]), 0.02, 0.98)
    trials = np.array(counts)[:, np.newaxis]
    hits = random.binomial(trials, truth)
    smooth = (hits + 0.5) / (trials + 1)
    return truth, hits / trials, smooth * (1 - smooth) / trials


def sequences(times: Callable[[int], int]) -> Rows:
    """Verdicts while trials come in, looked at after each, up to so many."""
    rows = [
        ["real, simulated rate", "trials", "at most", "sequences", '"gap" %', '"predicts" %', "wrong %", "median end"]
    ]
    for real, sim, margin, how, most, count in (
        (0.5, 0.5, MARGIN, "alone", 400, 2000),
        (0.5, 0.5, MARGIN, "pairs", 400, 2000),
        (0.5, 0.5, MARGIN, "sessions", 250, 1000),
        (0.9, 0.9, MARGIN, "alone", 400, 2000),
        (0.95, 0.95, MARGIN, "alone", 1500, 400),
        (0.6, 0.5, MARGIN, "pairs", 400, 2000),
        (0.6, 0.4, 0.2, "alone", 800, 1000),
        (0.6, 0.3, MARGIN, "alone", 400, 1000),
    ):
        random, tries = np.random.default_rng([int(100 * real), int(100 * sim), most, len(how)]), times(count)
        found = [followed(random, real, sim, margin, how, most) for _ in range(tries)]
        verdicts = [verdict for verdict, _ in found]
        ends = [pairs for verdict, pairs in found if verdict is not SequenceVerdict.OPEN]
        gap, same = verdicts.count(SequenceVerdict.GAP), verdicts.count(SequenceVerdict.PREDICTS)
        wrong = gap if real == sim else same if real - sim >= margin - 1e-9 else 0
        said = [share(k, tries) for k in (gap, same, wrong)]
        name = f"{real:g}, {sim:g}" + ("" if margin == MARGIN else f", margin {margin:g}")
        rows.append([name, how, str(most), str(tries), *said, f"{np.median(ends):.0f}" if ends else "-"])
    return rows


def followed(
    random: np.random.Generator, real: float, sim: float, margin: float, how: str, most: int
) -> tuple[SequenceVerdict, int]:
    """The first verdict of a stream of trials, and how many differences had entered; looked at after each."""
    stream = TrialStream(margin)
    for number in range(most):
        luck = random.random(2)
        if how == "pairs" and random.random() < CORRELATION:
            luck[1] = luck[0]
        # Three real trials a session, whose rates differ from session to session.
        moved, count = (random.uniform(-0.3, 0.3), 3) if how == "sessions" else (0.0, 1)
        outcomes = [luck[0] < real] if count == 1 else list(random.random(count) < real + moved)
        unit = f"s{number}" if count > 1 else ""
        for won in outcomes:
            stream.add(StreamedTrial("p", "t", real=True, outcome=float(won), unit=unit))
            other = luck[1] if count == 1 else random.random()
            stream.add(StreamedTrial("p", "t", real=False, outcome=float(other < sim)))
        if (state := stream.state).verdict is not SequenceVerdict.OPEN:
            return state.verdict, state.entered
    return SequenceVerdict.OPEN, most


def naive_permutations(outcome: FloatArray, real: int, draws: int, random: np.random.Generator) -> FloatArray:
    """|difference of means| of one cell, trial by trial, as a plain NumPy loop has it."""
    found = np.empty(draws)
    for draw in range(draws):
        dealt = random.permutation(outcome)
        found[draw] = abs(dealt[:real].mean() - dealt[real:].mean())
    return found


def speed(times: Callable[[int], int]) -> Rows:
    """A million trials with 10,000 permutations, beside a NumPy loop of one of the cells."""
    random = np.random.default_rng(0)
    cells, trials, draws = 100, times(5000), 10_000
    made_trials = made(random.uniform(0.2, 0.8, cells), random.uniform(0.2, 0.8, cells), (trials, trials), random)
    begun = time.perf_counter()
    compare_policies(made_trials, draws=1000)
    whole = time.perf_counter() - begun
    held = find_cells(made_trials)
    begun = time.perf_counter()
    permuted_w1(made_trials, held, draws, 0)
    ours = time.perf_counter() - begun
    tried = max(1, draws // 100)
    begun = time.perf_counter()
    naive_permutations(made_trials.outcome[np.concatenate(held.rows[0])], trials, tried, random)
    loop = (time.perf_counter() - begun) * draws / tried * cells
    return [
        ["what", "trials", "seconds"],
        ["compare_policies, 1,000 draws", f"{len(made_trials):,}", f"{whole:.1f}"],
        ["10,000 permutations of 100 cells", f"{len(made_trials):,}", f"{ours:.2f}"],
        ["the same by a NumPy loop (from 1 cell and 1 % of the draws)", f"{len(made_trials):,}", f"{loop:.0f}"],
    ]


TABLES = {
    "false_gaps": false_gaps,
    "gaps": gaps,
    "means": means,
    "correlations": correlations,
    "sequences": sequences,
    "speed": speed,
}


def main(arguments: list[str]) -> None:
    """Print the tables, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="Share of the tries.")
    parser.add_argument("--only", nargs="*", choices=list(TABLES), default=list(TABLES))
    parser.add_argument("--out", type=Path)
    given = parser.parse_args(arguments)
    text = []
    for name in given.only:
        begun = time.perf_counter()
        rows = TABLES[name](lambda count: max(2, round(count * given.share)))
        lines = [f"| {' | '.join(row)} |" for row in rows]
        lines.insert(1, "|" + " --- |" * len(rows[0]))
        text += [f"**{(TABLES[name].__doc__ or name).splitlines()[0]}** ({time.perf_counter() - begun:.0f} s)", ""]
        text += [*lines, ""]
        print("\n".join(text[-len(lines) - 3 :]), flush=True)
        if given.out is not None:
            given.out.write_text("\n".join(text), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
