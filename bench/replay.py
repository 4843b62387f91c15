"""Time of a replay: paired 720p frames of the lab, from poses to a recording on the disk."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from simjudge.geometry.poses import Pose
from simjudge.geometry.trajectories import MotionLimits, TrajectoryInterpolator
from simjudge.sim.capture.camera_poses import CameraPath, camera_mount
from simjudge.sim.capture.frame_store import FrameStore
from simjudge.sim.capture.replay_plan import ReplayOptions, ReplayPlan, read_source
from simjudge.sim.capture.replaying import render_missing, write_replay
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.scene.model import Scene
from simjudge.sim.scene.read import read_scene
from simjudge.sim.sensors.camera.camera_file import read_camera

Row = tuple[str, str, str, str]
_FRAMES, _WANTED = 20, 300


def poses(scene: Scene) -> str:
    """The car along the scene's course at 1 m/s, a hundred times a second, as TUM rows."""
    line = np.array([[0.0, 0.0], [3.0, 0.0]]) if scene.course is None else scene.course.centre_line
    gone = np.r_[0, np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))]
    out = []
    for at in np.arange(0, 1, 0.01):
        here, ahead = (np.array([np.interp(s, gone, column) for column in line.T]) for s in (at, at + 0.05))
        yaw = float(np.arctan2(*(ahead - here)[::-1]))
        pose = Pose.from_euler(float(here[0]), float(here[1]), yaw=yaw)
        out.append(" ".join(f"{value:.9f}" for value in (at, *pose.position, *pose.orientation)))
    return "\n".join(out)


def rows() -> Iterator[Row]:
    """The measured line: some frames are timed, after one that compiles; 300 of them follow from those."""
    scene, camera = read_scene("lab"), read_camera("plain")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "poses.txt").write_text(poses(scene), encoding="utf-8")
        source = read_source(ReplayOptions(folder / "poses.txt"), camera.rate, (0, 0), MotionLimits())
        path = CameraPath(TrajectoryInterpolator(source.trajectory), camera_mount("art1", None)[0])
        engine = make_engine("default", scene)
        times = {}
        for count in (1, _FRAMES):
            part = replace(source, frame_name=source.frame_name[:count], stamp=source.stamp[:count])
            what, out = ReplayPlan(part, path, camera), folder / f"{count}.mcap"
            start = time.perf_counter()
            store = FrameStore.beside(out, {})
            render_missing(engine, what, store, lambda _done, _total: None)
            write_replay(what, store, scene.class_names, out, {})
            times[count] = time.perf_counter() - start
        size = (folder / f"{_FRAMES}.mcap").stat().st_size / _FRAMES / 1e6
        engine.close()
    each = times[_FRAMES] / _FRAMES
    whole = times[1] + _WANTED * each
    beside = f"{each:.2f} s a frame, {times[1]:.1f} s for the first; {size:.1f} MB a frame"
    yield f"replay: {_WANTED} paired 1280x720 frames, lab, plain", f"{whole / 60:.1f} min", "6 min", beside
