"""Camera poses of frames that were rendered before, so that they can be rendered again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simjudge.core.errors import SimjudgeError
from simjudge.geometry.poses import Pose, Trajectory
from simjudge.geometry.trajectories import TrajectoryInterpolator
from simjudge.sim.engines.contract import Engine


@dataclass(frozen=True)
class KnownPoses:
    """Poses of the optical frame that are known at one moment of each frame.

    Attributes:
        name: of what the poses were read from.
        stamp: start of each exposure, nanoseconds.
        cameras: poses of the optical frame in the world, one for each frame.
        offset: nanoseconds from a frame's stamp to the moment of its pose.
        moving: whether the camera goes on from frame to frame; else it stands still for each.
    """

    name: str
    frame_name: tuple[str, ...]
    stamp: tuple[int, ...]
    cameras: tuple[Pose, ...]
    offset: int = 0
    moving: bool = False

    def __post_init__(self) -> None:
        """Check that there is a pose and a stamp for each frame."""
        if not len(self.frame_name) == len(self.stamp) == len(self.cameras) > 0:
            raise SimjudgeError(f"{self.name}: one pose and one stamp for each frame are needed")

    @property
    def mount(self) -> Pose:
        """The poses are those of the optical frame itself."""
        return Pose()

    @property
    def moves(self) -> bool:
        """Whether the camera is known to move while any frame is exposed."""
        path = self._path
        if path is None:
            return False
        middle = (path.stamp[:-1] + path.stamp[1:]) // 2
        return not bool(self._between.in_gap(middle).all())

    def at(self, index: int, stamps: Sequence[int], engine: Engine) -> list[Pose]:
        """The optical frame at times during the exposure of a frame: straight on between the known poses.

        Args:
            stamps: times from the frame's stamp on, nanoseconds.
        """
        del engine
        path = self._path
        still = [self.cameras[index]] * len(stamps)
        if path is None or len(set(stamps)) == 1:
            return still
        # The first exposure begins before the first pose is known, the last one ends after the last.
        first, last = (int(path.stamp[end]) for end in (0, -1))
        inside = np.clip(np.asarray(stamps, np.int64), first, last)
        if self._between.in_gap(inside).any() or len(self._between.jumps(int(inside.min()), int(inside.max()))):
            return still
        return list(self._between.poses(inside))

    def path(self) -> Trajectory | None:
        """The poses with their times; None where each frame stands by itself."""
        return self._path

    @cached_property
    def _path(self) -> Trajectory | None:
        if not self.moving or len(self.stamp) < 2:
            return None
        times = np.array(self.stamp, np.int64) + self.offset
        rows = np.unique(times, return_index=True)[1]
        position = np.array([self.cameras[row].position for row in rows])
        orientation = np.array([self.cameras[row].orientation for row in rows])
        return Trajectory(self.name, "", "", times[rows], position, orientation)

    @cached_property
    def _between(self) -> TrajectoryInterpolator:
        path = self._path
        if path is None:
            raise SimjudgeError(f"{self.name}: the camera stands still")
        return TrajectoryInterpolator(path)
