"""LeRobot v3: each frame is the picture that was recorded for it, from videos of several episodes and from rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import simjudge as sj
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.images import ImageError, encode_png
from simjudge.data.format_support.image_files import Topics
from simjudge.data.lerobot import read_lerobot
from simjudge.data.sets import read_set

EPISODES, FPS, SIZE = (7, 4, 5), 10, (64, 48)
FRAMES = [(episode, number) for episode, count in enumerate(EPISODES) for number in range(count)]
FRONT, WRIST = "observation.images.front", "observation.images.wrist"


def picture(episode: int, number: int) -> np.ndarray:
    image = np.full((SIZE[1], SIZE[0], 3), (40 + 60 * episode, 90, 60), np.uint8)
    cv2.circle(image, (6 + 8 * number, 24), 6, (255, 40, 40), -1)
    return image


def write_video(path: Path, frames: list[np.ndarray]) -> None:
    """A video as LeRobot encodes it: few key frames, no sound."""
    av = pytest.importorskip("av")
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("h264", rate=FPS, options={"g": "5", "crf": "18"})
        stream.width, stream.height, stream.pix_fmt = *SIZE, "yuv420p"
        for frame in frames:
            for packet in stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")):
                container.mux(packet)
        for packet in stream.encode(None):
            container.mux(packet)


def write_table(path: Path, table: dict[str, Any], group: int | None = None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(table), path, row_group_size=group)


def write_data_set(root: Path, kind: str, cameras: tuple[str, ...] = (FRONT,), **changes: Any) -> Path:
    """A data set as LeRobot 0.4 writes it: two episodes in one file, the third in the next."""
    features = {
        name: {"dtype": kind, "shape": [SIZE[1], SIZE[0], 3], "names": ["height", "width", "channels"]}
        for name in cameras
    }
    info = {"codebase_version": "v3.0", "fps": FPS, "total_frames": len(FRAMES), "features": features, **changes}
    (root / "meta").mkdir(parents=True)
    (root / "meta/info.json").write_text(json.dumps(info))
    parts = [FRAMES[:11], FRAMES[11:]]
    for number, part in enumerate(parts):
        rows: dict[str, Any] = {
            "episode_index": [episode for episode, _ in part],
            "frame_index": [frame for _, frame in part],
            "timestamp": pa.array([frame / FPS for _, frame in part], pa.float32()),
        }
        if kind == "image":
            rows |= {
                name: [{"bytes": encode_png(picture(*one)), "path": f"frame-{one[1]:06d}.png"} for one in part]
                for name in cameras
            }
        write_table(root / f"data/chunk-000/file-{number:03d}.parquet", rows, group=3)
        if kind == "video":
            for name in cameras:
                write_video(root / f"videos/{name}/chunk-000/file-{number:03d}.mp4", [picture(*one) for one in part])
    episodes: dict[str, Any] = {"episode_index": [0, 1, 2], "tasks": [["t"]] * 3, "length": list(EPISODES)}
    for name in cameras if kind == "video" else ():
        episodes |= {
            f"videos/{name}/chunk_index": [0, 0, 0],
            f"videos/{name}/file_index": [0, 0, 1],
            f"videos/{name}/from_timestamp": [0.0, EPISODES[0] / FPS, 0.0],
        }
    write_table(root / "meta/episodes/chunk-000/file-000.parquet", episodes)
    return root


@pytest.mark.parametrize("kind", ["video", "image"])
def test_each_frame_is_its_picture_in_any_order(kind: str, tmp_path: Path) -> None:
    frames = read_set(write_data_set(tmp_path / "set", kind))
    assert frames.images is not None
    assert len(frames) == len(FRAMES)
    assert frames.size.tolist() == [list(SIZE)] * len(FRAMES)
    for number in np.random.default_rng(0).permutation(len(FRAMES)).tolist():
        found = frames.images.read(number).astype(int)
        unlike = [np.abs(found - picture(*one)).mean() for one in FRAMES]
        assert int(np.argmin(unlike)) == number
        assert unlike[number] < (6 if kind == "video" else 1e-9)


def test_names_and_times_say_episode_and_frame(tmp_path: Path) -> None:
    frames = read_set(write_data_set(tmp_path / "set", "image"))
    assert frames.frame_name[6:8] == ["episode_000000_frame_000006", "episode_000001_frame_000000"]
    assert frames.recording[6:8] == ["episode_000000", "episode_000001"]
    seconds = frames.stamp / 1e9
    np.testing.assert_allclose(np.diff(seconds[:7]), 0.1)
    assert seconds[7] - seconds[6] > 90  # nobody says when an episode was recorded: they are apart
    assert not frames.labelled.any()


def test_pictures_in_rows_stay_the_bytes_that_they_were(tmp_path: Path) -> None:
    frames = read_set(write_data_set(tmp_path / "set", "image"))
    assert frames.images is not None
    stored = frames.images.read_encoded(3)
    assert stored is not None
    assert (stored.data, stored.suffix) == (encode_png(picture(0, 3)), ".png")


def test_one_of_several_cameras_is_named(tmp_path: Path) -> None:
    place = write_data_set(tmp_path / "set", "image", (FRONT, WRIST))
    with pytest.raises(UsageError, match=rf"has the pictures of {FRONT}, {WRIST}; name one with --image-topic"):
        read_set(place)
    assert len(read_set(place, topics=Topics("wrist"))) == len(read_set(place, topics=Topics(WRIST))) == len(FRAMES)
    with pytest.raises(UsageError, match=r"--image-topic rear: .* has no such camera; it has"):
        read_lerobot(place, Topics("rear"))


def test_what_is_missing_is_counted_or_refused(tmp_path: Path) -> None:
    place = write_data_set(tmp_path / "set", "video")
    (place / f"videos/{FRONT}/chunk-000/file-001.mp4").unlink()
    frames = read_set(place)
    assert len(frames) == 11
    assert frames.losses.counts == {"frames whose video is missing": 5}
    (place / f"videos/{FRONT}/chunk-000/file-000.mp4").unlink()
    with pytest.raises(SimjudgeError, match=r"no frame of .*front has a picture"):
        read_set(place)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"codebase_version": "v2.1"}, "is of version v2.1; v3 is read"),
        ({"features": {}}, "names no feature that is a video or an image"),
        ({"fps": 0}, "fps is not above 0"),
        ({"video_path": "../{video_key}.mp4"}, "leads out of the data set's folder"),
        ({"video_path": "{nothing}.mp4"}, "is not a pattern of paths; write videos/"),
    ],
)
def test_a_wrong_description_is_one_line(changes: dict[str, Any], said: str, tmp_path: Path) -> None:
    place = write_data_set(tmp_path / "set", "video", **changes)
    with pytest.raises(SimjudgeError, match=said):
        read_set(place)


@pytest.mark.parametrize(
    ("kind", "changes", "said"),
    [
        ("video", {"fps": "ten"}, "fps is not above 0"),
        ("video", {"video_path": "{chunk_index:0999999999999d}.mp4"}, "is not a pattern of paths; write videos/"),
        ("video", {"video_path": "{video_key.__class__}.mp4"}, "is not a pattern of paths; write videos/"),
        ("image", {"features": {FRONT: {"dtype": "image", "names": 3}}}, "does not say width and height"),
    ],
)
def test_hostile_descriptions_are_one_line(kind: str, changes: dict[str, Any], said: str, tmp_path: Path) -> None:
    place = write_data_set(tmp_path / "set", "image", **changes)
    info = json.loads((place / "meta/info.json").read_text())
    if kind == "video":
        info["features"][FRONT]["dtype"] = kind
        (place / "meta/info.json").write_text(json.dumps(info))
        columns = {f"videos/{FRONT}/{name}": [0] * 3 for name in ("chunk_index", "file_index", "from_timestamp")}
        write_table(place / "meta/episodes/chunk-000/file-000.parquet", {"episode_index": [0, 1, 2], **columns})
    with pytest.raises(SimjudgeError, match=said):
        read_set(place)


def test_files_may_have_unlike_numbers_and_broken_pictures_are_told(tmp_path: Path) -> None:
    place = write_data_set(tmp_path / "set", "image")
    rows = {"episode_index": pa.array([9], pa.int32()), "frame_index": [0], "timestamp": [0.0]}
    picture_column = {FRONT: [{"bytes": b"nothing", "path": "x.png"}]}
    write_table(place / "data/chunk-000/file-002.parquet", {**rows, **picture_column})
    frames = read_set(place)
    assert len(frames) == len(FRAMES) + 1
    assert frames.images is not None
    with pytest.raises(ImageError, match=r"file-002.parquet: .* of row 0: is no picture that can be read"):
        frames.images.read_encoded(len(FRAMES))


def test_a_row_without_a_time_is_refused(tmp_path: Path) -> None:
    place = write_data_set(tmp_path / "set", "image")
    rows = {"episode_index": [0], "frame_index": [0], "timestamp": pa.array([None], pa.float32())}
    write_table(place / "data/chunk-000/file-002.parquet", rows)
    with pytest.raises(SimjudgeError, match=r"file-002\.parquet: timestamp is not a number in every row"):
        read_set(place)


def test_the_front_door_takes_it(tmp_path: Path) -> None:
    frames = sj.read(write_data_set(tmp_path / "set", "image"))
    assert "16, 16 with an image" in str(frames)
