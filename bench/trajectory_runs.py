"""Verdicts of `compare-trajectories` on made runs: `python bench/trajectory_runs.py --trials 200 --seed 0 --jobs 4`.

A car goes along a winding course. Its estimator has a position error that wanders (AR(1), forgotten over some seconds),
a part that comes again at the same place, and heading noise. Where nothing differs, every "gap" is false.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from metric_designs import Found, found_of, main
from scipy.signal import lfilter
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import FloatArray
from simjudge.geometry.poses import Trajectory
from simjudge.questions.trajectories.run import compare_runs
from simjudge.questions.trajectories.settings import APE_TRANSLATION, TrajectorySettings

RATE, SPEED = 4.0, 2.0
SETTINGS = TrajectorySettings(draws=100, margin_position=0.1, margin_relative=0.05)
"""Few draws: verdicts are counted, and none is shown."""


@dataclass(frozen=True)
class Design:
    """How runs of both sides are made."""

    name: str
    seconds: tuple[tuple[float, ...], tuple[float, ...]]  # of each real and each simulated run
    memory: float = 3.0  # seconds over which errors are forgotten
    place: float = 0.0  # metres of error that come again at a place
    lap: float = 0.0  # metres of a lap; 0 for a course that never comes back
    larger: float = 0.0  # share by which simulated errors of position are larger
    differing: str | None = None  # the metric that must find it


SHORT = ((30.0,) * 8,) * 2
UNLIKE = ((15.0, 25.0, 40.0, 60.0) * 2,) * 2
LONG = ((300.0,), (300.0,))
DESIGNS = (
    Design("one run of 5 min each", LONG),
    Design("one run of 10 min each, errors forgotten over 10 s", ((600.0,), (600.0,)), memory=10),
    Design("8 runs of 30 s each", SHORT),
    Design("8 runs of 15 to 60 s each", UNLIKE),
    Design("3 runs against 1, 150 s", ((150.0,) * 3, (150.0,))),
    Design("5 laps each, errors of places", LONG, place=0.2, lap=120),
    Design("5 % larger, 8 runs of 30 s each", SHORT, larger=0.05, differing=APE_TRANSLATION),
    Design("10 % larger, 8 runs of 30 s each", SHORT, larger=0.1, differing=APE_TRANSLATION),
    Design("50 % larger, 8 runs of 30 s each", SHORT, larger=0.5, differing=APE_TRANSLATION),
    Design("50 % larger, 8 runs of 15 to 60 s each", UNLIKE, larger=0.5, differing=APE_TRANSLATION),
    Design("50 % larger, one run of 5 min each", LONG, larger=0.5, differing=APE_TRANSLATION),
    Design("80 % larger, one run of 5 min each", LONG, larger=0.8, differing=APE_TRANSLATION),
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


def made_run(seed: int, design: Design, seconds: float, larger: float = 0.0) -> tuple[Trajectory, Trajectory]:
    """Truth and estimate of a run; errors of position wander by 0.3 m, and are larger by a share."""
    random = np.random.default_rng(seed)
    place, heading, along = course(seconds, design.lap)
    count = len(place)
    error = 0.3 * wandering(random, count, design.memory)
    if design.place:
        again = np.random.default_rng(0)
        phase = again.uniform(0, 2 * np.pi, (8, 2))
        waves = [np.sin(2 * np.pi * (k + 3) * along[:, np.newaxis] / design.lap + phase[k]) for k in range(8)]
        error += design.place * np.sum(waves, 0) / 2
    error *= 1 + larger
    turned = heading + np.radians(0.5) * wandering(random, count, design.memory)[:, 0]
    stamp = (np.arange(count) * (1e9 / RATE)).astype(np.int64)

    def poses(name: str, where: FloatArray, yaw: FloatArray) -> Trajectory:
        quaternion = Rotation.from_euler("z", yaw[:, np.newaxis]).as_quat()
        return Trajectory(name, "map", "base", stamp, np.column_stack([where, np.zeros(count)]), quaternion)

    return poses(f"truth_{seed}", place, heading), poses(f"run_{seed}", place + error, turned)


def try_design(given: tuple[Design, int]) -> list[Found]:
    """What a comparison says of each metric."""
    design, seed = given
    runs = [
        [made_run(1000 * (seed + 1) + 100 * side + k, design, s, side * design.larger) for k, s in enumerate(seconds)]
        for side, seconds in enumerate(design.seconds)
    ]
    return found_of(compare_runs(runs[0], runs[1], replace(SETTINGS, seed=seed)).results)


if __name__ == "__main__":
    main(__doc__, DESIGNS, try_design)
