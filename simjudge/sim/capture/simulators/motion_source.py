"""What boxes in space and things of known shape are seen with: poses at a stamp, and the camera_info of the images."""

from __future__ import annotations

from typing import Any, Protocol

from simjudge.geometry.poses import Pose


class MotionPoses(Protocol):
    """Poses of one thing in one frame."""

    def pose(self, stamp: int) -> Pose | None:
        """Interpolate the pose at a stamp.

        Args:
            stamp: nanoseconds.

        Returns:
            The pose; None where it is not known at that time.
        """


class MotionSource(Protocol):
    """A recording, or topics while a simulator runs."""

    def topic_motion(self, topic: str) -> MotionPoses:
        """The poses of a topic, whatever frame their headers name.

        Args:
            topic: of PoseStamped, PoseWithCovarianceStamped or Odometry.

        Raises:
            SimjudgeError: there are no such poses.
        """

    def frame_motion(self, parent: str, child: str) -> MotionPoses:
        """The poses of a frame of tf in another.

        Args:
            parent: the frame that the poses are in.
            child: the frame whose poses they are.

        Raises:
            SimjudgeError: tf does not say where the one is in the other.
        """

    def camera_info(self) -> Any:
        """The first sensor_msgs/CameraInfo of the images' camera.

        Raises:
            SimjudgeError: there is none, or several cameras.
        """
