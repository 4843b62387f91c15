"""Metrics of whole pictures over time that objects take part in: Hu's moments, and matches of poles.

Hu's seven moment invariants do not change when the picture is shifted, scaled or rotated. Poles match by SIFT: how many
descriptors of a picture match those of a reference pole, and where.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, ShortRepr
from simjudge.core.errors import Losses, ProgressBar, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.images import FileImages, ImageError, RgbImage
from simjudge.core.names import normalized_name
from simjudge.core.object_tables import row_offsets
from simjudge.core.text import list_some
from simjudge.objects.image_quality.scene_statistics import gray_levels
from simjudge.objects.series import WHOLE, Series, stamps_to_seconds
from simjudge.objects.sightings import Sightings, label_sightings

COUNT = 7
"""The number of invariants."""


def hu_moments(picture: npt.NDArray[Any]) -> FloatArray:
    """Hu's invariants I1 to I7.

    The central moments are mu_pq = sum over pixels of (x - xm)^p (y - ym)^q f, where f is the pixel's value and
    (xm, ym) the mean place. With eta_pq = mu_pq / mu_00^(1 + (p + q) / 2), a = eta_30 + eta_12, b = eta_21 + eta_03,
    c = eta_30 - 3 eta_12 and d = 3 eta_21 - eta_03::

        I1 = eta_20 + eta_02
        I2 = (eta_20 - eta_02)^2 + 4 eta_11^2
        I3 = c^2 + d^2
        I4 = a^2 + b^2
        I5 = c a (a^2 - 3 b^2) + d b (3 a^2 - b^2)
        I6 = (eta_20 - eta_02) (a^2 - b^2) + 4 eta_11 a b
        I7 = d a (a^2 - 3 b^2) - c b (3 a^2 - b^2)

    I7 changes its sign where the picture is mirrored; x counts columns here and in OpenCV, rows in scikit-image, whose
    I7 has the other sign. Gray values scale the invariants: twice the brightness halves I1.

    Source:
        M.-K. Hu, Visual pattern recognition by moment invariants, 1962.
    """
    values = picture.view(np.uint8) if picture.dtype == np.bool_ else picture
    # Far from the picture's corner, central moments would be small differences of large numbers.
    x, y, width, height = cv2.boundingRect(values)
    if not width:
        return np.full(COUNT, np.nan)
    mu = cv2.moments(np.ascontiguousarray(values[y : y + height, x : x + width]))
    second, third = mu["m00"] ** 2, mu["m00"] ** 2.5
    spread, tilt, trace = (mu["mu20"] - mu["mu02"]) / second, mu["mu11"] / second, (mu["mu20"] + mu["mu02"]) / second
    a, b = (mu["mu30"] + mu["mu12"]) / third, (mu["mu21"] + mu["mu03"]) / third
    c, d = (mu["mu30"] - 3 * mu["mu12"]) / third, (3 * mu["mu21"] - mu["mu03"]) / third
    along, across = a * (a**2 - 3 * b**2), b * (3 * a**2 - b**2)
    return np.array(
        [
            trace,
            spread**2 + 4 * tilt**2,
            c**2 + d**2,
            a**2 + b**2,
            c * along + d * across,
            spread * (a**2 - b**2) + 4 * tilt * a * b,
            d * along - c * across,
        ]
    )


def log_scaled(moments: FloatArray) -> FloatArray:
    """Invariants of any shape on a logarithmic scale with signs: -sign(I) log10 |I|; NaN where one is 0."""
    size = np.where(moments == 0, np.nan, np.abs(moments))
    return np.asarray(-np.sign(moments) * np.log10(size))


Descriptors = npt.NDArray[np.float32]
_MARGIN = 0.5
"""Of the width of a label, on each side of it, that a reference is cut with: SIFT needs what surrounds a thin pole."""
_LEAST_DESCRIPTORS = 2
"""The ratio test needs two."""


@dataclass(frozen=True, eq=False, repr=False)
class KeyPoints(ShortRepr):
    """SIFT key points of a picture."""

    point: FloatArray  # float64 (N, 2), x and y in pixels; pixel (column i, row j) has its centre at (i + 0.5, j + 0.5)
    diameter: FloatArray  # float64 (N,), of the neighbourhood that each describes, pixels
    descriptor: Descriptors  # float32 (N, 128), of length 512 but for rounding


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
        """Find the key points of a picture that match the reference. `pixels`: uint8 (H, W, 3), red first."""
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
    """Find the SIFT key points of a picture. `pixels`: uint8 (H, W, 3), red first."""
    found, descriptor = cv2.SIFT.create().detectAndCompute(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY), None)
    point = np.array([keypoint.pt for keypoint in found], np.float64).reshape(-1, 2) + 0.5
    diameter = np.array([keypoint.size for keypoint in found], np.float64)
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
    """Count the key points that lie on labelled things with boxes (K, 4), x0, y0, x1, y1 in pixels."""
    apart = np.maximum(box[None, :, :2] - found.point[:, None], found.point[:, None] - box[None, :, 2:])
    distance = np.linalg.norm(np.maximum(apart, 0), axis=2)
    return int(np.any(distance <= found.diameter[:, None] / 2, axis=1).sum())


def _described(pixels: RgbImage, where: str) -> Descriptors:
    found = key_points(pixels).descriptor
    if len(found) < _LEAST_DESCRIPTORS:
        raise UsageError(f"{where}: shows {len(found)} key points; give a larger or sharper picture with --pole")
    return found


def binary_hu_series(frames: FrameSet, seen: Sightings) -> list[Series]:
    """Measure the shape of all that is followed, as one binary picture."""
    looked_at = np.flatnonzero(seen.looked_at)
    start = row_offsets(seen.frame, len(frames))
    values = np.full((len(looked_at), COUNT), np.nan)
    for i, frame in enumerate(looked_at):
        rows = range(start[frame], start[frame + 1])
        if rows:
            width, height = (int(v) for v in frames.size[frame])
            values[i] = hu_moments(np.logical_or.reduce([seen.region(row, width, height) for row in rows]))
    return _hu_series("binary", stamps_to_seconds(frames.stamp[looked_at]), values)


def picture_series(
    frames: FrameSet, losses: Losses, progress: ProgressBar, poles: PoleMatcher | None = None, pole_class: str = ""
) -> list[Series]:
    """Measure all pictures of a set."""
    if frames.images is None:
        return []
    hu = np.full((len(frames), COUNT), np.nan)
    matches = np.full((len(frames), 2), np.nan)
    labels = label_sightings(frames)
    start = row_offsets(labels.frame, len(frames))
    with progress(f"measuring pictures of {frames.name}") as advance:
        for frame in range(len(frames)):
            pixels = _read(frames, frame, losses)
            advance(frame + 1, len(frames))
            if pixels is None:
                continue
            hu[frame] = hu_moments(gray_levels(pixels).astype(np.uint8))
            if poles is not None:
                found = poles.match(pixels)
                rows = np.arange(start[frame], start[frame + 1])
                box = labels.box[rows[labels.class_name[rows] == normalized_name(pole_class)]]
                matches[frame] = len(found.point), on_boxes(found, box) if labels.looked_at[frame] else np.nan
    time = stamps_to_seconds(frames.stamp)
    series = _hu_series("gray", time, hu)
    if poles is not None:
        series.append(Series("pole matches", "", WHOLE, time, matches[:, 0]))
        if pole_class and labels.looked_at.any():
            series.append(Series("pole matches on labels", "", WHOLE, time, matches[:, 1]))
    return series


def _read(frames: FrameSet, frame: int, losses: Losses) -> RgbImage | None:
    assert frames.images is not None  # noqa: S101 - for mypy
    if not frames.images.has(frame):
        losses.add("frames without a picture", frames.describe_frame(frame))
        return None
    try:
        return frames.images.read(frame)
    except ImageError as error:
        losses.add("pictures that cannot be read", str(error))
        return None


def _hu_series(kind: str, time: FloatArray, values: FloatArray) -> list[Series]:
    return [Series(f"hu {i + 1} ({kind})", "", WHOLE, time, values[:, i]) for i in range(COUNT)]
