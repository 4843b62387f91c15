"""What a replay consists of: frames and poses of a recording, the camera and its path through the scene."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simjudge.core.digest import hash_value
from simjudge.core.installed import version
from simjudge.sim.capture.camera_path import CameraPath
from simjudge.sim.capture.label_rules import Labelling
from simjudge.sim.capture.replay_source import ReplaySource
from simjudge.sim.engines.contract import Engine
from simjudge.sim.sensors.camera.camera import Camera
from simjudge.sim.sensors.camera.shutter import exposure_stamps


@dataclass(frozen=True)
class ReplayPlan:
    """What is replayed.

    Attributes:
        path: the camera's path through the scene.
        camera: the camera that sees the scene.
    """

    source: ReplaySource
    path: CameraPath
    camera: Camera
    labelling: Labelling = field(default_factory=Labelling)
    seed: int = 0

    def __len__(self) -> int:
        """The number of frames."""
        return len(self.source.frame_name)


def exposure_span(camera: Camera) -> tuple[int, int]:
    """Nanoseconds before and after its stamp for which a frame needs poses."""
    return 0, exposure_stamps(camera, 0)[-1]


def frames_without_floor(engine: Engine, plan: ReplayPlan) -> list[int]:
    """Frames with nothing of the scene below the camera: it is outside the scene's floor, or beneath it."""
    names, stamps = plan.source.frame_name, plan.source.stamp.tolist()
    poses = [plan.path.in_scene([stamp], name)[0] for name, stamp in zip(names, stamps, strict=True)]
    down = np.tile([0.0, 0.0, -1.0], (len(poses), 1))
    hits = engine.cast_rays(np.array([pose.position for pose in poses]), down)
    return [int(index) for index in np.flatnonzero(hits.thing < 0)]


def describe_replay(plan: ReplayPlan, engine: Engine, given: Mapping[str, str | None]) -> dict[str, Any]:
    """All that the frames depend on, as JSON has it."""
    source, path, camera, scene = plan.source, plan.path, plan.camera, engine.scene
    limits = path.body.limits
    return {
        "version": version(),
        **given,
        "poses": source.poses_from,
        "time_offset": path.offset,
        "frames": {"count": len(plan), "sha256": _camera_path_digest(plan)},
        "limits": {"max_gap": limits.max_gap, "max_speed": limits.max_speed, "max_turn": limits.max_turn},
        "pose_noise": None if path.noise is None else {"angle": path.noise.angle, "position": path.noise.position},
        "scene": {"name": scene.name, "path": str(scene.path), "seed": scene.seed, "sha256": hash_value(scene)},
        "camera": {"name": camera.name, "path": str(camera.path), "sha256": hash_value(camera)},
        "labelling": {"min_size": plan.labelling.min_size, "min_visible": plan.labelling.min_visible},
        "engine": {"name": engine.name, "variant": engine.variant},
        "seed": plan.seed,
    }


def _camera_path_digest(plan: ReplayPlan) -> str:
    """A fingerprint of the frames' names and stamps, and of where the camera is in each."""
    names, stamps = list(plan.source.frame_name), plan.source.stamp
    poses = [
        [*pose.position, *pose.orientation]
        for name, stamp in zip(names, stamps.tolist(), strict=True)
        for pose in plan.path.in_scene(exposure_stamps(plan.camera, stamp), name)
    ]
    return hash_value([names, stamps, np.array(poses).round(12)])
