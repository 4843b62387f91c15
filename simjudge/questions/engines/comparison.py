"""Two engines side by side: the same scene, poses and camera; images, differences, boxes and speed.

The boxes are each engine's own ground truth. Engines agree where the corners of the things that both label differ by
less than a pixel, and no thing above 12 pixels is labelled by one engine alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.display import ShortRepr
from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages, RgbImage
from simjudge.core.names import NO_STAMP
from simjudge.core.object_tables import Objects, concatenate_tables
from simjudge.core.progress import Advance
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.capture import Capture, FrameExposure, exposure_at
from simjudge.sim.capture.ground_truth import Labelling
from simjudge.sim.engines.contract import Engine, Poses
from simjudge.sim.sensors.camera.camera import Camera

CORNER_LIMIT = 1.0
"""Median difference of corners below which engines agree, pixels."""
LONELY_LIMIT = 12.0
"""Smaller side, pixels, from which on a box that only one engine has is a disagreement."""
_AMPLIFICATION = 4
"""How many times stronger a difference of images is shown."""
_FULL = 255
"""Full scale of an image."""


@dataclass(frozen=True, eq=False, repr=False)
class EngineView(ShortRepr):
    """What one engine showed from one pose.

    Attributes:
        image: (H, W, 3), uint8 RGB, through the camera's whole chain.
        objects: boxes of everything labelled, by instance; all of frame 0.
        light_seconds: time that the light took, seconds.
        label_seconds: time that the labels took, seconds.
    """

    image: RgbImage
    objects: Objects
    light_seconds: float
    label_seconds: float


@dataclass(frozen=True, eq=False, repr=False)
class BoxDifferences(ShortRepr):
    """How the boxes of two engines differ.

    Attributes:
        corners: float64 (N, 4), x0, y0, x1, y1 of B less those of A, of things that both have.
        lonely: things with a box of LONELY_LIMIT or more that one has alone: "a" or "b", pose, instance, smaller side.
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


def capture_views(
    engine: Engine, camera: Camera, poses: Sequence[Pose], seed: int, advance: Advance
) -> list[EngineView]:
    """Capture a scene from every pose, the scene as the engine has it now.

    Args:
        camera: the camera with its chain; its random filters are seeded by the pose's number.
        advance: receives how many poses are done, and how many there are.
    """
    capture = Capture(engine, camera, Labelling(min_size=1, min_visible=0), seed)
    views = []
    for number, pose in enumerate(poses):
        exposure = _still_exposure(camera, frame_name(number), pose, engine.poses())
        capture.metered = None
        raw = capture.observe(exposure)
        frame = capture.finish(raw)
        views.append(EngineView(frame.pixels(), frame.truth.objects, raw.light_seconds, raw.label_seconds))
        advance(number + 1, len(poses))
    return views


def _still_exposure(camera: Camera, name: str, pose: Pose, bodies: Poses) -> FrameExposure:
    return exposure_at(camera, 0, name, lambda stamps: [pose] * len(stamps), lambda _: bodies)


def compare_boxes(a: Sequence[EngineView], b: Sequence[EngineView]) -> BoxDifferences:
    """Compare the boxes of two engines, thing by thing."""
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
    return BoxDifferences(np.array(corners, np.float64).reshape(-1, 4), lonely, small)


def image_difference(a: RgbImage, b: RgbImage) -> RgbImage:
    """Absolute difference of two images, four times as strong; white where they differ by 64 levels or more.

    Args:
        a: (H, W, 3), uint8 RGB.
    """
    return np.asarray(np.minimum(np.abs(a.astype(np.int16) - b) * _AMPLIFICATION, _FULL), np.uint8)


def root_mean_square(a: RgbImage, b: RgbImage) -> float:
    """Root mean square of the difference of two images, levels of 255.

    Args:
        a: (H, W, 3), uint8 RGB.
    """
    return float(np.sqrt(np.mean((a.astype(np.float64) - b) ** 2)))


def views_as_frames(
    name: str, views: Sequence[EngineView], class_names: dict[int, str], labelling: Labelling
) -> FrameSet:
    """The views of an engine as a labelled data set."""
    tables = []
    for number, view in enumerate(views):
        box = view.objects.box
        large = np.flatnonzero((box[:, 2:] - box[:, :2]).min(1) >= labelling.min_size)
        tables.append(replace(view.objects.take(large), frame=np.full(len(large), number, np.int64)))
    objects = concatenate_tables(tables)
    count = len(views)
    height, width = views[0].image.shape[:2]
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
        images=ArrayImages([view.image for view in views]),
    )


def comparison_numbers(a: Sequence[EngineView], b: Sequence[EngineView], boxes: BoxDifferences) -> dict[str, Any]:
    """The comparison for a file: seconds an image, differences, and whether the engines agree."""
    absolute = np.abs(boxes.corners)
    return {
        "poses": len(a),
        "seconds_light": [float(np.mean([s.light_seconds for s in side])) for side in (a, b)],
        "seconds_labels": [float(np.mean([s.label_seconds for s in side])) for side in (a, b)],
        "picture_rms": [root_mean_square(x.image, y.image) for x, y in zip(a, b, strict=True)],
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
    """Name of a pose's frame."""
    return f"pose_{number:05d}"
