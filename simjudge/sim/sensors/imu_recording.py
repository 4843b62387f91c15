"""Readings of an IMU out of a recording."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.text import nearest_name
from simjudge.data.rosbag2.filled_stamps import fill_in_stamps
from simjudge.data.rosbag2.recorded_poses import decoded_messages, header_stamp
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.storage import format_seconds
from simjudge.sim.sensors.inertial.imu_calibration import PARTS, ImuSeries
from simjudge.sim.sensors.sensor_topics import TRUTH

IMU = "sensor_msgs/msg/Imu"
_FIELDS = {"gyroscope": "angular_velocity", "accelerometer": "linear_acceleration"}


def read_imu(path: str | Path, topic: str | None = None) -> tuple[ImuSeries, Losses]:
    """Read sensor_msgs/Imu messages.

    Stamps are those of the headers; where one is 0, the time of recording. Readings that are not finite, or
    whose stamp is not later than that of the reading before, are left out. A part whose covariance begins with -1 is
    not there.

    Args:
        topic: of the messages; None: there must be only one.
    """
    recording = Recording(path)
    name = _choose(recording, topic)
    where, losses = f"{recording.path}: {name}", Losses()
    stamps, times, rows, absent = [], [], [], np.ones(2, np.bool_)
    for stored, message in decoded_messages(recording, {name}, losses):
        stamps.append(header_stamp(message.header))
        times.append(stored.time)
        vectors = [getattr(message, field) for field in _FIELDS.values()]
        rows.append([float(number) for each in vectors for number in (each.x, each.y, each.z)])
        absent &= [getattr(message, f"{field}_covariance")[0] == -1 for field in _FIELDS.values()]
    if not rows:
        raise SimjudgeError(f"{where}: holds no message that can be read")
    stamp, values = np.array(fill_in_stamps(stamps, times, where), np.int64), np.array(rows)
    finite = np.isfinite(values).all(axis=1)
    newest = np.maximum.accumulate(np.where(finite, stamp, np.iinfo(np.int64).min))
    later = np.concatenate([[True], stamp[1:] > newest[:-1]])
    for kind, wrong in (
        ("readings with numbers that are not finite", ~finite),
        ("readings whose stamp is not later than the one before", finite & ~later),
    ):
        for row in np.flatnonzero(wrong).tolist():
            losses.add(kind, f"{where} at {format_seconds(int(stamp[row]))}")
    kept = finite & later
    parts = {part: values[kept, 3 * i : 3 * i + 3] for i, part in enumerate(PARTS) if not absent[i]}
    if not parts or not kept.any():
        raise SimjudgeError(f"{where}: holds neither turn rates nor accelerations")
    recording.losses.extend(losses)
    return ImuSeries(where, stamp[kept], parts), recording.losses


def _choose(recording: Recording, topic: str | None) -> str:
    topics = [info.topic for info in recording.topic_infos() if info.type == IMU]
    if topic is not None:
        name = topic if topic in topics else "/" + topic.lstrip("/")
        if name not in topics:
            raise UsageError(f"{recording.path}: {topic} is no topic of {IMU}{nearest_name(topic, topics)}")
        return name
    if not topics:
        raise SimjudgeError(f"{recording.path}: holds no {IMU}; it holds {', '.join(recording.topics) or 'no topic'}")
    # A simulated drive has the truth of each sensor beside it.
    measured = [name for name in topics if not name.endswith(f"/{TRUTH}")] or topics
    if len(measured) > 1:
        raise UsageError(f"{recording.path}: several IMUs; choose one with --topic: {', '.join(measured)}")
    return measured[0]
