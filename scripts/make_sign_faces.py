"""Paint the faces of the signs of scene `signs`: config/scenes/meshes/sign_*.png, 256 px for a plate of 6 cm."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

SIDE, FINE = 256, 4
"""Pixels of a face, and how many times finer it is painted."""
PLATE, BLUE, RED, WHITE = (226, 222, 206), (24, 62, 124), (160, 30, 42), (232, 232, 228)
Points = list[tuple[float, float]]
Face = npt.NDArray[np.uint8]


def _polygon(face: Face, points: Points, colour: tuple[int, int, int]) -> None:
    whole = np.rint(np.array(points) * SIDE * FINE).astype(np.int32)
    cv2.fillPoly(face, [whole], colour, cv2.LINE_AA)


def _mirrored(points: Points) -> Points:
    return [(1 - x, y) for x, y in points]


def _blank() -> Face:
    return np.full((SIDE * FINE, SIDE * FINE, 3), PLATE, np.uint8)


def _disc() -> Face:
    face, middle = _blank(), (SIDE * FINE // 2, SIDE * FINE // 2)
    cv2.circle(face, middle, round(0.45 * SIDE * FINE), WHITE, -1, cv2.LINE_AA)
    cv2.circle(face, middle, round(0.435 * SIDE * FINE), BLUE, -1, cv2.LINE_AA)
    return face


def _turn(*, right: bool) -> Face:
    face = _disc()
    shaft: Points = [(0.66, 0.82), (0.76, 0.82), (0.76, 0.38), (0.70, 0.32), (0.32, 0.32), (0.32, 0.41), (0.66, 0.41)]
    head: Points = [(0.34, 0.27), (0.18, 0.365), (0.34, 0.46)]
    for points in (shaft, head):
        _polygon(face, _mirrored(points) if right else points, WHITE)
    return face


def _straight() -> Face:
    face = _disc()
    _polygon(face, [(0.465, 0.85), (0.535, 0.85), (0.535, 0.3), (0.465, 0.3)], WHITE)
    _polygon(face, [(0.42, 0.33), (0.5, 0.14), (0.58, 0.33)], WHITE)
    return face


def _stop() -> Face:
    face, angle = _blank(), np.pi / 8 + np.arange(8) * np.pi / 4
    _polygon(face, [(0.5 + 0.45 * float(np.cos(a)), 0.5 + 0.45 * float(np.sin(a))) for a in angle], RED)
    scale, thick = 0.0083 * SIDE * FINE, round(0.04 * SIDE * FINE)
    (width, height), _ = cv2.getTextSize("STOP", cv2.FONT_HERSHEY_SIMPLEX, scale, thick)
    at = (SIDE * FINE - width) // 2, (SIDE * FINE + height) // 2
    cv2.putText(face, "STOP", at, cv2.FONT_HERSHEY_SIMPLEX, scale, WHITE, thick, cv2.LINE_AA)
    return face


def main() -> None:
    """Paint all four."""
    folder = Path(__file__).parent.parent / "config/scenes/meshes"
    faces = {"left": _turn(right=False), "right": _turn(right=True), "straight": _straight(), "stop": _stop()}
    for name, face in faces.items():
        small = cv2.resize(face, (SIDE, SIDE), interpolation=cv2.INTER_AREA)
        cv2.imwrite(str(folder / f"sign_{name}.png"), small[..., ::-1])


if __name__ == "__main__":
    main()
