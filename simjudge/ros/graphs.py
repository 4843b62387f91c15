"""The graphs: detect, validate, live, replay, sim, objects, label, policies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.settings import chosen
from simjudge.judging.compare_settings import CompareSettings
from simjudge.objects.settings import CameraObjectSettings, OccupancySettings
from simjudge.ros import image_sources, node_parameters
from simjudge.ros import sim_arguments as simulated
from simjudge.ros.description import (
    OBJECTS_LAYOUT,
    SIM_LAYOUT,
    WATCH,
    YES_NO,
    Argument,
    Graph,
    Process,
    Value,
    Values,
    argument,
    arguments_of,
    given_parameters,
    normalize_namespace,
    parse_bool,
    parse_float,
    rviz_arguments,
    viewer_processes,
    with_remappings,
)
from simjudge.ros.image_sources import (
    CAMERA_INFO,
    CLOCK_RATE,
    COMPRESSED,
    DRAIN,
    IMAGES,
    LABELS,
    PLAY_ROWS,
    RECORDER_ARGUMENTS,
    SUBSCRIBER_PATIENCE,
    PlayedTopics,
    Robot,
    awaited_subscriptions,
    image_processes,
    played_topics,
    read_robot,
    recorder,
    with_topics_of_takers,
)
from simjudge.ros.node_interfaces import MANAGED_NODES, NODES
from simjudge.ros.node_parameters import find_parameter_file
from simjudge.ros.node_settings import (
    LIVE_FOLLOWING,
    LIVE_MAPPING,
    PICTURES,
    THINGS,
    DetectionSettings,
    GroundTruthSettings,
    LiveObjectSettings,
    TrialsSettings,
)
from simjudge.sim.driving.drive_settings import MANUAL, OTHER

_OF_SETS = chosen(CompareSettings, node_parameters.OF_SETS)
_OF_OBJECTS = (
    *chosen(LiveObjectSettings, without=("ends_after",)),
    *chosen(CameraObjectSettings, LIVE_FOLLOWING),
    *chosen(OccupancySettings, LIVE_MAPPING),
)
_OF_GROUND_TRUTH = chosen(GroundTruthSettings, without=("ends_after",))
_OF_TRIALS = chosen(TrialsSettings, without=("ends_after",))
_TRANSFORMS = ("/tf", "/tf_static")
_WAITING = 100_000  # Frames of a recording that may wait for their detections

_MODEL = arguments_of(chosen(DetectionSettings, ("model",)))
_BAG = Argument("bag", "", "Recording to play. Not given: images come from a camera.")
_PLAY = arguments_of(PLAY_ROWS)
_EVERY = Argument(
    "every_frame", "auto", "Detect on every image in order; auto: with a bag that does not loop.", ("auto", *YES_NO)
)
_CAMERA = Argument(
    "camera",
    "",
    "Topic of a real camera, to be taken over by camera_bridge_node. Not given: images"
    " are on camera/image_raw already, or the robot's file says where.",
)
_CALIBRATION = Argument(
    "calibration",
    "",
    "YAML of ROS's camera_calibration, or the name of one in config/: adds camera_info and image_rect.",
)
_AUTOSTART = Argument(
    "autostart",
    "true",
    "Whether detection_node, validation_node and sim_node configure and activate"
    " themselves; false: they wait for a lifecycle manager.",
    YES_NO,
)
_COMMON = (
    Argument(
        "robot",
        "",
        "YAML file of a robot's own topic names and parameters, or the name of one that comes along:"
        " art1, f1tenth, turtlebot3, ...",
    ),
    Argument("robot_ns", "", "Namespace of all nodes, e.g. art1."),
    Argument(
        "tf",
        "global",
        "Where transforms are: global, on /tf; namespace, on tf below robot_ns, for several robots"
        " whose frames have the same names.",
        ("global", "namespace"),
    ),
    Argument(
        "params_file",
        "",
        "YAML file of ROS parameters, over what the graph sets; or the name of a graph, for the"
        " sample that comes with it in config/params/.",
    ),
    Argument(
        "on_exit",
        "self",
        "What ends in a launch file that includes this one, when the run is over or a node"
        " dies: self, this graph alone; shutdown, the whole launch.",
        ("self", "shutdown"),
    ),
    Argument(
        "use_sim_time",
        "auto",
        "Whether the nodes go by /clock; auto: where a recording is played or a car is simulated.",
        ("auto", *YES_NO),
    ),
)


def _detect(values: Values) -> tuple[Process, ...]:
    if values["out"] and parse_bool("loop", values["loop"]):
        raise UsageError("out:= with loop:=true would record without an end")
    robot = read_robot(values["robot"])
    played = played_topics(values)
    sources, detection = image_processes(values, robot, played)
    recorders = (_detection_recorder(values, played),) if values["out"] else ()
    return _finished(values, robot, (*sources, detection, *recorders, *viewer_processes(values)), played)


def _detection_recorder(values: Values, played: PlayedTopics | None) -> Process:
    topics = ["camera/detections"]
    topics += [LABELS] if played is None or played.labels else []
    topics += [CAMERA_INFO] if played is None or played.camera_info or values["calibration"] else []
    wanted = values["record"] if played is None else "compressed" if played.compressed else "raw"
    topics += [COMPRESSED] if wanted != "raw" else []
    topics += [IMAGES] if wanted != "compressed" else []
    return recorder(values, topics)


def _validate(values: Values) -> tuple[Process, ...]:
    parameters: dict[str, Value] = {name: values[name] for name in ("a", "b")}
    parameters |= {"out": values["out"]} if values["out"] else {}
    parameters |= given_parameters(_OF_SETS, values)
    once = not parse_bool("stay", values["stay"])
    judge = Process(
        "validation_node",
        "validation_node",
        leads=once,
        patience=node_parameters.PATIENCE,
        parameters={**parameters, "once": once, **node_parameters.parameters(values)},
    )
    return _finished(values, read_robot(values["robot"]), (judge, *viewer_processes(values)))


def _live(values: Values) -> tuple[Process, ...]:
    if bool(values["a"]) == bool(values["b"]):
        raise UsageError(
            "live needs either a:=REFERENCE, usually a real recording, which the live images predict, or"
            " b:=REFERENCE, which predicts the live images"
        )
    robot = read_robot(values["robot"])
    played = played_topics(values)
    if played is not None and not played.labels:
        raise SimjudgeError(f"{values['bag']}: has no labels; without ground truth nothing can be compared")
    sources, detection = image_processes(values, robot, played)
    side = "a" if values["a"] else "b"
    parameters: dict[str, Value] = {"reference": values[side], "live_is": "b" if side == "a" else "a"}
    parameters |= {"predictions": values["reference_predictions"]} if values["reference_predictions"] else {}
    if parse_bool("detect_reference", values["detect_reference"]):
        parameters["model"] = values["model"]
    if played is not None:
        # A recording may be played faster than the detector works: what waits for detections is not given up.
        parameters |= {"wait": DRAIN, "wait_count": _WAITING}
    parameters |= {"out": values["out"]} if values["out"] else {}
    judge = node_parameters.live_judge(values, parameters)
    return _finished(values, robot, (*sources, detection, judge, *viewer_processes(values)), played)


def _replay(values: Values) -> tuple[Process, ...]:
    robot = read_robot(values["robot"])
    played = image_sources.choose_replayed_topics(values) if values["bag"] else None
    parameters = image_sources.replay_parameters(values, played)
    pairs: tuple[tuple[str, str], ...] = ()
    if played is None:
        seen = "camera_info" if parameters["trigger"] == "camera_info" else "image"
        given = ((seen, values["image"].removesuffix("/compressed")), ("poses", values["poses"]))
        pairs = tuple(pair for pair in given if pair[1])
    else:
        # All of a recording is worked on, however slowly.
        parameters |= {"wait": DRAIN, "drain": DRAIN}
    patience = Process.patience if played is None else DRAIN
    node = Process("replay_node", "replay_node", parameters=parameters, remappings=pairs, patience=patience)
    images = {"raw": [IMAGES], "compressed": [COMPRESSED], "both": [IMAGES, COMPRESSED]}[values["record"]]
    recorded = [*images, LABELS, CAMERA_INFO] if values["out"] else []
    processes = (node, *((recorder(values, recorded),) if recorded else ()))
    if played is None:
        return _finished(values, robot, processes)
    awaited = [*(f"replay_node {topic}" for topic in played.taken()), *(f"record_node {topic}" for topic in recorded)]
    player: dict[str, Value] = {
        "bag": values["bag"],
        "rate": parse_float("rate", values["rate"]),
        "clock": CLOCK_RATE,
        "reliability": "reliable",
        "topics": played.topics,
        "wait_for": awaited,
        "wait_timeout": SUBSCRIBER_PATIENCE,
    }
    play = Process(
        "play_node", "play_node", parameters=player, remappings=played.remappings, leads=True, makes_data=True
    )
    return _finished(values, Robot(parameters=robot.parameters), (play, *processes))


def _sim(values: Values) -> tuple[Process, ...]:
    robot = _simulated_robot(read_robot(values["robot"]), values)
    processes = simulated.sim_processes(values, viewer_processes(values, SIM_LAYOUT))
    return _finished(values, robot, processes)


def _simulated_robot(robot: Robot, values: Values) -> Robot:
    """The robot's names for the simulated car: its camera's too, which a real camera's bridge takes as `image`."""
    kind = robot.parameters.get("sim_node", {}).get("input_type", values["input_type"])
    written = robot.parameters.get("manual_node" if values["driver"] == MANUAL else "drive_node", {})
    if kind != written.get("output_type", values["input_type"]) and values["driver"] != OTHER:
        raise UsageError(
            f"robot:={values['robot']}: its commands are {kind}, and its file has no output_type of the driver that"
            f" writes them; add one, or take driver:={OTHER} and drive it by your own program"
        )
    image = robot.remappings.get("image")
    if image is None:
        return robot
    near = image.rpartition("/")[0]
    named = {
        IMAGES: image,
        COMPRESSED: f"{image}/compressed",
        CAMERA_INFO: f"{near}/camera_info" if near else "camera_info",
    }
    return replace(robot, remappings={**named, **robot.remappings})


def _objects(values: Values) -> tuple[Process, ...]:
    pairs = []
    for end in NODES["objects_node"].subscribes:
        side, _, topic = end.topic.partition("/")
        if side in ("real", "virtual") and values[side] != side:
            pairs.append((end.topic, f"{values[side].rstrip('/')}/{topic}" if values[side] else topic))
    node = Process(
        "objects_node", "objects_node", parameters=given_parameters(_OF_OBJECTS, values), remappings=tuple(pairs)
    )
    return _finished(values, read_robot(values["robot"]), (node, *viewer_processes(values, OBJECTS_LAYOUT)))


def _label(values: Values) -> tuple[Process, ...]:
    form = values["form"] or PICTURES
    source = "simulator/images" if form == THINGS else f"simulator/{form}"
    taken = {source: values["labels"], "simulator/names": values["names"], "camera/camera_info": values["camera_info"]}
    pairs = tuple((topic, given) for topic, given in taken.items() if given)
    node = Process(
        "ground_truth_node",
        "ground_truth_node",
        parameters=given_parameters(_OF_GROUND_TRUTH, values),
        remappings=pairs,
    )
    return _finished(values, read_robot(values["robot"]), (node, *viewer_processes(values)))


def _policies(values: Values) -> tuple[Process, ...]:
    topic = values["trials"]
    pairs = (("policies/trials", topic),) if topic and topic != "policies/trials" else ()
    node = Process("trials_node", "trials_node", parameters=given_parameters(_OF_TRIALS, values), remappings=pairs)
    once = parse_bool("until_certain", values["until_certain"])
    return _finished(values, read_robot(values["robot"]), (replace(node, leads=once),))


def _finished(
    values: Values, robot: Robot, processes: Sequence[Process], played: PlayedTopics | None = None
) -> tuple[Process, ...]:
    normalize_namespace(values["robot_ns"])
    files: tuple[str, ...] = ()
    if values["params_file"]:
        files = (str(find_parameter_file(values["params_file"])),)
    clock: dict[str, Value] = {"use_sim_time": True} if values.get("bag") else {}
    asked: dict[str, Value] = {}
    if values["use_sim_time"] != "auto":
        asked = {"use_sim_time": parse_bool("use_sim_time", values["use_sim_time"])}
    managed = not parse_bool("autostart", values.get("autostart", "true"))
    out = []
    for process in processes:
        # Who makes the time has none to go by.
        own = dict(asked) if not process.makes_data else {}
        if managed and process.executable in MANAGED_NODES:
            own["autostart"] = False
        more = clock
        if process.name == "play_node":
            more = {"wait_for": awaited_subscriptions(processes, played)} if played is not None else {}
        changed = replace(process, parameters={**more, **process.parameters, **own})
        if values["tf"] == "namespace":
            changed = _with_own_transforms(changed)
        out.append(replace(robot.apply(changed), parameter_files=files))
    return tuple(with_topics_of_takers(out))


def _with_own_transforms(process: Process) -> Process:
    below = {topic: topic.lstrip("/") for topic in _TRANSFORMS}
    named = tuple((topic, below.get(target, target)) for topic, target in process.remappings)
    return with_remappings(replace(process, remappings=named), below.items())


DETECT = Graph(
    "detect",
    "images from a camera or a recording, and a detector on them",
    (
        *_MODEL,
        _BAG,
        Argument("out", "", "Recording of images, labels and detections: x.mcap, x.db3, or a folder."),
        Argument(
            "record",
            "both",
            "Images of a camera to record, with out: raw, compressed, or both.",
            ("both", "raw", "compressed"),
        ),
        *RECORDER_ARGUMENTS,
        *_PLAY,
        _EVERY,
        Argument("detector_min_score", "", "Score below which detections are not published."),
        _CAMERA,
        _CALIBRATION,
        *rviz_arguments("false"),
        *WATCH,
        _AUTOSTART,
        *_COMMON,
    ),
    _detect,
)
VALIDATE = Graph(
    "validate",
    "two recordings compared, as `simjudge compare` does it",
    (
        Argument("a", None, "Set to be predicted, usually real: any data set or recording."),
        Argument("b", None, "Set that predicts, usually simulated."),
        Argument("out", "", "Folder for the result."),
        *(argument(row) for row in _OF_SETS),
        *node_parameters.ARGUMENTS,
        Argument("stay", "false", "Go on serving the summary once it is there, until Ctrl-C.", YES_NO),
        *rviz_arguments("false"),
        *WATCH,
        _AUTOSTART,
        *_COMMON,
    ),
    _validate,
)
LIVE = Graph(
    "live",
    "images, a detector, and the gap to a reference while they run",
    (
        *_MODEL,
        Argument("a", "", "Reference: a labelled and predicted set, usually real; the live images are B."),
        Argument("b", "", "Reference, where the live images are A."),
        Argument("reference_predictions", "", "Predictions for the reference, made earlier."),
        Argument(
            "detect_reference",
            "false",
            "Run the detector on the reference too, in place of its own predictions.",
            YES_NO,
        ),
        _BAG,
        Argument("out", "", "Folder for the result, written at the end."),
        *_PLAY,
        _EVERY,
        _CAMERA,
        _CALIBRATION,
        *node_parameters.ARGUMENTS,
        *node_parameters.LIVE_ARGUMENTS,
        *rviz_arguments("auto"),
        *WATCH,
        _AUTOSTART,
        *_COMMON,
    ),
    _live,
)
REPLAY = Graph(
    "replay",
    "a simulated camera that sees what a real one saw, at the recorded poses",
    (*image_sources.ARGUMENTS, *_COMMON),
    _replay,
)
SIM = Graph(
    "sim",
    "a simulated car that drives a course by what a detector sees, judged while it drives",
    (*simulated.ARGUMENTS, *rviz_arguments("false", SIM_LAYOUT), *WATCH, _AUTOSTART, *_COMMON),
    _sim,
)
OBJECTS = Graph(
    "objects",
    "what a real and a virtual sensor say of the same objects, while both run",
    (
        Argument("real", "real", "Namespace of the real sensor's topics; / for the root."),
        Argument("virtual", "virtual", "Namespace of the virtual sensor's topics."),
        *arguments_of(_OF_OBJECTS),
        *rviz_arguments("false", OBJECTS_LAYOUT),
        *_COMMON,
    ),
    _objects,
)
LABEL = Graph(
    "label",
    "another simulator's ground truth as labels, while it runs",
    (
        *arguments_of(_OF_GROUND_TRUTH),
        Argument(
            "labels",
            None,
            "Topic of the simulator's pictures or boxes, such as /segmentation/labels_map. With"
            " form things: of the images.",
        ),
        Argument("names", "", "Topic of the JSON that says what their numbers mean, where the simulator sends one."),
        Argument("camera_info", "", "Topic of the camera's camera_info, for all forms but pictures."),
        *rviz_arguments("false"),
        *WATCH,
        *_COMMON,
    ),
    _label,
)
POLICIES = Graph(
    "policies",
    "trials of robot policies from a topic, written down and judged as they come in",
    (
        *arguments_of(_OF_TRIALS),
        Argument("trials", "policies/trials", "Topic with a message for each trial that has ended."),
        *_COMMON,
    ),
    _policies,
)
GRAPHS = {graph.name: graph for graph in (DETECT, VALIDATE, LIVE, REPLAY, SIM, OBJECTS, LABEL, POLICIES)}
