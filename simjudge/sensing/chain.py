"""Chains of filters, and a set's pictures seen through one, picture by picture."""

from __future__ import annotations

import inspect
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from simjudge.errors import UsageError
from simjudge.frames import FrameSet
from simjudge.images import EncodedImage, Images, RgbImage, encode_jpeg
from simjudge.sensing.filters import FULL_SCALE, Picture, as_uint8, named_filter


@dataclass(frozen=True)
class Step:
    """One filter of a chain, by name, with its parameters (all but the seed)."""

    name: str
    parameters: Mapping[str, float | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check that the filter exists and has these parameters."""
        known = set(inspect.signature(named_filter(self.name)).parameters) - {"picture", "seed"}
        unknown = set(self.parameters) - known
        if unknown:
            has = ", ".join(sorted(known))
            raise UsageError(f"filter {self.name}: no parameter {min(unknown)!r}; it has {has}")

    @property
    def random(self) -> bool:
        """Whether the filter draws random numbers."""
        return "seed" in inspect.signature(named_filter(self.name)).parameters


def apply_steps(picture: Picture, steps: Sequence[Step], seed: int | tuple[int, ...] = 0) -> Picture:
    """Run a picture through a chain, in floating point, so that uint8 rounds and saturates once, at the end.

    Args:
        picture: (H, W, 3), uint8 or floating point with full scale 1.
        steps: the chain, in order.
        seed: of the random filters; each step of the chain draws numbers of its own.

    Returns:
        A picture of the same type.
    """
    entropy = (seed,) if isinstance(seed, int) else tuple(seed)
    current = picture.astype(np.float32) / np.float32(FULL_SCALE) if picture.dtype == np.uint8 else picture
    for number, step in enumerate(steps):
        given = {"seed": (*entropy, number)} if step.random else {}
        current = named_filter(step.name)(current, **step.parameters, **given)
    return as_uint8(current) if picture.dtype == np.uint8 else current


@dataclass(frozen=True)
class FilteredImages:
    """Pictures seen through a chain, filtered when read; nothing is kept.

    A frame's noise follows from the seed and the frame's name alone: it does not depend on the order of reading, nor
    on which other frames the set holds.

    Attributes:
        source: the pictures.
        names: the frames' names.
        steps: the chain. Where its last step is `jpeg`, the encoded picture is that JPEG; else pictures are raw.
        seed: of the random filters, 0 or more.
    """

    source: Images
    names: Sequence[str]
    steps: Sequence[Step]
    seed: int = 0

    def __len__(self) -> int:
        """The number of frames."""
        return len(self.source)

    def has(self, index: int) -> bool:
        """Whether frame `index` has a picture."""
        return self.source.has(index)

    def read(self, index: int) -> RgbImage:
        """The filtered pixels of frame `index`."""
        return as_uint8(self._through(index, self.steps))

    def encoded(self, index: int) -> EncodedImage | None:
        """The filtered picture as JPEG where the chain ends in one, else None."""
        if not self.steps or self.steps[-1].name != "jpeg" or not self.has(index):
            return None
        pixels = as_uint8(self._through(index, self.steps[:-1]))
        return EncodedImage(encode_jpeg(pixels, int(self.steps[-1].parameters["quality"])), ".jpg")

    def _through(self, index: int, steps: Sequence[Step]) -> Picture:
        entropy = (self.seed, zlib.crc32(self.names[index].encode()))
        return apply_steps(self.source.read(index), steps, entropy)


def filtered(frames: FrameSet, steps: Sequence[Step], seed: int = 0) -> FrameSet:
    """The set as a camera with these filters would have seen it: labels kept, predictions dropped.

    Raises:
        UsageError: the set has no pictures, or the seed is negative.
    """
    if frames.images is None:
        raise UsageError(f"{frames.name}: has no pictures to filter")
    if seed < 0:
        raise UsageError(f"seed {seed}: must be 0 or more")
    seen = replace(frames, images=FilteredImages(frames.images, list(frames.frame_name), list(steps), seed))
    return seen.with_predictions(None)
