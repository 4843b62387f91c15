"""Points as a table, and the table as sensor_msgs/PointCloud2: what drivers publish, written and read.

A table is a structured NumPy array with a row a point. A message may have gaps between fields, rows of its own
(`height` above 1), big-endian numbers, several numbers in a field: all of that is read.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from simjudge.core.errors import SimjudgeError
from simjudge.sensors.lidar.scan import Scan

CLOUD_TYPE = "sensor_msgs/msg/PointCloud2"
Table = npt.NDArray[np.void]
Find = Callable[[str], Any]
"""From a message type's name to its class, of recordings (rosbags) or of an installation (rclpy)."""

_TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 8: "f8"}
"""NumPy's types by PointField.datatype."""
_CODES = {np.dtype(name): code for code, name in _TYPES.items()}
POINT = np.dtype(
    [("x", "f4"), ("y", "f4"), ("z", "f4"), ("intensity", "f4"), ("ring", "u2"), ("time", "f4")], align=False
)
"""As velodyne_pointcloud publishes its points: `time` is in seconds from the message's stamp."""
TRUE_POINT = np.dtype(
    [("x", "f4"), ("y", "f4"), ("z", "f4"), ("class_id", "u2"), ("instance", "u2"), ("ring", "u2"), ("time", "f4")]
)
"""The truth beside each point, in the same order."""


def point_table(scan: Scan) -> Table:
    """The points of a scan as a driver publishes them.

    Args:
        scan: of a lidar.

    Returns:
        A table of `POINT`.
    """
    table = np.empty(len(scan), POINT)
    table["x"], table["y"], table["z"] = scan.points.T
    table["intensity"], table["ring"], table["time"] = scan.intensity, scan.ring, scan.time
    return table


def true_point_table(scan: Scan, class_id: npt.NDArray[np.int64], instance: npt.NDArray[np.int64]) -> Table:
    """The points of a scan without noise, and what they lie on.

    Args:
        scan: of a lidar.
        class_id, instance: (P,), of each point; 0 where it lies on nothing labelled.

    Returns:
        A table of `TRUE_POINT`.
    """
    table = np.empty(len(scan), TRUE_POINT)
    table["x"], table["y"], table["z"] = scan.true_points.T
    table["class_id"], table["instance"] = class_id, instance
    table["ring"], table["time"] = scan.ring, scan.time
    return table


def cloud_message(find: Find, header: Any, table: Table) -> Any:
    """Make a PointCloud2 of a table.

    Args:
        find: the class of a message type by its name.
        header: the message's header.
        table: a row a point; fields of plain numbers.

    Returns:
        The message, points in one row, dense.
    """
    names = table.dtype.names or ()
    field = find("sensor_msgs/msg/PointField")
    described: Any = table.dtype.fields
    fields = [
        field(name=name, offset=described[name][1], datatype=_CODES[described[name][0]], count=1) for name in names
    ]
    # rclpy takes an array at once, rosbags wants NumPy's.
    data = np.frombuffer(table.tobytes(), np.uint8)
    cloud = find(CLOUD_TYPE)
    step = table.dtype.itemsize
    return cloud(
        header=header, height=1, width=len(table), fields=fields, is_bigendian=False, point_step=step,
        row_step=step * len(table), data=data if cloud.__module__.startswith("rosbags") else array("B", data.tobytes()),
        is_dense=True,
    )  # fmt: skip


def read_cloud(message: Any, where: str) -> Table:
    """Read a PointCloud2 of any driver.

    Args:
        message: the message.
        where: names it in messages: file, topic and stamp.

    Returns:
        A table with the message's fields, little-endian; a field of several numbers is an array. NaN stays NaN.

    Raises:
        SimjudgeError: the fields reach over the point, or the data are shorter than the message says.
    """
    order = ">" if message.is_bigendian else "<"
    step, width, height = int(message.point_step), int(message.width), int(message.height)
    names, formats, offsets = [], [], []
    for field in message.fields:
        if field.datatype not in _TYPES:
            raise SimjudgeError(f"{where}: field {field.name!r} is of an unknown type, {field.datatype}")
        kind = np.dtype(f"{order}{_TYPES[field.datatype]}")
        count = max(int(field.count), 1)
        if field.offset + count * kind.itemsize > step:
            raise SimjudgeError(f"{where}: field {field.name!r} reaches over its point of {step} bytes (point_step)")
        if field.name in names:
            raise SimjudgeError(f"{where}: has field {field.name!r} twice")
        names.append(field.name)
        formats.append((kind, (count,)) if count > 1 else kind)
        offsets.append(int(field.offset))
    row_step = int(message.row_step) if height > 1 else step * width
    data = np.frombuffer(message.data, np.uint8) if not isinstance(message.data, np.ndarray) else message.data
    if row_step < step * width or len(data) < row_step * (height - 1) + step * width * (height > 0):
        raise SimjudgeError(
            f"{where}: {len(data)} bytes are too few for {height} x {width} points of {step} bytes, rows of {row_step}"
        )
    layout = np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": step})
    rows = [
        np.frombuffer(data[k * row_step : k * row_step + step * width].tobytes(), layout) for k in range(height)
    ]
    table: Table = np.concatenate(rows) if rows else np.empty(0, layout)
    return table.astype(table.dtype.newbyteorder("<"))
