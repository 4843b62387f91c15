"""Pairs of sets of one detector that show their contexts in unlike numbers, many times over: how often a gap is called.

`python test/simulated_contexts.py 400` prints the table of docs/measurements/certainty.md.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects
from simjudge.detectors.assignment import Assignment
from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.judged_set import JudgedSet
from simjudge.judging.set_comparison import SetComparison, comparison_units
from simjudge.method.certainty import Certainty

_PLACES = 8
"""Objects of a frame at most; they stand so far apart that each is alone in its patch."""
_SIDES = (10.0, 46.0)
"""Sides of the smallest and of the largest object, pixels."""


@dataclass(frozen=True)
class Shown:
    """What a set shows.

    Attributes:
        frames: how many.
        sizes: the two parameters of the beta distribution of sizes, from the smallest to the largest object: (1, 1) is
            uniform, (1, 3) has more small ones, (3, 1) more large ones.
        objects: of each frame.
    """

    frames: int
    sizes: tuple[float, float] = (1, 1)
    objects: int = 3


@dataclass(frozen=True)
class UnlikeSets:
    """Two sets of one detector.

    Attributes:
        a, b: what they show.
        spread: standard deviation of the performance for the smallest and for the largest objects.
        frame_spread: that of a part which all objects of a frame share.
        slope: by how much the mean performance of the largest objects is above that of the smallest.
        gap: by how much B's performance is lower.
    """

    a: Shown
    b: Shown
    spread: tuple[float, float] = (0.15, 0.15)
    frame_spread: float = 0.0
    slope: float = 0.0
    gap: float = 0.0

    def draw(self, shown: Shown, random: np.random.Generator, gap: float) -> JudgedSet:
        """Draw a set."""
        frame = np.repeat(np.arange(shown.frames), shown.objects)
        place = np.concatenate([random.permutation(_PLACES)[: shown.objects] for _ in range(shown.frames)])
        size: FloatArray = random.beta(*shown.sizes, len(frame))
        side = np.round(_SIDES[0] * (_SIDES[1] / _SIDES[0]) ** size)
        x = 50 + 100 * place
        box = np.stack([x, 50 + 0 * side, x + side, 50 + side], 1)
        spread = self.spread[0] + (self.spread[1] - self.spread[0]) * size
        performance = 0.5 + self.slope * (size - 0.5) - gap + spread * random.standard_normal(len(frame))
        performance = performance + self.frame_spread * random.standard_normal(shown.frames)[frame]
        objects = Objects.build(frame, np.ones(len(frame), np.int64), box)
        frames = FrameSet.build(
            "made", [[100 * _PLACES + 100, 150]] * shown.frames, objects, class_names={1: "cone"}, independent=True
        )
        found = np.zeros(len(frame), np.int64)
        return JudgedSet(frames, Assignment(np.clip(performance, 0, 1), found, found == 0, {}))

    def certainty(self, random: np.random.Generator, draws: int = 199) -> Certainty:
        """Draw two sets and judge them."""
        sets = self.draw(self.a, random, 0.0), self.draw(self.b, random, self.gap)
        settings = CompareSettings(patch=(60, 60), draws=draws, seed=int(random.integers(1 << 30)))
        method = replace(settings.method, paint_masks=False)
        comparison = SetComparison(sets, comparison_units(*sets, settings), method)
        (classes,), resampled = comparison.compare(comparison.schedule(settings))
        return comparison.certainty(classes, resampled, 0, settings.margin)[1]

    def rate(self, runs: int, seed: int = 0) -> float:
        """The share of pairs with p <= 0.05."""
        random = np.random.default_rng(seed)
        found = [self.certainty(random).p_value for _ in range(runs)]
        return float(np.mean([p is not None and p <= 0.05 for p in found]))


_SMALL, _LARGE = (1, 3), (3, 1)
CASES = {
    "both show the same": UnlikeSets(Shown(60), Shown(60)),
    "A more small, B more large objects": UnlikeSets(Shown(60, _SMALL), Shown(60, _LARGE)),
    "the same, small ones vary more": UnlikeSets(Shown(60, _SMALL), Shown(60, _LARGE), spread=(0.3, 0.02)),
    "the same, large ones vary more": UnlikeSets(Shown(60, _SMALL), Shown(60, _LARGE), spread=(0.02, 0.3)),
    "the same, frames vary": UnlikeSets(Shown(60, _SMALL), Shown(60, _LARGE), frame_spread=0.1),
    "the same, larger is better": UnlikeSets(Shown(60, _SMALL), Shown(60, _LARGE), slope=0.3),
    "40 frames of small, 300 of large": UnlikeSets(Shown(40, _SMALL), Shown(300, _LARGE), spread=(0.3, 0.02)),
    "B shows few of what A shows": UnlikeSets(Shown(60), Shown(60, (6, 1)), spread=(0.3, 0.02)),
    "six objects a frame in A, one in B": UnlikeSets(Shown(40, objects=6), Shown(120, objects=1), frame_spread=0.1),
}
"""Without a gap: what is called one is a false alarm."""


def main(runs: int) -> None:
    """Print the table."""
    print("| what the sets show | p <= 0.05, no gap | gap 0.05 | gap 0.1 |")
    print("| --- | --- | --- | --- |")
    for name, case in CASES.items():
        rates = [100 * replace(case, gap=gap).rate(runs) for gap in (0.0, 0.05, 0.1)]
        print(f"| {name} | " + " | ".join(f"{rate:.1f} %" for rate in rates) + " |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
