"""The path of a camera on a body with recorded poses, in the recording's fixed frame and in a scene."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.geometry.poses import OPTICAL_ORIENTATION, Pose, PoseNoise
from simjudge.geometry.trajectories import TrajectoryInterpolator
from simjudge.sim.vehicle.vehicle import read_vehicle

MOUNTS = ("body", "optical")
DEFAULT_CAR = "art1"  # The vehicle that carries the camera where none is named
_CAMERA = "camera"  # The name of its mount in a vehicle's file


@dataclass(frozen=True)
class CameraPath:
    """A camera's path through a scene."""

    body: TrajectoryInterpolator  # poses of the body in the recording's fixed frame
    mount: Pose  # pose of the camera's optical frame in the body
    alignment: Pose = field(default_factory=Pose)  # pose of the recording's fixed frame in the scene
    offset: int = 0  # nanoseconds that are added to a frame's stamp to get the poses' time
    noise: PoseNoise | None = None  # errors of the body's poses, one for each frame; None for none
    seed: int = 0

    def recorded(self, stamp: npt.ArrayLike, frame_name: str) -> list[Pose]:
        """The optical frame in the recording's fixed frame at stamps int64 (N,), nanoseconds, noise included."""
        error = Pose() if self.noise is None else self.noise.error(self.seed, frame_name)
        mount = error @ self.mount
        return [pose @ mount for pose in self.body.poses(np.asarray(stamp, np.int64) + self.offset)]

    def in_scene(self, stamp: npt.ArrayLike, frame_name: str) -> list[Pose]:
        """The optical frame in the scene's world at times during one frame, noise included (stamp: int64 (N,))."""
        return [self.alignment @ pose for pose in self.recorded(stamp, frame_name)]


def camera_mount(vehicle: str | Path | None, mount: str | None) -> tuple[Pose, str]:
    """The optical frame in the body whose poses are recorded."""
    if mount is not None:
        if vehicle is not None:
            raise UsageError("--vehicle brings a mount for the camera: leave out --mount, or --vehicle")
        return parse_mount(mount), f"at {mount} of the body"
    car = read_vehicle(vehicle or DEFAULT_CAR)
    if _CAMERA not in car.mounts:
        mounts = ", ".join(car.mounts) or "none"
        raise SimjudgeError(f"vehicle {car.name}: has no mount {_CAMERA!r} (it has {mounts}); give --mount")
    return car.mounts[_CAMERA].optical_frame(), f"where {car.name} carries it"


def parse_mount(text: str) -> Pose:
    """The optical frame in the body, from "x,y,z[,yaw,pitch,roll]" (metres, degrees), "body" or "optical"."""
    if text == "optical":
        return Pose()
    return (
        Pose(orientation=OPTICAL_ORIENTATION) if text == "body" else parse_pose("mount", text, (3, 6)).optical_frame()
    )


def parse_pose(option: str, text: str, counts: Sequence[int] = (3, 4, 6)) -> Pose:
    """A pose from text (text: "x,y,z", "x,y,z,yaw" or "x,y,z,yaw,pitch,roll"; metres and degrees)."""
    forms = {3: "x,y,z", 4: "x,y,z,yaw", 6: "x,y,z,yaw,pitch,roll"}
    parts = text.split(",")
    try:
        numbers = [float(part) for part in parts]
        yaw, pitch, roll = (math.radians(angle) for angle in [*numbers[3:], 0, 0, 0][:3])
        pose = Pose.from_euler(*[*numbers, 0, 0][:3], yaw=yaw, pitch=pitch, roll=roll)
    except (ValueError, SimjudgeError):
        parts = []
    if len(parts) not in counts:
        usual = " or ".join(forms[count] for count in counts)
        words = f", or {' or '.join(MOUNTS)}" if option == "mount" else ""
        raise UsageError(f"--{option} {text}: give {usual} in metres and degrees{words}")
    return pose
