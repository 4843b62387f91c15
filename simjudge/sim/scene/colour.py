"""Colours as people write them down and as light adds them up: sRGB and linear RGB with Rec. 709 primaries."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray

_HEX = re.compile(r"#[0-9a-fA-F]{6}")
_XYZ_TO_RGB = np.array([[3.2406, -1.5372, -0.4986], [-0.9689, 1.8758, 0.0415], [0.0557, -0.2040, 1.0570]])
"""IEC 61966-2-1."""
_LUMINANCE = np.array([0.2126, 0.7152, 0.0722])


def to_linear(srgb: npt.ArrayLike) -> FloatArray:
    """Linear values of sRGB ones, 0 to 1, any shape (IEC 61966-2-1).

    Args:
        srgb: display values, 0 to 1, any shape.
    """
    value = np.asarray(srgb, np.float64)
    return np.where(value <= 0.04045, value / 12.92, ((np.maximum(value, 0) + 0.055) / 1.055) ** 2.4)


def to_srgb(linear: npt.ArrayLike) -> FloatArray:
    """SRGB values of linear ones, 0 to 1, any shape; the inverse of `to_linear`.

    Args:
        linear: linear values, 0 to 1, any shape.
    """
    value = np.asarray(linear, np.float64)
    return np.where(value <= 0.0031308, value * 12.92, 1.055 * np.maximum(value, 1e-12) ** (1 / 2.4) - 0.055)


@cache
def _decoded() -> npt.NDArray[np.float32]:
    return to_linear(np.arange(256) / 255).astype(np.float32)


def image_to_linear(image: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """The linear values, float32, of an sRGB image of any shape.

    Args:
        image: uint8, any shape, sRGB.
    """
    return _decoded()[image]


def parse_srgb(given: Any) -> tuple[float, float, float] | None:
    """What "#rrggbb" or [red, green, blue] with numbers from 0 to 1 mean, sRGB; None where it is neither."""
    if isinstance(given, str) and _HEX.fullmatch(given):
        red, green, blue = (int(given[k : k + 2], 16) / 255 for k in (1, 3, 5))
        return red, green, blue
    if isinstance(given, list | tuple) and len(given) == 3 and all(_is_share(value) for value in given):
        return float(given[0]), float(given[1]), float(given[2])
    return None


def temperature_to_linear(kelvin: float) -> FloatArray:
    """Linear RGB (3,), luminance 1, of a black body of 1667 to 25000 K.

    Chromaticity by the cubic fit of Kim et al., "Design of advanced color temperature control system for HDTV
    applications" (2002).
    """
    t = 1000 / kelvin
    if kelvin <= 4000:
        x = ((-0.2661239 * t - 0.2343589) * t + 0.8776956) * t + 0.179910
    else:
        x = ((-3.0258469 * t + 2.1070379) * t + 0.2226347) * t + 0.240390
    if kelvin <= 2222:
        y = ((-1.1063814 * x - 1.34811020) * x + 2.18555832) * x - 0.20219683
    elif kelvin <= 4000:
        y = ((-0.9549476 * x - 1.37418593) * x + 2.09137015) * x - 0.16748867
    else:
        y = ((3.0817580 * x - 5.87338670) * x + 3.75112997) * x - 0.37001483
    rgb = np.maximum(_XYZ_TO_RGB @ [x / y, 1, (1 - x - y) / y], 0)
    out: FloatArray = rgb / float(_LUMINANCE @ rgb)
    return out


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def luminance(linear: npt.ArrayLike) -> FloatArray:
    """Luminance (Y) of linear RGB with Rec. 709 primaries."""
    out: FloatArray = np.asarray(linear, np.float64) @ _LUMINANCE
    return out
