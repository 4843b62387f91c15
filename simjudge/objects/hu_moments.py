"""Hu's seven moment invariants of a picture: what does not change when the picture is shifted, scaled or rotated."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray

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

    Args:
        picture: bool or uint8 (H, W): a binary segmentation, or gray from 0 to 255.

    Returns:
        float64 (7,); NaN where all values are 0.

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
    """Invariants on a logarithmic scale that keeps their signs, for plots: -sign(I) log10 |I|.

    Args:
        moments: float64, any shape.

    Returns:
        float64 of the same shape; NaN where an invariant is 0.
    """
    size = np.where(moments == 0, np.nan, np.abs(moments))
    return np.asarray(-np.sign(moments) * np.log10(size))
