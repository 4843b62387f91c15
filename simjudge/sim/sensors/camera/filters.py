"""Camera filters by name, each an ordinary function on an RGB image; first those of air, movement and a lens.

An image is (H, W, 3), red first, or (H, W, 1) behind the filter `gray`: either uint8 grey levels 0..255, or floating
point where 1.0 is full scale (255). What goes in comes out: uint8 is rounded and saturates at 0 and 255; floating
point keeps its type and is not clipped, so that a chain of filters saturates once, at its end, as a sensor does
(`chain.apply_steps`).

A filter of your own is a function decorated with `camera_filter`: it takes the image and keyword parameters, leaves
the image as it is, and returns another of the same type (`as_float` and `to_type_of` help).
`simjudge.sim.sensors.filter_registry` says how it is found. With a parameter `seed` it is random, and must draw the
same numbers from the same seed. With a parameter `amplification` it is told by what the camera's amplifier multiplies
(`camera`), 1 without one. With a parameter `distance` it is told how far away, along each pixel's ray, what is seen is,
(H, W) metres, inf for nothing; it then stands in a camera's `before_exposure`, where distances are known.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import UsageError
from simjudge.core.images import encode_jpeg
from simjudge.sim.sensors.filter_registry import FilterRegistry
from simjudge.sim.sensors.fog import extinction

WIDEST_BLUR = 1000  # Pixels of standard deviation: the kernel grows with it
FULL_SCALE = 255.0
AnyImage = npt.NDArray[Any]  # uint8 or floating point, height x width x 3, red first
FloatImage = npt.NDArray[np.floating[Any]]
Filter = Callable[..., AnyImage]

# All filters of cameras. Each takes the image and keyword parameters.
CAMERA_FILTERS: FilterRegistry[Filter] = FilterRegistry("filter", frozenset({"seed", "amplification", "distance"}))
camera_filter = CAMERA_FILTERS.register  # The decorator that registers a filter under its function's name


@camera_filter
def gaussian_blur(image: AnyImage, *, sigma: float) -> AnyImage:
    """Blur as a Gaussian point-spread function of standard deviation `sigma` pixels does; edges are mirrored.

    The kernel reaches 4 sigma to each side.
    """
    require(0 <= sigma <= WIDEST_BLUR, f"gaussian_blur: sigma {sigma} px; it must be 0 or more, {WIDEST_BLUR} at most")
    if sigma == 0:
        return image.copy()
    width = 2 * math.ceil(4 * sigma) + 1
    blurred = cv2.GaussianBlur(as_float(image), (width, width), sigma, borderType=cv2.BORDER_REFLECT_101)
    return to_type_of(image, np.asarray(blurred).reshape(image.shape))


@camera_filter
def vignetting(image: AnyImage, *, half_angle: float) -> AnyImage:
    """Darken towards the corners by the cosine-fourth law; `half_angle` is the view's angle in the corners, degrees."""
    require(0 <= half_angle < 90, f"vignetting: half angle {half_angle} degrees; it must be in [0, 90)")
    height, width = image.shape[:2]
    x, y = np.arange(width) - (width - 1) / 2, np.arange(height) - (height - 1) / 2
    corner_squared = max(x[0] ** 2 + y[0] ** 2, 1.0)
    tan_squared = (x[None, :] ** 2 + y[:, None] ** 2) / corner_squared * math.tan(math.radians(half_angle)) ** 2
    return to_type_of(image, as_float(image) * (1 / (1 + tan_squared) ** 2)[:, :, None])


@camera_filter
def gaussian_noise(image: AnyImage, *, sigma: float, seed: int | tuple[int, ...] = 0) -> AnyImage:
    """Add independent Gaussian noise of standard deviation `sigma` grey levels (of 255) to every pixel and channel."""
    require(sigma >= 0 and math.isfinite(sigma), f"gaussian_noise: sigma {sigma} grey levels; it must be 0 or more")
    drawn = np.random.default_rng(seed).standard_normal(image.shape, np.float32)
    return to_type_of(image, as_float(image) + drawn * np.float32(sigma / FULL_SCALE))


@camera_filter
def white_balance(image: AnyImage, *, red: float = 1.0, green: float = 1.0, blue: float = 1.0) -> AnyImage:
    """Multiply each channel by a gain."""
    require_colours(image, "white_balance")
    gains = np.array([red, green, blue])
    finite = bool(np.all(np.isfinite(gains)) and np.all(gains >= 0))
    require(finite, f"white_balance: gains {red}, {green}, {blue}; each must be 0 or more")
    return to_type_of(image, as_float(image) * gains)


@camera_filter
def gamma(image: AnyImage, *, exponent: float) -> AnyImage:
    """Raise values (1 is full scale) to a power: above 1 darkens the mid tones, below 1 lifts them."""
    require(exponent > 0 and math.isfinite(exponent), f"gamma: exponent {exponent}; it must be above 0")
    return to_type_of(image, np.maximum(as_float(image), 0) ** exponent)


@camera_filter
def jpeg(image: AnyImage, *, quality: int) -> AnyImage:
    """Encode as JPEG and decode again; saturates floating point too."""
    require(1 <= quality <= 100, f"jpeg: quality {quality}; it must be in 1..100")
    data = np.frombuffer(encode_jpeg(as_uint8(image), int(quality)), np.uint8)
    if image.shape[2] == 1:
        decoded = np.asarray(cv2.imdecode(data, cv2.IMREAD_GRAYSCALE))[:, :, None]
    else:
        decoded = np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR))[:, :, ::-1]
    return to_type_of(image, as_float(decoded))


def as_uint8(image: AnyImage) -> npt.NDArray[np.uint8]:
    """Round to grey levels, saturating at 0 and 255: uint8 (H, W, 3), 0 to 255 (image (H, W, 3))."""
    if image.dtype == np.uint8:
        return image
    return np.clip(np.rint(image * FULL_SCALE), 0, FULL_SCALE).astype(np.uint8)


def as_float(image: AnyImage) -> FloatImage:
    """The image in floating point, full scale 1; single precision unless it came in double."""
    if image.dtype == np.uint8:
        return image.astype(np.float32) / np.float32(FULL_SCALE)
    if not np.issubdtype(image.dtype, np.floating):
        raise UsageError(f"an image of type {image.dtype} cannot be filtered; give uint8 or floating point")
    return image


def to_type_of(original: AnyImage, filtered: AnyImage) -> AnyImage:
    """Give a filtered image the type that the original has; uint8 is rounded and saturates."""
    return as_uint8(filtered) if original.dtype == np.uint8 else filtered.astype(original.dtype)


def require_colours(image: AnyImage, name: str) -> None:
    """Refuse an image of one channel in a filter that needs three (image: (H, W, 3) or (H, W, 1))."""
    require(image.shape[2] == 3, f"filter {name} needs colours; put it above gray")


def require(holds: bool, message: str) -> None:  # noqa: FBT001 - an assertion with a message
    """Refuse a parameter that makes no sense: UsageError with the message, unless it holds."""
    if not holds:
        raise UsageError(message)


WIDEST_GLARE = 100.0  # Pixels of a glare's radius: the kernel grows with it
_GLARE_REACH = 12  # Radii to which scattered light is counted: 99.3 % of it


@camera_filter
def glare(image: AnyImage, *, share: float, radius: float) -> AnyImage:
    """Scatter a `share` of all light as lenses do: what is brighter than full scale gets a halo; edges are mirrored.

    Half of the scattered light falls within `radius` pixels. It thins out as 1 / (1 + (r / radius)^2)^2. Put it above
    `srgb`: where light has been cut at full scale, a lamp shines no brighter than paper.

    Args:
        image: (H, W, 3), uint8 or floating point.
        share: of the light that is scattered, 0 to 1.
        radius: pixels, above 0.

    Returns:
        The image with halos, same type and shape.
    """
    require(0 <= share <= 1, f"glare: share {share}; it must be in 0..1")
    require(0 < radius <= WIDEST_GLARE, f"glare: radius {radius} px; it must be above 0, {WIDEST_GLARE:g} at most")
    seen = as_float(image)
    reach = min(math.ceil(_GLARE_REACH * radius), min(image.shape[:2]) - 1)
    row, column = np.ogrid[-reach : reach + 1, -reach : reach + 1]
    kernel = 1 / (1 + (row**2 + column**2) / radius**2) ** 2
    halo = cv2.filter2D(seen, -1, kernel / kernel.sum(), borderType=cv2.BORDER_REFLECT_101)
    return to_type_of(image, seen * (1 - share) + share * np.asarray(halo).reshape(image.shape))


LONGEST_MOTION = 200.0  # Pixels that a camera may move while a picture is exposed
_POINTS = 4001  # Places on the path of a moving camera


@camera_filter
def haze(image: AnyImage, *, density: float, red: float = 0.8, green: float = 0.8, blue: float = 0.8) -> AnyImage:
    """Mix every pixel with the light of the air, equally at all distances."""
    require_colours(image, "haze")
    air = np.array([red, green, blue], np.float32)
    require(0 <= density <= 1, f"haze: density {density}; it must be in 0..1")
    require(bool(np.all(np.isfinite(air)) and np.all(air >= 0)), f"haze: light {red}, {green}, {blue}; 0 or more each")
    return to_type_of(image, as_float(image) * (1 - density) + density * air)


@camera_filter
def fog(
    image: AnyImage,
    *,
    distance: FloatArray,
    density: float | None = None,
    visibility: float | None = None,
    optical_range: float | None = None,
    red: float = 0.8,
    green: float = 0.8,
    blue: float = 0.8,
) -> AnyImage:
    """See through fog: light J from d metres becomes J t + A (1 - t), t = exp(-density d) (Koschmieder).

    Args:
        image: (H, W, 3), uint8 or floating point, linear light.
        distance: (H, W), metres along each pixel's ray, inf for nothing.
        density: extinction coefficient, 1/m, above 0; or one of the next two.
        visibility: metres at which 2 % of a contrast is left: 3.912 / density.
        optical_range: metres at which 5 % of a beam is left (MOR): 2.996 / density.
        red: light A of the air, as green and blue are, 0 or more.

    Returns:
        The image in fog, same type and shape.
    """
    require_colours(image, "fog")
    given = [value for value in (density, visibility, optical_range) if value is not None]
    require(len(given) == 1, "fog: give one of density, visibility and optical_range")
    require(0 < given[0] < math.inf, f"fog: {given[0]}; a number above 0 is needed")
    air = np.array([red, green, blue], np.float32)
    require(bool(np.all(np.isfinite(air)) and np.all(air >= 0)), f"fog: light {red}, {green}, {blue}; 0 or more each")
    left = np.exp(-extinction(density, visibility, optical_range) * distance).astype(np.float32)[:, :, None]
    return to_type_of(image, as_float(image) * left + air * (1 - left))


@camera_filter
def motion_blur(image: AnyImage, *, length: float, angle: float = 0.0) -> AnyImage:
    """Blur as a camera does that moves steadily; `length` pixels, `angle` degrees from right to down."""
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
    """Show red and blue larger or smaller than green, around the middle (lateral chromatic aberration)."""
    require_colours(image, "chromatic_aberration")
    for size in (red, blue):
        require(0.9 <= size <= 1.1, f"chromatic_aberration: sizes {red}, {blue}; each must be in 0.9..1.1")
    out = as_float(image).copy()
    height, width = image.shape[:2]
    for channel, size in ((0, red), (2, blue)):
        if size != 1:
            back = np.array(
                [[1 / size, 0, (1 - 1 / size) * (width - 1) / 2], [0, 1 / size, (1 - 1 / size) * (height - 1) / 2]]
            )
            out[:, :, channel] = cv2.warpAffine(
                out[:, :, channel].astype(np.float32),
                back,
                (width, height),
                flags=cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP,
                borderMode=cv2.BORDER_REPLICATE,
            )
    return to_type_of(image, out)


@camera_filter
def sharpen(image: AnyImage, *, amount: float, radius: float = 1.0) -> AnyImage:
    """Sharpen by an unsharp mask: what a blur of `radius` pixels takes away is added once more, times `amount`."""
    require(amount >= 0 and math.isfinite(amount), f"sharpen: amount {amount}; it must be 0 or more")
    seen = as_float(image)
    return to_type_of(image, seen + amount * (seen - gaussian_blur(seen, sigma=radius)))
