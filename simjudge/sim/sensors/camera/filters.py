"""Camera filters by name, each a function on an RGB image: air, movement and lens; denoising, colours, tone mapping.

An image is (H, W, 3), red first, or (H, W, 1) behind the filter `gray`: either uint8 grey levels 0..255, or floating
point where 1.0 is full scale (255). What goes in comes out: uint8 is rounded and saturates at 0 and 255; floating
point keeps its type and is not clipped, so that a chain of filters saturates once, at its end, as a sensor does
(`chain.apply_steps`).

A filter of your own is a function decorated with `camera_filter`: it takes the image and keyword parameters, leaves
the image as it is, and returns another of the same type (`as_float` and `to_type_of` help).
`simjudge.sim.sensors.filter_registry` says how it is found. With a parameter `seed` it is random, and must draw the
same numbers from the same seed. With a parameter `amplification` it is told by what the camera's amplifier multiplies
(`camera`), 1 without one. With a parameter `distance` it is told how far away, along each pixel's ray, what is seen is,
(H, W) metres, inf for nothing; it then stands in a camera's `before_exposure`, where distances are known. There it may
have `rays`, (H, W, 3), unit, in the optical frame, and `exposure_time`, seconds, too.

Weather is in `simjudge.sim.sensors.camera.weather_filters`, Bayer patterns in `simjudge.sim.sensors.camera.isp`.
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

WIDEST_BLUR = 1000  # Pixels of standard deviation: the kernel grows with it
FULL_SCALE = 255.0
AnyImage = npt.NDArray[Any]  # uint8 or floating point, height x width x 3, red first
FloatImage = npt.NDArray[np.floating[Any]]
Filter = Callable[..., AnyImage]

SEEN = ("distance", "rays", "exposure_time")  # Parameters that say how a picture was seen
# All filters of cameras. Each takes the image and keyword parameters.
CAMERA_FILTERS: FilterRegistry[Filter] = FilterRegistry(
    "filter",
    frozenset({"seed", "amplification", *SEEN}),
    tuple(f"simjudge.sim.sensors.camera.{home}" for home in ("isp", "weather_filters", "adaptation")),
)
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
