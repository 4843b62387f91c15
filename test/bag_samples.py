"""Frame sets and recordings that the tests of this folder share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from mcap.writer import CompressionType
from mcap.writer import Writer as Mcap

from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages, encode_jpeg
from simjudge.core.object_tables import Masks, Objects, Predictions
from simjudge.data.rosbag2.interfaces import standard_types

TYPES = standard_types()
SECOND = 1_000_000_000


def sample(count: int = 12, size: tuple[int, int] = (64, 48), *, stamped: bool = True, seed: int = 0) -> FrameSet:
    """Frames with images of noise, labels with masks, and detections; every fourth frame lacks something."""
    rng = np.random.default_rng(seed)
    width, height = size
    pixels = [rng.integers(0, 256, (height, width, 3), np.uint8) for _ in range(count)]
    labelled = np.arange(count) % 4 != 1
    predicted = np.arange(count) % 4 != 2
    frame = np.repeat(np.flatnonzero(labelled), 2)
    corner = rng.uniform(0, 20, (len(frame), 2))
    box = np.hstack([corner, corner + rng.uniform(1, 20, (len(frame), 2))])
    crops = [rng.integers(0, 2, (5, 7)).astype(bool) if i % 3 else None for i in range(len(frame))]
    masks = Masks.from_crops(crops, rng.integers(0, 9, (len(frame), 2)))
    truth = rng.uniform(0.1, 1, (2, len(frame)))
    truth[:, ::3] = np.nan
    objects = Objects.build(
        frame,
        1 + np.arange(len(frame)) % 2,
        box,
        np.arange(len(frame)) - 1,
        masks,
        distance=30 * truth[0],
        visible=truth[1],
    )
    found = np.flatnonzero(predicted)
    box = np.hstack([np.full((len(found), 2), 3.125), rng.uniform(5, 40, (len(found), 2))])
    predictions = Predictions.build(found, np.ones(len(found)), box, rng.uniform(0, 1, len(found)))
    return FrameSet.build(
        "sample",
        np.tile(size, (count, 1)),
        objects,
        predictions,
        stamp=1_700_000_000 * SECOND + 33_333_333 * np.arange(count) if stamped else None,
        labelled=labelled,
        predicted=predicted,
        class_names={1: "red", 2: "green"},
        images=ArrayImages([p if i % 4 != 3 else None for i, p in enumerate(pixels)]),
    )


def frame_content(frames: FrameSet, index: int) -> tuple[Any, ...]:
    """All that a set says of one frame, comparable with ==."""
    out: list[Any] = [frames.frame_name[index], int(frames.stamp[index]), frames.size[index].tolist()]
    out += [bool(frames.labelled[index]), bool(frames.predicted[index])]
    tables: list[Any] = [frames.objects, frames.predictions]
    for table in tables:
        rows = [] if table is None else np.flatnonzero(table.frame == index).tolist()
        for row in rows:
            extra = (float(table.score[row]),) if isinstance(table, Predictions) else _known_of(table, row)
            mask = None
            if table.masks is not None and table.masks.has(row):
                mask = (table.masks.origin[row].tolist(), table.masks.crop(row).tolist())
            out.append((int(table.class_id[row]), table.box[row].tolist(), *extra, mask))
        out.append(len(rows))
    if frames.images is not None and frames.images.has(index):
        encoded = frames.images.read_encoded(index)
        out.append(frames.images.read(index).tobytes() if encoded is None else (encoded.data, encoded.suffix))
    return tuple(out)


def _known_of(table: Objects, row: int) -> tuple[float | None, ...]:
    """Instance, distance and visible share; None for NaN, which equals nothing."""
    values = (float(column[row]) for column in (table.instance, table.distance, table.visible))
    return tuple(None if np.isnan(value) else value for value in values)


def contents(frames: FrameSet) -> dict[str, tuple[Any, ...]]:
    """All frames by name."""
    return {frames.frame_name[i]: frame_content(frames, i) for i in range(len(frames))}


def header(stamp: int) -> Any:
    time = TYPES.types["builtin_interfaces/msg/Time"](sec=stamp // SECOND, nanosec=stamp % SECOND)
    return TYPES.types["std_msgs/msg/Header"](stamp=time, frame_id="cam")


def image(stamp: int, width: int = 8, height: int = 6, value: int = 0) -> Any:
    """A raw image of one grey level."""
    data = np.full(width * height * 3, value, np.uint8)
    return TYPES.types["sensor_msgs/msg/Image"](header(stamp), height, width, "rgb8", 0, width * 3, data)


def jpeg(stamp: int, pixels: Any, form: str = "jpeg") -> Any:
    data = np.frombuffer(encode_jpeg(pixels), np.uint8)
    return TYPES.types["sensor_msgs/msg/CompressedImage"](header(stamp), form, data)


def labels(stamp: int, class_id: int = 1, size: tuple[int, int] = (8, 6), name: str = "") -> Any:
    """One object in the upper left corner, its box as wide as its class number."""
    new = TYPES.types
    mask = new["simjudge_msgs/msg/InstanceMask"](0, 0, 0, 0, np.empty(0, np.uint8))
    box = new["simjudge_msgs/msg/Box"](0.0, 0.0, float(class_id), 2.0)
    item = new["simjudge_msgs/msg/LabelledObject"](class_id, name, box, -1, np.nan, np.nan, mask)
    return new["simjudge_msgs/msg/LabelledObjectArray"](header(stamp), "", size[0], size[1], [], [item])


def vision(stamp: int, boxes: list[tuple[str, float, float, float, float, float]], theta: float = 0.0) -> Any:
    """A Detection2DArray of (class, score, centre x, centre y, width, height)."""
    new = {name.split("/")[-1]: kind for name, kind in TYPES.types.items() if name.startswith("vision_msgs")}
    geometry = TYPES.types
    point = geometry["geometry_msgs/msg/Point"](0.0, 0.0, 0.0)
    turn = geometry["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.0, 1.0)
    pose = geometry["geometry_msgs/msg/Pose"](point, turn)
    pose = geometry["geometry_msgs/msg/PoseWithCovariance"](pose, np.zeros(36))
    items = []
    for kind, score, x, y, width, height in boxes:
        guess = new["ObjectHypothesisWithPose"](new["ObjectHypothesis"](kind, score), pose)
        worse = new["ObjectHypothesisWithPose"](new["ObjectHypothesis"]("other", score / 2), pose)
        centre = new["Pose2D"](new["Point2D"](x, y), theta)
        items.append(new["Detection2D"](header(stamp), [worse, guess], new["BoundingBox2D"](centre, width, height), ""))
    return new["Detection2DArray"](header(stamp), items)


def write_mcap(
    path: Path,
    messages: list[tuple[str, int, Any]],
    *,
    compression: CompressionType = CompressionType.NONE,
    chunk_size: int = 4096,
    chunked: bool = True,
    crcs: bool = True,
    data_crcs: bool = False,
    definitions: bool = True,
) -> None:
    """A bare mcap file of (topic, recording time, message) through the mcap package alone."""
    with path.open("wb") as stream:
        writer = Mcap(
            stream,
            compression=compression,
            chunk_size=chunk_size,
            use_chunking=chunked,
            enable_crcs=crcs,
            enable_data_crcs=data_crcs,
        )
        writer.start("ros2", "test")
        channels: dict[str, int] = {}
        for topic, time, message in messages:
            kind = message.__msgtype__
            if topic not in channels:
                text = TYPES.generate_msgdef(kind, ros_version=2)[0].encode() if definitions else b""
                schema = writer.register_schema(kind, "ros2msg" if definitions else "", text)
                channels[topic] = writer.register_channel(topic, "cdr", schema)
            writer.add_message(channels[topic], time, bytes(TYPES.serialize_cdr(message, kind)), time)
        writer.finish()
