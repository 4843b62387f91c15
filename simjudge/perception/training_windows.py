"""Training on windows cut out of larger images, at their own scale.

A net is fully convolutional: trained on windows of 320 x 320 pixels it can run on images of any size in which things
are as large as in the windows. Small things far away keep their pixels, and an epoch costs what the windows cost.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simjudge.core.display import ShortRepr
from simjudge.core.errors import UsageError
from simjudge.core.frames import FrameSet, Objects, row_offsets
from simjudge.core.images import EncodedImage, Images, RgbImage

_ON_AN_OBJECT = 0.9
"""Share of the windows that are laid over an object drawn at random; the others may lie anywhere."""
_SEEN_AT_LEAST = 0.4
"""Objects of which a window shows a smaller share of the area are not labelled in it."""


@dataclass(frozen=True, repr=False)
class Windows(ShortRepr):
    """Images that are windows of other images.

    Attributes:
        source: the whole images.
        frame: int64 (N,), which of them each window is cut from.
        corner: int64 (N, 2), x and y of the windows' upper left pixels.
        size: int64 (N, 2), width and height.
    """

    source: Images
    frame: npt.NDArray[np.int64]
    corner: npt.NDArray[np.int64]
    size: npt.NDArray[np.int64]

    def __len__(self) -> int:
        """The number of windows."""
        return len(self.frame)

    def has(self, index: int) -> bool:
        """Tell whether the image of a window is there: see `Images.has`."""
        return self.source.has(int(self.frame[index]))

    def read(self, index: int) -> RgbImage:
        """Cut a window out of its image: see `Images.read`."""
        (x, y), (width, height) = self.corner[index], self.size[index]
        return np.ascontiguousarray(self.source.read(int(self.frame[index]))[y : y + height, x : x + width])

    def read_encoded(self, index: int) -> EncodedImage | None:  # noqa: ARG002 - the protocol's
        """Return None: windows are not stored anywhere. See `Images.read_encoded`."""
        return None


def cut_windows(frames: FrameSet, side: int, per_image: int, seed: int = 0) -> FrameSet:
    """Cut windows out of every labelled frame, most of them over an object.

    Where they lie follows from the seed and the frame's name. Objects are cut at the window's edges; those of which
    less than 0.4 of the area is left are not labelled.

    Args:
        frames: labelled frames with images.
        side: of the square windows, pixels; smaller where the image is.
        per_image: windows of each frame.
        seed: of the places.

    Raises:
        UsageError: the set has no images.
    """
    if frames.images is None:
        raise UsageError(f"{frames.name}: has no pictures to cut windows from")
    start = row_offsets(frames.objects.frame, len(frames))
    kept = [i for i in range(len(frames)) if frames.labelled[i]]
    size = np.minimum(frames.size[kept], side)
    frame = np.repeat(np.array(kept, np.int64), per_image)
    corners = [
        _corners(frames.size[i], s, _centres(frames, start, i), per_image, (seed, zlib.crc32(name.encode())))
        for i, s, name in zip(kept, size, (frames.frame_name[i] for i in kept), strict=True)
    ]
    corner = np.concatenate(corners) if corners else np.zeros((0, 2), np.int64)
    windows = Windows(frames.images, frame, corner, np.repeat(size, per_image, axis=0))
    objects = _objects(frames, start, windows)
    names = [f"{frames.frame_name[i]}_window{k}" for i in kept for k in range(per_image)]
    return FrameSet.build(
        frames.name,
        windows.size,
        objects,
        frame_name=names,
        class_names=dict(frames.class_names),
        images=windows,
    )


def _centres(frames: FrameSet, start: npt.NDArray[np.int64], index: int) -> npt.NDArray[np.float64]:
    box = frames.objects.box[start[index] : start[index + 1]]
    centres: npt.NDArray[np.float64] = (box[:, :2] + box[:, 2:]) / 2
    return centres


def _corners(
    image_size: npt.NDArray[np.int64],
    size: npt.NDArray[np.int64],
    centres: npt.NDArray[np.float64],
    count: int,
    entropy: tuple[int, int],
) -> npt.NDArray[np.int64]:
    """Upper left pixels of `count` windows inside the image; over an object, its centre is anywhere in the window."""
    rng = np.random.default_rng(entropy)
    corners = rng.random((count, 2)) * (image_size - size)
    for row in range(count if len(centres) else 0):
        if rng.random() < _ON_AN_OBJECT:
            corners[row] = centres[rng.integers(len(centres))] - rng.random(2) * size
    return np.clip(np.rint(corners), 0, image_size - size).astype(np.int64)


def _objects(frames: FrameSet, start: npt.NDArray[np.int64], windows: Windows) -> Objects:
    numbers, rows, boxes = [], [], []
    for number, (frame, corner, size) in enumerate(zip(windows.frame, windows.corner, windows.size, strict=True)):
        inside = np.arange(start[frame], start[frame + 1])
        whole = frames.objects.box[inside]
        cut = np.clip(whole - np.tile(corner, 2), 0, np.tile(size, 2))
        area, left = _area(whole), _area(cut)
        seen = (left > 0) & (left >= _SEEN_AT_LEAST * area)
        numbers.append(np.full(int(seen.sum()), number))
        rows.append(inside[seen])
        boxes.append(cut[seen])
    if not rows:
        return Objects.empty()
    row = np.concatenate(rows)
    return Objects.build(np.concatenate(numbers), frames.objects.class_id[row], np.concatenate(boxes))


def _area(box: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    area: npt.NDArray[np.float64] = np.prod(np.maximum(box[:, 2:] - box[:, :2], 0), axis=1)
    return area
