"""`compare-tracks` beside a t-test over sequences: `python bench/track_t_test.py --trials 60 --seed 0 --jobs 2`.

Welch's test takes the mean of each sequence, and knows that contexts say nothing of performance in these designs. A
test over labelled tracks takes each for independent, which those of one sequence are not.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import numpy as np
from metric_designs import share
from scipy.stats import ttest_ind
from track_sequences import DESIGNS, SETTINGS, Design, made_sides

from simjudge.core.arrays import FloatArray
from simjudge.method.multiple_tests import holm
from simjudge.questions.tracks.run import TrackedSequence, compare_sequences
from simjudge.questions.tracks.settings import METRICS

TESTS = ("the judge", "t-test over sequences", "t-test over tracks")
DRAWS = 1000
"""As users have it: Holm over three metrics needs p of 0.0167, which 100 draws hardly reach."""


def track_means(sequence: TrackedSequence) -> FloatArray:
    """(tracks, metrics) the mean of each labelled track."""
    track = sequence.pair.truth.track
    return np.stack([sequence.values[track == number].mean(0) for number in np.unique(track)])


def try_tests(given: tuple[Design, int, int]) -> FloatArray:
    """(tests, metrics) p before the correction, of one trial."""
    design, seed, draws = given
    compared = compare_sequences(*made_sides(design, seed), replace(SETTINGS, seed=seed, draws=draws))
    p = [result.certainty.p_value for result in compared.results]
    means = [np.stack([sequence.values.mean(0) for sequence in side]) for side in compared.sequences]
    tracks = [np.concatenate([track_means(sequence) for sequence in side]) for side in compared.sequences]
    rows = [np.array([1.0 if each is None else each for each in p])]
    rows += [ttest_ind(*sides, equal_var=False).pvalue for sides in (means, tracks)]
    return np.array(rows)


def rows_of(design: Design, p: FloatArray) -> Iterator[str]:
    """A row each test, of p (trials, tests, metrics)."""
    column = list(range(len(METRICS))) if design.differing is None else [METRICS.index(design.differing)]
    for number, test in enumerate(TESTS):
        corrected = np.array([holm(list(trial)) for trial in p[:, number]], np.float64)
        small, found = p[:, number][:, column] <= 0.05, corrected[:, column].min(1) <= 0.05
        words = share(int(small.sum()), small.size), share(int(found.sum()), len(found))
        yield f"| {design.name} | {len(p)} | {test} | {' | '.join(words)} |"


def main() -> None:
    """Print the rows of docs/measurements/trajectories.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="designs whose name holds this text")
    given = parser.parse_args()
    print("| design | trials | test | p at most 0.05 | after Holm |\n| --- | --- | --- | --- | --- |")
    with ProcessPoolExecutor(given.jobs) as pool:
        for design in DESIGNS:
            if min(design.sequences) < 2 or given.only not in design.name:
                continue
            trials = [(design, given.seed * given.trials + number, DRAWS) for number in range(given.trials)]
            for line in rows_of(design, np.array(list(pool.map(try_tests, trials)))):
                print(line, flush=True)


if __name__ == "__main__":
    main()
