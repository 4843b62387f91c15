"""What a camera in the world makes of its frames: picture, labels, ground truth."""

from __future__ import annotations

from dataclasses import dataclass

from simjudge.capture.exposure import Shot, gather, shot_of
from simjudge.capture.ground_truth import Labelling, Truth, ground_truth
from simjudge.capture.lock_step import Taken
from simjudge.core.frames import stamp_to_name
from simjudge.engines.contract import Engine, Labels
from simjudge.sensors.camera.camera import Camera


@dataclass(frozen=True)
class Seen:
    """What the camera made of a frame.

    Attributes:
        shot: the picture; None where nobody looks at it.
        labels: class, instance and depth, in the middle of the exposure.
        truth: the labelled things in it.
    """

    shot: Shot | None
    labels: Labels
    truth: Truth


class Eye:
    """A camera before an engine."""

    def __init__(self, engine: Engine, camera: Camera, labelling: Labelling | None = None, seed: int = 0) -> None:
        """Look at an engine's scene.

        Args:
            engine: what there is to see.
            camera: lens, exposure and chain.
            labelling: what is worth a label.
            seed: of the camera's noise.
        """
        self._engine, self._camera = engine, camera
        self._labelling, self._seed = labelling or Labelling(), seed

    def look(self, taken: Taken, *, picture: bool = True) -> Seen:
        """Make the labels of a frame, and its picture where it is wanted."""
        labels = self._engine.labels(self._camera.lens, taken.middle)
        truth = ground_truth(self._engine.scene, self._camera.lens, taken.middle, labels, self._labelling)
        if not picture:
            return Seen(None, labels, truth)
        light = gather(self._engine, self._camera, taken.scene_states)
        return Seen(shot_of(self._camera, light, stamp_to_name(taken.stamp), self._seed), labels, truth)
