"""Replays a recording's camera in another simulator: reads poses and frames, and writes the script that moves it."""

from __future__ import annotations

import math
from pathlib import Path

from simjudge.capture.camera_path import CameraPath, camera_mount, parse_pose
from simjudge.capture.replay_plan import exposure_span
from simjudge.capture.replay_source import ReplayOptions, read_source
from simjudge.capture.simulator_scripts.script_writing import SimulatorScript, script_files, write_script
from simjudge.core.files import output_path
from simjudge.core.progress import Log, no_log
from simjudge.geometry.pose_noise import PoseNoise
from simjudge.geometry.trajectories import MotionLimits, TrajectoryInterpolator
from simjudge.sensors.camera.camera import Camera
from simjudge.sensors.camera.camera_file import read_camera

_SECOND = 1_000_000_000
"""Nanoseconds."""


def write_replay_script(  # noqa: PLR0913 - the options of the command
    simulator: str,
    recording: str | Path,
    out: str | Path,
    *,
    camera: str | Path | Camera,
    poses: str | Path | None = None,
    parent: str | None = None,
    child: str | None = None,
    image_topic: str | None = None,
    vehicle: str | Path | None = None,
    mount: str | None = None,
    align: str = "0,0,0",
    time_offset: float = 0.0,
    start: float = 0.0,
    duration: float | None = None,
    rate: float | None = None,
    max_gap: float = 0.5,
    max_speed: float = 20.0,
    max_turn: float = 720.0,
    skip_gaps: bool = False,
    noise: bool = False,
    noise_angle: float = 1.0,
    noise_position: float = 0.01,
    seed: int = 0,
    log: Log = no_log,
) -> SimulatorScript:
    """Write the script that moves another simulator's camera along recorded poses, and the table of them.

    Args:
        simulator: "gazebo", "carla" or "chrono".
        recording: a recording with poses, or a TUM or CSV text file of poses.
        out: the script, x.py; x.csv, and for Gazebo x.sdf, are written beside it.
        camera: the recorded camera: its lens and its rate count.
        poses, parent, child, image_topic, vehicle, mount, time_offset, start, duration, rate: as for `replay`.
        align: pose of the poses' fixed frame in the simulator's world, right-handed with z up.
        max_gap, max_speed, max_turn, skip_gaps, noise, noise_angle, noise_position, seed: as for `replay`.
        log: receives lines that a person should read.

    Returns:
        What was written.

    Raises:
        UsageError: options do not go together, or a name is unknown.
        SimjudgeError: something cannot be read or written, poses do not suit the frames, or a file exists.
    """
    target = output_path(Path(out))
    script_files(simulator, target)
    offset = round(time_offset * _SECOND)
    limits = MotionLimits(max_gap, max_speed, math.radians(max_turn), skip_gaps)
    seen_by = camera if isinstance(camera, Camera) else read_camera(camera)
    mounted, where = camera_mount(vehicle, mount)
    topic_or_file = None if poses is None else str(poses)
    options = ReplayOptions(Path(recording), topic_or_file, parent, child, image_topic, offset, start, duration, rate)
    source = read_source(options, seen_by.rate, exposure_span(seen_by), limits)
    errors = PoseNoise(math.radians(noise_angle), noise_position) if noise else None
    path = CameraPath(
        TrajectoryInterpolator(source.trajectory, limits), mounted, parse_pose("align", align), offset, errors, seed
    )
    log(f"{len(source.frame_name)} frames; poses from {source.poses_from}; camera {seen_by.name} {where}")
    return write_script(simulator, target, source, path, seen_by)
