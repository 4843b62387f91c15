"""The path of a recorded camera, read from a recording and from options in metres, degrees and seconds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from simjudge.geometry.pose_noise import PoseNoise
from simjudge.geometry.poses import Pose
from simjudge.geometry.trajectories import MotionLimits, TrajectoryInterpolator
from simjudge.sim.capture.camera_path import CameraPath, camera_mount, parse_pose
from simjudge.sim.capture.replay_plan import exposure_span
from simjudge.sim.capture.replay_source import ReplayOptions, ReplaySource, read_source
from simjudge.sim.sensors.camera.camera import Camera

_SECOND = 1_000_000_000
"""Nanoseconds."""


@dataclass(frozen=True)
class CameraPathOptions:
    """Where the poses are, where the camera is on the body, and which frames are made.

    Attributes:
        poses: topic of the poses, where the recording has several, or a text file of poses.
        parent: fixed frame, for poses from tf; None for the root.
        child: the body's frame, for poses from tf; None for base_link.
        image_topic: the real camera, where the recording has several.
        vehicle: file or name of the car whose base_link the poses are of; None for art1.
        mount: the camera on the body, in place of a car: see `camera_path.parse_mount`.
        align: pose of the poses' fixed frame in the scene, "x,y,z[,yaw[,pitch,roll]]", metres and degrees.
        time_offset: seconds that are added to an image's stamp to find its pose.
        start: seconds after the first frame at which the path begins.
        duration: seconds of it; None for all.
        rate: frames a second, at most; None for all.
        max_gap: poses further apart than this are not interpolated, seconds.
        max_speed: poses that imply more are a jump, m/s.
        max_turn: poses that imply more are a jump, degrees a second.
        skip_gaps: whether frames in gaps are left out; else they are an error.
        noise: whether each frame's pose gets an error.
        noise_angle: standard deviation of the error of yaw, pitch and roll, degrees.
        noise_position: standard deviation of the error of x, y and z, metres.
    """

    poses: str | Path | None = None
    parent: str | None = None
    child: str | None = None
    image_topic: str | None = None
    vehicle: str | Path | None = None
    mount: str | None = None
    align: str = "0,0,0"
    time_offset: float = 0.0
    start: float = 0.0
    duration: float | None = None
    rate: float | None = None
    max_gap: float = 0.5
    max_speed: float = 20.0
    max_turn: float = 720.0
    skip_gaps: bool = False
    noise: bool = False
    noise_angle: float = 1.0
    noise_position: float = 0.01
    seed: int = 0

    @property
    def alignment(self) -> Pose:
        """Pose of the poses' fixed frame in the scene."""
        return parse_pose("align", self.align)

    @property
    def offset(self) -> int:
        """Nanoseconds that are added to an image's stamp to find its pose."""
        return round(self.time_offset * _SECOND)

    @property
    def limits(self) -> MotionLimits:
        """How far apart poses may be, and how fast the body may move."""
        return MotionLimits(self.max_gap, self.max_speed, math.radians(self.max_turn), self.skip_gaps)


@dataclass(frozen=True)
class RecordedCameraPath:
    """What was read.

    Attributes:
        mounted: a phrase for people: where the camera is on the body.
    """

    source: ReplaySource
    path: CameraPath
    mounted: str


def read_camera_path(recording: str | Path, options: CameraPathOptions, camera: Camera) -> RecordedCameraPath:
    """Read poses and frames of a recording, and make the camera's path of them.

    Args:
        camera: its rate, where there are no images, and its exposure count.
    """
    limits, alignment = options.limits, options.alignment
    mount, mounted = camera_mount(options.vehicle, options.mount)
    wanted = ReplayOptions(
        Path(recording),
        None if options.poses is None else str(options.poses),
        options.parent,
        options.child,
        options.image_topic,
        options.offset,
        options.start,
        options.duration,
        options.rate,
    )
    source = read_source(wanted, camera.rate, exposure_span(camera), limits)
    noise = PoseNoise(math.radians(options.noise_angle), options.noise_position) if options.noise else None
    body = TrajectoryInterpolator(source.trajectory, limits)
    path = CameraPath(body, mount, alignment, options.offset, noise, options.seed)
    return RecordedCameraPath(source, path, mounted)
