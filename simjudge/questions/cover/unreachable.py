"""Why a context cannot be had in a scene."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from simjudge.core.frames import FrameSet
from simjudge.questions.cover.label_sketch import SketchedThings
from simjudge.sim.capture.camera_poses import CLEARANCE
from simjudge.sim.capture.ground_truth import Labelling
from simjudge.sim.sensors.camera.lens import Lens

CLASS_MISSING = "class missing in the scene"
TOO_MANY = "more objects than the scene has"
TOO_NEAR = "nearer than a camera may stand"
TOO_SMALL = "smaller than what is labelled"
NOT_FOUND = "not found"
NOT_TAKEN = "found, but the pictures were used up"
REASONS = (CLASS_MISSING, TOO_MANY, TOO_NEAR, TOO_SMALL, NOT_FOUND, NOT_TAKEN)
"""Why a context stays uncovered. The first four are certain or nearly so; the last but one says only that the search
has not found it."""


class ReachRules:
    """What a scene can never show, by its things, the lens and the rules of labels."""

    def __init__(
        self,
        a: FrameSet,
        things: SketchedThings,
        lens: Lens,
        labelling: Labelling,
        theta: float,
        patch: tuple[int, int],
    ) -> None:
        """Take a scene.

        Args:
            things: the counted things of a placement, with the class ids of the set.
            patch: height and width, pixels.
        """
        self._a, self._things, self._lens = a, things, lens
        self._labelling, self._patch = labelling, patch
        # Boxes around one centre with an IoU of theta have sides of at least theta times each other's.
        self._theta, self._least = theta, max(theta, 1e-9)
        self._present = {int(k): int(np.count_nonzero(things.class_id == k)) for k in np.unique(things.class_id)}

    def reason(self, row: int, planes: Mapping[int, npt.NDArray[np.bool_]]) -> str | None:
        """Say why a context cannot be had.

        Returns:
            One of REASONS; None where nothing forbids it.
        """
        objects = self._a.objects
        class_id, box = int(objects.class_id[row]), objects.box[row]
        if class_id not in self._present:
            return CLASS_MISSING
        areas = {kind: int(np.count_nonzero(plane)) for kind, plane in planes.items()}
        if sum(area for kind, area in areas.items() if kind in self._present) < self._theta * sum(areas.values()):
            return CLASS_MISSING
        if any(number > self._present.get(kind, number) for kind, number in self._neighbours(row).items()):
            return TOO_MANY
        sides = (float(box[2] - box[0]), float(box[3] - box[1]))
        if min(sides) < self._labelling.min_size * self._least:
            return TOO_SMALL
        if sides[1] * self._least > self._highest(class_id):
            return TOO_NEAR
        return None

    def _highest(self, class_id: int) -> float:
        """The most rows that a thing of a class can take, seen from as near as a camera may be."""
        of_class = self._things.class_id == class_id
        reach = np.linalg.norm(np.ptp(self._things.points[of_class], axis=1), axis=1)
        # A sphere around the thing touches its nearest point, which is at least the clearance away.
        angle = 2 * np.arcsin(np.minimum(reach / 2 / (reach / 2 + CLEARANCE), 1.0))
        half = min(float(angle.max()) / 2, math.radians(80))
        return max(2 * math.tan(half) * self._lens.focal[1], float(reach.max()) * self._lens.focal[1] / CLEARANCE)

    def _neighbours(self, row: int) -> Mapping[int, int]:
        """How many objects of each class the patch of a context shows."""
        objects = self._a.objects
        others = np.flatnonzero(objects.frame == objects.frame[row])
        box, (height, width) = objects.box[row], self._patch
        x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
        at = objects.box[others]
        inside = (at[:, 0] < x + width / 2) & (at[:, 2] > x - width / 2)
        inside &= (at[:, 1] < y + height / 2) & (at[:, 3] > y - height / 2)
        kinds, counts = np.unique(objects.class_id[others[inside]], return_counts=True)
        return dict(zip(kinds.tolist(), counts.tolist(), strict=True))
