"""Label pictures cut into patches on a grid: each patch is a sample, its performance that of its pixels (method, 2)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np

from simjudge.core.arrays import IntArray
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import EncodedImage, ImageError, Images, RgbImage
from simjudge.core.label_pictures import UNLABELLED, LabelPicture
from simjudge.core.object_tables import Objects
from simjudge.data.semantic_classes import SemanticClasses, label_pairs, scaled_height
from simjudge.detectors.assignment import Assignment
from simjudge.judging.judged_set import JudgedSet
from simjudge.method.method import Method
from simjudge.method.segmentation import grid_samples

PATCH = "patch"
"""The one class of patches on a grid."""
_WRONG = np.array([230, 0, 130], np.float32)
"""Red, green and blue of wrongly predicted pixels in a gallery."""


def judge_patches(
    frames: FrameSet, classes: SemanticClasses, method: Method, metric: str, losses: Losses, width: int | None = None
) -> JudgedSet:
    """Cut the label pictures of a set into patches, and give every patch its performance.

    `width`: to which pictures are scaled first, pixels; None leaves them as they are.
    """
    stride = method.patch if method.stride is None else (method.stride, method.stride)
    used: list[int] = []

    def pictures(index: int, truth: LabelPicture, guess: LabelPicture) -> tuple[LabelPicture, LabelPicture]:
        used.append(index)
        return truth, guess

    pairs = (pictures(*label_pair) for label_pair in label_pairs(frames, classes, width, losses))
    try:
        grid = grid_samples(pairs, method.patch, stride, metric=metric, ignore=UNLABELLED)
    except SimjudgeError as error:
        reason = str(error) if used else f"no frame has a label picture and a predicted one{losses.reason}"
        raise SimjudgeError(f"{frames.name}: {reason}") from None
    taken = frames.take(np.array(used, np.int64))
    corner = grid.origin.astype(np.float64)
    height, wide = method.patch
    objects = Objects.build(
        grid.samples.numbers.unit,
        np.zeros(len(corner), np.int64),
        np.hstack([corner, corner + np.array([wide, height])]),
    )
    size = taken.size if width is None else np.array([(width, scaled_height((w, h), width)) for w, h in taken.size])
    everything = np.ones(len(taken), np.bool_)
    shown = replace(
        taken,
        size=size,
        objects=objects,
        predictions=None,
        labelled=everything,
        predicted=everything,
        class_names={0: PATCH},
        images=MarkedImages(taken, classes, width),
        classless=True,
    )
    nothing = np.full(len(objects), -1, np.int64)
    assignment = Assignment(grid.samples.performance, nothing, np.ones(len(objects), np.bool_), {})
    return JudgedSet(shown, assignment, contexts=grid.samples.contexts)


def take_frames(judged: JudgedSet, chosen: IntArray) -> JudgedSet:
    """Some frames of a set of patches. `chosen`: (K,), numbers of frames, each at most once."""
    assert judged.contexts is not None  # noqa: S101 - patches have theirs
    number = np.full(len(judged.frames), -1, np.int64)
    number[chosen] = np.arange(len(chosen))
    frame = number[judged.frames.objects.frame]
    kept = np.flatnonzero(frame >= 0)
    rows = kept[np.argsort(frame[kept], kind="stable")]
    old = judged.assignment
    assignment = replace(
        old, performance=old.performance[rows], prediction=old.prediction[rows], taking_part=old.taking_part[rows]
    )
    return JudgedSet(judged.frames.take(chosen), assignment, contexts=judged.contexts.take(rows))


@dataclass(frozen=True)
class MarkedImages:
    """The images of a set, wrongly predicted pixels tinted."""

    frames: FrameSet  # the set, with images and label pictures of both kinds
    classes: SemanticClasses
    width: int | None  # to which images are scaled, pixels; None leaves them as they are

    @property
    def _images(self) -> Images | None:
        return self.frames.images

    def __len__(self) -> int:
        """The number of frames."""
        return len(self.frames)

    def has(self, index: int) -> bool:
        """Tell whether a frame has an image: see `Images.has`."""
        return self._images is not None and self._images.has(index)

    def read(self, index: int) -> RgbImage:
        """Read an image and mark it: see `Images.read`."""
        if self._images is None:
            raise ImageError(f"{self.frames.describe_frame(index)}: has no image")
        pixels = self._images.read(index)
        ((_, truth, guess),) = label_pairs(self.frames.take([index]), self.classes, self.width, Losses())
        if pixels.shape[:2] != truth.shape:
            pixels = np.asarray(cv2.resize(pixels, truth.shape[::-1], interpolation=cv2.INTER_AREA), np.uint8)
        wrong = (truth != guess) & (truth != UNLABELLED)
        out = pixels.copy()
        out[wrong] = np.rint(0.5 * out[wrong] + 0.5 * _WRONG).astype(np.uint8)
        return out

    def read_encoded(self, index: int) -> EncodedImage | None:
        """Give nothing: the pixels are changed. See `Images.read_encoded`."""
        del index
        return None
