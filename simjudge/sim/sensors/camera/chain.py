"""Chains of filters, a set's images seen through one, and their linear light as grey levels.

The filter `srgb` divides a chain: steps before it act on linear light, steps after it on display values. A chain
without it acts on display values only: light is encoded first, as in Chrono::Sensor, whose noise acts on gamma-encoded
values. So one chain suits both a renderer's light (`develop_light`) and images that exist (`apply_steps`), which are
decoded first where the chain has an `srgb`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.core.errors import UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.images import EncodedImage, Images, RgbImage, as_rgb, encode_jpeg, encode_png
from simjudge.core.numba_cache import njit
from simjudge.sim.sensors.camera.filters import CAMERA_FILTERS, FULL_SCALE, SEEN, AnyImage, FloatImage, as_uint8
from simjudge.sim.sensors.camera.isp import emva1288_noise, linear_light, physical_noise, srgb

_FIRST = 0x39000000  # Bits of 2^-13 as float32, from which on the table reaches; what is darker is black
_END = 0x3F800000  # Bits of 1, where it ends; what is brighter is white
_SHIFT = 15  # Bits of a float32 within one row of the table: a row is narrower than any grey level
# Neighbouring float32 on both sides of a level's begin, among which rounding may take some to the wrong side.
_NEAR = 256
_NEVER = 0x7FFFFFFF


class _Levels(NamedTuple):
    """What float32 become, by their bits; (R,) each."""

    level: npt.NDArray[np.uint8]  # uint8, grey level at the row's begin
    # int32, bits of the first number of the row that is one level above; larger ones have none.
    next_level: npt.NDArray[np.int32]


def srgb_levels(light: FloatImage) -> npt.NDArray[np.uint8]:
    """Encode linear light (H, W, 3) as uint8 display values: `as_uint8(srgb(light))` in a sixth of the time."""
    levels = _levels() if light.dtype == np.float32 else None
    if levels is None:
        return as_uint8(srgb(light))
    flat = np.ascontiguousarray(light).ravel()
    found = np.empty(flat.shape, np.uint8)
    if not _look_up(flat, flat.view(np.int32), *levels, found):
        return as_uint8(srgb(light))
    return found.reshape(light.shape)


@cache
def _levels() -> _Levels | None:
    """The table, found by bisection; None where this machine's slow way is not monotone: no table stands for that."""
    wanted = np.arange(1, int(FULL_SCALE) + 1)
    low, high = np.full(len(wanted), _FIRST), np.full(len(wanted), _END)
    while np.any(high - low > 1):
        middle = (low + high) // 2
        reached = _slow_levels(middle) >= wanted
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    around = high[:, None] + np.arange(-_NEAR, _NEAR)
    expected = wanted[:, None] - 1 + (np.arange(-_NEAR, _NEAR) >= 0)
    begins = np.arange(_FIRST, _END, 1 << _SHIFT)
    level, row = _slow_levels(begins), (high - _FIRST) >> _SHIFT
    ends = _slow_levels(np.array([_FIRST, _END])).tolist() == [0, int(FULL_SCALE)]
    if not ends or np.any(_slow_levels(around) != expected) or len(np.unique(row)) < len(row):
        return None
    next_level = np.full(len(begins), _NEVER, np.int32)
    next_level[row] = high
    # A level that begins with its row stands in the row's own entry.
    next_level[begins == next_level] = _NEVER
    return _Levels(level, next_level)


def _slow_levels(bits: IntArray) -> npt.NDArray[np.uint8]:
    return as_uint8(srgb(bits.astype(np.int32).view(np.float32)))


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _look_up(
    light: npt.NDArray[np.float32],
    bits: npt.NDArray[np.int32],
    level: npt.NDArray[np.uint8],
    next_level: npt.NDArray[np.int32],
    found: npt.NDArray[np.uint8],
) -> bool:
    """Write the levels of numbers; whether none was NaN."""
    good = True
    for k in range(len(light)):
        number = bits[k]
        if number >= _END:
            found[k] = 255
            good &= light[k] == light[k]
        elif number < _FIRST:
            found[k] = 0
            good &= light[k] == light[k]
        else:
            row = (number - _FIRST) >> _SHIFT
            found[k] = level[row] + (number >= next_level[row])
    return good


ENCODING = "srgb"  # The filter that turns linear light into display values; a chain has it once at most
# Filters of noise whose law holds in linear light only.
LINEAR_NOISE = (physical_noise.__name__, emva1288_noise.__name__)
SAME_NOISE = (*LINEAR_NOISE, "shot_noise")  # Filters of photon and read noise: a chain has one of them
# Filters of what a sensor makes of light, which have no place before its exposure is over.
AFTER_EXPOSURE = (ENCODING, *SAME_NOISE, "gray", "quantization", "jpeg")
GRAY = "gray"  # The filter after which an image has one channel


@dataclass(frozen=True)
class Step:
    """One filter of a chain, by name, with its parameters (all but the seed)."""

    name: str
    parameters: Mapping[str, float | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        CAMERA_FILTERS.check(self.name, self.parameters)


@dataclass(frozen=True)
class FrameStep:
    """A step that differs from frame to frame of one set, such as a match with each picture's real twin."""

    name: str  # of what it does, for records
    # Takes the number of a frame and its image, and returns another of the same type.
    function: Callable[[int, AnyImage], AnyImage]


class Seen(NamedTuple):
    """How a picture was seen, for filters that ask for it."""

    distance: FloatArray  # (H, W), metres along each pixel's ray, inf for nothing
    rays: FloatArray  # (H, W, 3), unit, optical frame
    exposure_time: float = 0.0  # seconds


BoundStep = Step | Callable[[AnyImage], AnyImage]  # A step for one image


def apply_steps(
    image: AnyImage,
    steps: Sequence[BoundStep],
    seed: int | tuple[int, ...] = 0,
    seen: Seen | None = None,
) -> AnyImage:
    """Run an image (H, W, 3) through a chain, in floating point: uint8 rounds and saturates once, at the end.

    `seen`: for filters that ask how far away things are; None where that is not known.
    """
    current = image.astype(np.float32) / np.float32(FULL_SCALE) if image.dtype == np.uint8 else image
    current = _run(linear_light(current) if encodes(steps) else current, steps, seed, seen=seen)
    return as_uint8(current) if image.dtype == np.uint8 else current


def develop_light(
    light: FloatImage, steps: Sequence[Step], seed: int | tuple[int, ...] = 0, amplification: float = 1.0
) -> RgbImage:
    """Make the image that a camera with this chain hands over of the light on its sensor.

    `light` (H, W, 3), floating point, linear, amplified, 1 is full scale; `steps`: the chain; one without `srgb` gets
    light that is encoded already; `seed`: as in `apply_steps`: the same seed gives the same noise in both;
    `amplification`: by what the amplifier has multiplied the light; filters of noise count it. Returns uint8 (H, W, 3),
    or (H, W, 1) where the chain has `gray`.
    """
    if not encodes(steps):
        return as_uint8(_run(srgb(light), steps, seed, amplification)) if steps else srgb_levels(light)
    if steps[-1].name == ENCODING:
        return srgb_levels(_run(light, steps[:-1], seed, amplification))
    return as_uint8(_run(light, steps, seed, amplification))


def encodes(steps: Sequence[BoundStep]) -> bool:
    """Whether a chain turns light into display values itself."""
    count = sum(isinstance(step, Step) and step.name == ENCODING for step in steps)
    if count > 1:
        raise UsageError(f"filter {ENCODING}: {count} times in one chain; light is encoded once")
    return count == 1


def needs_distance(step: Step) -> bool:
    """Whether a filter asks how far away what each pixel sees is."""
    return not CAMERA_FILTERS.supplied(step.name).isdisjoint(SEEN)


def is_gray(steps: Sequence[Step | FrameStep]) -> bool:
    """Whether a chain makes images of one channel."""
    return any(step.name == GRAY for step in steps)


def frame_seed(seed: int, frame_name: str) -> tuple[int, int]:
    """The seed of a frame's random filters: it follows from the set's seed and the frame's name alone."""
    return seed, zlib.crc32(frame_name.encode())


def stored_quality(steps: Sequence[Step | FrameStep]) -> int | None:
    """The quality of the JPEG that a chain ends in; None where it ends in something else."""
    last = steps[-1] if steps else None
    return int(last.parameters["quality"]) if isinstance(last, Step) and last.name == "jpeg" else None


def _run(
    current: AnyImage,
    steps: Sequence[BoundStep],
    seed: int | tuple[int, ...],
    amplification: float = 1.0,
    seen: Seen | None = None,
) -> AnyImage:
    entropy = (seed,) if isinstance(seed, int) else tuple(seed)
    for number, step in enumerate(steps):
        if not isinstance(step, Step):
            current = step(current)
            continue
        if seen is None and needs_distance(step):
            raise UsageError(f"filter {step.name}: needs distances; it stands in a camera's before_exposure alone")
        supplied: dict[str, object] = {"seed": (*entropy, number), "amplification": amplification}
        supplied |= seen._asdict() if seen is not None else {}
        given = {name: supplied[name] for name in CAMERA_FILTERS.supplied(step.name)}
        current = CAMERA_FILTERS.find(step.name)(current, **step.parameters, **given)
    return current


def one_chain(own: Sequence[Step], more: Sequence[Step]) -> list[Step]:
    """The filters of a camera and more of them as one chain: those that act on linear light go before its encoding.

    Without `srgb` in `more`, all of them stand behind the camera's own.
    """
    if not encodes(more):
        return [*own, *more]
    (before, after), (linear, display) = _split(own), _split(more)
    return [*before, *linear, Step(ENCODING), *after, *display]


def _split(steps: Sequence[Step]) -> tuple[list[Step], list[Step]]:
    """What acts on linear light, and on display values."""
    end = next((number for number, step in enumerate(steps) if step.name == ENCODING), None)
    return ([], list(steps)) if end is None else (list(steps[:end]), list(steps[end + 1 :]))


@dataclass(frozen=True, repr=False, eq=False)
class SceneLight(ShortRepr):
    """What fell on the sensor in one frame, and the filters of the camera that it was rendered for."""

    light: FloatImage  # (H, W, 3), linear, 1 is full scale, brighter lamps above it
    own: tuple[Step, ...]

    def behind(self, steps: Sequence[Step], seed: int | tuple[int, ...] = 0) -> RgbImage:
        """The picture that the camera would have made with more filters."""
        return as_rgb(develop_light(self.light, one_chain(self.own, steps), seed))


@runtime_checkable
class LitImages(Protocol):
    """Images whose light is known: filters act on it, and not on pixels, where lamps are cut at full scale."""

    def light(self, index: int) -> SceneLight:
        """What frame `index` was made of."""


@dataclass(frozen=True)
class FilteredImages:
    """Images seen through a chain, filtered when read; nothing is kept.

    A frame's noise follows from the seed and the frame's name alone: it does not depend on the order of reading, nor
    on which other frames the set holds.
    """

    source: Images
    names: Sequence[str]
    # The chain. Where its last step is `jpeg`, the encoded image is that JPEG. Where it makes one channel, the encoded
    # image is a PNG of it; else images are raw.
    steps: Sequence[Step | FrameStep]
    seed: int = 0  # of the random filters, 0 or more

    def __len__(self) -> int:
        return len(self.source)

    def has(self, index: int) -> bool:
        """Whether frame `index` has an image: see `Images.has`."""
        return self.source.has(index)

    def read(self, index: int) -> RgbImage:
        """The filtered pixels of frame `index`: see `Images.read`."""
        return as_rgb(as_uint8(self._through(index, self.steps)))

    def read_encoded(self, index: int) -> EncodedImage | None:
        """The filtered image as JPEG where the chain ends in one, PNG where it is gray: see `Images.read_encoded`."""
        if not self.has(index):
            return None
        quality = stored_quality(self.steps)
        if quality is None:
            gray = is_gray(self.steps)
            return EncodedImage(encode_png(as_uint8(self._through(index, self.steps))), ".png") if gray else None
        return EncodedImage(encode_jpeg(as_uint8(self._through(index, self.steps[:-1])), quality), ".jpg")

    def _through(self, index: int, steps: Sequence[Step | FrameStep]) -> AnyImage:
        seed = frame_seed(self.seed, self.names[index])
        if isinstance(self.source, LitImages) and all(isinstance(step, Step) for step in steps):
            return self.source.light(index).behind([step for step in steps if isinstance(step, Step)], seed)
        bound = [step if isinstance(step, Step) else partial(step.function, index) for step in steps]
        return apply_steps(self.source.read(index), bound, seed)


def filtered(frames: FrameSet, steps: Sequence[Step | FrameStep], seed: int = 0) -> FrameSet:
    """The set as a camera with these filters would have seen it: labels kept, predictions dropped."""
    if frames.images is None:
        raise UsageError(f"{frames.name}: has no images to filter")
    if seed < 0:
        raise UsageError(f"seed {seed}: must be 0 or more")
    seen = replace(frames, images=FilteredImages(frames.images, list(frames.frame_name), list(steps), seed))
    return seen.with_predictions(None)
