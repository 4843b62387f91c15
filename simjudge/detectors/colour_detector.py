"""The classical judge: colour thresholds, which need no training and are written down in one YAML file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import cv2
import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from simjudge.core.documents import Fields, read_document
from simjudge.core.field_types import Number, Text, Vector, Whole, conflict
from simjudge.core.images import RgbImage
from simjudge.core.object_tables import BoolImage, Masks
from simjudge.detectors.detector import Detections, ShownDetector

Limits = tuple[float, float]  # Lowest and highest, both inclusive

_HSV = ("hue", "saturation", "value")
_LIMITS = (*_HSV, "red", "green", "blue")
_SHAPES = ("aspect", "fill")


@dataclass(frozen=True, kw_only=True)
class ColourClass:
    """What one class looks like. Limits that are None admit any value."""

    name: str
    hue: Limits | None = None  # degrees in [0, 360]; low above high goes through 0, as red does
    saturation: Limits | None = None
    value: Limits | None = None
    red: Limits | None = None
    green: Limits | None = None
    blue: Limits | None = None
    closing: int = 0  # gaps up to so many pixels are closed (0: none)
    closing_radius: int = 0  # radius of the disk that gaps are closed with, pixels (0: none)
    # min_area, max_area: pixels that a blob has after closing.
    min_area: float = 1.0
    max_area: float = math.inf
    line: float | None = None  # row of the picture; blobs whose centroid is above it are left out. None for no line
    # aspect: height of a blob's box over its width; fill: share of its box that a blob covers after closing.
    aspect: Limits | None = None
    fill: Limits | None = None

    @property
    def has_shape(self) -> bool:
        """Whether the shape of blobs has limits."""
        return self.aspect is not None or self.fill is not None

    def same_colour(self, other: ColourClass) -> bool:
        """Whether another class has the same pixels."""
        return all(getattr(self, field) == getattr(other, field) for field in (*_LIMITS, "closing", "closing_radius"))

    @property
    def needs_hsv(self) -> bool:
        """Whether hue, saturation or value have limits."""
        return any(getattr(self, plane) is not None for plane in _HSV)

    def find_pixels(self, image: RgbImage, hsv: RgbImage | None) -> BoolImage:
        """Find the pixels of this colour: bool (H, W); image (H, W, 3), red first; hsv (H, W, 3)."""
        hits = []
        if any((self.red, self.green, self.blue)):
            hits.append(_in_range(image, (self.red, self.green, self.blue)))
        if hsv is not None and self.needs_hsv:
            hues = (
                (self.hue,)
                if self.hue is None or self.hue[0] <= self.hue[1]
                else ((0, self.hue[1]), (self.hue[0], 360))
            )
            others = _scaled(self.saturation, 255), _scaled(self.value, 255)
            hits.append(reduce(cv2.bitwise_or, [_in_range(hsv, (_scaled(hue, 0.5), *others)) for hue in hues]))
        return np.asarray(reduce(cv2.bitwise_and, hits) > 0) if hits else np.ones(image.shape[:2], np.bool_)

    def find_blobs(self, hit: BoolImage) -> Blobs:
        """Find the connected blobs among pixels of this colour, after closing gaps (hit: bool (H, W))."""
        closed, at_x, at_y = self._around(hit.astype(np.uint8))
        if self.closing > 0:
            kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (self.closing, self.closing))
            closed = cv2.morphologyEx(closed, cv2.MORPH_CLOSE, kernel)  # type: ignore[assignment]
        if self.closing_radius > 0:
            closed = close_with_disk(closed, self.closing_radius)
        count, label, stats, middle = cv2.connectedComponentsWithStats(closed, connectivity=8)
        kept = [
            number
            for number in range(1, count)
            if self.min_area <= stats[number, cv2.CC_STAT_AREA] <= self.max_area
            # OpenCV counts rows at their middle, boxes at their upper edge.
            and (self.line is None or middle[number, 1] + 0.5 >= self.line)
        ]
        boxes, scores, crops = [], [], []
        for number in kept:
            x, y, width, height, area = stats[number].tolist()
            crop = np.asarray(label[y : y + height, x : x + width] == number)
            x, y = x + at_x, y + at_y
            if not (_within(height / width, self.aspect) and _within(area / (width * height), self.fill)):
                continue
            crops.append(crop)
            boxes.append([x, y, x + width, y + height])
            scores.append(float(hit[y : y + height, x : x + width].mean()))
        return Blobs(boxes, scores, crops)

    def _around(self, hit: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.uint8], int, int]:
        """The part of an image in which blobs can be, and the column and row where it begins.

        OpenCV numbers blobs by blocks of 2 x 2 pixels, so that it begins with one. Centroids, where they count, are
        those of the whole image to the last bit where all rows above are there.
        """
        x, y, width, height = cv2.boundingRect(hit)
        room = self.closing + self.closing_radius + 2
        left, top = max(x - room, 0) // 2 * 2, 0 if self.line is not None else max(y - room, 0) // 2 * 2
        return hit[top : y + height + room, left : x + width + room], left, top


def _within(value: float, limits: Limits | None) -> bool:
    return limits is None or limits[0] <= value <= limits[1]


def _scaled(limits: Limits | None, factor: float) -> Limits | None:
    return None if limits is None else (limits[0] * factor, limits[1] * factor)


def _in_range(image: RgbImage, limits: tuple[Limits | None, Limits | None, Limits | None]) -> Any:
    """The pixels whose three values lie within their limits: 255, others 0."""
    given = [(0, 255) if limit is None else limit for limit in limits]
    least, most = [math.ceil(low) for low, _ in given], [math.floor(high) for _, high in given]
    return cv2.inRange(image, np.array(least), np.array(most))


class Blobs(NamedTuple):
    """Connected pixels of one colour."""

    box: list[list[int]]  # x0, y0, x1, y1 in pixels, of each blob
    score: list[float]  # the share of each box that is of the colour, in [0, 1]
    crop: list[BoolImage]  # bool (h, w), the pixels of each blob in its box, after closing


def close_with_disk(hit: npt.NDArray[np.uint8], radius: int) -> npt.NDArray[np.uint8]:
    """Close gaps with a disk: what is within the radius is joined, then what lies outside is taken back.

    The disk holds the pixels whose centres are at most `radius` from its own; MATLAB's `strel('disk', r)` is an octagon
    near it by default. What lies beyond the picture's edge takes no part. Distances to the nearest pixel stand for the
    disk, so that the time does not grow with it.

    Source:
        Closing: J. Serra, Image Analysis and Mathematical Morphology, 1982. Distances: P. F. Felzenszwalb and
        D. P. Huttenlocher, Distance transforms of sampled functions, 2012.
    """
    # Squares of distances are whole numbers: none lies between radius and this.
    reach = radius + 0.25 / (radius + 1)
    if not hit.any():
        return hit
    grown = cv2.distanceTransform(1 - hit, cv2.DIST_L2, cv2.DIST_MASK_PRECISE) <= reach
    if grown.all():
        return np.ones_like(hit)
    return (cv2.distanceTransform(grown.astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE) > reach).astype(np.uint8)


@dataclass(frozen=True, repr=False)
class ColourDetector(ShownDetector):
    """Finds blobs of given colours. The score is the share of the box's pixels that have the class's colour.

    A filled rectangle scores 1, a cone, which is a triangle in its box, about 0.5.
    """

    name: str  # what to call it on screen
    classes: dict[int, ColourClass]  # what objects look like, by class id
    min_score: float  # blobs with a lower score are left out
    sha256: str = ""
    regions: bool = False  # detections have the pixels of their blobs as masks

    @property
    def class_names(self) -> dict[int, str]:
        """Names by class id."""
        return {class_id: colour_class.name for class_id, colour_class in self.classes.items()}

    def __call__(self, images: Sequence[RgbImage]) -> list[Detections]:
        """Detect in some images (images: 8-bit RGB images (H, W, 3), of any sizes)."""
        return [self._detect(image) for image in images]

    def _detect(self, image: RgbImage) -> Detections:
        hsv: Any = None
        if any(colour_class.needs_hsv for colour_class in self.classes.values()):
            hsv = cv2.cvtColor(image, cv2.COLOR_RGB2HSV)
        blobs = {
            class_id: colour_class.find_blobs(colour_class.find_pixels(image, hsv))
            for class_id, colour_class in self.classes.items()
        }
        shaped = {class_id: self._shaped(class_id, blobs) for class_id in blobs}
        found = [
            (class_id, *blob)
            for class_id, of_class in blobs.items()
            for blob in zip(*of_class, strict=True)
            if tuple(blob[0]) not in shaped[class_id]
        ]
        found = [row for row in found if row[2] >= self.min_score]
        found.sort(key=lambda row: -row[2])
        ids, boxes, scores, crops = (list(column) for column in zip(*found, strict=True)) if found else ([],) * 4
        masks = Masks.from_crops(crops, np.array(boxes, np.int32).reshape(-1, 4)[:, :2]) if self.regions else None
        return Detections.build(ids, boxes, scores, masks=masks)

    def _shaped(self, class_id: int, blobs: Mapping[int, Blobs]) -> set[tuple[int, ...]]:
        """Boxes of blobs that are of a class of the same colour with limits of shape, and so not of this one."""
        own = self.classes[class_id]
        if own.has_shape:
            return set()
        others = (number for number, each in self.classes.items() if each.has_shape and each.same_colour(own))
        return {tuple(box) for number in others for box in blobs[number].box}


NotNegative = Annotated[float, Number(ge=0)]
Gap = Annotated[int, Whole(0, 1000)]  # Pixels
Row = Annotated[float, Number(ge=0)]  # Pixels from the upper edge
Share = Annotated[tuple[float, float], Vector("low high", ge=0, le=1)]
Byte = Annotated[tuple[float, float], Vector("low high", ge=0, le=255)]
# What each class has as all classes have, if left out.
_SHARED = ("closing", "closing_radius", "min_area", "max_area", "line")


class ColourFields(Fields):
    """What objects of one class look like."""

    name: Annotated[str, Text()]
    """Of the class."""
    hue: Annotated[tuple[float, float], Vector("low high", ge=0, le=360)] | None = None
    """Lowest and highest, degrees; low above high goes through 0, as red does."""
    saturation: Share | None = None
    """Lowest and highest, 0 to 1."""
    value: Share | None = None
    """Lowest and highest, 0 to 1."""
    red: Byte | None = None
    """Lowest and highest, 0 to 255."""
    green: Byte | None = None
    """Lowest and highest, 0 to 255."""
    blue: Byte | None = None
    """Lowest and highest, 0 to 255."""
    closing: Gap | None = None
    """Gaps up to so many pixels are closed; as for all classes, if left out."""
    closing_radius: Gap | None = None
    """Radius of the disk that gaps are closed with, pixels; as for all classes, if left out."""
    min_area: NotNegative | None = None
    """Pixels that a blob has at least; as for all classes, if left out."""
    max_area: NotNegative | None = None
    """Pixels that a blob has at most; as for all classes, if left out."""
    line: Row | None = None
    """Row of the picture: blobs whose centroid is above it are left out; as for all classes, if left out."""
    aspect: Annotated[tuple[float, float], Vector("low high", ge=0)] | None = None
    """Lowest and highest height of a blob's box over its width."""
    fill: Share | None = None
    """Lowest and highest share of its box that a blob fills, gaps closed. What fits a class with aspect or fill is of
    no other class of the same colour without them."""

    @model_validator(mode="after")
    def _check(self) -> ColourFields:
        given = {field: getattr(self, field) for field in _LIMITS if getattr(self, field) is not None}
        if not given:
            raise conflict(f"limits of a colour are needed: of {', '.join(_LIMITS[:-1])} or {_LIMITS[-1]}")
        shapes = {field: getattr(self, field) for field in _SHAPES if getattr(self, field) is not None}
        for field, (low, high) in (given | shapes).items():
            if low > high and field != "hue":
                raise conflict(f"the lower comes first; this is [{low:g}, {high:g}]", field)
        return self


class ColourFile(Fields):
    """Colour thresholds, by class."""

    classes: Annotated[dict[Annotated[int, Whole()], ColourFields], Field(min_length=1)]
    """What objects look like, by class id."""
    closing: Gap = 0
    """Gaps up to so many pixels are closed."""
    closing_radius: Gap = 0
    """Radius of the disk that gaps are closed with, pixels."""
    min_area: NotNegative = 1.0
    """Pixels that a blob has at least."""
    max_area: NotNegative | None = None
    """Pixels that a blob has at most; any number, if left out."""
    line: Row | None = None
    """Row of the picture: blobs whose centroid is above it are left out; no line, if left out."""


def read_colours(path: Path) -> dict[int, ColourClass]:
    """Read colour thresholds."""
    file = read_document(path, ColourFile, "file of colour thresholds").content
    return {class_id: _colour_class(file, colour_class) for class_id, colour_class in file.classes.items()}


def _colour_class(file: ColourFile, each: ColourFields) -> ColourClass:
    shared = {name: getattr(file if getattr(each, name) is None else each, name) for name in _SHARED}
    if shared["max_area"] is None:
        shared["max_area"] = math.inf
    return ColourClass(name=each.name, **{name: getattr(each, name) for name in (*_LIMITS, *_SHAPES)}, **shared)
