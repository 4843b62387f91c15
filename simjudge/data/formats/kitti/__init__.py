"""KITTI folders: scans, boxes in space, images, calibration and poses. What reads and writes is loaded when needed."""

from __future__ import annotations

from pathlib import Path

from simjudge.core.errors import Losses
from simjudge.core.frames import FrameSet
from simjudge.data.clouds.cloud_set import CloudSet
from simjudge.data.format_support.format import Format, ReadOptions, Source, Topics
from simjudge.data.formats.kitti.layout import is_kitti


def _read(source: Source, _options: ReadOptions) -> FrameSet:
    from simjudge.data.formats.kitti.dataset import read_kitti  # noqa: PLC0415 - loads SciPy

    return read_kitti(source.path)


def _read_clouds(source: Source, _topics: Topics) -> CloudSet:
    from simjudge.data.formats.kitti.dataset import read_kitti_clouds  # noqa: PLC0415 - loads SciPy

    return read_kitti_clouds(source.path)


def _write_clouds(clouds: CloudSet, path: Path) -> Losses:
    from simjudge.data.formats.kitti.writing import write_kitti  # noqa: PLC0415 - loads SciPy

    return write_kitti(clouds, path)


FORMATS = (
    Format(
        "kitti", "KITTI", "a KITTI folder (velodyne/ or velodyne_points/)", lambda source: is_kitti(source.path), 5,
        read=_read, read_clouds=_read_clouds, write_clouds=_write_clouds,
    ),
)  # fmt: skip
"""The format of the KITTI benchmarks: https://www.cvlibs.net/datasets/kitti/."""
