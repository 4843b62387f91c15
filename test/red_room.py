"""A room of red boxes that renders in no time, pictures of it through any camera, and detectors that mind cameras."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np

from simjudge.detectors.detector import Detections
from simjudge.sim.capture.rendering import render

ROOM = """
classes: {{1: box}}
ambient: {ambient}
background: 0.3
kinds:
  red: {{box: [0.3, 0.3, 0.5], surface: {{colour: "#e03020", roughness: 0.8}}, class: box}}
things:
  floor: {{plane: [30, 30], surface: {{texture: {{pattern: concrete}}, repeat: 2, roughness: 0.9}}}}
{boxes}
lights:
  lamp: {{at: [-2, 0, 2], intensity: {lamp}, range: 20}}
"""
CAMERA = "size: {size}\nfocal_length: {focal}\nsupersampling: 2\nrate: 30\n{more}"
SPACING, DISTANCE = 1.5, 3.0
"""Of the boxes in their row, and from the camera to the row: boxes are seen in the middle and 75 pixels beside it."""
FAST = {"draws": 100, "patch": (24, 24), "theta": 0.5, "block": 0, "sample": 6}


def write_room(folder: Path, name: str, lamp: float = 30.0, ambient: float = 0.03) -> Path:
    """A scene's file: a row of boxes, turned at random."""
    random = np.random.default_rng(4)
    boxes = [
        f"  box_{number}: {{kind: red, at: [{DISTANCE}, {SPACING * (number - 4)}], yaw: {random.uniform(0, 90):.0f}}}"
        for number in range(9)
    ]
    path = folder / f"{name}.yaml"
    path.write_text(ROOM.format(lamp=lamp, ambient=ambient, boxes="\n".join(boxes)))
    return path


def write_camera(folder: Path, name: str, more: str = "", size: tuple[int, int] = (192, 108)) -> Path:
    """A camera's file."""
    path = folder / f"{name}.yaml"
    path.write_text(CAMERA.format(size=list(size), focal=150 * size[0] / 192, more=more))
    return path


def write_poses(folder: Path, step: float = 10.0) -> Path:
    """Poses of a camera that looks at one box after the other, several times, from about the same distance."""
    random = np.random.default_rng(5)
    path = folder / f"poses_{step:g}.tum"
    rows = []
    for number in range(24):
        y = SPACING * (number % 6 - 2.5 - 0.5) + random.uniform(-0.02, 0.02)
        rows.append(f"{1 + step * number:.6f} {random.uniform(-0.1, 0.1):.4f} {y:.4f} 0.4 0 0 0 1")
    path.write_text("\n".join(rows) + "\n")
    return path


def write_drive(folder: Path) -> Path:
    """Poses of a camera that drives past the boxes at 3 m/s."""
    path = folder / "drive.tum"
    rows = [f"{1 + number / 30:.6f} 0 {-3.5 + 3 * number / 30:.4f} 0.4 0 0 0 1" for number in range(60)]
    path.write_text("\n".join(rows) + "\n")
    return path


def photograph(scene: Path, camera: Path, poses: Path, out: Path) -> Path:
    """A data set of the scene."""
    return render(scene, out, camera=camera, poses=poses, mount="body", seed=3).path


class RedBoxes:
    """Finds what is red and bright enough, in the middle of pictures."""

    name = "red boxes"
    class_names = {1: "box"}  # noqa: RUF012 - a property of the protocol

    def __init__(self, least: int = 40, middle: float = 1.0) -> None:
        """Say how bright the red must be, and in which share of a picture's width it is looked for."""
        self.least, self.middle = least, middle

    def __call__(self, images: Sequence[np.ndarray]) -> list[Detections]:
        found = []
        for image in images:
            values = image.astype(np.float32) + 1
            red = (values[:, :, 0] > 1.75 * values[:, :, 1:].max(axis=2)) & (values[:, :, 0] >= self.least)
            _, _, stats, _ = cv2.connectedComponentsWithStats(red.astype(np.uint8), connectivity=8)
            centre, reach = image.shape[1] / 2, self.middle * image.shape[1] / 2
            rows = [row for row in stats[1:] if row[4] >= 12 and abs(row[0] + row[2] / 2 - centre) <= reach]
            box = [[x, y, x + w, y + h] for x, y, w, h, _ in rows]
            found.append(Detections.build([1] * len(box), box, [0.9] * len(box)))
        return found
