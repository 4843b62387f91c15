"""Fitting an image into a net's input, and boxes back: with the very rounding that ultralytics uses."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.images import RgbImage

GREY = 114


@dataclass(frozen=True)
class Letterbox:
    """How an image of one size lies in an input of another: scaled, and centred on grey.

    Attributes:
        left, top: where it begins in the input.
        size: width and height of the image.
    """

    width: int
    height: int
    left: int
    top: int
    gain_x: float
    gain_y: float
    size: tuple[int, int]

    @classmethod
    def fit(cls, size: tuple[int, int], input_size: tuple[int, int]) -> Letterbox:
        """Fit an image into an input, as large as it goes without distortion.

        Args:
            size: width and height of the image, pixels.
            input_size: width and height of the input, pixels.
        """
        gain = min(input_size[1] / size[1], input_size[0] / size[0])
        width, height = (max(round(v * gain), 1) for v in size)
        left, top = (round((outer - inner) / 2 - 0.1) for outer, inner in zip(input_size, (width, height), strict=True))
        return cls(width, height, left, top, width / size[0], height / size[1], size)

    def place(self, image: RgbImage, out: npt.NDArray[np.uint8]) -> None:
        """Draw the image into an input.

        Args:
            image: 8-bit RGB (H, W, 3), of the size that was fitted.
            out: uint8 (height, width, 3) of the input, grey all over; changed in place.
        """
        if (self.width, self.height) != self.size:
            image = cv2.resize(image, (self.width, self.height), interpolation=cv2.INTER_LINEAR)  # type: ignore[assignment]
        out[self.top : self.top + self.height, self.left : self.left + self.width] = image

    def to_image(self, box: FloatArray) -> FloatArray:
        """Transform boxes of the input into boxes of the image.

        Args:
            box: float64 (N, 4), x0, y0, x1, y1 in pixels of the input.

        Returns:
            float64 (N, 4), pixels of the image, clipped to it.
        """
        low = np.array([self.left, self.top] * 2)
        out: FloatArray = (box - low) / np.array([self.gain_x, self.gain_y] * 2)
        return out.clip(0.0, np.array(self.size * 2, np.float64))
