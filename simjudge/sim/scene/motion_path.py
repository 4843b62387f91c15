"""The path of a thing that moves by a script: its pose as a function of simulated time and of nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simjudge.core.display import ShortRepr
from simjudge.geometry.poses import Pose

if TYPE_CHECKING:
    from simjudge.geometry.keyframes import Keyframes


@dataclass(frozen=True, eq=False, repr=False)
class MotionPath(ShortRepr):
    """Poses along a path, by time. Before its first keyframe a thing stands there, after the last one as well.

    Attributes:
        keyframes: of one body, in the world, seconds since the start of the scene.
        closed: whether the path begins again when it is over, and was never anything else before.
    """

    keyframes: Keyframes
    closed: bool = False

    @property
    def duration(self) -> float:
        """Seconds from the first keyframe to the last."""
        return float(self.keyframes.time[-1] - self.keyframes.time[0])

    def pose_at(self, seconds: float) -> Pose:
        """Where the thing is."""
        if self.closed:
            first = float(self.keyframes.time[0])
            seconds = first + (seconds - first) % self.duration
        return self.keyframes.pose_at(seconds)
