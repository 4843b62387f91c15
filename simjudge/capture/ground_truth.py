"""Labels of a simulated image: what is in it, where, and how much of it can be seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from simjudge.capture.cast_silhouette import RowStates, pixels_alone_by_rays
from simjudge.capture.seam import without_smaller_parts
from simjudge.capture.silhouette import pixels_alone, sees_beyond
from simjudge.core.display import ShortRepr
from simjudge.core.errors import UsageError
from simjudge.core.frames import IntArray, Objects
from simjudge.core.masks import Masks
from simjudge.engines.contract import Labels, SceneState
from simjudge.engines.ray_times import TimedExposure
from simjudge.geometry.poses import Pose
from simjudge.scene.model import Mesh, Scene, Thing
from simjudge.sensors.camera.lens import Lens


@dataclass(frozen=True)
class Labelling:
    """Which objects are labelled.

    Attributes:
        min_size: objects whose box is narrower or lower are not labelled, pixels, 0 or more.
        min_visible: objects of which a smaller share can be seen are not labelled, 0 to 1.

    Raises:
        UsageError: a limit is outside its range.
    """

    min_size: float = 5.0
    min_visible: float = 0.25

    def __post_init__(self) -> None:
        """Check both."""
        if not 0 <= self.min_size < np.inf or not 0 <= self.min_visible <= 1:
            raise UsageError(
                f"labels from {self.min_size} px and {self.min_visible} visible: 0 px or more, and 0 to 1, are needed"
            )


@dataclass(frozen=True, repr=False)
class GroundTruth(ShortRepr):
    """The labelled objects in one image, by instance.

    Attributes:
        objects: N rows, all of frame 0: class, instance, the box tight around the visible pixels (edges whole), the
            distance, and the visible share in (0, 1]: visible pixels over the pixels that the object would cover
            alone, unhidden and on an image without edges (`silhouette.pixels_alone`).
        pixels: int64 (N,), visible pixels.
    """

    objects: Objects
    pixels: IntArray

    def __len__(self) -> int:
        """The number of objects."""
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
    """The labelled objects in an image.

    Of a thing across the seam of an image that sees all around, the larger part is labelled (`capture.seam`).

    Args:
        scene: the scene, with the things' meshes.
        lens: the lens through which the labels were seen.
        scene_state: where camera and bodies were.
        labels: class, instance and depth (H, W) through the pixels' centres, as the engine gave them.
        labelling: which objects are labelled; None for the defaults.
        timed: when each row was exposed; None: all in `scene_state`.
        masks: whether the objects get pixel masks too.
    """
    limits = labelling or Labelling()
    instances = without_smaller_parts(labels.instance) if lens.wraps else labels.instance
    size = np.bincount(instances.ravel())
    regions = ndimage.find_objects(instances.astype(np.int32))
    rows: list[_Row] = []
    parts: dict[int, list[Thing]] = {}
    for thing in scene.labelled():
        parts.setdefault(thing.instance, []).append(thing)
    for instance, region in enumerate(regions, start=1):
        if region is None:
            continue
        (y, x), things = region, parts[instance]
        if min(x.stop - x.start, y.stop - y.start) < limits.min_size:
            continue
        visible_pixels = int(size[instance])
        meshes = [(thing.mesh, scene_state.bodies.get(thing.name, thing.pose)) for thing in things]
        if timed is None and not sees_beyond(lens):
            alone = pixels_alone(meshes, scene_state.camera, lens)
        else:
            alone = pixels_alone_by_rays(things, RowStates(lens.size[1], scene_state, timed), lens)
        # Rays along an edge may be decided differently by the two ray casters.
        visible = visible_pixels / max(visible_pixels, alone)
        if visible >= limits.min_visible:
            box = (x.start, y.start, x.stop, y.stop)
            distance = distance_to(meshes, scene_state.camera)
            rows.append(_Row(instance, things[0].class_id, box, visible_pixels, distance, visible))
    objects = Objects.build(
        np.zeros(len(rows)),
        [row.class_id for row in rows],
        [row.box for row in rows],
        [row.instance for row in rows],
        _crops(instances, rows) if masks else None,
        distance=[row.distance for row in rows],
        visible=[row.visible for row in rows],
    )
    return GroundTruth(objects, np.array([row.pixels for row in rows], np.int64))


def distance_to(parts: Sequence[tuple[Mesh, Pose]], camera: Pose) -> float:
    """The distance from a camera straight to the centre of a thing's bounding box.

    The box is that of the thing's own frame, so that turning the thing about its centre changes nothing. The frame of
    several parts is that of the first.

    Args:
        parts: the thing's meshes with their poses in the world.
        camera: pose of the optical frame in the world.

    Returns:
        Metres from the optical centre, along the ray: not the depth along the optical axis.
    """
    own = parts[0][1]
    vertices = [parts[0][0].vertices, *(own.to_body(pose.to_world(mesh.vertices)) for mesh, pose in parts[1:])]
    low, high = np.min([each.min(0) for each in vertices], 0), np.max([each.max(0) for each in vertices], 0)
    centre = own.to_world((low + high) / 2)
    return float(np.linalg.norm(centre - camera.position))


class _Row(NamedTuple):
    """One labelled object; `box` in whole pixels, `pixels` of it visible."""

    instance: int
    class_id: int
    box: tuple[int, int, int, int]
    pixels: int
    distance: float
    visible: float


def _crops(instance: npt.NDArray[np.uint16], rows: list[_Row]) -> Masks:
    crops = [instance[row.box[1] : row.box[3], row.box[0] : row.box[2]] == row.instance for row in rows]
    return Masks.from_crops(crops, np.array([row.box[:2] for row in rows]).reshape(-1, 2))
