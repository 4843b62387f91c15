"""Filters of depth: what a real depth camera makes of the true depth. NaN is where nothing is measured.

A stereo device (also one with a projector) finds the disparity d = f b / z of each pixel: the focal length f in pixels,
the distance b of its two cameras, the depth z. It tells disparities to a fraction of a pixel, so that depth comes in
steps which grow as z^2. It sees nothing where the second camera does not look.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from simjudge.sim.sensors.camera.filters import require
from simjudge.sim.sensors.filter_registry import FilterRegistry

DepthImage = npt.NDArray[np.float32]
"""(H, W), metres; NaN where nothing is measured."""
DepthFilter = Callable[..., DepthImage]
DEPTH_FILTERS: FilterRegistry[DepthFilter] = FilterRegistry("filter of depth", frozenset({"seed", "focal"}))
"""All filters of depth: functions of a depth image and keyword parameters. One with a parameter `seed` gets numbers of
its frame's own for `numpy.random.default_rng`; one with `focal` gets the lens's focal length across, pixels."""
depth_filter = DEPTH_FILTERS.register
"""The decorator that registers a filter under its function's name."""
_LARGEST_HOLE = 1000
"""Pixels."""


@depth_filter
def disparity(
    depth: DepthImage,
    *,
    baseline: float,
    subpixel: float = 8.0,
    noise: float = 0.0,
    seed: int | tuple[int, ...] = 0,
    focal: float = 1.0,
) -> DepthImage:
    """Depth from a disparity of limited resolution: steps of z^2 / (f b subpixel), and noise of z^2 noise / (f b).

    Args:
        depth: (H, W), metres; NaN where nothing is measured.
        baseline: distance of the two cameras, metres.
        subpixel: steps a pixel of disparity.
        noise: standard deviation of the disparity before it is rounded, pixels.
        focal: focal length across, pixels.

    Returns:
        Depth, metres; NaN where the disparity is rounded to 0.
    """
    _require("disparity", "baseline", baseline, above=True)
    _require("disparity", "subpixel", subpixel, above=True)
    _require("disparity", "noise", noise)
    with np.errstate(divide="ignore"):
        shift = focal * baseline / depth.astype(np.float64)
    if noise:
        shift = shift + noise * np.random.default_rng(seed).standard_normal(depth.shape)
    steps = np.rint(shift * subpixel)
    measured = np.full(depth.shape, np.nan, np.float32)
    found = steps > 0
    measured[found] = focal * baseline * subpixel / steps[found]
    return measured


@depth_filter
def stereo_shadow(depth: DepthImage, *, baseline: float, second: str = "right", focal: float = 1.0) -> DepthImage:
    """Lose what the second camera of a stereo device does not see: beside near things, and along one edge of the image.

    A point of column x is in column x - d of the right camera. It is hidden where a nearer point, farther right here,
    comes to the same column or left of it.

    Args:
        depth: (H, W), metres; NaN where nothing is measured.
        baseline: distance of the two cameras, metres.
        second: "right" or "left": where the second camera is, seen from this one.
        focal: focal length across, pixels.

    Returns:
        Depth with holes, metres.
    """
    _require("stereo_shadow", "baseline", baseline, above=True)
    require(second in ("right", "left"), f"filter stereo_shadow: second {second!r}; right or left is needed")
    seen = depth if second == "right" else depth[:, ::-1]
    with np.errstate(divide="ignore"):
        column = np.arange(seen.shape[1]) - focal * baseline / seen.astype(np.float64)
    there = np.where(np.isnan(column), np.inf, column)
    nearest = np.minimum.accumulate(there[:, ::-1], axis=1)[:, ::-1]
    hidden = np.zeros(seen.shape, np.bool_)
    hidden[:, :-1] = nearest[:, 1:] <= there[:, :-1]
    lost = hidden | (there < 0)
    return _without(depth, lost if second == "right" else lost[:, ::-1])


@depth_filter
def edge_holes(
    depth: DepthImage, *, jump: float = 0.05, width: float = 2.0, share: float = 1.0, seed: int | tuple[int, ...] = 0
) -> DepthImage:
    """Lose pixels near edges, where a device's window of pixels sees two depths.

    Args:
        depth: (H, W), metres; NaN where nothing is measured.
        jump: difference of neighbours that is an edge, share of the nearer depth.
        width: pixels on each side of an edge that may be lost, a whole number.
        share: of these pixels that are lost, 0 to 1.

    Returns:
        Depth with holes, metres.
    """
    _require("edge_holes", "jump", jump, above=True)
    _require("edge_holes", "share", share, most=1)
    _require_whole("edge_holes", "width", width)
    beside = np.zeros(depth.shape, np.bool_)
    for axis in (0, 1):
        first, second = (np.take(depth, rows, axis) for rows in _neighbours(depth.shape[axis]))
        with np.errstate(invalid="ignore"):
            edge = np.abs(first - second) > jump * np.minimum(first, second)
        for rows in _neighbours(depth.shape[axis]):
            place = (rows, slice(None)) if axis == 0 else (slice(None), rows)
            beside[place] |= edge
    if width > 1:
        size = 2 * int(width) - 1
        beside = ndimage.maximum_filter(beside, size, mode="constant")
    return _without(depth, beside & (np.random.default_rng(seed).random(depth.shape) < share))


@depth_filter
def holes(depth: DepthImage, *, share: float, size: float = 1.0, seed: int | tuple[int, ...] = 0) -> DepthImage:
    """Lose squares of pixels at random.

    Args:
        depth: (H, W), metres; NaN where nothing is measured.
        share: of the image that is lost, 0 to 1.
        size: side of a hole, pixels, a whole number.

    Returns:
        Depth with holes, metres.
    """
    _require("holes", "share", share, most=1)
    _require_whole("holes", "size", size)
    side, random = int(size), np.random.default_rng(seed)
    up, left = random.integers(side, size=2).tolist()
    height, width = depth.shape
    lost = random.random((height // side + 2, width // side + 2)) < share
    every = lost.repeat(side, axis=0).repeat(side, axis=1)
    return _without(depth, every[up : up + height, left : left + width])


@depth_filter
def axial_noise(
    depth: DepthImage,
    *,
    constant: float = 0.0,
    linear: float = 0.0,
    quadratic: float = 0.0,
    seed: int | tuple[int, ...] = 0,
) -> DepthImage:
    """Add normal noise of standard deviation constant + linear z + quadratic z^2, as of a time-of-flight device.

    Args:
        depth: (H, W), metres; NaN where nothing is measured.
        constant: metres.
        quadratic: per metre.

    Returns:
        Depth, metres.
    """
    for name, value in (("constant", constant), ("linear", linear), ("quadratic", quadratic)):
        _require("axial_noise", name, value)
    deviation = constant + linear * depth + quadratic * depth**2
    noise = np.random.default_rng(seed).standard_normal(depth.shape, np.float32)
    return np.asarray(depth + deviation * noise, np.float32)


def _neighbours(count: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Numbers of the rows or columns before, and of those behind."""
    return np.arange(count - 1), np.arange(1, count)


def _without(depth: DepthImage, lost: npt.NDArray[np.bool_]) -> DepthImage:
    return np.where(lost, np.float32(np.nan), depth).astype(np.float32)


def _require(name: str, parameter: str, value: float, *, above: bool = False, most: float = math.inf) -> None:
    limits = "above 0" if above else "of 0 or more" if math.isinf(most) else f"from 0 to {most:g}"
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    inside = number and (value > 0 if above else 0 <= value <= most)
    require(inside, f"filter {name}: {parameter} {value}; a number {limits} is needed")


def _require_whole(name: str, parameter: str, value: float) -> None:
    _require(name, parameter, value)
    whole = float(value).is_integer() and 1 <= value <= _LARGEST_HOLE
    require(whole, f"filter {name}: {parameter} {value}; a whole number from 1 to {_LARGEST_HOLE} is needed")
