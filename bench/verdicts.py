"""How often verdicts are right: sets whose difference is known, compared as `simjudge compare` does.

`python bench/verdicts.py --minutes 9 --jobs 16 --out verdicts.jsonl` tries all designs for nine minutes of 16 cores, as
often as fits, and prints tables. Each trial is a line of the file as soon as it ends: `--table verdicts.jsonl` makes
the tables of what is there, also of a run that was cut. `--designs laps_laps,slow_600 --trials 40` tries a few. The
designs are in `verdict_designs.py`, counts and tables in `verdict_tables.py`; `told_units.py` holds the same test, told
what chance drew together.

`python bench/verdicts.py --halves photographs.json` cuts a real set of photographs with predictions (`simjudge detect
--out`) into random halves again and again, all variants of a photograph in one: nothing differs.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures import TimeoutError as Overdue
from dataclasses import asdict, dataclass
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any

import numpy as np
from told_units import batches, told_test
from verdict_designs import DESIGNS, NOTHING, Design, Difference, Side
from verdict_recordings import PATCH_PX
from verdict_tables import GAPS, Halves, Row, Share, Trial, summary, table

from simjudge.core.arrays import FloatArray
from simjudge.core.frames import FrameSet
from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.comparison import read_inputs
from simjudge.judging.pair import compare_pair

POWER_GAPS = (Difference(0.1), Difference(0.2))
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
    **dict.fromkeys((f"drives_{count}_{size}" for count in (2, 3, 4, 6) for size in ("00", "02", "05")), 0.35),
    **dict.fromkeys((f"drives_{count}_{size}" for count in (10, 20, "3_20") for size in ("00", "02", "05")), 0.9),
}
"""Processor time of a trial; of designs that are not named 0.1 s."""

TOLD_DRAWS = 199
"""p <= 0.05 then has a chance of 10 in 200 where nothing differs."""

Oracle = Callable[[Design, Side, Side, CompareSettings], float]
"""p of both sets by a test that is told the true units (`Side.units`)."""


def told_p(design: Design, a: Side, b: Side, settings: CompareSettings) -> float:
    """Judge two sets by the specification's own test, in plain NumPy, and return its p.

    Args:
        design: where performance depends on size or neighbours, the test is told how.
        a, b: the sets.
        settings: threshold and seed.
    """
    levels = design.effects.slope or design.effects.crowd
    values = (a.levelled, b.levelled) if levels else (a.performance, b.performance)
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
