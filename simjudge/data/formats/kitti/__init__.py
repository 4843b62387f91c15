"""KITTI folders: scans, boxes in space, images, calibration and poses. What reads and writes is loaded when needed."""

from __future__ import annotations

from pathlib import Path

from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.data.clouds import CloudSet
from simjudge.data.format_support.image_files import Format, ReadOptions, Source, Topics
from simjudge.data.formats.kitti.layout import CAMERA, camera_number, find_cameras, has_scans, is_kitti


def _read(source: Source, options: ReadOptions) -> FrameSet:
    from simjudge.data.formats.kitti.dataset import read_kitti  # noqa: PLC0415 - loads SciPy

    return read_kitti(source.path, _camera(source.path, options.topics))


def _read_clouds(source: Source, topics: Topics) -> CloudSet:
    from simjudge.data.formats.kitti.dataset import read_kitti_clouds  # noqa: PLC0415 - loads SciPy

    return read_kitti_clouds(source.path, _camera(source.path, topics))


def _camera(path: Path, topics: Topics | None) -> int:
    """The number of the camera that a person has chosen, or of the usual one."""
    if topics is None or topics == Topics():
        return CAMERA
    camera = None if topics.image_topic is None else camera_number(topics.image_topic)
    if camera is None or topics != Topics(topics.image_topic):
        raise UsageError(f"{path}: is a KITTI folder, not a recording; give --image-topic image_0 to image_3 alone")
    there = find_cameras(path)
    if camera not in there:
        held = ", ".join(f"image_{number}" for number in there) or "none at all"
        raise SimjudgeError(f"{path}: holds no images of camera {camera}; those that it holds: {held}")
    return camera


def _write_clouds(clouds: CloudSet, path: Path) -> Losses:
    from simjudge.data.formats.kitti.writing import write_kitti  # noqa: PLC0415 - loads SciPy

    return write_kitti(clouds, path)


# The format of the KITTI benchmarks: https://www.cvlibs.net/datasets/kitti/.
FORMATS = (
    Format(
        "kitti",
        "KITTI",
        "a KITTI folder (velodyne/, velodyne_points/ or label_2/)",
        lambda source: is_kitti(source.path),
        5,
        read=_read,
        has_topics=True,
        read_clouds=_read_clouds,
        has_clouds=has_scans,
        write_clouds=_write_clouds,
    ),
)
