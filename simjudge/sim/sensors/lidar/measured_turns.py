"""Turns of a real lidar as they were recorded, from .bin files, Argoverse 2 sweeps and PointCloud2 in recordings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, ShortRepr
from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.files import read_bytes
from simjudge.data.clouds import LATE_POINTS, RINGS, LidarPoints, Table, late_points, lidar_points
from simjudge.data.formats.argoverse2 import feather_columns
from simjudge.data.rosbag2.cloud_writing import choose_cloud_topic, recorded_clouds
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.storage import is_recording
from simjudge.geometry.keyframes import Keyframes
from simjudge.geometry.poses import Pose


@dataclass(frozen=True, eq=False, repr=False)
class MeasuredTurn(ShortRepr):
    """One turn, in the order of the file."""

    name: str  # the file, or topic and stamp
    points: FloatArray  # (N, 3), metres, in the sensor's frame at each point's own instant
    rounding: FloatArray  # (N,), radians, the largest angle by which the file's rounding of x, y and z turns a point
    ring: npt.NDArray[np.int64] | None = None  # int64 (N,), as the device counts them; None where the file does not say
    time: FloatArray | None = None  # (N,), seconds from any instant; None where the file does not say

    def __len__(self) -> int:
        return len(self.points)

    @property
    def range(self) -> FloatArray:
        """(N,), metres."""
        length: FloatArray = np.linalg.norm(self.points, axis=1)
        return length

    @property
    def azimuth(self) -> FloatArray:
        """(N,), radians, counter-clockwise from x."""
        angle: FloatArray = np.arctan2(self.points[:, 1], self.points[:, 0])
        return angle

    @property
    def elevation(self) -> FloatArray:
        """(N,), radians, up from the plane of x and y."""
        angle: FloatArray = np.arctan2(self.points[:, 2], np.hypot(self.points[:, 0], self.points[:, 1]))
        return angle


@dataclass(frozen=True)
class MeasuredLidar:
    """What was recorded of one device."""

    name: str
    turns: Sequence[MeasuredTurn]
    mount: Pose | None = None  # where it sits on the car, if the file says it
    notes: list[str] = field(default_factory=list)
    losses: Losses = field(default_factory=Losses)


class TurnBuilder:
    """Makes turns of the columns of files, and counts what is left out."""

    def __init__(self, name: str) -> None:
        self.lidar = MeasuredLidar(name, [])
        self._turns: list[MeasuredTurn] = []
        self._empty = 0

    def add(self, name: str, points: LidarPoints) -> None:
        """Add a turn whose points are in the sensor's frame."""
        self._empty += points.empty
        if not len(points):
            return
        if points.ring is None:
            self.note(f"no ring field ({', '.join(RINGS)}): rings are found by elevation")
        if points.time is None:
            self.note(f"{points.time_trouble}: no firing times can be had")
        if points.time_note:
            self.note(points.time_note)
        rounding = rounding_angle(points.stored, np.zeros(3))
        self.add_turn(MeasuredTurn(name, points.stored.astype(np.float64), rounding, points.ring, points.time))

    def add_turn(self, turn: MeasuredTurn) -> None:
        """Add a turn; points whose time is before that of an earlier point of their ring are left out and counted."""
        if turn.time is not None and turn.ring is not None:
            late = late_points(turn.ring, turn.time)
            where = f"{turn.name}: point {int(np.argmax(late)) + 1}"
            self.lidar.losses.add(LATE_POINTS, where, int(late.sum()))
            if late.any():
                kept = ~late
                turn = MeasuredTurn(turn.name, turn.points[kept], turn.rounding[kept], turn.ring[kept], turn.time[kept])
        self._turns.append(turn)

    def build(self, where: str) -> MeasuredLidar:
        """Hand over what was added."""
        if not self._turns:
            raise SimjudgeError(f"{where}: holds no point with a return{self.lidar.losses.reason}")
        if self._empty:
            self.note(f"{self._empty} beams without a return (NaN, or 0 0 0)")
        timed = [turn for turn in self._turns if turn.time is not None]
        if 0 < len(timed) < len(self._turns):
            self.lidar.losses.add(
                "turns without usable times, beside others that have them", where, len(self._turns) - len(timed)
            )
        about = self.lidar
        return MeasuredLidar(about.name, tuple(timed or self._turns), about.mount, about.notes, about.losses)

    def note(self, line: str) -> None:
        """Say something once."""
        if line not in self.lidar.notes:
            self.lidar.notes.append(line)


def rounding_angle(stored: npt.NDArray[np.generic], origin: FloatArray) -> FloatArray:
    """How far the rounding of x, y and z can turn a point, seen from the sensor: (N,); stored (N, 3); origin (3,)."""
    half = np.spacing(np.abs(stored)).astype(np.float64) / 2 if stored.dtype.kind == "f" else np.full(stored.shape, 0.5)
    ray = np.asarray(stored, np.float64) - origin
    length = np.maximum(np.linalg.norm(ray, axis=1, keepdims=True), 1e-9)
    ray = ray / length
    largest = np.zeros(len(ray))
    for sign in ((1, 1, 1), (1, 1, -1), (1, -1, 1), (1, -1, -1)):
        corner = half * sign
        across = corner - np.einsum("ni,ni->n", corner, ray)[:, None] * ray
        largest = np.maximum(largest, np.linalg.norm(across, axis=1))
    angle: FloatArray = largest / length[:, 0]
    return angle


RAW_FIELDS = ("x", "y", "z", "intensity", "time")  # Of .bin files, unless others are named
_RAW_NAMES = ("x", "y", "z", "intensity", "ring", "time", "_")
_LARGEST = 2**31  # Bytes of a file that is read whole
_SLACK = 1.5  # Scans that the times of one may span: stamps are not exact
_ARGOVERSE_SENSORS = (("up_lidar", 0), ("down_lidar", 32))
_ARGOVERSE_RINGS = 32
_SWEEP, _POSES, _MOUNTS = "lidar.feather", "city_SE3_egovehicle.feather", "egovehicle_SE3_sensor.feather"


def read_turns(
    path: Path, *, topic: str | None = None, fields: Sequence[str] = RAW_FIELDS, most: int = 100
) -> list[MeasuredLidar]:
    """Read what was recorded of one or more lidars (fields: columns of .bin files, float32 each)."""
    if path.is_file() and path.suffix == ".feather":
        return _read_argoverse(path)
    if path.is_dir() and (path / _SWEEP).is_file():
        return _read_argoverse(path / _SWEEP)
    if path.suffix == ".bin":
        return [_read_raw(path, [path], fields)]
    if path.is_dir() and not is_recording(path):
        found = raw_files(path)
        if not found:
            raise SimjudgeError(f"{path}: holds no .bin files, no {_SWEEP} and no recording; name a folder that does")
        return [_read_raw(path, found[:most], fields)]
    return [_read_recording(path, topic, most)]


def raw_files(path: Path) -> list[Path]:
    """The .bin files at a path: itself, those in the folder, or those in its folder `points`."""
    if path.suffix == ".bin":
        return [path]
    return sorted(path.glob("*.bin")) or sorted((path / "points").glob("*.bin"))


def raw_table(file: Path, fields: Sequence[str]) -> Table:
    """Read a raw .bin file: a row a point (file of float32 numbers; fields: its columns)."""
    unknown = [name for name in fields if name not in _RAW_NAMES]
    twice = [name for name in fields if name != "_" and list(fields).count(name) > 1]
    if unknown or twice or not {"x", "y", "z"} <= set(fields):
        names = ", ".join(_RAW_NAMES)
        raise UsageError(f"--fields {','.join(fields)}: x, y, z are needed, each once, and any of {names}")
    # What does not matter is a gap between the others.
    kept = [(name, 4 * number) for number, name in enumerate(fields) if name != "_"]
    layout = np.dtype(
        {
            "names": [name for name, _ in kept],
            "formats": ["<f4"] * len(kept),
            "offsets": [at for _, at in kept],
            "itemsize": 4 * len(fields),
        }
    )
    data = read_bytes(file, _LARGEST)
    if not data or len(data) % layout.itemsize:
        raise SimjudgeError(
            f"{file}: {len(data)} bytes are no whole number of points of {len(fields)} float32 "
            f"({' '.join(fields)}); name its columns with --fields"
        )
    return np.frombuffer(data, layout)


def _read_raw(path: Path, files: Sequence[Path], fields: Sequence[str]) -> MeasuredLidar:
    builder = TurnBuilder("lidar")
    for file in files:
        builder.add(str(file), lidar_points(raw_table(file, fields), str(file)))
    return builder.build(str(path))


def _read_recording(path: Path, topic: str | None, most: int) -> MeasuredLidar:
    recording = Recording(path)
    name = choose_cloud_topic(recording, topic)
    builder = TurnBuilder("lidar")
    scans, stamps = [], []
    for cloud in islice(recorded_clouds(recording, {name}, builder.lidar.losses), most):
        scans.append((cloud.where, lidar_points(cloud.table, cloud.where)))
        stamps.append(cloud.stamp or cloud.time)
    trouble = _longer_than_scans([points for _, points in scans], stamps)
    for where, points in scans:
        builder.add(where, replace(points, time=None, time_trouble=trouble) if trouble else points)
    builder.lidar.losses.extend(recording.losses)
    return builder.build(f"{path}: {name}")


def _longer_than_scans(scans: Sequence[LidarPoints], stamps: Sequence[int]) -> str:
    """What is wrong with times by which a scan lasts until after the next one: some drivers write shares of a turn."""
    spans = [float(np.ptp(points.time)) for points in scans if points.time is not None and len(points)]
    if not spans or len(stamps) < 2:
        return ""
    span, apart = float(np.median(spans)), float(np.median(np.diff(sorted(stamps)))) / 1e9
    if not 0 < apart * _SLACK < span:
        return ""
    return f"a scan lasts {span:.4g} s by the times of its points, and scans come {apart:.4g} s apart"


def _read_argoverse(path: Path) -> list[MeasuredLidar]:
    """Two lidars of 32 rings each; the points are moved back from the car's frame at the sweep's stamp."""
    sweep = _columns(path, ("x", "y", "z", "laser_number", "offset_ns"))
    poses, stamp = _columns(path.with_name(_POSES), _pose_names("timestamp_ns")), _sweep_stamp(path)
    mounts = _columns(path.with_name(_MOUNTS), _pose_names("sensor_name"))
    time = (poses["timestamp_ns"] - stamp) * 1e-9
    _, first = np.unique(time, return_index=True)
    position, orientation = _pose_columns(poses)
    car = Keyframes(time[first], position[first, None], orientation[first, None])
    offset = sweep["offset_ns"] * 1e-9
    if offset.min() < time.min() or offset.max() > time.max():
        raise SimjudgeError(f"{path.with_name(_POSES)}: its poses do not cover the sweep's {np.ptp(offset):.3f} s")
    stored = np.stack([sweep[name] for name in "xyz"], -1)
    laser = sweep["laser_number"].astype(np.int64)
    found = []
    for name, lowest in _ARGOVERSE_SENSORS:
        rows = (laser >= lowest) & (laser < lowest + _ARGOVERSE_RINGS) & np.isfinite(stored).all(1)
        which = np.nonzero(mounts["sensor_name"] == name)[0]
        if not rows.any() or len(which) != 1:
            raise SimjudgeError(f"{path}: needs points of {name}, and its mount in {_MOUNTS}")
        mount_position, mount_orientation = (pose_column[which[0]] for pose_column in _pose_columns(mounts))
        mount = Pose(tuple(mount_position), tuple(mount_orientation / np.linalg.norm(mount_orientation)))
        points = _at_own_instant(stored[rows].astype(np.float64), offset[rows], car)
        turn = MeasuredTurn(
            f"{path} ({name})",
            mount.to_body(points),
            rounding_angle(stored[rows], mount_position),
            laser[rows] - lowest,
            offset[rows] - offset[rows].min(),
        )
        builder = TurnBuilder(name)
        builder.add_turn(turn)
        made = builder.build(str(path))
        found.append(MeasuredLidar(name, made.turns, mount, made.notes, made.losses))
    return found


def _at_own_instant(points: FloatArray, time: FloatArray, car: Keyframes) -> FloatArray:
    """Points of the car's frame at time 0, in the car's frame at each point's own time."""
    (rotation,), (position,) = car.at(np.zeros(1))
    turned, moved = car.at(time)
    back: FloatArray = np.einsum("nji,nj->ni", turned, points @ rotation.T + position - moved)
    return back


def _sweep_stamp(path: Path) -> int:
    """Nanoseconds; the sweep's file is named by it in the data set, and annotations carry it."""
    if path.stem.isdigit():
        return int(path.stem)
    labels = path.with_name("annotations.feather")
    if not labels.is_file():
        raise SimjudgeError(f"{path}: the sweep's stamp is not known; call the file STAMP.feather, in nanoseconds")
    stamps = np.unique(_columns(labels, ("timestamp_ns",))["timestamp_ns"])
    if len(stamps) != 1:
        raise SimjudgeError(f"{labels}: has {len(stamps)} stamps; call the sweep's file by its own")
    return int(stamps[0])


def _columns(path: Path, names: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
    columns = feather_columns(path, names)
    if not len(columns[names[0]]):
        raise SimjudgeError(f"{path}: has no rows")
    return columns


def _pose_names(first: str) -> tuple[str, ...]:
    return (first, "qw", "qx", "qy", "qz", "tx_m", "ty_m", "tz_m")


def _pose_columns(table: dict[str, npt.NDArray[Any]]) -> tuple[FloatArray, FloatArray]:
    position = np.stack([table[name].astype(np.float64) for name in ("tx_m", "ty_m", "tz_m")], -1)
    orientation = np.stack([table[name].astype(np.float64) for name in ("qx", "qy", "qz", "qw")], -1)
    return position, orientation
