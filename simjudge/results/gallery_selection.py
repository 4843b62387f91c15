"""Which contexts a gallery shows, and which part of the picture of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from simjudge.results.context_table import ContextTable

IntArray = npt.NDArray[np.int64]
PixelBox = tuple[int, int, int, int]
"""x0, y0, x1, y1 in pixels of the image."""

HIGHEST = "highest"
"""Kind of a context: among the highest W1 of its class."""
MEDIAN = "median"
"""Kind of a context: W1 near the median of its class."""
LOWEST = "lowest"
"""Kind of a context: among the lowest W1 of its class."""
ONLY_A = "only_a"
"""Kind of a context: of A, and nothing in B is similar."""
ONLY_B = "only_b"
"""Kind of a context: of B, and nothing in A is similar."""
PAIR_KINDS = (HIGHEST, MEDIAN, LOWEST)
"""Kinds that are shown with the similar context of B."""
CROP_MARGIN = 0.15
"""How far a crop reaches beyond the patch, as a share of the patch, on each side."""
PER_KIND = 6
"""The most contexts of each kind and class."""
MAX_ITEMS = 700
"""A gallery of many classes shows fewer of each kind, so that about this many remain."""


@dataclass(frozen=True)
class GalleryItem:
    """A context that is shown.

    Attributes:
        match_row: the most similar context of B; None where it is shown alone.
        neighbours_a, neighbours_b: further rows that are similar to it, of A and of B; empty where these are not shown.
    """

    kind: str
    class_id: int
    row: int
    match_row: int | None = None
    neighbours_a: tuple[int, ...] = ()
    neighbours_b: tuple[int, ...] = ()

    @property
    def rows(self) -> list[int]:
        """All rows that are shown, each once."""
        beside = () if self.match_row is None else (self.match_row,)
        return list(dict.fromkeys((self.row, *beside, *self.neighbours_a, *self.neighbours_b)))


def select_items(contexts: ContextTable, per_kind: int) -> list[GalleryItem]:
    """Select what a gallery shows of each class: highest, median and lowest W1, and contexts without overlap.

    Args:
        per_kind: the most contexts of each kind and class; fewer where there are many classes (MAX_ITEMS). Contexts
            whose frame and partner the same kind does not show yet come first, because others look alike.

    Returns:
        The contexts by class and kind. Those with a W1 come with the most similar context of B.
    """
    frames = contexts.frame_number()
    classes = np.unique(contexts.class_id)
    kinds = len(PAIR_KINDS) + 2
    per_kind = max(1, min(per_kind, MAX_ITEMS // (kinds * max(len(classes), 1))))
    out: list[GalleryItem] = []
    for class_id in classes:
        of_class = contexts.class_id == class_id
        out.extend(_pairs(contexts, np.flatnonzero(of_class & contexts.is_a), frames, per_kind, int(class_id)))
        for kind, own in ((ONLY_A, contexts.is_a), (ONLY_B, ~contexts.is_a)):
            alone = np.flatnonzero(of_class & own & (contexts["in_overlap"] == 0))
            spread = alone[np.linspace(0, len(alone) - 1, min(len(alone), 50 * per_kind)).astype(np.int64)]
            rows = dissimilar_first(_spread_order(spread), (frames,), per_kind)
            out.extend(GalleryItem(kind, int(class_id), row) for row in rows)
    return out


def patch_and_crop(contexts: ContextTable, row: int, patch: tuple[int, int]) -> tuple[PixelBox, PixelBox]:
    """Find the patch of a context and the crop around it.

    Args:
        patch: height and width of the patch, pixels.

    Returns:
        The patch and the crop, each x0, y0, x1, y1 in pixels of the image. Either may reach over the edge of the image.
        The crop also holds the whole box, which may be larger than the patch.
    """
    x0, y0, x1, y1 = (int(np.floor(contexts[c][row] + 0.5)) for c in ("x0", "y0", "x1", "y1"))
    height, width = patch
    left, top = int(np.floor((x0 + x1) / 2 - width / 2)), int(np.floor((y0 + y1) / 2 - height / 2))
    window = (left, top, left + width, top + height)
    dx, dy = round(width * CROP_MARGIN), round(height * CROP_MARGIN)
    right, bottom = left + width + dx, top + height + dy
    return window, (min(left - dx, x0 - 4), min(top - dy, y0 - 4), max(right, x1 + 4), max(bottom, y1 + 4))


def _pairs(contexts: ContextTable, rows: IntArray, frames: IntArray, per_kind: int, class_id: int) -> list[GalleryItem]:
    w1, match = contexts["w1"], contexts["match_row"]
    compared = rows[~np.isnan(w1[rows]) & ~np.isnan(match[rows])]
    if not len(compared):
        return []
    ordered = compared[np.argsort(w1[compared], kind="stable")]
    each = min(per_kind, -(-len(ordered) // len(PAIR_KINDS)))
    alike = (frames, match)
    highest = dissimilar_first(ordered[::-1], alike, each)
    rest = ordered[~np.isin(ordered, highest)]
    lowest = dissimilar_first(rest, alike, each)
    rest = rest[~np.isin(rest, lowest)]
    from_middle = rest[np.argsort(np.abs(w1[rest] - np.median(w1[compared])), kind="stable")]
    chosen = {HIGHEST: highest, MEDIAN: dissimilar_first(from_middle, alike, each), LOWEST: lowest}
    return [GalleryItem(kind, class_id, row, int(match[row])) for kind in PAIR_KINDS for row in chosen[kind]]


def dissimilar_first(rows: Iterable[int], alike: Sequence[npt.NDArray[Any]], count: int) -> list[int]:
    """Choose rows that look unlike each other where there are such.

    Args:
        alike: columns by these numbers: things that share a value of one (frame, partner) look alike.

    Returns:
        The first rows that share nothing with one that was taken before, then others.
    """
    first: list[int] = []
    later: list[int] = []
    seen: set[tuple[int, float]] = set()
    for row in rows:
        if len(first) == count:
            break
        marks = {(n, float(column[row])) for n, column in enumerate(alike)}
        if marks & seen:
            later.append(int(row))
        else:
            first.append(int(row))
            seen |= marks
    return (first + later)[:count]


def _spread_order(rows: IntArray) -> IntArray:
    """The rows in an order whose first few already lie all over the table: by the bits of their number, reversed."""
    bits = max(int(len(rows) - 1).bit_length(), 1) if len(rows) else 1
    keys = [int(f"{i:0{bits}b}"[::-1], 2) for i in range(len(rows))]
    return rows[np.argsort(keys, kind="stable")]
