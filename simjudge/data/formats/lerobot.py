"""LeRobot data sets as a data format: `simjudge.data.lerobot` reads them, and is loaded when needed."""

from __future__ import annotations

from pathlib import Path

from simjudge.core.files import is_file
from simjudge.core.frames import FrameSet
from simjudge.core.text import load_json
from simjudge.data.format_support.image_files import Format, ReadOptions, Source

_INFO = "meta/info.json"


def is_data_set(path: Path) -> bool:
    """Tell whether a folder is a LeRobot data set, of any version."""
    if not (path.is_dir() and is_file(path / _INFO)):
        return False
    said = load_json(path / _INFO)
    return isinstance(said, dict) and "codebase_version" in said


def _read(source: Source, options: ReadOptions) -> FrameSet:
    from simjudge.data.lerobot import read_lerobot  # noqa: PLC0415 - loads pyarrow

    return read_lerobot(source.path, options.topics)


FORMATS = (
    Format(
        "lerobot",
        "LeRobot",
        "a LeRobot data set (meta/info.json)",
        lambda source: is_data_set(source.path),
        8,
        read=_read,
        has_topics=True,
    ),
)
