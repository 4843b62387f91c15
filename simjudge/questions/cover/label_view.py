"""The labels that a rendering will have at a pose, without its light: the same rays through the pixels' centres."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.camera_poses import is_free_position
from simjudge.sim.capture.capture import Capture, exposure_at
from simjudge.sim.capture.ground_truth import Labelling
from simjudge.sim.engines.contract import Engine
from simjudge.sim.sensors.camera.camera import SECOND, Camera


class LabelView:
    """A camera before a placed scene that takes labels only."""

    def __init__(self, engine: Engine, camera: Camera, labelling: Labelling) -> None:
        """Put a camera before an engine."""
        self.engine, self.camera = engine, camera
        self._capture = Capture(engine, camera, labelling)

    def labels(self, pose: Pose) -> Objects:
        """The labelled objects of a picture that is rendered here by a camera that stands still."""
        exposure = exposure_at(self.camera, SECOND, "labels", lambda stamps: [pose] * len(stamps))
        return self._capture.capture(exposure, image=False).truth.objects

    def is_allowed(self, body: Pose) -> bool:
        """Tell whether a camera may stand at a pose: within the scene's area, and free."""
        area, (x, y, _) = self.engine.scene.area, body.position
        if area is not None and not (area[0] <= x <= area[2] and area[1] <= y <= area[3]):
            return False
        return is_free_position(body.position, self.engine, self.engine.poses())


def labelled_frames(name: str, camera: Camera, class_names: dict[int, str], objects: Sequence[Objects]) -> FrameSet:
    """Labels of several pictures as a set without pictures."""
    frame = np.repeat(np.arange(len(objects)), [len(each) for each in objects])
    class_id = np.concatenate([np.zeros(0, np.int64), *(each.class_id for each in objects)])
    box = np.concatenate([np.zeros((0, 4)), *(each.box for each in objects)])
    table = Objects.build(frame, class_id, box)
    return FrameSet.build(name, np.tile(camera.lens.size, (len(objects), 1)), table, class_names=class_names)
