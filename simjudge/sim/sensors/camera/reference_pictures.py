"""The reference that pictures are adapted to: a whole set, each picture's real twin, or a random picture of the set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from simjudge.core.arrays import IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import Losses, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.images import Images
from simjudge.core.progress import ProgressBar
from simjudge.data.pairing import pair_frames
from simjudge.sim.sensors.camera.adaptation import Adaptation, Numbers
from simjudge.sim.sensors.camera.chain import FrameStep, Step, frame_seed
from simjudge.sim.sensors.camera.filters import AnyImage

_DRAW = 0x5E7
"""Part of the seed that keeps the draw of a reference apart from the noise of the frame."""


@dataclass(frozen=True, eq=False, repr=False)
class ReferencePictures(ShortRepr):
    """The pictures that those of another set are adapted to.

    Attributes:
        name: of the set, for messages and records.
        rows: numbers of the frames that have a picture.
    """

    name: str
    images: Images
    rows: IntArray

    @classmethod
    def of_set(cls, frames: FrameSet) -> ReferencePictures:
        """The pictures of a set."""
        images = frames.images
        rows = [] if images is None else [index for index in range(len(frames)) if images.has(index)]
        if images is None or not rows:
            raise UsageError(f"{frames.name}: has no pictures to match to")
        return cls(frames.name, images, np.array(rows, np.int64))

    def step(self, adaptation: Adaptation, partners: IntArray | None, progress: ProgressBar) -> Step | FrameStep:
        """The step of a chain that adapts a set's pictures to this reference.

        Args:
            partners: for each frame of that set the number of the reference's frame; None for the mean of the set.
        """
        if partners is not None:
            return FrameStep(adaptation.name, _EachItsOwn(adaptation, self.images, partners))
        with progress(f"measuring {self.name}") as advance:
            total: Numbers | float = 0.0
            for number, row in enumerate(self.rows.tolist()):
                total = total + adaptation.measure(self.images.read(row))
                advance(number + 1, len(self.rows))
        mean = np.asarray(total) / len(self.rows)
        if adaptation.parameters is not None:
            return Step(adaptation.name, adaptation.parameters(mean))
        return FrameStep(adaptation.name, lambda _, image: adaptation.apply(image, mean))

    def draw(self, names: Sequence[str], seed: int) -> IntArray:
        """A random picture of the set for each frame: it follows from the seed and the frame's name alone.

        Returns:
            int64 (N,), numbers of the reference's frames.
        """
        drawn = [np.random.default_rng((*frame_seed(seed, name), _DRAW)).integers(len(self.rows)) for name in names]
        return self.rows[np.array(drawn, np.int64).reshape(-1)]


@dataclass(frozen=True)
class _EachItsOwn:
    """Adapts each picture to a picture of its own."""

    adaptation: Adaptation
    images: Images
    partners: IntArray

    def __call__(self, index: int, image: AnyImage) -> AnyImage:
        reference = self.images.read(int(self.partners[index]))
        return self.adaptation.apply(image, self.adaptation.measure(reference))


def with_twins(frames: FrameSet, reference: FrameSet, losses: Losses) -> tuple[FrameSet, IntArray, IntArray]:
    """The frames that have a twin with a picture in the reference: of the same stamp, or without stamps the same name.

    Returns:
        The set without them; int64 (N,), numbers of the reference's frames; int64 (N,), numbers that its own had.
    """
    images = reference.images
    ours, theirs = pair_frames(frames, reference)
    held = np.array([images is not None and images.has(int(row)) for row in theirs], np.bool_)
    ours, theirs = ours[held], theirs[held]
    if not len(ours):
        raise UsageError(
            f"{frames.name}: no frame has a twin in {reference.name}, by stamp or name; give --match-by set or random"
        )
    for index in np.setdiff1d(np.arange(len(frames)), ours).tolist():
        losses.add(f"frames without a twin in {reference.name}", frames.describe_frame(index))
    return frames.take(ours), theirs, ours


def with_images_of(frames: FrameSet, pictures: FrameSet) -> FrameSet:
    """A set with pictures that another program has made of its own, one for each frame, of the same name and size.

    Args:
        pictures: the pictures, such as a folder of them; what it has besides is not taken.
    """
    images = pictures.images
    rows = {name: row for row, name in enumerate(pictures.frame_name) if images is not None and images.has(row)}
    missing = [name for name in frames.frame_name if name not in rows]
    if images is None or missing:
        raise UsageError(
            f"--images {pictures.name}: {len(missing)} of {len(frames)} frames have no picture of their name there,"
            f" the first is {missing[0]}; translate all pictures of {frames.name} and keep their names"
        )
    chosen = pictures.take([rows[name] for name in frames.frame_name])
    for index in np.flatnonzero((chosen.size != frames.size).any(1)).tolist():
        (width, height), (wide, high) = chosen.size[index].tolist(), frames.size[index].tolist()
        raise UsageError(
            f"--images {pictures.name}: {frames.frame_name[index]} is {width}x{height}, that of {frames.name} is"
            f" {wide}x{high}; labels fit pictures of the same size only"
        )
    return replace(frames, images=chosen.images)
