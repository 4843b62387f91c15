"""KITTI's text files: calibration, label rows, tracklets, poses and times, as its benchmarks write them.

Label rows are those of the object benchmark, or of the tracking benchmark, which begin with frame and track. Source:
readme.txt of the development kits; columns are type, truncated, occluded, alpha, left, top, right, bottom, height,
width, length, x, y, z, rotation_y, and a score in results. x, y, z are of the middle of the box's bottom in rectified
camera 0 (x right, y down, z ahead); at rotation_y 0 the box looks along x.

Tracklets (`tracklet_labels.xml`) are the boxes in space of a drive of the raw data. Source: the development kit of the
raw data: readTracklets.m and run_demoTracklets.m. A tracklet is one thing: its type, height, width and length, and a
pose for each frame from its first on. A pose is that of the middle of the box's bottom in the lidar's frame. Length is
along the box's own x, width along y, height along z.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.files import LARGEST_TEXT, read_bytes
from simjudge.core.names import NO_STAMP
from simjudge.core.object_tables import NO_INSTANCE
from simjudge.core.text import load_xml, one_line, parse_number
from simjudge.data.clouds import CameraCalibration, CloudBoxes
from simjudge.geometry.poses import Pose

# What the benchmarks call the matrices, and what the object benchmark does.
_NAMES = {
    "R0_rect": "R0_rect",
    "R_rect": "R0_rect",
    "R_rect_00": "R0_rect",
    "Tr_velo_to_cam": "Tr_velo_to_cam",
    "Tr_velo_cam": "Tr_velo_to_cam",
    "Tr_imu_to_velo": "Tr_imu_to_velo",
    "Tr_imu_velo": "Tr_imu_to_velo",
    "Tr": "Tr",
}
_PROJECTION = "P"
_SHAPES = {_PROJECTION: (3, 4), "R0_rect": (3, 3), "Tr_velo_to_cam": (3, 4), "Tr_imu_to_velo": (3, 4), "Tr": (3, 4)}
# Files of the raw data that hold one transform, as rows R and T.
_OF_FILE = {"calib_velo_to_cam": "Tr_velo_to_cam", "calib_imu_to_velo": "Tr_imu_to_velo"}
_WORST = 1e-2  # How far a rotation may be from one: KITTI's are right to 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class KittiCalibration(ShortRepr):
    """What a calibration says."""

    rect_of_velo: FloatArray  # (4, 4), from the lidar to rectified camera 0, metres
    # (3, 4), of rectified camera 0's coordinates to pixels of the camera; None where it is not there.
    projection: FloatArray | None
    imu_to_velo: FloatArray | None  # (4, 4), from the inertial unit to the lidar; None where it is not there

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
    """Read a calibration."""
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


# In the order of the development kit; other types follow as they come.
CLASSES = ("Car", "Van", "Truck", "Pedestrian", "Person_sitting", "Cyclist", "Tram", "Misc")
DONT_CARE = "DontCare"
_NUMBERS = 14
_UNKNOWN = -1000.0  # Of x, y and z of a thing without a box in space
_NO_IMAGE_BOX = -1.0  # All four numbers of a box in the image where there is none
MALFORMED = "malformed label rows"
SCORED = "label rows with a score, as a detector writes them"
# From a box's own axes (x ahead, y left, z up) to a camera's (x right, y down, z ahead), at rotation_y 0.
_AXES: FloatArray = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])


@dataclass(frozen=True, eq=False, repr=False)
class KittiLabels(ShortRepr):
    """N rows of labels, those of DontCare left out."""

    scan: IntArray  # int64 (N,), the number of the scan
    # class_id, track: int64 (N,); a row of the object benchmark has the track NO_INSTANCE.
    class_id: IntArray
    track: IntArray
    numbers: FloatArray  # (N, 14), the columns from truncated to rotation_y
    score: FloatArray  # (N,), the last column of results; NaN where a row has none
    where: Sequence[str]  # file and line of each row
    class_names: dict[int, str]  # by class id, those of KITTI and others that the rows name
    dont_care: Sequence[tuple[str, int | None, list[float]]] = ()  # of each row of DontCare: where, scan and box

    def __len__(self) -> int:
        return len(self.scan)

    @property
    def image_box(self) -> FloatArray:
        """(N, 4), left, top, right, bottom, pixels."""
        return self.numbers[:, 3:7]

    @property
    def has_image_box(self) -> BoolArray:
        """(N,), whether a row has a box in the image: one of -1 alone has none."""
        return np.asarray((self.image_box != _NO_IMAGE_BOX).any(1), np.bool_)

    @property
    def size(self) -> FloatArray:
        """(N, 3), length, width and height, metres: along a box's own x, y and z."""
        return self.numbers[:, [9, 8, 7]]

    @property
    def has_box(self) -> BoolArray:
        """(N,), whether a row has a box in space."""
        above = np.concatenate([self.numbers[:, 10:13] > _UNKNOWN, self.size > 0], 1)
        return np.asarray(above.all(1), np.bool_)

    def centres(self) -> FloatArray:
        """(N, 3), of the boxes in rectified camera 0, metres."""
        centre = self.numbers[:, 10:13].copy()
        centre[:, 1] -= self.numbers[:, 7] / 2
        return centre

    def rotations(self) -> FloatArray:
        """(N, 3, 3), from a box's own axes to rectified camera 0."""
        about_y = np.zeros((len(self), 3))
        about_y[:, 1] = self.numbers[:, 13]
        turned: FloatArray = Rotation.from_rotvec(about_y).as_matrix() @ _AXES
        return turned


def read_labels(
    files: Sequence[tuple[Path, int | None]],
    scan_of: Mapping[int, int],
    losses: Losses,
    class_names: Mapping[int, str] | None = None,
    *,
    scored: bool = False,
) -> KittiLabels:
    """Read label files, or results of a detector, whose rows end with a score."""
    ids = {name: number for number, name in (class_names or dict(enumerate(CLASSES))).items()}
    scans, classes, tracks, numbers, scores, places = [], [], [], [], [], []
    dont_care: list[tuple[str, int | None, list[float]]] = []
    for path, scan in files:
        text = read_bytes(path, LARGEST_TEXT).decode("utf-8", "replace")
        for number, line in enumerate(text.splitlines(), 1):
            words = line.split()
            if not words:
                continue
            where = f"{path}: line {number}"
            head = [] if scan is not None else [_whole(word) for word in words[:2]]
            kind, *values = words[len(head) :] or [""]
            row = [parse_number(value) for value in values]
            wrong = len(row) not in (_NUMBERS, _NUMBERS + 1) or None in row or None in head
            if wrong or not np.isfinite([value or 0 for value in row]).all():
                columns = len(head) + 1 + _NUMBERS
                losses.add(MALFORMED, f"{where} ({len(words)} columns of {columns}: {one_line(line)})")
                continue
            if len(row) > _NUMBERS and not scored:
                losses.add(SCORED, f"{where} (score {values[_NUMBERS]})")
                continue
            at = scan if scan is not None else scan_of.get(head[0] or 0)
            if kind == DONT_CARE:
                dont_care.append((where, at, [float(value or 0) for value in row[3:7]]))
                continue
            if at is None:
                losses.add("label rows of a frame without a scan", f"{where} (frame {head[0]})")
                continue
            scans.append(at)
            classes.append(ids.setdefault(kind, len(ids)))
            tracks.append(head[1] if head and head[1] is not None else NO_INSTANCE)
            numbers.append([float(value or 0) for value in row[:_NUMBERS]])
            scores.append(float(row[_NUMBERS] or 0) if len(row) > _NUMBERS else np.nan)
            places.append(where)
    order = np.argsort(np.array(scans, np.int64), kind="stable")
    return KittiLabels(
        np.array(scans, np.int64)[order],
        np.array(classes, np.int64)[order],
        np.array(tracks, np.int64)[order],
        np.array(numbers, np.float64).reshape(-1, _NUMBERS)[order],
        np.array(scores, np.float64)[order],
        [places[row] for row in order.tolist()],
        {number: name for name, number in ids.items()},
        dont_care,
    )


def format_row(kind: str, numbers: Sequence[float]) -> str:
    """Make a row of the object benchmark."""
    truncated, occluded, *others = numbers
    return " ".join(
        ["_".join(kind.split()) or "Misc", f"{truncated:g}", f"{occluded:.0f}", *(f"{value:.6f}" for value in others)]
    )


def _whole(text: str) -> int | None:
    try:
        return int(text) if len(text) < 12 else None
    except ValueError:
        return None


_UNSET = 0  # The state of a pose that nobody has set; others are interpolated (1) or labelled (2)
_POSE = ("tx", "ty", "tz", "rx", "ry", "rz")


def read_tracklets(
    path: Path, scan_of: dict[int, int], class_names: dict[int, str], losses: Losses
) -> tuple[CloudBoxes, dict[int, str]]:
    """Read the tracklets of a drive."""
    root = load_xml(path)
    tracklets = root.find("tracklets")
    if root.tag != "boost_serialization" or tracklets is None:
        raise SimjudgeError(f"{path}: holds no <tracklets>; it is not a tracklet_labels.xml of KITTI's raw data")
    ids = {name: number for number, name in class_names.items()}
    rows: list[tuple[int, int, int, list[float], list[float]]] = []
    for instance, item in enumerate(tracklets.findall("item")):
        where = f"{path}: tracklet {instance + 1}"
        kind = (item.findtext("objectType") or "").strip()
        size, first = _numbers(item, ("l", "w", "h")), _numbers(item, ("first_frame",))
        if not kind or size is None or min(size) <= 0 or first is None or not first[0].is_integer():
            losses.add("malformed tracklets", f"{where} (needs objectType, first_frame, and h, w, l above 0)")
            continue
        # The type as KITTI's other benchmarks write it: Person_sitting for Person (sitting).
        class_id = ids.setdefault("_".join(kind.replace("(", "").replace(")", "").split()), len(ids))
        for number, element in enumerate(item.findall("poses/item")):
            frame, pose, state = int(first[0]) + number, _numbers(element, _POSE), _numbers(element, ("state",))
            at = f"{where}: frame {frame}"
            if pose is None or state is None:
                losses.add("malformed poses of tracklets", at)
            elif state[0] == _UNSET:
                losses.add("poses of tracklets that nobody has set", at)
            elif frame not in scan_of:
                losses.add("boxes in space without a scan", at)
            else:
                rows.append((scan_of[frame], class_id, instance, pose, size))
    return _boxes(rows), {number: name for name, number in ids.items()}


def _boxes(rows: list[tuple[int, int, int, list[float], list[float]]]) -> CloudBoxes:
    """The boxes of rows of scan, class, instance, pose and size, ordered by scan."""
    rows.sort(key=lambda row: row[:3])
    scan, class_id, instance = np.array([row[:3] for row in rows], np.int64).reshape(-1, 3).T
    pose = np.array([row[3] for row in rows], np.float64).reshape(-1, 6)
    size = np.array([row[4] for row in rows], np.float64).reshape(-1, 3)
    turn = Rotation.from_euler("xyz", pose[:, 3:]) if rows else None
    if turn is None:
        return CloudBoxes(scan, class_id, instance, pose[:, :3], np.zeros((0, 4)), size)
    up = np.zeros_like(size)
    up[:, 2] = size[:, 2] / 2
    return CloudBoxes(scan, class_id, instance, pose[:, :3] + turn.apply(up), turn.as_quat(), size)


def _numbers(element: Element, names: tuple[str, ...]) -> list[float] | None:
    """Finite numbers of an element's children, None where one is missing or is none."""
    found = [parse_number(element.findtext(name)) for name in names]
    return (
        [value for value in found if value is not None]
        if all(value is not None and np.isfinite(value) for value in found)
        else None
    )


_OXTS_NUMBERS = 30
_EARTH_RADIUS = 6378137.0
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?")


def read_oxts(files: Sequence[Path]) -> list[Pose]:
    """Read poses of the inertial unit in the frame of the first: x, y and z of a Mercator projection, and angles."""
    rows = [row for file in files for row in _number_rows(file, _OXTS_NUMBERS)]
    if not rows:
        return []
    table = np.array(rows)
    latitude, longitude, altitude, roll, pitch, yaw = table[:, :6].T
    if np.abs(latitude).max() >= 89 or np.abs(longitude).max() > 360:
        raise SimjudgeError(f"{files[0]}: latitude and longitude (columns 1, 2) are not degrees; correct it")
    scale = math.cos(math.radians(latitude[0]))
    x = scale * _EARTH_RADIUS * np.radians(longitude)
    y = scale * _EARTH_RADIUS * np.log(np.tan(np.radians(90 + latitude) / 2))
    turns = Rotation.from_euler("ZYX", np.stack([yaw, pitch, roll], -1))
    poses = [
        Pose((px, py, pz), tuple(quaternion))
        for px, py, pz, quaternion in zip(
            x.tolist(), y.tolist(), altitude.tolist(), turns.as_quat().tolist(), strict=True
        )
    ]
    first = poses[0].inverse()
    return [first @ pose for pose in poses]


def read_camera_poses(path: Path, rect_of_velo: FloatArray) -> list[Pose]:
    """Read poses of camera 0 as those of the lidar, in the lidar's frame at the first (rect_of_velo (4, 4))."""
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
    """Read stamps: seconds from the start (odometry), or dates (raw data). Int64 (N,)."""
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
        raise SimjudgeError(f"{where}: {found[0]} is not a date ({error}); correct it") from error
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
