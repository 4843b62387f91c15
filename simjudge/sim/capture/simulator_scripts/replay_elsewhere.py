"""Replays a recording's camera in another simulator: reads poses and frames, and writes the script that moves it."""

from __future__ import annotations

from pathlib import Path

from simjudge.core.files import output_path
from simjudge.core.progress import Log, no_log
from simjudge.sim.capture.recorded_camera_path import CameraPathOptions, read_camera_path
from simjudge.sim.capture.simulator_scripts.script_writing import SimulatorScript, script_files, write_script
from simjudge.sim.sensors.camera.camera import Camera
from simjudge.sim.sensors.camera.camera_file import read_camera

_ALL = CameraPathOptions()


def write_replay_script(
    simulator: str,
    recording: str | Path,
    out: str | Path,
    *,
    camera: str | Path | Camera,
    options: CameraPathOptions = _ALL,
    log: Log = no_log,
) -> SimulatorScript:
    """Write the script that moves another simulator's camera along recorded poses, and the table of them.

    Args:
        simulator: "gazebo", "carla" or "chrono".
        recording: a recording with poses, or a text file of poses.
        out: the script, x.py; x.csv, and for Gazebo x.sdf, are written beside it.
        camera: the recorded camera: its lens and its rate count.
        options: what counts of the recording; its `align` is the pose of the poses' fixed frame in the simulator's
            world, right-handed with z up.
        log: receives lines that a person should read.

    Returns:
        What was written.

    Raises:
        UsageError: options do not go together, or a name is unknown.
        SimjudgeError: something cannot be read or written, poses do not suit the frames, or a file exists.
    """
    target = output_path(Path(out))
    script_files(simulator, target)
    seen_by = camera if isinstance(camera, Camera) else read_camera(camera)
    found = read_camera_path(recording, options, seen_by)
    source = found.source
    log(f"{len(source.frame_name)} frames; poses from {source.poses_from}; camera {seen_by.name} {found.mounted}")
    return write_script(simulator, target, source, found.path, seen_by)
