"""The camera of another simulator: its lens, and where it is at each stamp."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from simjudge.geometry.poses import Pose
from simjudge.sim.capture.simulators.motion_source import MotionPoses, MotionSource
from simjudge.sim.capture.simulators.simulator_file import CAMERA_FRAME, ImageFields
from simjudge.sim.sensors.camera.calibration_file import message_calibration
from simjudge.sim.sensors.camera.camera import Camera
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera.lens import Lens, lens_from_calibration

AXES: Mapping[str, Pose] = {
    "optical": Pose(),
    "body": Pose().optical_frame(),
    "opengl": Pose((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)),
}
"""Pose of the optical frame in a camera's frame of such axes."""


class CameraView:
    """Where the camera of a simulator looks, and through which lens."""

    def __init__(self, source: MotionSource, images: ImageFields) -> None:
        """Remember where to look."""
        self._source, self._images = source, images
        self._motions: dict[str, MotionPoses] = {}

    @cached_property
    def lens(self) -> Lens:
        """The lens of the photographs."""
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
            stamp: nanoseconds.

        Returns:
            The pose; None where nothing is known near the stamp.
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

    def _motion(self, frame: str) -> MotionPoses:
        """The motion of what carries the camera, or of the camera."""
        if self._images.body is not None:
            return self._source.topic_motion(self._images.body)
        carrier = self._images.body_frame or str(self._info.header.frame_id)
        return self._source.frame_motion(frame, carrier)

    @cached_property
    def _camera(self) -> Camera | None:
        given = self._images.camera
        return None if given is None else read_camera(given)

    @cached_property
    def _info(self) -> Any:
        return self._source.camera_info()
