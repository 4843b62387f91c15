"""Labels of a simulated image: what is in it, where, how much of it can be seen, and by which rules it is labelled.

The project's own renderings and the ground truth of other simulators (`capture.simulators`)
are labelled by these rules. A box is tight around the visible pixels, edges whole. Objects of which too little can be
seen, and those that are too small, have no label.

An image that sees all around has a seam: its right edge goes on at its left edge. A box cannot go around. A thing that
stands on both sides of the seam is labelled by its larger part, as if the image's edge had cut the rest off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.core.errors import UsageError
from simjudge.core.numba_cache import njit
from simjudge.core.object_tables import Masks, Objects
from simjudge.core.settings import LabelSettings
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.silhouette import RowStates, pixels_alone, pixels_alone_by_rays, sees_beyond
from simjudge.sim.engines.contract import Labels, SceneState
from simjudge.sim.engines.ray_times import TimedExposure
from simjudge.sim.scene.model import Mesh, Scene, Thing
from simjudge.sim.sensors.camera.lens import Lens

InstanceImage = npt.NDArray[np.uint16]  # (H, W): the instance of each pixel, 0 where there is none


@dataclass(frozen=True)
class Labelling:
    """Which objects are labelled."""

    # Objects whose box is narrower or lower are not labelled, pixels, 0 or more.
    min_size: float = LabelSettings.min_size
    # Objects of which a smaller share can be seen are not labelled, 0 to 1.
    min_visible: float = LabelSettings.min_visible

    def __post_init__(self) -> None:
        if not 0 <= self.min_size < np.inf or not 0 <= self.min_visible <= 1:
            raise UsageError(
                f"labels from {self.min_size} px and {self.min_visible} visible: 0 px or more, and 0 to 1, are needed"
            )

    def large_enough(self, boxes: npt.ArrayLike) -> BoolArray:
        """Tell which boxes are large enough for a label: bool (N,); boxes (N, 4), x0, y0, x1, y1, pixels."""
        box = np.asarray(boxes, np.float64).reshape(-1, 4)
        return np.asarray(np.minimum(box[:, 2] - box[:, 0], box[:, 3] - box[:, 1]) >= self.min_size, np.bool_)

    def visible_enough(self, visible: npt.ArrayLike) -> BoolArray:
        """Tell of which objects enough can be seen for a label: bool (N,); visible (N,)."""
        return np.asarray(~(np.asarray(visible, np.float64) < self.min_visible), np.bool_)


class InstanceExtents(NamedTuple):
    """What an image shows of each instance."""

    pixels: IntArray  # int64 (N,), visible pixels by instance, from instance 0 on
    box: IntArray  # int64 (N, 4), first column and row, last column and row + 1


def instance_extents(instances: InstanceImage) -> InstanceExtents:
    """Find the visible pixels of each instance in an image, and the box around them (instances: uint16 (H, W))."""
    return InstanceExtents(*_extents(instances))


def visible_shares(pixels: npt.ArrayLike, alone: npt.ArrayLike) -> FloatArray:
    """Compute the share of each object that can be seen: float64 (N,); pixels (N,), visible pixels; alone (N,)."""
    seen, whole = np.asarray(pixels, np.float64), np.asarray(alone, np.float64)
    # Rays along an edge may be decided differently by two ray casters.
    return seen / np.maximum(seen, whole)


def instance_masks(instances: InstanceImage, numbers: Sequence[int], boxes: IntArray) -> Masks:
    """Cut the masks of some instances out of an image (instances: uint16 (H, W); boxes: int64 (N, 4))."""
    crops = [instances[y0:y1, x0:x1] == number for number, (x0, y0, x1, y1) in zip(numbers, boxes, strict=True)]
    return Masks.from_crops(crops, boxes[:, :2].reshape(-1, 2))


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _extents(instances: InstanceImage) -> tuple[IntArray, IntArray]:
    """Pixels of each instance (N,), and first column and row, last column and row + 1 of it (N, 4)."""
    count = int(instances.max()) + 1
    height, width = instances.shape
    pixels, box = np.zeros(count, np.int64), np.zeros((count, 4), np.int64)
    box[:, 0], box[:, 1] = width, height
    for y in range(height):
        begin = 0
        for x in range(1, width + 1):
            k = instances[y, begin]
            if x < width and instances[y, x] == k:
                continue
            pixels[k] += x - begin
            box[k, 0], box[k, 1] = min(box[k, 0], begin), min(box[k, 1], y)
            box[k, 2], box[k, 3] = max(box[k, 2], x), max(box[k, 3], y + 1)
            begin = x
    return pixels, box


def without_smaller_parts(instance: npt.NDArray[np.uint16]) -> npt.NDArray[np.uint16]:
    """Of each instance that stands across the seam, the larger part alone.

    An instance stands across the seam if the widest run of columns without it, counted around, is not the one that
    holds the seam.
    """
    width = instance.shape[1]
    out = instance
    for number, region in enumerate(ndimage.find_objects(instance.astype(np.int32)), start=1):
        # A run within the instance's columns can be the widest only if these are more than half of all.
        if region is None or region[1].stop - region[1].start <= width / 2:
            continue
        begin, end = _widest_gap(np.flatnonzero((instance == number).any(0)))
        if end - begin <= width - (region[1].stop - region[1].start):
            continue
        mask = instance == number
        left_is_larger = np.count_nonzero(mask[:, :begin]) >= np.count_nonzero(mask[:, end:])
        mask[:, slice(None, begin) if left_is_larger else slice(end, None)] = False
        out = np.where(mask, np.uint16(0), out)
    return out


def _widest_gap(columns: npt.NDArray[np.int64]) -> tuple[int, int]:
    """The first widest run of columns between some rising ones: its begin and end."""
    gaps = np.diff(columns)
    if not len(gaps):
        return 0, 0
    k = int(np.argmax(gaps))
    return int(columns[k]) + 1, int(columns[k + 1])


@dataclass(frozen=True, repr=False)
class GroundTruth(ShortRepr):
    """The labelled objects in one image, by instance."""

    # N rows, all of frame 0: class, instance, the box tight around the visible pixels (edges whole), the distance, and
    # the visible share in (0, 1]: visible pixels over the pixels that the object would cover alone, unhidden and on an
    # image without edges (`silhouette.pixels_alone`).
    objects: Objects
    pixels: IntArray  # int64 (N,), visible pixels

    def __len__(self) -> int:
        return len(self.pixels)


def ground_truth(
    scene: Scene,
    lens: Lens,
    scene_state: SceneState,
    labels: Labels,
    labelling: Labelling | None = None,
    *,
    timed: TimedExposure | None = None,
    masks: bool = False,
) -> GroundTruth:
    """The labelled objects in an image; across the seam of an image all around, the larger part is labelled."""
    limits = labelling or Labelling()
    instances = without_smaller_parts(labels.instance) if lens.wraps else labels.instance
    extents = instance_extents(instances)
    parts: dict[int, list[Thing]] = {}
    for thing in scene.labelled():
        parts.setdefault(thing.instance, []).append(thing)
    numbers = np.flatnonzero((extents.pixels > 0) & limits.large_enough(extents.box))
    seen = [
        _Seen(instance, parts[instance], extents.box[instance], int(extents.pixels[instance]))
        for instance in numbers.tolist()
        if instance
    ]
    meshes = [
        [(thing.mesh, scene_state.bodies.get(thing.name, thing.pose)) for thing in seen_thing.things]
        for seen_thing in seen
    ]
    if timed is None and not sees_beyond(lens):
        alone = pixels_alone(meshes, scene_state.camera, lens)
    else:
        states = RowStates(lens.size[1], scene_state, timed)
        alone = [pixels_alone_by_rays(thing.things, states, lens) for thing in seen]
    visible = visible_shares([thing.pixels for thing in seen], alone)
    rows = np.flatnonzero(limits.visible_enough(visible)).tolist()
    kept = [seen[row] for row in rows]
    boxes = np.array([thing.box for thing in kept], np.int64).reshape(-1, 4)
    numbers_kept = [thing.instance for thing in kept]
    objects = Objects.build(
        np.zeros(len(kept)),
        [thing.things[0].class_id for thing in kept],
        boxes,
        numbers_kept,
        instance_masks(instances, numbers_kept, boxes) if masks else None,
        distance=[distance_to(meshes[row], scene_state.camera) for row in rows],
        visible=visible[rows],
    )
    return GroundTruth(objects, np.array([thing.pixels for thing in kept], np.int64))


def distance_to(parts: Sequence[tuple[Mesh, Pose]], camera: Pose) -> float:
    """The distance from a camera straight to the centre of a thing's own bounding box, metres along the ray."""
    own = parts[0][1]
    vertices = [parts[0][0].vertices, *(own.to_body(pose.to_world(mesh.vertices)) for mesh, pose in parts[1:])]
    low, high = np.min([vertex.min(0) for vertex in vertices], 0), np.max([vertex.max(0) for vertex in vertices], 0)
    centre = own.to_world((low + high) / 2)
    return float(np.linalg.norm(centre - camera.position))


class _Seen(NamedTuple):
    """An object of which something is seen: `pixels` of it, within `box`, whole pixels."""

    instance: int
    things: list[Thing]
    box: IntArray
    pixels: int
