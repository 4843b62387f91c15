"""Replay: one synthetic frame for each real one, seen from where the real camera was; or sensors alone.

The camera moves along the recorded poses while it is exposed. The scene starts with the first frame: what follows a
path moves from then on, everything else stands where the scene has it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from simjudge.core.arrays import hash_value
from simjudge.core.errors import Advance, Log, Losses, ProgressBar, SimjudgeError, UsageError, no_log, no_progress
from simjudge.core.files import check_output_and_record, output_path, record_beside
from simjudge.core.installed import version
from simjudge.core.settings import takes_setting_keywords
from simjudge.core.text import JsonMapping
from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.data.rosbag2.live_recording import record_messages
from simjudge.data.rosbag2.writing import write_recording
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.camera_poses import carrying_vehicle
from simjudge.sim.capture.capture import Capture, exposure_at, scripted_bodies
from simjudge.sim.capture.capture_settings import ReplayingSettings
from simjudge.sim.capture.frame_store import FrameStore, describe_metering, metered_before
from simjudge.sim.capture.ground_truth import Labelling
from simjudge.sim.capture.replay_plan import (
    CameraPathOptions,
    ReplayOptions,
    ReplayPlan,
    describe_replay,
    frames_without_floor,
    read_camera_path,
    read_source_poses,
)
from simjudge.sim.capture.sensor_feed import RaySpec, SensorEvent
from simjudge.sim.capture.sensor_record import (
    MessagesByFrame,
    SensorMessages,
    SensorReplay,
    SensorTransforms,
    body_in_scene,
    recorded_cloud_stamps,
)
from simjudge.sim.engines.contract import Engine
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.scene.model import Scene
from simjudge.sim.scene.scene_changes import read_replay_scene
from simjudge.sim.sensors.camera.camera import Camera
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.sensor_file import read_sensors
from simjudge.sim.sensors.sensor_messages import CameraMessages, sensor_topics
from simjudge.sim.vehicle.other_cars import log_standing_cars
from simjudge.sim.vehicle.vehicle import DEFAULT_CAR, read_vehicle

FIXED_FRAME = "map"  # Name of the fixed frame where the poses do not say it


def write_replay(
    plan: ReplayPlan,
    store: FrameStore,
    class_names: Mapping[int, str],
    out: Path,
    about: JsonMapping,
    sensors: MessagesByFrame | None = None,
) -> Losses:
    """Write the recording of all frames, and OUT.replay.json."""
    source = plan.source
    frames = store.frames(out.name, source.frame_name, source.stamp, plan.camera.lens.size, dict(class_names))
    info = plan.camera.lens.camera_info(plan.camera.name)
    messages = CameraMessages(info.calibration, source.trajectory.frame_id or FIXED_FRAME)

    def camera_messages(index: int) -> Iterator[tuple[str, Any]]:
        stamp = int(source.stamp[index])
        yield from messages.at(stamp, plan.path.recorded([stamp], source.frame_name[index])[0])
        if plan.camera.depth is not None:
            yield from messages.depth(stamp, store.depth(index))
        if sensors is not None:
            yield from sensors.of(index)

    text = json.dumps(about, indent=2)
    with record_beside(replay_record_path(out), text + "\n"):
        return write_recording(frames, out, extra_messages=camera_messages, custom_data={"simjudge": text})


def replay_record_path(out: Path) -> Path:
    """Path of the file that says what a recording shows."""
    return out.with_name(out.name + ".replay.json")


# Options that choose or move the camera's frames.
_OF_FRAMES = ("image_topic", "time_offset", "start", "duration", "rate", "noise", "skip_gaps")


@dataclass(frozen=True)
class SensorReplayOptions:
    """What is replayed without a camera."""

    sensors: str | Path  # file of the car's sensors, or the name of one that comes with simjudge
    cloud_topic: str | None  # of the recording's clouds, where it has several
    smoothing: float  # seconds over which poses are averaged for inertial sensors
    where: CameraPathOptions  # where the poses are; what it says of frames must be left as it is
    engine: str  # name of the engine, or `package:Class`


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
        read_sensors(options.sensors, places=car.places if car else None),
        body_in_scene(trajectory, where.alignment, 0),
        where.limits,
        car,
        where.seed,
        options.smoothing,
        stamps,
        begin,
    )
    renderer = make_engine(options.engine, world)
    try:
        body = f"at the places of {car.name}" if car else "on a body that is no car"
        log_standing_cars(world, log)
        log(f"{_describe_clouds(carried)}, {body}; poses from {poses_from}; no camera")
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
                scans = [event.stamp for event in together if isinstance(event.spec, RaySpec)]
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


def _describe(carried: SensorReplay, engine: Engine, options: SensorReplayOptions) -> dict[str, object]:
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


@dataclass(frozen=True)
class ReplayResult:
    """What `replay` wrote."""

    path: Path
    record_path: Path  # the JSON file that says what was done
    frames: int  # number of frames; without a camera of the sensors' readings
    # Frames and poses of the source that could not be used, and what the recording could not hold.
    losses: Losses = field(default_factory=Losses, repr=False)
    unit: str = "frames"  # what `frames` counts

    def __str__(self) -> str:
        return f"{self.path}: {self.frames} {self.unit}"


@takes_setting_keywords
def replay(
    recording: str | Path,
    out: str | Path,
    *,
    scene: str | Path,
    camera: str | Path | Camera | None = None,
    settings: ReplayingSettings,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> ReplayResult:
    """Render a synthetic image for each real one of a recording, with the same stamp and name.

    Without images in the recording, frames are made at the camera's rate. A stopped run keeps its finished frames; the
    same call then goes on.

    Args:
        recording: a recording with poses, or a text file of poses.
        out: the recording to write: x.mcap, x.db3, or a folder.
        scene: a scene's file, or the name of one that comes with simjudge.
        camera: a camera's file, the name of one that comes with simjudge, or a camera. None: `sensors` alone are
            replayed, without frames.
        settings: all settings at once; keywords change single ones.
        log: receives lines that a person should read.
        progress: opens a progress bar.

    Raises:
        UsageError: options do not go together, or a name is unknown.
        SimjudgeError: something cannot be read or written, poses do not suit the frames, or `out` exists.
    """
    target = output_path(Path(out))
    check_output_and_record(target, replay_record_path)
    options = settings.as_settings(CameraPathOptions)
    limits, alignment, offset = options.limits, options.alignment, options.offset
    world = read_replay_scene(str(scene), settings.cones, settings.cone_kinds, alignment, settings.seed)
    options = replace(options, vehicle=carrying_vehicle(settings.vehicle, settings.mount, world))
    if camera is None:
        if settings.sensors is None:
            raise UsageError("--camera: say what sees the scene, or --sensors what else is replayed")
        alone = SensorReplayOptions(
            settings.sensors, settings.cloud_topic, settings.smoothing, options, settings.engine
        )
        count, losses = replay_sensors(Path(recording), target, world, alone, log, progress)
        return ReplayResult(target, replay_record_path(target), count, losses, "readings")
    seen_by = camera if isinstance(camera, Camera) else read_camera(camera)
    found = read_camera_path(recording, options, seen_by)
    source, path, where = found.source, found.path, found.mounted
    plan = ReplayPlan(source, path, seen_by, Labelling(settings.min_size, settings.min_visible), settings.seed)
    log(f"{len(plan)} frames; poses from {source.poses_from}; camera {seen_by.name} {where}")
    # Contexts are patches of pixels: boxes in images of another size do not compare.
    if source.sizes is not None and source.sizes != {seen_by.lens.size}:
        real = ", ".join(f"{width}x{height}" for width, height in sorted(source.sizes))
        width, height = seen_by.lens.size
        log(
            f"the real pictures are {real}, those of camera {seen_by.name} {width}x{height}: their boxes do not compare"
        )
    cones = None if settings.cones is None else str(settings.cones)
    given = {"bag": str(recording), "cones": cones, "align": settings.align, "mount": where}
    carried = None
    if settings.sensors is not None:
        car = None if settings.mount is not None else read_vehicle(options.vehicle or DEFAULT_CAR)
        carried = SensorReplay(
            read_sensors(settings.sensors, places=car.places if car else None),
            body_in_scene(source.trajectory, alignment, offset),
            limits,
            car,
            settings.seed,
            settings.smoothing,
            recorded_cloud_stamps(Path(recording), settings.cloud_topic, source.losses),
            int(source.stamp[0]),
        )
        given |= {"sensors": str(settings.sensors), "sensors_sha256": hash_value([carried.specs, settings.smoothing])}
    renderer = make_engine(settings.engine, world)
    try:
        about = describe_replay(plan, renderer, given)
        _log_notes(world, plan, frames_without_floor(renderer, plan), log)
        store = FrameStore.beside(target, about)
        with store.kept_if_stopped(len(plan), log), progress("replaying") as advance:
            render_missing(renderer, plan, store, advance)
            lost = Losses()
            read = None
            if carried is not None:
                events = list(carried.events(renderer, lost))
                recorded = body_in_scene(source.trajectory, Pose(), offset)
                placed = SensorTransforms(carried.specs, recorded, recorded.frame_id or FIXED_FRAME)
                read = MessagesByFrame(events, carried.specs, source.stamp, world.class_names, placed)
            lost.extend(write_replay(plan, store, world.class_names, target, about, read))
    finally:
        renderer.close()
    store.remove()
    losses = Losses()
    losses.extend(source.losses)
    losses.extend(lost)
    return ReplayResult(target, replay_record_path(target), len(plan), losses)


def render_missing(engine: Engine, plan: ReplayPlan, store: FrameStore, advance: Advance) -> None:
    """Render the frames that the store lacks, each developed and written while the next one is rendered."""
    capture = Capture(engine, plan.camera, plan.labelling, plan.seed)
    bodies_at = scripted_bodies(engine.scene, int(plan.source.stamp[0]))

    def observe(index: int) -> Callable[[], None]:
        name, stamp = plan.source.frame_name[index], int(plan.source.stamp[index])
        raw = capture.observe(
            exposure_at(plan.camera, stamp, name, lambda stamps: plan.path.in_scene(stamps, name), bodies_at)
        )

        def finish() -> None:
            if plan.camera.auto_exposure is not None:
                capture.metered = metered_before(store, index)
            frame = capture.finish(raw)
            store.add(index, frame.stored_image(), frame.truth.objects, describe_metering(frame), frame.depth)

        return finish

    store.fill(range(len(plan)), observe, advance)


def _log_notes(scene: Scene, plan: ReplayPlan, frames: list[int], log: Log) -> None:
    """Cameras at poses that were not brought into the scene see walls from behind, or nothing."""
    log_standing_cars(scene, log)
    if not frames:
        return
    name, stamp = plan.source.frame_name[frames[0]], int(plan.source.stamp[frames[0]])
    x, y, z = plan.path.in_scene([stamp], name)[0].position
    log(
        f"no floor is below the camera in {len(frames)} of {len(plan)} frames, the first: {name}, at"
        f" x {x:.2f}, y {y:.2f}, z {z:.2f}: bring the poses into the scene with --align"
    )
