"""Depth images, metres along the optical axis beside a camera's colours, and filters of what a depth camera measures.

NaN is where nothing is measured. A stereo device (also one with a projector) finds the disparity d = f b / z of each
pixel: the focal length f in pixels, the distance b of its two cameras, the depth z. It tells disparities to a fraction
of a pixel, so that depth comes in steps which grow as z^2. It sees nothing where the second camera does not look.

Depth images are as REP 118 has them: float32 metres (`sensor_msgs/Image` 32FC1), NaN where nothing is measured; in
files whole millimetres (16UC1), 0 where nothing is measured. An omnidirectional lens has metres along the ray.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import cv2
import numpy as np
import numpy.typing as npt
from pydantic import model_validator
from pydantic.json_schema import JsonSchemaValue
from scipy import ndimage

from simjudge.core.documents import Fields
from simjudge.core.errors import UsageError
from simjudge.core.field_types import FieldType, Vector, conflict, refusal
from simjudge.core.images import ImageError
from simjudge.sim.sensors.camera.filters import require
from simjudge.sim.sensors.filter_registry import FilterRegistry

DepthImage = npt.NDArray[np.float32]  # (H, W), metres; NaN where nothing is measured
DepthFilter = Callable[..., DepthImage]
# All filters of depth: functions of a depth image and keyword parameters. One with a parameter `seed` gets numbers of
# its frame's own for `numpy.random.default_rng`; one with `focal` gets the lens's focal length across, pixels.
DEPTH_FILTERS: FilterRegistry[DepthFilter] = FilterRegistry("filter of depth", frozenset({"seed", "focal"}))
depth_filter = DEPTH_FILTERS.register  # The decorator that registers a filter under its function's name
_LARGEST_HOLE = 1000  # Pixels


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
    """Depth from a disparity of limited resolution: steps of z^2 / (f b subpixel), and noise of z^2 noise / (f b)."""
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
    """Lose pixels near edges, where a device's window of pixels sees two depths."""
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
    """Lose squares of pixels at random."""
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
    """Add normal noise of standard deviation constant + linear z + quadratic z^2, as of a time-of-flight device."""
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


ENCODING_32F = "32FC1"  # The encoding of depth in messages
_STREAM = (2,)  # Sets the filters' numbers apart from those of the camera's filters, which have the same seed
_MILLIMETRES = 1000
_FARTHEST_IN_FILES = 65535  # Millimetres that 16 bits hold


@dataclass(frozen=True)
class DepthStep:
    """One filter of a depth image, by name, with its parameters."""

    name: str
    parameters: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        DEPTH_FILTERS.check(self.name, self.parameters)


@dataclass(frozen=True)
class DepthCamera:
    """What a camera's depth image measures."""

    # nearest, farthest: metres; nothing is measured nearer or farther.
    nearest: float = 0.0
    farthest: float = np.inf
    steps: tuple[DepthStep, ...] = ()  # filters, in order, that make of the true depth what the device measures

    def measure(self, depth: DepthImage, focal: float, seed: tuple[int, ...]) -> DepthImage:
        """The depth image of what rays hit (H, W), metres; NaN where nothing is hit or it is out of range."""
        measured: DepthImage = np.where(np.isfinite(depth), depth, np.float32(np.nan)).astype(np.float32)
        for number, step in enumerate(self.steps):
            supplied = {"seed": (*seed, *_STREAM, number), "focal": focal}
            given = {name: supplied[name] for name in DEPTH_FILTERS.supplied(step.name)}
            measured = DEPTH_FILTERS.find(step.name)(measured, **step.parameters, **given)
        with np.errstate(invalid="ignore"):
            within = (measured >= self.nearest) & (measured <= self.farthest)
        return np.where(within, measured, np.float32(np.nan)).astype(np.float32)


class DepthStepType(FieldType):
    """A filter of depth: its name, or one `name: {parameter: value, ...}`; read by trying it."""

    @property
    def needed(self) -> str:
        """The phrase."""
        return "a filter's name, or name: {parameter: value, ...},"

    def _read(self, value: Any) -> Any:
        name, parameters = next(iter(value.items())) if isinstance(value, dict) and len(value) == 1 else (value, {})
        if not isinstance(name, str) or not isinstance(parameters, dict):
            raise refusal(self.needed)
        try:
            step = DepthStep(name, parameters)
            DepthCamera(steps=(step,)).measure(np.ones((8, 8), np.float32), 100.0, (0,))
        except (UsageError, TypeError, ValueError, OverflowError) as error:
            raise conflict(" ".join(str(error).split())) from error
        return step

    def schema(self) -> JsonSchemaValue:
        """A name, or a name with parameters; filters of one's own have any."""
        tables = DEPTH_FILTERS.tables()
        own = {
            "type": "object",
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": {"type": "object"},
            "propertyNames": {"not": {"enum": [name for table in tables for name in table["required"]]}},
        }
        return {"anyOf": [{"type": "string"}, *tables, own]}


class DepthFields(Fields):
    """A depth image beside the colour image."""

    range: Annotated[tuple[float, float], Vector("nearest farthest", ge=0)] | None = None
    """Nearest and farthest that is measured, metres; everything, if left out."""
    filters: tuple[Annotated[DepthStep, DepthStepType()], ...] = ()
    """Filters of depth by name, in order; none, if left out."""

    @model_validator(mode="after")
    def _check(self) -> DepthFields:
        if self.range is not None and not self.range[0] < self.range[1]:
            raise conflict(f"nearest {self.range[0]:g} is not below farthest {self.range[1]:g}", "range")
        return self

    def settings(self) -> DepthCamera:
        """What is measured."""
        nearest, farthest = self.range or (0.0, np.inf)
        return DepthCamera(nearest, farthest, self.filters)


def depth_topics(camera: str) -> tuple[str, str]:
    """The topics of a camera's depth images and of their camera_info."""
    return f"/{camera}/depth/image_raw", f"/{camera}/depth/camera_info"


def depth_message_fields(depth: DepthImage) -> dict[str, Any]:
    """The fields of a sensor_msgs/Image of a depth image (metres) beside its header, by name."""
    height, width = depth.shape
    data = np.ascontiguousarray(depth, "<f4").reshape(-1).view(np.uint8)
    return {
        "height": height,
        "width": width,
        "encoding": ENCODING_32F,
        "is_bigendian": 0,
        "step": 4 * width,
        "data": data,
    }


def encode_depth_png(depth: DepthImage) -> tuple[bytes, int]:
    """A depth image as a PNG of 16 bits, whole millimetres, and the number of pixels beyond 65.535 m: they are 0."""
    with np.errstate(invalid="ignore"):
        millimetres = np.round(depth.astype(np.float64) * _MILLIMETRES)
        far = millimetres > _FARTHEST_IN_FILES
        held = np.where((millimetres > 0) & ~far, millimetres, 0).astype(np.uint16)
    done, buffer = cv2.imencode(".png", held, [cv2.IMWRITE_PNG_COMPRESSION, 3])
    if not done:
        raise ImageError("a depth image could not be encoded as PNG")
    return buffer.tobytes(), int(np.count_nonzero(far))
