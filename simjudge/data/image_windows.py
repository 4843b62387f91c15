"""Images that are rectangles of other images, and what of a box lies inside one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simjudge.core.display import ShortRepr
from simjudge.core.images import EncodedImage, Images, RgbImage

LEAST_SHARE = 0.4
"""Objects of which a window shows a smaller share of the area are not labelled in it."""


@dataclass(frozen=True, repr=False)
class Windows(ShortRepr):
    """Images that are windows of other images.

    Attributes:
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


def cut_boxes(
    box: npt.NDArray[np.float64], corner: npt.NDArray[np.int64], size: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Move boxes into a window and cut them at its edges.

    Args:
        box: (N, 4), x0, y0, x1, y1 in pixels of the whole image.
        corner: (2,), x and y of the window's upper left pixel.
        size: (2,), its width and height.

    Returns:
        (N, 4), the boxes in pixels of the window, and (N,), the share of each box's area that is left; 0 for a box
        without an area.
    """
    cut = np.clip(box - np.tile(corner, 2), 0, np.tile(size, 2))
    area, left = _area(box), _area(cut)
    return cut, np.divide(left, area, out=np.zeros(len(box)), where=area > 0)


def _area(box: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    area: npt.NDArray[np.float64] = np.prod(np.maximum(box[:, 2:] - box[:, :2], 0), axis=1)
    return area
