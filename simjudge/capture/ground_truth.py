"""Labels of a simulated picture: what is in it, where, and how much of it can be seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from simjudge.capture.silhouette import pixels_alone
from simjudge.core.errors import UsageError
from simjudge.core.frames import FloatArray, IntArray, Objects
from simjudge.core.masks import Masks
from simjudge.engines.contract import Labels, SceneState
from simjudge.scene.model import Scene, Thing
from simjudge.sensors.camera.lens import Lens


@dataclass(frozen=True)
class Labelling:
    """What is worth a label.

    Attributes:
        min_size: pixels; things whose box is narrower or lower are not labelled.
        min_visible: share in [0, 1]; things of which less can be seen are not labelled.

    Raises:
        UsageError: one of them makes no sense.
    """

    min_size: float = 5.0
    min_visible: float = 0.25

    def __post_init__(self) -> None:
        """Check both."""
        if not 0 <= self.min_size < np.inf or not 0 <= self.min_visible <= 1:
            raise UsageError(
                f"labels from {self.min_size} px and {self.min_visible} visible: 0 px or more, and 0 to 1, are needed"
            )


@dataclass(frozen=True)
class Truth:
    """The labelled things in one picture, by instance.

    Attributes:
        objects: N rows, all of frame 0: class, instance, and the box tight around the visible pixels (edges whole).
        pixels: int64 (N,), visible pixels.
        visible: float64 (N,), visible pixels over the pixels that the thing would cover alone, unhidden and on a
            picture without edges (`silhouette.pixels_alone`); in (0, 1].
    """

    objects: Objects
    pixels: IntArray
    visible: FloatArray

    def __len__(self) -> int:
        """The number of things."""
        return len(self.pixels)


def ground_truth(
    scene: Scene,
    lens: Lens,
    scene_state: SceneState,
    labels: Labels,
    labelling: Labelling | None = None,
    *,
    masks: bool = False,
) -> Truth:
    """The labels of a picture.

    Args:
        scene: with the things' meshes.
        lens: that the labels were seen through.
        scene_state: when they were seen.
        labels: class, instance and depth through the pixels' centres, as the engine gave them.
        labelling: what is worth a label; None: the defaults.
        masks: whether the objects get pixel masks too.
    """
    rules = labelling or Labelling()
    size = np.bincount(labels.instance.ravel())
    places = ndimage.find_objects(labels.instance.astype(np.int32))
    rows: list[tuple[int, int, tuple[float, float, float, float], int, float]] = []
    parts: dict[int, list[Thing]] = {}
    for thing in scene.labelled():
        parts.setdefault(thing.instance, []).append(thing)
    for instance, place in enumerate(places, start=1):
        if place is None:
            continue
        (y, x), things = place, parts[instance]
        if min(x.stop - x.start, y.stop - y.start) < rules.min_size:
            continue
        seen = int(size[instance])
        there = [(thing.mesh, scene_state.bodies.get(thing.name, thing.pose)) for thing in things]
        alone = pixels_alone(there, scene_state.camera, lens)
        # Rays along an edge may be decided differently by the two ray casters.
        visible = seen / max(seen, alone)
        if visible >= rules.min_visible:
            rows.append((instance, things[0].class_id, (x.start, y.start, x.stop, y.stop), seen, visible))
    crops = _crops(labels.instance, rows) if masks else None
    objects = Objects.build(
        np.zeros(len(rows)), [r[1] for r in rows], [r[2] for r in rows], [r[0] for r in rows], crops
    )
    return Truth(objects, np.array([r[3] for r in rows], np.int64), np.array([r[4] for r in rows], np.float64))


def _crops(
    instance: npt.NDArray[np.uint16], rows: list[tuple[int, int, tuple[float, float, float, float], int, float]]
) -> Masks:
    boxes = [tuple(int(edge) for edge in row[2]) for row in rows]
    crops = [instance[y0:y1, x0:x1] == row[0] for row, (x0, y0, x1, y1) in zip(rows, boxes, strict=True)]
    return Masks.from_crops(crops, np.array([box[:2] for box in boxes]).reshape(-1, 2))
