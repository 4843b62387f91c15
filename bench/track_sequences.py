"""Verdicts of `compare-tracks` on made sequences: `python bench/track_sequences.py --trials 200 --seed 0 --jobs 4`.

Things walk through pictures; a tracker misses boxes, loses identities and places boxes badly, for all things of a
sequence alike and more so in its bad times. Where nothing differs, every "gap" is false.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from metric_designs import Found, found_of, main
from scipy.ndimage import gaussian_filter1d

from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects
from simjudge.questions.tracks.run import compare_sequences
from simjudge.questions.tracks.settings import ASSOCIATION, DETECTION, TrackSettings

SETTINGS = TrackSettings(draws=100)
"""Few draws: verdicts are counted, and none is shown."""


@dataclass(frozen=True)
class Design:
    """How sequences of both sides are made."""

    name: str
    sequences: tuple[int, int]
    frames: int
    things: int
    switch: float = 0.02  # chance of a new identity, by box
    miss: float = 0.1  # chance of a miss, by box
    sim_switch: float | None = None  # those of simulated sequences; None: the same
    sim_miss: float | None = None
    differing: str | None = None  # the metric that must find the gap


DESIGNS = (
    Design("8 sequences of 80 frames each", (8, 8), 80, 4),
    Design("20 sequences of 50 frames each", (20, 20), 50, 3),
    Design("one sequence of 800 frames each", (1, 1), 800, 30),
    Design("3 sequences against 1, 300 frames", (3, 1), 300, 10),
    Design("identities lost 2 times as often, 8 each", (8, 8), 80, 4, sim_switch=0.04, differing=ASSOCIATION),
    Design("identities lost 5 times as often, 8 each", (8, 8), 80, 4, sim_switch=0.1, differing=ASSOCIATION),
    Design("identities lost 5 times as often, one each", (1, 1), 800, 30, sim_switch=0.1, differing=ASSOCIATION),
    Design("0.12 missed in place of 0.1, 8 each", (8, 8), 80, 4, sim_miss=0.12, differing=DETECTION),
    Design("0.3 missed in place of 0.1, 8 each", (8, 8), 80, 4, sim_miss=0.3, differing=DETECTION),
)


def made_sequence(seed: int, design: Design, *, simulated: bool) -> tuple[FrameSet, FrameSet]:
    """Labelled tracks and what the tracker makes of them."""
    random = np.random.default_rng(seed)
    switch, miss = design.switch, design.miss
    if simulated:
        switch, miss = (
            switch if design.sim_switch is None else design.sim_switch,
            miss if design.sim_miss is None else design.sim_miss,
        )
    # Bad times, of mean 1: all things of a moment suffer alike.
    wave = gaussian_filter1d(random.normal(size=design.frames + 100), 8)[50:-50]
    bad = np.exp(0.8 * wave / wave.std())
    bad /= np.exp(0.32)
    rows, found, number = [], [], 10_000
    for thing in range(design.things):
        first = int(random.integers(0, design.frames))
        frames = np.arange(first, min(design.frames, first + int(random.integers(30, 120))))
        height = 60 * np.exp(random.normal(0, 0.4))
        step = random.normal(0, 2, 2) + random.normal(0, 1, (len(frames), 2))
        corner = random.uniform(0, 400, 2) + np.cumsum(step, 0)
        boxes = np.hstack([corner, corner + np.array([height / 2, height])])
        new = random.random(len(frames)) < np.minimum(1, switch * bad[frames])
        identity = number + np.cumsum(new)
        number = int(identity[-1]) + 1
        seen = random.random(len(frames)) >= np.minimum(1, miss * bad[frames])
        placed = boxes + 0.06 * height * random.normal(size=boxes.shape)
        rows.append(np.column_stack([frames, np.full(len(frames), thing), boxes]))
        found.append(np.column_stack([frames, identity, placed])[seen])
    return tuple(
        _as_set(f"{words}_{seed}", np.concatenate(table), design.frames)
        for words, table in (("truth", rows), ("tracks", found))
    )


def _as_set(name: str, table: np.ndarray, frames: int) -> FrameSet:
    objects = Objects.build(table[:, 0], np.zeros(len(table)), table[:, 2:], table[:, 1])
    return FrameSet.build(name, np.full((frames, 2), 640), objects)


def made_sides(design: Design, seed: int) -> tuple[list[tuple[FrameSet, FrameSet]], list[tuple[FrameSet, FrameSet]]]:
    """The real and the simulated sequences of a trial."""
    seeds = 1000 * (seed + 1) + np.arange(sum(design.sequences))
    first = design.sequences[0]
    real = [made_sequence(int(number), design, simulated=False) for number in seeds[:first]]
    return real, [made_sequence(int(number), design, simulated=True) for number in seeds[first:]]


def try_design(given: tuple[Design, int]) -> list[Found]:
    """What a comparison says of each metric."""
    design, seed = given
    return found_of(compare_sequences(*made_sides(design, seed), replace(SETTINGS, seed=seed)).results)


if __name__ == "__main__":
    main(__doc__, DESIGNS, try_design)
