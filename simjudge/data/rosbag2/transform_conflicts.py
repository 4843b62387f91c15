"""Transforms that contradict each other: what two publishers of one frame leave in a recording, as two robots do."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from simjudge.core.errors import Losses
from simjudge.core.text import list_some
from simjudge.data.rosbag2.recorded_poses import TRANSFORMS, decoded_messages, transform_fields
from simjudge.data.rosbag2.recording import Recording
from simjudge.geometry.trajectories import MotionLimits

MOST_MESSAGES = 20_000
"""Of a topic, which are looked at: two robots contradict each other from the first seconds on."""
_JITTER_M = 0.1
_REMEDY = (
    "several publishers of one frame, such as two robots: give each a frame_prefix, or record the transforms of one"
)


def describe_conflicts(recording: Recording) -> list[str]:
    """Say which frames of which topics have transforms that contradict each other, and how many."""
    topics = [info.topic for info in recording.topic_infos() if info.type == TRANSFORMS]
    return [line for topic in topics if (line := _describe(recording, topic))]


def _describe(recording: Recording, topic: str) -> str:
    static = topic.endswith("_static")
    moves: dict[tuple[str, str], list[tuple[int, tuple[float, ...]]]] = {}
    parents: dict[str, list[str]] = {}
    for parent, child, stamp, numbers in _transforms(recording, topic):
        moves.setdefault((parent, child), []).append((0 if static else stamp, numbers))
        if parent not in parents.setdefault(child, []):
            parents[child].append(parent)
    counts = {child: _contradictions(rows) for (_, child), rows in moves.items()}
    found = [f"{count:,} of {child}" for child, count in sorted(counts.items()) if count]
    parts = [f"transforms contradict each other ({list_some(found)})"] if found else []
    parts += [f"{child} hangs below {' and '.join(above)}" for child, above in parents.items() if len(above) > 1]
    return f"{topic}: {'; '.join(parts)}: {_REMEDY}" if parts else ""


def _transforms(recording: Recording, topic: str) -> Iterator[tuple[str, str, int, tuple[float, ...]]]:
    for _, message in islice(decoded_messages(recording, {topic}, Losses()), MOST_MESSAGES):
        for transform in message.transforms:
            fields = transform_fields(transform)
            numbers = (*fields["position"], *fields["orientation"])
            yield fields["parent"].lstrip("/"), fields["child"].lstrip("/"), fields["stamp"], numbers


def _contradictions(rows: list[tuple[int, tuple[float, ...]]]) -> int:
    """How many transforms of a link differ from another of their stamp, or jump away and back at once."""
    order = sorted(range(len(rows)), key=lambda row: rows[row][0])
    stamp = np.array([rows[row][0] for row in order], np.int64)
    pose = np.array([rows[row][1] for row in order])
    first = np.searchsorted(stamp, stamp)
    equal = (pose == pose[first]) | (np.isnan(pose) & np.isnan(pose[first]))
    same = int((~equal).any(axis=1).sum())
    if same or len(stamp) < 3:
        return same
    seconds, position = np.diff(stamp) / 1e9, pose[:, :3]
    leap = np.linalg.norm(np.diff(position, axis=0), axis=1) > _JITTER_M + MotionLimits.max_speed * seconds
    near = np.linalg.norm(position[2:] - position[:-2], axis=1) <= _JITTER_M + MotionLimits.max_speed * (
        seconds[1:] + seconds[:-1]
    )
    return int((leap[1:] & leap[:-1] & near).sum())
