"""Whether the price of labels' errors is right: labels of A are corrupted by a known error, and the true gap is known.

`python bench/label_noise.py --trials 200 --jobs 16` prints a line a design: how often the corrected interval holds the
gap, the bias of the corrected and of the plain gap, and how often either calls a gap where there is none.
"""

from __future__ import annotations

import argparse
import os
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from multiprocessing import get_context

import numpy as np
from simulations import share
from verdict_designs import NOTHING, Design, Difference, Effects
from verdict_recordings import PATCH_PX, Kinds, photographs

from simjudge.core.errors import Losses
from simjudge.core.frames import FrameSet
from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.label_noise import LabelError, PricedLabels, price_labels
from simjudge.judging.pair import compare_pair, judge_sets

_LARGE = 3000
"""Frames of the sets whose gap counts as the true one."""


@dataclass(frozen=True)
class CorruptedLabels:
    """Sets of photographs whose labels in A carry an error.

    Attributes:
        frames: of each set.
        error: of A's labels.
        own_px: of the detector's own boxes, standard deviation of an edge.
        gap: by how much performance in B is lower.
    """

    frames: int
    error: LabelError
    own_px: float
    gap: float

    def draw(self, random: np.random.Generator, frames: int) -> tuple[FrameSet, FrameSet]:
        """Draw both sets, without errors."""
        effects = Effects(unit=0.08, frame=0.0, own=0.15, mean=0.72)
        design = Design("corrupted", "", frames, *[photographs(frames, Kinds(4))] * 2, effects)
        sides = design.draw(random, Difference(self.gap) if self.gap else NOTHING)
        first, second = (_with_own_error(side.frames, self.own_px, random) for side in sides)
        return first, second

    def try_once(self, number: int, seed: int, draws: int) -> PricedLabels:
        """Corrupt A's labels, and price the error."""
        random = np.random.default_rng([seed, zlib.crc32(repr(self).encode()), number])
        a, b = self.draw(random, self.frames)
        objects, _ = self.error.apply(a.objects, 1.0, random)
        settings = _settings(draws, number)
        of_a, of_b, painted = judge_sets(replace(a, objects=objects), b, settings, Losses(), precision=False)
        return price_labels(of_a, of_b, self.error, settings, painted)


def _with_own_error(frames: FrameSet, own_px: float, random: np.random.Generator) -> FrameSet:
    found = frames.predictions
    if found is None or not own_px:
        return frames
    box = np.sort((found.box + random.normal(0, own_px, found.box.shape)).reshape(-1, 2, 2), axis=1).reshape(-1, 4)
    return replace(frames, predictions=replace(found, box=box))


def _settings(draws: int, seed: int) -> CompareSettings:
    return CompareSettings(patch=(PATCH_PX, PATCH_PX), draws=draws, seed=seed)


@cache
def true_gap(design: CorruptedLabels) -> float:
    """The gap of large sets without errors; none where the populations are the same."""
    if not design.gap:
        return 0.0
    a, b = design.draw(np.random.default_rng(3), _LARGE)
    return compare_pair(a, b, _settings(20, 0), precision=False).overall.gap or 0.0


DESIGNS = {
    f"{frames}_{error}_own{own:g}_gap{gap:g}": CorruptedLabels(frames, LabelError.parse(error), own, gap)
    for frames in (60, 200)
    for error in ("1.5px,2%missed", "3px,10%missed")
    for own in (1.0, 2.0)
    for gap in (0.0, 0.1, 0.2)
}


def _attempt(number: int, name: str, seed: int, draws: int) -> tuple[float, ...]:
    design = DESIGNS[name]
    found, truth = design.try_once(number, seed, draws), true_gap(design)
    gap, low, high = found.gap or 0.0, found.low or 0.0, found.high or 0.0
    plain = found.as_labelled
    held = (plain.gap_low or 0.0) <= truth <= (plain.gap_high or 0.0)
    return (
        low <= truth <= high,
        held,
        gap - truth,
        (plain.gap or 0.0) - truth,
        (found.p_value or 1.0) <= 0.05,
        (plain.p_value or 1.0) <= 0.05,
        high - low,
    )


def lines(names: Sequence[str], trials: int, seed: int, jobs: int, draws: int) -> Iterator[str]:
    """Try designs, a line each."""
    os.environ |= dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        for name in names:
            done = np.array(
                list(pool.map(partial(_attempt, name=name, seed=seed, draws=draws), range(trials), chunksize=4)), float
            )
            holds, plain_holds, bias, plain_bias, named, plain_named, width = done.T
            yield (
                f"{name:34} holds {share(holds.sum(), trials)} (plain {100 * plain_holds.mean():.0f} %)  "
                f"bias {bias.mean():+.4f} (plain {plain_bias.mean():+.4f})  "
                f"p<=0.05 {share(named.sum(), trials)} (plain {100 * plain_named.mean():.0f} %)  "
                f"width {width.mean():.3f}"
            )


def main() -> None:
    """Print a line a design."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--designs", default=" ".join(DESIGNS), help="names, with spaces")
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    for line in lines(given.designs.split(), given.trials, given.seed, given.jobs, given.draws):
        print(line, flush=True)


if __name__ == "__main__":
    main()
