"""Range images as pictures: near is bright yellow, far is dark blue, and a pixel without a return is black."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.core.images import EncodedImage, ImageError, RgbImage
from simjudge.data.clouds import CloudSet
from simjudge.data.lidar_points import lidar_points
from simjudge.detectors.range_images.range_grid import RangeGrid

_NEAR, _FAR = 1.0, 100.0
"""Metres at the ends of the colours, which go by the logarithm of the range."""
_DARKEST = 40
"""Of 255: the colour of the farthest, so that it is not black."""


@dataclass(frozen=True, eq=False, repr=False)
class RangePictures(ShortRepr):
    """The range images of a set's clouds; each is made when it is asked for."""

    clouds: CloudSet
    grid: RangeGrid

    def __len__(self) -> int:
        """The number of clouds."""
        return len(self.clouds)

    def has(self, index: int) -> bool:
        """Every cloud has one."""
        return 0 <= index < len(self)

    def read(self, index: int) -> RgbImage:
        """Make the picture of a cloud.

        Returns:
            uint8 (R, C, 3), red first.
        """
        try:
            cloud = self.clouds[index]
            points = lidar_points(cloud.table, cloud.where)
        except SimjudgeError as error:
            raise ImageError(str(error)) from error
        return range_colours(range_image(points.stored.astype(np.float64), self.grid))

    def read_encoded(self, index: int) -> EncodedImage | None:
        """None: no picture is stored."""
        del index
        return None


def range_image(points: FloatArray, grid: RangeGrid) -> FloatArray:
    """The range of the nearest point of each pixel.

    Args:
        points: (N, 3), metres, from the lidar.

    Returns:
        (R, C), metres; 0 where there is no point.
    """
    rows, columns = grid.pixels(points)
    image = np.full(grid.shape, np.inf)
    inside = rows >= 0
    np.minimum.at(image, (rows[inside], columns[inside]), np.linalg.norm(points[inside], axis=1))
    return np.where(np.isfinite(image), image, 0.0)


def range_colours(image: npt.NDArray[np.floating]) -> RgbImage:
    """The colours of a range image.

    Args:
        image: (R, C), metres; 0 where there is no return.

    Returns:
        uint8 (R, C, 3), red first.
    """
    share = np.log(np.clip(image, _NEAR, _FAR) / _NEAR) / np.log(_FAR / _NEAR)
    shade = np.round(255 - share * (255 - _DARKEST)).astype(np.uint8)
    colours = cv2.applyColorMap(shade, cv2.COLORMAP_INFERNO)[:, :, ::-1]
    return np.ascontiguousarray(np.where((image > 0)[:, :, None], colours, 0).astype(np.uint8))
