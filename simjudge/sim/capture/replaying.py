"""Replay: one synthetic frame for each real one, seen from where the real camera was at that time.

The camera moves along the recorded poses while it is exposed. The scene starts with the first frame: what follows a
path moves from then on, everything else stands where the scene has it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from simjudge.core.digest import hash_value
from simjudge.core.errors import Losses, UsageError
from simjudge.core.files import check_output, output_path
from simjudge.core.progress import Advance, Log, ProgressBar, no_log, no_progress
from simjudge.core.settings import takes_setting_keywords
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.camera_path import DEFAULT_CAR
from simjudge.sim.capture.capture import Capture
from simjudge.sim.capture.capture_settings import ReplayingSettings
from simjudge.sim.capture.exposure import exposure_at, scripted_bodies
from simjudge.sim.capture.frame_store import FrameStore
from simjudge.sim.capture.kept_metering import describe_metering, metered_before
from simjudge.sim.capture.label_rules import Labelling
from simjudge.sim.capture.recorded_camera_path import CameraPathOptions, read_camera_path
from simjudge.sim.capture.replay_output import FIXED_FRAME, replay_record_path, write_replay
from simjudge.sim.capture.replay_plan import ReplayPlan, describe_replay, frames_without_floor
from simjudge.sim.capture.replay_sensors import (
    MessagesByFrame,
    SensorReplay,
    SensorTransforms,
    body_in_scene,
    recorded_cloud_stamps,
)
from simjudge.sim.capture.replay_source import ReplaySource
from simjudge.sim.capture.sensor_replaying import SensorReplayOptions, replay_sensors
from simjudge.sim.engines.contract import Engine
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.scene.measured_cones import read_replay_scene
from simjudge.sim.sensors.camera.camera import Camera
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.sensor_file import read_sensors
from simjudge.sim.vehicle.vehicle_file import read_vehicle


@dataclass(frozen=True)
class ReplayResult:
    """What `replay` wrote.

    Attributes:
        record_path: the JSON file that says what was done.
        frames: number of frames; without a camera of the sensors' readings.
        losses: frames and poses of the source that could not be used, and what the recording could not hold.
        unit: what `frames` counts.
    """

    path: Path
    record_path: Path
    frames: int
    losses: Losses = field(default_factory=Losses, repr=False)
    unit: str = "frames"

    def __str__(self) -> str:
        """One line for people."""
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
    """Render a synthetic frame for each real one of a recording, with its stamp and name.

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
    check_output(target)
    options = settings.as_settings(CameraPathOptions)
    limits, alignment, offset = options.limits, options.alignment, options.offset
    world = read_replay_scene(str(scene), settings.cones, settings.cone_kinds, alignment, settings.seed)
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
    _log_other_sizes(source, seen_by, log)
    cones = None if settings.cones is None else str(settings.cones)
    given = {"bag": str(recording), "cones": cones, "align": settings.align, "mount": where}
    carried = None
    if settings.sensors is not None:
        carried = SensorReplay(
            read_sensors(settings.sensors),
            body_in_scene(source.trajectory, alignment, offset),
            limits,
            None if settings.mount is not None else read_vehicle(settings.vehicle or DEFAULT_CAR),
            settings.seed,
            settings.smoothing,
            recorded_cloud_stamps(Path(recording), settings.cloud_topic, source.losses),
            int(source.stamp[0]),
        )
        given |= {
            "sensors": str(settings.sensors), "sensors_sha256": hash_value([carried.specs, settings.smoothing])
        }  # fmt: skip
    renderer = make_engine(settings.engine, world)
    try:
        about = describe_replay(plan, renderer, given)
        _log_missing_floor(plan, frames_without_floor(renderer, plan), log)
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
    """Render the frames that the store does not have yet; finished frames stay in it, whatever happens.

    A frame is developed and written while the next one is rendered.

    Args:
        advance: receives how many frames are done, and how many there are.
    """
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


def _log_other_sizes(source: ReplaySource, camera: Camera, log: Log) -> None:
    """Contexts are patches of pixels: boxes in images of another size do not compare."""
    if source.sizes is not None and source.sizes != {camera.lens.size}:
        real = ", ".join(f"{width}x{height}" for width, height in sorted(source.sizes))
        width, height = camera.lens.size
        log(f"the real pictures are {real}, those of camera {camera.name} {width}x{height}: their boxes do not compare")


def _log_missing_floor(plan: ReplayPlan, frames: list[int], log: Log) -> None:
    """Cameras at poses that were not brought into the scene see walls from behind, or nothing."""
    if not frames:
        return
    name, stamp = plan.source.frame_name[frames[0]], int(plan.source.stamp[frames[0]])
    x, y, z = plan.path.in_scene([stamp], name)[0].position
    log(
        f"no floor is below the camera in {len(frames)} of {len(plan)} frames, the first: {name}, at"
        f" x {x:.2f}, y {y:.2f}, z {z:.2f}: bring the poses into the scene with --align"
    )
