"""Makes the meshes of the scene `krc` in config/scenes/meshes: a jersey barrier, channels on the ground, a tree line.

    python scripts/make_krc_meshes.py

All are closed, in metres, z up, the origin on the ground in the middle.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from make_street_meshes import ball, outside, prism, write

PROFILE = np.array(
    [
        # half width, height: a jersey barrier's foot, its slope of 55 degrees, its steep upper face, its rounded top
        [0.300, 0.000],
        [0.300, 0.075],
        [0.125, 0.330],
        [0.085, 1.060],
        [0.060, 1.100],
    ]
)
LENGTH = 2.0
"""Metres: of a barrier."""
CHANNEL = (0.1016, 0.041)
"""Metres: width and height of a four-inch steel channel that lies on its flanges."""
CHANNELS = {"channel_long": 3.2, "channel_short": 1.3}
"""Metres: across both wheel tracks, and across one."""
Points = npt.NDArray[np.float64]
Solid = tuple[Points, npt.NDArray[np.int64]]


def barrier() -> Solid:
    """A jersey barrier along x."""
    outline = np.array([*PROFILE, *(PROFILE[::-1] * (-1, 1))])
    points, faces = prism(np.column_stack([outline, np.full(len(outline), LENGTH / 2)]))
    points = points[:, [1, 0, 2]]
    return points, outside(points, faces)


def channel(length: float) -> Solid:
    """A channel along y, its edges rounded by 5 mm."""
    half, high, edge = CHANNEL[0] / 2, CHANNEL[1], 0.005
    rows = [[-half, 0], [half, 0], [half, high - edge], [half - edge, high], [edge - half, high], [-half, high - edge]]
    return prism(np.column_stack([np.array(rows), np.full(len(rows), length / 2)]))


def tree_line(length: float, seed: int) -> list[Solid]:
    """Crowns and spruces in three rows along y."""
    random = np.random.default_rng(seed)
    solids = []
    for row, (x, high) in enumerate([(-3.0, 0.6), (1.0, 0.9), (5.0, 1.1)]):
        for y in np.arange(-length / 2 + 1.5 * (row % 2), length / 2, 3.6):
            at = np.array([x, y, 0]) + random.uniform(-1.2, 1.2, 3) * (1, 1, 0)
            height = high * random.uniform(8, 13)
            if random.random() < 0.35:
                solids.append(spruce(at, 1.25 * height))
            else:
                points, faces = ball(1.0, 2, 0.3, int(random.integers(1 << 16)))
                size = np.array([0.3, 0.3, 0.46]) * height * random.uniform(0.85, 1.15)
                solids.append((points * size + at + (0, 0, 0.5 * height), faces))
    return solids


def spruce(at: Points, height: float) -> Solid:
    """A cone with a ragged hem."""
    turn = np.linspace(0, 2 * np.pi, 14, endpoint=False)
    hem = 0.2 * height * (0.8 + 0.35 * (np.arange(14) % 2))
    rim = np.column_stack([hem * np.cos(turn), hem * np.sin(turn), np.full(14, 0.06 * height)])
    points = np.array([*rim, [0, 0, height], [0, 0, 0]]) + at
    after = (np.arange(14) + 1) % 14
    sides = [[k, after[k], 14] for k in range(14)] + [[after[k], k, 15] for k in range(14)]
    return points, outside(points, np.array(sides))


def main() -> None:
    """Write the files."""
    write("jersey_barrier", [barrier()], "krc")
    for name, length in CHANNELS.items():
        write(name, [channel(length)], "krc")
    write("tree_line", tree_line(44.0, 7), "krc")


if __name__ == "__main__":
    main()
