"""Labels of a simulated image: what is in it, where, and how much of it can be seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from simjudge.capture.silhouette import pixels_alone
from simjudge.core.display import ShortRepr
from simjudge.core.errors import UsageError
from simjudge.core.frames import FloatArray, IntArray, Objects
from simjudge.core.masks import Masks
from simjudge.engines.contract import Labels, SceneState
from simjudge.scene.model import Scene, Thing
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
        objects: N rows, all of frame 0: class, instance, and the box tight around the visible pixels (edges whole).
        pixels: int64 (N,), visible pixels.
        visible: float64 (N,), visible pixels over the pixels that the object would cover alone, unhidden and on an
            image without edges (`silhouette.pixels_alone`); in (0, 1].
    """

    objects: Objects
    pixels: IntArray
    visible: FloatArray

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
    masks: bool = False,
) -> GroundTruth:
    """The labelled objects in an image.

    Args:
        scene: the scene, with the things' meshes.
        lens: the lens through which the labels were seen.
        scene_state: where camera and bodies were.
        labels: class, instance and depth (H, W) through the pixels' centres, as the engine gave them.
        labelling: which objects are labelled; None for the defaults.
        masks: whether the objects get pixel masks too.
    """
    limits = labelling or Labelling()
    size = np.bincount(labels.instance.ravel())
    regions = ndimage.find_objects(labels.instance.astype(np.int32))
    rows: list[tuple[int, int, tuple[float, float, float, float], int, float]] = []
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
        alone = pixels_alone(meshes, scene_state.camera, lens)
        # Rays along an edge may be decided differently by the two ray casters.
        visible = visible_pixels / max(visible_pixels, alone)
        if visible >= limits.min_visible:
            rows.append((instance, things[0].class_id, (x.start, y.start, x.stop, y.stop), visible_pixels, visible))
    crops = _crops(labels.instance, rows) if masks else None
    objects = Objects.build(
        np.zeros(len(rows)), [r[1] for r in rows], [r[2] for r in rows], [r[0] for r in rows], crops
    )
    return GroundTruth(objects, np.array([r[3] for r in rows], np.int64), np.array([r[4] for r in rows], np.float64))


def _crops(
    instance: npt.NDArray[np.uint16], rows: list[tuple[int, int, tuple[float, float, float, float], int, float]]
) -> Masks:
    boxes = [tuple(int(edge) for edge in row[2]) for row in rows]
    crops = [instance[y0:y1, x0:x1] == row[0] for row, (x0, y0, x1, y1) in zip(rows, boxes, strict=True)]
    return Masks.from_crops(crops, np.array([box[:2] for box in boxes]).reshape(-1, 2))
