"""Which files a recording is made of: one storage file, or a rosbag2 folder with or without its metadata.yaml."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.input_files import LARGEST_TEXT, check_file, is_file, read_bytes
from simjudge.core.text import one_line, parse_integer
from simjudge.core.yaml_file import read_yaml

log = logging.getLogger(__name__)

STORAGE_SUFFIXES = (".mcap", ".db3")
"""Endings of a recording that is one file, and of the storage files in a folder."""
METADATA = "metadata.yaml"
_OWN_STORAGES = ("mcap", "sqlite3")
_OWN_COMPRESSION = "zstd"


@dataclass
class RecordingFiles:
    """The files of a recording, in the order they were recorded.

    Attributes:
        files: storage files (.mcap, .db3, either perhaps with .zstd behind it).
        message_count: how many messages metadata.yaml promises, None where there is no (whole) metadata.yaml.
        notes: what is worth saying although nothing is lost.
        losses: files that metadata.yaml names and that are not there.
        needs: what simjudge cannot read itself and a plugin of rosbag2 may, empty where there is nothing.
        info: what metadata.yaml says, empty where there is no (whole) metadata.yaml.
    """

    files: list[Path]
    message_count: int | None = None
    notes: list[str] = field(default_factory=list)
    losses: Losses = field(default_factory=Losses)
    needs: str = ""
    info: dict[str, Any] = field(default_factory=dict)


def is_recording(path: Path) -> bool:
    """Tell whether a path looks like a recording.

    Returns:
        True for a .mcap or .db3 file, or a folder with such files or with their metadata.yaml.
    """
    if path.is_dir():
        return bool(_storage_files(path)) or _is_rosbag2_metadata(path / METADATA)
    return _is_storage(path) and path.is_file()


def find_recording_files(path: Path) -> RecordingFiles:
    """Find the storage files of a recording.

    Args:
        path: a rosbag2 folder, with or without metadata.yaml, or a bare storage file.
    """
    if not path.exists():
        raise SimjudgeError(f"{path}: does not exist")
    if path.is_file():
        if not _is_storage(path):
            check_file(path)
            raise SimjudgeError(f"{path}: is not a recording (.mcap, .db3 or a rosbag2 folder)")
        return RecordingFiles([path])
    found = _storage_files(path)
    info, why_not = _metadata(path / METADATA)
    if info is None:
        if not found:
            raise SimjudgeError(f"{path}: holds no .mcap or .db3 file")
        return RecordingFiles(
            found, notes=[f"{path}: {why_not}; the recording is read from its {len(found)} storage files"]
        )
    return _listed(path, info, found)


def _listed(path: Path, info: dict[str, Any], found: list[Path]) -> RecordingFiles:
    layout = RecordingFiles([], info["message_count"], needs=_needs(info), info=info)
    if layout.needs:
        layout.files = [path / Path(str(name)).name for name in info["relative_file_paths"]]
        return layout
    for name in info["relative_file_paths"]:
        file = path / Path(str(name)).name
        if is_file(file):
            layout.files.append(file)
        else:
            layout.losses.add("storage files that metadata.yaml names and that are missing", str(file))
    if not layout.files:
        if not found:
            raise SimjudgeError(f"{path}: none of the storage files that {METADATA} names is there")
        layout.files, layout.losses = found, Losses()
        layout.notes.append(f"{path}: {METADATA} names files that are not there; read instead: {_names(found)}")
    unlisted = [file for file in found if file not in layout.files]
    if unlisted:
        layout.notes.append(f"{path}: not named in {METADATA} and not read: {_names(unlisted)}")
    return layout


def is_compressed(info: dict[str, Any]) -> bool:
    """Tell whether files or messages are compressed by rosbag2 (not by the storage itself)."""
    return str(info.get("compression_mode") or "").upper() in ("FILE", "MESSAGE")


def _needs(info: dict[str, Any]) -> str:
    """Storage or compression that only a plugin of rosbag2 reads."""
    storage = info.get("storage_identifier") or _OWN_STORAGES[0]
    if storage not in _OWN_STORAGES:
        return f"storage {one_line(storage)!r}"
    compression = info.get("compression_format")
    if is_compressed(info) and compression != _OWN_COMPRESSION:
        return f"compression {one_line(compression)!r}"
    return ""


def _names(files: list[Path]) -> str:
    return ", ".join(file.name for file in files)


def _is_storage(path: Path) -> bool:
    name = path.name.removesuffix(".zstd")
    return name.endswith(STORAGE_SUFFIXES) and not name.startswith(".")


def _storage_files(folder: Path) -> list[Path]:
    """All storage files right in a folder, rec_2 before rec_10."""
    files = [file for file in folder.iterdir() if file.is_file() and _is_storage(file)]
    # Whoever was killed while compressing leaves both.
    files = [file for file in files if file.suffix != ".zstd" or file.with_suffix("") not in files]
    return sorted(files, key=lambda file: [int(s) if s.isdigit() else s for s in re.split(r"(\d+)", file.name)])


def _is_rosbag2_metadata(path: Path) -> bool:
    return is_file(path) and b"rosbag2_bagfile_information" in read_bytes(path, LARGEST_TEXT)


def _metadata(path: Path) -> tuple[dict[str, Any] | None, str]:
    """What metadata.yaml says, or why it says nothing."""
    damaged = f"{METADATA} is cut off or damaged"
    if not is_file(path):
        return None, f"there is no {METADATA}"
    try:
        content = read_yaml(path, unique=False).content
    except SimjudgeError:
        return None, damaged
    info = content.get("rosbag2_bagfile_information") if isinstance(content, dict) else None
    if not isinstance(info, dict) or not isinstance(info.get("relative_file_paths"), list):
        return None, damaged
    count = parse_integer(info.get("message_count"))
    return (None, damaged) if count is None else ({**info, "message_count": count}, "")
