"""The arguments of a replay, the node's parameters that they are, and what of a recording is played for it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.settings import chosen
from simjudge.data.rosbag2.interfaces import CAMERA_INFO, COMPRESSED_IMAGE, choose_topics
from simjudge.data.rosbag2.recorded_poses import choose_pose_topic
from simjudge.data.rosbag2.recording import Recording
from simjudge.ros.description import YES_NO, Argument, Value, Values, arguments_of, given_parameters, parse_bool
from simjudge.ros.image_sources import RECORDER_ARGUMENTS
from simjudge.ros.node_settings import PlaySettings
from simjudge.ros.simulation_settings import POSE_TYPES, TRIGGERS, ReplaySettings

_AUTO_EVERY = ("auto", *YES_NO)
# Settings of replay_node that are launch arguments too.
REPLAY_ROWS = chosen(
    ReplaySettings,
    (
        "scene",
        "camera",
        "parent",
        "child",
        "vehicle",
        "mount",
        "align",
        "cones",
        "cone_kinds",
        "time_offset",
        "max_gap",
        "seed",
        "engine",
        "frame_prefix",
    ),
)
ARGUMENTS = (
    *arguments_of(REPLAY_ROWS[:2]),
    Argument("bag", "", "Recording to play. Not given: images and poses come from elsewhere."),
    Argument("poses", "", "Topic of the poses. Not given: the recording's, or poses."),
    Argument(
        "pose_type",
        "auto",
        "What `poses` is; auto: as the recording has it, else pose.",
        ("auto", *POSE_TYPES.values()),
    ),
    Argument("image", "", "Topic of the real camera. Not given: the recording's, or image."),
    Argument(
        "trigger",
        "auto",
        "Topic that tells when the real camera took an image; auto: camera_info where a recording has no images.",
        ("auto", *TRIGGERS),
    ),
    *arguments_of(REPLAY_ROWS[2:]),
    Argument("noise", "false", "Pose noise of 1 degree and 1 cm.", YES_NO),
    Argument("out", "", "Recording of the simulated camera: x.mcap, x.db3, or a folder."),
    Argument("record", "raw", "Images to record, with out: raw, compressed, or both.", ("raw", "compressed", "both")),
    *RECORDER_ARGUMENTS,
    *arguments_of(chosen(PlaySettings, ("rate",))),
    Argument("every_frame", "auto", "Replay every image in order; auto: with a bag.", _AUTO_EVERY),
)
_NOISE: dict[str, Value] = {"noise_angle": 1.0, "noise_position": 0.01}
_TF = "/tf"


class ReplayedTopics(NamedTuple):
    """What of a recording is played for a replay."""

    topics: list[str]
    remappings: tuple[tuple[str, str], ...]  # from them to what replay_node takes
    pose_type: str
    trigger: str
    compressed: bool

    def taken(self) -> list[str]:
        """The topics that replay_node must have subscribed to before anything is played."""
        seen = "camera_info" if self.trigger == "camera_info" else "image/compressed" if self.compressed else "image"
        return [seen, _TF if self.pose_type == "tf" else "poses"]


def replay_parameters(values: Values, played: ReplayedTopics | None) -> dict[str, Value]:
    """The parameters of replay_node that were given (played: what of a recording is played, None without one)."""
    out = given_parameters(REPLAY_ROWS, values)
    out |= {"pose_type": values["pose_type"], "trigger": values["trigger"]}
    if parse_bool("noise", values["noise"]):
        out |= _NOISE
    if played is not None:
        out |= {"pose_type": played.pose_type, "trigger": played.trigger, "pose_reliability": "reliable"}
    for name, usual in (("pose_type", "pose"), ("trigger", "image")):
        out[name] = usual if out[name] == "auto" else out[name]
    every = values["every_frame"]
    out["every_frame"] = played is not None if every == "auto" else parse_bool("every_frame", every)
    return out


def choose_replayed_topics(values: Values) -> ReplayedTopics:
    """Choose what a recording plays for a replay."""
    bag = Path(values["bag"])
    recording = Recording(bag)
    types = {topic.name: topic.type for topic in recording.topics.values()}
    poses = choose_pose_topic(recording, values["poses"] or None)
    kind = POSE_TYPES[types[poses]]
    if values["pose_type"] not in ("auto", kind):
        raise UsageError(f"pose_type:={values['pose_type']}: {poses} of {bag} is a {types[poses]}")
    has_images = any(name.endswith(("/Image", "/CompressedImage")) for name in types.values())
    infos = [name for name, its in types.items() if its == CAMERA_INFO]
    trigger = values["trigger"] if values["trigger"] != "auto" else "image" if has_images else "camera_info"
    if trigger == "image":
        if not has_images:
            raise SimjudgeError(
                f"{bag}: holds no images to make frames for; simjudge replay makes them at a steady rate"
            )
        seen = choose_topics(str(bag), types, values["image"] or None, None, None, counts=recording.counts).images[0]
    elif len(infos) == 1 or values["image"] in infos:
        seen = infos[0] if len(infos) == 1 else values["image"]
    else:
        held = ", ".join(infos) or "none"
        raise SimjudgeError(
            f"{bag}: one camera_info to make frames for is needed; it holds {held}: choose with image:="
        )
    compressed = types[seen] == COMPRESSED_IMAGE
    pairs = [(seen, "camera_info" if trigger == "camera_info" else "image/compressed" if compressed else "image")]
    topics = [seen, poses]
    if kind == "tf":
        static = poses.rpartition("/")[0] + "/tf_static"
        pairs += [(own, name) for own, name in ((poses, _TF), (static, "/tf_static")) if own != name]
        topics += [static] if static in types else []
    else:
        pairs.append((poses, "poses"))
    return ReplayedTopics(topics, tuple(pairs), kind, trigger, compressed)
