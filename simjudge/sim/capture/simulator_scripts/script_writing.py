"""Writes the script, the table of poses and the model by which another simulator replays a recording's camera."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from simjudge.core.errors import Losses, UsageError
from simjudge.core.files import atomic_file, check_output
from simjudge.core.installed import version
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.camera_path import CameraPath
from simjudge.sim.capture.replay_source import ReplaySource
from simjudge.sim.capture.simulator_scripts import carla, chrono, gazebo
from simjudge.sim.capture.simulator_scripts.simulator_poses import PinholeCamera, camera_body, carla_transform
from simjudge.sim.sensors.camera.camera import Camera
from simjudge.sim.sensors.camera.shutter import exposure_stamps

SIMULATORS = ("gazebo", "carla", "chrono")
_PACKAGES = ("carla", "gz", "pychrono", "numpy", "PIL")
"""What the scripts import."""
_SECOND = 1_000_000_000
_GAZEBO_STEP = 0.001
"""Seconds: the world's step where a world does not say it."""
_COLUMNS = {
    "gazebo": ("x", "y", "z", "qx", "qy", "qz", "qw"),
    "chrono": ("x", "y", "z", "e0", "e1", "e2", "e3"),
    "carla": ("x", "y", "z", "pitch", "yaw", "roll"),
}
_DIGITS = 9


@dataclass(frozen=True)
class SimulatorScript:
    """What was written.

    Attributes:
        path: the script.
        beside: the other files: the table of poses, and a model.
        frames: number of frames.
        notes: what a person should know: what the simulator's camera cannot show as the camera does.
        losses: frames and poses of the recording that could not be used.
    """

    path: Path
    beside: Sequence[Path]
    frames: int
    notes: Sequence[str]
    losses: Losses = field(default_factory=Losses, repr=False)

    def __str__(self) -> str:
        """One line for people."""
        files = " and ".join(path.name for path in self.beside)
        return f"{self.path}: moves the camera through {self.frames} frames, with {files} beside"


def script_files(simulator: str, out: Path) -> list[Path]:
    """The files that belong to a script, the script last.

    Args:
        simulator: of `SIMULATORS`.
        out: the script.

    Raises:
        UsageError: there is no such simulator, the name is no script's, or a file exists.
    """
    if simulator not in SIMULATORS:
        raise UsageError(f"--for {simulator}: one of {', '.join(SIMULATORS)} is needed")
    if out.suffix != ".py":
        raise UsageError(f"{out}: --for {simulator} writes a Python script; end its name in .py")
    if out.stem in _PACKAGES:
        raise UsageError(f"{out}: would hide the package {out.stem} from itself; choose another name")
    files = [out.with_suffix(".csv"), *([out.with_suffix(".sdf")] if simulator == "gazebo" else []), out]
    for file in files:
        check_output(file)
    return files


def write_script(
    simulator: str, out: Path, source: ReplaySource, path: CameraPath, camera: Camera
) -> SimulatorScript:
    """Write the files of one simulator.

    Args:
        simulator: of `SIMULATORS`.
        out: the script, ending in .py.
        source: frames and poses.
        path: of the camera. Each frame has its pose at the middle of the exposure.
        camera: the recorded camera.

    Returns:
        What was written.

    Raises:
        UsageError: the camera's lens sees too much for a pinhole, or as `script_files`.
    """
    files = script_files(simulator, out)
    asked = PinholeCamera.of(camera)
    notes = _notes(simulator, asked, camera)
    frames = list(zip(source.frame_name, source.stamp.tolist(), strict=True))
    poses = [path.in_scene([_middle(camera, stamp)], name)[0] for name, stamp in frames]
    words = _words(out, source, camera, asked)
    words["NOTES"] = "".join(f"* {note}\n" for note in notes)
    texts = [_table(simulator, frames, poses)]
    if simulator == "gazebo":
        texts.append(_model(words))
    template = {"gazebo": gazebo, "carla": carla, "chrono": chrono}[simulator].TEMPLATE
    texts.append(_filled(template, words))
    for file, text in zip(files, texts, strict=True):
        with atomic_file(file) as temporary:
            temporary.write_text(text, encoding="utf-8", newline="")
    return SimulatorScript(out, files[:-1], len(frames), notes, source.losses)


def _middle(camera: Camera, stamp: int) -> int:
    stamps = exposure_stamps(camera, stamp)
    return int((int(stamps[0]) + int(stamps[-1])) // 2)


def _notes(simulator: str, asked: PinholeCamera, camera: Camera) -> list[str]:
    notes = []
    if asked.bend:
        notes.append(
            f"The lens of {camera.name} is no pinhole. Pictures are taken with a wider pinhole; afterwards 'simjudge"
            f" filter FOLDER/frames.json OUT --to yolo --lens {camera.path.name}' bends pictures and boxes."
        )
    miss = asked.miss_of_centred()
    if miss and simulator != "gazebo":
        notes.append(
            f"{simulator} has square pixels and the principal point in the middle; {camera.name} has not: its pictures"
            f" show things up to {miss:.1f} px elsewhere."
        )
    if camera.steps:
        notes.append(f"Noise, blur and colours of {camera.name} are not the simulator's: 'simjudge filter --camera'.")
    return notes


def _words(out: Path, source: ReplaySource, camera: Camera, asked: PinholeCamera) -> dict[str, str]:
    """What stands between @ in the templates."""
    (width, height), (cx, cy) = asked.size, asked.corner_centre
    stem = "".join(letter if letter.isalnum() else "_" for letter in out.stem)
    return {
        "SOURCE": " ".join(source.poses_from.replace("\\", "/").replace('"', "'").split()),
        "VERSION": version(),
        "SCRIPT": out.name,
        "TABLE": out.with_suffix(".csv").name,
        "MODEL": out.with_suffix(".sdf").name,
        "STEM": out.stem,
        "NAME": f"simjudge_{stem}",
        "CAMERA": camera.name,
        "FRAME": (source.trajectory.frame_id or "(its name is not recorded)").replace('"', "'"),
        "WIDTH": str(width),
        "HEIGHT": str(height),
        "FIELD_DEG": f"{math.degrees(asked.field_of_view):.9g}",
        "FIELD_RAD": f"{asked.field_of_view:.12g}",
        "FX": f"{asked.focal[0]:.12g}",
        "FY": f"{asked.focal[1]:.12g}",
        "CX": f"{cx:.12g}",
        "CY": f"{cy:.12g}",
        "RATE": f"{camera.rate:.12g}",
        "TIME_STEP": f"{min(1 / camera.rate, 0.1):.9g}",
        "STEPS": str(max(1, round(1 / camera.rate / _GAZEBO_STEP))),
    }


def _model(words: Mapping[str, str]) -> str:
    """The SDF of Gazebo's camera; "--" must not stand in an XML comment."""
    safe = {key: value.replace("&", "and").replace("<", "").replace("--", "-") for key, value in words.items()}
    optics = [_filled(gazebo.OPTICS, {**safe, "BOX_TYPE": kind}) for kind in ("", gazebo.BOX_TYPE)]
    return _filled(gazebo.MODEL, {**safe, "OPTICS": optics[0], "BOX_OPTICS": optics[1]})


def _filled(template: str, words: Mapping[str, str]) -> str:
    """The template with each @WORD@ replaced, once: what is put in is not looked through again."""
    return re.sub("@([A-Z_]+)@", lambda found: words[found[1]], template)


def _table(simulator: str, frames: Iterable[tuple[str, int]], poses: Sequence[Pose]) -> str:
    """A row a frame: its name, its stamp, seconds since the first, the simulator's pose, and the optical frame's."""
    stream = io.StringIO()
    rows = csv.writer(stream, lineterminator="\n")
    optical = [f"optical_{name}" for name in ("x", "y", "z", "qx", "qy", "qz", "qw")]
    rows.writerow(["name", "stamp", "time", *_COLUMNS[simulator], *optical])
    first: int | None = None
    for (name, stamp), pose in zip(frames, poses, strict=True):
        first = stamp if first is None else first
        numbers = [*_numbers(simulator, pose), *pose.position, *pose.orientation]
        shown = [f"{value:.{_DIGITS}f}" for value in numbers]
        rows.writerow([name, stamp, f"{(stamp - first) / _SECOND:.9f}", *shown])
    return stream.getvalue()


def _numbers(simulator: str, optical: Pose) -> tuple[float, ...]:
    """A pose in the columns of a simulator."""
    if simulator == "carla":
        return carla_transform(optical)
    body = camera_body(optical)
    x, y, z, w = body.orientation
    return (*body.position, w, x, y, z) if simulator == "chrono" else (*body.position, x, y, z, w)
