"""Verdicts of `compare-trajectories` on made runs: `python bench/trajectory_runs.py --trials 200 --seed 0 --jobs 4`.

A car goes along a winding course. Its estimator has a position error that wanders (AR(1), forgotten over some seconds),
a part that comes again at the same place, and heading noise. Where nothing differs, every "gap" is false.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from scipy.signal import lfilter
from scipy.spatial.transform import Rotation
from scipy.stats import binomtest

from simjudge.core.arrays import FloatArray
from simjudge.geometry.poses import Trajectory
from simjudge.method.verdicts import GAPS
from simjudge.questions.trajectories.run import compare_runs
from simjudge.questions.trajectories.settings import APE_TRANSLATION, TrajectorySettings

RATE, SPEED = 10.0, 2.0
SETTINGS = TrajectorySettings(draws=200, margin_position=0.1, margin_relative=0.05)
"""Few draws: verdicts are counted, and none is shown."""


@dataclass(frozen=True)
class Design:
    """How runs of both sides are made."""

    name: str
    runs: tuple[int, int]
    seconds: float
    memory: float = 3.0  # seconds over which errors are forgotten
    place: float = 0.0  # metres of error that come again at a place
    lap: float = 0.0  # metres of a lap; 0 for a course that never comes back
    gap: float = 0.0  # metres by which simulated errors are larger
    metric: str = APE_TRANSLATION  # the one that must find the gap


DESIGNS = (
    Design("one run of 10 min each", (1, 1), 600),
    Design("one run each, slow errors", (1, 1), 1200, memory=15),
    Design("8 runs of 60 s each", (8, 8), 60),
    Design("3 runs against 1, 5 min", (3, 1), 300),
    Design("5 laps each, errors of places", (1, 1), 600, place=0.2, lap=240),
    Design("a gap of 0.3 m, one run each", (1, 1), 600, gap=0.3),
    Design("a gap of 0.3 m, 8 runs each", (8, 8), 60, gap=0.3),
)


def wandering(random: np.random.Generator, count: int, memory: float) -> FloatArray:
    """An AR(1) series of standard deviation 1 that is forgotten over `memory` seconds."""
    keep = float(np.exp(-1 / (RATE * memory)))
    start = int(5 * memory * RATE)
    noise = random.normal(size=(count + start, 2))
    return np.asarray(lfilter([np.sqrt(1 - keep**2)], [1, -keep], noise, axis=0)[start:])


def course(seconds: float, lap: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Places (N, 2), headings and metres along a course of bends to the left and to the right."""
    count = int(seconds * RATE)
    along = np.arange(count) * SPEED / RATE
    if lap:
        angle = 2 * np.pi * along / lap
        radius = lap / (2 * np.pi)
        place = radius * np.stack([np.cos(angle) + 0.15 * np.cos(4 * angle), np.sin(angle)], 1)
        step = np.gradient(place, axis=0)
        return place, np.unwrap(np.arctan2(step[:, 1], step[:, 0])), along % lap
    heading = 0.8 * np.sin(along / 12) + 0.4 * np.sin(along / 31)
    place = np.cumsum(SPEED / RATE * np.stack([np.cos(heading), np.sin(heading)], 1), 0)
    return place, heading, along


def made_run(seed: int, design: Design, gap: float = 0.0) -> tuple[Trajectory, Trajectory]:
    """Truth and estimate of a run; errors wander by 0.3 m, and `gap` is added to their size on average."""
    random = np.random.default_rng(seed)
    place, heading, along = course(design.seconds, design.lap)
    count = len(place)
    error = 0.3 * wandering(random, count, design.memory)
    if design.place:
        again = np.random.default_rng(0)
        phase = again.uniform(0, 2 * np.pi, (8, 2))
        waves = [np.sin(2 * np.pi * (k + 3) * along[:, np.newaxis] / design.lap + phase[k]) for k in range(8)]
        error += design.place * np.sum(waves, 0) / 2
    # The mean size of two normal numbers is sqrt(pi / 2) of their spread.
    error *= 1 + gap / (0.3 * np.sqrt(np.pi / 2))
    turned = heading + np.radians(0.5) * wandering(random, count, design.memory)[:, 0]
    stamp = (np.arange(count) * (1e9 / RATE)).astype(np.int64)

    def poses(name: str, where: FloatArray, yaw: FloatArray) -> Trajectory:
        quaternion = Rotation.from_euler("z", yaw[:, np.newaxis]).as_quat()
        return Trajectory(name, "map", "base", stamp, np.column_stack([where, np.zeros(count)]), quaternion)

    return poses(f"truth_{seed}", place, heading), poses(f"run_{seed}", place + error, turned)


def try_design(design: Design, seed: int) -> tuple[bool, str, str]:
    """Whether any metric is called a gap; the verdict of the metric that differs, or of APE; and whether G is in it."""
    seeds = 1000 * (seed + 1) + np.arange(sum(design.runs))
    real = [made_run(int(number), design) for number in seeds[: design.runs[0]]]
    sim = [made_run(int(number), design, design.gap) for number in seeds[design.runs[0] :]]
    found = compare_runs(real, sim, replace(SETTINGS, seed=seed))
    verdicts = {result.metric.name: result.certainty for result in found.results}
    shown = verdicts[design.metric]
    covered = ""
    if design.gap and shown.gap_low is not None and shown.gap_high is not None:
        covered = "held" if shown.gap_low <= design.gap <= shown.gap_high else "missed"
    return any(each.verdict in GAPS for each in verdicts.values()), shown.verdict.value, covered


def _task(given: tuple[Design, int]) -> tuple[bool, str, str]:
    return try_design(*given)


def run_designs(designs: Sequence[Design], trials: int, seed: int, jobs: int) -> list[str]:
    """A line each design: gaps with their binomial interval, verdicts of the metric, and coverage."""
    lines = []
    with ProcessPoolExecutor(jobs) as pool:
        for design in designs:
            found = list(pool.map(_task, [(design, seed * trials + number) for number in range(trials)]))
            gaps = sum(gap for gap, _, _ in found)
            low, high = binomtest(gaps, trials).proportion_ci(method="exact")
            verdicts = Counter(verdict for _, verdict, _ in found)
            held = Counter(word for _, _, word in found if word)
            said = ", ".join(f"{name} {count}" for name, count in verdicts.most_common())
            more = f"; interval held the gap in {held['held']} of {held.total()}" if held else ""
            kind = "gap found" if design.gap else "false gap"
            lines.append(
                f"{design.name}: {kind} in {gaps} of {trials} ({100 * gaps / trials:.1f} %, 95 %: {100 * low:.1f} to"
                f" {100 * high:.1f}); {design.metric}: {said}{more}"
            )
    return lines


def main() -> None:
    """Print the lines of docs/measurements/localization.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    for design in DESIGNS:
        for line in run_designs([design], given.trials, given.seed, given.jobs):
            print(line, flush=True)


if __name__ == "__main__":
    main()
