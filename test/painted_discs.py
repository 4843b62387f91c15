"""Small pictures of red discs before boxes of many greys, and a detector that knows red by its share of the light."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages
from simjudge.core.object_tables import Objects
from simjudge.detectors.detector import Detections
from simjudge.sim.sensors.camera.chain import Step, apply_steps

WIDTH, HEIGHT = 192, 128


def paint(seed: int, count: int = 24) -> FrameSet:
    """A set whose frames of one number are alike for one seed."""
    random = np.random.default_rng(seed)
    pictures, frames, boxes = [], [], []
    for number in range(count):
        large = np.full((HEIGHT * 4, WIDTH * 4, 3), random.integers(70, 150), np.uint8)
        for _ in range(14):
            x, y = random.integers(0, WIDTH * 4), random.integers(0, HEIGHT * 4)
            w, h = random.integers(40, 260, 2)
            grey = int(random.integers(20, 230))
            tint = np.clip(grey + random.integers(-12, 12, 3), 0, 255).tolist()
            cv2.rectangle(large, (int(x), int(y)), (int(x + w), int(y + h)), tint, -1)
        for k in range(2):
            x, y = int(random.integers(100, 284) + 384 * k), int(random.integers(100, 412))
            radius = int(random.integers(40, 72))
            cv2.circle(large, (x, y), radius, (int(random.integers(130, 200)), 60, 55), -1)
            frames.append(number)
            boxes.append(np.array([x - radius, y - radius, x + radius, y + radius]) / 4)
        pictures.append(np.asarray(cv2.resize(large, (WIDTH, HEIGHT), interpolation=cv2.INTER_AREA), np.uint8))
    objects = Objects.build(frames, [1] * len(frames), boxes)
    return FrameSet.build(
        f"discs{seed}", [[WIDTH, HEIGHT]] * count, objects, class_names={1: "disc"}, images=ArrayImages(pictures)
    )


def pictures(frames: FrameSet) -> list[np.ndarray]:
    """All pictures of a set."""
    return [frames.images.read(number) for number in range(len(frames))]


def seen_by(frames: FrameSet, steps: Sequence[Step], seed: int = 3) -> FrameSet:
    """The set behind filters, in memory."""
    changed = [apply_steps(image, steps, (seed, number)) for number, image in enumerate(pictures(frames))]
    return FrameSet.build(
        "seen", frames.size, frames.objects, class_names=frames.class_names, images=ArrayImages(changed)
    )


class RedDetector:
    """Finds what is much redder than it is green and blue."""

    name = "red"
    class_names = {1: "disc"}  # noqa: RUF012 - a property of the protocol

    def __call__(self, images: Sequence[np.ndarray]) -> list[Detections]:
        found = []
        for image in images:
            values = image.astype(np.float32) + 1
            red = (values[:, :, 0] > 1.75 * values[:, :, 1:].max(axis=2)).astype(np.uint8)
            _, _, stats, _ = cv2.connectedComponentsWithStats(red, connectivity=8)
            rows = [row for row in stats[1:] if row[4] >= 30]
            box = [[x, y, x + w, y + h] for x, y, w, h, _ in rows]
            found.append(Detections.build([1] * len(box), box, [0.9] * len(box)))
        return found
