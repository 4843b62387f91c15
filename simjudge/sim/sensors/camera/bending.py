"""Images bent by a lens after they were made: pinhole images, their label pictures and boxes, at equal size.

What a pinhole camera made is looked up again through another lens. The corners of the image stay where they are, so
that no pixel is empty; towards the middle the lens's own distortion shows. Label pictures take the nearest pixel.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.images import EncodedImage, ImageError, Images, RgbImage
from simjudge.core.label_pictures import LabelPicture, LabelPictures
from simjudge.core.object_tables import Objects
from simjudge.sim.sensors.camera.camera import Camera

_EDGE_POINTS = 9
"""Points along each edge of a box that are followed."""


@dataclass(frozen=True, repr=False)
class Bend(ShortRepr):
    """Where each pixel of a bent image looks in the straight one.

    Attributes:
        scale: pixels of the straight image per unit of tangent.
        look_up: float32 (H, W, 2), column and row in the straight image.
    """

    camera: Camera
    scale: float
    look_up: npt.NDArray[np.float32]

    @classmethod
    def of(cls, camera: Camera) -> Bend:
        """The bend of a camera's lens.

        Args:
            camera: of any lens that sees less than 180 degrees.
        """
        lens = camera.lens
        if lens.model == "pinhole" or lens.omnidirectional:
            raise UsageError(f"--lens {camera.name}: its {lens.model} lens bends no image; give a radial one, say")
        width, height = lens.size
        rays = lens.rays()
        if not (rays[..., 2] > 0).all():
            raise UsageError(f"--lens {camera.name}: its field is too wide for images of a pinhole")
        tangent = rays[..., :2] / rays[..., 2:]
        half = np.array([(width - 1) / 2, (height - 1) / 2])
        scale = float(np.min(half / np.abs(tangent).max((0, 1))))
        return cls(camera, scale, (tangent * scale + half).astype(np.float32))

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of images, pixels."""
        return self.camera.lens.size

    def bent_points(self, points: FloatArray) -> FloatArray:
        """Where points of the straight image are in the bent one.

        Args:
            points: (N, 2), columns and rows, pixel centres at whole numbers.

        Returns:
            (N, 2), likewise.
        """
        half = (np.array(self.size) - 1) / 2
        tangent = (points - half) / self.scale
        return self.camera.lens.project(np.column_stack([tangent, np.ones(len(tangent))]))

    def bent_boxes(self, box: FloatArray) -> FloatArray:
        """The extents of boxes after bending.

        Args:
            box: (N, 4), x0, y0, x1, y1 in pixels.
        """
        share = np.linspace(0, 1, _EDGE_POINTS)
        x = box[:, [0]] + (box[:, [2]] - box[:, [0]]) * share
        y = box[:, [1]] + (box[:, [3]] - box[:, [1]]) * share
        ends = [(x, box[:, [1]]), (x, box[:, [3]]), (box[:, [0]], y), (box[:, [2]], y)]
        edges = np.concatenate([np.stack(np.broadcast_arrays(*each), -1) for each in ends], 1)
        moved = self.bent_points(edges.reshape(-1, 2) - 0.5).reshape(len(box), 4 * _EDGE_POINTS, 2) + 0.5
        return np.concatenate([moved.min(1), moved.max(1)], 1)


def bent(frames: FrameSet, bend: Bend) -> FrameSet:
    """A set as its images look behind a lens; images are bent when they are read.

    Args:
        frames: images of a pinhole camera, of the size of the bend.
    """
    if (frames.size != np.array(bend.size)).any():
        width, height = bend.size
        which = f"--lens {bend.camera.name}: is of {width}x{height} pixels"
        raise UsageError(f"{which}, {frames.name} is not; write a camera of that size")
    if frames.objects.masks is not None and frames.objects.masks.shape.any():
        raise UsageError(f"--lens: {frames.name} has instance masks, which are not bent; label pictures and boxes are")
    semantic = None if frames.semantic is None else BentLabels(frames.semantic, bend)
    images = None if frames.images is None else BentImages(frames.images, bend)
    return replace(frames, objects=_bent_objects(frames, bend), images=images, semantic=semantic)


def _bent_objects(frames: FrameSet, bend: Bend) -> Objects:
    """Boxes behind the lens; those that end up beside the image go."""
    objects = replace(frames.objects, box=bend.bent_boxes(frames.objects.box))
    width, height = bend.size
    x0, y0, x1, y1 = objects.box.T
    return objects.take(np.flatnonzero((x1 > 0) & (y1 > 0) & (x0 < width) & (y0 < height)))


@dataclass(frozen=True)
class BentImages:
    """Images behind a lens."""

    source: Images
    bend: Bend

    def __len__(self) -> int:
        """The number of frames."""
        return len(self.source)

    def has(self, index: int) -> bool:
        """Tell whether a frame has an image: see `Images.has`."""
        return self.source.has(index)

    def read(self, index: int) -> RgbImage:
        """Read an image and bend it: see `Images.read`."""
        pixels = self.source.read(index)
        if pixels.shape[1::-1] != self.bend.size:
            raise ImageError(f"frame {index}: is {pixels.shape[1]}x{pixels.shape[0]}, the lens another size")
        look_up = self.bend.look_up
        bent_pixels = cv2.remap(
            pixels, look_up[..., 0], look_up[..., 1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
        )
        return np.asarray(bent_pixels, np.uint8)

    def read_encoded(self, index: int) -> EncodedImage | None:
        """Give nothing: the pixels are changed. See `Images.read_encoded`."""
        del index
        return None


@dataclass(frozen=True)
class BentLabels:
    """Label pictures behind a lens."""

    source: LabelPictures
    bend: Bend

    def __len__(self) -> int:
        """The number of frames."""
        return len(self.source)

    def has(self, index: int) -> bool:
        """Tell whether a frame has one: see `LabelPictures.has`."""
        return self.source.has(index)

    def read(self, index: int) -> LabelPicture:
        """Read one and bend it, each pixel taking the nearest class: see `LabelPictures.read`."""
        labels = self.source.read(index)
        column, row = np.rint(self.bend.look_up).astype(np.int64).transpose(2, 0, 1)
        height, width = labels.shape
        return np.asarray(labels[np.clip(row, 0, height - 1), np.clip(column, 0, width - 1)], np.uint8)
