"""Replay without a camera: what a car's other sensors would have read along recorded poses, in a scene."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from simjudge.core.digest import hash_value
from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.files import record_beside
from simjudge.core.installed import version
from simjudge.core.progress import Log, ProgressBar
from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.data.rosbag2.live_recording import record_messages
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.camera_path import DEFAULT_CAR
from simjudge.sim.capture.recorded_camera_path import CameraPathOptions
from simjudge.sim.capture.replay_output import FIXED_FRAME, replay_record_path
from simjudge.sim.capture.replay_sensors import SensorReplay, SensorTransforms, body_in_scene, recorded_cloud_stamps
from simjudge.sim.capture.replay_source import ReplayOptions, read_source_poses
from simjudge.sim.capture.sensor_readers import SensorEvent
from simjudge.sim.capture.sensor_record import SensorMessages
from simjudge.sim.engines.contract import Engine
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.scene.model import Scene
from simjudge.sim.sensors.lidar.lidar_fields import LidarSpec
from simjudge.sim.sensors.sensor_file import read_sensors
from simjudge.sim.sensors.sensor_topics import sensor_topics
from simjudge.sim.vehicle.vehicle_file import read_vehicle

_OF_FRAMES = ("image_topic", "time_offset", "start", "duration", "rate", "noise", "skip_gaps")
"""Options that choose or move the camera's frames."""


@dataclass(frozen=True)
class SensorReplayOptions:
    """What is replayed without a camera.

    Attributes:
        sensors: file of the car's sensors, or the name of one that comes with simjudge.
        cloud_topic: of the recording's clouds, where it has several.
        smoothing: seconds over which poses are averaged for inertial sensors.
        where: where the poses are; what it says of frames must be left as it is.
        engine: name of the engine, or `package:Class`.
    """

    sensors: str | Path
    cloud_topic: str | None
    smoothing: float
    where: CameraPathOptions
    engine: str


def replay_sensors(
    recording: Path, out: Path, world: Scene, options: SensorReplayOptions, log: Log, progress: ProgressBar
) -> tuple[int, Losses]:
    """Record what sensors would read along recorded poses; a lidar makes a scan for each cloud of the recording."""
    where, losses = options.where, Losses()
    _refuse_frame_options(where)
    wanted = ReplayOptions(recording, None if where.poses is None else str(where.poses), where.parent, where.child)
    trajectory, poses_from = read_source_poses(wanted, where.limits, losses)
    stamps = recorded_cloud_stamps(recording, options.cloud_topic, losses)
    begin = int(trajectory.stamp[0]) if stamps is None or not len(stamps) else int(stamps[0])
    car = None if where.mount is not None else read_vehicle(where.vehicle or DEFAULT_CAR)
    carried = SensorReplay(
        read_sensors(options.sensors), body_in_scene(trajectory, where.alignment, 0), where.limits, car, where.seed,
        options.smoothing, stamps, begin,
    )  # fmt: skip
    renderer = make_engine(options.engine, world)
    try:
        log(f"{_describe_clouds(carried)}; poses from {poses_from}; no camera")
        with progress("replaying") as advance:
            events = list(carried.events(renderer, losses))
            advance(len(events), len(events))
        if not events:
            raise SimjudgeError(f"{recording}: no reading of {options.sensors} lies within the time of the poses")
        about = {"bag": str(recording), "poses": poses_from, **_describe(carried, renderer, options)}
        text = json.dumps(about, indent=2)
        types = standard_types().types
        maker = SensorMessages(lambda name: types[name], carried.specs, world.class_names)
        transforms = SensorTransforms(carried.specs, trajectory, trajectory.frame_id or FIXED_FRAME)
        first, last = trajectory.stamp[[0, -1]].tolist()
        with record_beside(replay_record_path(out), text + "\n"), record_messages(out, {"simjudge": text}) as written:
            # What can be read at one time goes together: a gyroscope and an accelerometer share a message.
            for time, group in groupby(sorted(events, key=_time_of), key=_time_of):
                together = list(group)
                scans = [event.stamp for event in together if isinstance(event.spec, LidarSpec)]
                for topic, message in transforms.at(stamp for stamp in scans if first <= stamp <= last):
                    written.write(topic, time, message)
                for topic, _, message in maker.messages(together):
                    written.write(f"/{topic}", time, message)
    finally:
        renderer.close()
    return len(events), losses


def _time_of(event: SensorEvent) -> int:
    return event.time


def _refuse_frame_options(where: CameraPathOptions) -> None:
    usual = CameraPathOptions()
    for name in _OF_FRAMES:
        if getattr(where, name) != getattr(usual, name):
            option = name.replace("_", "-")
            raise UsageError(f"--{option}: chooses the camera's frames; give --camera, or leave it out")


def _describe_clouds(carried: SensorReplay) -> str:
    names = ", ".join(sensor_topics(carried.specs).values())
    return names if carried.cloud_stamps is None else f"{names}; {len(carried.cloud_stamps)} recorded clouds"


def _describe(carried: SensorReplay, engine: Engine, options: SensorReplayOptions) -> dict[str, Any]:
    """All that the readings depend on, as JSON has it."""
    where, scene = options.where, engine.scene
    body: Pose = carried.body.pose(0)
    return {
        "version": version(),
        "sensors": str(options.sensors),
        "sensors_sha256": hash_value([carried.specs, options.smoothing]),
        "align": where.align,
        "first_pose": [*body.position, *body.orientation],
        "limits": {"max_gap": where.max_gap, "max_speed": where.max_speed, "max_turn": where.max_turn},
        "scene": {"name": scene.name, "path": str(scene.path), "seed": scene.seed, "sha256": hash_value(scene)},
        "engine": {"name": engine.name, "variant": engine.variant},
        "seed": where.seed,
    }
