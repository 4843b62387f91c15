"""What a recording holds of a camera's frames, message by message as they are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from simjudge.core.frames import FrameSet
from simjudge.core.images import EncodedImage, RgbImage
from simjudge.core.object_tables import Predictions
from simjudge.data.rosbag2.interfaces import CAMERA_INFO, DETECTIONS, LABELS, standard_types
from simjudge.data.rosbag2.live_recording import MessageRecording
from simjudge.data.rosbag2.writing import CAMERA, MessageMaker, camera_topics, optical_frame
from simjudge.detectors.detector import Detections
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.capture import CapturedFrame
from simjudge.sim.capture.exposure import CapturedImage
from simjudge.sim.scene.model import Scene
from simjudge.sim.sensors.camera.camera_messages import TF_TOPIC, CameraMessages
from simjudge.sim.sensors.camera.rig import MountedCamera
from simjudge.sim.vehicle.vehicle_messages import VehicleMessages


class CameraRecorder:
    """Writes the frames of one camera: image, camera_info, labels, depth, and what else is asked for."""

    def __init__(
        self, recording: MessageRecording, mounted: MountedCamera, scene: Scene, car: VehicleMessages, *,
        placed: bool = False, label_images: bool = False,
    ) -> None:  # fmt: skip
        """Remember where to write.

        Args:
            placed: whether each frame says where the camera is, which sits on no car.
            label_images: whether the class and the instance of each pixel are written too.
        """
        self._placed, self._label_images = placed or mounted.follow is not None, label_images
        self._recording, self._mounted, self._scene, self._car = recording, mounted, scene, car
        self._topics, self._frame_id = camera_topics(mounted.name), optical_frame(mounted.name)
        self._messages = CameraMessages(mounted.calibration(), "", self._frame_id)

    def record(self, time: int, captured: CapturedFrame, detections: Detections | None = None) -> None:
        """Write a frame.

        Args:
            time: of the recording, nanoseconds.
            detections: what a detector found; None where none has looked.
        """
        frames = single_frame_set(captured, self._mounted.camera.lens.size, self._scene, detections)
        maker = MessageMaker(standard_types(), frames, np.array([captured.stamp]), self._frame_id)
        self._recording.write(self._topics[CAMERA_INFO], time, self._messages.info(captured.stamp))
        if self._placed:
            where = self._car.placed(captured.stamp, {self._frame_id: captured.camera_pose})
            self._recording.write(TF_TOPIC, time, where)
        image = maker.image(0)
        if image is not None:
            self._recording.write(self._topics[image[0]], time, image[1])
        if captured.depth is not None:
            for topic, message in self._messages.depth(captured.stamp, captured.depth, self._mounted.name):
                self._recording.write(topic, time, message)
        if self._label_images:
            for kind, values in (("semantic", captured.labels.class_id), ("instance", captured.labels.instance)):
                topic, message = self._messages.label_image(captured.stamp, kind, values, self._mounted.name)
                self._recording.write(topic, time, message)
        self._recording.write(self._topics[LABELS], time, maker.labels(0))
        if detections is not None:
            self._recording.write(self._topics[DETECTIONS], time, maker.detections(0))


def fixed_mounts(mounts: Mapping[str, Pose], cameras: Sequence[MountedCamera]) -> dict[str, Pose]:
    """Where sensors and cameras sit on a car.

    Args:
        mounts: the car's own, by name. Its `camera` counts only where a camera has that name.
    """
    own = {name: pose for name, pose in mounts.items() if name != CAMERA or CAMERA in {each.name for each in cameras}}
    return {**own, **{each.name: each.mount for each in cameras if each.follow is None}}


def single_frame_set(
    captured: CapturedFrame, size: tuple[int, int], scene: Scene, detections: Detections | None
) -> FrameSet:
    """A frame of a drive as a set of one frame.

    Args:
        size: width and height, pixels.
        detections: what a detector found; None where none has looked.
    """
    found = None
    if detections is not None:
        zeros = np.zeros(len(detections))
        found = Predictions.build(zeros, detections.class_id, detections.box, detections.score)
    return FrameSet.build(
        scene.name,
        [size],
        captured.truth.objects,
        found,
        stamp=[captured.stamp],
        class_names=dict(scene.class_names),
        images=_SingleImage(captured.image),
    )


@dataclass(frozen=True)
class _SingleImage:
    """The image of a set of one frame."""

    image: CapturedImage | None

    def __len__(self) -> int:
        return 1

    def has(self, index: int) -> bool:
        """Whether the image was made."""
        return index == 0 and self.image is not None

    def read(self, index: int) -> RgbImage:
        """Its pixels."""
        del index
        assert self.image is not None  # noqa: S101 - has() says so
        return self.image.pixels

    def read_encoded(self, index: int) -> EncodedImage | None:
        """The camera's JPEG, else a PNG."""
        del index
        return None if self.image is None else self.image.stored()
