"""KITTI folders: scans, boxes in space, images, calibration and poses."""

from __future__ import annotations

from simjudge.data.format_support.format import Format
from simjudge.data.formats.kitti.dataset import read_kitti, read_kitti_clouds
from simjudge.data.formats.kitti.layout import is_kitti
from simjudge.data.formats.kitti.writing import write_kitti

__all__ = ["FORMATS", "read_kitti", "read_kitti_clouds", "write_kitti"]

FORMATS = (
    Format(
        "kitti", "KITTI", "a KITTI folder (velodyne/ or velodyne_points/)", lambda source: is_kitti(source.path), 5,
        read=lambda source, _options: read_kitti(source.path),
        read_clouds=lambda source, _topics: read_kitti_clouds(source.path), write_clouds=write_kitti,
    ),
)  # fmt: skip
"""The format of the KITTI benchmarks: https://www.cvlibs.net/datasets/kitti/."""
