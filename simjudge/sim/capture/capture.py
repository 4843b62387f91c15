"""A camera in a scene: from an engine to labelled frames, by one way for all users.

`simjudge render`, `replay`, `drive`, `engines compare`, `sim_node` and `replay_node` all take their frames from
`Capture`. What differs between them is the `FrameExposure`: where the camera and the bodies are during a frame.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simjudge.core.display import ShortRepr
from simjudge.core.images import EncodedImage, RgbImage
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.exposure import CapturedImage, FrameExposure, Metering, develop, gather_light
from simjudge.sim.capture.ground_truth import GroundTruth, ground_truth
from simjudge.sim.capture.label_rules import Labelling
from simjudge.sim.capture.ray_timing import engine_with_ray_times, timed_exposure
from simjudge.sim.engines.contract import Engine, Labels
from simjudge.sim.engines.ray_times import TimedExposure
from simjudge.sim.scene.model import Scene
from simjudge.sim.sensors.camera.camera import Camera, MeteredFrame
from simjudge.sim.sensors.camera.chain import frame_seed
from simjudge.sim.sensors.camera.depth_filters import DepthImage


@dataclass(frozen=True, eq=False, repr=False)
class RawFrame(ShortRepr):
    """What an engine gave for one frame, before the camera's electronics.

    Attributes:
        exposure: where the camera and the bodies were.
        timed: when each ray saw the scene, where rays have times of their own; None: all in the exposure's moments.
        scene: the scene that the engine had then.
        light: linear radiance (H, W, 3) on the sensor; None where no image is wanted.
        labels: class, instance and depth (H, W) in the middle of the exposure, of each row's own where rows differ.
        light_seconds: time that the light took, seconds of the wall clock.
        label_seconds: time that the labels took, likewise.
    """

    exposure: FrameExposure
    timed: TimedExposure | None
    scene: Scene
    light: npt.NDArray[np.float32] | None
    labels: Labels
    light_seconds: float
    label_seconds: float


@dataclass(frozen=True, eq=False)
class CapturedFrame:
    """A labelled frame.

    Attributes:
        exposure: where the camera and the bodies were.
        image: what the camera made of the light; None where no image was wanted.
        labels: class (semantic), instance and depth images, (H, W) each, in the middle of the exposure.
        truth: the labelled objects, with their visible pixels.
        depth: the camera's depth image; None where it has none.
    """

    exposure: FrameExposure
    image: CapturedImage | None
    labels: Labels
    truth: GroundTruth
    depth: DepthImage | None = None

    @property
    def frame_name(self) -> str:
        """The frame's name."""
        return self.exposure.frame_name

    @property
    def stamp(self) -> int:
        """Start of the exposure, nanoseconds."""
        return self.exposure.stamp

    @property
    def camera_pose(self) -> Pose:
        """The optical frame in the world, in the middle of the exposure."""
        return self.exposure.middle.camera

    def pixels(self) -> RgbImage:
        """The image's pixels, (H, W, 3), uint8 RGB."""
        return self._image().pixels

    def stored_image(self) -> EncodedImage:
        """The image as a file: the camera's JPEG, else a PNG."""
        return self._image().stored()

    def _image(self) -> CapturedImage:
        if self.image is None:
            raise ValueError(f"{self.frame_name}: was captured without an image")
        return self.image


class FrameFinisher:
    """Makes labelled frames of what an engine has given, in the order of their stamps.

    Attributes:
        camera: lens, exposure and chain of filters.
        metered: the last image's exposure and brightness, by which automatic exposure chooses the next; None: the next
            image is exposed as if the camera had looked at its scene for long.
    """

    def __init__(
        self, camera: Camera, labelling: Labelling | None = None, seed: int = 0, *, masks: bool = False
    ) -> None:
        """Remember the camera.

        Args:
            labelling: which objects are labelled; None for the defaults.
            masks: whether the objects get pixel masks too.
        """
        self.camera = camera
        self._labelling, self._seed, self._masks = labelling or Labelling(), seed, masks
        self.metered: MeteredFrame | None = None

    def finish(self, raw: RawFrame) -> CapturedFrame:
        """Develop the image of an observed frame and find its objects. This may run beside the next `observe`.

        With automatic exposure, frames must be finished in the order of their stamps.

        Args:
            raw: an observed frame; the engine may have another scene by now.
        """
        camera, exposure = self.camera, raw.exposure
        truth = ground_truth(
            raw.scene, camera.lens, exposure.middle, raw.labels, self._labelling, timed=raw.timed, masks=self._masks
        )
        depth = None if camera.depth is None else camera.depth.measure(
            raw.labels.depth, camera.lens.focal[0], frame_seed(self._seed, exposure.frame_name)
        )  # fmt: skip
        if raw.light is None:
            return CapturedFrame(exposure, None, raw.labels, truth, depth)
        image = develop(
            camera, raw.light, exposure.frame_name, self._seed, Metering(exposure.stamp, self.metered)
        )  # fmt: skip
        self.metered = image.metered
        return CapturedFrame(exposure, image, raw.labels, truth, depth)


class Capture(FrameFinisher):
    """A camera before an engine; it turns exposures into labelled frames."""

    def __init__(
        self,
        engine: Engine,
        camera: Camera,
        labelling: Labelling | None = None,
        seed: int = 0,
        *,
        masks: bool = False,
    ) -> None:
        """Put a camera before an engine.

        Args:
            labelling: which objects are labelled; None for the defaults.
            masks: whether the objects get pixel masks too.
        """
        if camera.has_ray_times:
            engine_with_ray_times(engine, camera)
        super().__init__(camera, labelling, seed, masks=masks)
        self.engine = engine

    def observe(self, exposure: FrameExposure, *, image: bool = True) -> RawFrame:
        """Take light and labels of an exposure from the engine. This is all of a frame that needs the engine.

        Args:
            image: whether an image is wanted; without one, only labels are made.
        """
        timed = timed_exposure(self.camera, exposure, self._seed)
        begin = time.perf_counter()
        light = self._light(exposure, timed) if image else None
        lit = time.perf_counter()
        labels = self._labels(exposure, timed)
        return RawFrame(exposure, timed, self.engine.scene, light, labels, lit - begin, time.perf_counter() - lit)

    def _light(self, exposure: FrameExposure, timed: TimedExposure | None) -> npt.NDArray[np.float32]:
        if timed is None:
            return gather_light(self.engine, self.camera, exposure.scene_states)
        engine = engine_with_ray_times(self.engine, self.camera)
        return engine.render_timed(self.camera.lens, timed, self.camera.rays_per_pixel)

    def _labels(self, exposure: FrameExposure, timed: TimedExposure | None) -> Labels:
        if timed is None:
            return self.engine.labels(self.camera.lens, exposure.middle)
        return engine_with_ray_times(self.engine, self.camera).labels_timed(self.camera.lens, timed)

    def capture(self, exposure: FrameExposure, *, image: bool = True) -> CapturedFrame:
        """Make the labelled frame of an exposure.

        Args:
            image: whether an image is wanted; without one, only labels are made.
        """
        return self.finish(self.observe(exposure, image=image))
