"""Training on windows cut out of larger images, at their own scale.

A net is fully convolutional: trained on windows of 320 x 320 pixels it can run on images of any size in which things
are as large as in the windows. Small things far away keep their pixels, and an epoch costs what the windows cost.
"""

from __future__ import annotations

import zlib

import numpy as np
import numpy.typing as npt

from simjudge.core.errors import UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects, row_offsets
from simjudge.data.image_geometry import LEAST_SHARE, Windows, cut_boxes

_ON_AN_OBJECT = 0.9
"""Share of the windows that are laid over an object drawn at random; the others may lie anywhere."""


def cut_windows(frames: FrameSet, side: int, per_image: int, seed: int = 0) -> FrameSet:
    """Cut windows out of every labelled frame, most of them over an object.

    Where they lie follows from the seed and the frame's name. Objects are cut at the window's edges; those of which
    less than 0.4 of the area is left are not labelled.

    Args:
        side: of the square windows, pixels; smaller where the image is.
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
        cut, share = cut_boxes(frames.objects.box[inside], corner, size)
        seen = share >= LEAST_SHARE
        numbers.append(np.full(int(seen.sum()), number))
        rows.append(inside[seen])
        boxes.append(cut[seen])
    if not rows:
        return Objects.empty()
    row = np.concatenate(rows)
    return Objects.build(np.concatenate(numbers), frames.objects.class_id[row], np.concatenate(boxes))
