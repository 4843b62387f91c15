"""Makes config/scenes/meshes/cone.obj: ART-1's cone, 0.08 x 0.08 x 0.077 m, a little traffic cone on a square plate.

Beside it cone_small.obj, the same shape 3.8 cm high (1.5 inches).

    python scripts/make_cone_mesh.py

The mesh is closed, its origin in the middle of the plate's underside. Texture coordinates: u once around, v from 0 at
the plate's rim to 1 in the dimple at the top, by length along the surface.
"""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

MESHES = Path(__file__).resolve().parent.parent / "config" / "scenes" / "meshes"
SEGMENTS = 32
SIDE, HEIGHT, CORNER = 0.08, 0.077, 0.008
"""Metres: of the plate, of the whole cone, and the radius of the plate's corners."""
FILES = {"cone.obj": HEIGHT, "cone_small.obj": 0.038}
"""Metres: the height of the cone in each file."""
RINGS = (  # half width (of the square) or radius (of the circle), height; metres
    ("square", 0.0400, 0.0000),
    ("square", 0.0400, 0.0036),
    ("square", 0.0388, 0.0048),
    ("circle", 0.0290, 0.0056),
    ("circle", 0.0272, 0.0085),
    ("circle", 0.0085, 0.0752),
    ("circle", 0.0074, HEIGHT),
    ("circle", 0.0058, HEIGHT),
    ("circle", 0.0046, 0.0700),
)
"""From the underside's rim up the outside to the dimple in the top."""


def ring(kind: str, reach: float, height: float) -> npt.NDArray[np.float64]:
    """One ring of the mesh: (SEGMENTS, 3), counter-clockwise seen from above."""
    angle = (np.arange(SEGMENTS) + 0.5) * 2 * math.pi / SEGMENTS
    way = np.stack([np.cos(angle), np.sin(angle)], 1)
    if kind == "square":
        # The square with round corners: inner square plus a disk, along each direction.
        inner = reach - CORNER
        out = way / np.max(np.abs(way), axis=1, keepdims=True) * reach
        corner = np.clip(out, -inner, inner)
        away = out - corner
        length = np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1e-12)
        round_one = corner + away / length * CORNER
        way = np.where(np.all(np.abs(out) > inner, axis=1, keepdims=True), round_one, out)
    else:
        way = way * reach
    return np.column_stack([way, np.full(SEGMENTS, height)])


def write(path: Path, height: float) -> None:
    """Write one file, the cone scaled to a height in metres."""
    rings = [ring(*size) for size in RINGS]
    steps = [float(np.linalg.norm(b[0] - a[0])) for a, b in pairwise(rings)]
    along = np.concatenate([[0], np.cumsum(steps)]) / (sum(steps) + RINGS[-1][1])
    scale = height / HEIGHT
    size = "" if scale == 1 else f", {1000 * height:g} mm high"
    lines = [f"# ART-1's cone{size}; made by scripts/make_cone_mesh.py. Metres, z up."]
    lines += [f"v {x:.6f} {y:.6f} {z:.6f}" for circle in rings for x, y, z in (scale * circle).tolist()]
    lines += [f"v 0 0 {scale * RINGS[0][2]:.6f}", f"v 0 0 {scale * RINGS[-1][2]:.6f}"]
    columns = SEGMENTS + 1
    lines += [f"vt {k / SEGMENTS:.6f} {v:.6f}" for v in along.tolist() for k in range(columns)]
    lines += ["vt 0.5 0", "vt 0.5 1"]
    below, above = len(rings) * SEGMENTS + 1, len(rings) * SEGMENTS + 2

    def corner(level: int, k: int) -> str:
        return f"{level * SEGMENTS + k % SEGMENTS + 1}/{level * columns + k + 1}"

    for level in range(len(rings) - 1):
        for k in range(SEGMENTS):
            quad = (corner(level, k), corner(level, k + 1), corner(level + 1, k + 1), corner(level + 1, k))
            # Not all of the plate's top is flat: triangles.
            lines += [f"f {quad[0]} {quad[1]} {quad[2]}", f"f {quad[0]} {quad[2]} {quad[3]}"]
    top, middle = len(rings) - 1, len(rings) * columns
    for k in range(SEGMENTS):
        lines.append(f"f {corner(0, k + 1)} {corner(0, k)} {below}/{middle + 1}")
        lines.append(f"f {corner(top, k)} {corner(top, k + 1)} {above}/{middle + 2}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{path}: {sum(line.startswith('f') for line in lines)} triangles")


def main() -> None:
    """Write the files."""
    for name, height in FILES.items():
        write(MESHES / name, height)


if __name__ == "__main__":
    main()
