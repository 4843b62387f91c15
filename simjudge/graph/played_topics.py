"""What of a recording a graph plays, and onto which topics."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from simjudge.core.errors import SimjudgeError

PICTURES, COMPRESSED = "camera/image_raw", "camera/image_raw/compressed"
LABELS, CAMERA_INFO = "camera/ground_truth", "camera/camera_info"
_COMPRESSED_TYPE = "sensor_msgs/msg/CompressedImage"
_TRANSFORMS = "tf2_msgs/msg/TFMessage"


class PlayedTopics(NamedTuple):
    """What to play.

    Attributes:
        topics: the recording's names.
        remappings: from them to the graph's names, where those differ.
        pictures: the recording's topic of the pictures.
        labels: the recording's topic of the labels, "" where there are none.
        compressed: whether the pictures are.
    """

    topics: list[str]
    remappings: tuple[tuple[str, str], ...]
    pictures: str
    labels: str
    compressed: bool


def choose_played_topics(bag: Path, *, absolute: bool) -> PlayedTopics:
    """One camera's pictures, its labels and camera info, and the transforms; not the detections that were recorded.

    Args:
        bag: the recording.
        absolute: topics that have the graph's names already stay as they are; else all are made relative, so that they
            go into a namespace.

    Raises:
        SimjudgeError: it cannot be read, or holds no pictures, or those of several cameras.
    """
    from simjudge.data.rosbag2.recording import Recording  # noqa: PLC0415 - slow to import
    from simjudge.data.rosbag2.topics import choose_topics  # noqa: PLC0415

    held = Recording(bag).topics
    types = {topic.name: topic.type for topic in held.values()}
    chosen = choose_topics(str(bag), types, None, None, None)
    if not chosen.images:
        raise SimjudgeError(f"{bag}: holds no pictures; a detector has nothing to look at")
    pictures = chosen.images[0]
    compressed = types[pictures] == _COMPRESSED_TYPE
    names = {pictures: COMPRESSED if compressed else PICTURES}
    names |= {own: name for own, name in ((chosen.labels, LABELS), (chosen.camera_info, CAMERA_INFO)) if own}
    transforms = [name for name, kind in types.items() if kind == _TRANSFORMS]
    pairs = tuple((own, name) for own, name in names.items() if not absolute or own != f"/{name}")
    return PlayedTopics([*names, *transforms], pairs, pictures, chosen.labels, compressed)
