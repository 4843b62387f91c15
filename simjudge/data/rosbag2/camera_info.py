"""What a camera_info says of the pictures beside it: binning and region of interest change size, matrix and projection.

The rule is that of ROS's image_geometry: width, height, K and P are those of the full image; the region of interest is
cut out of it first, and binning makes it smaller.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from simjudge.core.arrays import FloatArray


class PictureGeometry(NamedTuple):
    """Of the pictures as they are published.

    Attributes:
        size: width and height, pixels.
        matrix: (3, 3), the camera matrix.
        projection: (3, 4), the projection matrix.
    """

    size: tuple[int, int]
    matrix: FloatArray
    projection: FloatArray


def picture_geometry(info: Any) -> PictureGeometry:
    """Apply binning and region of interest."""
    matrix = np.array(info.k, np.float64).reshape(3, 3)
    projection = np.array(info.p, np.float64).reshape(3, 4)
    left, top = int(info.roi.x_offset), int(info.roi.y_offset)
    for camera in (matrix, projection):
        camera[0] -= left * camera[2]
        camera[1] -= top * camera[2]
        camera[0] /= max(int(info.binning_x), 1)
        camera[1] /= max(int(info.binning_y), 1)
    return PictureGeometry(picture_size(info), matrix, projection)


def picture_size(info: Any) -> tuple[int, int]:
    """Width and height of the pictures that a camera_info goes with."""
    width = int(info.roi.width) or int(info.width) - int(info.roi.x_offset)
    height = int(info.roi.height) or int(info.height) - int(info.roi.y_offset)
    return width // max(int(info.binning_x), 1), height // max(int(info.binning_y), 1)
