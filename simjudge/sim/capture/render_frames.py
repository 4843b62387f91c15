"""The frames of a rendering, one after another or by several processes side by side."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from multiprocessing.synchronize import Event

import cv2

from simjudge.core.errors import SimjudgeError
from simjudge.core.processes import serve_parent
from simjudge.core.progress import Advance
from simjudge.sim.capture.capture import Capture
from simjudge.sim.capture.exposure import exposure_at, scripted_bodies
from simjudge.sim.capture.frame_store import FrameStore
from simjudge.sim.capture.kept_metering import describe_metering, metered_before
from simjudge.sim.capture.render_plan import PlacedScene, RenderPlan
from simjudge.sim.engines.registry import limit_threads
from simjudge.sim.sensors.camera.label_images import encode_label_png

_AT_ONCE = 4
"""Frames that a job takes at once: few, so that all jobs end together; neighbours, so that placements change seldom."""


def render_missing(plan: RenderPlan, placed: PlacedScene, store: FrameStore, jobs: int, advance: Advance) -> None:
    """Render the frames that the store does not have yet; finished frames stay in it, whatever happens.

    Args:
        advance: receives how many frames are done, and how many there are.
    """
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
    """Render the frames that are missing in several processes."""
    missing = [index for index in range(len(plan)) if not store.has(index)]
    parts = [missing[begin : begin + _AT_ONCE] for begin in range(0, len(missing), _AT_ONCE)]
    done = len(plan) - len(missing)
    advance(done, len(plan))
    # "spawn": a fork would inherit the locks of threads that do not run in it.
    context = get_context("spawn")
    stop = context.Event()
    with ProcessPoolExecutor(jobs, context, _begin_job, (plan, store, stop, jobs)) as pool:
        work = {pool.submit(_render_part, part): len(part) for part in parts}
        try:
            for each in as_completed(work):
                each.result()
                done += work[each]
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
