"""From a frame's exposure to the times of its rays, for cameras that give each ray a time of its own."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from simjudge.core.errors import SimjudgeError
from simjudge.geometry.keyframes import Keyframes
from simjudge.geometry.poses import Pose, interpolate_pose
from simjudge.sim.capture.exposure import FrameExposure
from simjudge.sim.engines.contract import Engine, Poses
from simjudge.sim.engines.ray_times import EngineWithRayTimes, TimedExposure
from simjudge.sim.sensors.camera.camera import Camera
from simjudge.sim.sensors.camera.chain import frame_seed

_STANDS = 1e-6
"""A body that moves by less in an exposure, metres and parts of a quaternion, stands: resting bodies tremble."""


def timed_exposure(camera: Camera, exposure: FrameExposure, seed: int = 0) -> TimedExposure | None:
    """How the rays of a frame are spread over time.

    Args:
        seed: of the camera; with the frame's name it sets the rays' times.

    Returns:
        The timed exposure; None where all rays see the same, because nothing moves or the camera wants it so.
    """
    states = exposure.scene_states
    if not camera.has_ray_times or all(state == states[0] for state in states):
        return None
    times = np.linspace(0, camera.open_time, len(states))
    return TimedExposure(
        camera=Keyframes.build(times.tolist(), [[state.camera] for state in states]),
        bodies=_bodies_of_parts([state.bodies for state in states]),
        exposure_time=camera.exposure_time,
        line_time=camera.line_time,
        seed=frame_seed(seed, exposure.frame_name),
    )


def engine_with_ray_times(engine: Engine, camera: Camera) -> EngineWithRayTimes:
    """The engine, if its rays can have times of their own."""
    if isinstance(engine, EngineWithRayTimes):
        return engine
    field = "line_time" if camera.line_time else "motion_blur: rays"
    raise SimjudgeError(
        f"{camera.path}: {field}: engine {engine.name} takes all of an image at one instant; take engine default, or"
        " motion_blur: moments without line_time"
    )


def _bodies_of_parts(bodies: Sequence[Poses]) -> tuple[Poses, ...]:
    """Where all bodies are in the middle of each part between two keyframes; one part where all stand."""
    first = bodies[0]
    moving = [name for name in first if any(_moves(first[name], each[name]) for each in bodies[1:])]
    if not moving:
        return (dict(bodies[len(bodies) // 2]),)
    return tuple(
        {**first, **{name: interpolate_pose(one[name], other[name], 0.5) for name in moving}}
        for one, other in pairwise(bodies)
    )


def _moves(one: Pose, other: Pose) -> bool:
    if one == other:
        return False
    turn = min(
        max(abs(a - sign * b) for a, b in zip(one.orientation, other.orientation, strict=True)) for sign in (1, -1)
    )
    way = max(abs(a - b) for a, b in zip(one.position, other.position, strict=True))
    return max(way, turn) > _STANDS
