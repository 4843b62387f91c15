"""The classical judge: colour thresholds, which need no training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np

from simjudge.core.images import RgbImage
from simjudge.core.masks import BoolImage
from simjudge.perception.detector import Detections
from simjudge.perception.detector_summary import ShownDetector


@dataclass(frozen=True)
class ColourClass:
    """What one class looks like.

    Attributes:
        name: of the class.
        hue: lowest and highest, degrees in [0, 360]; low above high goes through 0, as red does.
        saturation, value: lowest and highest, in [0, 1].
        closing: gaps up to so many pixels are closed (0: none).
        min_area, max_area: pixels that a blob has after closing.
    """

    name: str
    hue: tuple[float, float]
    saturation: tuple[float, float]
    value: tuple[float, float]
    closing: int
    min_area: float
    max_area: float

    def find_pixels(self, hsv: RgbImage) -> BoolImage:
        """Find the pixels of this colour.

        Args:
            hsv: (H, W, 3) in OpenCV's 8-bit HSV: hue in half degrees, saturation and value from 0 to 255.

        Returns:
            bool (H, W).
        """
        low_hue, high_hue = (v / 2 for v in self.hue)
        hue = hsv[..., 0]
        hit = (hue >= low_hue) & (hue <= high_hue) if low_hue <= high_hue else (hue >= low_hue) | (hue <= high_hue)
        for plane, (low, high) in ((1, self.saturation), (2, self.value)):
            hit &= (hsv[..., plane] >= low * 255) & (hsv[..., plane] <= high * 255)
        return hit

    def find_blobs(self, hit: BoolImage) -> tuple[list[list[int]], list[float]]:
        """Find the connected blobs among pixels of this colour.

        Args:
            hit: bool (H, W), the pixels of this colour.

        Returns:
            The boxes x0, y0, x1, y1 in pixels of blobs with a fitting area, and the share of each box that is hit, in
            [0, 1].
        """
        closed = hit.astype(np.uint8)
        if self.closing > 0:
            kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (self.closing, self.closing))
            closed = cv2.morphologyEx(closed, cv2.MORPH_CLOSE, kernel)  # type: ignore[assignment]
        count, _, stats, _ = cv2.connectedComponentsWithStats(closed, connectivity=8)
        boxes, scores = [], []
        for x, y, width, height, area in stats[1:count].tolist():
            if self.min_area <= area <= self.max_area:
                boxes.append([x, y, x + width, y + height])
                scores.append(float(hit[y : y + height, x : x + width].mean()))
        return boxes, scores


@dataclass(frozen=True, repr=False)
class ColourDetector(ShownDetector):
    """Finds blobs of given colours. The score is the share of the box's pixels that have the class's colour.

    A filled rectangle scores 1, a cone, which is a triangle in its box, about 0.5.
    """

    name: str
    classes: dict[int, ColourClass]
    min_score: float
    sha256: str = ""

    @property
    def class_names(self) -> dict[int, str]:
        """Names by class id."""
        return {class_id: each.name for class_id, each in self.classes.items()}

    def __call__(self, images: Sequence[RgbImage]) -> list[Detections]:
        """Detect in some images.

        Args:
            images: 8-bit RGB images (H, W, 3), of any sizes.

        Returns:
            The detections in each image.
        """
        return [self._detect(image) for image in images]

    def _detect(self, image: RgbImage) -> Detections:
        hsv: Any = cv2.cvtColor(image, cv2.COLOR_RGB2HSV)
        ids: list[int] = []
        boxes: list[list[int]] = []
        scores: list[float] = []
        for class_id, each in self.classes.items():
            found, fill = each.find_blobs(each.find_pixels(hsv))
            ids += [class_id] * len(found)
            boxes += found
            scores += fill
        order = [i for i in np.argsort(-np.array(scores), kind="stable") if scores[i] >= self.min_score]
        return Detections.build([ids[i] for i in order], [boxes[i] for i in order], [scores[i] for i in order])
