"""What the study of policies finds where the truth is known: correlations, winner, pairs, sequence."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.files import atomic_folder
from simjudge.core.progress import Log, no_log
from simjudge.judging.study_findings import NO, UNDECIDED, YES, StudyFinding, write_findings
from simjudge.questions.policies.few_real import sharpen_mean
from simjudge.questions.policies.ranking import pearson, rank_policies, ranked_cells
from simjudge.questions.policies.result import load_policies
from simjudge.questions.policies.run import compare_policies
from simjudge.questions.policies.sequence import DifferenceSequence, SequenceVerdict
from simjudge.questions.policies.tables import REAL, SIM, read_policy_table
from simjudge.questions.policies.trials import PolicyTrials, joined_trials

MARGIN = 0.1
_CAMPAIGNS = 400
"""Small experiments that are drawn from the many trials, for each of its sizes."""


@dataclass(frozen=True, eq=False, repr=False)
class PolicyFindings(ShortRepr):
    """All findings of a run."""

    findings: Sequence[StudyFinding]
    losses: Losses


@dataclass(frozen=True, eq=False, repr=False)
class PairedTruth(ShortRepr):
    """Many trials of both worlds from the same starts.

    Attributes:
        outcome: float64 (2, P, T, N), real and simulated.
    """

    policies: tuple[str, ...]
    tasks: tuple[str, ...]
    outcome: FloatArray

    @classmethod
    def of_trials(cls, trials: PolicyTrials) -> PairedTruth:
        """Take trials of which each cell has the same number, in pairs."""
        shape = 2, len(trials.policies), len(trials.tasks)
        cells = []
        for side, p, t in np.ndindex(shape):
            own = (trials.real == (side == 0)) & (trials.policy == p) & (trials.task == t)
            rows = np.flatnonzero(own)
            cells.append(trials.outcome[rows[np.argsort(trials.pair[rows], kind="stable")]])
        if len({len(cell) for cell in cells}) != 1:
            raise SimjudgeError("trials of the truth: all cells need the same number of trials on both sides")
        return cls(trials.policies, trials.tasks, np.array(cells).reshape(*shape, -1))

    @property
    def rates(self) -> FloatArray:
        """(2, P), mean over tasks."""
        return np.asarray(self.outcome.mean((2, 3)))


def find_policies(  # noqa: PLR0913 - a table each
    real: str | Path,
    sim: str | Path,
    truth_real: str | Path,
    truth_sim: str | Path,
    rendered: dict[str, Path],
    out: str | Path,
    *,
    draws: int = _CAMPAIGNS,
    seed: int = 0,
    log: Log = no_log,
) -> PolicyFindings:
    """Compute the findings, and write them.

    Args:
        real, sim: tables of the trials of all drivers.
        truth_real, truth_sim: tables of many trials of the drivers that need no pictures.
        rendered: tables by side of a few trials by rendered pictures.
        draws: small experiments that are drawn for each size.
    """
    sides = {REAL: real, SIM: sim}
    trials = _joined(sides)
    truth = PairedTruth.of_trials(_joined({REAL: truth_real, SIM: truth_sim}))
    random = np.random.default_rng(seed)
    found = [
        _measured(trials, truth),
        _correlations(truth, draws, random),
        _winner(truth, draws, random),
        _pairs(truth, draws, random),
        _sequence(truth, draws, random),
        _check(rendered, truth),
    ]
    for each in found:
        log(f"{each.name}: {each.here}")
    with atomic_folder(Path(out), overwrite=True) as folder:
        write_findings(found, folder)
        (folder / "truth.json").write_text(json.dumps(_truth_json(truth), indent=2) + "\n", encoding="utf-8")
    return PolicyFindings(found, Losses())


def _joined(sides: dict[str, str | Path] | dict[str, Path]) -> PolicyTrials:
    return joined_trials([read_policy_table(path, side).trials for side, path in sides.items()], {})


def _truth_json(truth: PairedTruth) -> dict[str, object]:
    return {
        "trials": truth.outcome.shape[3],
        "rates": [
            {"policy": policy, "task": task, REAL: float(real), SIM: float(sim)}
            for i, policy in enumerate(truth.policies)
            for j, task in enumerate(truth.tasks)
            for real, sim in [truth.outcome[:, i, j].mean(1)]
        ],
    }


def _measured(trials: PolicyTrials, truth: PairedTruth) -> StudyFinding:
    """All drivers, as a person would see them."""
    cells = ranked_cells(trials)
    ranking = rank_policies(cells, MARGIN)
    if ranking is None:
        return StudyFinding("All drivers", "", "Fewer than two drivers can be ranked.", UNDECIDED)
    rates = "; ".join(
        f"{trials.policies[policy]} {real:.0%} / {sim:.0%}"
        for policy, (real, sim) in zip(cells.policies.tolist(), cells.mean.T.tolist(), strict=True)
    )
    r, p = ranking.r.value, ranking.r.p_value
    true = _truth_sentence(truth)
    said = "undefined" if r is None else f"{r:.2f}" + ("" if p is None else f" (p {p:.2g})")
    return StudyFinding(
        "All drivers",
        true,
        f"Real (stand-in) / simulated success: {rates}. r = {said}; {ranking.verdict.value.replace('_', ' ')}.",
        UNDECIDED,
        {"r": r, "regret": ranking.by_sim.regret},
    )


def _truth_sentence(truth: PairedTruth) -> str:
    rates = "; ".join(
        f"{name} {real:.1%} / {sim:.1%}"
        for name, (real, sim) in zip(truth.policies, truth.rates.T.tolist(), strict=True)
    )
    return f"Truth of {truth.outcome.shape[3]} trials a cell, real (stand-in) / simulated: {rates}."


def _sizes(truth: PairedTruth) -> list[int]:
    return [n for n in (10, 20, 40) if n <= truth.outcome.shape[3]] or [truth.outcome.shape[3]]


def _campaign(truth: PairedTruth, n: int, random: np.random.Generator, *, paired: bool) -> FloatArray:
    """Rates (2, P) of n trials a cell, drawn from the many."""
    _, count, tasks, many = truth.outcome.shape
    rows = random.integers(many, size=(1 if paired else 2, count, tasks, n))
    return np.asarray(np.take_along_axis(truth.outcome, np.broadcast_to(rows, (2, count, tasks, n)), 3).mean((2, 3)))


def _correlations(truth: PairedTruth, draws: int, random: np.random.Generator) -> StudyFinding:
    real, sim = truth.rates
    true = float(pearson(real, sim))
    parts, numbers = [], {"true r": true}
    for n in _sizes(truth):
        drawn = [_campaign(truth, n, random, paired=False) for _ in range(draws)]
        r = np.array([float(pearson(a, b)) for a, b in drawn])
        low, middle, high = np.nanpercentile(r, [5, 50, 95]) if np.isfinite(r).any() else (np.nan,) * 3
        parts.append(f"{n} trials a cell: {middle:.2f} ({low:.2f} to {high:.2f})")
        numbers |= {f"r {n} median": float(middle), f"r {n} low": float(low), f"r {n} high": float(high)}
    return StudyFinding(
        "Which correlations",
        f"r of the true rates is {true:.2f} over {len(real)} drivers.",
        f"r as a laboratory would have it, median and 90 % of {draws}: {'; '.join(parts)}.",
        UNDECIDED,
        numbers,
    )


def _winner(truth: PairedTruth, draws: int, random: np.random.Generator) -> StudyFinding:
    real, sim = truth.rates
    best, picked = int(real.argmax()), int(sim.argmax())
    parts, numbers = list[str](), dict[str, float]()
    for n in _sizes(truth):
        by_sim = by_real = 0.0
        for _ in range(draws):
            a, b = _campaign(truth, n, random, paired=False)
            by_sim += float(b.argmax() == best)
            by_real += float(a.argmax() == best)
        parts.append(f"{n} trials a cell: {by_sim / draws:.0%} by simulation, {by_real / draws:.0%} by real trials")
        numbers |= {f"right by sim {n}": by_sim / draws, f"right by real {n}": by_real / draws}
    lost = 100 * float(real[best] - real[picked])
    return StudyFinding(
        "How often the winner is right",
        f"Really best is {truth.policies[best]}; the simulation's true rates pick {truth.policies[picked]}, "
        f"which costs {lost:.1f} points.",
        f"Right choices of {draws}: {'; '.join(parts)}.",
        YES if best == picked else NO,
        numbers | {"points lost": lost},
    )


def _pairs(truth: PairedTruth, draws: int, random: np.random.Generator) -> StudyFinding:
    """Intervals of each driver's mean from 40 pairs (or half of the starts) and the further simulated trials."""
    _, count, tasks, many = truth.outcome.shape
    n = min(40, many // 2)
    parts, numbers = list[str](), dict[str, float]()
    covered = alone = widths = total = 0.0
    for p in range(count):
        ratio, correlation = [], []
        for _ in range(max(1, draws // 10)):
            t = int(random.integers(tasks))
            order = random.permutation(many)
            a, b = truth.outcome[:, p, t]
            mean = sharpen_mean(a[order[:n]], b[order[:n]], b[order[n:]], int(random.integers(2**31)))
            true = a.mean()
            covered += mean.both.low - 1e-12 <= true <= mean.both.high + 1e-12
            alone += mean.real.low - 1e-12 <= true <= mean.real.high + 1e-12
            total += 1
            correlation.append(mean.correlation)
            ratio.append(mean.both.width / mean.real.width if mean.real.width else 1.0)
        widths += float(np.mean(ratio))
        name = truth.policies[p]
        parts.append(f"{name} {1 - float(np.mean(ratio)):.0%} (correlation {float(np.mean(correlation)):.2f})")
        numbers |= {f"{name} saved": 1 - float(np.mean(ratio)), f"{name} correlation": float(np.mean(correlation))}
    numbers |= {"coverage": covered / total, "coverage alone": alone / total}
    return StudyFinding(
        "What pairs save",
        "Without pairs the simulation cannot sharpen a mean. With them the correlation of outcomes decides.",
        f"Of the width of the interval of {n} real trials, {n} pairs and {many - n} more simulated trials save: "
        f"{'; '.join(parts)}. Both cover the mean of all trials in {covered / total:.0%} (alone {alone / total:.0%}).",
        YES if covered / total >= 0.93 else NO,
        numbers,
    )


def _sequence(truth: PairedTruth, draws: int, random: np.random.Generator) -> StudyFinding:
    """Trials of a driver as they come, all tasks mixed, until a verdict is certain."""
    parts, numbers, wrong, ended, runs = list[str](), dict[str, float](), 0, 0, 0
    _, count, tasks, many = truth.outcome.shape
    for p in range(count):
        outcome = truth.outcome[:, p].reshape(2, tasks * many)
        gap = float(outcome[0].mean() - outcome[1].mean())
        stops: list[float] = []
        verdicts: list[SequenceVerdict] = []
        for _ in range(max(1, draws // 40)):
            order = random.integers(tasks * many, size=min(2000, 4 * tasks * many))
            sequence = DifferenceSequence(MARGIN)
            for row in order.tolist():
                sequence.add_pair(float(outcome[0, row]), float(outcome[1, row]))
                if sequence.verdict is not SequenceVerdict.OPEN:
                    stops.append(sequence.pairs)
                    break
            verdicts.append(sequence.verdict)
        runs += len(verdicts)
        ended += len(stops)
        wrong += sum(
            (v is SequenceVerdict.PREDICTS and abs(gap) >= MARGIN) or (v is SequenceVerdict.GAP and gap == 0)
            for v in verdicts
        )
        often = max(set(verdicts), key=verdicts.count)
        after = f"after {np.median(stops):.0f} pairs (median)" if stops else "never"
        parts.append(f"{truth.policies[p]} (true {100 * gap:+.1f} points): {often.value} {after}")
        numbers |= {f"{truth.policies[p]} pairs": float(np.median(stops)) if stops else float("nan")}
    return StudyFinding(
        "When the sequence stops",
        f"Margin {MARGIN:g}; wrong at most 5 % over all times.",
        f"{'; '.join(parts)}. Wrong {wrong} of {runs}, ended {ended}.",
        YES if wrong <= max(1, 0.1 * runs) else NO,
        numbers | {"wrong": float(wrong), "runs": float(runs)},
    )


def _check(rendered: dict[str, Path], truth: PairedTruth) -> StudyFinding:
    """Trials by rendered pictures beside those by measured errors, of the same drivers, courses and starts' law."""
    driven = {side: path for side, path in rendered.items() if len(path.read_text(encoding="utf-8").splitlines()) > 1}
    if not driven:
        return StudyFinding("Rendered check", "", "No trial was rendered.", UNDECIDED)
    trials = _joined(driven)
    parts, apart = [], []
    for side, real in ((0, True), (1, False)):
        for p, policy in enumerate(trials.policies):
            own = (trials.real == real) & (trials.policy == p)
            if not own.any() or policy not in truth.policies:
                continue
            tasks = [truth.tasks.index(trials.tasks[t]) for t in np.unique(trials.task[own])]
            model = truth.outcome[side, truth.policies.index(policy), tasks].mean()
            apart.append(abs(float(trials.outcome[own].mean()) - float(model)))
            parts.append(
                f"{policy}, {REAL if real else SIM}: {trials.outcome[own].mean():.0%} of {own.sum()} rendered, "
                f"{model:.0%} by errors"
            )
    return StudyFinding(
        "Rendered check",
        "The model of errors stands for the detector on pictures.",
        f"{'; '.join(parts)}.",
        UNDECIDED,
        {"mean difference": float(np.mean(apart)) if apart else float("nan")},
    )


def compare_driven(real: str | Path, sim: str | Path, out: str | Path, *, log: Log = no_log) -> PolicyFindings:
    """Compare both tables as `simjudge compare-policies` does: the folder is its result."""
    compare_policies(real, sim, out, margin=MARGIN, log=log)
    return PolicyFindings((), Losses(load_policies(Path(out)).content["losses"]))
