"""Camera filters of an image signal processor beyond demosaicing: denoising, colour correction, tone mapping, RCCC.

`sharpen` is in `simjudge.sim.sensors.camera.filters`, Bayer patterns in `simjudge.sim.sensors.camera.isp`.
"""

from __future__ import annotations

import cv2
import numpy as np

from simjudge.sim.sensors.camera.filters import (
    FULL_SCALE,
    AnyImage,
    FloatImage,
    as_float,
    camera_filter,
    require,
    require_colours,
    to_type_of,
)

RCCC_PATTERNS = ("RCCC", "CRCC", "CCRC", "CCCR")  # The upper left 2x2 pixels, row by row; C has no filter
_WIDEST = 16  # Pixels of denoising's radius: time grows with its square
_LUMINANCE = (0.2126, 0.7152, 0.0722)  # ITU-R BT.709
_RANGE = 3  # Standard deviations of pixels' distances that a window of denoising reaches


@camera_filter
def denoise(image: AnyImage, *, strength: float, radius: float = 1.5) -> AnyImage:
    """Average each pixel with those near it that look alike (bilateral filter); edges are mirrored.

    A neighbour at a distance of d pixels whose channels differ by D grey levels in all, their absolute differences
    added up, weighs exp(-d^2 / (2 radius^2) - D^2 / (2 strength^2)), as far as 3 radii.

    Args:
        image: (H, W, C), uint8 or floating point.
        strength: grey levels of 255 that neighbours may differ, above 0.
        radius: pixels, above 0.

    Returns:
        The image with less noise, same type and shape.

    Source:
        Tomasi and Manduchi, "Bilateral filtering for gray and color images", ICCV 1998.
    """
    require(0 < strength <= FULL_SCALE, f"denoise: strength {strength} grey levels; above 0, 255 at most, is needed")
    require(0 < radius <= _WIDEST, f"denoise: radius {radius} px; above 0, {_WIDEST} at most, is needed")
    values = np.ascontiguousarray(as_float(image), np.float32)
    reach = max(round(_RANGE * radius), 1)
    seen = cv2.bilateralFilter(values, 2 * reach + 1, strength / FULL_SCALE, radius, borderType=cv2.BORDER_REFLECT_101)
    return to_type_of(image, np.asarray(seen).reshape(image.shape))


@camera_filter
def colour_correction(  # noqa: PLR0913 - the nine numbers of a matrix
    image: AnyImage,
    *,
    rr: float = 1.0,
    rg: float = 0.0,
    rb: float = 0.0,
    gr: float = 0.0,
    gg: float = 1.0,
    gb: float = 0.0,
    br: float = 0.0,
    bg: float = 0.0,
    bb: float = 1.0,
) -> AnyImage:
    """Multiply colours by a matrix; `rg` is how much of green goes into red. Rows with the sum 1 keep greys grey.

    A sensor's colours become those of a standard on linear light: put it above `srgb`.
    """
    require_colours(image, "colour_correction")
    matrix = np.array([[rr, rg, rb], [gr, gg, gb], [br, bg, bb]])
    require(bool(np.isfinite(matrix).all()), "colour_correction: all nine numbers must be finite")
    values = as_float(image)
    return to_type_of(image, values @ matrix.T.astype(values.dtype))


@camera_filter
def tone_map(image: AnyImage, *, white: float, exposure: float = 1.0) -> AnyImage:
    """Compress bright light: luminance L becomes L (1 + L / white^2) / (1 + L), colours keep their proportions.

    Args:
        image: (H, W, 3), uint8 or floating point, linear light.
        white: luminance that becomes full scale, in full scales, above 0.
        exposure: light is multiplied by it before, above 0.

    Returns:
        The compressed image, same type and shape.

    Source:
        Reinhard, Stark, Shirley and Ferwerda, "Photographic tone reproduction for digital images", SIGGRAPH 2002,
        Eq. (4).
    """
    require_colours(image, "tone_map")
    for name, value in (("white", white), ("exposure", exposure)):
        require(0 < value < np.inf, f"tone_map: {name} {value}; a number above 0 is needed")
    light = np.maximum(as_float(image) * exposure, 0)
    luminance = (light @ np.array(_LUMINANCE, light.dtype))[:, :, None]
    return to_type_of(image, light * ((1 + luminance / white**2) / (1 + luminance)))


@camera_filter
def rccc(
    image: AnyImage,
    *,
    pattern: str = "RCCC",
    red: float = 1 / 3,
    green: float = 1 / 3,
    blue: float = 1 / 3,
) -> AnyImage:
    """See as sensors for driving do, with red at one pixel of four and no colour filter (clear) at the others.

    Red, and clear where red stands, are interpolated. What clear has beside red comes out as both green and blue: red
    lights stay red, green and blue cannot be told apart.

    Args:
        image: (H, W, 3), uint8 or floating point, linear light.
        pattern: RCCC, CRCC, CCRC or CCCR, the upper left 2x2 pixels row by row.
        red: share of red in what a clear pixel measures, 0 or more; so are green and blue.

    Returns:
        The image, same type and shape.
    """
    require_colours(image, "rccc")
    require(pattern in RCCC_PATTERNS, f"rccc: pattern {pattern!r}; it must be one of {', '.join(RCCC_PATTERNS)}")
    shares = np.array([red, green, blue], np.float64)
    held = bool(np.isfinite(shares).all() and (shares >= 0).all() and shares[1:].sum() > 0)
    require(held, f"rccc: shares {red}, {green}, {blue}; each must be 0 or more, and green or blue above 0")
    require(min(image.shape[:2]) >= 2, "rccc: at least 2x2 pixels are needed")
    shares /= shares.sum()
    values = as_float(image)
    clear = values @ shares.astype(values.dtype)
    only_red, only_clear = _interpolated(values[:, :, 0], clear, pattern)
    other = (only_clear - shares[0] * only_red) / (shares[1] + shares[2])
    return to_type_of(image, np.stack([only_red, other, other], -1))


def _interpolated(red: FloatImage, clear: FloatImage, pattern: str) -> tuple[FloatImage, FloatImage]:
    """Red and clear at all pixels, from the pixels that measure them: the mean of the nearest ones."""
    row, column = divmod(pattern.index("R"), 2)
    there = np.zeros(red.shape, red.dtype)
    there[row::2, column::2] = 1
    # A mirrored border (101) keeps the pattern.
    triangle = np.array([1, 2, 1]) / 2
    spread = cv2.sepFilter2D(red * there, -1, triangle, triangle, borderType=cv2.BORDER_REFLECT_101)
    cross = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]) / 4
    around = cv2.filter2D(clear, -1, cross, borderType=cv2.BORDER_REFLECT_101)
    return np.asarray(spread), np.where(there > 0, np.asarray(around), clear)
