"""How fast recordings are written and read, beside rosbags alone: `python bench/bags.py [FRAMES]`.

720p frames, JPEG and raw, in both storages. rosbags alone writes the same messages with its own writer (which writes
no checksums) and reads them with its own reader (which does not decode pixels).
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.rosbag2 import Reader, StoragePlugin, Writer

from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages, EncodedImage, encode_jpeg
from simjudge.core.object_tables import Objects
from simjudge.data.rosbag2 import read_recording, write_recording
from simjudge.data.rosbag2.interfaces import COMPRESSED_IMAGE, IMAGE, standard_types
from simjudge.data.rosbag2.writing import MessageMaker, recording_stamps


class JpegImages(ArrayImages):
    """JPEG bytes held in memory, so that no other disk is measured."""

    def read_encoded(self, index: int) -> EncodedImage | None:
        """One of four pictures."""
        return EncodedImage(_JPEG[index % len(_JPEG)], ".jpg")


def smooth_noise(seed: int) -> Any:
    """A 720p picture that JPEG packs about as well as a photograph."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, (90, 160, 3), np.uint8).repeat(8, 0).repeat(8, 1)
    return (coarse // 2 + rng.integers(0, 12, coarse.shape, np.uint8)).astype(np.uint8)


_PICTURES = [smooth_noise(seed) for seed in range(4)]
_JPEG = [encode_jpeg(picture, 90) for picture in _PICTURES]


def timed(work: Callable[[], Any]) -> float:
    """Seconds that something takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def rosbags_alone(frames: FrameSet, path: Path, plugin: StoragePlugin, kind: str) -> tuple[float, float]:
    """Seconds to write and to read the images alone."""
    types, maker = standard_types(), MessageMaker(standard_types(), frames, recording_stamps(frames))

    def write() -> None:
        with Writer(path, version=9, storage_plugin=plugin) as writer:
            connection = writer.add_connection("/camera/image", kind, typestore=types)
            for index in range(len(frames)):
                if (message := maker.image(index)) is not None:
                    writer.write(connection, index, types.serialize_cdr(message[1], kind))

    def read() -> None:
        with Reader(path) as reader:
            for _, _, raw in reader.messages():
                types.deserialize_cdr(raw, kind)

    return timed(write), timed(read)


def fetch(frames: FrameSet, order: Iterable[int], *, jpeg: bool) -> None:
    """Get the pictures one by one: JPEG as bytes, raw as pixels."""
    for index in order:
        if frames.images is not None:
            _ = frames.images.read_encoded(index) if jpeg else frames.images.read(index)


def row(count: int, name: str, storage: Any, *, jpeg: bool) -> str:
    """Measure one kind of recording; frames a second as a line of the table."""
    pictures = [_PICTURES[i % len(_PICTURES)] for i in range(count)]
    images = JpegImages(pictures) if jpeg else ArrayImages(pictures)
    rows = 10 * count
    boxes = Objects.build(np.arange(rows) // 10, np.ones(rows), np.tile([1.5, 2, 30, 40], (rows, 1)))
    frames = FrameSet.build("bench", np.tile([1280, 720], (count, 1)), boxes, images=images)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        wrote = timed(lambda: write_recording(frames, path / "own", storage))
        back: list[FrameSet] = []
        opened = timed(lambda: back.append(read_recording(path / "own")))
        fetched = timed(lambda: fetch(back[0], range(count), jpeg=jpeg))
        order = np.random.default_rng(0).permutation(count).tolist()
        at_random = timed(lambda: fetch(back[0], order, jpeg=jpeg))
        plugin = StoragePlugin.MCAP if storage == "mcap" else StoragePlugin.SQLITE3
        bare_write, bare_read = rosbags_alone(frames, path / "bare", plugin, COMPRESSED_IMAGE if jpeg else IMAGE)
    cells = [f"{count / s:.0f}" for s in (wrote, bare_write, opened, fetched, at_random, bare_read)]
    ratio = f"{bare_write / wrote:.2f}"
    return f"| {name} | {cells[0]} | {cells[1]} | {ratio} | {cells[2]} | {cells[3]} | {cells[4]} | {cells[5]} |"


def main() -> None:
    """Print the table of docs/measurements/speed.md."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print("| frames a second | write | rosbags alone | ratio | open | read in order | read at random | rosbags alone |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for storage in ("mcap", "sqlite3"):
        print(row(5 * count, f"{storage}, JPEG 720p", storage, jpeg=True), flush=True)
        print(row(count, f"{storage}, raw 720p", storage, jpeg=False), flush=True)


if __name__ == "__main__":
    main()
