"""Pictures of a result of the second judge: both cameras side by side, PIQE's maps, cuboids and maps of lidars."""

from __future__ import annotations

import cv2
import numpy as np

from simjudge.core.arrays import BoolArray
from simjudge.core.box_drawing import class_colour, draw_boxes
from simjudge.core.frames import FrameSet
from simjudge.core.images import ImageError, RgbImage, as_rgb
from simjudge.detectors.clouds.cuboid_settings import LidarCuboidFile, read_cuboid_settings
from simjudge.objects.image_quality.compiled_loops import ACTIVE_BLOCK, ARTIFACT_BLOCK, NOISY_BLOCK
from simjudge.objects.image_quality.quality_series import piqe
from simjudge.objects.occupancy import UNKNOWN, agreement_picture
from simjudge.objects.occupancy_mapping import MapPair
from simjudge.objects.series import CommonTimes, common_times
from simjudge.questions.objects.comparison import ObjectComparison
from simjudge.questions.objects.cuboid_pictures import cuboid_picture
from simjudge.questions.objects.saved import ResultPicture
from simjudge.questions.objects.settings import CAMERA, LIDAR

_INSTANTS = 3
"""Instants at which both cameras are shown."""
_HEIGHT = 400
"""Of a picture side by side with another, pixels at most."""
_GAP = 6
"""White pixels between the two."""
_MAP_SIZE = 1200
"""Pixels of the longer side of a map, about."""
_MARGIN = 10
"""Cells around what a map knows."""
_PIQE_COLOURS = ((ACTIVE_BLOCK, (60, 160, 240)), (ARTIFACT_BLOCK, (230, 40, 40)), (NOISY_BLOCK, (250, 210, 40)))
"""Later ones are drawn over earlier ones."""


def object_pictures(comparison: ObjectComparison) -> list[ResultPicture]:
    """Draw the pictures of a comparison.

    Returns:
        The pictures; none of a sensor that was not compared. Damaged pictures are left out.
    """
    out: list[ResultPicture] = []
    if CAMERA in comparison.measured:
        out += _camera_pictures(comparison, *comparison.measured[CAMERA].frames)
    if LIDAR in comparison.measured:
        found = comparison.measured[LIDAR]
        file = comparison.settings.cuboid_file
        detector = LidarCuboidFile() if file is None else read_cuboid_settings(file)
        cuboids = cuboid_picture(found.lidars[0], found.lidars[1], detector)
        out += [*([] if cuboids is None else [cuboids]), *_map_pictures(found.maps)]
    return out


def _map_pictures(maps: MapPair | None) -> list[ResultPicture]:
    if maps is None:
        return []
    pixels = agreement_picture(maps.real, maps.virtual)
    known = np.argwhere((pixels != UNKNOWN).any(axis=2))
    if not len(known):
        return []
    (top, left), (bottom, right) = np.maximum(known.min(0) - _MARGIN, 0), known.max(0) + _MARGIN + 1
    cut = np.ascontiguousarray(pixels[top:bottom, left:right])
    factor = max(1, _MAP_SIZE // max(cut.shape[:2]))
    enlarged = cut.repeat(factor, axis=0).repeat(factor, axis=1)
    height, width = (side / maps.real.extent.cells_per_metre for side in cut.shape[:2])
    title = f"Occupancy maps of both lidars, {width:.0f} x {height:.0f} m"
    note = (
        "White: occupied in both maps. Black: free in both. Red: occupied in the real map alone. Cyan: occupied in the "
        "virtual map alone. Dark red and dark cyan: occupied in one and unknown in the other. Gray: unknown in both; "
        "dark gray: free in one and unknown in the other."
    )
    return [ResultPicture("occupancy_map", title, note, enlarged)]


def _camera_pictures(comparison: ObjectComparison, real: FrameSet, virtual: FrameSet) -> list[ResultPicture]:
    if real.images is None or virtual.images is None:
        return []
    common = common_times(comparison.sides[0].times(CAMERA), comparison.sides[1].times(CAMERA))
    start = comparison.sides[0].times(CAMERA)[common.real[0]]
    places = np.unique(np.linspace(0, len(common) - 1, 2 * _INSTANTS + 1)[1::2].round().astype(int))
    out = []
    for number, place in enumerate(places.tolist()):
        seconds = comparison.sides[0].times(CAMERA)[common.real[place]] - start
        pixels = _side_by_side(*(_boxed(each, row) for each, row in _frames_at(real, virtual, common, place)))
        if pixels is not None:
            title = f"Both cameras at {seconds:.2f} s: real left, virtual right"
            out.append(ResultPicture(f"cameras_{number}", title, "Boxes are those that were followed.", pixels))
    worst = _largest_piqe_difference(comparison, common)
    if worst is not None:
        out += _piqe_maps(real, virtual, common, worst, start)
    return out


def _piqe_maps(real: FrameSet, virtual: FrameSet, common: CommonTimes, place: int, start: float) -> list[ResultPicture]:
    shown, scores = [], []
    for each, row in _frames_at(real, virtual, common, place):
        pixels = _read(each, row)
        if pixels is None:
            return []
        found = piqe(pixels)
        scores.append(f"{found.score:.1f} ({found.word})")
        shown.append(_tinted(pixels, [(found.mask(kind), colour) for kind, colour in _PIQE_COLOURS]))
    both = _side_by_side(shown[0], shown[1])
    seconds = real.stamp[common.real[place]] / 1e9 - start
    title = f"PIQE's maps where the scores differ most, at {seconds:.2f} s: real {scores[0]}, virtual {scores[1]}"
    note = "Blue: active blocks. Red: blocks with artifacts. Yellow: blocks with noise. 0 is best, 100 is worst."
    return [] if both is None else [ResultPicture("piqe_maps", title, note, both)]


def _largest_piqe_difference(comparison: ObjectComparison, common: CommonTimes) -> int | None:
    """Where the PIQE of both pictures differs most, as a place in the common times; None where it is not known."""
    row = next((row for row in comparison.compared[CAMERA].rows if row.metric == "piqe" and not row.subject), None)
    if row is None or len(row.time) != len(common):
        return None
    apart = np.abs(row.virtual - row.real)
    return None if np.isnan(apart).all() else int(np.nanargmax(apart))


def _frames_at(
    real: FrameSet, virtual: FrameSet, common: CommonTimes, place: int
) -> tuple[tuple[FrameSet, int], tuple[FrameSet, int]]:
    return (real, int(common.real[place])), (virtual, int(common.virtual[place]))


def _read(frames: FrameSet, row: int) -> RgbImage | None:
    try:
        return None if frames.images is None else as_rgb(frames.images.read(row))
    except ImageError:
        return None  # reading the quality of all pictures has counted it


def _boxed(frames: FrameSet, row: int) -> RgbImage | None:
    pixels = _read(frames, row)
    table = frames.predictions if frames.predictions is not None else frames.objects
    if pixels is None:
        return None
    rows = np.flatnonzero(table.frame == row)
    colours = [class_colour(int(each), frames.class_name(int(each))) for each in table.class_id[rows]]
    return draw_boxes(pixels, table.box[rows], np.reshape(colours, (-1, 3))) if len(rows) else pixels


def _side_by_side(real: RgbImage | None, virtual: RgbImage | None) -> RgbImage | None:
    if real is None or virtual is None:
        return None
    height = min(_HEIGHT, max(real.shape[0], virtual.shape[0]))
    left, right = (_resized(each, height) for each in (real, virtual))
    return np.hstack([left, np.full((height, _GAP, 3), 255, np.uint8), right])


def _resized(pixels: RgbImage, height: int) -> RgbImage:
    width = max(1, round(pixels.shape[1] * height / pixels.shape[0]))
    method = cv2.INTER_AREA if height < pixels.shape[0] else cv2.INTER_NEAREST
    return np.asarray(cv2.resize(pixels, (width, height), interpolation=method), np.uint8)


def _tinted(pixels: RgbImage, masks: list[tuple[BoolArray, tuple[int, int, int]]]) -> RgbImage:
    out = pixels.astype(np.float64)
    colour = np.zeros_like(out)
    tinted = np.zeros(pixels.shape[:2], np.bool_)
    for mask, each in masks:
        colour[mask] = each
        tinted |= mask
    out[tinted] = 0.6 * out[tinted] + 0.4 * colour[tinted]
    return out.round().astype(np.uint8)
