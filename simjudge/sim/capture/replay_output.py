"""Writing a replay: a recording, and beside it OUT.replay.json, which says what was done."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from simjudge.core.errors import Losses
from simjudge.core.files import record_beside
from simjudge.data.rosbag2.writing import write_recording
from simjudge.sim.capture.frame_store import FrameStore
from simjudge.sim.capture.replay_plan import ReplayPlan
from simjudge.sim.capture.replay_sensors import MessagesByFrame
from simjudge.sim.sensors.camera.camera_messages import CameraMessages

FIXED_FRAME = "map"
"""Name of the fixed frame where the poses do not say it."""


def write_replay(
    plan: ReplayPlan,
    store: FrameStore,
    class_names: Mapping[int, str],
    out: Path,
    about: Mapping[str, Any],
    sensors: MessagesByFrame | None = None,
) -> Losses:
    """Write the recording of all frames, and OUT.replay.json.

    Args:
        sensors: messages of the sensors beside the camera; None for none.
    """
    source = plan.source
    frames = store.frames(out.name, source.frame_name, source.stamp, plan.camera.lens.size, dict(class_names))
    info = plan.camera.lens.camera_info(plan.camera.name)
    messages = CameraMessages(info.calibration, source.trajectory.frame_id or FIXED_FRAME)

    def camera_messages(index: int) -> Iterator[tuple[str, Any]]:
        stamp = int(source.stamp[index])
        yield from messages.at(stamp, plan.path.recorded([stamp], source.frame_name[index])[0])
        if plan.camera.depth is not None:
            yield from messages.depth(stamp, store.depth(index))
        if sensors is not None:
            yield from sensors.of(index)

    text = json.dumps(about, indent=2)
    with record_beside(replay_record_path(out), text + "\n"):
        return write_recording(frames, out, extra_messages=camera_messages, custom_data={"simjudge": text})


def replay_record_path(out: Path) -> Path:
    """Path of the file that says what a recording shows."""
    return out.with_name(out.name + ".replay.json")
