"""The study of policies: trials of drivers in two worlds, a row each, and what the judge makes of a known truth.

Rows that are driven stay where a step is killed. The findings: correlations, winner, pairs, sequence.
"""

from __future__ import annotations

import csv
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simjudge.core.arrays import FloatArray, ShortRepr
from simjudge.core.errors import Log, Losses, ProgressBar, SimjudgeError, no_log, no_progress
from simjudge.core.files import atomic_file, atomic_folder
from simjudge.core.text import Json, JsonMapping
from simjudge.method.betting import DifferenceSequence, SequenceVerdict
from simjudge.questions.policies.few_real import sharpen_mean
from simjudge.questions.policies.ranking import first_choice, pearson, rank_policies, ranked_cells
from simjudge.questions.policies.settings import REAL, SIM
from simjudge.questions.policies.tables import read_policy_table
from simjudge.questions.policies.trials import PolicyTrials, joined_trials
from simjudge.results.saved_result import FINDINGS_FOLDER, NO, UNDECIDED, YES, StudyFinding, write_findings
from simjudge.sim.driving.closed_loop import DriveOutcome
from simjudge.sim.driving.trial_drives import TRIAL_DRIVERS, TrialCourse, TrialStart, TrialWorld
from simjudge.sim.driving.trial_pilots import DetectorErrors, LearntDriver

COLUMNS = (
    "policy",
    "task",
    "side",
    "outcome",
    "pair",
    "start_offset",
    "start_heading",
    "drive_progress",
    "drive_seconds",
    "drive_end",
    "cpu_seconds",
)
"""Of the rows; what begins with `drive_` says how a trial went, and is no condition of it."""
TABLE_COLUMNS = COLUMNS[:7]
DETAILS = "drives.csv"
BY = "by"


@dataclass(frozen=True, eq=False, repr=False)
class DrivenTrials(ShortRepr):
    """Trials that were driven: their table, and how many."""

    path: Path
    rows: int


def drive_trials(  # noqa: PLR0913 - a world's parts
    drivers: Mapping[str, JsonMapping],
    courses: Mapping[str, str | Path],
    side: str,
    out: str | Path,
    *,
    starts: int = 40,
    first: int = 0,
    vehicle: str | Path | None = None,
    lag: float = 0.0,
    errors: str | Path | None = None,
    learnt: str | Path | None = None,
    sensors: str | Path | None = None,
    detector: str | Path = "lab_pico",
    engine: str = "default",
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> DrivenTrials:
    """Drive each driver on each course from each start, and write a table of trials: a clean drive is a success.

    Args:
        drivers: by name: {by: cones | lidar | learnt | images, and figures of its speeds}.
        courses: scenes by name.
        side: "real" or "sim": how the rows are called. Sensors' noise differs between the sides, starts do not.
        out: the table (CSV); beside it DETAILS-like columns go into `NAME.drives.csv`.
        first: number of the first start.
        lag: seconds from a driver's command to the car.
        errors: file of a detector's measured errors.
    """
    if side not in (REAL, SIM):
        raise SimjudgeError(f"side {side}: {REAL} or {SIM} is needed")
    for name, manner in drivers.items():
        if manner.get(BY) not in TRIAL_DRIVERS:
            raise SimjudgeError(f"driver {name}: by: one of {', '.join(TRIAL_DRIVERS)} is needed")
    out = Path(out)
    kept = out.with_name(f".{out.stem}.rows.csv")
    held = {(row["policy"], row["task"], row["pair"]): row for row in _kept_rows(kept)}
    if held:
        log(f"{len(held)} trials were driven before")
    measured = DetectorErrors() if errors is None else DetectorErrors.load(Path(errors))
    weights = None if learnt is None else LearntDriver.load(Path(learnt))
    begin, count = time.monotonic(), len(drivers) * len(courses) * starts
    with kept.open("a", encoding="utf-8", newline="") as file, progress(f"trials, {side}") as advance:
        writer = csv.DictWriter(file, COLUMNS)
        for task, scene in courses.items():
            world = TrialWorld(scene, vehicle, lag, measured, weights, detector, sensors=sensors, engine=engine)
            course: TrialCourse | None = None
            for name, manner in drivers.items():
                for number in range(first, first + starts):
                    key = (name, task, f"{task} {number}")
                    if key in held:
                        continue
                    course = course or TrialCourse(world)
                    held[key] = row = _trial(course, name, manner, key, number, side)
                    writer.writerow(row)
                    file.flush()
                    advance(len(held), count)
            if course is not None:
                course.close()
        os.fsync(file.fileno())
    rows = [
        held[name, task, f"{task} {n}"] for task in courses for name in drivers for n in range(first, first + starts)
    ]
    _write(out.with_name(f"{out.stem}.{DETAILS}"), COLUMNS, rows)
    _write(out, TABLE_COLUMNS, rows)
    kept.unlink()
    log(f"{len(rows)} trials in {time.monotonic() - begin:.0f} s")
    return DrivenTrials(out, len(rows))


def _trial(
    course: TrialCourse, name: str, manner: JsonMapping, key: tuple[str, str, str], number: int, side: str
) -> Json:
    start, begin = TrialStart.of_number(number), time.process_time()
    figures = {figure: float(value) for figure, value in manner.items() if figure != BY}
    # Two worlds do not share the luck of their sensors.
    outcome = course.drive(manner[BY], figures, start, 2 * number + (side == REAL))
    return {
        "policy": name,
        "task": key[1],
        "side": side,
        "outcome": int(outcome.clean),
        "pair": key[2],
        "start_offset": f"{start.offset:.4f}",
        "start_heading": f"{start.heading:.4f}",
        "drive_progress": f"{drive_progress(outcome):.3f}",
        "drive_seconds": f"{outcome.seconds:.2f}",
        "drive_end": outcome.reason if outcome.clean else f"{outcome.reason}, {len(outcome.touched)} touched",
        "cpu_seconds": f"{time.process_time() - begin:.2f}",
    }


def drive_progress(outcome: DriveOutcome) -> float:
    """The share of the course that was driven, 0 to 1; 1 for a drive that finished."""
    if outcome.finished or outcome.length <= 0:
        return 1.0 if outcome.finished else 0.0
    return min(1.0, max(0.0, outcome.distance / outcome.length))


def _kept_rows(path: Path) -> Iterator[Json]:
    """Rows of a step that was killed; a last one that was cut off does not count, and is cut away."""
    if not path.is_file():
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.DictWriter(file, COLUMNS).writeheader()
        return
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole, encoding="utf-8")
    yield from csv.DictReader(whole.splitlines())


def _write(path: Path, columns: Sequence[str], rows: Sequence[JsonMapping]) -> None:
    with atomic_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


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
    for drive in found:
        log(f"{drive.name}: {drive.here}")
    with atomic_folder(Path(out), FINDINGS_FOLDER) as folder:
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
    best, picked = int(real.argmax()), first_choice(sim, real)
    parts: list[str] = []
    numbers: dict[str, float] = {}
    for n in _sizes(truth):
        by_sim = by_real = 0.0
        for _ in range(draws):
            a, b = _campaign(truth, n, random, paired=False)
            by_sim += float(real[first_choice(b, real)] == real[best])
            by_real += float(real[first_choice(a, real)] == real[best])
        parts.append(f"{n} trials a cell: {by_sim / draws:.0%} by simulation, {by_real / draws:.0%} by real trials")
        numbers |= {f"right by sim {n}": by_sim / draws, f"right by real {n}": by_real / draws}
    lost = 100 * float(real[best] - real[picked])
    return StudyFinding(
        "How often the winner is right",
        f"Really best is {truth.policies[best]}; the simulation's true rates pick {truth.policies[picked]}, "
        f"which costs {lost:.1f} points.",
        f"Right choices of {draws}: {'; '.join(parts)}.",
        YES if real[best] == real[picked] else NO,
        numbers | {"points lost": lost},
    )


def _pairs(truth: PairedTruth, draws: int, random: np.random.Generator) -> StudyFinding:
    """Intervals of each driver's mean from 40 pairs a task (or half of the starts) and the further simulated trials."""
    _, count, tasks, many = truth.outcome.shape
    n = min(40, many // 2)
    parts: list[str] = []
    numbers: dict[str, float] = {}
    covered = alone = widths = total = 0.0
    for p in range(count):
        ratio, correlation = [], []
        for _ in range(max(1, draws // 10)):
            order = random.permuted(np.tile(np.arange(many), (tasks, 1)), axis=1)
            a, b = np.take_along_axis(truth.outcome[:, p], order[np.newaxis], 2)
            taken = a[:, :n].ravel(), b[:, :n].ravel(), b[:, n:].ravel()
            mean = sharpen_mean(*taken, int(random.integers(2**31)))
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
        f"Of the width of the interval of {n} real trials a task, as many pairs and {many - n} more simulated save: "
        f"{'; '.join(parts)}. Both cover the mean of all trials in {covered / total:.0%} (alone {alone / total:.0%}).",
        YES if covered / total >= 0.93 else NO,
        numbers,
    )


_MOST_PAIRS = 1000


def _sequence(truth: PairedTruth, draws: int, random: np.random.Generator) -> StudyFinding:
    """Trials of a driver as they come, all tasks mixed, until a verdict is certain."""
    parts: list[str] = []
    numbers: dict[str, float] = {}
    wrong = ended = runs = 0
    _, count, tasks, many = truth.outcome.shape
    for p in range(count):
        outcome = truth.outcome[:, p].reshape(2, tasks * many)
        gap = float(outcome[0].mean() - outcome[1].mean())
        stops: list[float] = []
        verdicts: list[SequenceVerdict] = []
        for _ in range(max(1, draws // 10)):
            order = random.integers(tasks * many, size=_MOST_PAIRS)
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
        said = [f"{share:.0%} {word}" for word in SequenceVerdict if (share := verdicts.count(word) / len(verdicts))]
        after = f", after {np.median(stops):.0f} pairs (median)" if stops else ""
        parts.append(f"{truth.policies[p]} (true {100 * gap:+.1f} points): {', '.join(said)}{after}")
        numbers |= {f"{truth.policies[p]} pairs": float(np.median(stops)) if stops else float("nan")}
    return StudyFinding(
        "When the sequence stops",
        f"Margin {MARGIN:g}; wrong at most 5 % over all times.",
        f"Of {runs // count} sequences of up to {_MOST_PAIRS} pairs each: {'; '.join(parts)}. "
        f"Wrong {wrong} of {runs}, ended {ended}.",
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
