"""The camera of another simulator's recording: its lens, and where it is at each stamp."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from simjudge.capture.simulators.recorded_motion import RecordedMotion, frame_motion, topic_motion
from simjudge.capture.simulators.simulator_file import CAMERA_FRAME, ImageFields
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.data.rosbag2.interfaces import CAMERA_INFO
from simjudge.data.rosbag2.recorded_poses import decoded_messages
from simjudge.data.rosbag2.recording import Recording
from simjudge.geometry.poses import Pose
from simjudge.sensors.camera.calibration_formats import message_calibration
from simjudge.sensors.camera.camera import Camera
from simjudge.sensors.camera.camera_file import read_camera
from simjudge.sensors.camera.lens import Lens
from simjudge.sensors.camera.lens_construction import lens_from_calibration

AXES: Mapping[str, Pose] = {
    "optical": Pose(),
    "body": Pose().optical_frame(),
    "opengl": Pose((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)),
}
"""Pose of the optical frame in a camera's frame of such axes."""


class CameraView:
    """Where the camera of a recording looks, and through which lens."""

    def __init__(self, recording: Recording, images: ImageFields, image_topic: str | None) -> None:
        """Remember where to look.

        Args:
            recording: open for reading.
            images: what the simulator's file says of the photographs.
            image_topic: of the photographs, where a person names it.
        """
        self._recording, self._images, self._topic = recording, images, image_topic
        self._motions: dict[str, RecordedMotion] = {}

    @cached_property
    def lens(self) -> Lens:
        """The lens of the photographs.

        Raises:
            SimjudgeError: the recording has no camera_info, or several, or one of a camera that is not calibrated.
        """
        if self._camera is not None:
            return self._camera.lens
        lens = lens_from_calibration(message_calibration(self._info))
        if self._images.info_from == "corner":
            return replace(lens, centre=(lens.centre[0] - 0.5, lens.centre[1] - 0.5))
        return lens

    def pose(self, frame: str, axes: str, stamp: int) -> Pose | None:
        """Find the optical frame's pose in another frame.

        Args:
            frame: a frame of tf, or "camera" for the camera's own.
            axes: of the camera's own frame, where it is that.
            stamp: nanoseconds.

        Returns:
            The pose; None where nothing was recorded near the stamp.

        Raises:
            SimjudgeError: the recording does not say where the camera is.
        """
        if frame == CAMERA_FRAME:
            return AXES[axes]
        if frame not in self._motions:
            self._motions[frame] = self._motion(frame)
        pose = self._motions[frame].pose(stamp)
        if pose is None:
            return None
        mount = self._images.mount
        return pose @ (AXES[self._images.axes] if mount is None else mount.pose().optical_frame())

    def _motion(self, frame: str) -> RecordedMotion:
        """The motion of what carries the camera, or of the camera."""
        if self._images.body is not None:
            return topic_motion(self._recording, self._images.body)
        carrier = self._images.body_frame or str(self._info.header.frame_id)
        return frame_motion(self._recording, frame, carrier)

    @cached_property
    def _camera(self) -> Camera | None:
        given = self._images.camera
        return None if given is None else read_camera(given)

    @cached_property
    def _info(self) -> Any:
        recording = self._recording
        found = sorted(info.topic for info in recording.topic_infos() if info.type == CAMERA_INFO)
        if len(found) > 1 and self._topic is not None:
            near = self._topic.strip("/")
            found = [name for name in found if near.startswith(name.rpartition("/")[0].strip("/"))]
        if len(found) != 1:
            what = f"several camera_info ({', '.join(found)}); choose the camera with --image-topic" if found else (
                "no camera_info; record it, or give images: {camera: FILE} in a file of the simulator"
            )
            raise SimjudgeError(f"{recording.path}: {what}: boxes in space are seen through the camera's lens")
        info = next((message for _, message in decoded_messages(recording, {found[0]}, Losses())), None)
        if info is None or not np.isfinite(np.asarray(info.k, np.float64)).all():
            raise SimjudgeError(f"{recording.path}: no message on {found[0]} can be read")
        return info
