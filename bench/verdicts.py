"""How often verdicts are right: sets whose difference is known, compared as `simjudge compare` does.

`python bench/verdicts.py --minutes 9 --jobs 16 --out verdicts.jsonl` tries all designs for nine minutes of 16 cores, as
often as fits, and prints tables. Each trial is a line of the file as soon as it ends: `--table verdicts.jsonl` makes
the tables of what is there, also of a run that was cut. `--designs laps_laps,slow_600 --trials 40` tries a few. The
designs are in `verdict_designs.py`; what the same test says that is told what chance drew together, in `told_units.py`.

`python bench/verdicts.py --halves photographs.json` cuts a real set of photographs with predictions (`simjudge detect
--out`) into random halves again and again, all variants of a photograph in one: nothing differs.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures import TimeoutError as Overdue
from dataclasses import asdict, dataclass, field
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest
from told_units import batches, told_test
from verdict_designs import DESIGNS, NOTHING, SMALL_GAP, Design, Difference, Side
from verdict_recordings import PATCH_PX

from simjudge.core.arrays import FloatArray
from simjudge.core.frames import FrameSet
from simjudge.data.frame_sequences import source_photograph
from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.comparison import read_inputs
from simjudge.judging.pair import compare_pair

ALPHA = 0.05
POWER_GAPS = (Difference(0.1), Difference(0.2))
GAPS = ("large_gap", "gap", "small_gap")
NOT_GIVEN = ("too_few", "no_overlap", "not_tested")
"""The verdicts that are none."""
PART_SECONDS = 8.0
"""Of processor time, about, that a worker tries one thing in a row."""
PLANNED = 0.85
"""Share of the time given that is planned for: workers start, compile, and are in each other's way."""
FEWEST, MOST = 40, 600
"""Trials of a design at one difference, where a time is given."""
SECONDS = {
    "frames_50": 0.017,
    "frames_120": 0.022,
    "frames_300": 0.034,
    "frames_50_500": 0.031,
    "frames_missed": 0.022,
    "laps_random": 0.514,
    "laps_laps": 0.841,
    "laps_random_regular": 0.434,
    "laps_laps_regular": 0.9,
    "row_regular": 0.9,
    "drive_600": 0.254,
    "drive_1500": 0.515,
    "room_30": 0.028,
    "room_30_pairs": 0.029,
    "room_60": 0.04,
    "room_60_pairs": 0.039,
    "room_120": 0.058,
    "slow_600": 0.407,
    "slow_200": 0.155,
    "approach_200": 0.167,
    "sizes_90": 0.051,
    "both_600": 0.377,
    "both_1500": 0.88,
    "kinds_25": 0.03,
    "kinds_10": 0.027,
    "kinds_5": 0.028,
    "pairs_12": 0.015,
    "pairs_40": 0.018,
    "pairs_150": 0.03,
}
"""Processor time of a trial; of designs that are not named 0.1 s."""

TOLD_DRAWS = 199
"""p <= 0.05 then has a chance of 10 in 200 where nothing differs."""

Oracle = Callable[[Design, Side, Side, CompareSettings], float]
"""p of both sets by a test that is told the true units (`Side.units`)."""


@dataclass(frozen=True)
class Trial:
    """One pair of sets, judged.

    Attributes:
        verdict: its code.
        gap, low, high: G and its interval; None where there is none.
        told_p: p of the test that is told the units; None where it was not asked for.
        seconds: that the comparison took.
    """

    verdict: str
    gap: float | None
    low: float | None
    high: float | None
    told_p: float | None
    seconds: float


def told_p(design: Design, a: Side, b: Side, settings: CompareSettings) -> float:
    """Judge two sets by the specification's own test, in plain NumPy, and return its p.

    Args:
        design: where performance depends on size, the test is told how.
        a, b: the sets.
        settings: threshold and seed.
    """
    values = (a.levelled, b.levelled) if design.effects.slope else (a.performance, b.performance)
    return _told(values, a, b, settings)[1]


def told_w1(a: Side, b: Side, settings: CompareSettings) -> float:
    """Mean W1, likewise.

    Args:
        a, b: the sets.
        settings: the threshold.
    """
    return _told((a.performance, b.performance), a, b, settings)[0]


def _told(values: tuple[FloatArray, FloatArray], a: Side, b: Side, settings: CompareSettings) -> tuple[float, float]:
    size_a, size_b = (
        np.rint(side.frames.objects.box[:, 2:] - side.frames.objects.box[:, :2]).astype(np.int64) for side in (a, b)
    )
    classes = a.frames.objects.class_id, b.frames.objects.class_id
    compared = batches((size_a, size_b), classes, settings.method.theta)
    random = np.random.default_rng([2, settings.seed])
    return told_test(values, (a.units, b.units), compared, TOLD_DRAWS, random)


def settings_of(design: Design | Halves, draws: int, seed: int) -> CompareSettings:
    """The settings of a trial.

    Args:
        design: what is tried.
        draws: of every kind.
        seed: of the draws.
    """
    fixed: dict[str, Any] = {
        "patch": (PATCH_PX, PATCH_PX),
        "permutations": draws,
        "bootstrap": draws,
        "draws": draws,
        "seed": seed,
    }
    # Settings have had other names.
    known = {name: value for name, value in fixed.items() if name in CompareSettings.__dataclass_fields__}
    return CompareSettings(**{**known, **design.settings}, paired=design.paired)


def judge(a: FrameSet, b: FrameSet, settings: CompareSettings) -> tuple[str, list[float | None]]:
    """The verdict of two sets, and G with its interval.

    Args:
        a, b: the sets.
        settings: of the comparison.
    """
    overall = compare_pair(a, b, settings, precision=False).overall
    return verdict_code(overall.verdict), [
        getattr(overall, new, getattr(overall, old, None))
        for new, old in (("gap", "excess_w1"), ("gap_low", "excess_low"), ("gap_high", "excess_high"))
    ]


def verdict_code(verdict: str) -> str:
    """The code of a verdict as today's and earlier results spell it.

    Args:
        verdict: a code, or words.
    """
    code = str(getattr(verdict, "value", verdict)).replace(" ", "_")
    return "predicts" if code.startswith("predicts") else code


def try_once(
    design: Design | Halves, difference: Difference, number: int, draws: int, seed: int, oracle: Oracle | None = told_p
) -> Trial:
    """Draw both sets and judge them.

    Args:
        design: what is tried.
        difference: of B from A.
        number: of the trial; the same sets at every difference but for it.
        draws: of every kind.
        seed: of all trials.
        oracle: the test that is told the units; None for none.
    """
    random = np.random.default_rng([seed, zlib.crc32(design.name.encode()), number])
    a, b = design.draw(random, difference)
    settings = settings_of(design, draws, number)
    begin = time.perf_counter()
    verdict, gap = judge(a.frames, b.frames, settings)
    took = time.perf_counter() - begin
    return Trial(verdict, *gap, None if oracle is None else oracle(design, a, b, settings), took)


@dataclass(frozen=True)
class Halves:
    """Random halves of a real set, as a design in which nothing differs.

    Attributes:
        frames: the set.
        settings, paired, earlier_power: as in `Design`.
    """

    frames: FrameSet
    settings: dict[str, Any] = field(default_factory=lambda: {"patch": None})
    paired: bool = False
    earlier_power: None = None

    @property
    def name(self) -> str:
        """That of the set."""
        return self.frames.name

    @property
    def words(self) -> str:
        """For the table."""
        return f"halves of {self.name}, {len(self.frames)} photographs"

    @property
    def units(self) -> int:
        """Photographs of a half."""
        return len(set(self._photographs)) // 2

    @property
    def _photographs(self) -> list[str]:
        return [source_photograph(name) for name in self.frames.frame_name]

    def truth(self, _difference: Difference = NOTHING) -> float:
        """Nothing differs."""
        return 0.0

    def draw(self, random: np.random.Generator, _difference: Difference = NOTHING) -> tuple[Side, Side]:
        """Draw both halves.

        Args:
            random: draws them.
        """
        names, of_frame = np.unique(self._photographs, return_inverse=True)
        first = np.isin(of_frame, random.permutation(len(names))[: len(names) // 2])
        none = np.zeros(0)
        a, b = (Side(self.frames.take(part), none, (), none) for part in (first, ~first))
        return a, b


@dataclass(frozen=True)
class Share:
    """So many of so many.

    Attributes:
        hits, trials: how many.
    """

    hits: int
    trials: int

    @classmethod
    def of(cls, happened: Iterable[bool]) -> Share:
        """Count."""
        each = list(happened)
        return cls(sum(each), len(each))

    @property
    def value(self) -> float | None:
        """The share; None of no trials."""
        return self.hits / self.trials if self.trials else None

    @property
    def interval(self) -> tuple[float, float]:
        """The exact binomial interval of 95 % (Clopper and Pearson)."""
        if not self.trials:
            return 0.0, 1.0
        low, high = binomtest(self.hits, self.trials).proportion_ci(0.95, "exact")
        return float(low), float(high)

    def above(self, limit: float, fault: str) -> str:
        """The fault of a share above a limit, with "?" where chance may have put it there; else nothing."""
        if self.value is None or self.value <= limit:
            return ""
        return fault + ("?" if self.interval[0] <= limit else "")

    def below(self, limit: float, fault: str) -> str:
        """The fault of a share below a limit, likewise."""
        if self.value is None or self.value >= limit:
            return ""
        return fault + ("?" if self.interval[1] >= limit else "")

    def __str__(self) -> str:
        """Percent, and the interval."""
        if not self.trials:
            return "-"
        low, high = self.interval
        return f"{100 * self.hits / self.trials:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


@dataclass(frozen=True)
class Row:
    """All trials of a design at one difference.

    Attributes:
        design, words, units, earlier_power: of the design (`words` are its description).
        difference: in words.
        truth: the gap between the populations.
        gaps: said "gap", of any size.
        of_given: the same, of the verdicts given.
        too_few: had no verdict.
        cannot_tell, predicts: said so.
        holds: had an interval with the truth in it, of those with an interval.
        mean, median: of G.
        mean_error: standard error of the mean.
        near_zero: had a G of at most 0.01: half of them where its median is as small.
        told: the test that is told the units had p <= 0.05.
        seconds: of a comparison, the median.
    """

    design: str
    words: str
    units: int
    earlier_power: float | None
    difference: str
    truth: float
    gaps: Share
    of_given: Share
    too_few: Share
    cannot_tell: Share
    predicts: Share
    holds: Share
    mean: float | None
    mean_error: float | None
    median: float | None
    near_zero: Share
    told: Share
    seconds: float

    @classmethod
    def of_trials(cls, design: Design | Halves, difference: Difference, trials: Sequence[Trial]) -> Row:
        """Count what happened in the trials."""
        truth = design.truth(difference)
        given = [trial for trial in trials if trial.verdict not in NOT_GIVEN]
        gaps = [trial.gap for trial in trials if trial.gap is not None]
        return cls(
            design.name,
            design.words,
            design.units,
            design.earlier_power,
            str(difference),
            truth,
            Share.of(trial.verdict in GAPS for trial in trials),
            Share.of(trial.verdict in GAPS for trial in given),
            Share.of(trial.verdict in NOT_GIVEN for trial in trials),
            Share.of(trial.verdict == "cannot_tell" for trial in trials),
            Share.of(trial.verdict == "predicts" for trial in trials),
            Share.of(
                trial.low <= truth <= trial.high for trial in given if trial.low is not None and trial.high is not None
            ),
            statistics.fmean(gaps) if gaps else None,
            statistics.stdev(gaps) / len(gaps) ** 0.5 if len(gaps) > 1 else None,
            statistics.median(gaps) if gaps else None,
            Share.of(gap <= 0.01 for gap in gaps),
            Share.of(trial.told_p <= ALPHA for trial in trials if trial.told_p is not None),
            statistics.median(trial.seconds for trial in trials),
        )

    def faults(self, margin: float = 0.05) -> list[str]:
        """What is not as it must be: "?" where chance alone may have done it.

        Args:
            margin: from which a gap matters.
        """
        found = [self.holds.below(0.93, "interval"), self.too_few.above(0.05, "too few") if self.units >= 20 else ""]
        if self.truth:
            found += [self._power_fault(), self._bias_fault()]
            found += [self.predicts.above(0.025, "predicts")] if self.truth >= margin else []
        else:
            found += [self.gaps.above(0.075, "false gaps"), self.of_given.above(0.1, "false gaps of the verdicts")]
            found += [self.near_zero.below(0.5, "median of G")] if self.units >= 50 else []
        return [fault for fault in found if fault]

    def _power_fault(self) -> str:
        if self.earlier_power is not None and self.difference == str(SMALL_GAP):
            return self.gaps.below(0.9 * self.earlier_power, "power, earlier")
        return self.gaps.below(0.8 * (self.told.value or 0), "power")

    def _bias_fault(self) -> str:
        if self.mean is None or self.mean_error is None:
            return ""
        off = abs(self.mean - self.truth) - max(0.1 * self.truth, 0.01)
        return "" if off <= 0 else "bias?" if off < 2 * self.mean_error else "bias"


@dataclass(frozen=True)
class Task:
    """One thing to try: a design at a difference.

    Attributes:
        design: its name.
        difference: of B from A.
    """

    design: str
    difference: Difference

    @property
    def seconds(self) -> float:
        """Processor time of a trial, about."""
        return SECONDS.get(self.design, 0.1)


def tasks(names: Sequence[str], trials: int, gap_trials: int) -> dict[Task, int]:
    """How often each thing is tried.

    Args:
        names: of the designs.
        trials: of each where nothing differs, and of differences that the design names itself.
        gap_trials: of gaps of 0.1 and 0.2; 0 for none.
    """
    return {
        Task(name, difference): count
        for name in names
        for difference, count in (
            (NOTHING, trials),
            *((each, trials) for each in DESIGNS[name].differences),
            *((each, gap_trials) for each in POWER_GAPS),
        )
        if count
    }


def fitted_tasks(names: Sequence[str], seconds: float) -> dict[Task, int]:
    """As many trials as a processor time allows: fewer of what is slow, by the root of what a trial costs.

    Args:
        names: of the designs.
        seconds: of processor time.
    """
    shares = {task: 0.5 if task.difference in POWER_GAPS else 1.0 for task in tasks(names, 1, 1)}

    def fit(scale: float) -> dict[Task, int]:
        counts = {task: int(scale * share / task.seconds**0.5) for task, share in shares.items()}
        return {task: min(max(count, FEWEST), MOST) for task, count in counts.items()}

    low, high = 0.0, 1e6
    for _ in range(60):
        middle = (low + high) / 2
        spent = sum(task.seconds * count for task, count in fit(middle).items())
        low, high = (middle, high) if spent < seconds else (low, middle)
    return fit(low)


def rows(names: Sequence[str], trials: int, gap_trials: int, draws: int, seed: int) -> Iterator[Row]:
    """Try designs in this process, and yield a row for each difference.

    Args:
        names: of the designs.
        trials, gap_trials: see `tasks`.
        draws: of every kind, in each trial.
        seed: of everything random.
    """
    for task, count in tasks(names, trials, gap_trials).items():
        _, found = _try_part((task, range(count), draws, seed))
        yield Row.of_trials(DESIGNS[task.design], task.difference, found)


_Part = tuple[Task, range, int, int]


def parts_of(wanted: dict[Task, int], draws: int, seed: int) -> list[_Part]:
    """What workers take one after the other: a part of everything first, then the next; the longest first.

    Args:
        wanted: how often each thing is tried.
        draws, seed: see `rows`.
    """
    found: list[tuple[int, float, _Part]] = []
    for task, count in wanted.items():
        size = max(1, int(PART_SECONDS / task.seconds))
        # A run that is cut has tried the same share of everything: rounds are shares of each task.
        size = min(size, max(1, -(-count // 4)))
        found += [
            (int(4 * first / count), -size * task.seconds, (task, range(first, min(first + size, count)), draws, seed))
            for first in range(0, count, size)
        ]
    return [part for *_, part in sorted(found, key=lambda each: each[:2])]


def run(parts: Sequence[_Part], jobs: int, until: float | None = None) -> Iterator[tuple[Task, list[Trial]]]:
    """Try parts in processes, and yield what each found.

    Args:
        parts: what is tried.
        jobs: processes; 1: this one alone.
        until: `time.monotonic` from which on nothing is waited for.
    """
    if jobs == 1:
        for part in parts:
            if until is not None and time.monotonic() > until:
                return
            yield _try_part(part)
        return
    # Each worker has one core: the threads of the join and of compiled loops would be in each other's way.
    os.environ |= dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    pool = ProcessPoolExecutor(jobs, get_context("spawn"))
    waiting = [pool.submit(_try_part, part) for part in parts]
    try:
        for future in as_completed(waiting, None if until is None else max(0.0, until - time.monotonic())):
            yield future.result()
    except Overdue:
        print("the time is over: the tables are of what was tried", file=sys.stderr)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in active_children():
            worker.terminate()


def _try_part(part: _Part) -> tuple[Task, list[Trial]]:
    task, numbers, draws, seed = part
    design = DESIGNS[task.design]
    return task, [try_once(design, task.difference, number, draws, seed) for number in numbers]


def to_line(task: Task, trial: Trial) -> str:
    """One trial as JSON.

    Args:
        task: what was tried.
        trial: what came of it.
    """
    return json.dumps({"design": task.design, "difference": asdict(task.difference), **asdict(trial)})


def read_rows(file: Path) -> list[Row]:
    """Rows of the trials in a file, in the order of the designs.

    Args:
        file: lines of `to_line`; the last may be cut.
    """
    found: dict[Task, list[Trial]] = {}
    for line in file.read_text("utf-8").splitlines():
        try:
            said = json.loads(line)
        except json.JSONDecodeError:
            continue
        task = Task(said.pop("design"), Difference(**said.pop("difference")))
        found.setdefault(task, []).append(Trial(**said))
    order = list(tasks(list(DESIGNS), 1, 1))
    known = sorted((task for task in found if task in order), key=order.index)
    return [Row.of_trials(DESIGNS[task.design], task.difference, found[task]) for task in known]


def summary(found: Sequence[Row], margin: float = 0.05) -> str:
    """All designs together, in a table in Markdown.

    Args:
        found: the rows.
        margin: from which a gap matters.
    """
    same, unlike = ([row for row in found if bool(row.truth) == differs] for differs in (False, True))
    given = [row.of_given for row in same]
    large = [row for row in unlike if row.truth >= margin]
    held = (("nothing differs", same), ("something differs", unlike))
    cells = [
        ("false gap", _pooled(row.gaps for row in same), "7.5 % at most"),
        ("false gap, of the verdicts given", _pooled(given), "10 % at most"),
        *((f"interval holds the truth, {what}", _pooled(row.holds for row in of), "93 %") for what, of in held),
        ("predicts where it is wrong", _pooled(row.predicts for row in large), "2.5 % at most"),
        ("gap of 0.1 or more shown", _pooled(row.gaps for row in unlike if row.truth >= 0.095), ""),
        ("the same, told the units", _pooled(row.told for row in unlike if row.truth >= 0.095), ""),
    ]
    return _markdown(("all designs together", "share", "wanted"), cells)


def _pooled(shares: Iterable[Share]) -> Share:
    known = list(shares)
    return Share(sum(share.hits for share in known), sum(share.trials for share in known))


def table(found: Sequence[Row]) -> str:
    """Two tables in Markdown: where nothing differs, and where something does.

    Args:
        found: the rows.
    """
    same = [
        (
            row.words,
            row.gaps.trials,
            row.gaps,
            row.of_given,
            row.too_few,
            row.cannot_tell,
            row.holds,
            _number(row.median),
            row.told,
            f"{row.seconds:.2f}",
            ", ".join(row.faults()),
        )
        for row in found
        if not row.truth
    ]
    unlike = [
        (
            row.words,
            row.difference,
            row.gaps.trials,
            f"{row.truth:.3f}",
            f"{_number(row.mean)} ± {_number(row.mean_error)}",
            "-" if row.mean is None else f"{row.mean - row.truth:+.3f}",
            _number(row.median),
            row.holds,
            row.gaps,
            row.told,
            row.predicts,
            row.too_few,
            ", ".join(row.faults()),
        )
        for row in found
        if row.truth
    ]
    return "\n\n".join(_markdown(head, cells) for head, cells in ((_SAME, same), (_UNLIKE, unlike)) if cells)


_SAME = (
    "nothing differs",
    "trials",
    "said gap",
    "of the verdicts",
    "too few",
    "cannot tell",
    "interval holds 0",
    "median of G",
    "told the units",
    "seconds",
    "not as it must be",
)
_UNLIKE = (
    "something differs",
    "how",
    "trials",
    "true G",
    "mean of G",
    "bias",
    "median of G",
    "interval holds it",
    "said gap",
    "told the units",
    "predicts",
    "too few",
    "not as it must be",
)


def _markdown(head: Sequence[str], cells: Sequence[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *([str(cell) for cell in row] for row in cells)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def main() -> None:
    """Print the tables, and write every row."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--designs", default=",".join(DESIGNS), help="names with commas; all of them by default")
    parser.add_argument("--minutes", type=float, help="as many trials as so long allows, in place of the two below")
    parser.add_argument("--trials", type=int, default=200, help="of each design where nothing differs")
    parser.add_argument("--gap-trials", type=int, default=60, help="of each gap of 0.1 and 0.2")
    parser.add_argument("--draws", type=int, default=199, help="draws of each trial")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("verdicts.jsonl"), help="file of trials, a line each")
    parser.add_argument("--table", type=Path, metavar="FILE", help="print the tables of such a file, and try nothing")
    parser.add_argument("--halves", type=Path, help="a set of photographs, in place of the designs")
    given = parser.parse_args()
    if given.table is not None:
        _print_tables(given.table)
        return
    if given.halves is not None:
        halves = Halves(read_inputs(given.halves, given.halves, CompareSettings())[0].frames)
        tried = [try_once(halves, NOTHING, number, given.draws, given.seed, None) for number in range(given.trials)]
        print(table([Row.of_trials(halves, NOTHING, tried)]))
        return
    names = given.designs.split(",")
    unknown = [name for name in names if name not in DESIGNS]
    if unknown:
        parser.error(f"--designs {','.join(unknown)}: choose of {', '.join(DESIGNS)}")
    begin, seconds = time.monotonic(), 60 * (given.minutes or 0)
    wanted = tasks(names, given.trials, given.gap_trials)
    if seconds:
        wanted = fitted_tasks(names, PLANNED * seconds * given.jobs)
    # Compiled here once, and read by all workers.
    for name in ("frames_50", "sizes_50", "room_30"):
        try_once(DESIGNS[name], NOTHING, 0, given.draws, given.seed)
    left, tried = dict(wanted), dict.fromkeys(wanted, 0)
    parts = parts_of(wanted, given.draws, given.seed)
    with given.out.open("w", encoding="utf-8") as stream:
        for task, found in run(parts, given.jobs, begin + seconds if seconds else None):
            stream.writelines(to_line(task, trial) + "\n" for trial in found)
            stream.flush()
            tried[task] += len(found)
            left[task] -= len(found)
            said = Share.of(trial.verdict in GAPS for trial in found)
            print(
                f"{time.monotonic() - begin:6.0f} s {task.design}, {task.difference}: {len(found)} trials, gap {said}, "
                f"{left[task]} left; {sum(tried.values())} of {sum(wanted.values())}",
                file=sys.stderr,
                flush=True,
            )
    _print_tables(given.out)


def _print_tables(file: Path) -> None:
    found = read_rows(file)
    print(f"{summary(found)}\n\n{table(found)}")


if __name__ == "__main__":
    main()
