"""Clouds with labelled and found cuboids as a set of range images: a frame a scan, with a box and a mask a thing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import BoolImage, Masks, Objects, Predictions
from simjudge.core.progress import Advance
from simjudge.data.clouds import CloudBoxes, CloudSet
from simjudge.data.lidar_points import lidar_points
from simjudge.detectors.cuboid_iou import upright_cuboids
from simjudge.detectors.range_images import RangeGrid, RangePictures, Silhouettes, cast_cuboids, mark_points, own_pixels

FROM_CUBOIDS = "cuboids"  # An object's pixels are those whose rays meet its cuboid first
FROM_POINTS = "points"  # An object's pixels are those of the points in its cuboid
TILT = np.radians(10.0)  # Cuboids that are tilted more are counted: they are taken as upright


@dataclass(frozen=True, eq=False, repr=False)
class ScanFrames(ShortRepr):
    """Scans as frames, and what a person should know of how they were made."""

    frames: FrameSet
    classless: bool  # whether the detector knows no classes: what it finds has one class, which nothing labelled has
    notes: tuple[str, ...]


def scan_frames(
    clouds: CloudSet, grid: RangeGrid, paint: str = FROM_CUBOIDS, *, advance: Advance | None = None
) -> ScanFrames:
    """Put what is labelled and found in clouds into range images, painted FROM_CUBOIDS or FROM_POINTS."""
    if clouds.boxes is None or clouds.labelled is None or not len(clouds.boxes):
        raise SimjudgeError(f"{clouds.name}: holds no cuboids that are labelled; nothing can be compared")
    labelled, damaged = clouds.labelled.copy(), Losses()
    solids, tilted = _cuboids(clouds.boxes, clouds.name)
    shown: list[_Shown] = []
    for index in range(len(clouds)):
        rows = np.flatnonzero(clouds.boxes.cloud == index)
        if len(rows) and labelled[index]:
            seen = _silhouettes(clouds, index, solids[rows], grid, paint, damaged)
            if seen is None:
                labelled[index] = False
            else:
                shown.extend(_shown_things(rows, seen, grid))
        if advance is not None:
            advance(index + 1, len(clouds))
    hidden = int(labelled[clouds.boxes.cloud].sum()) - len(shown)
    predictions, unclear = _predictions(clouds, grid)
    size = np.tile(np.array(grid.shape[::-1], np.int64), (len(clouds), 1))
    losses = Losses()
    losses.extend(clouds.losses)
    losses.extend(damaged)
    frames = FrameSet.build(
        clouds.name,
        size,
        _objects(clouds.boxes, solids, shown),
        predictions,
        frame_name=list(clouds.cloud_name),
        stamp=clouds.stamp,
        labelled=labelled,
        predicted=clouds.predicted,
        class_names=dict(clouds.class_names),
        images=RangePictures(clouds, grid),
        losses=losses,
    )
    return ScanFrames(replace(frames, cyclic=True), _is_classless(clouds), _notes(clouds, hidden, tilted + unclear))


class _Shown(NamedTuple):
    """A thing that shows: its row, the left and upper pixel of what shows, which pixels do, and which part of it."""

    row: int
    origin: tuple[int, int]
    crop: BoolImage
    share: float


def _cuboids(boxes: CloudBoxes, name: str, *, flat: bool = False) -> tuple[FloatArray, int]:
    """Upright cuboids, flat ones too where a detector may find such; and how many were tilted by more than TILT."""
    sound = np.isfinite(np.hstack([boxes.centre, boxes.orientation, boxes.size])).all(1)
    sound &= ((boxes.size > 0) | (flat & (boxes.size == 0))).all(1) & boxes.orientation.any(1)
    if not sound.all():
        row = int(np.argmin(sound))
        raise SimjudgeError(
            f"{name}: box {row} (cloud {int(boxes.cloud[row])}) is no cuboid, of size"
            f" {' x '.join(f'{side:g}' for side in boxes.size[row])}; numbers must be finite and sizes above 0"
        )
    upright, tilt = upright_cuboids(boxes.centre, boxes.orientation, boxes.size)
    return upright, int((tilt > TILT).sum())


def _silhouettes(
    clouds: CloudSet, index: int, solids: FloatArray, grid: RangeGrid, paint: str, damaged: Losses
) -> Silhouettes | None:
    """What a cloud's range image shows; None where the cloud's points are needed and cannot be read."""
    if paint == FROM_CUBOIDS:
        return cast_cuboids(solids, grid)
    try:
        cloud = clouds[index]
        points = lidar_points(cloud.table, cloud.where)
    except SimjudgeError as error:
        damaged.add("clouds that cannot be read", str(error))
        return None
    return mark_points(points.stored.astype(np.float64), solids, grid)


def _shown_things(rows: IntArray, seen: Silhouettes, grid: RangeGrid) -> list[_Shown]:
    out = []
    for k, row in enumerate(rows.tolist()):
        pixels = np.nonzero(seen.owner == k)
        if len(pixels[0]):
            origin, crop = _crop(pixels[0], pixels[1], grid.columns)
            out.append(_Shown(row, origin, crop, float(seen.share[k])))
    return out


def _crop(rows: IntArray, columns: IntArray, width: int) -> tuple[tuple[int, int], BoolImage]:
    """The smallest window around pixels of a cyclic image, behind the widest gap: left, upper, and which are set."""
    used = np.unique(columns)
    gaps = np.diff(used, append=used[0] + width)
    left = int(used[(int(np.argmax(gaps)) + 1) % len(used)])
    across, top = (columns - left) % width, int(rows.min())
    crop = np.zeros((int(rows.max()) - top + 1, int(across.max()) + 1), np.bool_)
    crop[rows - top, across] = True
    return (left, top), crop


def _objects(boxes: CloudBoxes, solids: FloatArray, shown: list[_Shown]) -> Objects:
    rows = np.array([object_crop.row for object_crop in shown], np.int64)
    box = [_box(object_crop.origin, object_crop.crop.shape) for object_crop in shown]
    masks = Masks.from_crops([object_crop.crop for object_crop in shown], [object_crop.origin for object_crop in shown])
    return Objects.build(
        boxes.cloud[rows],
        boxes.class_id[rows],
        box,
        boxes.instance[rows],
        masks,
        distance=np.linalg.norm(boxes.centre[rows], axis=1),
        visible=[object_crop.share for object_crop in shown],
        cuboid=solids[rows],
    )


def _box(origin: tuple[int, int], shape: tuple[int, ...]) -> tuple[int, int, int, int]:
    return origin[0], origin[1], origin[0] + shape[1], origin[1] + shape[0]


def _predictions(clouds: CloudSet, grid: RangeGrid) -> tuple[Predictions | None, int]:
    """What a detector found, with the boxes around its pixels; around its middle where it has none."""
    found = clouds.predictions
    if found is None:
        return None, 0
    solids, tilted = _cuboids(found, f"{clouds.name}: predictions", flat=True)
    box = []
    for solid in solids:
        rows, columns = own_pixels(solid, grid)
        if not len(rows):
            row, columns = grid.pixels(solid[None, :3])
            rows = np.maximum(row, 0)
        origin, crop = _crop(rows, columns, grid.columns)
        box.append(_box(origin, crop.shape))
    return Predictions.build(found.cloud, found.class_id, box, found.score, cuboid=solids), tilted


def _is_classless(clouds: CloudSet) -> bool:
    found, boxes = clouds.predictions, clouds.boxes
    if found is None or boxes is None:
        return False
    kinds = np.unique(found.class_id)
    return len(kinds) == 1 and kinds[0] not in boxes.class_id


def _notes(clouds: CloudSet, hidden: int, tilted: int) -> tuple[str, ...]:
    notes = []
    if hidden:
        notes.append(
            f"{clouds.name}: {hidden} labelled objects show in no pixel of the range image: they are behind others, or"
            " between two rows; they take no part"
        )
    if tilted:
        notes.append(f"{clouds.name}: {tilted} cuboids are tilted by more than 10 degrees; all are taken as upright")
    return tuple(notes)
