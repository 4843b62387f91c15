"""Where the images of a graph come from: a recording that is played, or a camera; and the detector on them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from simjudge.core.errors import UsageError
from simjudge.core.installed import CALIBRATION, find_file
from simjudge.core.settings import chosen
from simjudge.ros.description import Process, Value, Values, normalize_namespace, parse_bool, parse_float
from simjudge.ros.node_settings import PlaySettings
from simjudge.ros.played_topics import COMPRESSED, IMAGES, LABELS, PlayedTopics, choose_played_topics
from simjudge.ros.robot_file import Robot
from simjudge.ros.setting_arguments import given_parameters

CLOCK_RATE = 50.0
"""Hz of /clock while a recording is played."""
DRAIN = 3600.0
"""Seconds that images of a recording which still wait are given after its end."""
SUBSCRIBER_PATIENCE = 120.0
"""Seconds that a recording waits for the nodes that take it: a detector may have to load torch."""
PLAY_ROWS = chosen(PlaySettings, ("rate", "loop"))
"""Settings of play_node that are launch arguments too."""


def played_topics(values: Values) -> PlayedTopics | None:
    """Choose what a recording plays.

    Returns:
        The topics to play; None where images come from a camera.
    """
    if not values["bag"]:
        return None
    return choose_played_topics(Path(values["bag"]), absolute=not normalize_namespace(values["robot_ns"]))


def image_processes(values: Values, robot: Robot, played: PlayedTopics | None) -> tuple[tuple[Process, ...], Process]:
    """The programs that bring images, and the detector on them.

    Args:
        played: what of a recording is played, None without one.

    Returns:
        Player and bridge, as far as they are needed; and the detector.
    """
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
    bridged = bool(values["camera"] or values["calibration"] or (played is None and "image" in robot.remappings))
    bridge = (_bridge(values),) if bridged else ()
    if played is None:
        return bridge, detection
    if values["camera"]:
        raise UsageError("give either bag:= or camera:=, not both")
    return (_player(values, robot, played, into_bridge=bridged), *bridge), detection


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


def awaited_subscriptions(processes: Sequence[Process], played: PlayedTopics, robot: Robot) -> list[str]:
    """The subscriptions that a recording waits for, so that no node misses its start."""
    images = COMPRESSED if played.compressed else IMAGES
    labels = [LABELS] if played.labels else []
    takes = {
        "camera_bridge_node": ["image/compressed" if played.compressed else "image"],
        "detection_node": [images],
        "validation_node": [*labels, "camera/detections"],
        "record_node": [images, *labels, "camera/detections"],
        "watch_node": [images, *labels, "camera/detections"],
    }
    return [
        f"{process.name} {robot.remappings.get(topic, topic)}"
        for process in processes
        for topic in takes.get(process.name, [])
    ]
