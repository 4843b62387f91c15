"""A drive as one recording that the judge reads as it is: images, ground truth, detections, odometry, transforms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simjudge.capture.exposure import CapturedImage
from simjudge.capture.lock_step import MotionSample
from simjudge.capture.sensor_feed import SensorBatch
from simjudge.capture.sensor_record import SensorMessages
from simjudge.core.frames import FrameSet, Predictions
from simjudge.core.images import EncodedImage, RgbImage
from simjudge.data.rosbag2.interfaces import DETECTIONS, LABELS, standard_types
from simjudge.data.rosbag2.message_recording import MessageRecording
from simjudge.data.rosbag2.messages import MessageMaker
from simjudge.data.rosbag2.writing import DEFAULT_TOPICS
from simjudge.driving.closed_loop import ClosedLoop, DrivenFrame
from simjudge.sensors.camera.camera_messages import CAMERA_INFO_TOPIC, TF_TOPIC, CameraMessages
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
            UsageError: no camera_info can be made of the lens.
        """
        self._recording, self._loop = recording, loop
        types = standard_types().types
        self._car = VehicleMessages(lambda name: types[name])
        info = loop.camera.lens.camera_info(loop.camera.name)
        self._camera = CameraMessages(info.calibration, "")
        start = round(loop.engine.time * 1e9)
        self._sensors = SensorMessages(lambda name: types[name], loop.sensors, loop.engine.scene.class_names)
        mounts = {**loop.vehicle.mounts, **{spec.name: spec.mount for spec in loop.sensors if spec.body == CAR}}
        recording.write("/tf_static", start, self._car.fixed(start, mounts), latched=True)

    def record(self, event: MotionSample | SensorBatch | DrivenFrame) -> None:
        """Write an event of the loop.

        Args:
            event: a motion sample, readings or a frame.

        Raises:
            SimjudgeError: the disk is full.
        """
        if isinstance(event, MotionSample):
            self._recording.write(f"/{ODOMETRY_TOPIC}", event.time, self._car.odometry(event.time, event.state))
            self._recording.write(TF_TOPIC, event.time, self._car.moving(event.time, event.state))
        elif isinstance(event, SensorBatch):
            for topic, _, message in self._sensors.messages(event.events):
                self._recording.write(f"/{topic}", event.time, message)
        else:
            self._frame(event)

    def _frame(self, driven: DrivenFrame) -> None:
        time, stamp = driven.event.time, driven.event.stamp
        frames = single_frame_set(driven, self._loop)
        maker = MessageMaker(standard_types(), frames, np.array([stamp]))
        self._recording.write(CAMERA_INFO_TOPIC, time, self._camera.info(stamp))
        image = maker.image(0)
        if image is not None:
            self._recording.write(DEFAULT_TOPICS[image[0]], time, image[1])
        self._recording.write(DEFAULT_TOPICS[LABELS], time, maker.labels(0))
        self._recording.write(DEFAULT_TOPICS[DETECTIONS], time, maker.detections(0))
        self._recording.write(f"/{INPUT_TOPIC}", time, self._car.input(time, driven.command))


def single_frame_set(driven: DrivenFrame, loop: ClosedLoop) -> FrameSet:
    """A frame of a drive as a set of one frame.

    Args:
        driven: the frame.
        loop: the drive.
    """
    found = driven.detections
    return FrameSet.build(
        loop.engine.scene.name,
        [loop.camera.lens.size],
        driven.captured.truth.objects,
        Predictions.build(np.zeros(len(found)), found.class_id, found.box, found.score),
        stamp=[driven.event.stamp],
        class_names=dict(loop.engine.scene.class_names),
        images=_SingleImage(driven.captured.image),
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
