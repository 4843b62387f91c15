"""A survey: the points of all scans of a lidar in the fixed frame, or those of one file, with what each reflected.

Files are what `simjudge.read_clouds` takes, and PLY (read by trimesh) and LAS or LAZ (read by laspy), whose points are
in the fixed frame already.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.core.errors import Log, Losses, SimjudgeError, UsageError, counted
from simjudge.core.files import check_file
from simjudge.core.installed import install_command
from simjudge.core.text import one_line
from simjudge.data.clouds import ONE_TIME, Cloud, CloudSet, Table, lidar_points
from simjudge.data.sets import Topics, read_clouds
from simjudge.geometry.poses import Pose
from simjudge.objects.series import ScanPoses, scan_poses, times_from_stamp
from simjudge.sim.sensors.lidar.scan import deskewed

FAR_FRAME = 1e4
"""Metres from which on the fixed frame's origin is moved near to the survey: scenes end at 100 km."""
_WHITES = (1.0, 100.0, 255.0, 65535.0)
"""What devices report of a surface that reflects all light, one of these by the largest intensity."""
_COLOURS = ("red", "green", "blue")


@dataclass(frozen=True, eq=False, repr=False)
class SurveyCloud(ShortRepr):
    """N points of a survey."""

    points: FloatArray  # float64 (N, 3), metres, fixed frame
    scan: IntArray  # int64 (N,), row of `origin`; all 0 where it is not known where the lidar was
    origin: FloatArray  # float64 (K, 3), where the lidar was at each scan; (0, 3) where that is not known
    reflected: FloatArray | None  # (N,), share of the light of a white surface; None where the cloud has none
    colour: npt.NDArray[np.uint8] | None  # uint8 (N, 3), sRGB; None where the cloud has none

    def __len__(self) -> int:
        return len(self.points)

    def take(self, rows: npt.NDArray[Any]) -> SurveyCloud:
        """Some of the points."""
        reflected = None if self.reflected is None else self.reflected[rows]
        colour = None if self.colour is None else self.colour[rows]
        return replace(self, points=self.points[rows], scan=self.scan[rows], reflected=reflected, colour=colour)

    def ray(self) -> FloatArray | None:
        """Unit vectors from the lidar to each point, (N, 3); None where it is not known where the lidar was."""
        if not len(self.origin):
            return None
        away = self.points - self.origin[self.scan]
        unit: FloatArray = away / np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1e-9)
        return unit


@dataclass(frozen=True)
class SurveyReading:
    """How a survey is read."""

    cloud_topic: str | None = None
    ranges: tuple[float, float] = (1.5, 30.0)  # metres from the lidar, where it is known where it was
    max_speed: float = 60.0  # m/s, above which a change of pose is a jump
    deskew: bool = True
    white: float | None = None  # intensity of a surface that reflects all light; None: by the largest one


@dataclass(frozen=True, eq=False, repr=False)
class Survey(ShortRepr):
    """A survey as it was read."""

    cloud: SurveyCloud
    clouds: CloudSet | None  # the scans; None of a single file
    scans: ScanPoses | None
    offset: tuple[float, float, float]  # what was taken from the fixed frame's coordinates, metres


def read_survey(path: Path, reading: SurveyReading, losses: Losses, log: Log) -> Survey:
    """Read a survey."""
    suffix = path.suffix.lower()
    if suffix in (".ply", ".las", ".laz"):
        table = _read_ply(path) if suffix == ".ply" else _read_las(path)
        return _moved_near(_whole([Cloud(table, where=str(path))], [Pose()], reading, str(path), log), None, None, log)
    clouds = read_clouds(path, None if reading.cloud_topic is None else Topics(cloud_topic=reading.cloud_topic))
    losses.extend(clouds.losses)
    if not clouds.poses and len(clouds) == 1:
        return _moved_near(_whole([clouds[0]], [Pose()], reading, str(path), log), None, None, log)
    scans = scan_poses(clouds, reading.max_speed, losses)
    return _moved_near(_merged(clouds, scans, reading, losses, log), clouds, scans, log)


def _moved_near(cloud: SurveyCloud, clouds: CloudSet | None, scans: ScanPoses | None, log: Log) -> Survey:
    offset = np.zeros(3)
    middle = np.median(cloud.points, axis=0)
    if np.abs(middle).max() > FAR_FRAME:
        offset = np.round(middle / 100) * 100
        log(f"note: the scene's origin is at {', '.join(f'{value:.0f}' for value in offset)} of the survey's frame")
        cloud = replace(cloud, points=cloud.points - offset, origin=cloud.origin - offset)
        if scans is not None:
            poses = [Pose(tuple((np.array(pose.position) - offset).tolist()), pose.orientation) for pose in scans.poses]
            scans = replace(scans, poses=poses)
    x, y, z = offset.tolist()
    return Survey(cloud, clouds, scans, (x, y, z))


def _merged(clouds: CloudSet, scans: ScanPoses, reading: SurveyReading, losses: Losses, log: Log) -> SurveyCloud:
    kept: list[Cloud] = []
    poses: list[Pose] = []
    corrected = 0
    timeless: list[str] = []
    for row, index in enumerate(scans.index.tolist()):
        try:
            cloud = clouds[index]
            points = lidar_points(cloud.table, cloud.where)
        except SimjudgeError as error:
            losses.add("clouds that cannot be read", str(error))
            continue
        table = cloud.table[points.seen]
        distance = np.linalg.norm(points.stored.astype(np.float64), axis=1)
        near = (distance >= reading.ranges[0]) & (distance <= reading.ranges[1])
        time = times_from_stamp(points, float(scans.time[row])) if reading.deskew and clouds.has_stamp(index) else None
        local = points.stored.astype(np.float64)
        if time is not None:
            local, corrected = deskewed(local, time, scans.keyframes(row)), corrected + 1
        elif reading.deskew and points.time_trouble != ONE_TIME:
            other = "its times are not near its stamp" if clouds.has_stamp(index) else "it has no stamp"
            timeless.append(f"{cloud.where}: {points.time_trouble or other}")
        kept.append(Cloud(_with_places(table[near], local[near]), where=cloud.where))
        poses.append(scans.poses[row])
    if corrected:
        log(f"note: {counted(corrected, 'scans')} are corrected for the lidar's motion (--no-deskew leaves them)")
    if timeless:
        log(
            f"note: {len(timeless)} of {counted(len(kept), 'scans')} are used without correction for the lidar's"
            f" motion, because their points have no usable times (first: {timeless[0]})"
        )
    found = _whole(kept, poses, reading, clouds.name, log, ranged=True)
    return replace(found, origin=np.array([pose.position for pose in poses]).reshape(-1, 3))


def _with_places(table: Table, points: FloatArray) -> Table:
    """A table with other coordinates, in double precision."""
    layout = [(name, "f8" if name in ("x", "y", "z") else table.dtype[name]) for name in table.dtype.names or ()]
    out = np.empty(len(table), np.dtype(layout))
    for name in table.dtype.names or ():
        out[name] = points[:, "xyz".index(name)] if name in ("x", "y", "z") else table[name]
    return out


def _whole(
    clouds: list[Cloud], poses: list[Pose], reading: SurveyReading, name: str, log: Log, *, ranged: bool = False
) -> SurveyCloud:
    points, scan, intensity, colour = [], [], [], []
    for row, (cloud, pose) in enumerate(zip(clouds, poses, strict=True)):
        found = lidar_points(cloud.table, cloud.where)
        points.append(pose.to_world(found.stored.astype(np.float64)))
        scan.append(np.full(len(found), row))
        intensity.append(found.intensity)
        colour.append(_stored_colours(cloud.table[found.seen]))
    if not sum(map(len, points)):
        near = f" from {reading.ranges[0]:g} to {reading.ranges[1]:g} m (--near, --far)" if ranged else ""
        raise SimjudgeError(f"{name}: holds no point{near} to survey; coordinates must be in metres")
    stored = _joined(colour)
    return SurveyCloud(
        np.concatenate(points),
        np.concatenate(scan).astype(np.int64),
        np.empty((0, 3)),
        _reflected(_joined(intensity), reading.white, name, "white paint" if stored is None else "its colour", log),
        None if stored is None else _colours(stored),
    )


def _joined(parts: list[Any]) -> Any:
    return None if any(part is None for part in parts) else np.concatenate(parts)


def _reflected(
    intensity: npt.NDArray[Any] | None, white: float | None, name: str, instead: str, log: Log
) -> FloatArray | None:
    if intensity is None or not (np.isfinite(intensity) & (intensity > 0)).any():
        lacks = "no intensities" if intensity is None else "no intensity above 0"
        log(f"note: {name} has {lacks}: each thing reflects a lidar's light as {instead} does")
        return None
    values = intensity.astype(np.float64)
    known = np.isfinite(values)
    if not known.all():
        log(
            f"note: {counted(int((~known).sum()), 'points')} of {len(values)} of {name} have an intensity that is not a"
            " number: the median of the others is taken"
        )
    values = np.maximum(np.where(known, values, np.median(values[known])), 0.0)
    largest = float(np.quantile(values, 0.999))
    if white is None:
        white = next((known for known in _WHITES if largest <= 1.05 * known), largest)
        share = 100 * float(np.median(values)) / white
        log(
            f"note: an intensity of {white:g} is taken for a white surface (--white); half of the points reflect less"
            f" than {share:.3g} % of it"
        )
    return values / white


def _stored_colours(table: Table) -> npt.NDArray[Any] | None:
    """Colours (N, 3) as they are stored: red, green and blue, or packed as the Point Cloud Library packs them."""
    names = table.dtype.names or ()
    if all(name in names for name in _COLOURS):
        return np.stack([table[name] for name in _COLOURS], -1)
    packed = next((name for name in ("rgb", "rgba") if name in names and table.dtype[name].itemsize == 4), None)
    if packed is None:
        return None
    number = np.ascontiguousarray(table[packed]).view(np.uint32)
    return np.stack([number >> 16, number >> 8, number], -1).astype(np.uint8)


def _colours(stored: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Stored colours as sRGB uint8 (N, 3): 0 to 1 in floats, 0 to 255, or 0 to 65535, by the largest one."""
    if stored.dtype == np.uint8:
        return stored
    values = np.clip(np.nan_to_num(stored.astype(np.float64)), 0, 65_535)
    largest = values.max(initial=0)
    if stored.dtype.kind == "f" and largest <= 1:
        values *= 255
    elif largest > 255:  # Some files hold 8 bits in fields of 16.
        values /= 257
    return np.rint(values).astype(np.uint8)


def _read_ply(path: Path) -> Table:
    trimesh = _module("trimesh", f"{path}: PLY files are read by trimesh")
    check_file(path)
    try:
        raw = trimesh.load(str(path), process=False).metadata["_ply_raw"]["vertex"]["data"]
        fields = {str(name): np.asarray(raw[name]).reshape(-1) for name in _names(raw)}
    except Exception as error:
        raise SimjudgeError(f"{path}: cannot be read as PLY ({one_line(error)}); export its points again") from error
    return _table(fields, path)


def _names(raw: Any) -> list[str]:
    return list(raw.dtype.names) if hasattr(raw, "dtype") else list(raw)


def _read_las(path: Path) -> Table:
    laspy = _module("laspy", f"{path}: LAS files are read by laspy")
    check_file(path)
    try:
        held = laspy.read(str(path))
        fields = {name: np.asarray(getattr(held, name), np.float64) for name in "xyz"}
        fields |= {
            name: np.asarray(held[name])
            for name in ("intensity", *_COLOURS)
            if name in held.point_format.dimension_names
        }
    except Exception as error:
        raise SimjudgeError(f"{path}: cannot be read as LAS ({one_line(error)}); export its points again") from error
    if not any(fields[name].any() for name in _COLOURS if name in fields):
        fields = {name: values for name, values in fields.items() if name not in _COLOURS}
    return _table(fields, path)


def _module(name: str, why: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UsageError(f"{why}: {install_command(name)}") from error


def _table(fields: dict[str, npt.NDArray[Any]], path: Path) -> Table:
    if not all(name in fields for name in "xyz") or not len(fields["x"]):
        raise SimjudgeError(f"{path}: holds no point with x, y and z")
    table = np.empty(len(fields["x"]), np.dtype([(name, values.dtype) for name, values in fields.items()]))
    for name, values in fields.items():
        table[name] = values
    return table
