"""rosbag2 recordings as a data format: `simjudge.data.rosbag2` reads and writes them, and is loaded when needed."""

from __future__ import annotations

from pathlib import Path

from simjudge.core.errors import Losses
from simjudge.core.frames import FrameSet
from simjudge.data.clouds import CloudSet
from simjudge.data.format_support.image_files import Format, ReadOptions, Source, Topics


def _sniff(source: Source) -> bool:
    from simjudge.data.rosbag2 import is_recording  # noqa: PLC0415 - loads rosbags

    return is_recording(source.path)


def _read(source: Source, options: ReadOptions) -> FrameSet:
    from simjudge.data.rosbag2 import read_recording  # noqa: PLC0415 - loads rosbags

    topics = options.topics or Topics()
    return read_recording(
        source.path,
        image_topic=topics.image_topic,
        label_topic=topics.label_topic,
        detection_topic=topics.detection_topic,
        tolerance_ns=options.tolerance_ns,
    )


def _write(frames: FrameSet, path: Path) -> Losses:
    from simjudge.data.rosbag2 import write_recording  # noqa: PLC0415 - loads rosbags

    return write_recording(frames, path)


def _read_clouds(source: Source, topics: Topics) -> CloudSet:
    from simjudge.data.rosbag2.cloud_reading import read_cloud_recording  # noqa: PLC0415 - loads rosbags

    return read_cloud_recording(source.path, topics)


def _write_clouds(clouds: CloudSet, path: Path) -> Losses:
    from simjudge.data.rosbag2.cloud_writing import write_cloud_recording  # noqa: PLC0415 - loads rosbags

    return write_cloud_recording(clouds, path)


# The format that ROS 2 records: https://github.com/ros2/rosbag2, https://mcap.dev/spec.
FORMATS = (
    Format(
        "bag",
        "rosbag2 recording",
        "a recording (.mcap, .db3 or a rosbag2 folder)",
        _sniff,
        70,
        read=_read,
        write=_write,
        suffixes=(".mcap", ".db3"),
        has_topics=True,
        read_clouds=_read_clouds,
        write_clouds=_write_clouds,
    ),
)
