"""The gallery of a result: which contexts it shows, and the crops, cut while the pictures are at hand."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import Losses
from simjudge.core.files import atomic_folder
from simjudge.core.frames import FrameSet
from simjudge.core.images import ImageError, RgbImage, encode_jpeg
from simjudge.core.object_tables import row_offsets
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
NAMED = "named"
"""Kind of a context: of the kind of contexts by which the two sets differ most."""
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
    """A context that is shown."""

    kind: str
    class_id: int
    row: int
    match_row: int | None = None  # the most similar context of B; None where it is shown alone
    # neighbours_a, neighbours_b: further rows that are similar to it, of A and of B; empty where these are not shown
    neighbours_a: tuple[int, ...] = ()
    neighbours_b: tuple[int, ...] = ()

    @property
    def rows(self) -> list[int]:
        """All rows that are shown, each once."""
        beside = () if self.match_row is None else (self.match_row,)
        return list(dict.fromkeys((self.row, *beside, *self.neighbours_a, *self.neighbours_b)))


def select_items(contexts: ContextTable, per_kind: int, alone: int | None = None) -> list[GalleryItem]:
    """Select what a gallery shows of each class: highest, median and lowest W1, and contexts without overlap.

    `alone`: how many of those without overlap; None for as many as of the other kinds.
    """
    frames = contexts.frame_number()
    classes = np.unique(contexts.class_id)
    kinds = len(PAIR_KINDS) + 2
    room = MAX_ITEMS // (kinds * max(len(classes), 1))
    most_alone = max(1, min(per_kind if alone is None else alone, room))
    per_kind = max(1, min(per_kind, room))
    out: list[GalleryItem] = []
    for class_id in classes:
        of_class = contexts.class_id == class_id
        out.extend(_pairs(contexts, np.flatnonzero(of_class & contexts.is_a), frames, per_kind, int(class_id)))
        for kind, own in ((ONLY_A, contexts.is_a), (ONLY_B, ~contexts.is_a)):
            bare = np.flatnonzero(of_class & own & (contexts["in_overlap"] == 0))
            spread = bare[np.linspace(0, len(bare) - 1, min(len(bare), 50 * most_alone)).astype(np.int64)]
            rows = dissimilar_first(_spread_order(spread), (frames,), most_alone)
            out.extend(GalleryItem(kind, int(class_id), row) for row in rows)
    return out


def patch_and_crop(contexts: ContextTable, row: int, patch: tuple[int, int]) -> tuple[PixelBox, PixelBox]:
    """Find the patch of a context and the crop around it.

    `patch`: height and width of the patch, pixels; returns the patch and the crop, each x0, y0, x1, y1 in pixels of the
    image. Either may reach over the edge of the image. The crop also holds the whole box, which may be larger than the
    patch.
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
    """Choose rows that look unlike each other where there are such."""
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


MIN_SIDE = 160
"""Least length of a crop's longer side, pixels: smaller crops are scaled up."""
MAX_SIDE = 260
"""Largest length of a crop's longer side, pixels: larger crops are scaled down."""
JPEG_QUALITY = 82
"""JPEG quality of the crops, percent."""
_PADDING_GREY = 128
"""Grey of what lies outside the image."""


@dataclass(frozen=True)
class Crop:
    """What is shown of one context."""

    row: int  # its row in `contexts.parquet`
    place: PixelBox  # the crop's place in the picture, x0, y0, x1, y1 in pixels; may reach over the edge
    patch: PixelBox
    file: str | None  # the crop's file in the gallery folder, None where there is no picture
    labels: list[list[float]]  # other labelled boxes in sight: class id, x0, y0, x1, y1
    predictions: list[list[float]]  # predicted boxes in sight: class id, x0, y0, x1, y1, score


def save_gallery(
    folder: Path,
    set_a: FrameSet,
    set_b: FrameSet,
    contexts: ContextTable,
    patch: tuple[int, int],
    per_kind: int = PER_KIND,
    min_score: float = 0.25,
    items: Sequence[GalleryItem] | None = None,
) -> Losses:
    """Cut what the report shows into `folder`/gallery: JPEG crops and gallery.json (docs/reference/results.md).

    `patch`: height and width, pixels.
    """
    items = select_items(contexts, per_kind) if items is None else items
    rows = sorted({row for item in items for row in item.rows})
    losses = Losses()
    crops: list[Crop] = []
    with atomic_folder(folder / "gallery") as temporary:
        for is_a, frames in ((True, set_a), (False, set_b)):
            own = [row for row in rows if contexts.is_a[row] == is_a]
            crops.extend(_save_crops(temporary, frames, contexts, own, patch, min_score, losses))
        content = {
            "patch": list(patch),
            "items": [asdict(item) for item in items],
            "crops": [asdict(crop) for crop in crops],
        }
        (temporary / "gallery.json").write_text(json.dumps(content), encoding="utf-8")
    return losses


def crops_without_images(contexts: ContextTable, items: list[GalleryItem], patch: tuple[int, int]) -> list[Crop]:
    """Make crops without images, from the table alone: its labelled boxes and the predictions assigned to them.

    `patch`: height and width of the patch, pixels.
    """
    numbers = contexts.frame_number()
    rows = sorted({row for item in items for row in item.rows})
    order = np.argsort(numbers, kind="stable")
    wanted = numbers[np.asarray(rows, np.int64)]
    starts, ends = (np.searchsorted(numbers[order], wanted, side=side) for side in ("left", "right"))
    box = np.stack([contexts[c] for c in ("class_id", "x0", "y0", "x1", "y1")], axis=1)
    names = ("class_id", "predicted_x0", "predicted_y0", "predicted_x1", "predicted_y1", "score")
    predicted = np.stack([contexts[c] for c in names], axis=1)
    out = []
    for row, start, end in zip(rows, starts, ends, strict=True):
        window, around = patch_and_crop(contexts, row, patch)
        near = order[start:end]
        labels = _in_sight(box[near[near != row]], around)
        known = predicted[near[~np.isnan(predicted[near, 1])]]
        out.append(Crop(row, around, window, None, labels, _in_sight(np.nan_to_num(known), around)))
    return out


def _save_crops(
    folder: Path,
    frames: FrameSet,
    contexts: ContextTable,
    rows: list[int],
    patch: tuple[int, int],
    min_score: float,
    losses: Losses,
) -> list[Crop]:
    """Crops of some contexts of one set, frame by frame."""
    number = {name: n for n, name in enumerate(frames.frame_name)}
    by_frame: dict[int, list[int]] = defaultdict(list)
    for row, name in zip(rows, contexts.text("frame", rows), strict=True):
        by_frame[number[name]].append(row)
    near = _Neighbours(frames, min_score)
    out = []
    for frame, own in sorted(by_frame.items()):
        pixels = _image_or_none(frames, frame, losses)
        for row in own:
            window, around = patch_and_crop(contexts, row, patch)
            file = None
            if pixels is not None:
                file = f"{row:06d}.jpg"
                crop = crop_image(pixels, around, cyclic=frames.cyclic)
                (folder / file).write_bytes(encode_jpeg(crop, JPEG_QUALITY))
            anchor = int(contexts["object"][row])
            labels, predictions = near.labels(frame, anchor, around), near.predictions(frame, around)
            out.append(Crop(row, around, window, file, labels, predictions))
    return out


class _Neighbours:
    """What else is labelled and predicted in a frame."""

    def __init__(self, frames: FrameSet, min_score: float) -> None:
        objects, predictions = frames.objects, frames.predictions
        self._turn = int(frames.size[0, 0]) if frames.cyclic else 0
        self.objects = np.column_stack([objects.class_id, objects.box])
        self.objects_start = row_offsets(objects.frame, len(frames))
        self.predicted = np.empty((0, 6))
        self.predicted_start = np.zeros(len(frames) + 1, np.int64)
        if predictions is not None:
            kept = predictions.take(np.flatnonzero(predictions.score >= min_score))
            self.predicted = np.column_stack([kept.class_id, kept.box, kept.score])
            self.predicted_start = row_offsets(kept.frame, len(frames))

    def labels(self, frame: int, anchor: int, place: PixelBox) -> list[list[float]]:
        """Labelled boxes in sight other than object `anchor` of the frame."""
        own = self.objects[self.objects_start[frame] : self.objects_start[frame + 1]]
        return _in_sight(self._around(own[np.arange(len(own)) != anchor]), place)

    def predictions(self, frame: int, place: PixelBox) -> list[list[float]]:
        """Predicted boxes in sight."""
        own = self.predicted[self.predicted_start[frame] : self.predicted_start[frame + 1]]
        return _in_sight(self._around(own), place)

    def _around(self, table: FloatArray) -> FloatArray:
        """Rows (class id, x0, y0, x1, y1, ...), of cyclic images also a turn to the left and to the right."""
        if not self._turn:
            return table
        shift = np.zeros(table.shape[1])
        shift[[1, 3]] = self._turn
        return np.concatenate([table, table - shift, table + shift])


def crop_image(pixels: RgbImage, place: PixelBox, *, cyclic: bool = False) -> RgbImage:
    """Cut a part out of an image, at a size fit to look at.

    `pixels`: the image, RGB, uint8 (H, W, 3); `place`: x0, y0, x1, y1 of the part, pixels; grey where it reaches over
    the edge of the image; returns the part, RGB, uint8; its longer side has MIN_SIDE to MAX_SIDE pixels.
    """
    height, width = pixels.shape[:2]
    x0, y0, x1, y1 = place
    if cyclic:
        pixels, x0, x1 = pixels[:, np.arange(x0, x1) % width], 0, x1 - x0
        width = x1
    out = np.full((y1 - y0, x1 - x0, 3), _PADDING_GREY, np.uint8)
    left, top, right, bottom = max(x0, 0), max(y0, 0), min(x1, width), min(y1, height)
    if right > left and bottom > top:
        out[top - y0 : bottom - y0, left - x0 : right - x0] = pixels[top:bottom, left:right]
    longer = max(out.shape[:2])
    scale = min(max(MIN_SIDE, longer), MAX_SIDE) / longer
    if scale == 1:
        return out
    size = max(1, round(out.shape[1] * scale)), max(1, round(out.shape[0] * scale))
    method = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    return np.asarray(cv2.resize(out, size, interpolation=method), np.uint8)


def _image_or_none(frames: FrameSet, frame: int, losses: Losses) -> RgbImage | None:
    if frames.images is None or not frames.images.has(frame):
        return None
    try:
        return frames.images.read(frame)
    except ImageError as error:
        losses.add("gallery pictures that cannot be read", str(error))
        return None


def _in_sight(table: Any, place: PixelBox) -> list[list[float]]:
    """The rows (class id, x0, y0, x1, y1, ...) whose box meets a place."""
    x0, y0, x1, y1 = place
    met = (table[:, 1] < x1) & (table[:, 3] > x0) & (table[:, 2] < y1) & (table[:, 4] > y0)
    return [[round(float(v), 3) for v in row] for row in table[met]]
