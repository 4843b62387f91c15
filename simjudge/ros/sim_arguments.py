"""The arguments of a simulated drive, and the programs that they mean: world, detector, driver, judge, recorder."""

from __future__ import annotations

from dataclasses import replace

from simjudge.core.errors import UsageError
from simjudge.core.settings import chosen
from simjudge.data.drive_logs import steering_unit
from simjudge.data.rosbag2.interfaces import CAMERA, optical_frame
from simjudge.ros import node_parameters
from simjudge.ros.description import (
    YES_NO,
    Argument,
    Process,
    Value,
    Values,
    arguments_of,
    given_parameters,
    parse_bool,
    parse_int,
)
from simjudge.ros.image_sources import CAMERA_INFO, COMPRESSED, IMAGES, LABELS, RECORDER_ARGUMENTS, recorder
from simjudge.ros.node_settings import ValidationSettings
from simjudge.ros.simulation_settings import SimSettings
from simjudge.sim.driving.cone_driver import lane_speeds
from simjudge.sim.driving.course import lane_classes, lane_cones, scene_course
from simjudge.sim.driving.drive_settings import CONES, DEFAULT_LIDAR, LIDAR, MANUAL, OTHER
from simjudge.sim.driving.pilots import driving_lidar
from simjudge.sim.scene.read import read_scene
from simjudge.sim.sensors.camera.rig import read_rig, rig_path
from simjudge.sim.sensors.sensor_file import read_sensors
from simjudge.sim.sensors.sensor_messages import published_topics, sensor_topics
from simjudge.sim.vehicle.vehicle import DEFAULT_CAR

_GROUND_TRUTH = "ground_truth"
_DETECTIONS = "camera/detections"
# Topics by which other nodes know the camera that drives.
_OF_CAMERA = (IMAGES, COMPRESSED, CAMERA_INFO, LABELS, _DETECTIONS, f"{_DETECTIONS}/overlay", f"{_DETECTIONS}/vision")
_OF_DEPTH = ("camera/depth/image_raw", "camera/depth/camera_info")
_ODOMETRY = "vehicle/odometry"
_INPUT = "vehicle/input"
_SCANS = "scan/points"
_FRAMES = ("joint_states", "robot_description", "/tf", "/tf_static")
_WAITING = 100_000  # Frames that may wait for their detections
_LONG = 3600.0  # Seconds that work on the last frames may take, and that they may wait for each other
_PATIENCE = 120.0  # Seconds that the simulation waits for the other nodes: a detector may have to load torch

# Settings of the world that are launch arguments too.
WORLD_ROWS = chosen(
    SimSettings,
    (
        "scene",
        "camera",
        "vehicle",
        "engine",
        "driver",
        "laps",
        "sensors",
        "seed",
        "camera_rate",
        "lock_step",
        "speed",
        "patience",
        "limit",
        "input_type",
        "frame_prefix",
    ),
)
DRIVE_ROWS = chosen(ValidationSettings, ("reference_drives",))
ARGUMENTS = (
    Argument(
        "detector",
        "cones_red_green",
        "Detector that finds the cones: a .onnx, .pt or .yaml file, the name"
        f" of one that comes with simjudge, or {_GROUND_TRUTH}.",
    ),
    *arguments_of(WORLD_ROWS, scene="lab", camera="reference", patience="60.0"),
    Argument(
        "out",
        "",
        "Recording of the drive, x.mcap, x.db3 or a folder: images, labels, detections, odometry, tf, input, sensors.",
    ),
    Argument(
        "record", "raw", "Images to record, with out: raw, compressed (JPEG), or both.", ("raw", "compressed", "both")
    ),
    *RECORDER_ARGUMENTS,
    Argument("reference", "", "Labelled and predicted recording, usually real, which the drive predicts: judge live."),
    Argument("reference_predictions", "", "Predictions for the reference, made earlier."),
    Argument(
        "detect_reference", "false", "Run the detector on the reference, in place of its own predictions.", YES_NO
    ),
    *arguments_of(DRIVE_ROWS),
    Argument("result", "", "Folder for the result, written at the end; with reference or reference_drives."),
    *(argument for argument in node_parameters.ARGUMENTS if argument.name != "seed"),
    *node_parameters.LIVE_ARGUMENTS,
)


def sim_processes(values: Values, viewers: tuple[Process, ...]) -> tuple[Process, ...]:
    """The programs of a simulated drive: world, detector, driver, judge, recorder and viewers."""
    judged = bool(values["reference"] or values["reference_drives"])
    if values["result"] and not judged:
        raise UsageError("result:= is the comparison's with reference:= or reference_drives:=; out:= records the drive")
    if values["reference"] and values["reference_drives"]:
        raise UsageError("reference:= judges the detector, reference_drives:= the car; one of them at a time")
    by_cones = values["driver"] in {CONES, OTHER}
    if not by_cones and values["reference"]:
        raise UsageError(f"reference:= judges a detector, and driver:={values['driver']} has none; take driver:=cones")
    ideal, cameras = by_cones and values["detector"] == _GROUND_TRUTH, _cameras(values["camera"])
    if ideal and parse_bool("detect_reference", values["detect_reference"]):
        raise UsageError(f"detect_reference:=true needs a detector, not {_GROUND_TRUTH}")
    others = (
        *((_detector(values),) if by_cones and not ideal else ()),
        *((_driver(values),) if values["driver"] != OTHER else ()),
        *((_judge(values),) if judged else ()),
        *((recorder(values, _recorded(values, cameras)),) if values["out"] else ()),
    )
    timed = (
        replace(process, parameters={"use_sim_time": True, **process.parameters}) for process in (*others, *viewers)
    )
    first = cameras[0]
    return (_world(values, others, cameras, ideal=ideal), *(_with_camera(process, first) for process in timed))


def _with_camera(process: Process, camera: str) -> Process:
    if camera == CAMERA or process.name == "record_node":
        return process
    # RViz's layouts have absolute names.
    slash = "/" if process.executable == "rviz2" else ""
    pairs = tuple((f"{slash}{topic}", _of(camera, topic)) for topic in _OF_CAMERA)
    return replace(process, remappings=(*pairs, *process.remappings))


def _of(camera: str, topic: str) -> str:
    return camera + topic.removeprefix(CAMERA)


def _cameras(given: str) -> tuple[str, ...]:
    return (CAMERA,) if rig_path(given) is None else read_rig(given).names


def _cameras_with_depth(given: str) -> list[str]:
    """Names of the cameras that measure depth."""
    return [mounted.name for mounted, _ in read_rig(given).cameras if mounted.camera.depth is not None]


def _world(values: Values, others: tuple[Process, ...], cameras: tuple[str, ...], *, ideal: bool) -> Process:
    takes = {
        "detection_node": [_of(cameras[0], IMAGES)],
        "drive_node": [_scan_topic(values) if values["driver"] == LIDAR else _of(cameras[0], _DETECTIONS), _ODOMETRY],
        "manual_node": [_ODOMETRY],
        "validation_node": _judged(values, cameras[0]),
        "record_node": _recorded(values, cameras),
    }
    parameters: dict[str, Value] = {
        **given_parameters(WORLD_ROWS, values),
        "ground_truth_detections": ideal,
        "wait_for": [f"{other.name} {topic}" for other in others for topic in takes.get(other.name, [])],
        "wait_timeout": _PATIENCE,
    }
    if not parameters["wait_for"]:
        del parameters["wait_for"]
    return Process("sim_node", "sim_node", parameters=parameters, leads=True, makes_data=True)


def _detector(values: Values) -> Process:
    ordered = parse_bool("lock_step", values["lock_step"])
    parameters: dict[str, Value] = {"model": values["detector"], "transport": "raw", "every_frame": ordered}
    if ordered:
        parameters["drain"] = _LONG
    return Process("detection_node", "detection_node", parameters=parameters, patience=_LONG if ordered else 15.0)


def _driver(values: Values) -> Process:
    """The driver, who is told how wide the lane is and which cones stand where, or what its lidar is; or the person."""
    if values["driver"] == MANUAL:
        # Who asks to end by a key ends the run.
        wheel = {"vehicle": _vehicle(values), "output_type": values["input_type"]}
        return Process("manual_node", "manual_node", parameters=wheel, leads=True, reads_keys=True)
    if values["driver"] == LIDAR:
        known = {"vehicle": _vehicle(values), "driver": LIDAR, "output_type": values["input_type"]}
        topic = _scan_topic(values)
        renamed = () if topic == _SCANS else ((_SCANS, topic),)
        sensors = {"sensors": _sensors(values)}
        return Process("drive_node", "drive_node", parameters={**known, **sensors}, remappings=renamed)
    scene = read_scene(values["scene"], parse_int("seed", values["seed"]))
    sides, width = lane_classes(scene), float(scene_course(scene).width)
    cone, speeds = lane_cones(scene, sides), lane_speeds(width)
    parameters: dict[str, Value] = {
        "vehicle": _vehicle(values),
        "camera": values["camera"],
        "lane_width": width,
        "cone_radius": cone.radius,
        "cone_height": cone.height,
        "fastest": speeds.fastest,
        "slowest": speeds.slowest,
        "right": scene.class_names.get(sides.right, str(sides.right)),
        "left": scene.class_names.get(sides.left, str(sides.left)),
        "output_type": values["input_type"],
    }
    return Process("drive_node", "drive_node", parameters=parameters)


def _vehicle(values: Values) -> str:
    """The car: the one that is given, the scene's own, or art1."""
    own = None if values["vehicle"] else read_scene(values["scene"], parse_int("seed", values["seed"])).vehicle
    return values["vehicle"] or str(own or DEFAULT_CAR)


def _judged(values: Values, camera: str) -> list[str]:
    if not values["reference_drives"]:
        return [_of(camera, topic) for topic in (LABELS, _DETECTIONS)]
    # Commands that say no steering are not taken.
    return [_ODOMETRY, *([_INPUT] if steering_unit(str(values["input_type"])) else [])]


def _judge(values: Values) -> Process:
    if values["reference_drives"]:
        given = {**given_parameters(DRIVE_ROWS, values), "live_is": "b"}
        if steering_unit(str(values["input_type"])):
            given["input_type"] = values["input_type"]
        return node_parameters.live_judge(values, {**given, "out": values["result"]} if values["result"] else given)
    parameters: dict[str, Value] = {
        "reference": values["reference"],
        "live_is": "b",
        "wait": _LONG,
        "wait_count": _WAITING,
    }
    if values["reference_predictions"]:
        parameters["predictions"] = values["reference_predictions"]
    if parse_bool("detect_reference", values["detect_reference"]):
        parameters["model"] = values["detector"]
    camera = _cameras(values["camera"])[0]
    if camera != CAMERA or values["frame_prefix"]:
        parameters["frame_id"] = values["frame_prefix"] + optical_frame(camera)
    if values["result"]:
        parameters["out"] = values["result"]
    return node_parameters.live_judge(values, parameters)


def _recorded(values: Values, cameras: tuple[str, ...]) -> list[str]:
    images = {"raw": [IMAGES], "compressed": [COMPRESSED], "both": [IMAGES, COMPRESSED]}[values["record"]]
    detections = [_of(cameras[0], _DETECTIONS)] if values["driver"] in {CONES, OTHER} else []
    driving = [_INPUT] if values["driver"] != OTHER else []
    seen = [_of(camera, topic) for camera in cameras for topic in (*images, CAMERA_INFO, LABELS)]
    seen += [_of(camera, topic) for camera in _cameras_with_depth(values["camera"]) for topic in _OF_DEPTH]
    return [*seen, *detections, _ODOMETRY, *driving, *_recorded_sensors(_sensors(values)), *_FRAMES]


def _recorded_sensors(given: str) -> list[str]:
    if not given:
        return []
    return sorted(published_topics(read_sensors(given)))


def _sensors(values: Values) -> str:
    """The file or name of the car's sensors, "" for none."""
    return values["sensors"] or (DEFAULT_LIDAR if values["driver"] == LIDAR else "")


def _sensor_topics(given: str) -> dict[str, str]:
    if not given:
        return {}
    return sensor_topics(read_sensors(given))


def _scan_topic(values: Values) -> str:
    given = _sensors(values)
    return _sensor_topics(given)[driving_lidar(read_sensors(given), given).name]
