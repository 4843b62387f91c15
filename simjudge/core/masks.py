"""Instance masks of many objects, as crops in a few flat arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simjudge.core.display import ShortRepr

BoolImage = npt.NDArray[np.bool_]


@dataclass(frozen=True, repr=False)
class Masks(ShortRepr):
    """N masks. Mask i covers the pixels that its crop sets; the crop's upper left pixel is `origin[i]` in the image.

    Attributes:
        origin: int32 (N, 2), column and row of each crop's upper left pixel.
        shape: int32 (N, 2), height and width of each crop; (0, 0) for an object that has no mask.
        bits: uint8, all crops' pixels, row-major, packed to bits, each crop padded to whole bytes.
        start: int64 (N + 1,), where each crop's bytes start in `bits`.
    """

    origin: npt.NDArray[np.int32]
    shape: npt.NDArray[np.int32]
    bits: npt.NDArray[np.uint8]
    start: npt.NDArray[np.int64]

    def __len__(self) -> int:
        """The number of objects, with or without a mask."""
        return len(self.origin)

    @classmethod
    def from_crops(cls, crops: Sequence[BoolImage | None], origins: npt.ArrayLike) -> Masks:
        """Pack boolean crops.

        Args:
            crops: bool (h, w) each, None where an object has no mask.
            origins: integers (N, 2), column and row of each crop's upper left pixel in the image.
        """
        shape = np.array([(0, 0) if c is None else c.shape for c in crops], np.int32).reshape(-1, 2)
        packed = [np.packbits(c) if c is not None else np.empty(0, np.uint8) for c in crops]
        start = np.concatenate([[0], np.cumsum([len(p) for p in packed])]).astype(np.int64)
        bits = np.concatenate(packed) if packed else np.empty(0, np.uint8)
        return cls(np.asarray(origins, np.int32).reshape(-1, 2), shape, bits, start)

    @classmethod
    def from_images(cls, images: Sequence[BoolImage | None]) -> Masks:
        """Pack masks as large as their images, keeping only each one's bounding crop.

        Args:
            images: bool (H, W) each, None where an object has no mask; one without a set pixel counts as none.
        """
        crops: list[BoolImage | None] = []
        origins: list[tuple[int, int]] = []
        for image in images:
            rows = np.flatnonzero(image.any(1)) if image is not None else np.empty(0, np.int64)
            if image is None or len(rows) == 0:
                crops.append(None)
                origins.append((0, 0))
                continue
            columns = np.flatnonzero(image.any(0))
            crops.append(image[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1])
            origins.append((int(columns[0]), int(rows[0])))
        return cls.from_crops(crops, np.array(origins, np.int32).reshape(-1, 2))

    @classmethod
    def none(cls, count: int) -> Masks:
        """Make a collection without any mask."""
        return cls.from_crops([None] * count, np.zeros((count, 2), np.int32))

    def has(self, index: int) -> bool:
        """Tell whether an object has a mask."""
        return bool(self.shape[index, 0] > 0)

    def crop(self, index: int) -> BoolImage:
        """Unpack the crop of a mask.

        Returns:
            bool (h, w), its upper left pixel at `origin[index]`; (0, 0) in size where there is no mask.
        """
        height, width = (int(v) for v in self.shape[index])
        packed = self.bits[self.start[index] : self.start[index + 1]]
        return np.unpackbits(packed, count=height * width).reshape(height, width).astype(np.bool_)

    def to_image(self, index: int, width: int, height: int) -> BoolImage:
        """Unpack a mask onto its whole image; what hangs over the edge is cut.

        Args:
            width: of the image, pixels.
            height: of the image, pixels.

        Returns:
            bool (height, width).
        """
        out = np.zeros((height, width), np.bool_)
        crop, (x0, y0) = self.crop(index), self.origin[index]
        top, left = max(0, -int(y0)), max(0, -int(x0))
        target = out[max(0, y0) : max(0, y0 + crop.shape[0]), max(0, x0) : max(0, x0 + crop.shape[1])]
        target[:] = crop[top : top + target.shape[0], left : left + target.shape[1]]
        return out

    def take(self, indices: npt.NDArray[np.int64]) -> Masks:
        """Take the masks of some objects.

        Args:
            indices: int64 (M,), object numbers.
        """
        lengths = np.diff(self.start)[indices]
        start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        pieces = [self.bits[self.start[i] : self.start[i + 1]] for i in indices]
        bits = np.concatenate(pieces) if pieces else np.empty(0, np.uint8)
        return Masks(self.origin[indices], self.shape[indices], bits, start)

    @classmethod
    def concatenate(cls, parts: Sequence[Masks]) -> Masks:
        """Put several collections one behind the other."""
        if not parts:
            return cls.none(0)
        ends = np.cumsum([0, *(int(p.start[-1]) for p in parts)])
        start = np.concatenate([[0], *(p.start[1:] + end for p, end in zip(parts, ends[:-1], strict=True))])
        return cls(
            np.concatenate([p.origin for p in parts]),
            np.concatenate([p.shape for p in parts]),
            np.concatenate([p.bits for p in parts]),
            start.astype(np.int64),
        )
