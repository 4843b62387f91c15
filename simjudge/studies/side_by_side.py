"""Two engines side by side: the same scene, poses and camera; pictures, differences, boxes and speed.

The boxes are each engine's own ground truth. Engines agree where the things that both label have their corners within
a pixel, and none above 12 pixels is labelled by one engine alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simjudge.capture.exposure import gather, shot_of
from simjudge.capture.ground_truth import Labelling, ground_truth
from simjudge.core.frames import NO_STAMP, FloatArray, FrameSet, Objects
from simjudge.core.images import ArrayImages, RgbImage
from simjudge.engines.contract import Engine, SceneState
from simjudge.geometry.poses import Pose
from simjudge.sensors.camera.camera import Camera

CORNER_LIMIT, LONELY_LIMIT = 1.0, 12.0
"""Pixels: the median difference of corners, and the smaller side of a box that only one engine has."""


@dataclass(frozen=True, eq=False)
class Sight:
    """What one engine saw from one place.

    Attributes:
        picture: through the camera's whole chain.
        objects: boxes of everything labelled, by instance; all of frame 0.
        light_seconds, label_seconds: how long radiance and labels took.
    """

    picture: RgbImage
    objects: Objects
    light_seconds: float
    label_seconds: float


@dataclass(frozen=True, eq=False)
class BoxDifference:
    """How the boxes of two engines differ.

    Attributes:
        corners: float64 (N, 4), x0, y0, x1, y1 of B less those of A, of things that both have.
        lonely: things with a box of LONELY_LIMIT or more that one has alone: "a" or "b", pose, instance, smaller side.
        small: how many smaller ones.
    """

    corners: FloatArray
    lonely: list[tuple[str, int, int, float]] = field(default_factory=list)
    small: int = 0

    @property
    def median(self) -> float:
        """Of the corners' absolute differences, pixels; NaN where there is nothing to compare."""
        return float(np.median(np.abs(self.corners))) if self.corners.size else float("nan")

    @property
    def agrees(self) -> bool:
        """Whether both limits are kept, and there was something to compare."""
        return bool(self.corners.size) and self.median < CORNER_LIMIT and not self.lonely


def look_around(
    engine: Engine, camera: Camera, poses: Sequence[Pose], seed: int, advance: Callable[[int, int], None]
) -> list[Sight]:
    """See a scene from every pose, the scene as it stands.

    Args:
        engine: that sees.
        camera: with its chain; its random filters are seeded by the pose's number.
        poses: of the optical frame.
        seed: of the camera.
        advance: told (done, all) after every pose.
    """
    seen = []
    for number, pose in enumerate(poses):
        scene_state = SceneState(pose, engine.poses())
        begin = time.perf_counter()
        radiance = gather(engine, camera, [scene_state])
        lit = time.perf_counter()
        labels = engine.labels(camera.lens, scene_state)
        done = time.perf_counter()
        truth = ground_truth(engine.scene, camera.lens, scene_state, labels, Labelling(min_size=1, min_visible=0))
        picture = shot_of(camera, radiance, frame_name(number), seed).pixels
        seen.append(Sight(picture, truth.objects, lit - begin, done - lit))
        advance(number + 1, len(poses))
    return seen


def compare_boxes(a: Sequence[Sight], b: Sequence[Sight]) -> BoxDifference:
    """The boxes of two engines, thing by thing."""
    corners, lonely, small = [], [], 0
    for number, (one, other) in enumerate(zip(a, b, strict=True)):
        boxes = [dict(zip(s.objects.instance.tolist(), s.objects.box, strict=True)) for s in (one, other)]
        for instance in sorted(boxes[0].keys() | boxes[1].keys()):
            if instance in boxes[0] and instance in boxes[1]:
                corners.append(boxes[1][instance] - boxes[0][instance])
                continue
            which = 0 if instance in boxes[0] else 1
            x0, y0, x1, y1 = boxes[which][instance].tolist()
            side = min(x1 - x0, y1 - y0)
            if side >= LONELY_LIMIT:
                lonely.append(("ab"[which], number, instance, side))
            else:
                small += 1
    return BoxDifference(np.array(corners, np.float64).reshape(-1, 4), lonely, small)


def difference(a: RgbImage, b: RgbImage) -> RgbImage:
    """Absolute difference of two pictures, four times as strong, full where it is 64 levels or more."""
    return np.asarray(np.minimum(np.abs(a.astype(np.int16) - b) * 4, 255), np.uint8)


def root_mean_square(a: RgbImage, b: RgbImage) -> float:
    """Of the difference of two pictures, levels of 255."""
    return float(np.sqrt(np.mean((a.astype(np.float64) - b) ** 2)))


def frames_of(name: str, sights: Sequence[Sight], class_names: dict[int, str], labelling: Labelling) -> FrameSet:
    """What an engine saw as a data set; boxes smaller than the labelling's least are left out."""
    frame, rows = [], []
    for number, sight in enumerate(sights):
        for row, box in enumerate(sight.objects.box):
            if min(box[2] - box[0], box[3] - box[1]) >= labelling.min_size:
                frame.append(number)
                rows.append((sight.objects, row))
    objects = Objects.build(
        frame,
        [table.class_id[row] for table, row in rows],
        [table.box[row] for table, row in rows],
        [table.instance[row] for table, row in rows],
    )
    count = len(sights)
    height, width = sights[0].picture.shape[:2]
    return FrameSet(
        name=name,
        frame_name=[frame_name(number) for number in range(count)],
        size=np.tile(np.array([width, height], np.int64), (count, 1)),
        stamp=np.full(count, NO_STAMP, np.int64),
        labelled=np.ones(count, bool),
        objects=objects,
        predictions=None,
        predicted=np.zeros(count, bool),
        class_names=class_names,
        images=ArrayImages([sight.picture for sight in sights]),
    )


def numbers(a: Sequence[Sight], b: Sequence[Sight], boxes: BoxDifference) -> dict[str, Any]:
    """What was found, for a file: seconds a picture, differences, and whether the engines agree."""
    absolute = np.abs(boxes.corners)
    return {
        "poses": len(a),
        "seconds_light": [float(np.mean([s.light_seconds for s in side])) for side in (a, b)],
        "seconds_labels": [float(np.mean([s.label_seconds for s in side])) for side in (a, b)],
        "picture_rms": [root_mean_square(x.picture, y.picture) for x, y in zip(a, b, strict=True)],
        "things_in_both": len(boxes.corners),
        "corner_median_px": boxes.median if boxes.corners.size else None,
        "corner_worst_px": float(absolute.max()) if boxes.corners.size else None,
        "lonely": [
            {"engine": which, "pose": pose, "instance": instance, "side_px": side}
            for which, pose, instance, side in boxes.lonely
        ],
        "lonely_small": boxes.small,
        "agree": boxes.agrees,
    }


def frame_name(number: int) -> str:
    """Of a pose."""
    return f"pose_{number:05d}"
