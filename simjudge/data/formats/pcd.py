"""PCD point clouds, a folder of .pcd files or one of them: version 0.7, fields of any type, all three kinds of data.

A field called `_` is a gap between others, and stays one.

Source: https://pcl.readthedocs.io/projects/tutorials/en/latest/pcd_file_format.html; how gaps and fields of several
numbers lie in compressed data is in PCL's pcd_io.cpp.
"""

from __future__ import annotations

import io
import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.files import atomic_file, atomic_folder, read_bytes
from simjudge.core.names import NO_STAMP, name_to_stamp, stamp_to_name
from simjudge.core.text import one_line, parse_number
from simjudge.data.clouds import NO_VIEWPOINT, Cloud, CloudSet, Table, Viewpoint, write_cloud_files
from simjudge.data.format_support.image_files import Format, Source, Topics, file_stems

PcdData = Literal["ascii", "binary", "binary_compressed"]
LARGEST = 2**32  # Bytes of a file that is read whole
_LONGEST_HEADER = 1 << 16
_MOST_COLUMNS = 10_000
_GAP = "_"
_KINDS = {"I": (1, 2, 4, 8), "U": (1, 2, 4, 8), "F": (4, 8)}  # Sizes in bytes of each TYPE
_SINGLE = ("WIDTH", "HEIGHT", "POINTS")


@dataclass(frozen=True)
class _Header:
    """What a header says. `layout` has the gaps between fields; `columns` holds names, types and counts, gaps too."""

    layout: np.dtype[np.void]
    columns: list[tuple[str, np.dtype[Any], int]]
    points: int
    height: int
    viewpoint: Viewpoint
    data: str
    start: int
    first_line: int


def read_pcd(path: str | Path) -> Cloud:
    """Read a PCD file."""
    path = Path(path)
    content = read_bytes(path, LARGEST)
    header = _read_header(content, str(path))
    body = memoryview(content)[header.start :]
    read = {"ascii": _read_ascii, "binary": _read_binary, "binary_compressed": _read_compressed}[header.data]
    return Cloud(read(body, header, str(path)), header.height, header.viewpoint, str(path))


def write_pcd(path: str | Path, cloud: Cloud, data: PcdData = "binary") -> None:
    """Write a PCD file; the file appears when it is whole."""
    content = pcd_content(cloud, data)
    with atomic_file(path) as temporary:
        temporary.write_bytes(content)


def pcd_content(cloud: Cloud, data: PcdData = "binary") -> bytes:
    """Make what a PCD file holds."""
    table, columns = _columns(cloud.table, gaps=data == "binary", where=cloud.where)
    width = len(table) // cloud.height
    lines = [
        "# .PCD v0.7 - Point Cloud Data file format",
        "VERSION 0.7",
        f"FIELDS {' '.join(name for name, _, _ in columns)}",
        f"SIZE {' '.join(str(kind.itemsize) for _, kind, _ in columns)}",
        f"TYPE {' '.join(kind.kind.upper() for _, kind, _ in columns)}",
        f"COUNT {' '.join(str(count) for _, _, count in columns)}",
        f"WIDTH {width}",
        f"HEIGHT {cloud.height}",
        f"VIEWPOINT {' '.join(f'{value:.17g}' for value in cloud.viewpoint)}",
        f"POINTS {len(table)}",
        f"DATA {data}",
    ]
    head = ("\n".join(lines) + "\n").encode("ascii")
    if data == "ascii":
        return head + _ascii_rows(table)
    if data == "binary":
        return head + table.tobytes()
    from simjudge.data.format_support.lzf import compress  # noqa: PLC0415 - loads numba

    # Field after field, not point after point.
    plain = b"".join(np.ascontiguousarray(table[name]).tobytes() for name, _, _ in columns)
    packed = compress(plain)
    return head + struct.pack("<II", len(packed), len(plain)) + packed


def _read_header(content: bytes, where: str) -> _Header:
    values: dict[str, list[str]] = {}
    start = 0
    for number, raw in enumerate(content[:_LONGEST_HEADER].split(b"\n"), 1):
        start += len(raw) + 1
        line = raw.decode("ascii", "replace").strip()
        if not line or line.startswith("#"):
            continue
        key, *rest = line.split()
        if key in values:
            raise SimjudgeError(f"{where}: line {number}: {key} stands twice in its header; remove one")
        values["FIELDS" if key == "COLUMNS" else key] = rest
        if key == "DATA":
            return _header(values, start, number, where)
    raise SimjudgeError(f"{where}: is not a PCD file: it has no line DATA; give a file of the Point Cloud Library")


def _header(values: dict[str, list[str]], start: int, lines: int, where: str) -> _Header:
    missing = [key for key in ("FIELDS", "SIZE", "TYPE") if not values.get(key)]
    if missing:
        raise SimjudgeError(f"{where}: its header lacks {', '.join(missing)}; add the line")
    names = values["FIELDS"]
    values.setdefault("COUNT", ["1"] * len(names))
    for key in ("SIZE", "TYPE", "COUNT"):
        if len(values[key]) != len(names):
            raise SimjudgeError(
                f"{where}: header line {key} has {len(values[key])} entries for {len(names)} FIELDS; correct it"
            )
    columns: list[tuple[str, np.dtype[Any], int]] = []
    for name, size, kind, count in zip(names, values["SIZE"], values["TYPE"], values["COUNT"], strict=True):
        bytes_each, numbers = _whole(size, "SIZE", where), _whole(count, "COUNT", where)
        if bytes_each not in _KINDS.get(kind, ()):
            raise SimjudgeError(
                f"{where}: field {one_line(name)} has TYPE {one_line(kind)} of SIZE {bytes_each}, "
                "which PCD does not know; I and U have 1, 2, 4 or 8 bytes, F has 4 or 8"
            )
        if not _can_be_called(name):
            raise SimjudgeError(f"{where}: {one_line(name)} is not the name of a field; FIELDS needs plain ASCII")
        if name != _GAP and name in [known for known, _, _ in columns]:
            raise SimjudgeError(f"{where}: field {one_line(name)} stands twice in FIELDS; rename one")
        if numbers:
            columns.append((name, np.dtype(f"<{kind.lower()}{bytes_each}"), numbers))
    height, points = _extent(values, where)
    data = " ".join(values["DATA"])
    if data not in ("ascii", "binary", "binary_compressed"):
        raise SimjudgeError(
            f"{where}: DATA {one_line(data)} is not known; it is one of ascii, binary, binary_compressed"
        )
    return _Header(_layout(columns, where), columns, points, height, _viewpoint(values, where), data, start, lines)


def _can_be_called(name: str) -> bool:
    return name.isascii() and name.isprintable() and " " not in name and bool(name)


def _whole(text: str, key: str, where: str) -> int:
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else -1
    if number < 0:
        raise SimjudgeError(f"{where}: header line {key} holds {one_line(text)}, which is no whole number; correct it")
    return number


def _extent(values: dict[str, list[str]], where: str) -> tuple[int, int]:
    """HEIGHT and POINTS; old files lack one or the other."""
    for key in _SINGLE:
        if key in values and len(values[key]) != 1:
            raise SimjudgeError(f"{where}: header line {key} has {len(values[key])} entries, not one; correct it")
    said = {key: _whole(values[key][0], key, where) for key in _SINGLE if key in values}
    if "WIDTH" not in said and "POINTS" not in said:
        raise SimjudgeError(f"{where}: its header has neither WIDTH nor POINTS; add the line")
    height = max(said.get("HEIGHT", 1), 1)
    width = said["WIDTH"] if "WIDTH" in said else said["POINTS"] // height
    points = said.get("POINTS", width * height)
    if width * height != points:
        raise SimjudgeError(f"{where}: WIDTH {width} x HEIGHT {height} are not POINTS {points}; correct its header")
    return height, points


def _viewpoint(values: dict[str, list[str]], where: str) -> Viewpoint:
    if "VIEWPOINT" not in values:
        return NO_VIEWPOINT
    numbers = [parse_number(text) for text in values["VIEWPOINT"]]
    given = tuple(number for number in numbers if number is not None and np.isfinite(number))
    if len(given) != 7 or len(numbers) != 7:
        raise SimjudgeError(f"{where}: VIEWPOINT needs seven numbers: x y z, and a quaternion w x y z")
    x, y, z, qw, qx, qy, qz = given
    return (x, y, z, qw, qx, qy, qz)


def _layout(columns: list[tuple[str, np.dtype[Any], int]], where: str) -> np.dtype[np.void]:
    names, formats, offsets, at = [], [], [], 0
    for name, kind, count in columns:
        if name != _GAP:
            names.append(name)
            formats.append((kind, (count,)) if count > 1 else kind)
            offsets.append(at)
        at += kind.itemsize * count
    if not names or at >= 2**31:
        raise SimjudgeError(f"{where}: its points have {len(names)} fields and {at} bytes; correct FIELDS and COUNT")
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": at})


def _read_binary(body: memoryview, header: _Header, where: str) -> Table:
    wanted = header.points * header.layout.itemsize
    if len(body) < wanted or len(body) >= wanted + header.layout.itemsize > wanted:
        much = "few" if len(body) < wanted else "many"
        raise SimjudgeError(
            f"{where}: {len(body)} bytes of data are too {much} for {header.points} points of "
            f"{header.layout.itemsize} bytes; the file is cut, or its header is wrong"
        )
    table: Table = np.frombuffer(body[:wanted], header.layout)
    return table


def _read_compressed(body: memoryview, header: _Header, where: str) -> Table:
    if header.points == 0:
        return np.empty(0, header.layout)
    from simjudge.data.format_support.lzf import MOST_GROWTH, decompress  # noqa: PLC0415 - loads numba

    # PCL leaves the gaps out of compressed data, other programs write them.
    dense = sum(kind.itemsize * count for name, kind, count in header.columns if name != _GAP) * header.points
    padded = header.layout.itemsize * header.points
    packed, plain = struct.unpack("<II", body[:8]) if len(body) >= 8 else (0, 0)
    if plain not in (dense, padded) or plain > MOST_GROWTH * packed + 1:
        raise SimjudgeError(
            f"{where}: its compressed data would be {plain} bytes, and its header says {header.points} points of "
            f"{header.layout.itemsize} bytes; the file is cut, or its header is wrong"
        )
    content = decompress(bytes(body[8 : 8 + packed]), plain)
    if content is None:
        raise SimjudgeError(f"{where}: its compressed data are damaged; write the file anew")
    table = np.zeros(header.points, header.layout)
    at = 0
    for name, kind, count in header.columns:
        size = kind.itemsize * count * header.points
        if name == _GAP:
            at += size if plain == padded else 0
            continue
        column = np.frombuffer(content[at : at + size], kind)
        table[name] = column.reshape(header.points, count) if count > 1 else column
        at += size
    return table


def _read_ascii(body: memoryview, header: _Header, where: str) -> Table:
    width = sum(count for _, _, count in header.columns)
    if width > _MOST_COLUMNS:
        raise SimjudgeError(f"{where}: its points have {width} numbers; correct COUNT in its header")
    lines = [(number, line) for number, line in enumerate(bytes(body).splitlines(), header.first_line + 1)]
    lines = [(number, line) for number, line in lines if line.strip()]
    rows = [line for _, line in lines]
    if len(rows) != header.points:
        raise SimjudgeError(
            f"{where}: has {len(rows)} rows of points, and its header says {header.points}; the file is cut, or its "
            "header is wrong"
        )
    table = np.zeros(header.points, header.layout)
    if not rows:
        return table
    short = next(((number, len(line.split())) for number, line in lines if len(line.split()) != width), None)
    if short is not None:
        number, held = short
        raise SimjudgeError(f"{where}: line {number}: has {held} numbers, and its header says {width}; correct it")
    each = [kind for _, kind, count in header.columns for _ in range(count)]
    flat = np.dtype([(f"f{k}", kind) for k, kind in enumerate(each)])
    try:
        read = np.loadtxt(io.BytesIO(b"\n".join(rows)), flat, comments=None, ndmin=1)
    except (ValueError, OverflowError) as error:
        # It counts rows from 0, and says which.
        said = re.search(r"(?s)(.*) at row (\d+)", str(error))
        line = f"line {lines[int(said[2])][0]}: {one_line(said[1])}" if said else one_line(str(error))
        raise SimjudgeError(f"{where}: {line}; correct it") from error
    at = 0
    for name, _, count in header.columns:
        if name != _GAP and count == 1:
            table[name] = read[f"f{at}"]
        elif name != _GAP:
            table[name] = np.stack([read[f"f{at + k}"] for k in range(count)], -1)
        at += count
    return table


def _columns(table: Table, *, gaps: bool, where: str) -> tuple[Table, list[tuple[str, np.dtype[Any], int]]]:
    """The fields of a table in the order in which they lie, with the gaps between them or packed without."""
    fields: Any = table.dtype.fields
    names = sorted(table.dtype.names or (), key=lambda name: fields[name][1])
    columns: list[tuple[str, np.dtype[Any], int]] = []
    at, lapping = 0, False
    for name in names:
        kind, offset = fields[name][:2]
        if kind.base.kind not in "iuf" or kind.base.itemsize not in _KINDS[kind.base.kind.upper()]:
            raise SimjudgeError(f"{where}: PCD has no type {kind.base} for field {name!r}; leave the field out")
        if not _can_be_called(name) or name == _GAP:
            raise SimjudgeError(f"{where}: a PCD field cannot be called {name!r}; rename it")
        lapping |= offset < at
        if offset > at:
            columns.append((_GAP, np.dtype("u1"), offset - at))
        columns.append((name, kind.base, int(np.prod(kind.shape, dtype=np.int64))))
        at = offset + kind.itemsize
    if table.dtype.itemsize > at:
        columns.append((_GAP, np.dtype("u1"), table.dtype.itemsize - at))
    if gaps and not lapping:
        return table, columns
    dense = [(name, kind, count) for name, kind, count in columns if name != _GAP]
    layout = [(name, kind, (count,)) if count > 1 else (name, kind) for name, kind, count in dense]
    packed = np.empty(len(table), layout)
    for name in names:
        packed[name] = table[name]
    return packed, dense


def _ascii_rows(table: Table) -> bytes:
    columns = []
    for name in table.dtype.names or ():
        values = table[name].reshape(len(table), 1) if table[name].ndim == 1 else table[name]
        # As many digits as tell a number from its neighbours.
        form = {"f4": "%.9g", "f8": "%.17g"}.get(values.dtype.str[1:], "%d")
        columns += [[form % value for value in column.tolist()] for column in values.T]
    return b"".join((" ".join(row) + "\n").encode("ascii") for row in zip(*columns, strict=True))


_SUFFIX = ".pcd"


def _sniff(source: Source) -> bool:
    if source.is_folder:
        return any(source.path.glob(f"*{_SUFFIX}"))
    return source.path.suffix.lower() == _SUFFIX


def _read(source: Source, _topics: Topics) -> CloudSet:
    files = sorted(source.path.glob(f"*{_SUFFIX}")) if source.path.is_dir() else [source.path]
    names = [file.stem for file in files]
    stamps = np.array([_stamp(name) for name in names], np.int64)
    losses = Losses()
    below = sorted(set(source.path.rglob(f"*{_SUFFIX}")) - set(files)) if source.path.is_dir() else []
    losses.add("clouds in folders below (left aside)", str(next(iter(below), "")), len(below))
    return CloudSet(source.path.stem, names, stamps, lambda index: read_pcd(files[index]), losses=losses)


def _stamp(name: str) -> int:
    """The stamp that a file is called by: ours, or that of pcl_ros, or nanoseconds or microseconds since 1970."""
    stamp = name_to_stamp(name.replace(".", "_"))
    if stamp == NO_STAMP and re.fullmatch(r"1\d{18}|1\d{15}", name):
        stamp = int(name) * (1 if len(name) == 19 else 1000)
    return stamp


def _write(clouds: CloudSet, path: Path) -> Losses:
    losses = Losses()
    names = list(clouds.cloud_name)
    carried = all(_stamp(name) == stamp for name, stamp in zip(names, clouds.stamp.tolist(), strict=True))
    if len(set(names)) < len(names) or not (carried or np.any(clouds.stamp == NO_STAMP)):
        names = [stamp_to_name(stamp) for stamp in clouds.stamp.tolist()]
    with atomic_folder(path) as folder:
        files = [folder / f"{stem}{_SUFFIX}" for stem in file_stems(names)]
        write_cloud_files(clouds, files, pcd_content, losses)
    if clouds.boxes is not None and len(clouds.boxes):
        losses.add("boxes in space that PCD files have no place for", clouds.name, len(clouds.boxes))
    if clouds.predictions is not None:
        losses.add("cuboids that PCD files have no place for", clouds.name, len(clouds.predictions))
    return losses


# The format of the Point Cloud Library.
FORMATS = (
    Format(
        "pcd", "PCD point clouds", "a .pcd file or a folder of them", _sniff, 95, read_clouds=_read, write_clouds=_write
    ),
)
