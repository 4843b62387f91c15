"""The camera poses that a word or a file asks for: `random`, `path`, or a text file of poses."""

from __future__ import annotations

import logging
from pathlib import Path

from simjudge.core.errors import Losses, UsageError
from simjudge.data.pose_text import SUFFIXES, read_pose_text, read_scene_seeds
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.camera_poses import MOST_FRAMES, CameraPoses, CoursePoses, FilePoses, RandomPoses
from simjudge.sim.scene.ground import Ground
from simjudge.sim.scene.read import read_scene
from simjudge.sim.sensors.camera.camera import Camera

log = logging.getLogger(__name__)

RANDOM_FRAMES = 10
"""Random poses of whoever does not say how many."""


def choose_camera_poses(
    poses: str | Path,
    scene: str | Path,
    camera: Camera,
    count: int | None,
    seed: int,
    mount: Pose,
) -> tuple[CameraPoses, Losses]:
    """The camera poses that a word or a file asks for.

    Args:
        count: number of frames; None for all of a course or a file, and for RANDOM_FRAMES random ones.

    Returns:
        The poses, and the rows of a file that could not be used.
    """
    if count is not None and not 1 <= count <= MOST_FRAMES:
        raise UsageError(f"-n {count}: must be 1 to {MOST_FRAMES} frames")
    if str(poses) == "random":
        field = camera.lens.horizontal_field()
        return RandomPoses(Path(scene).stem, count or RANDOM_FRAMES, camera.rate, mount, field, seed), Losses()
    if str(poses) == "path":
        described = read_scene(scene, seed)
        if described.course is None:
            raise UsageError(
                f"--poses path: scene {scene} has no course to drive along; a path in its placements is one"
            )
        ground = Ground.of(described.things)
        return CoursePoses(described.course, mount, camera.rate, count, ground=ground), Losses()
    path = Path(poses)
    if not path.is_file() or path.suffix not in SUFFIXES:
        raise UsageError(f"--poses {poses}: random, path, or a file ({', '.join(SUFFIXES)}) is needed")
    trajectory, lost = read_pose_text(path, camera.rate)
    if not trajectory.is_timed:
        log.warning("%s: its poses have no stamps: frames are numbered at the camera's %g Hz, and the camera stands"
                    " still for each", path, camera.rate)  # fmt: skip
    return FilePoses.of(trajectory, mount, count, read_scene_seeds(path)), lost
