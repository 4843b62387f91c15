"""rosbag2 recordings in and out: frames <-> messages, through `rosbags`; no ROS installation is needed.

The names below are loaded on first use, so that importing this package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simjudge.data.rosbag2.reading import read_recording
    from simjudge.data.rosbag2.recording import RecordingDescription, TopicInfo, describe_recording
    from simjudge.data.rosbag2.storage import is_recording
    from simjudge.data.rosbag2.writing import write_recording

__all__ = [
    "RecordingDescription",
    "TopicInfo",
    "describe_recording",
    "is_recording",
    "read_recording",
    "write_recording",
]

_HOMES = {
    "RecordingDescription": "recording",
    "TopicInfo": "recording",
    "describe_recording": "recording",
    "is_recording": "storage",
    "read_recording": "reading",
    "write_recording": "writing",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
