"""Poles by SIFT: how many descriptors of each picture match those of a reference pole, and where."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.class_names import normalized_name
from simjudge.core.display import ShortRepr
from simjudge.core.errors import UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.images import FileImages, RgbImage
from simjudge.core.text import list_some

Descriptors = npt.NDArray[np.float32]
_MARGIN = 0.5
"""Of the width of a label, on each side of it, that a reference is cut with: SIFT needs what surrounds a thin pole."""
_LEAST_DESCRIPTORS = 2
"""The ratio test needs two."""


@dataclass(frozen=True, eq=False, repr=False)
class KeyPoints(ShortRepr):
    """SIFT key points of a picture.

    Attributes:
        point: float64 (N, 2), x and y in pixels; pixel (column i, row j) has its centre at (i + 0.5, j + 0.5).
        diameter: float64 (N,), of the neighbourhood that each describes, pixels.
        descriptor: float32 (N, 128), of length 512 but for rounding.
    """

    point: FloatArray
    diameter: FloatArray
    descriptor: Descriptors


@dataclass(frozen=True, eq=False, repr=False)
class PoleMatcher(ShortRepr):
    """Matches pictures with a reference pole.

    A key point of a picture matches where the reference's nearest descriptor is nearer than `distance`, and nearer than
    `ratio` times the second nearest. Each key point of the picture counts, so that several poles count several times.

    Attributes:
        reference: (M, 128), descriptors of the reference pole.
        ratio: of the distances to the nearest and the second nearest descriptor.
        distance: the largest one of a match.

    Source:
        D. G. Lowe, Distinctive image features from scale-invariant keypoints, 2004, section 7.1.
    """

    reference: Descriptors
    ratio: float
    distance: float

    def match(self, pixels: RgbImage) -> KeyPoints:
        """Find the key points of a picture that match the reference.

        Args:
            pixels: uint8 (H, W, 3), red first.
        """
        found = key_points(pixels)
        if not len(found.descriptor):
            return found
        pairs = cv2.BFMatcher(cv2.NORM_L2).knnMatch(found.descriptor, self.reference, k=2)
        kept = [
            near.queryIdx
            for near, second in pairs
            if near.distance <= self.distance and near.distance < self.ratio * second.distance
        ]
        return KeyPoints(found.point[kept], found.diameter[kept], found.descriptor[kept])


def key_points(pixels: RgbImage) -> KeyPoints:
    """Find the SIFT key points of a picture.

    Args:
        pixels: uint8 (H, W, 3), red first.
    """
    found, descriptor = cv2.SIFT.create().detectAndCompute(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY), None)
    point = np.array([each.pt for each in found], np.float64).reshape(-1, 2) + 0.5
    diameter = np.array([each.size for each in found], np.float64)
    return KeyPoints(
        point, diameter, np.empty((0, 128), np.float32) if descriptor is None else descriptor.astype(np.float32)
    )


def pole_reference(path: Path) -> Descriptors:
    """Describe a reference pole that a picture shows."""
    return _described(FileImages([path]).read(0), str(path))


def labelled_reference(frames: FrameSet, class_name: str) -> Descriptors:
    """Describe the largest labelled pole of a set."""
    named = {c: normalized_name(frames.class_name(c)) for c in map(int, np.unique(frames.objects.class_id))}
    ids = [c for c, name in named.items() if name == normalized_name(class_name)]
    rows = np.flatnonzero(np.isin(frames.objects.class_id, ids))
    if not len(rows) or frames.images is None:
        what = "has no pictures" if frames.images is None else f"has no object of class {class_name}"
        known = f"; there are {list_some(sorted(named.values()))}" if named and frames.images is not None else ""
        raise UsageError(f"{frames.name}: {what} to cut a reference pole from{known}; give one with --pole")
    size = np.tile(frames.size[frames.objects.frame[rows]], 2)
    box = np.clip(frames.objects.box[rows], 0, size)
    largest = int(np.argmax(np.prod(box[:, 2:] - box[:, :2], axis=1)))
    frame = int(frames.objects.frame[rows[largest]])
    x0, y0, x1, y1 = box[largest]
    margin = _MARGIN * max(x1 - x0, 16)
    left, top = max(0, int(x0 - margin)), max(0, int(y0 - margin))
    picture = frames.images.read(frame)[top : int(np.ceil(y1 + margin)), left : int(np.ceil(x1 + margin))]
    return _described(np.ascontiguousarray(picture), f"{frames.describe_frame(frame)}, its largest {class_name}")


def on_boxes(found: KeyPoints, box: FloatArray) -> int:
    """Count the key points that lie on labelled things.

    Args:
        box: float64 (K, 4), x0, y0, x1, y1 of the things in pixels.

    Returns:
        How many key points are no farther from a box than the radius of their neighbourhood.
    """
    apart = np.maximum(box[None, :, :2] - found.point[:, None], found.point[:, None] - box[None, :, 2:])
    distance = np.linalg.norm(np.maximum(apart, 0), axis=2)
    return int(np.any(distance <= found.diameter[:, None] / 2, axis=1).sum())


def _described(pixels: RgbImage, where: str) -> Descriptors:
    found = key_points(pixels).descriptor
    if len(found) < _LEAST_DESCRIPTORS:
        raise UsageError(f"{where}: shows {len(found)} key points; give a larger or sharper picture with --pole")
    return found
