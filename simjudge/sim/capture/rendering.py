"""Labelled frames of a scene, by the thousand, by several processes: finished ones are kept, a stopped run goes on."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from multiprocessing.synchronize import Event
from pathlib import Path

import cv2

from simjudge.core.errors import Advance, Log, Losses, ProgressBar, SimjudgeError, UsageError, no_log, no_progress
from simjudge.core.files import check_output_and_record, output_path
from simjudge.core.installed import DEFAULT_CAMERA
from simjudge.core.processes import isolated_workers, serve_parent
from simjudge.core.settings import takes_setting_keywords
from simjudge.data.pose_text import SCENE_SEED
from simjudge.data.rosbag2.storage import STORAGE_SUFFIXES
from simjudge.sim.capture.camera_poses import (
    MOST_FRAMES,
    CarriedPoses,
    FilePoses,
    camera_mount,
    carrying_vehicle,
    choose_camera_poses,
)
from simjudge.sim.capture.capture import Capture, exposure_at, scripted_bodies
from simjudge.sim.capture.capture_settings import RenderingSettings
from simjudge.sim.capture.frame_store import FrameStore, describe_metering, metered_before
from simjudge.sim.capture.ground_truth import Labelling
from simjudge.sim.capture.render_plan import PlacedScene, RenderPlan, assign_sides, describe_rendering
from simjudge.sim.capture.render_record import render_record_path, write_rendering
from simjudge.sim.capture.sensor_record import check_rendered_sensors
from simjudge.sim.engines.registry import limit_threads
from simjudge.sim.scene.read import read_scene
from simjudge.sim.sensors.camera.camera import Camera
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera.rig import MountedCamera, read_rig, rig_path
from simjudge.sim.sensors.sensor_file import read_sensors
from simjudge.sim.sensors.sensor_messages import encode_label_png
from simjudge.sim.vehicle.other_cars import log_standing_cars
from simjudge.sim.vehicle.vehicle import DEFAULT_CAR, read_vehicle

# Frames that a job takes at once: few, so that all jobs end together; neighbours, so that placements change seldom.
_AT_ONCE = 4


def render_missing(plan: RenderPlan, placed: PlacedScene, store: FrameStore, jobs: int, advance: Advance) -> None:
    """Render the frames that the store does not have yet; finished frames stay in it, whatever happens."""
    if jobs > 1:
        _render_side_by_side(plan, store, jobs, advance)
    else:
        _render_frames(plan, placed, store, range(len(plan)), advance)


def _render_frames(
    plan: RenderPlan, placed: PlacedScene, store: FrameStore, frames: Sequence[int], advance: Advance
) -> None:
    """Render those of some frames that are missing: one is developed and written while the next one is rendered."""
    seed = plan.mounted.noise_seed(plan.seed)

    def observe(index: int) -> Callable[[], None]:
        engine = placed.engine_for(index)
        capture = Capture(engine, plan.camera, plan.labelling, seed)
        name, stamp = plan.poses.frame_name[index], plan.poses.stamp[index]
        raw = capture.observe(
            exposure_at(
                plan.camera,
                stamp,
                name,
                lambda stamps: plan.poses.at(index, stamps, engine),
                scripted_bodies(engine.scene, plan.poses.stamp[0]),
            )
        )

        def finish() -> None:
            capture.metered = metered_before(store, index) if plan.exposed_in_turn else None
            frame = capture.finish(raw)
            pose = frame.camera_pose
            about = {
                "scene_seed": raw.scene.seed,
                "camera": [*pose.position, *pose.orientation],
                "visible": frame.truth.objects.visible.round(4).tolist(),
                **describe_metering(frame),
            }
            label_images = None
            if plan.label_images:
                semantic, instance = encode_label_png(frame.labels.class_id), encode_label_png(frame.labels.instance)
                label_images = {"semantic": semantic, "instance": instance}
            store.add(index, frame.stored_image(), frame.truth.objects, about, frame.depth, label_images)

        return finish

    store.fill(frames, observe, advance)


def _render_side_by_side(plan: RenderPlan, store: FrameStore, jobs: int, advance: Advance) -> None:
    missing = [index for index in range(len(plan)) if not store.has(index)]
    parts = [missing[begin : begin + _AT_ONCE] for begin in range(0, len(missing), _AT_ONCE)]
    done = len(plan) - len(missing)
    advance(done, len(plan))
    # "spawn": a fork would inherit the locks of threads that do not run in it.
    context = get_context("spawn")
    with isolated_workers():
        stop = context.Event()
    with isolated_workers(), ProcessPoolExecutor(jobs, context, _begin_job, (plan, store, stop, jobs)) as pool:
        work = {pool.submit(_render_part, part): len(part) for part in parts}
        try:
            for future in as_completed(work):
                future.result()
                done += work[future]
                advance(done, len(plan))
        except BrokenProcessPool as error:
            raise SimjudgeError("--jobs: the system has ended a job; is there memory for so many?") from error
        finally:
            # The frame that a job is at is finished, also where the work was stopped.
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)


class _Job:
    """What a process of `_render_side_by_side` has."""

    plan: RenderPlan
    placed: PlacedScene
    store: FrameStore
    stop: Event


def _begin_job(plan: RenderPlan, store: FrameStore, stop: Event, jobs: int) -> None:
    serve_parent()
    share = max(len(os.sched_getaffinity(0)) // jobs, 1)
    cv2.setNumThreads(share)
    limit_threads(plan.engine, share)
    _Job.plan, _Job.placed, _Job.store, _Job.stop = plan, PlacedScene(plan), store, stop


def _render_part(frames: Sequence[int]) -> None:
    for index in frames:
        if not _Job.stop.is_set():
            _render_frames(_Job.plan, _Job.placed, _Job.store, [index], lambda done, total: None)  # noqa: ARG005


# Frames that see one placement of a scene's random things, where poses are random and `scenes` is not given.
_FRAMES_PER_PLACEMENT = 10


@dataclass(frozen=True)
class RenderResult:
    """What `render` wrote."""

    path: Path  # the recording, or the folder of the data set
    record_path: Path  # the JSON file that says what was done
    frames: int  # number of frames, of all cameras
    objects: int  # number of labelled objects in all frames
    # Rows of a pose file that could not be used, and what the format could not hold.
    losses: Losses = field(default_factory=Losses, repr=False)

    def __str__(self) -> str:
        return f"{self.path}: {self.frames} frames, {self.objects} objects"


@takes_setting_keywords
def render(
    scene: str | Path,
    out: str | Path,
    *,
    camera: str | Path | Camera = DEFAULT_CAMERA,
    n: int | None = None,
    settings: RenderingSettings,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> RenderResult:
    """Render labelled images of a scene through a camera.

    A stopped run keeps its finished frames; the same call then goes on, and its result is the same to the byte.

    Args:
        scene: a scene's file, or the name of one that comes with simjudge.
        out: x.mcap or x.db3 for a recording; a name without ending for the folder of a YOLO data set.
        camera: a camera's file, or a rig's for a recording; the name of one that comes with simjudge; or a camera.
        n: number of frames; None for all of a course or a file, and for 10 random ones.
        settings: all settings at once; keywords change single ones.
        log: receives lines that a person should read.
        progress: opens a progress bar.

    Raises:
        UsageError: options do not go together, or a name is unknown.
        SimjudgeError: something cannot be read or written, or `out` exists.
    """
    target = output_path(Path(out))
    if target.suffix and target.suffix not in STORAGE_SUFFIXES:
        raise UsageError(
            f"--out {target}: give x.mcap, x.db3, or a name without ending for the folder of a YOLO data set"
        )
    if (settings.valid or settings.test) and target.suffix:
        raise UsageError(f"--valid, --test: a recording has no sides; {target} would have to be a folder")
    check_output_and_record(target, render_record_path)
    seed, mount, poses, scenes = settings.seed, settings.mount, settings.poses, settings.scenes
    described = read_scene(scene, seed)
    log_standing_cars(described, log)
    vehicle = carrying_vehicle(settings.vehicle, mount, described)
    cameras = _rig_cameras(camera, vehicle, mount, target)
    seen_by = cameras[0].camera if cameras else camera if isinstance(camera, Camera) else read_camera(camera)
    mounted = cameras[0].mount.optical_frame() if cameras else camera_mount(vehicle, mount)[0]
    if poses is None:
        poses = "path" if described.area is None and described.course is not None else "random"
    camera_poses, losses = choose_camera_poses(poses, scene, seen_by, n, seed, mounted)
    if scenes is not None and not 1 <= scenes <= MOST_FRAMES:
        raise UsageError(f"--scenes {scenes}: must be 1 to {MOST_FRAMES}")
    seeds = camera_poses.scene_seeds if isinstance(camera_poses, FilePoses) else ()
    if seeds and scenes is not None:
        raise UsageError(f"--scenes {scenes}: {poses} says the placement of each pose itself (column {SCENE_SEED})")
    if scenes is None:
        by_chance = max(len(camera_poses.stamp) // _FRAMES_PER_PLACEMENT, 1) if str(poses) == "random" else 1
        scenes = len(set(seeds)) or by_chance
    car = None if mount is not None else read_vehicle(vehicle or DEFAULT_CAR)
    specs = () if settings.sensors is None else read_sensors(settings.sensors, places=car.places if car else None)
    if specs and not target.suffix:
        raise UsageError(f"--sensors: a data set has room for images alone; give --out {target}.mcap, a recording")
    check_rendered_sensors(specs, camera_poses, car)
    labelling = Labelling(settings.min_size, settings.min_visible)
    plan = RenderPlan(
        scene,
        seen_by,
        camera_poses,
        scenes,
        labelling,
        seed,
        settings.engine,
        specs,
        car,
        label_images=settings.label_images,
        scene_seeds=seeds,
    )
    return render_plans(
        _plans(plan, cameras),
        target,
        rig=bool(cameras),
        valid=settings.valid,
        test=settings.test,
        jobs=settings.jobs,
        losses=losses,
        log=log,
        progress=progress,
    )


def render_plans(  # noqa: PLR0913 - the options of the command
    plans: Sequence[RenderPlan],
    out: str | Path,
    *,
    rig: bool = False,
    valid: float = 0.0,
    test: float = 0.0,
    jobs: int = 1,
    losses: Losses | None = None,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> RenderResult:
    """Render what is planned: see `render`."""
    target, losses = output_path(Path(out)), Losses() if losses is None else losses
    check_output_and_record(target, render_record_path)
    plan = plans[0]
    jobs = _possible_jobs(jobs, plans, log)
    sides = assign_sides(plan, valid, test)
    objects, stores = 0, []
    with closing(PlacedScene(plan)) as placed, ExitStack() as stack:
        about = describe_rendering(plan, placed.engine)
        if rig:
            about["cameras"] = {plan.name: describe_rendering(plan, placed.engine)["camera"] for plan in plans}
        for camera_plan in plans:
            kept = target if not rig else target.with_name(f"{camera_plan.name.replace('/', '_')}.{target.name}")
            store = FrameStore.beside(kept, describe_rendering(camera_plan, placed.engine))
            stack.enter_context(store.kept_if_stopped(len(camera_plan), log))
            with progress(f"rendering {camera_plan.name}" if rig else "rendering") as advance:
                render_missing(camera_plan, placed, store, jobs, advance)
            objects += sum(len(store.about(index)["visible"]) for index in range(len(camera_plan)))
            stores.append(store)
        others = list(zip(plans, stores, strict=True))[1:]
        losses.extend(write_rendering(plan, placed, stores[0], target, about, sides, others))
    for store in stores:
        store.remove()
    return RenderResult(target, render_record_path(target), len(plan) * len(plans), objects, losses)


def _possible_jobs(jobs: int, plans: Sequence[RenderPlan], log: Log) -> int:
    """The number of jobs, where a camera whose images follow from one another does not make it one."""
    if jobs < 1:
        raise UsageError(f"--jobs {jobs}: must be 1 or more")
    if jobs > 1 and any(plan.exposed_in_turn for plan in plans):
        log("note: one job, for automatic exposure takes each image's from the images before it")
        return 1
    return jobs


def _rig_cameras(
    camera: str | Path | Camera, vehicle: str | Path | None, mount: str | None, out: Path
) -> tuple[MountedCamera, ...]:
    """The cameras of a rig where they sit on the car; nothing where one camera is given."""
    if isinstance(camera, Camera) or rig_path(camera) is None:
        return ()
    if mount is not None:
        raise UsageError(f"--mount: the cameras of {camera} have mounts of their own; leave it out")
    if not out.suffix:
        raise UsageError(f"--camera {camera}: a data set has the images of one camera; give --out {out}.mcap")
    cameras = read_rig(camera).mounted(read_vehicle(vehicle or DEFAULT_CAR).mounts)
    for mounted in cameras:
        if mounted.follow is not None:
            raise UsageError(f"--camera {camera}: camera {mounted.name} follows a car that drives; render has none")
    return cameras


def _plans(plan: RenderPlan, cameras: Sequence[MountedCamera]) -> list[RenderPlan]:
    """A plan for each camera of a rig; they see the same placements at the same times."""
    if not cameras:
        return [plan]
    first, *others = cameras
    made = [replace(plan, name=first.name, baseline=first.baseline)]
    for other in others:
        poses = CarriedPoses(plan.poses, other.mount.optical_frame())
        made.append(
            replace(plan, camera=other.camera, poses=poses, sensors=(), name=other.name, baseline=other.baseline)
        )
    return made
