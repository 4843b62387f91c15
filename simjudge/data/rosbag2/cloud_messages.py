"""Points as a table, and the table as sensor_msgs/PointCloud2: what drivers publish, written and read.

A table is a structured NumPy array with a row a point. A message may have gaps between fields, rows of its own
(`height` above 1), big-endian numbers, several numbers in a field: all of that is read.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any

import numpy as np

from simjudge.core.errors import SimjudgeError
from simjudge.data.clouds.cloud_set import Table

CLOUD_TYPE = "sensor_msgs/msg/PointCloud2"
Find = Callable[[str], Any]
"""From a message type's name to its class, of recordings (rosbags) or of an installation (rclpy)."""

_TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 8: "f8"}
"""NumPy's types by PointField.datatype."""
_CODES = {np.dtype(name): code for code, name in _TYPES.items()}
_REMEDY = "record it anew, or mend the program that made it"


def cloud_message(find: Find, header: Any, table: Table, *, height: int = 1) -> Any:
    """Make a PointCloud2 of a table.

    Args:
        height: rows of an organized cloud; the table holds them one after the other.
    """
    field = find("sensor_msgs/msg/PointField")
    fields = []
    for name in table.dtype.names or ():
        kind, offset = table.dtype.fields[name][:2]  # type: ignore[index]
        if kind.base not in _CODES:
            raise SimjudgeError(f"a PointCloud2 cannot hold field {name!r}: it has no type {kind.base}")
        count = int(np.prod(kind.shape, dtype=np.int64))
        fields.append(field(name=name, offset=offset, datatype=_CODES[kind.base], count=count))
    # rclpy takes an array at once, rosbags wants NumPy's.
    data = np.frombuffer(table.tobytes(), np.uint8)
    cloud = find(CLOUD_TYPE)
    step = table.dtype.itemsize
    width = len(table) // height
    coordinates = [table[name] for name in "xyz" if name in (table.dtype.names or ())]
    return cloud(
        header=header, height=height, width=width, fields=fields, is_bigendian=False, point_step=step,
        row_step=step * width, data=data if cloud.__module__.startswith("rosbags") else array("B", data.tobytes()),
        is_dense=all(bool(np.isfinite(each).all()) for each in coordinates),
    )  # fmt: skip


def read_cloud(message: Any, where: str) -> Table:
    """Read a PointCloud2 of any driver.

    Returns:
        A table with the message's fields, little-endian; a field of several numbers is an array. NaN stays NaN, and
        gaps between fields stay.
    """
    order = ">" if message.is_bigendian else "<"
    step, width, height = int(message.point_step), int(message.width), int(message.height)
    layout = _layout(message.fields, order, step, where)
    row_step = int(message.row_step) if height > 1 else step * width
    data = np.frombuffer(message.data, np.uint8) if not isinstance(message.data, np.ndarray) else message.data
    if row_step < step * width:
        raise SimjudgeError(f"{where}: row_step {row_step} is less than {width} points of {step} bytes; {_REMEDY}")
    if len(data) < row_step * (height - 1) + step * width * (height > 0):
        raise SimjudgeError(
            f"{where}: {len(data)} bytes are too few for {height} x {width} points of {step} bytes, rows of "
            f"{row_step}; {_REMEDY}"
        )
    if height == 1:
        table = np.frombuffer(data[: step * width].tobytes(), layout)
    else:
        # The last row may lack what pads the others.
        padded = np.zeros(row_step * height, np.uint8)
        padded[: len(data)] = data[: len(padded)]
        table = np.frombuffer(padded.reshape(height, row_step)[:, : step * width].tobytes(), layout)
    return table if order == "<" else table.astype(layout.newbyteorder("<"))


def _layout(fields: Any, order: str, step: int, where: str) -> np.dtype[np.void]:
    names: list[str] = []
    formats: list[Any] = []
    offsets: list[int] = []
    for field in fields:
        name = str(field.name)
        if field.datatype not in _TYPES:
            raise SimjudgeError(f"{where}: field {name!r} is of an unknown type, {field.datatype}; {_REMEDY}")
        kind = np.dtype(f"{order}{_TYPES[field.datatype]}")
        count = max(int(field.count), 1)
        if int(field.offset) + count * kind.itemsize > step:
            raise SimjudgeError(
                f"{where}: field {name!r} reaches over its point of {step} bytes (point_step); {_REMEDY}"
            )
        if name in names:
            raise SimjudgeError(f"{where}: has field {name!r} twice; {_REMEDY}")
        names.append(name)
        formats.append((kind, (count,)) if count > 1 else kind)
        offsets.append(int(field.offset))
    if step < 1:
        raise SimjudgeError(f"{where}: its points have {step} bytes (point_step); {_REMEDY}")
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": step})
