"""A camera's calibration: doubted where it should be, scaled, applied.

Pixel coordinates in here are OpenCV's and ROS's: (0, 0) is the centre of the upper left pixel.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import cv2
import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.core.images import RgbImage

_ODD = 0.05
"""Share of width or height that a principal point may be off the middle until it is doubted."""
_WRONG = 0.15
"""Share of width or height that a principal point may be off the middle until it is refused."""
_SIZES = (
    (320, 240), (640, 360), (640, 480), (800, 600), (848, 480), (960, 540), (1024, 768), (1280, 720), (1280, 800),
    (1280, 960), (1280, 1024), (1600, 1200), (1920, 1080), (1920, 1200), (2048, 1536), (2592, 1944), (3840, 2160),
)  # fmt: skip


class Doubt(NamedTuple):
    """What is odd about a calibration; `wrong` where it can hardly be right."""

    wrong: bool
    message: str


@dataclass(frozen=True, repr=False)
class Calibration(ShortRepr):
    """A calibrated camera.

    Attributes:
        size: width and height of the images it holds for, pixels.
        model: "plumb_bob", "rational_polynomial" or "equidistant"; or simjudge's own "equirectangular", of which K has
            the centre and pixels per radian.
        matrix: K, float64 (3, 3), pixels.
        distortion: D, float64 (n,), no unit.
        rectification: R, float64 (3, 3), a rotation.
        projection: P, float64 (3, 4), pixels: the camera of the undistorted image.
    """

    name: str
    size: tuple[int, int]
    model: str
    matrix: FloatArray
    distortion: FloatArray
    rectification: FloatArray
    projection: FloatArray

    def doubt(self) -> Doubt | None:
        """Whether the principal point suits the size: calibrations get copied to another resolution without scaling."""
        centre = (float(self.matrix[0, 2]), float(self.matrix[1, 2]))
        off = max(abs(c - (n - 1) / 2) / n for c, n in zip(centre, self.size, strict=True))
        if off <= _ODD:
            return None
        likely = _size_with_centre(centre)
        other = f"; it suits images of {likely[0]}x{likely[1]}" if likely and likely != self.size else ""
        width, height = self.size
        text = (
            f"the principal point ({centre[0]:.1f}, {centre[1]:.1f}) is {off:.0%} off the middle of the"
            f" {width}x{height} images that it is said to be for{other}"
        )
        return Doubt(off > _WRONG, text)

    def scaled(self, size: tuple[int, int]) -> Calibration:
        """The calibration of the same images in another size.

        Args:
            size: width and height of the scaled images, pixels.

        Returns:
            The calibration with K and P scaled; distortion has no unit and stays.
        """
        factors = [new / old for new, old in zip(size, self.size, strict=True)]
        if abs(factors[0] / factors[1] - 1) > 1 / min(*size, *self.size):
            raise SimjudgeError(
                f"a calibration for {self.size[0]}x{self.size[1]} cannot be scaled to {size[0]}x{size[1]}: "
                "another shape shows another part of the scene; calibrate at this size"
            )
        fx, fy = factors
        # The outer edges of the image coincide, not the centres of its corner pixels.
        shift = np.array([[fx, 0, (fx - 1) / 2], [0, fy, (fy - 1) / 2], [0, 0, 1]])
        return replace(self, size=size, matrix=shift @ self.matrix, projection=shift @ self.projection)

    def undistortion(self) -> Undistortion:
        """What turns images of this camera into those of the ideal camera P."""
        if self.model == "equirectangular":
            raise SimjudgeError(f"{self.name}: an equirectangular image sees all around; no pinhole image shows that")
        target = self.projection[:, :3]
        if self.model == "equidistant":
            maps = cv2.fisheye.initUndistortRectifyMap(
                self.matrix, self.distortion, self.rectification, target, self.size, cv2.CV_16SC2
            )
        else:
            maps = cv2.initUndistortRectifyMap(
                self.matrix, self.distortion, self.rectification, target, self.size, cv2.CV_16SC2
            )
        return Undistortion(self.size, *maps)


@dataclass(frozen=True)
class Undistortion:
    """An image's pixels, moved to where an ideal camera sees them; black where the real one saw nothing."""

    size: tuple[int, int]
    coarse: Any
    fine: Any

    def __call__(self, image: RgbImage) -> RgbImage:
        """The undistorted image; bilinear."""
        height, width = image.shape[:2]
        if (width, height) != self.size:
            raise SimjudgeError(f"an image of {width}x{height} with a calibration for {self.size[0]}x{self.size[1]}")
        return np.asarray(cv2.remap(image, self.coarse, self.fine, cv2.INTER_LINEAR), np.uint8)


def _size_with_centre(centre: tuple[float, float]) -> tuple[int, int] | None:
    """The usual image size whose middle is nearest to a point, if it is near at all."""
    off = {size: max(abs(2 * c + 1 - n) / n for c, n in zip(centre, size, strict=True)) for size in _SIZES}
    best = min(_SIZES, key=off.__getitem__)
    return best if off[best] <= _ODD else None
