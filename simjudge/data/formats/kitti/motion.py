"""Poses and times of a KITTI folder: oxts rows, poses of camera 0, and files of times."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.errors import SimjudgeError
from simjudge.core.input_files import LARGEST_TEXT, read_bytes
from simjudge.core.stamps import NO_STAMP
from simjudge.core.text import one_line, parse_number
from simjudge.geometry.poses import Pose

_OXTS_NUMBERS = 30
_EARTH_RADIUS = 6378137.0
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?")


def read_oxts(files: Sequence[Path]) -> list[Pose]:
    """Read poses of the inertial unit in the frame of the first: x, y and z of a Mercator projection, and angles.

    Args:
        files: with one row each, or one with a row a scan.
    """
    rows = [row for file in files for row in _number_rows(file, _OXTS_NUMBERS)]
    if not rows:
        return []
    table = np.array(rows)
    latitude, longitude, altitude, roll, pitch, yaw = table[:, :6].T
    if np.abs(latitude).max() >= 89 or np.abs(longitude).max() > 360:
        raise SimjudgeError(f"{files[0]}: latitude and longitude (columns 1, 2) are no degrees; correct it")
    scale = math.cos(math.radians(latitude[0]))
    x = scale * _EARTH_RADIUS * np.radians(longitude)
    y = scale * _EARTH_RADIUS * np.log(np.tan(np.radians(90 + latitude) / 2))
    turns = Rotation.from_euler("ZYX", np.stack([yaw, pitch, roll], -1))
    poses = [
        Pose((px, py, pz), tuple(quaternion))
        for px, py, pz, quaternion in zip(x.tolist(), y.tolist(), altitude.tolist(), turns.as_quat().tolist(),
                                          strict=True)
    ]  # fmt: skip
    first = poses[0].inverse()
    return [first @ pose for pose in poses]


def read_camera_poses(path: Path, rect_of_velo: FloatArray) -> list[Pose]:
    """Read poses of camera 0 as those of the lidar, in the lidar's frame at the first.

    Args:
        rect_of_velo: (4, 4), from the lidar to rectified camera 0.
    """
    back = np.linalg.inv(rect_of_velo)
    poses = []
    first: FloatArray | None = None
    for number, row in enumerate(_number_rows(path, 12), 1):
        matrix = np.eye(4)
        matrix[:3] = np.array(row).reshape(3, 4)
        turn = matrix[:3, :3]
        if np.abs(turn @ turn.T - np.eye(3)).max() > 1e-2 or np.linalg.det(turn) < 0:
            raise SimjudgeError(f"{path}: line {number}: its rotation is none (R R^T is not 1); correct it")
        if first is None:
            first = np.asarray(np.linalg.inv(matrix), np.float64)
        poses.append(Pose.from_matrix(back @ first @ matrix @ rect_of_velo))
    return poses


def read_times(path: Path) -> IntArray:
    """Read stamps: seconds from the start (odometry), or dates (raw data).

    Returns:
        int64 (N,), nanoseconds; NO_STAMP where a row is empty.
    """
    stamps = []
    for number, line in enumerate(read_bytes(path, LARGEST_TEXT).decode("utf-8", "replace").splitlines(), 1):
        text = line.strip()
        found = _DATE.fullmatch(text)
        seconds = parse_number(text)
        if not text:
            stamps.append(NO_STAMP)
        elif found is not None:
            stamps.append(_nanoseconds(found, f"{path}: line {number}"))
        elif seconds is not None and 0 <= seconds < 4e9:
            # A float would lose digits of seconds since 1970.
            stamps.append(round(Decimal(text).scaleb(9)))
        else:
            raise SimjudgeError(
                f"{path}: line {number}: {one_line(text)} is neither seconds nor YEAR-MONTH-DAY H:M:S; correct it"
            )
    return np.array(stamps, np.int64)


def _nanoseconds(found: re.Match[str], where: str) -> int:
    try:
        year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
        date = datetime(year, month, day, hour, minute, second, tzinfo=timezone.utc)
    except ValueError as error:
        raise SimjudgeError(f"{where}: {found[0]} is no date ({error}); correct it") from error
    return int(date.timestamp()) * 1_000_000_000 + int((found[7] or "0").ljust(9, "0"))


def _number_rows(path: Path, least: int) -> list[list[float]]:
    rows = []
    for number, line in enumerate(read_bytes(path, LARGEST_TEXT).decode("utf-8", "replace").splitlines(), 1):
        if not line.strip():
            continue
        row = [parse_number(word) for word in line.split()]
        if len(row) != least or None in row or not np.isfinite([value or 0 for value in row]).all():
            raise SimjudgeError(
                f"{path}: line {number}: needs {least} finite numbers, and has {one_line(line)}; correct it"
            )
        rows.append([float(value or 0) for value in row])
    return rows
