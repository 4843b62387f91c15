"""Where a graph's images come from: recording, camera, replay; its recorder; a robot's own names (a YAML file)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple, cast

from pydantic import Field
from pydantic.json_schema import JsonSchemaValue

from simjudge.core.documents import Fields, read_document
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.field_types import FieldType, Text, refusal
from simjudge.core.installed import CALIBRATION, ROBOT, find_file
from simjudge.core.settings import chosen
from simjudge.data.rosbag2.interfaces import CAMERA_INFO as CAMERA_INFO_TYPE
from simjudge.data.rosbag2.interfaces import COMPRESSED_IMAGE, choose_topics
from simjudge.data.rosbag2.recorded_poses import choose_pose_topic
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.storage import CompressionName, RecordingForm
from simjudge.ros.description import (
    YES_NO,
    Argument,
    Process,
    Value,
    Values,
    arguments_of,
    given_parameters,
    normalize_namespace,
    parse_bool,
    parse_float,
)
from simjudge.ros.node_settings import PlaySettings, RecordSettings
from simjudge.ros.simulation_settings import POSE_TYPES, TRIGGERS, ReplaySettings


@dataclass(frozen=True)
class Robot:
    """What is different on a robot."""

    # The robot's topic by simjudge's, both relative to the robot's namespace.
    remappings: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)

    def apply(self, process: Process) -> Process:
        """A program as it runs on this robot."""
        pairs = [(name, to) for name, to in self.remappings.items() if name not in dict(process.remappings)]
        parameters = {**process.parameters, **self.parameters.get(process.name, {})}
        return replace(process, parameters=parameters, remappings=(*process.remappings, *pairs))


@dataclass(frozen=True)
class ParameterType(FieldType):
    """The value of a node's parameter."""

    @property
    def needed(self) -> str:
        """The phrase."""
        return "a number, a text, a truth or a list of texts"

    def _read(self, value: Any) -> Value:
        texts = isinstance(value, list) and all(isinstance(item, str) for item in value)
        if not texts and not isinstance(value, bool | int | float | str):
            raise refusal(self.needed)
        given: Value = value
        return given

    def schema(self) -> JsonSchemaValue:
        """Any of them."""
        scalars = [{"type": kind} for kind in ("boolean", "number", "string")]
        return {"anyOf": [*scalars, {"type": "array", "items": {"type": "string"}}]}


Name = Annotated[str, Text("a name")]
Topic = Annotated[str, Text("a topic's name")]


class RobotFile(Fields):
    """What is different on a robot."""

    description: Annotated[str, Text()] | None = None
    """What the robot is, for people."""
    remappings: dict[Topic, Topic] = Field(default_factory=dict)
    """The robot's topics by simjudge's, both relative to the robot's namespace."""
    parameters: dict[Name, dict[Name, Annotated[Any, ParameterType()]]] = Field(default_factory=dict)
    """Parameters by node, over simjudge's own."""


def read_robot(given: str) -> Robot:
    """Read a robot's file, or the one of a name that comes with simjudge."""
    if not given:
        return Robot()
    file = read_document(find_file(given, ROBOT), RobotFile, "robot").content
    return Robot(file.remappings, file.parameters)


CLOCK_RATE = 50.0  # Hz of /clock while a recording is played
DRAIN = 3600.0  # Seconds that images of a recording which still wait are given after its end
# Seconds that a recording waits for the nodes that take it: a detector may have to load torch.
SUBSCRIBER_PATIENCE = 120.0
PLAY_ROWS = chosen(PlaySettings, ("rate", "loop"))  # Settings of play_node that are launch arguments too


def played_topics(values: Values) -> PlayedTopics | None:
    """Choose what a recording plays: the topics to play; None where images come from a camera."""
    if not values["bag"]:
        return None
    return choose_played_topics(Path(values["bag"]), absolute=not normalize_namespace(values["robot_ns"]))


def image_processes(values: Values, robot: Robot, played: PlayedTopics | None) -> tuple[tuple[Process, ...], Process]:
    """The programs that bring images (player and bridge, as far as they are needed), and the detector on them."""
    loops = parse_bool("loop", values["loop"])
    every = values["every_frame"]
    ordered = played is not None and not loops if every == "auto" else parse_bool("every_frame", every)
    parameters: dict[str, Value] = {"model": values["model"], "every_frame": ordered}
    if values.get("detector_min_score"):
        parameters["min_score"] = parse_float("detector_min_score", values["detector_min_score"])
    patience = Process.patience
    if ordered and played is not None:
        parameters["drain"] = patience = DRAIN
    detection = Process("detection_node", "detection_node", parameters=parameters, patience=patience)
    bridged = bool(_is_elsewhere(values) or values["calibration"] or (played is None and "image" in robot.remappings))
    bridge = (_bridge(values),) if bridged else ()
    if played is None:
        return bridge, detection
    if values["camera"]:
        raise UsageError("give either bag:= or camera:=, not both")
    return (_player(values, robot, played, into_bridge=bridged), *bridge), detection


def _is_elsewhere(values: Values) -> bool:
    """Whether a camera is given that has another topic than what the graph calls its camera's."""
    camera, space = values["camera"], normalize_namespace(values["robot_ns"])
    here = camera if camera.startswith("/") else f"{space}/{camera}"
    return bool(camera) and here.removesuffix("/compressed") != f"{space}/{IMAGES}"


def _player(values: Values, robot: Robot, played: PlayedTopics, *, into_bridge: bool) -> Process:
    pairs = dict(played.remappings)
    if into_bridge:
        pairs[played.images] = "image/compressed" if played.compressed else "image"
    # Where the robot's file renames what the other nodes take, the recording must be played there.
    names = {topic: pairs.get(topic, topic.lstrip("/")) for topic in played.topics}
    pairs |= {topic: robot.remappings[name] for topic, name in names.items() if name in robot.remappings}
    parameters: dict[str, Value] = {
        "bag": values["bag"],
        **given_parameters(PLAY_ROWS, values),
        "clock": CLOCK_RATE,
        "reliability": "reliable",
        "topics": played.topics,
        "wait_timeout": SUBSCRIBER_PATIENCE,
    }
    return Process(
        "play_node", "play_node", parameters=parameters, remappings=tuple(pairs.items()), leads=True, makes_data=True
    )


def _bridge(values: Values) -> Process:
    parameters: dict[str, Value] = {}
    if values["calibration"]:
        parameters["calibration"] = str(find_file(values["calibration"], CALIBRATION))
    camera = values["camera"]
    pairs = (("image", camera.removesuffix("/compressed")),) if camera else ()
    if camera.endswith("/compressed"):
        parameters["transport"] = "compressed"
    return Process("camera_bridge_node", "camera_bridge_node", parameters=parameters, remappings=pairs)


def awaited_subscriptions(processes: Sequence[Process], played: PlayedTopics) -> list[str]:
    """The subscriptions that a recording waits for, so that no node misses its start, by the nodes' own names."""
    images = COMPRESSED if played.compressed else IMAGES
    labels = [LABELS] if played.labels else []
    takes = {
        "camera_bridge_node": ["image/compressed" if played.compressed else "image"],
        "detection_node": [images],
        "validation_node": [*labels, "camera/detections"],
        "record_node": [images, *labels, "camera/detections"],
        "watch_node": [images, *labels, "camera/detections"],
    }
    return [f"{process.name} {topic}" for process in processes for topic in takes.get(process.name, [])]


def with_topics_of_takers(processes: Sequence[Process]) -> list[Process]:
    """The programs, each of which waits for subscriptions by what those who subscribe have their topics remapped to."""
    # The first remapping that fits counts.
    names = {process.name: dict(reversed(process.remappings)) for process in processes}

    def remapped(pair: str) -> str:
        name, _, topic = pair.partition(" ")
        return f"{name} {names[name].get(topic, topic)}"

    out = []
    for process in processes:
        wanted = process.parameters.get("wait_for")
        if isinstance(wanted, list):
            own = {"wait_for": [remapped(pair) for pair in wanted]}
            process = replace(process, parameters={**process.parameters, **own})  # noqa: PLW2901
        out.append(process)
    return out


_ROWS = chosen(RecordSettings, ("max_size", "compression"))
RECORDER_ARGUMENTS = arguments_of(_ROWS)


def recorder(values: Values, topics: list[str]) -> Process:
    """The program that records topics to `out`."""
    parameters: dict[str, Value] = {"out": values["out"], "topics": topics, **given_parameters(_ROWS, values)}
    compression = cast("CompressionName", values["compression"])
    if compression == "none":
        del parameters["compression"]
    RecordingForm(max_bytes=1 if "max_size" in parameters else None, compression=compression).check(Path(values["out"]))
    # A file is compressed when it is complete, the last one at the end of the run.
    patience = DRAIN if compression == "file" else Process.patience
    return Process("record_node", "record_node", parameters=parameters, patience=patience)


IMAGES = "camera/image_raw"
COMPRESSED = "camera/image_raw/compressed"
LABELS = "camera/ground_truth"
CAMERA_INFO = "camera/camera_info"
_COMPRESSED_TYPE = "sensor_msgs/msg/CompressedImage"
_TRANSFORMS = "tf2_msgs/msg/TFMessage"


class PlayedTopics(NamedTuple):
    """What to play."""

    topics: list[str]
    remappings: tuple[tuple[str, str], ...]  # from them to the graph's names, where those differ
    images: str  # the recording's topic of the images
    labels: str  # the recording's topic of the labels, "" where there are none
    compressed: bool
    camera_info: str = ""  # the recording's topic of the camera's calibration, "" where there is none


def choose_played_topics(bag: Path, *, absolute: bool) -> PlayedTopics:
    """One camera's images, its labels and camera info, and the transforms; not the detections that were recorded."""
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
    infos = [name for name, its in types.items() if its == CAMERA_INFO_TYPE]
    trigger = values["trigger"] if values["trigger"] != "auto" else "image" if has_images else "camera_info"
    if trigger == "image":
        if not has_images:
            raise SimjudgeError(
                f"{bag}: holds no images to make frames for; simjudge sim replay makes them at a steady rate"
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
