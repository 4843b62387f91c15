"""How often "gap" is said where there is none: random halves of one real set, compared as `simjudge compare` does.

`python bench/false_alarms.py photographs.json` for a set with predictions (`simjudge detect --out`), and
`python bench/false_alarms.py drive.mcap --model cones.yaml` for clouds; several sets are joined. Labels and predictions
do not change from split to split, so one similarity join serves all; only relabellings are drawn and tried anew.

Sampling units (photographs, or blocks of neighbours as the whole set's autocorrelation asks) are dealt whole. With
`--estimate-again` each half estimates its own blocks, as `compare` would that knows the halves alone.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from simjudge.context.certainty import Evidence, estimate_certainty
from simjudge.context.distinct import Members
from simjudge.context.pool import ContextPool
from simjudge.context.propensity import Propensity, UnitOdds
from simjudge.context.resample_draws import ResampleDraws
from simjudge.context.resampling import PooledSamples, ResampledW1
from simjudge.context.sample_size import SampleSize
from simjudge.context.similarity_join import Neighbours, join_blocks
from simjudge.context.verdicts import FEWEST_UNITS, SIGNIFICANCE
from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.errors import Losses
from simjudge.data.set_join import join_sets
from simjudge.studies.compare_settings import CompareSettings
from simjudge.studies.comparison import read_inputs
from simjudge.studies.judged_set import JudgedSet, class_samples, judge_set
from simjudge.studies.painted_masks import painted_geometry
from simjudge.studies.sampling_units import SamplingUnits, frame_performance, sampling_units

PERMUTATIONS = 199
"""p <= 0.05 then has a chance of 10 in 200, exactly, where nothing differs."""


@dataclass(frozen=True)
class JoinedClass:
    """One class of the whole set: its similar contexts, and its samples in order of performance."""

    frame: IntArray
    order: IntArray
    performance: FloatArray
    neighbours: Neighbours
    members: Members
    predicted: bool


def joined_classes(judged: JudgedSet, settings: CompareSettings) -> list[JoinedClass]:
    """The similarity join of each class with itself."""
    painted = painted_geometry((judged.frames, judged.frames), settings.masks)
    method, classes = replace(settings.method, paint_masks=painted.use_masks), []
    predictions = judged.frames.predictions
    for class_id in np.unique(judged.frames.objects.class_id).tolist():
        samples = class_samples(judged, class_id, method)
        order = np.argsort(samples.performance, kind="stable")
        rank_of = np.empty(len(order), np.int32)
        rank_of[order] = np.arange(len(order))
        pool = ContextPool.of_sets(samples.contexts, samples.contexts.take(np.zeros(0, np.int64)))
        members = Members.of_groups(pool.place, len(pool.tree))
        ranks = Members(members.start, rank_of[members.item])
        rows, sizes = np.arange(len(pool.tree)), np.diff(members.start)
        blocks = [block.neighbours(ranks) for block in join_blocks(pool.tree, rows, sizes, [method.theta])]
        near = concatenated(blocks)
        predicted = judged.frames.classless or (predictions is not None and class_id in predictions.class_id)
        own = members.take(near.row)
        classes.append(JoinedClass(samples.frame, order, samples.performance[order], near, own, predicted))
    return classes


def concatenated(blocks: list[Neighbours]) -> Neighbours:
    """Several blocks of rows as one."""
    lengths = np.concatenate([np.diff(block.start) for block in blocks])
    return Neighbours(
        np.concatenate([block.row for block in blocks]),
        np.concatenate([[0], np.cumsum(lengths)]),
        np.concatenate([block.rank for block in blocks]),
        np.concatenate([block.level for block in blocks]),
    )


def halves(units: SamplingUnits, random: np.random.Generator) -> tuple[IntArray, IntArray]:
    """The frames of a random half of the units, and the others."""
    first = np.zeros(units.count, np.bool_)
    first[random.permutation(units.count)[: units.count // 2]] = True
    return np.flatnonzero(first[units.of_frame]), np.flatnonzero(~first[units.of_frame])


@dataclass(frozen=True)
class Split:
    """A random half of a set as A, and the other as B.

    Attributes:
        number: (F,) the pooled number of each frame's unit, A's first.
        count_a, count_b: units of each.
        short: whether a half is too short for blocks as long as they should be.
    """

    number: IntArray
    count_a: int
    count_b: int
    short: bool = False

    @classmethod
    def deal(cls, judged: JudgedSet, whole: SamplingUnits, random: np.random.Generator, *, again: bool) -> Split:
        """Deal the units of the whole set."""
        parts = halves(whole, random)
        if again:
            value = frame_performance(judged)
            units = [sampling_units(judged.frames.take(part), None, value[part]) for part in parts]
            first, second, short = units[0].of_frame, units[1].of_frame, any(each.short for each in units)
        else:
            first, second = (np.unique(whole.of_frame[part], return_inverse=True)[1] for part in parts)
            short = False
        number = np.empty(len(judged.frames), np.int64)
        count_a, count_b = int(first.max()) + 1, int(second.max()) + 1
        number[parts[0]], number[parts[1]] = first, second + count_a
        return cls(number, count_a, count_b, short)


def judged_split(classes: list[JoinedClass], split: Split, seed: int) -> tuple[float | None, bool]:
    """The p of all classes together, and whether a class is a gap (see `SetComparison`); None for too few."""
    units = split.count_a + split.count_b
    odds = UnitOdds(units)
    for each in classes:
        of_class, frame = Propensity.zeros(units), split.number[each.frame]
        own, share = Members(each.members.start, frame[each.members.item]), float((frame < split.count_a).mean())
        of_class.add_block(each.neighbours, own, frame[each.order], split.count_a, share)
        odds.add(of_class)
    draws = ResampleDraws(split.count_a, split.count_b, seed)
    draws.propensity = odds.of_units()[np.newaxis]
    resamples = draws.draw(PERMUTATIONS, 0)[0]
    evidence, pooled, held_by_all = [], ResampledW1.zeros(resamples), [np.zeros(0, np.int64)]
    for each in classes:
        frame = split.number[each.frame]
        tried = resamples.within(frame)
        found = ResampledW1.zeros(tried)
        samples = PooledSamples(frame[each.order], each.performance, split.count_a)
        own = Members(each.members.start, frame[each.members.item])
        found.add_block(each.neighbours, own, samples, tried, 1)
        w1 = found.label_means()[0]
        if not np.isnan(w1):
            held_by_all.append(frame)
        held = size(frame, split, predicted=each.predicted)
        evidence.append(Evidence(None if np.isnan(w1) else float(w1), found, held))
        pooled = pooled.added(found.at_true_share())
    together = size(np.concatenate(held_by_all), split)
    certain, overall = estimate_certainty(evidence, Evidence(float(pooled.label_means()[0]), pooled, together))
    gap = any(one.p_adjusted is not None and one.p_adjusted <= SIGNIFICANCE for one in certain)
    lacking = split.short or min(together.units_a, together.units_b) < FEWEST_UNITS
    return (None if lacking else overall.p_value), gap


def size(frame: IntArray, split: Split, *, predicted: bool = True) -> SampleSize:
    """The units of each half that hold a class."""
    held = (frame[frame < split.count_a], frame[frame >= split.count_a])
    return SampleSize.of_units(held, predicted=predicted, short=split.short)


def read(paths: list[str], settings: CompareSettings) -> JudgedSet:
    """The sets, joined, with the performance of their objects."""
    sides = read_inputs(paths[0], paths[-1], settings)
    frames = sides[0].frames if len(paths) == 1 else join_sets([side.frames for side in sides])
    return judge_set(frames, settings.method, settings.metric, Losses(), precision=False)


def main() -> None:
    """Print a row of the table of docs/measurements/certainty.md."""
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", nargs="+", help="one set, or two that are joined")
    parser.add_argument("--model", help="detector of clouds")
    parser.add_argument("--splits", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=1, help="number of the first split: a run in parts")
    parser.add_argument("--estimate-again", action="store_true")
    given = parser.parse_args()
    lidar = {} if given.model is None else {"sensor": "lidar", "cuboid_iou": "bev", "model": Path(given.model)}
    settings = CompareSettings(**lidar)
    judged = read(given.sets, settings)
    whole = sampling_units(judged.frames, None, frame_performance(judged))
    print(whole.describe(judged.frames.name), file=sys.stderr)
    begin = time.perf_counter()
    classes = joined_classes(judged, settings)
    joined = time.perf_counter() - begin
    gaps, class_gaps, lacking = 0, 0, 0
    for number in range(1, given.splits + 1):
        seed = given.first + number - 1
        random = np.random.default_rng([0, seed])
        split = Split.deal(judged, whole, random, again=given.estimate_again)
        p, class_gap = judged_split(classes, split, seed)
        lacking += p is None
        gaps += p is not None and p <= SIGNIFICANCE
        class_gaps += class_gap
        if number in {100, 1000} or number % 2500 == 0:
            took = time.perf_counter() - begin
            print(f"{number} splits, {took:.0f} s: {100 * gaps / number:.2f} %", file=sys.stderr, flush=True)
    rate = gaps / given.splits
    error = np.sqrt(rate * (1 - rate) / given.splits)
    print(f"| {judged.frames.name} | {len(judged.frames)} | {whole.count} | {len(judged.frames.objects)} | "
          f"{given.splits:,} | {100 * rate:.2f} % ± {100 * error:.2f} | {100 * class_gaps / given.splits:.2f} % | "
          f"{lacking} | {time.perf_counter() - begin:.0f} s (join {joined:.2f} s) |")


if __name__ == "__main__":
    main()
