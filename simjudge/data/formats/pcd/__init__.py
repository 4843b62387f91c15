"""PCD point clouds: a folder of .pcd files, or one of them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from simjudge.core.errors import Losses
from simjudge.core.files import atomic_folder
from simjudge.core.stamps import NO_STAMP, name_to_stamp, stamp_to_name
from simjudge.data.clouds.cloud_files import write_cloud_files
from simjudge.data.clouds.cloud_set import CloudSet
from simjudge.data.format_support.format import Format, Source, Topics
from simjudge.data.format_support.image_files import file_stems

_SUFFIX = ".pcd"


def _files(path: Path) -> list[Path]:
    return sorted(path.glob(f"*{_SUFFIX}")) if path.is_dir() else [path]


def _sniff(source: Source) -> bool:
    if source.is_folder:
        return any(source.path.glob(f"*{_SUFFIX}"))
    return source.path.suffix.lower() == _SUFFIX


def _read(source: Source, _topics: Topics) -> CloudSet:
    from simjudge.data.formats.pcd.pcd_file import read_pcd  # noqa: PLC0415 - loads numba

    files = _files(source.path)
    names = [file.stem for file in files]
    stamps = np.array([_stamp(name) for name in names], np.int64)
    return CloudSet(source.path.stem, names, stamps, lambda index: read_pcd(files[index]))


def _stamp(name: str) -> int:
    """The stamp that a file is called by: ours, or that of pcl_ros, or nanoseconds or microseconds since 1970."""
    stamp = name_to_stamp(name.replace(".", "_"))
    if stamp == NO_STAMP and re.fullmatch(r"1\d{18}|1\d{15}", name):
        stamp = int(name) * (1 if len(name) == 19 else 1000)
    return stamp


def _write(clouds: CloudSet, path: Path) -> Losses:
    from simjudge.data.formats.pcd.pcd_file import pcd_content  # noqa: PLC0415 - loads numba

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


FORMATS = (
    Format(
        "pcd", "PCD point clouds", "a .pcd file or a folder of them", _sniff, 95, read_clouds=_read, write_clouds=_write
    ),
)
"""The format of the Point Cloud Library."""
