"""Where two sets differ: how often the kind of contexts that hides a gap is named, and how often one without a gap is.

    python bench/where.py --trials 400 --jobs 16

The gap sits in small objects of one class in the left third of the image (in large ones where a camera drives past
them: far ones are ahead), or in nothing. Sets are made of the parts of `verdict_designs.py`.
"""

from __future__ import annotations

import argparse
import os
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context

import numpy as np
from scipy.stats import binomtest
from verdict_designs import Design, Effects, Side
from verdict_recordings import IMAGE, PATCH_PX, Kinds, Record, Recording, depth_sizes, drive, photographs, room

from simjudge.core.object_tables import Predictions
from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.pair import compare_pair
from simjudge.method.kinds import KindDifference
from simjudge.method.verdicts import Verdict

GAP = 0.58
"""By how much the performance of the hidden kind is lower."""
LEAST = 0.02
MARGIN = 0.05


def with_classes(record: Record) -> Record:
    """The same recording with two classes: a thing keeps its own."""

    def recorded(random: np.random.Generator) -> Recording:
        made = record(random)
        of_thing = np.random.default_rng(3).integers(1, 3, int(made.thing.max()) + 1)
        return replace(made, class_id=of_thing[made.thing])

    return recorded


_EFFECTS = Effects(unit=0.06, frame=0.03, own=0.1, mean=0.75)
_LIGHT = replace(_EFFECTS, unit=0.0, time=0.06)
_SIZES = Kinds(4)
DESIGNS = {
    "frames": Design(
        "frames", "300 independent frames a side", 300, *[photographs(300, _SIZES, 4, 2)] * 2, replace(_EFFECTS, unit=0)
    ),
    "video": Design(
        "video",
        "videos of 600 frames whose light lasts",
        60,
        *[
            lambda random: replace(
                photographs(600, _SIZES, 4, 2)(random),
                name=[f"{i:06d}" for i in range(600)],
                stamp=np.arange(600) * 100_000_000,
            )
        ]
        * 2,
        _LIGHT,
        by_time=True,
    ),
    "drive": Design(
        "drive",
        "a drive of 1,500 frames against 1,500 random poses",
        56,
        with_classes(drive(1500, step_m=0.12)),
        with_classes(photographs(1500, depth_sizes, random_poses=True)),
        _EFFECTS,
    ),
    "laps": Design(
        "laps",
        "5 laps past 57 cones against 5 past as many others, with ids",
        57,
        *[with_classes(drive(200, step_m=1.0, spacing_m=3.5, laps=5, ids=True))] * 2,
        _EFFECTS,
    ),
    "room": Design(
        "room",
        "300 random poses among 58 cones with ids against 300 others",
        58,
        *[with_classes(room(300))] * 2,
        _EFFECTS,
        same_things=True,
    ),
}
"""By name."""


@dataclass(frozen=True)
class Trial:
    """What one comparison said.

    Attributes:
        verdict: over all.
        share: of A's objects are of the hidden kind.
        named: the kind that is named; None for none.
        difference: B less A within it.
        tested: kinds that were tested together.
    """

    verdict: str
    share: float
    named: str | None
    difference: float
    tested: int


STREWN = ("frames", "video")
"""Designs whose objects stand anywhere, 20, 26, 34 or 44 px high."""


def hidden(name: str, a: Side, side: Side) -> np.ndarray:
    """(N,) whether an object of a side is small (or large, among A's), of class 1 and in the left third."""
    box, heights = side.frames.objects.box, np.diff(a.frames.objects.box[:, 1::2])
    left, height = (box[:, 0] + box[:, 2]) / 2 < IMAGE[0] / 3, box[:, 3] - box[:, 1]
    size = height < 25 if name in STREWN else height >= float(f"{np.quantile(heights, 2 / 3):.2g}")
    return (side.frames.objects.class_id == 1) & size & left


def lowered(side: Side, rows: np.ndarray, gap: float) -> Side:
    """The same set with a lower performance of some objects."""
    found = side.performance > 0
    value = np.where(rows, np.maximum(side.performance - gap, LEAST), side.performance)[found]
    objects, predictions = side.frames.objects, side.frames.predictions
    if predictions is None:
        return side
    box = objects.box[found].copy()
    box[:, 2] = box[:, 0] + value * (box[:, 2] - box[:, 0])
    made = Predictions.build(predictions.frame, predictions.class_id, box, predictions.score)
    return replace(side, frames=replace(side.frames, predictions=made))


def try_once(name: str, gap: float, draws: int, seed: int, number: int) -> Trial:
    """Draw both sets, hide the gap in B, and compare."""
    design = DESIGNS[name]
    random = np.random.default_rng([seed, zlib.crc32(name.encode()), number])
    a, b = design.draw(random)
    b = lowered(b, hidden(name, a, b), gap)
    settings = CompareSettings(patch=(PATCH_PX, PATCH_PX), draws=draws, seed=number, margin=MARGIN)
    made = compare_pair(a.frames, b.frames, settings, precision=False)
    where = made.where
    first: KindDifference | None = where.outstanding[0] if where is not None and where.outstanding else None
    return Trial(
        made.overall.verdict.value,
        float(hidden(name, a, a).mean()),
        first and first.kind,
        first.difference if first else 0.0,
        where.tested if where is not None else 0,
    )


def trials(name: str, gap: float, *, count: int, draws: int, seed: int, jobs: int) -> list[Trial]:
    """Try a design so many times."""
    once = partial(try_once, name, gap, draws, seed)
    if jobs == 1:
        return [once(number) for number in range(count)]
    os.environ |= dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        return list(pool.map(once, range(count), chunksize=max(1, count // (4 * jobs))))


def is_exact(trial: Trial, gap: float) -> bool:
    """Whether the named kind says class and place of the hidden one, and no larger one: its difference is the gap."""
    named = trial.named or ""
    return "kind 1" in named and "on the left" in named and abs(trial.difference + gap) < 0.1


def lines(name: str, gap: float, found: Sequence[Trial]) -> Iterator[str]:
    """What came out, a line."""
    hides = (Verdict.PREDICTS, Verdict.SMALL_GAP)
    blind = sum(trial.verdict in hides for trial in found)
    named = [trial for trial in found if trial.named is not None]
    share, tested = (float(np.median([getattr(t, field) for t in found])) for field in ("share", "tested"))
    exact = sum(is_exact(trial, gap) for trial in found)
    yield (
        f"{name}, gap {gap:g} in {100 * share if gap else 0:.1f} % ({DESIGNS[name].words}; {tested:.0f} kinds): "
        f"named {_share(len(named), len(found))}, with class, place and size of the gap {_share(exact, len(found))}, "
        f"median difference {np.median([t.difference for t in named]) if named else 0:.2f}; "
        f"predicts or small gap {_share(blind, len(found))}"
    )


def _share(hits: int, count: int) -> str:
    low, high = binomtest(hits, count).proportion_ci(0.95, "exact")
    return f"{100 * hits / count:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def main() -> None:
    """Print a line a design: with the gap, and without."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--designs", default=",".join(DESIGNS), help="names with commas; all of them by default")
    parser.add_argument("--gaps", default=f"{GAP},0", help="gaps with commas; 0: nothing differs")
    parser.add_argument("--trials", type=int, default=100, help="of each design and gap")
    parser.add_argument("--draws", type=int, default=199)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    given = parser.parse_args()
    for name in given.designs.split(","):
        for gap in map(float, given.gaps.split(",")):
            found = trials(name, gap, count=given.trials, draws=given.draws, seed=given.seed, jobs=given.jobs)
            for line in lines(name, gap, found):
                print(line, flush=True)


if __name__ == "__main__":
    main()
