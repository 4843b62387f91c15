"""The box and mask of a COCO annotation or result."""

from __future__ import annotations

from typing import Any

import numpy as np

from simjudge.core.errors import Losses
from simjudge.core.text import one_line
from simjudge.data.format_support.mask_codec import DECIMALS, NO_MASK, MaskCrop, mask_from_polygons, mask_from_rle


def parse_region(
    row: dict[str, Any], width: int, height: int, where: str, losses: Losses
) -> tuple[list[float], MaskCrop] | None:
    """Read box and mask of an annotation or result. Without a "bbox", or with an empty one, the mask's extent counts.

    Args:
        width: of its image, pixels.
        height: of its image, pixels.
        losses: takes a mask that cannot be used (its box is kept), and a row with neither box nor mask.

    Returns:
        Box x0, y0, x1, y1 in pixels, and mask; None where there is neither.
    """
    mask = _mask(row.get("segmentation"), width, height, where, losses)
    try:
        numbers = [float(v) for v in row.get("bbox") or ()]
        if any(numbers) or (numbers and mask[0] is None):
            x, y, w, h = numbers
            return [round(x, DECIMALS), round(y, DECIMALS), round(x + w, DECIMALS), round(y + h, DECIMALS)], mask
    except (TypeError, ValueError, OverflowError):
        losses.add("malformed rows", f"{where} (bbox {one_line(row['bbox'])})")
        return None
    crop, (left, top) = mask
    if crop is None:
        losses.add("malformed rows", f"{where} (neither bbox nor segmentation)")
        return None
    return [float(left), float(top), float(left + crop.shape[1]), float(top + crop.shape[0])], mask


def _mask(shape: Any, width: int, height: int, where: str, losses: Losses) -> MaskCrop:
    # Exports write all of these for an object without a mask.
    if not shape or shape == [[]]:
        return NO_MASK
    try:
        mask = mask_from_rle(shape, width, height) if isinstance(shape, dict) else _polygons(shape, width, height)
    except (TypeError, ValueError) as error:
        mask, trouble = NO_MASK, one_line(error)
    else:
        trouble = "" if mask[0] is not None else "it covers no pixel of the picture"
    if trouble:
        losses.add("unusable masks (the box is kept)", f"{where} ({trouble})")
    return mask


def _polygons(shape: Any, width: int, height: int) -> MaskCrop:
    if any(isinstance(number, int | float) for number in shape):
        raise ValueError("a polygon is a list within the list: [[x, y, ...]]")
    if any(np.size(points) % 2 for points in shape):
        raise ValueError("a polygon with an x without y")
    polygons = [np.array(points, np.float64).reshape(-1, 2) for points in shape]
    if any(len(points) < 3 or not np.isfinite(points).all() for points in polygons):
        raise ValueError("a polygon of less than three finite points")
    return mask_from_polygons(polygons, width, height)
