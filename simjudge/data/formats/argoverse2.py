"""Argoverse 2 sweeps: clouds of two lidars in the car's frame, with each point's laser and time, boxes and poses.

A log has `sensors/lidar/STAMP.feather`, `annotations.feather` and `city_SE3_egovehicle.feather`; a sweep alone is a
folder with `lidar.feather` beside these.

Source: https://argoverse.github.io/user-guide/datasets/lidar.html.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.files import check_file
from simjudge.core.names import NO_STAMP
from simjudge.data.clouds import Cloud, CloudBoxes, CloudSet
from simjudge.data.format_support.image_files import Format, Source

if TYPE_CHECKING:
    from simjudge.geometry.poses import Pose

# x, y and z are float16 in the file.
POINT = np.dtype(
    [("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("intensity", "u1"), ("laser_number", "u1"), ("offset_ns", "<i4")]
)
_FRAME = "egovehicle"
_SWEEP, _LABELS, _POSES = "lidar.feather", "annotations.feather", "city_SE3_egovehicle.feather"
_LARGEST = 2**31
_QUATERNION, _PLACE, _SIZE = ("qx", "qy", "qz", "qw"), ("tx_m", "ty_m", "tz_m"), ("length_m", "width_m", "height_m")


def feather_columns(path: Path, names: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
    """Read columns of a feather file."""
    import pyarrow as pa  # noqa: PLC0415 - slow to load, and needed by this format alone
    from pyarrow import feather  # noqa: PLC0415

    check_file(path, _LARGEST)
    try:
        table = feather.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise SimjudgeError(f"{path}: is not a feather file: {' '.join(str(error).split())}") from error
    missing = [name for name in names if name not in table.column_names]
    if missing:
        raise SimjudgeError(f"{path}: has no column {', '.join(missing)}; it has {', '.join(table.column_names)}")
    return {name: table[name].to_numpy() for name in names}


def _sweeps(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if (path / _SWEEP).is_file():
        return [path / _SWEEP]
    found = (path / "sensors" / "lidar").glob("*.feather")
    return sorted(file for file in found if file.stem.isdecimal())


def _sniff(source: Source) -> bool:
    if source.is_folder:
        return bool(_sweeps(source.path))
    return source.path.suffix == ".feather" and (source.path.stem.isdecimal() or source.path.name == _SWEEP)


def _read(source: Source) -> CloudSet:
    files, losses = _sweeps(source.path), Losses()
    root = source.path if source.is_folder else files[0].parent
    # Of a sweep of a log, the rest stands two folders up.
    root = next((folder for folder in (root, *root.parents[1:2]) if (folder / _LABELS).is_file()), root)
    stamps = [int(file.stem) if file.stem.isdecimal() else _only_stamp(root) for file in files]
    boxes, labelled, names = _boxes(root, stamps, losses)
    poses = _poses(root, stamps, losses)
    return CloudSet(
        source.path.stem,
        [file.stem for file in files],
        np.array(stamps, np.int64),
        lambda index: _read_sweep(files[index]),
        _FRAME,
        boxes,
        labelled,
        names,
        body=_FRAME,
        poses=poses,
        losses=losses,
    )


def _read_sweep(path: Path) -> Cloud:
    columns = feather_columns(path, POINT.names or ())
    table = np.empty(len(columns["x"]), POINT)
    for name, column in columns.items():
        if column.dtype.kind not in "iuf":
            raise SimjudgeError(f"{path}: column {name} holds {column.dtype}, not numbers")
        table[name] = column
    return Cloud(table, where=str(path))


def _only_stamp(root: Path) -> int:
    """The stamp of a sweep alone: that of its annotations."""
    path = root / _LABELS
    stamps = np.unique(feather_columns(path, ("timestamp_ns",))["timestamp_ns"]) if path.is_file() else np.zeros(0)
    return int(stamps[0]) if len(stamps) == 1 else NO_STAMP


def _boxes(
    root: Path, stamps: list[int], losses: Losses
) -> tuple[CloudBoxes | None, npt.NDArray[np.bool_] | None, dict[int, str]]:
    path = root / _LABELS
    if not path.is_file():
        return None, None, {}
    columns = feather_columns(path, ("timestamp_ns", "track_uuid", "category", *_QUATERNION, *_PLACE, *_SIZE))
    number = {stamp: index for index, stamp in enumerate(stamps)}
    cloud = np.array([number.get(int(stamp), -1) for stamp in columns["timestamp_ns"]], np.int64)
    values = _stacked(columns, (*_PLACE, *_QUATERNION, *_SIZE))
    usable = np.isfinite(values).all(1) & (np.abs(values[:, 3:7]).max(1, initial=0) > 0)
    losses.add("boxes with numbers that are not finite", str(path), int((~usable).sum()))
    losses.add("boxes of a sweep that is not there", str(path), int((usable & (cloud < 0)).sum()))
    rows = np.flatnonzero(usable & (cloud >= 0))
    rows = rows[np.argsort(cloud[rows], kind="stable")]
    kinds, class_id = np.unique(columns["category"].astype(str), return_inverse=True)
    _, instance = np.unique(columns["track_uuid"].astype(str), return_inverse=True)
    boxes = CloudBoxes(
        cloud[rows],
        class_id.astype(np.int64)[rows],
        instance.astype(np.int64)[rows],
        values[rows, :3],
        values[rows, 3:7],
        values[rows, 7:],
    )
    labelled = np.isin(np.arange(len(stamps)), cloud)
    return boxes, labelled, dict(enumerate(kinds.tolist()))


def _poses(root: Path, stamps: list[int], losses: Losses) -> list[Pose]:
    """The car's pose at each sweep, which the file has at just that stamp."""
    from simjudge.geometry.poses import Pose  # noqa: PLC0415 - loads SciPy

    path = root / _POSES
    if not path.is_file():
        return []
    columns = feather_columns(path, ("timestamp_ns", *_QUATERNION, *_PLACE))
    row = {int(stamp): index for index, stamp in enumerate(columns["timestamp_ns"])}
    if any(stamp not in row for stamp in stamps):
        losses.add("files of poses without one at each sweep's stamp", str(path))
        return []
    values = _stacked(columns, (*_PLACE, *_QUATERNION))[[row[stamp] for stamp in stamps]]
    return [Pose(tuple(row[:3]), tuple(row[3:])) for row in values.tolist()]


def _stacked(columns: dict[str, npt.NDArray[Any]], names: Sequence[str]) -> FloatArray:
    return np.stack([columns[name].astype(np.float64) for name in names], -1)


# The format of https://www.argoverse.org/av2.html.
FORMATS = (
    Format(
        "argoverse2",
        "Argoverse 2",
        "an Argoverse 2 log or sweep (.feather)",
        _sniff,
        6,
        read_clouds=lambda source, _topics: _read(source),
    ),
)
