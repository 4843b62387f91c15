"""Training of a `LearntDriver` in `simjudge/ConeCourse-v0`, in a few minutes, by the cross-entropy method."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.progress import Log, ProgressBar, no_log, no_progress
from simjudge.sim.driving.course_environment import ConeCourseEnvironment
from simjudge.sim.driving.learnt_driver import START, LearntDriver

SPREAD = (1.5, 1.5, 0.1, 0.35, 0.8)
"""Standard deviations of the weights that are tried first."""
_KEPT = 4
"""Drivers of a generation that the next one is drawn around."""


def learn_driver(  # noqa: PLR0913 - what training depends on
    scenes: Sequence[str | Path],
    out: str | Path,
    *,
    camera: str | Path = "plain_half",
    generations: int = 4,
    drivers: int = 8,
    seed: int = 0,
    limit: float = 30.0,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> LearntDriver:
    """Train a driver by the cross-entropy method, each one of a generation on all scenes, and write its weights."""
    random = np.random.default_rng(seed)
    mean, spread = np.array(START), np.array(SPREAD)
    environments = [ConeCourseEnvironment(scene, camera=camera, limit=limit) for scene in scenes]
    best, episodes = (-np.inf, np.array(START)), 0
    with progress("training, generations") as advance:
        for generation in range(generations):
            tried = mean + spread * random.normal(size=(drivers, len(mean)))
            tried[0] = mean
            gained = np.array(
                [np.mean([_episode(env, row, seed + generation) for env in environments]) for row in tried]
            )
            episodes += drivers * len(environments)
            order = np.argsort(-gained, kind="stable")[:_KEPT]
            mean, spread = tried[order].mean(0), np.maximum(tried[order].std(0), 0.1 * np.array(SPREAD))
            if gained[order[0]] > best[0]:
                best = float(gained[order[0]]), tried[order[0]]
            log(f"generation {generation + 1}: best {gained.max():.1f} m, mean {gained.mean():.1f} m")
            advance(generation + 1, generations)
    for environment in environments:
        environment.close()
    learnt = LearntDriver(tuple(best[1].tolist()), episodes)
    learnt.save(Path(out))
    return learnt


def _episode(environment: ConeCourseEnvironment, weights: FloatArray, seed: int) -> float:
    """Metres along the course, less what was touched."""
    driver, total, ended = LearntDriver(tuple(weights.tolist())), 0.0, False
    seen, _ = environment.reset(seed=seed)
    while not ended:
        steering, pedal = driver.act(seen["detections"], float(seen["speed"][0]))
        seen, reward, terminated, truncated, _ = environment.step((steering, pedal))
        total, ended = total + float(reward), terminated or truncated
    return total
