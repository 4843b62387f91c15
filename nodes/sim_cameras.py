"""The cameras of a simulated car: each frame is taken when it is handed over, and published on its camera's topics."""

from __future__ import annotations

from collections.abc import Sequence

from simjudge.data.rosbag2.writing import optical_frame
from simjudge.sim.capture.capture import Capture, CapturedFrame
from simjudge.sim.capture.ground_truth import Labelling
from simjudge.sim.capture.lock_step import FrameEvent
from simjudge.sim.engines.contract import Engine
from simjudge.sim.sensors.camera.rig import MountedCamera

from .runtime import SimjudgeNode
from .simulated_camera import SimulatedCamera
from .simulated_car import SimulatedCar


class SimCameras:
    """Takes and publishes frames.

    Attributes:
        driving: the topics of the camera that drives.
    """

    def __init__(
        self, node: SimjudgeNode, engine: Engine, cameras: Sequence[MountedCamera], seed: int, reliability: str,
        frame_prefix: str = "",
    ) -> None:  # fmt: skip
        """Create the publishers."""
        self.cameras = cameras
        names = engine.scene.class_names
        self._captures = {
            each.name: Capture(engine, each.camera, Labelling(), each.noise_seed(seed)) for each in cameras
        }
        self._topics = {
            each.name: SimulatedCamera(
                node, each, names, frame_id=frame_prefix + optical_frame(each.name), reliability=reliability
            )
            for each in cameras
        }
        self._following = {each.name for each in cameras if each.follow is not None}
        self.driving = self._topics[cameras[0].name]

    @property
    def published(self) -> int:
        """Frames so far, of all cameras."""
        return sum(each.published for each in self._topics.values())

    def restart(self) -> None:
        """Begin a new drive: automatic exposure knows nothing of the last one."""
        for each in self._captures.values():
            each.metered = None

    def drives(self, event: FrameEvent) -> bool:
        """Whether a frame is one of the camera that drives."""
        return event.camera == self.cameras[0].name

    def publish(self, event: FrameEvent, offset: int, car: SimulatedCar) -> CapturedFrame | None:
        """Take a frame and publish it. A frame of a camera that does not drive is made only where somebody looks.

        Args:
            offset: nanoseconds added to the engine's time.

        Returns:
            The frame; None where none was made.
        """
        topics, stamp = self._topics[event.camera], offset + event.stamp
        if event.camera in self._following:
            car.publish_camera(stamp, event.camera, event.exposure.middle.camera)
        if not self.drives(event) and not topics.subscriber_count:
            return None
        frame = self._captures[event.camera].capture(event.exposure, image=topics.image_subscriber_count > 0)
        topics.publish(stamp, frame.image, frame.truth.objects, frame.labels, depth=frame.depth)
        return frame
