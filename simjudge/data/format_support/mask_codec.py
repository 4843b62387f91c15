"""Masks as polygons and as COCO run lengths, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import ShortRepr
from simjudge.core.images import LARGEST_IMAGE
from simjudge.core.object_tables import BoolImage, Masks

# A mask's bounding crop (None where nothing is set) and the column and row of its upper left pixel.
MaskCrop = tuple[BoolImage | None, tuple[int, int]]
NO_MASK: MaskCrop = (None, (0, 0))
DECIMALS = 9  # Pixel coordinates are kept to a billionth of a pixel, so that a round trip through a formula is exact
OUTLINE_SCALE = 8  # How finely a mask's outline is drawn, in points per pixel


@dataclass(repr=False)
class MaskList(ShortRepr):
    """Masks of objects read one by one, most of which may have none."""

    crops: list[BoolImage | None] = field(default_factory=list)
    origins: list[tuple[int, int]] = field(default_factory=list)

    def append(self, crop: MaskCrop) -> None:
        """Add one object's mask."""
        self.crops.append(crop[0])
        self.origins.append(crop[1])

    def masks(self) -> Masks | None:
        """All masks; None where no object has one."""
        if all(crop is None for crop in self.crops):
            return None
        return Masks.from_crops(self.crops, np.array(self.origins, np.int32).reshape(-1, 2))


def crop_mask(image: BoolImage, origin: tuple[int, int] = (0, 0)) -> MaskCrop:
    """Cut a mask to what is set in it (image: bool (h, w); origin: column and row of its upper left pixel)."""
    rows = np.flatnonzero(image.any(1))
    if len(rows) == 0:
        return NO_MASK
    columns = np.flatnonzero(image.any(0))
    crop = image[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    return crop, (origin[0] + int(columns[0]), origin[1] + int(rows[0]))


def check_mask_area(width: int, height: int) -> None:
    """Refuse a mask that would take too much memory."""
    if width * height > LARGEST_IMAGE:
        raise ValueError(f"a mask of {width}x{height} is over {LARGEST_IMAGE / 1e6:.0f} million pixels")


def mask_from_polygons(polygons: Sequence[npt.NDArray[np.float64]], width: int, height: int) -> MaskCrop:
    """The pixels inside any of some polygons (P, 2), by pycocotools' raster (even-odd within a polygon)."""
    from pycocotools import mask as coco  # noqa: PLC0415

    check_mask_area(width, height)
    points = np.concatenate(polygons)
    low, high = np.floor(points.min(0)), np.ceil(points.max(0))
    # A shift by whole pixels leaves the raster as it is, and a small canvas is quick; over the edge, the image is it.
    inside = bool((low >= 0).all() and high[0] <= width and high[1] <= height)
    shift = low if inside else np.zeros(2)
    canvas = (high - low).astype(int) if inside else np.array([width, height])
    if (canvas < 1).any():
        return NO_MASK
    # The raster walks along every edge, so a wild coordinate must not make an edge of a million pixels.
    near = [polygon if inside else np.clip(polygon, [-width, -height], [2 * width, 2 * height]) for polygon in polygons]
    # Rounded, because 2.3 - 1 is a little less than 1.3, and the raster's fifths of a pixel would fall the other way.
    flat = [np.round(polygon - shift, DECIMALS).ravel().tolist() for polygon in near]
    runs = coco.merge(coco.frPyObjects(flat, int(canvas[1]), int(canvas[0])))
    return crop_mask(coco.decode(runs).astype(np.bool_), (int(shift[0]), int(shift[1])))


def outline_box(points: npt.NDArray[np.float64], width: int, height: int) -> list[float]:
    """The box of an outline that a person drew: of what lies in the picture, where any of it does (points (P, 2))."""
    low, high = points.min(0), points.max(0)
    edge = np.array([width, height], np.float64)
    if (high > 0).all() and (low < edge).all():
        low, high = np.clip(low, 0, edge), np.clip(high, 0, edge)
    return [*low.tolist(), *high.tolist()]


def mask_to_polygon(crop: BoolImage, origin: Sequence[int]) -> npt.NDArray[np.float64]:
    """Trace the outline (P, 2) of a mask's largest piece, pixels of the image; holes and other pieces are not in it."""
    fine = cv2.resize(crop.astype(np.uint8), None, fx=OUTLINE_SCALE, fy=OUTLINE_SCALE, interpolation=cv2.INTER_NEAREST)
    outlines, _ = cv2.findContours(fine, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    largest = max(outlines, key=cv2.contourArea).reshape(-1, 2)
    corners = largest.astype(np.float64) + 0.5
    centre = np.array(crop.shape[::-1]) * OUTLINE_SCALE / 2
    # Contour points are pixel centres: move them half a (fine) pixel outwards from the mask's middle.
    corners += np.sign(corners - centre) * 0.5
    if len(corners) < 3:
        corners = np.repeat(corners, 3, 0)[:3]
    return corners / OUTLINE_SCALE + np.asarray(origin, np.float64)


def mask_to_rle(masks: Masks, index: int, width: int, height: int) -> dict[str, object]:
    """Encode a mask as COCO's compressed run lengths (width of the image, pixels; height of the image, pixels)."""
    from pycocotools import mask as coco  # noqa: PLC0415

    runs = coco.encode(np.asfortranarray(masks.to_image(index, width, height), np.uint8))
    return {"size": [height, width], "counts": runs["counts"].decode("ascii")}


def mask_from_rle(runs: Any, width: int, height: int) -> MaskCrop:
    """Decode COCO run lengths, compressed (text) or plain (a list of counts)."""
    from pycocotools import mask as coco  # noqa: PLC0415

    if not isinstance(runs, dict) or runs.get("size") != [height, width]:
        raise ValueError("run lengths of another size than the image")
    check_mask_area(width, height)
    counts = runs.get("counts")
    if isinstance(counts, str):
        counts = decode_rle_counts(counts)
    if not isinstance(counts, list) or any(not isinstance(c, int) or c < 0 for c in counts):
        raise ValueError("run lengths that are no counts")
    if sum(counts) != width * height:
        raise ValueError("run lengths that do not fill the image")
    plain = {"size": [height, width], "counts": counts}
    return crop_mask(coco.decode(coco.frPyObjects(plain, height, width)).astype(np.bool_))


def decode_rle_counts(text: str) -> list[int]:
    """Decode COCO's compressed run lengths: 5 bits a character, each from the third on a difference to two before.

    pycocotools does not check that they fill the image, and writes past its buffer where they do not.
    """
    counts: list[int] = []
    value, shift = 0, 0
    for character in text:
        piece = ord(character) - 48
        if not 0 <= piece < 64 or shift > 60:
            raise ValueError("run lengths with a character that is none of theirs")
        value |= (piece & 0x1F) << shift
        shift += 5
        if piece & 0x20:
            continue
        if piece & 0x10:
            value -= 1 << shift
        counts.append(value + counts[-2] if len(counts) > 2 else value)
        value, shift = 0, 0
    if shift:
        raise ValueError("run lengths that are cut off")
    return counts
