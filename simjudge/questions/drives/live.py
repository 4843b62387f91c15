"""A drive that is going on, compared with drives of before: the same numbers as of its recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.data.drive_logs import LOCK, DriveCommands, DriveLog, assemble_drive
from simjudge.data.rosbag2.storage import format_seconds
from simjudge.geometry.poses import Trajectory
from simjudge.geometry.trajectories import clean_trajectory
from simjudge.questions.drives.comparison import DriveComparison, compare_drive_sets
from simjudge.questions.drives.settings import DriveComparisonSettings

NAME = "live drive"


@dataclass
class _DriveRows:
    """What came of one drive, a row each message."""

    stamp: list[int] = field(default_factory=list)
    pose: list[tuple[float, ...]] = field(default_factory=list)
    speed: dict[int, float] = field(default_factory=dict)
    command: list[tuple[int, float, float]] = field(default_factory=list)


class LiveDrives:
    """Poses and commands as they come. Where their stamps jump back another drive begins, as in a looped recording."""

    def __init__(self, jump_ns: int = 1_000_000_000, unit: str = LOCK) -> None:
        """Hold nothing yet.

        Args:
            jump_ns: nanoseconds that a pose must lie before the newest one for another drive to begin.
        """
        self.poses = self.commands = 0
        self._jump_ns, self._unit = jump_ns, unit
        self._drives = [_DriveRows()]
        self._newest: int | None = None

    def add_pose(self, stamp: int, pose: tuple[float, ...], speed: float) -> None:
        """Take a pose of the car.

        Args:
            stamp: nanoseconds.
            pose: x, y, z in metres, and the quaternion x, y, z, w.
            speed: along the car, m/s.
        """
        self.poses += 1
        if self._newest is not None and stamp < self._newest - self._jump_ns:
            self._drives.append(_DriveRows())
            self._newest = None
        self._newest = stamp if self._newest is None else max(stamp, self._newest)
        rows = self._drives[-1]
        rows.stamp.append(stamp)
        rows.pose.append(pose)
        rows.speed[stamp] = speed

    def add_command(self, stamp: int, steering: float, throttle: float) -> None:
        """Take a command of the driver.

        Args:
            stamp: nanoseconds.
            throttle: 0 to 1; NaN where nobody says it.
        """
        self.commands += 1
        self._drives[-1].command.append((stamp, steering, throttle))

    def logs(self) -> list[DriveLog]:
        """The drives so far that hold two poses at least."""
        found = [_drive_log(rows, NAME if n == 0 else f"{NAME} {n + 1}", self._unit)
                 for n, rows in enumerate(self._drives)]  # fmt: skip
        return [log for log in found if log is not None]


def compare_live(
    reference: Sequence[DriveLog], live: Sequence[DriveLog], settings: DriveComparisonSettings, *, live_is_real: bool,
    sure: bool,
) -> DriveComparison:  # fmt: skip
    """Compare live drives with a reference.

    Args:
        live_is_real: the live drives are real and the reference is simulated; else the other way round.
    """
    sides = (live, reference) if live_is_real else (reference, live)
    return compare_drive_sets(*sides, settings if sure else replace(settings, draws=0))


def _drive_log(rows: _DriveRows, name: str, unit: str) -> DriveLog | None:
    losses = Losses()
    if not rows.stamp:
        return None
    pose = np.array(rows.pose, np.float64)
    blank = Trajectory(name, "", "", np.array(rows.stamp, np.int64), pose[:, :3], pose[:, 3:])
    try:
        path = clean_trajectory(blank, lambda row: f"{name} at {format_seconds(rows.stamp[row])}", losses)
    except SimjudgeError:
        return None
    return assemble_drive(name, path, rows.speed, DriveCommands(rows.command, unit), losses) if len(path) > 1 else None
