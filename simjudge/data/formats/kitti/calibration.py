"""KITTI's calibration: cameras, lidar and inertial unit, as every one of its benchmarks writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.core.input_files import LARGEST_TEXT, read_bytes
from simjudge.core.text import one_line, parse_number
from simjudge.data.clouds.cloud_set import CameraCalibration
from simjudge.geometry.poses import Pose

_NAMES = {
    "R0_rect": "R0_rect", "R_rect": "R0_rect", "R_rect_00": "R0_rect",
    "Tr_velo_to_cam": "Tr_velo_to_cam", "Tr_velo_cam": "Tr_velo_to_cam",
    "Tr_imu_to_velo": "Tr_imu_to_velo", "Tr_imu_velo": "Tr_imu_to_velo",
    "Tr": "Tr",
}  # fmt: skip
"""What the benchmarks call the matrices, and what the object benchmark does."""
_PROJECTION = "P"
_SHAPES = {_PROJECTION: (3, 4), "R0_rect": (3, 3), "Tr_velo_to_cam": (3, 4), "Tr_imu_to_velo": (3, 4), "Tr": (3, 4)}
_OF_FILE = {"calib_velo_to_cam": "Tr_velo_to_cam", "calib_imu_to_velo": "Tr_imu_to_velo"}
"""Files of the raw data that hold one transform, as rows R and T."""
_WORST = 1e-2
"""How far a rotation may be from one: KITTI's are right to 1e-6."""


@dataclass(frozen=True, eq=False, repr=False)
class KittiCalibration(ShortRepr):
    """What a calibration says.

    Attributes:
        rect_of_velo: (4, 4), from the lidar to rectified camera 0, metres.
        projection: (3, 4), of rectified camera 0's coordinates to pixels of the camera; None where it is not there.
        imu_to_velo: (4, 4), from the inertial unit to the lidar; None where it is not there.
    """

    rect_of_velo: FloatArray
    projection: FloatArray | None
    imu_to_velo: FloatArray | None

    def camera(self) -> CameraCalibration | None:
        """The camera beside the lidar; None where its projection is not there."""
        if self.projection is None:
            return None
        matrix: FloatArray = self.projection[:, :3]
        in_rect: FloatArray = np.eye(4)
        in_rect[:3, 3] = -self.camera_offset()
        pose = Pose.from_matrix(np.linalg.inv(self.rect_of_velo) @ in_rect)
        return CameraCalibration(matrix, pose)

    def camera_offset(self) -> FloatArray:
        """(3,), what is added to coordinates of rectified camera 0 to get the camera's own, metres."""
        if self.projection is None:
            return np.zeros(3)
        return np.asarray(np.linalg.solve(self.projection[:, :3], self.projection[:, 3]), np.float64)


def read_calibration(paths: Sequence[Path], camera: int) -> KittiCalibration:
    """Read a calibration.

    Args:
        paths: of one file; of the raw data, of the files that belong together.
        camera: the number of the camera whose projection is read, 0 to 3.
    """
    found: dict[str, FloatArray] = {}
    for path in paths:
        found |= _rows(path, {**_NAMES, f"P{camera}": _PROJECTION, f"P_rect_{camera:02d}": _PROJECTION})
    where = str(paths[0])
    velo = _rigid(found.get("Tr_velo_to_cam", found.get("Tr")), where)
    if velo is None:
        raise SimjudgeError(f"{where}: has no row Tr_velo_to_cam (nor Tr); add it")
    # Of the odometry benchmark Tr goes into rectified camera 0 at once.
    rect = _rigid(found.get("R0_rect"), where) if "Tr_velo_to_cam" in found else None
    projection = found.get(_PROJECTION)
    if projection is not None and abs(np.linalg.det(projection[:, :3])) < 1e-9:
        raise SimjudgeError(f"{where}: the matrix of P{camera} cannot be inverted; correct it")
    return KittiCalibration(
        velo if rect is None else rect @ velo, projection, _rigid(found.get("Tr_imu_to_velo"), where)
    )


def _rows(path: Path, names: Mapping[str, str]) -> dict[str, FloatArray]:
    text = read_bytes(path, LARGEST_TEXT).decode("utf-8", "replace")
    found: dict[str, FloatArray] = {}
    parts: dict[str, FloatArray] = {}
    for number, line in enumerate(text.splitlines(), 1):
        key, *values = line.replace(":", " ", 1).split() or [""]
        single = _OF_FILE.get(path.stem) if key in ("R", "T") else None
        name = names.get(key)
        if single is not None:
            parts[key] = _matrix(values, (3, 3) if key == "R" else (3, 1), f"{path}: line {number}: {key}")
        elif name is not None:
            found[name] = _matrix(values, _SHAPES[name], f"{path}: line {number}: {key}")
    if len(parts) == 2:
        found[_OF_FILE[path.stem]] = np.concatenate([parts["R"], parts["T"]], 1)
    return found


def _matrix(values: list[str], shape: tuple[int, int], where: str) -> FloatArray:
    numbers = [parse_number(value) for value in values]
    given = np.array([np.nan if number is None else number for number in numbers], np.float64)
    if len(given) != shape[0] * shape[1] or not np.isfinite(given).all():
        raise SimjudgeError(
            f"{where} needs {shape[0] * shape[1]} finite numbers, and has {one_line(' '.join(values))}; correct it"
        )
    return given.reshape(shape)


def _rigid(matrix: FloatArray | None, where: str) -> FloatArray | None:
    if matrix is None:
        return None
    rotation = matrix[:, :3]
    if np.abs(rotation @ rotation.T - np.eye(3)).max() > _WORST or np.linalg.det(rotation) < 0:
        raise SimjudgeError(f"{where}: a transform's rotation is none (R R^T is not 1); correct it")
    full = np.eye(4)
    full[:3, : matrix.shape[1]] = matrix
    return full
