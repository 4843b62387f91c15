"""More camera filters: what air, a moving camera, a lens and sharpening do to a picture. See `filters`."""

from __future__ import annotations

import math

import cv2
import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.sim.sensors.camera.filters import (
    AnyImage,
    as_float,
    camera_filter,
    gaussian_blur,
    require,
    require_colours,
    to_type_of,
)

LONGEST_MOTION = 200.0
"""Pixels that a camera may move while a picture is exposed."""
_POINTS = 4001
"""Places on the path of a moving camera."""


@camera_filter
def haze(image: AnyImage, *, density: float, red: float = 0.8, green: float = 0.8, blue: float = 0.8) -> AnyImage:
    """Mix every pixel with the light of the air, equally at all distances.

    Args:
        image: (H, W, 3), uint8 or floating point.
        density: share of the air's light, 0 to 1.

    Returns:
        The hazy image, same type and shape.
    """
    require_colours(image, "haze")
    air = np.array([red, green, blue], np.float32)
    require(0 <= density <= 1, f"haze: density {density}; it must be in 0..1")
    require(bool(np.all(np.isfinite(air)) and np.all(air >= 0)), f"haze: light {red}, {green}, {blue}; 0 or more each")
    return to_type_of(image, as_float(image) * (1 - density) + density * air)


@camera_filter
def motion_blur(image: AnyImage, *, length: float, angle: float = 0.0) -> AnyImage:
    """Blur as a camera does that moves steadily; `length` pixels, `angle` degrees from right to down.

    Args:
        image: (H, W, 3), uint8 or floating point; edges are mirrored.
        length: of the path, pixels, 0 or more.
        angle: of the path, degrees; opposite directions are the same.

    Returns:
        The blurred image, same type and shape.
    """
    require(0 <= length <= LONGEST_MOTION, f"motion_blur: length {length} px; it must be in 0..{LONGEST_MOTION:g}")
    require(math.isfinite(angle), f"motion_blur: angle {angle} degrees; it must be finite")
    kernel = motion_kernel(length, angle)
    seen = cv2.filter2D(as_float(image), -1, kernel, borderType=cv2.BORDER_REFLECT_101)
    return to_type_of(image, np.asarray(seen).reshape(image.shape))


def motion_kernel(length: float, angle: float) -> FloatArray:
    """Where a point's light falls: (K, K) shares of the path in each pixel, K odd."""
    place = np.linspace(-0.5, 0.5, _POINTS) * length
    # A tiny turn, so that no path runs along the border of two pixels.
    turned = math.radians(angle) + 1e-9
    reach = math.ceil(length / 2)
    x, y = (np.rint(place * along).astype(int) + reach for along in (math.cos(turned), math.sin(turned)))
    width = 2 * reach + 1
    return np.bincount(y * width + x, minlength=width**2).reshape(width, width) / _POINTS


@camera_filter
def chromatic_aberration(image: AnyImage, *, red: float = 1.0, blue: float = 1.0) -> AnyImage:
    """Show red and blue larger or smaller than green, around the middle (lateral chromatic aberration).

    Args:
        image: (H, W, 3), uint8 or floating point.

    Returns:
        The image with scaled channels, same type and shape.
    """
    require_colours(image, "chromatic_aberration")
    for size in (red, blue):
        require(0.9 <= size <= 1.1, f"chromatic_aberration: sizes {red}, {blue}; each must be in 0.9..1.1")
    out = as_float(image).copy()
    height, width = image.shape[:2]
    for channel, size in ((0, red), (2, blue)):
        if size != 1:
            back = np.array([[1 / size, 0, (1 - 1 / size) * (width - 1) / 2],
                             [0, 1 / size, (1 - 1 / size) * (height - 1) / 2]])  # fmt: skip
            out[:, :, channel] = cv2.warpAffine(
                out[:, :, channel].astype(np.float32), back, (width, height),
                flags=cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP, borderMode=cv2.BORDER_REPLICATE,
            )  # fmt: skip
    return to_type_of(image, out)


@camera_filter
def sharpen(image: AnyImage, *, amount: float, radius: float = 1.0) -> AnyImage:
    """Sharpen by an unsharp mask: what a blur of `radius` pixels takes away is added once more, times `amount`.

    Args:
        image: (H, W, 3), uint8 or floating point.
        radius: standard deviation of the blur, pixels.

    Returns:
        The sharpened image, same type and shape.
    """
    require(amount >= 0 and math.isfinite(amount), f"sharpen: amount {amount}; it must be 0 or more")
    seen = as_float(image)
    return to_type_of(image, seen + amount * (seen - gaussian_blur(seen, sigma=radius)))
