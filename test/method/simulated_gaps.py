"""Sets of objects with a gap that is known, many times over: what verdicts and intervals make of them.

`python test/method/simulated_gaps.py 400` prints the table of docs/measurements/certainty.md.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from scipy.stats import wasserstein_distance

from simjudge.method.bootstrap import Bootstrap, DrawnRows, DrawnSamples, DrawSchedule, UnitNumbers
from simjudge.method.certainty import Certainty, Evidence, SampleSize, estimate_certainty
from simjudge.method.distinct import Members
from simjudge.method.similarity_join import Neighbours
from simjudge.method.verdicts import GAPS, Verdict


@dataclass(frozen=True)
class GapModel:
    """Two sets of frames. Each frame has about `objects` objects, each in one of `kinds` kinds of surroundings.

    Attributes:
        frames: of each set.
        kinds: kinds of surroundings; contexts of one kind are similar, others are not.
        objects: mean number of objects of a frame.
        kind_of_gap: "shift" lowers the performance of every object of B that was found; "miss" has B miss more
            objects; "spread" makes B's performance more variable; "one" lowers one kind alone.
        gap: how much.
    """

    frames: int
    kinds: int
    objects: float = 3.0
    kind_of_gap: str = "shift"
    gap: float = 0.0

    def draw(self, random: np.random.Generator, frames: int, *, is_b: bool) -> tuple[np.ndarray, ...]:
        """Frame, kind and performance of the objects of a set."""
        count = random.poisson(self.objects, frames)
        frame = np.repeat(np.arange(frames), count)
        kind = random.integers(0, self.kinds, len(frame))
        value = random.beta(8, 2, len(frame)) * (0.7 + 0.3 * kind / max(1, self.kinds - 1))
        value = np.clip(value + random.normal(0, 0.05, frames)[frame], 0.001, 1)
        value[random.random(len(frame)) < 0.1] = 0
        if is_b and self.gap:
            if self.kind_of_gap == "shift":
                value = np.maximum(value - self.gap / 0.9, 0)
            elif self.kind_of_gap == "miss":
                value = np.where(random.random(len(value)) < self.gap / 0.63, 0, value)
            elif self.kind_of_gap == "one":
                value = np.where(kind == 0, np.maximum(value - self.gap * self.kinds / 0.9, 0), value)
            else:
                moved = value + np.where(random.random(len(value)) < 0.5, 1, -1) * self.gap
                value = np.where(value > 0, np.clip(moved, 0, 1), 0)
        return frame, kind, value

    def true_gap(self) -> float:
        """The mean W1 of endless samples, from 150,000 objects a set."""
        random = np.random.default_rng(99)
        frames = int(150_000 / self.objects)
        (_, kind_a, a), (_, kind_b, b) = (self.draw(random, frames, is_b=is_b) for is_b in (False, True))
        return float(np.mean([wasserstein_distance(a[kind_a == k], b[kind_b == k]) for k in range(self.kinds)]))

    def certainty(self, random: np.random.Generator, margin: float = 0.05, draws: int = 200) -> Certainty:
        """One pair of sets, judged."""
        a, b = self.draw(random, self.frames, is_b=False), self.draw(random, self.frames, is_b=True)
        frame = np.concatenate([a[0], b[0] + self.frames])
        kind, value = (np.concatenate(parts) for parts in zip(a[1:], b[1:], strict=True))
        count_a = len(a[0])
        samples = DrawnSamples.of_sets(value, count_a, UnitNumbers(frame), None)
        members = [np.flatnonzero(kind == k) for k in range(self.kinds)]
        start = np.concatenate([[0], np.cumsum([len(found) for found in members])]).astype(np.int64)
        item = np.concatenate(members).astype(np.int32)
        rank = np.concatenate([np.sort(samples.rank_of[found]) for found in members]).astype(np.int32)
        block = Neighbours(np.arange(self.kinds), start, rank, np.ones(len(rank), np.uint8))
        normals = DrawSchedule(2 * self.frames, 0, draws, int(random.integers(1 << 30))).next_batch()
        assert normals is not None
        found = DrawnRows.zeros(self.kinds, draws)
        found.add_block(block, slice(0, self.kinds), Members(start, item), samples, count_a, 1, samples.cells(normals))
        boot = Bootstrap.of_batches([found], int(found.own.sum()))
        size = SampleSize.of_units((np.unique(a[0]), np.unique(b[0])))
        return estimate_certainty([], Evidence(None if boot is None else boot.mean_w1, boot, size), margin)[1]


@dataclass(frozen=True)
class Rates:
    """Shares of the runs, by what happened in them, and means over the runs.

    Attributes:
        truth: the gap of endless samples.
        below, above: the truth lies below (above) the interval.
        gaps, large, small, predicts: verdicts.
        noise, detectable, width: means; of the interval's width.
    """

    truth: float
    below: float
    above: float
    gaps: float
    large: float
    small: float
    predicts: float
    noise: float
    detectable: float
    width: float


def rates(model: GapModel, runs: int, margin: float = 0.05, seed: int = 1) -> Rates:
    """Judge many pairs of sets."""
    random, truth = np.random.default_rng(seed), model.true_gap()
    found = [model.certainty(random, margin) for _ in range(runs)]
    return Rates(
        truth,
        float(np.mean([truth < one.gap_low for one in found])),
        float(np.mean([truth > one.gap_high for one in found])),
        *(
            float(np.mean([one.verdict in chosen for one in found]))
            for chosen in (GAPS, (Verdict.LARGE_GAP,), (Verdict.SMALL_GAP,), (Verdict.PREDICTS,))
        ),
        float(np.mean([one.noise for one in found])),
        float(np.mean([one.detectable_gap for one in found])),
        float(np.mean([one.gap_high - one.gap_low for one in found])),
    )


GAP_KINDS = (("none", 0.0), ("shift", 0.05), ("miss", 0.05), ("one", 0.05), ("spread", 0.1), ("shift", 0.12))


def main(runs: int) -> None:
    """Print the table."""
    print("| frames | kinds | difference | gap | noise | interval holds | width | p <= 0.05 | verdicts | 80 % |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for frames, kinds in ((30, 1), (60, 200), (120, 8), (300, 30), (600, 8), (1000, 30)):
        for kind_of_gap, gap in GAP_KINDS:
            if kind_of_gap == "one" and not 1 < kinds <= 8:
                continue
            found = rates(GapModel(frames, kinds, 3.0, kind_of_gap, gap), runs)
            words = [
                f"{100 * share:.0f} % {word}"
                for word, share in (("large", found.large), ("small", found.small), ("predicts", found.predicts))
                if share
            ]
            inside = f"{100 * (1 - found.below - found.above):.1f} %"
            missed = f"{100 * found.below:.1f} below, {100 * found.above:.1f} above"
            print(
                f"| {frames} | {kinds} | {kind_of_gap} | {found.truth:.3f} | {found.noise:.3f} | "
                f"{inside} ({missed}) | {found.width:.3f} | "
                f"{100 * found.gaps:.0f} % | {', '.join(words)} | {found.detectable:.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]))
