"""Folders of rosbag2: metadata that is missing or wrong, recordings in several files, compressed files and messages."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from bag_samples import SECOND, contents, image, labels
from damaged_bags import FRAMES, WHOLE, check
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer

from simjudge.data.rosbag2 import (
    describe_recording,
    read_recording,
    write_recording,
)
from simjudge.data.rosbag2.interfaces import standard_types


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
@pytest.mark.parametrize("cut", [0, 10, 300, None])
def test_metadata_missing_or_cut(
    tmp_path: Path, storage: Any, cut: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    write_recording(FRAMES, tmp_path / "rec", storage)
    file = tmp_path / "rec/metadata.yaml"
    text = file.read_text()
    file.unlink()
    if cut is not None:
        file.write_text(text[:cut])
    back = check(tmp_path / "rec")
    assert back is not None
    assert contents(back) == WHOLE
    assert not back.losses
    assert ("there is no metadata.yaml" if cut is None else "metadata.yaml is cut off or damaged") in caplog.text


def split(folder: Path, parts: int, names: list[str]) -> None:
    """A recording in several files, as rosbag2 splits it."""
    folder.mkdir()
    bounds = np.linspace(0, len(FRAMES), parts + 1).astype(int)
    for part in range(parts):
        chosen = FRAMES.take(np.arange(bounds[part], bounds[part + 1]))
        write_recording(chosen, folder / f"part_{part}.mcap")
        (folder / f"part_{part}.mcap").rename(folder / names[part])


def test_split_recording(tmp_path: Path) -> None:
    names = [f"rec_{i}.mcap" for i in range(12)]
    split(tmp_path / "rec", 12, names)
    back = check(tmp_path / "rec")
    assert back is not None
    assert contents(back) == WHOLE
    assert [p.name for p in describe_recording(tmp_path / "rec").files] == names
    assert describe_recording(tmp_path / "rec").message_count == 78


def test_split_recording_with_a_file_missing_or_empty(tmp_path: Path) -> None:
    split(tmp_path / "rec", 3, ["rec_0.mcap", "rec_1.mcap", "rec_2.mcap"])
    info = {"version": 5, "message_count": 78, "relative_file_paths": ["rec_0.mcap", "rec_1.mcap", "rec_2.mcap"]}
    (tmp_path / "rec/metadata.yaml").write_text(yaml.safe_dump({"rosbag2_bagfile_information": info}))
    (tmp_path / "rec/rec_1.mcap").write_bytes(b"")
    back = check(tmp_path / "rec")
    assert back is not None
    assert len(back) == 16
    assert back.losses.counts == {"storage files that cannot be read": 1}
    (tmp_path / "rec/rec_1.mcap").unlink()
    back = check(tmp_path / "rec")
    assert back is not None
    assert back.losses.counts == {"missing storage files that metadata.yaml names": 1}
    shutil.copy(tmp_path / "rec/rec_0.mcap", tmp_path / "rec/rec_1.mcap")
    back = check(tmp_path / "rec")
    assert back is not None
    assert back.losses


@pytest.mark.parametrize("mode", ["FILE", "MESSAGE"])
@pytest.mark.parametrize("plugin", list(StoragePlugin))
@pytest.mark.parametrize("metadata", [True, False])
def test_rosbag2_compression(tmp_path: Path, mode: str, plugin: StoragePlugin, metadata: bool) -> None:
    types = standard_types()
    writer = Writer(tmp_path / "rec", version=9, storage_plugin=plugin)
    writer.set_compression(CompressionMode[mode], CompressionFormat.ZSTD)
    with writer:
        for topic, make in (("/cam/image_raw", image), ("/cam/ground_truth", labels)):
            kind = make(0).__msgtype__
            connection = writer.add_connection(topic, kind, typestore=types)
            for i in range(1, 9):
                writer.write(connection, i * SECOND, types.serialize_cdr(make(i * SECOND), kind))
    if not metadata:
        (tmp_path / "rec/metadata.yaml").unlink()
    back = read_recording(tmp_path / "rec")
    assert len(back) == len(back.objects) == 8
    assert back.images is not None
    assert back.images.read(7).shape == (6, 8, 3)
    assert not back.losses


def test_fewer_messages_than_the_metadata_promises(tmp_path: Path) -> None:
    write_recording(FRAMES, tmp_path / "rec")
    text = (tmp_path / "rec/metadata.yaml").read_text()
    assert "message_count: 78" in text
    (tmp_path / "rec/metadata.yaml").write_text(text.replace("message_count: 78", "message_count: 80"))
    back = check(tmp_path / "rec")
    assert back is not None
    assert back.losses.counts == {"messages that metadata.yaml promises and that are not there": 2}
