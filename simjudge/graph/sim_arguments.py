"""The arguments of a simulated drive, and the programs that they mean: world, detector, driver, judge, recorder."""

from __future__ import annotations

from dataclasses import replace

from simjudge.core.errors import UsageError
from simjudge.graph import method_arguments as method
from simjudge.graph.description import Argument, Process, Value, Values, parse_bool, parse_float, parse_int
from simjudge.graph.played_topics import CAMERA_INFO, COMPRESSED, IMAGES, LABELS

_YES_NO = ("true", "false")
_GROUND_TRUTH = "ground_truth"
_DETECTIONS, _ODOMETRY, _INPUT = "camera/detections", "vehicle/odometry", "vehicle/input"
_INPUT_TYPE = "simjudge_msgs/msg/VehicleInput"
_WAITING = 100_000
_LONG = 3600.0
"""Seconds that work on the last frames may take, and that they may wait for each other."""
_REPORT = 600.0
"""Seconds that the resampling and the report at the end are given."""
_PATIENCE = 120.0
"""Seconds that the simulation waits for the other nodes: a detector may have to load torch."""

ARGUMENTS = (
    Argument("scene", "lab", "a scene with a course: a file, or one that comes with simjudge by name"),
    Argument("camera", "reference", "the car's camera, likewise"),
    Argument("detector", "cones_red_green", "finds the cones: a .onnx, .pt or .yaml file, one that comes with simjudge"
             f" by name, or {_GROUND_TRUTH}"),
    Argument("vehicle", "art1", "the car: a file, or one that comes with simjudge by name"),
    Argument("engine", "default", "what moves and lights the scene", ("default", "chrono")),
    Argument("sensors", "", "lidar, GPS and inertial sensors on the car, with engine:=chrono: a file, or one that comes"
             " with simjudge by name"),
    Argument("seed", "0", "of the scene, the camera's noise, where the car starts, and the resampling"),
    Argument("camera_rate", "", "images a second; empty: the camera's own"),
    Argument("lock_step", "true", "time stands still until the driver has answered an image; false: it goes on",
             _YES_NO),
    Argument("speed", "1.0", "without lock_step: simulated seconds in a second; 0: as fast as it goes"),
    Argument("patience", "60.0", "with lock_step: seconds that an answer may take"),
    Argument("limit", "180.0", "simulated seconds that the drive may take"),
    Argument("drive", "true", "drive_node drives; false: somebody else publishes vehicle/input", _YES_NO),
    Argument("input_type", _INPUT_TYPE, "of vehicle/input; or art_msgs/msg/VehicleInput"),
    Argument("out", "", "record the drive into this folder: images, labels, detections, odometry, tf, input,"
             " sensors"),
    Argument("record", "raw", "with out: the raw images, the compressed ones (JPEG), or both",
             ("raw", "compressed", "both")),
    Argument("reference", "", "judge live: a labelled and predicted recording, usually real, which the drive predicts"),
    Argument("reference_predictions", "", "predictions for the reference, made before"),
    Argument("detect_reference", "false", "run the detector on the reference, in place of its own predictions",
             _YES_NO),
    Argument("result", "", "with reference: folder for the result, written at the end"),
    *(each for each in method.ARGUMENTS if each.name != "seed"),
)  # fmt: skip


def sim_processes(values: Values, viewers: tuple[Process, ...]) -> tuple[Process, ...]:
    """The programs of a simulated drive: world, detector, driver, judge, recorder and viewers.

    Args:
        values: the texts of all arguments.
        viewers: programs that show the run.

    Returns:
        The programs in the order in which they end.

    Raises:
        UsageError: arguments that do not go together.
        SimjudgeError: the scene cannot be read, or cannot be driven.
    """
    if values["result"] and not values["reference"]:
        raise UsageError("result:= is the comparison's with reference:=; out:= records the drive")
    told = values["detector"] == _GROUND_TRUTH
    if told and parse_bool("detect_reference", values["detect_reference"]):
        raise UsageError(f"detect_reference:=true needs a detector, not {_GROUND_TRUTH}")
    others = (
        *(() if told else (_detector(values),)),
        *((_driver(values),) if parse_bool("drive", values["drive"]) else ()),
        *((_judge(values),) if values["reference"] else ()),
        *((_recorder(values),) if values["out"] else ()),
    )
    timed = (replace(each, parameters={"use_sim_time": True, **each.parameters}) for each in (*others, *viewers))
    return (_world(values, others, told=told), *timed)


def _world(values: Values, others: tuple[Process, ...], *, told: bool) -> Process:
    takes = {
        "detection_node": [IMAGES],
        "drive_node": [_DETECTIONS, _ODOMETRY],
        "validation_node": [LABELS, _DETECTIONS],
        "record_node": _recorded(values),
    }
    parameters: dict[str, Value] = {
        **{name: values[name] for name in ("scene", "camera", "vehicle", "engine", "input_type")},
        "seed": parse_int("seed", values["seed"]),
        "lock_step": parse_bool("lock_step", values["lock_step"]),
        "speed": parse_float("speed", values["speed"]),
        "patience": parse_float("patience", values["patience"]),
        "limit": parse_float("limit", values["limit"]),
        "ground_truth_detections": told,
        "wait_for": [f"{each.name} {topic}" for each in others for topic in takes.get(each.name, [])],
        "wait_timeout": _PATIENCE,
    }
    if values["sensors"]:
        parameters["sensors"] = values["sensors"]
    if values["camera_rate"]:
        parameters["camera_rate"] = parse_float("camera_rate", values["camera_rate"])
    if not parameters["wait_for"]:
        del parameters["wait_for"]
    return Process("sim_node", "sim_node", parameters=parameters, leads=True)


def _detector(values: Values) -> Process:
    ordered = parse_bool("lock_step", values["lock_step"])
    parameters: dict[str, Value] = {"model": values["detector"], "transport": "raw", "every_frame": ordered}
    if ordered:
        parameters["drain"] = _LONG
    return Process("detection_node", "detection_node", parameters=parameters, patience=_LONG if ordered else 15.0)


def _driver(values: Values) -> Process:
    """The driver, who is told how wide the lane is and which cones stand where."""
    from simjudge.driving.lane import lane_classes, scene_course  # noqa: PLC0415 - slow to import
    from simjudge.scene.read import read_scene  # noqa: PLC0415

    scene = read_scene(values["scene"], parse_int("seed", values["seed"]))
    sides = lane_classes(scene)
    parameters: dict[str, Value] = {
        "vehicle": values["vehicle"],
        "camera": values["camera"],
        "lane_width": float(scene_course(scene).width),
        "right": scene.class_names.get(sides.right, str(sides.right)),
        "left": scene.class_names.get(sides.left, str(sides.left)),
        "input_type": values["input_type"],
    }
    return Process("drive_node", "drive_node", parameters=parameters)


def _judge(values: Values) -> Process:
    parameters: dict[str, Value] = {
        "reference": values["reference"],
        "live_is": "b",
        "wait": _LONG,
        "wait_count": _WAITING,
        **method.parameters(values),
    }
    if values["reference_predictions"]:
        parameters["predictions"] = values["reference_predictions"]
    if parse_bool("detect_reference", values["detect_reference"]):
        parameters["model"] = values["detector"]
    if values["result"]:
        parameters["out"] = values["result"]
    return Process("validation_node", "validation_node", parameters=parameters, patience=_REPORT)


def _recorder(values: Values) -> Process:
    parameters: dict[str, Value] = {"out": values["out"], "topics": _recorded(values)}
    return Process("record_node", "record_node", parameters=parameters)


def _recorded(values: Values) -> list[str]:
    images = {"raw": [IMAGES], "compressed": [COMPRESSED], "both": [IMAGES, COMPRESSED]}[values["record"]]
    driving = [_INPUT] if parse_bool("drive", values["drive"]) else []
    sensors = _sensor_topics(values["sensors"]) if values["sensors"] else []
    return [*images, CAMERA_INFO, LABELS, _DETECTIONS, _ODOMETRY, *driving, *sensors, "/tf", "/tf_static"]


def _sensor_topics(given: str) -> list[str]:
    from simjudge.engines.chrono.sensor_file import read_sensors  # noqa: PLC0415 - only where there are sensors
    from simjudge.engines.chrono.sensor_topics import sensor_topics  # noqa: PLC0415

    return sorted(set(sensor_topics(read_sensors(given)).values()))
