"""A drive as one recording that the judge reads as it is: images, ground truth, detections, odometry, transforms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from simjudge.capture.capture import CapturedFrame
from simjudge.capture.exposure import CapturedImage
from simjudge.capture.lock_step import MotionSample
from simjudge.capture.sensor_feed import SensorBatch
from simjudge.capture.sensor_record import SensorMessages
from simjudge.core.frames import FrameSet, Predictions
from simjudge.core.images import EncodedImage, RgbImage
from simjudge.data.rosbag2.interfaces import CAMERA_INFO, DETECTIONS, LABELS, standard_types
from simjudge.data.rosbag2.message_recording import MessageRecording
from simjudge.data.rosbag2.messages import CAMERA, MessageMaker, optical_frame
from simjudge.data.rosbag2.writing import camera_topics
from simjudge.driving.closed_loop import ClosedLoop, DriveEvent, DrivenCommand, RecordedFrame
from simjudge.geometry.poses import Pose
from simjudge.perception.detector import Detections
from simjudge.scene.model import Scene
from simjudge.sensors.camera.camera_messages import TF_TOPIC, CameraMessages
from simjudge.sensors.camera.rig import MountedCamera
from simjudge.sensors.sensor_spec import CAR
from simjudge.vehicle.vehicle_messages import INPUT_TOPIC, ODOMETRY_TOPIC, VehicleMessages


class DriveRecorder:
    """Writes what happens in a closed loop; everything at the simulated time at which it was there to be recorded."""

    def __init__(self, recording: MessageRecording, loop: ClosedLoop) -> None:
        """Begin with the transforms that stay: the poses of the sensors on the car.

        Args:
            recording: receives the messages.
            loop: the drive.

        Raises:
            UsageError: no camera_info can be made of a lens.
        """
        self._recording, self._loop = recording, loop
        types = standard_types().types
        self._car = VehicleMessages(lambda name: types[name])
        self._cameras = {
            each.name: _CameraRecorder(recording, each, loop.engine.scene, self._car) for each in loop.cameras
        }
        start = round(loop.engine.time * 1e9)
        self._sensors = SensorMessages(lambda name: types[name], loop.sensors, loop.engine.scene.class_names)
        mounts = {
            **fixed_mounts(loop.vehicle.mounts, loop.cameras),
            **{spec.name: spec.mount for spec in loop.sensors if spec.body == CAR},
        }
        recording.write("/tf_static", start, self._car.fixed(start, mounts, self._cameras), latched=True)

    def record(self, event: DriveEvent) -> None:
        """Write an event of the loop.

        Args:
            event: a motion sample, readings, a frame or a command.

        Raises:
            SimjudgeError: the disk is full.
        """
        if isinstance(event, MotionSample):
            self._recording.write(f"/{ODOMETRY_TOPIC}", event.time, self._car.odometry(event.time, event.state))
            self._recording.write(TF_TOPIC, event.time, self._car.moving(event.time, event.state))
        elif isinstance(event, SensorBatch):
            for topic, _, message in self._sensors.messages(event.events):
                self._recording.write(f"/{topic}", event.time, message)
        elif isinstance(event, RecordedFrame):
            self._cameras[event.event.camera].record(event.event.time, event.captured)
        elif isinstance(event, DrivenCommand):
            self._recording.write(f"/{INPUT_TOPIC}", event.time, self._car.input(event.time, event.command))
        else:
            time = event.event.time
            self._cameras[event.event.camera].record(time, event.captured, event.detections)


class _CameraRecorder:
    """Writes the frames of one camera."""

    def __init__(
        self, recording: MessageRecording, mounted: MountedCamera, scene: Scene, car: VehicleMessages
    ) -> None:
        self._recording, self._mounted, self._scene, self._car = recording, mounted, scene, car
        self._topics, self._frame_id = camera_topics(mounted.name), optical_frame(mounted.name)
        self._messages = CameraMessages(mounted.calibration(), "", self._frame_id)

    def record(self, time: int, captured: CapturedFrame, detections: Detections | None = None) -> None:
        """Write a frame, with what a detector found where one has looked."""
        frames = single_frame_set(captured, self._mounted.camera.lens.size, self._scene, detections)
        maker = MessageMaker(standard_types(), frames, np.array([captured.stamp]), self._frame_id)
        self._recording.write(self._topics[CAMERA_INFO], time, self._messages.info(captured.stamp))
        if self._mounted.follow is not None:
            where = self._car.placed(captured.stamp, {self._frame_id: captured.camera_pose})
            self._recording.write(TF_TOPIC, time, where)
        image = maker.image(0)
        if image is not None:
            self._recording.write(self._topics[image[0]], time, image[1])
        if captured.depth is not None:
            for topic, message in self._messages.depth(captured.stamp, captured.depth, self._mounted.name):
                self._recording.write(topic, time, message)
        self._recording.write(self._topics[LABELS], time, maker.labels(0))
        if detections is not None:
            self._recording.write(self._topics[DETECTIONS], time, maker.detections(0))


def fixed_mounts(mounts: Mapping[str, Pose], cameras: Sequence[MountedCamera]) -> dict[str, Pose]:
    """Where sensors and cameras sit on a car.

    Args:
        mounts: the car's own, by name. Its `camera` counts only where a camera has that name.
        cameras: of the car; those that follow it sit nowhere.

    Returns:
        Poses in base_link, by name.
    """
    own = {name: pose for name, pose in mounts.items() if name != CAMERA or CAMERA in {each.name for each in cameras}}
    return {**own, **{each.name: each.mount for each in cameras if each.follow is None}}


def single_frame_set(
    captured: CapturedFrame, size: tuple[int, int], scene: Scene, detections: Detections | None
) -> FrameSet:
    """A frame of a drive as a set of one frame.

    Args:
        captured: image and objects.
        size: width and height, pixels.
        scene: names the classes.
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
