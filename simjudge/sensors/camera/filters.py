"""Camera filters by name. Each is an ordinary function on an RGB picture and can be used alone.

A picture is (H, W, 3), red first: either uint8 grey levels 0..255, or floating point where 1.0 is full scale (255).
What goes in comes out: uint8 is rounded and saturates at 0 and 255; floating point keeps its type and is not clipped,
so that a chain of filters saturates once, at its end, as a sensor does (`chain.apply_steps`).

A filter of your own is a function decorated with `camera_filter`: it takes the picture and keyword parameters, leaves
the picture as it is, and returns another of the same type (`as_float` and `like` help). With a parameter `seed` it is
random, and must draw the same numbers from the same seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.errors import UsageError

FULL_SCALE = 255.0
Picture = npt.NDArray[Any]
"""uint8 or floating point, height x width x 3, red first."""
FloatPicture = npt.NDArray[np.floating[Any]]
Filter = Callable[..., Picture]
AnyFilter = TypeVar("AnyFilter", bound=Filter)

FILTERS: dict[str, Filter] = {}
"""All filters, by name. Each takes the picture and keyword parameters; those with a `seed` are random."""


def camera_filter(function: AnyFilter) -> AnyFilter:
    """Register a filter under its function's name."""
    FILTERS[function.__name__] = function
    return function


def named_filter(name: str) -> Filter:
    """The filter of a name.

    Raises:
        UsageError: there is none of that name.
    """
    if name not in FILTERS:
        raise UsageError(f"no filter is called {name!r}; there are {', '.join(sorted(FILTERS))}")
    return FILTERS[name]


@camera_filter
def gaussian_blur(picture: Picture, *, sigma: float) -> Picture:
    """Blur as a Gaussian point-spread function of standard deviation `sigma` pixels does; edges are mirrored.

    The kernel reaches 4 sigma to each side.
    """
    require(sigma >= 0 and math.isfinite(sigma), f"gaussian_blur: sigma {sigma} px; it must be 0 or more")
    if sigma == 0:
        return picture.copy()
    width = 2 * math.ceil(4 * sigma) + 1
    blurred = cv2.GaussianBlur(as_float(picture), (width, width), sigma, borderType=cv2.BORDER_REFLECT_101)
    return like(picture, np.asarray(blurred))


@camera_filter
def vignetting(picture: Picture, *, half_angle: float) -> Picture:
    """Darken towards the corners by the cosine-fourth law; `half_angle` is the view's angle in the corners, degrees."""
    require(0 <= half_angle < 90, f"vignetting: half angle {half_angle} degrees; it must be in [0, 90)")
    height, width = picture.shape[:2]
    x, y = np.arange(width) - (width - 1) / 2, np.arange(height) - (height - 1) / 2
    corner_squared = max(x[0] ** 2 + y[0] ** 2, 1.0)
    tan_squared = (x[None, :] ** 2 + y[:, None] ** 2) / corner_squared * math.tan(math.radians(half_angle)) ** 2
    return like(picture, as_float(picture) * (1 / (1 + tan_squared) ** 2)[:, :, None])


@camera_filter
def gaussian_noise(picture: Picture, *, sigma: float, seed: int | tuple[int, ...] = 0) -> Picture:
    """Add independent Gaussian noise of standard deviation `sigma` grey levels (of 255) to every pixel and channel."""
    require(sigma >= 0 and math.isfinite(sigma), f"gaussian_noise: sigma {sigma} grey levels; it must be 0 or more")
    drawn = np.random.default_rng(seed).standard_normal(picture.shape, np.float32)
    return like(picture, as_float(picture) + drawn * np.float32(sigma / FULL_SCALE))


@camera_filter
def white_balance(picture: Picture, *, red: float = 1.0, green: float = 1.0, blue: float = 1.0) -> Picture:
    """Multiply each channel by a gain."""
    gains = np.array([red, green, blue])
    finite = bool(np.all(np.isfinite(gains)) and np.all(gains >= 0))
    require(finite, f"white_balance: gains {red}, {green}, {blue}; each must be 0 or more")
    return like(picture, as_float(picture) * gains)


@camera_filter
def gamma(picture: Picture, *, exponent: float) -> Picture:
    """Raise values (1 is full scale) to a power: above 1 darkens the mid tones, below 1 lifts them."""
    require(exponent > 0 and math.isfinite(exponent), f"gamma: exponent {exponent}; it must be above 0")
    return like(picture, np.maximum(as_float(picture), 0) ** exponent)


@camera_filter
def jpeg(picture: Picture, *, quality: int) -> Picture:
    """Encode as JPEG and decode again; saturates floating point too."""
    require(1 <= quality <= 100, f"jpeg: quality {quality}; it must be in 1..100")
    pixels = as_uint8(picture)[:, :, ::-1]
    _, data = cv2.imencode(".jpg", np.ascontiguousarray(pixels), [cv2.IMWRITE_JPEG_QUALITY, int(quality)])
    decoded = np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR))[:, :, ::-1]
    return like(picture, as_float(decoded))


def as_uint8(picture: Picture) -> npt.NDArray[np.uint8]:
    """Round to grey levels, saturating at 0 and 255."""
    if picture.dtype == np.uint8:
        return picture
    return np.clip(np.rint(picture * FULL_SCALE), 0, FULL_SCALE).astype(np.uint8)


def as_float(picture: Picture) -> FloatPicture:
    """The picture in floating point, full scale 1; single precision unless it came in double."""
    if picture.dtype == np.uint8:
        return picture.astype(np.float32) / np.float32(FULL_SCALE)
    if not np.issubdtype(picture.dtype, np.floating):
        raise UsageError(f"a picture of type {picture.dtype} cannot be filtered; give uint8 or floating point")
    return picture


def like(original: Picture, filtered: Picture) -> Picture:
    """Give a filtered picture the type that the original has."""
    return as_uint8(filtered) if original.dtype == np.uint8 else filtered.astype(original.dtype)


def require(holds: bool, message: str) -> None:  # noqa: FBT001 - an assertion with a message
    """Refuse a parameter that makes no sense: UsageError with the message, unless it holds."""
    if not holds:
        raise UsageError(message)
