"""What of a recording a graph plays, and onto which topics."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from simjudge.core.errors import SimjudgeError

IMAGES = "camera/image_raw"
COMPRESSED = "camera/image_raw/compressed"
LABELS = "camera/ground_truth"
CAMERA_INFO = "camera/camera_info"
_COMPRESSED_TYPE = "sensor_msgs/msg/CompressedImage"
_TRANSFORMS = "tf2_msgs/msg/TFMessage"


class PlayedTopics(NamedTuple):
    """What to play.

    Attributes:
        remappings: from them to the graph's names, where those differ.
        images: the recording's topic of the images.
        labels: the recording's topic of the labels, "" where there are none.
        camera_info: the recording's topic of the camera's calibration, "" where there is none.
    """

    topics: list[str]
    remappings: tuple[tuple[str, str], ...]
    images: str
    labels: str
    compressed: bool
    camera_info: str = ""


def choose_played_topics(bag: Path, *, absolute: bool) -> PlayedTopics:
    """One camera's images, its labels and camera info, and the transforms; not the detections that were recorded.

    Args:
        absolute: topics that have the graph's names already stay as they are; else all are made relative, so that they
            go into a namespace.
    """
    from simjudge.data.rosbag2.interfaces import choose_topics  # noqa: PLC0415
    from simjudge.data.rosbag2.recording import Recording  # noqa: PLC0415 - slow to import

    recording = Recording(bag)
    held = recording.topics
    types = {topic.name: topic.type for topic in held.values()}
    chosen = choose_topics(str(bag), types, None, None, None, counts=recording.counts)
    if not chosen.images:
        raise SimjudgeError(f"{bag}: holds no images; a detector has nothing to look at")
    images = chosen.images[0]
    compressed = types[images] == _COMPRESSED_TYPE
    names = {images: COMPRESSED if compressed else IMAGES}
    names |= {own: name for own, name in ((chosen.labels, LABELS), (chosen.camera_info, CAMERA_INFO)) if own}
    transforms = [name for name, kind in types.items() if kind == _TRANSFORMS]
    pairs = tuple((own, name) for own, name in names.items() if not absolute or own != f"/{name}")
    return PlayedTopics([*names, *transforms], pairs, images, chosen.labels, compressed, chosen.camera_info or "")
