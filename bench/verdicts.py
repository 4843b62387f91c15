"""How often verdicts are right: sets whose difference is known, compared as `simjudge compare` does.

`python bench/verdicts.py --out verdicts.json` tries all designs in an hour at most on two cores and prints a table;
`--designs laps_laps,slow_600 --trials 40` a few. The designs are in `verdict_designs.py`; what the same test says that
is told what chance drew together, in `told_units.py`.

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
from dataclasses import asdict, dataclass, field
from multiprocessing import get_context
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
CHUNK = 10
"""Trials that a worker makes in a row."""

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


def rows(names: Sequence[str], trials: int, gap_trials: int, draws: int, seed: int, workers: int = 1) -> Iterator[Row]:
    """Try designs, and yield a row for each difference as soon as it is done.

    Args:
        names: of the designs.
        trials: of each where nothing differs, and of differences that the design names itself.
        gap_trials: of gaps of 0.1 and 0.2; 0 for none.
        draws: of every kind, in each trial.
        seed: of everything random.
        workers: processes; 1: this one alone.
    """
    wanted = {
        (name, difference): count
        for name in names
        for difference, count in (
            (NOTHING, trials),
            *((each, trials) for each in DESIGNS[name].differences),
            *((each, gap_trials) for each in POWER_GAPS),
        )
        if count
    }
    parts = [
        (name, difference, range(first, min(first + CHUNK, count)), draws, seed)
        for (name, difference), count in wanted.items()
        for first in range(0, count, CHUNK)
    ]
    done: dict[tuple[str, Difference], list[Trial]] = {each: [] for each in wanted}
    for (name, difference), found in _run(parts, workers):
        done[name, difference] += found
        if len(done[name, difference]) == wanted[name, difference]:
            yield Row.of_trials(DESIGNS[name], difference, done.pop((name, difference)))


_Part = tuple[str, Difference, range, int, int]
_Found = tuple[tuple[str, Difference], list[Trial]]


def _run(parts: Sequence[_Part], workers: int) -> Iterator[_Found]:
    if workers == 1:
        yield from map(_try_part, parts)
        return
    # Each worker has one core: the threads of the join and of compiled loops would be in each other's way.
    os.environ |= dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        for future in as_completed([pool.submit(_try_part, part) for part in parts]):
            yield future.result()


def _try_part(part: _Part) -> _Found:
    name, difference, numbers, draws, seed = part
    return (name, difference), [try_once(DESIGNS[name], difference, number, draws, seed) for number in numbers]


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
    parser.add_argument("--trials", type=int, default=200, help="of each design where nothing differs")
    parser.add_argument("--gap-trials", type=int, default=60, help="of each gap of 0.1 and 0.2")
    parser.add_argument("--draws", type=int, default=199, help="draws of each trial")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="JSON file for the rows")
    parser.add_argument("--halves", type=Path, help="a set of photographs, in place of the designs")
    given = parser.parse_args()
    if given.halves is not None:
        halves = Halves(read_inputs(given.halves, given.halves, CompareSettings())[0].frames)
        tried = [try_once(halves, NOTHING, number, given.draws, given.seed, None) for number in range(given.trials)]
        print(table([Row.of_trials(halves, NOTHING, tried)]))
        return
    names = given.designs.split(",")
    unknown = [name for name in names if name not in DESIGNS]
    if unknown:
        parser.error(f"--designs {','.join(unknown)}: choose of {', '.join(DESIGNS)}")
    found, begin = [], time.perf_counter()
    for row in rows(names, given.trials, given.gap_trials, given.draws, given.seed, given.workers):
        found.append(row)
        print(
            f"{time.perf_counter() - begin:6.0f} s {row.design}, {row.difference}: gap {row.gaps}, told {row.told}, "
            f"G {_number(row.median)} for {row.truth:.3f}: {', '.join(row.faults()) or 'holds'}",
            file=sys.stderr,
            flush=True,
        )
        if given.out is not None:
            given.out.write_text(json.dumps([asdict(each) for each in found], indent=1) + "\n", "utf-8")
    found.sort(key=lambda row: names.index(row.design))
    print(table(found))


if __name__ == "__main__":
    main()
