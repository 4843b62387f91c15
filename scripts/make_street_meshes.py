"""Makes the meshes of the scene `street` in config/scenes/meshes: a car's body and windows, a tree's crown, a head.

    python scripts/make_street_meshes.py

All are closed, in metres, z up, x ahead, the origin on the ground below the middle (crown and head: in the middle).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

MESHES = Path(__file__).resolve().parent.parent / "config" / "scenes" / "meshes"
BODY = np.array(
    [
        # x, z, half width; the outline of a car seen from its left, counter-clockwise from the rear's foot
        [-2.02, 0.24, 0.78],
        [1.98, 0.22, 0.78],
        [2.12, 0.36, 0.74],
        [2.10, 0.58, 0.76],
        [1.95, 0.70, 0.80],
        [1.00, 0.90, 0.84],
        [-1.55, 0.96, 0.84],
        [-2.00, 0.92, 0.80],
        [-2.12, 0.70, 0.80],
        [-2.12, 0.36, 0.76],
    ]
)
GLASS = np.array(
    [
        [-1.72, 0.93, 0.78],
        [1.08, 0.87, 0.80],
        [0.30, 1.40, 0.60],
        [-0.20, 1.45, 0.58],
        [-1.00, 1.42, 0.58],
    ]
)
ROOF = np.array(
    [
        [-1.08, 1.395, 0.595],
        [0.36, 1.375, 0.615],
        [0.26, 1.43, 0.56],
        [-0.20, 1.475, 0.54],
        [-0.96, 1.45, 0.54],
    ]
)
Points = npt.NDArray[np.float64]
Faces = npt.NDArray[np.int64]


def prism(outline: Points) -> tuple[Points, Faces]:
    """A solid between an outline on the left and its mirror image on the right, by rows of x, z and half width."""
    count = len(outline)
    left, right = ([[x, side * half, z] for x, z, half in outline.tolist()] for side in (1, -1))
    middle = outline.mean(0)
    points = np.array([*left, *right, [middle[0], middle[2], middle[1]], [middle[0], -middle[2], middle[1]]])
    faces = []
    for k in range(count):
        after = (k + 1) % count
        faces += [[k, k + count, after + count], [k, after + count, after]]
        faces += [[2 * count, k, after], [2 * count + 1, after + count, k + count]]
    return points, outside(points, np.array(faces))


def outside(points: Points, faces: Faces) -> Faces:
    """The faces of a solid about its middle, turned so that they are counter-clockwise seen from outside."""
    corners = points[faces]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inward = np.einsum("fi,fi->f", normal, corners.mean(1) - points.mean(0)) < 0
    return np.where(inward[:, None], faces[:, ::-1], faces)


def ball(radius: float, finer: int, bumps: float = 0.0, seed: int = 0) -> tuple[Points, Faces]:
    """An icosahedron, its faces cut in four again and again, pushed in and out at random by a share of its radius."""
    g = (1 + 5**0.5) / 2
    points = [
        [-1, g, 0],
        [1, g, 0],
        [-1, -g, 0],
        [1, -g, 0],
        [0, -1, g],
        [0, 1, g],
        [0, -1, -g],
        [0, 1, -g],
        [g, 0, -1],
        [g, 0, 1],
        [-g, 0, -1],
        [-g, 0, 1],
    ]
    faces = [
        [0, 11, 5],
        [0, 5, 1],
        [0, 1, 7],
        [0, 7, 10],
        [0, 10, 11],
        [1, 5, 9],
        [5, 11, 4],
        [11, 10, 2],
        [10, 7, 6],
        [7, 1, 8],
        [3, 9, 4],
        [3, 4, 2],
        [3, 2, 6],
        [3, 6, 8],
        [3, 8, 9],
        [4, 9, 5],
        [2, 4, 11],
        [6, 2, 10],
        [8, 6, 7],
        [9, 8, 1],
    ]
    for _ in range(finer):
        middles: dict[tuple[int, int], int] = {}
        cut = []
        for a, b, c in faces:
            ab, bc, ca = (_middle(points, middles, *pair) for pair in ((a, b), (b, c), (c, a)))
            cut += [[a, ab, ca], [b, bc, ab], [c, ca, bc], [ab, bc, ca]]
        faces = cut
    unit = np.array(points) / np.linalg.norm(points, axis=1, keepdims=True)
    waves = np.random.default_rng(seed).normal(size=(12, 3)) * 4
    swell = np.cos(unit @ waves.T + np.arange(12)).mean(1, keepdims=True)
    grain = np.random.default_rng(seed).uniform(-1, 1, (len(unit), 1))
    return unit * radius * (1 + bumps * (1.5 * swell + 0.5 * grain)), np.array(faces)


def _middle(points: list[list[float]], middles: dict[tuple[int, int], int], a: int, b: int) -> int:
    key = (min(a, b), max(a, b))
    if key not in middles:
        point = np.array(points[a], float) / np.linalg.norm(points[a]) + np.array(points[b]) / np.linalg.norm(points[b])
        middles[key] = len(points)
        points.append(point.tolist())
    return middles[key]


def write(name: str, solids: list[tuple[Points, Faces]], scene: str = "street") -> None:
    """Write solids as one OBJ file, and say which scene they are of."""
    lines, first = [f"# {name} of the scene {scene}; made by scripts/make_{scene}_meshes.py. Metres, z up."], 1
    for points, faces in solids:
        lines += [f"v {x:.4f} {y:.4f} {z:.4f}" for x, y, z in points.tolist()]
        lines += ["f " + " ".join(str(corner + first) for corner in face) for face in faces.tolist()]
        first += len(points)
    (MESHES / f"{name}.obj").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{name}.obj: {sum(len(faces) for _, faces in solids)} triangles")


def main() -> None:
    """Write the files."""
    write("car_body", [prism(BODY), prism(ROOF)])
    write("car_windows", [prism(GLASS)])
    stretched, faces = ball(1.9, 3, 0.22, 5)
    write("tree_crown", [(stretched * [1, 1, 1.15], faces)])
    write("bush", [ball(0.6, 2, 0.25, 8)])
    oval, faces = ball(0.105, 2)
    write("head", [(oval * [1, 0.85, 1.25], faces)])


if __name__ == "__main__":
    main()
