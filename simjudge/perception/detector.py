"""What a detector is: images in, detections out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from simjudge.core.display import ShortRepr
from simjudge.core.frames import FloatArray, IntArray
from simjudge.core.images import RgbImage

DEFAULT_MIN_SCORE = 0.05
"""Low, so that average precision is right; what a comparison counts is chosen there."""
DEFAULT_IOU = 0.7
"""Of two boxes of one class that overlap more, the better one stays: the default of ultralytics."""


@dataclass(frozen=True, repr=False)
class Detections(ShortRepr):
    """What a detector found in one image.

    Attributes:
        class_id: int64 (N,), the detector's own ids.
        box: float64 (N, 4), x0, y0, x1, y1 in pixels of the image given, inside it.
        score: float64 (N,), in [0, 1], best first.
    """

    class_id: IntArray
    box: FloatArray
    score: FloatArray

    @classmethod
    def build(cls, class_id: npt.ArrayLike, box: npt.ArrayLike, score: npt.ArrayLike) -> Detections:
        """Make detections from anything array-like.

        Args:
            class_id: (N,), class ids of the detector.
            box: (N, 4), x0, y0, x1, y1 in pixels.
            score: (N,), in [0, 1], best first.
        """
        return cls(
            np.asarray(class_id, np.int64).reshape(-1),
            np.asarray(box, np.float64).reshape(-1, 4),
            np.asarray(score, np.float64).reshape(-1),
        )

    def __len__(self) -> int:
        """The number of detections."""
        return len(self.class_id)


class Detector(Protocol):
    """Finds things in images."""

    @property
    def name(self) -> str:
        """What to call it on screen."""

    @property
    def class_names(self) -> dict[int, str]:
        """Names by class id; empty where the model does not say."""

    def __call__(self, images: Sequence[RgbImage]) -> list[Detections]:
        """Detect in some images.

        Args:
            images: 8-bit RGB images (H, W, 3), of any sizes.

        Returns:
            The detections in each image.
        """
