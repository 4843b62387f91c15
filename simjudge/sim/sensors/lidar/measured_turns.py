"""Turns of a real lidar as they were recorded: points with what is known of their rings and times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.data.lidar_points import LATE_POINTS, RINGS, LidarPoints, late_points
from simjudge.geometry.poses import Pose


@dataclass(frozen=True, eq=False, repr=False)
class MeasuredTurn(ShortRepr):
    """One turn, in the order of the file.

    Attributes:
        name: the file, or topic and stamp.
        points: (N, 3), metres, in the sensor's frame at each point's own instant.
        rounding: (N,), radians, the largest angle by which the file's rounding of x, y and z turns a point.
        ring: int64 (N,), as the device counts them; None where the file does not say.
        time: (N,), seconds from any instant; None where the file does not say.
    """

    name: str
    points: FloatArray
    rounding: FloatArray
    ring: npt.NDArray[np.int64] | None = None
    time: FloatArray | None = None

    def __len__(self) -> int:
        """The number of points."""
        return len(self.points)

    @property
    def range(self) -> FloatArray:
        """(N,), metres."""
        length: FloatArray = np.linalg.norm(self.points, axis=1)
        return length

    @property
    def azimuth(self) -> FloatArray:
        """(N,), radians, counter-clockwise from x."""
        angle: FloatArray = np.arctan2(self.points[:, 1], self.points[:, 0])
        return angle

    @property
    def elevation(self) -> FloatArray:
        """(N,), radians, up from the plane of x and y."""
        angle: FloatArray = np.arctan2(self.points[:, 2], np.hypot(self.points[:, 0], self.points[:, 1]))
        return angle


@dataclass(frozen=True)
class MeasuredLidar:
    """What was recorded of one device.

    Attributes:
        mount: where it sits on the car, if the file says it.
    """

    name: str
    turns: Sequence[MeasuredTurn]
    mount: Pose | None = None
    notes: list[str] = field(default_factory=list)
    losses: Losses = field(default_factory=Losses)


class TurnBuilder:
    """Makes turns of the columns of files, and counts what is left out."""

    def __init__(self, name: str) -> None:
        """Begin without turns."""
        self.lidar = MeasuredLidar(name, [])
        self._turns: list[MeasuredTurn] = []
        self._empty = 0

    def add(self, name: str, points: LidarPoints) -> None:
        """Add a turn whose points are in the sensor's frame."""
        self._empty += points.empty
        if not len(points):
            return
        if points.ring is None:
            self.note(f"no ring field ({', '.join(RINGS)}): rings are found by elevation")
        if points.time is None:
            self.note(f"{points.time_trouble}: no firing times can be had")
        if points.time_note:
            self.note(points.time_note)
        rounding = rounding_angle(points.stored, np.zeros(3))
        self.add_turn(MeasuredTurn(name, points.stored.astype(np.float64), rounding, points.ring, points.time))

    def add_turn(self, turn: MeasuredTurn) -> None:
        """Add a turn; points whose time is before that of an earlier point of their ring are left out and counted."""
        if turn.time is not None and turn.ring is not None:
            late = late_points(turn.ring, turn.time)
            where = f"{turn.name}: point {int(np.argmax(late)) + 1}"
            self.lidar.losses.add(LATE_POINTS, where, int(late.sum()))
            if late.any():
                kept = ~late
                turn = MeasuredTurn(
                    turn.name, turn.points[kept], turn.rounding[kept], turn.ring[kept], turn.time[kept]
                )
        self._turns.append(turn)

    def build(self, where: str) -> MeasuredLidar:
        """Hand over what was added."""
        if not self._turns:
            raise SimjudgeError(f"{where}: holds no point with a return{self.lidar.losses.reason}")
        if self._empty:
            self.note(f"{self._empty} beams without a return (NaN, or 0 0 0)")
        timed = [turn for turn in self._turns if turn.time is not None]
        if 0 < len(timed) < len(self._turns):
            self.lidar.losses.add("turns without usable times, beside others that have them", where,
                                  len(self._turns) - len(timed))  # fmt: skip
        about = self.lidar
        return MeasuredLidar(about.name, tuple(timed or self._turns), about.mount, about.notes, about.losses)

    def note(self, line: str) -> None:
        """Say something once."""
        if line not in self.lidar.notes:
            self.lidar.notes.append(line)


def rounding_angle(stored: npt.NDArray[np.generic], origin: FloatArray) -> FloatArray:
    """How far the rounding of x, y and z can turn a point, seen from the sensor.

    Args:
        stored: (N, 3), metres, in the type in which the file has them.
        origin: (3,), the sensor in the same frame.

    Returns:
        (N,), radians: the largest angle over the box of half a step of that type in each coordinate.
    """
    half = np.spacing(np.abs(stored)).astype(np.float64) / 2 if stored.dtype.kind == "f" else np.full(stored.shape, 0.5)
    ray = np.asarray(stored, np.float64) - origin
    length = np.maximum(np.linalg.norm(ray, axis=1, keepdims=True), 1e-9)
    ray = ray / length
    largest = np.zeros(len(ray))
    for sign in ((1, 1, 1), (1, 1, -1), (1, -1, 1), (1, -1, -1)):
        corner = half * sign
        across = corner - np.einsum("ni,ni->n", corner, ray)[:, None] * ray
        largest = np.maximum(largest, np.linalg.norm(across, axis=1))
    angle: FloatArray = largest / length[:, 0]
    return angle
