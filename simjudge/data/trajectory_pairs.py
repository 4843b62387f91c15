"""Trajectories of an estimator beside the truth: of text files (TUM, KITTI, EuRoC) and of topics in recordings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.data.pose_text import SUFFIXES, read_pose_text
from simjudge.data.rosbag2.recorded_poses import read_poses
from simjudge.data.rosbag2.storage import is_recording
from simjudge.geometry.poses import Trajectory

PoseSource = str | Path | Trajectory
TrajectorySource = str | Path | Sequence[PoseSource]
_BETWEEN = ","
_FORMS = "TRUTH,ESTIMATE (two files of poses or recordings), a recording that holds both, or a folder with truth.* and"
_FORMS += " estimate.*"


@dataclass(frozen=True)
class TrajectoryPair:
    """One run of an estimator."""

    name: str
    truth: Trajectory
    estimate: Trajectory
    losses: Losses = field(default_factory=Losses)  # rows and messages that were left out

    @property
    def is_timed(self) -> bool:
        """Whether stamps are times on both sides."""
        return self.truth.is_timed and self.estimate.is_timed


@dataclass(frozen=True)
class PoseTopics:
    """Where recordings hold poses: a topic, or /tf:PARENT.CHILD; None for the only one."""

    truth: str | None = None
    estimate: str | None = None


def read_trajectory(source: PoseSource, topic: str | None = None, rate: float = 10.0) -> tuple[Trajectory, Losses]:
    """Read a trajectory from a file of poses or from a recording (rate: Hz of rows without stamps)."""
    if isinstance(source, Trajectory):
        return source, Losses()
    path = Path(source)
    if not path.exists():
        raise SimjudgeError(f"{path}: does not exist; give a file of poses ({', '.join(SUFFIXES)}) or a recording")
    if not is_recording(path):
        return read_pose_text(path, rate)
    name, _, frames = (topic or "").partition(":")
    parent, _, child = frames.partition(".")
    found = read_poses(path, name or None, parent or None, child or None)
    return found.trajectory, found.losses


def read_trajectory_pair(source: TrajectorySource, topics: PoseTopics, rate: float) -> TrajectoryPair:
    """Read the truth and the estimate of one run.

    `source`: TRUTH,ESTIMATE as text or a pair; a recording that holds both; or a folder with truth.* and estimate.*.
    """
    truth, estimate = _both(source, topics)
    read = [read_trajectory(one, topic, rate) for one, topic in ((truth, topics.truth), (estimate, topics.estimate))]
    losses = Losses()
    for _, lost in read:
        losses.extend(lost)
    (first, _), (second, _) = read
    if first.is_timed != second.is_timed and len(first) == len(second):
        # KITTI's estimates are rows without stamps, one for each row of the truth.
        timed, other = (first, second) if first.is_timed else (second, first)
        other = Trajectory(
            other.name, other.frame_id, other.child_frame_id, timed.stamp, other.position, other.orientation
        )
        first, second = (timed, other) if first.is_timed else (other, timed)
    elif first.is_timed != second.is_timed:
        raise SimjudgeError(
            f"{first.name} and {second.name}: one has stamps and the other has none, and they hold {len(first)} and"
            f" {len(second)} poses; put times.txt beside the one without, with the seconds of each pose"
        )
    return TrajectoryPair(_name(source, estimate), first, second, losses)


def _both(source: TrajectorySource, topics: PoseTopics) -> tuple[PoseSource, PoseSource]:
    if not isinstance(source, str | Path):
        if len(source) != 2:
            raise UsageError(f"a run of an estimator: a pair (truth, estimate) is needed, not {len(source)} things")
        return source[0], source[1]
    text = str(source)
    if not Path(text).exists() and _BETWEEN in text:
        truth, _, estimate = text.partition(_BETWEEN)
        return truth, estimate
    path = Path(text)
    if path.is_dir() and not is_recording(path):
        return _file(path, "truth"), _file(path, "estimate")
    if path.exists() and not is_recording(path):
        raise UsageError(f"{path}: is the poses of one trajectory; write {_FORMS}")
    if not path.exists():
        raise SimjudgeError(f"{path}: does not exist; write {_FORMS}")
    if topics.truth is None or topics.estimate is None:
        raise UsageError(f"{path}: name the topics of poses in it with --truth TOPIC and --estimate TOPIC")
    return path, path


def _file(folder: Path, stem: str) -> Path:
    found = sorted(path for path in folder.iterdir() if path.stem == stem)
    if len(found) != 1:
        raise SimjudgeError(f"{folder}: holds {len(found)} files {stem}.*; one is needed. Write {_FORMS}")
    return found[0]


def _name(source: TrajectorySource, estimate: PoseSource) -> str:
    if isinstance(source, str | Path) and _BETWEEN not in str(source):
        return Path(source).stem
    return estimate.name if isinstance(estimate, Trajectory) else Path(estimate).stem
