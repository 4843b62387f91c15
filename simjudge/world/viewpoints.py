"""Where a camera looks at a scene from when nobody recorded it: along its course, at random, or by a list."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from simjudge.errors import SimjudgeError, UsageError
from simjudge.poses import Pose
from simjudge.world.scene.model import Scene


def viewpoints(scene: Scene, how: str, count: int, seat: Pose, seed: int = 0) -> list[Pose]:
    """Poses of the optical frame in the world.

    Args:
        scene: what is looked at.
        how: "path" (evenly along the course), "random" (anywhere in its area, any heading), or a text file with rows
            x y z [yaw [pitch]] of the camera's body, metres and degrees.
        count: of poses; of a file, at most so many, evenly from it.
        seat: the optical frame in base_link, for "path" and "random".
        seed: of the random ones.

    Raises:
        UsageError: the scene has no course or no area, or there is no such file.
        SimjudgeError: a row is no pose; the message names it.
    """
    if count < 1:
        raise UsageError(f"{count} poses: one at least is needed")
    if how == "path":
        return [base @ seat for base in _along(scene, count)]
    if how == "random":
        return [base @ seat for base in _anywhere(scene, count, seed)]
    rows = _listed(Path(how))
    return [rows[index] for index in np.linspace(0, len(rows) - 1, min(count, len(rows))).round().astype(int)]


def _along(scene: Scene, count: int) -> list[Pose]:
    if scene.course is None:
        raise UsageError(f"{scene.name}: it has no course; take --poses random, or a file")
    line = scene.course.centre_line
    ahead = np.diff(line, axis=0)
    far = np.concatenate([[0.0], np.cumsum(np.linalg.norm(ahead, axis=1))])
    found = []
    for at in np.linspace(0, far[-1], count + 2)[1:-1]:
        piece = min(int(np.searchsorted(far, at, side="right")) - 1, len(ahead) - 1)
        x, y = (float(np.interp(at, far, line[:, axis])) for axis in (0, 1))
        found.append(Pose.facing(x, y, yaw=math.atan2(ahead[piece, 1], ahead[piece, 0])))
    return found


def _anywhere(scene: Scene, count: int, seed: int) -> list[Pose]:
    if scene.area is None:
        raise UsageError(f"{scene.name}: it has no area to stand in; take --poses path, or a file")
    x0, y0, x1, y1 = scene.area
    random = np.random.default_rng(seed)
    numbers = random.uniform([x0, y0, -math.pi], [x1, y1, math.pi], (count, 3))
    return [Pose.facing(x, y, yaw=yaw) for x, y, yaw in numbers.tolist()]


def _listed(path: Path) -> list[Pose]:
    if not path.is_file():
        raise UsageError(f"--poses {path}: path, random or a file of poses is needed")
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        row = line.split("#")[0].replace(",", " ").split()
        if not row:
            continue
        values = _numbers(row)
        if not 3 <= len(values) <= 5:
            raise SimjudgeError(f"{path}, line {number}: x y z [yaw [pitch]] are needed, metres and degrees")
        x, y, z, yaw, pitch = [*values, 0.0, 0.0][:5]
        found.append(Pose.facing(x, y, z, yaw=math.radians(yaw), pitch=math.radians(pitch)).optical())
    if not found:
        raise SimjudgeError(f"{path}: it has no poses")
    return found


def _numbers(row: list[str]) -> list[float]:
    """Empty where one of them is no number."""
    try:
        values = [float(value) for value in row]
    except ValueError:
        return []
    return values if all(map(math.isfinite, values)) else []
