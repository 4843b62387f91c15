"""Replays a recording's camera in another simulator: writes the script, the poses and the model that it needs.

Other simulators say a camera's pose so:

| simulator | axes of the world | the camera looks along | angles |
| --- | --- | --- | --- |
| Gazebo | x, y, z up, right-handed, metres | its x, z up | roll, pitch, yaw about fixed axes, radians |
| Chrono | the same | its x, z up | quaternion, real part first |
| CARLA | x ahead, y **right**, z up, left-handed, metres | its x, z up | pitch up, yaw right, roll right, degrees |

Source: SDFormat's `<pose>` (http://sdformat.org/tutorials?tut=specify_pose), Chrono::Sensor's ChCameraSensor, CARLA's
`carla.Rotation` (https://carla.readthedocs.io/en/latest/python_api/#carlarotation) and Unreal's FRotator.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from simjudge.core.errors import Log, Losses, UsageError, no_log
from simjudge.core.files import atomic_file, check_output, output_path
from simjudge.core.installed import version
from simjudge.geometry.poses import OPTICAL_ORIENTATION, Pose
from simjudge.sim.capture.camera_poses import CameraPath
from simjudge.sim.capture.replay_plan import CameraPathOptions, ReplaySource, read_camera_path
from simjudge.sim.capture.simulator_scripts import (
    CARLA_SCRIPT,
    CHRONO_SCRIPT,
    GAZEBO_BOX_TYPE,
    GAZEBO_MODEL,
    GAZEBO_OPTICS,
    GAZEBO_SCRIPT,
)
from simjudge.sim.sensors.camera.camera import Camera, exposure_stamps
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera.filtering import Bend

_OPTICAL_IN_BODY = Pose(orientation=OPTICAL_ORIENTATION)
_CENTRED_PX = 0.01  # Pixels by which a principal point may miss the middle and still be it


def camera_body(optical: Pose) -> Pose:
    """The camera's body: x ahead, y left, z up (optical: pose of the optical frame: x right, y down, z ahead)."""
    return optical @ _OPTICAL_IN_BODY.inverse()


def carla_transform(optical: Pose) -> tuple[float, float, float, float, float, float]:
    """A camera's pose as CARLA has it: x, y, z (metres, y to the right), and pitch, yaw, roll (degrees)."""
    body = camera_body(optical)
    yaw, pitch, roll = (math.degrees(angle) for angle in body.angles())
    x, y, z = body.position
    return x, -y, z, -pitch, -yaw, roll


@dataclass(frozen=True)
class PinholeCamera:
    """The pinhole camera that another simulator is asked for."""

    size: tuple[int, int]  # width and height, pixels
    focal: tuple[float, float]  # pixels, across and down
    centre: tuple[float, float]  # the principal point, pixels, (0, 0) at the middle of the first pixel
    bend: bool  # whether the camera's lens is no pinhole: `simjudge data filter --lens` bends the pictures afterwards

    @classmethod
    def of(cls, camera: Camera) -> PinholeCamera:
        """The pinhole camera whose pictures stand for those of a camera that sees less than 180 degrees."""
        lens = camera.lens
        if lens.model == "pinhole":
            return cls(lens.size, lens.focal, lens.centre, bend=False)
        scale, middle = Bend.of(camera).scale, ((lens.size[0] - 1) / 2, (lens.size[1] - 1) / 2)
        return cls(lens.size, (scale, scale), middle, bend=True)

    @property
    def field_of_view(self) -> float:
        """The horizontal field of a picture whose principal point is in the middle, radians."""
        return 2 * math.atan(self.size[0] / 2 / self.focal[0])

    @property
    def corner_centre(self) -> tuple[float, float]:
        """The principal point, pixels, (0, 0) at the outer corner of the first pixel."""
        return self.centre[0] + 0.5, self.centre[1] + 0.5

    def miss_of_centred(self) -> float:
        """Pixels by which a camera with square pixels and a centred principal point shows this one's corners off."""
        aside = max(abs(self.corner_centre[axis] - self.size[axis] / 2) for axis in (0, 1))
        square = abs(self.focal[1] / self.focal[0] - 1) * self.size[1] / 2
        return aside + square if aside + square > _CENTRED_PX else 0.0


SIMULATORS = ("gazebo", "carla", "chrono")
_PACKAGES = ("carla", "gz", "pychrono", "numpy", "PIL")  # What the scripts import
_SECOND = 1_000_000_000
_GAZEBO_STEP = 0.001  # Seconds: the world's step where a world does not say it
_COLUMNS = {
    "gazebo": ("x", "y", "z", "qx", "qy", "qz", "qw"),
    "chrono": ("x", "y", "z", "e0", "e1", "e2", "e3"),
    "carla": ("x", "y", "z", "pitch", "yaw", "roll"),
}
_DIGITS = 9


@dataclass(frozen=True)
class SimulatorScript:
    """What was written."""

    path: Path
    beside: Sequence[Path]  # the other files: the table of poses, and a model
    frames: int  # number of frames
    notes: Sequence[str]  # what a person should know: what the simulator's camera cannot show as the camera does
    # Frames and poses of the recording that could not be used.
    losses: Losses = field(default_factory=Losses, repr=False)

    def __str__(self) -> str:
        files = " and ".join(path.name for path in self.beside)
        return f"{self.path}: moves the camera through {self.frames} frames, with {files} beside"


def script_files(simulator: str, out: Path) -> list[Path]:
    """The files that belong to a script, the script last (simulator of `SIMULATORS`; out: the script)."""
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


def write_script(simulator: str, out: Path, source: ReplaySource, path: CameraPath, camera: Camera) -> SimulatorScript:
    """Write the files of one simulator."""
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
    template = {"gazebo": GAZEBO_SCRIPT, "carla": CARLA_SCRIPT, "chrono": CHRONO_SCRIPT}[simulator]
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
            f" data filter FOLDER/frames.json OUT --to yolo --lens {camera.path.name}' bends pictures and boxes."
        )
    miss = asked.miss_of_centred()
    if miss and simulator != "gazebo":
        notes.append(
            f"{simulator} has square pixels and the principal point in the middle; {camera.name} has not: its pictures"
            f" show things up to {miss:.1f} px elsewhere."
        )
    if camera.steps:
        notes.append(f"Noise, blur, colours of {camera.name} are not the simulator's: 'simjudge data filter --camera'.")
    return notes


def _words(out: Path, source: ReplaySource, camera: Camera, asked: PinholeCamera) -> dict[str, str]:
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
    optics = [_filled(GAZEBO_OPTICS, {**safe, "BOX_TYPE": kind}) for kind in ("", GAZEBO_BOX_TYPE)]
    return _filled(GAZEBO_MODEL, {**safe, "OPTICS": optics[0], "BOX_OPTICS": optics[1]})


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
    if simulator == "carla":
        return carla_transform(optical)
    body = camera_body(optical)
    x, y, z, w = body.orientation
    return (*body.position, w, x, y, z) if simulator == "chrono" else (*body.position, x, y, z, w)


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
    """Write the script that moves another simulator's camera along recorded poses, and the table of them."""
    target = output_path(Path(out))
    script_files(simulator, target)
    seen_by = camera if isinstance(camera, Camera) else read_camera(camera)
    found = read_camera_path(recording, options, seen_by)
    source = found.source
    log(f"{len(source.frame_name)} frames; poses from {source.poses_from}; camera {seen_by.name} {found.mounted}")
    return write_script(simulator, target, source, found.path, seen_by)
