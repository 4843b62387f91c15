"""Depth cameras of known noise and holes, calibrated: how often the 95 % intervals hold what was planted.

bench/depth_cameras.py --trials 40 --jobs 1
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import numpy as np
from scipy.stats import binomtest

from simjudge.sim.sensors.camera.depth_calibration import calibrate_depth
from simjudge.sim.sensors.camera.depth_filters import DepthCamera, DepthStep


class Design(NamedTuple):
    """A depth camera, and how it is recorded."""

    name: str
    constant: float
    quadratic: float
    holes: float
    hole_size: int
    edges: float
    edge_width: int
    images: int = 60
    near: float = 0.8
    far: float = 5.0


DESIGNS = (
    Design("stereo", 0.0, 0.002, 0.02, 3, 0.7, 3),
    Design("pattern", 0.001, 0.0012, 0.05, 1, 0.4, 2),
    Design("time of flight", 0.004, 0.0002, 0.005, 1, 0.2, 1),
    Design("short recording", 0.001, 0.0012, 0.03, 2, 0.5, 2, images=20),
)


def scene(design: Design) -> np.ndarray:
    """A wall that leans away, two boxes before it, a corner out of range."""
    depth = np.tile(np.linspace(design.near * 1.4, design.far, 160, dtype=np.float32), (120, 1))
    depth[40:80, 50:90] = design.near
    depth[70:110, 110:150] = (design.near + design.far) / 2
    depth[:12, :30] = np.nan
    return depth


def record(design: Design, seed: int) -> list[np.ndarray]:
    """Its images, in whole millimetres."""
    camera = DepthCamera(
        steps=(
            DepthStep("edge_holes", {"jump": 0.05, "width": float(design.edge_width), "share": design.edges}),
            DepthStep("axial_noise", {"constant": design.constant, "quadratic": design.quadratic}),
            DepthStep("holes", {"share": design.holes, "size": float(design.hole_size)}),
        )
    )
    truth = scene(design)
    return [np.rint(camera.measure(truth, 1.0, (seed, k)) * 1000) / 1000 for k in range(design.images)]


def trial(work: tuple[Design, int]) -> tuple[bool, bool, bool, bool, bool]:
    """Whether constant, quadratic, holes and edge holes are within their intervals, and both sizes are right."""
    design, seed = work
    found = calibrate_depth(design.name, record(design, seed), seed=seed)
    edges = found.edge_holes
    return (
        found.constant.low <= design.constant <= found.constant.high,
        found.quadratic.low <= design.quadratic <= found.quadratic.high,
        found.holes.low <= design.holes <= found.holes.high,
        edges is not None and edges.low <= design.edges <= edges.high,
        found.hole_size == design.hole_size and found.edge_width == design.edge_width,
    )


def run(trials: int, seed: int, jobs: int) -> Iterator[str]:
    """A line a design: how often each was held, in percent, with binomial 95 % intervals."""
    for design in DESIGNS:
        work = [(design, seed + number) for number in range(trials)]
        if jobs > 1:
            with ProcessPoolExecutor(jobs) as pool:
                held = np.array(list(pool.map(trial, work)))
        else:
            held = np.array([trial(one) for one in work])
        parts = []
        for name, column in zip(("constant", "quadratic", "holes", "edge holes", "sizes"), held.T, strict=True):
            interval = binomtest(int(column.sum()), trials).proportion_ci()
            parts.append(f"{name} {100 * column.mean():.1f} ({100 * interval.low:.1f}-{100 * interval.high:.1f})")
        yield f"{design.name}: {', '.join(parts)}"


def main() -> None:
    """Run the designs that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    for line in run(given.trials, given.seed, given.jobs):
        print(line, flush=True)


if __name__ == "__main__":
    main()
