"""Automatic exposure of frames that are kept one by one: a run that goes on exposes as one that was not stopped."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from simjudge.sim.capture.capture import CapturedFrame
from simjudge.sim.capture.frame_store import FrameStore
from simjudge.sim.sensors.camera.camera import MeteredFrame

_KEY = "auto_exposure"


def describe_metering(frame: CapturedFrame) -> dict[str, Any]:
    """What is kept of a frame's automatic exposure, as JSON has it; nothing where it has none."""
    metered = frame.image.metered if frame.image is not None else None
    return {} if metered is None else {_KEY: asdict(metered)}


def metered_before(store: FrameStore, index: int) -> MeteredFrame | None:
    """The automatic exposure of the frame before; None for the first."""
    return MeteredFrame(**store.about(index - 1)[_KEY]) if index else None
