"""How often `simjudge compare A B1 B2` names the right simulation as nearer: gaps of known size, drawn again and again.

`python bench/simulations.py --trials 400 --jobs 16` prints a line a design: how often a difference is named that is
none, how often one that is there, and how often its interval holds it, each with a binomial interval.
"""

from __future__ import annotations

import argparse
import os
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from multiprocessing import get_context

import numpy as np
from scipy.stats import binomtest
from verdict_designs import DESIGNS, NOTHING, Design, Difference, Effects
from verdict_recordings import PATCH_PX, Kinds, photographs

from simjudge.core.errors import Losses
from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.joint_comparison import JointComparison, compare_jointly
from simjudge.judging.pair import judge_sets
from simjudge.method.gap_difference import Nearness

_NAMED = (Nearness.FIRST, Nearness.SECOND)


@dataclass(frozen=True)
class Simulations:
    """One reality and several simulations of it.

    Attributes:
        words: what it is, for the table.
        design: what A and each simulation record.
        differences: of each simulation from A.
        same_poses: the simulations show the same scenes, and what happens in a frame happens in all of them.
    """

    words: str
    design: Design
    differences: tuple[Difference, ...]
    same_poses: bool = False

    def truth(self) -> list[float]:
        """The gap of each simulation."""
        return [self.design.truth(difference) for difference in self.differences]

    def compare(self, number: int, seed: int, draws: int) -> JointComparison:
        """Draw all sets, and compare them jointly."""
        random = np.random.default_rng([seed, zlib.crc32(self.words.encode()), number])
        a, simulations = self.design.draw_several(random, self.differences, same_poses=self.same_poses)
        settings = CompareSettings(patch=(PATCH_PX, PATCH_PX), draws=draws, seed=number)
        sides = [judge_sets(a.frames, side.frames, settings, Losses(), precision=False)[:2] for side in simulations]
        return compare_jointly(sides, settings)


def _designs() -> dict[str, Simulations]:
    found = {}
    for count in (60, 200):
        design = Design(
            f"frames_{count}",
            "",
            count,
            *[photographs(count, Kinds(4))] * 2,
            Effects(unit=0.08, frame=0.0, own=0.15),
        )
        for name, differences in (
            ("none", (NOTHING, NOTHING)),
            ("equal_0.1", (Difference(0.1), Difference(0.1))),
            ("equal_0.2", (Difference(0.2), Difference(0.2))),
            ("equal_unlike", (Difference(0.1), Difference(0.4, kinds=1))),
            ("0.05", (Difference(0.05), Difference(0.1))),
            ("0.1", (Difference(0.05), Difference(0.15))),
            ("none_0.1", (NOTHING, Difference(0.1))),
            ("three_equal", (Difference(0.1),) * 3),
            ("three", (NOTHING, Difference(0.1), Difference(0.2))),
        ):
            found[f"frames_{count}_{name}"] = Simulations(f"{count} photographs, {name}", design, differences)
            if len(differences) == 2:
                found[f"poses_{count}_{name}"] = Simulations(
                    f"{count} photographs, same poses, {name}", design, differences, same_poses=True
                )
    laps = DESIGNS["laps_random"]
    found["laps_equal"] = Simulations("5 laps past 24 cones, equal 0.1", laps, (Difference(0.1),) * 2)
    found["laps_0.1"] = Simulations("5 laps past 24 cones, 0.1", laps, (Difference(0.05), Difference(0.15)))
    return found


SIMULATIONS = _designs()


@dataclass(frozen=True)
class Trial:
    """How the pairs of one trial came out.

    Attributes:
        false: whether a difference is named that is none, or the other way round.
        named: how many of the pairs that differ are named rightly.
        held: how many intervals hold the true difference; of `pairs`.
        bias: mean of the differences less the true ones.
    """

    false: bool
    named: int
    differing: int
    held: int
    pairs: int
    bias: float
    width: float


def try_once(name: str, number: int, seed: int = 0, draws: int = 400) -> Trial:
    """Draw and judge one trial of a design."""
    design = SIMULATIONS[name]
    truth = design.truth()
    found = design.compare(number, seed, draws).differences
    false, named, differing, held, bias, width = False, 0, 0, 0, [], []
    for one, (i, j) in zip(found, combinations(range(len(truth)), 2), strict=True):
        true = truth[j] - truth[i]
        differs = abs(true) > 0.004
        differing += differs
        right = one.nearness == (Nearness.FIRST if true > 0 else Nearness.SECOND)
        named += differs and right
        false |= one.nearness in _NAMED and not (differs and right)
        if one.low is not None and one.high is not None and one.difference is not None:
            held += one.low <= true <= one.high
            bias.append(one.difference - true)
            width.append(one.high - one.low)
    return Trial(false, named, differing, held, len(bias), float(np.mean(bias)), float(np.mean(width)))


def lines(names: Sequence[str], trials: int, seed: int, jobs: int, draws: int) -> Iterator[str]:
    """Try designs, a line each."""
    os.environ |= dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        for name in names:
            attempt = partial(try_once, name, seed=seed, draws=draws)
            done = list(pool.map(attempt, range(trials), chunksize=4))
            differing, pairs = sum(one.differing for one in done), sum(one.pairs for one in done)
            parts = [f"{name:26} false {share(sum(one.false for one in done), trials)}"]
            if differing:
                parts.append(f"named {share(sum(one.named for one in done), differing)}")
            parts.append(f"holds {share(sum(one.held for one in done), pairs)}")
            parts.append(
                f"bias {np.mean([one.bias for one in done]):+.4f} width {np.mean([one.width for one in done]):.3f}"
            )
            yield "  ".join(parts)


def share(count: int, total: int) -> str:
    """A share in per cent with its 95 % interval."""
    if not total:
        return "-"
    ends = binomtest(int(count), total).proportion_ci(method="wilson")
    return f"{100 * count / total:5.1f} % ({100 * ends.low:.1f}-{100 * ends.high:.1f})"


def main() -> None:
    """Print a line a design."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--designs", default=",".join(SIMULATIONS), help="names, with commas")
    parser.add_argument("--trials", type=int, default=400)
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    for line in lines(given.designs.split(","), given.trials, given.seed, given.jobs, given.draws):
        print(line, flush=True)


if __name__ == "__main__":
    main()
