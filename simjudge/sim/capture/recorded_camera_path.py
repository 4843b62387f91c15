"""The path of a recorded camera, read from a recording and from options in metres, degrees and seconds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from simjudge.core.setting_groups import MotionLimitSettings
from simjudge.geometry.pose_noise import PoseNoise
from simjudge.geometry.poses import Pose
from simjudge.geometry.trajectories import MotionLimits, TrajectoryInterpolator
from simjudge.sim.capture.camera_path import CameraPath, camera_mount, parse_pose
from simjudge.sim.capture.capture_settings import (
    MountSettings,
    PoseNoiseSettings,
    RecordedFrameSettings,
    RecordedPoseSettings,
    SceneSeedSettings,
)
from simjudge.sim.capture.replay_plan import exposure_span
from simjudge.sim.capture.replay_source import ReplayOptions, ReplaySource, read_source
from simjudge.sim.sensors.camera.camera import Camera

_SECOND = 1_000_000_000
"""Nanoseconds."""


@dataclass(frozen=True, kw_only=True)
class CameraPathOptions(
    RecordedPoseSettings, RecordedFrameSettings, SceneSeedSettings, MountSettings, MotionLimitSettings,
    PoseNoiseSettings,
):  # fmt: skip
    """Where the poses are, where the camera is on the body, and which frames are made."""

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
