"""simjudge: a perception algorithm as the judge of a simulated camera.

The functions and classes below are loaded when they are first used, so that `import simjudge` costs nothing. Each one
stands in the room that its work belongs to.

    import simjudge as sj

    real, sim = sj.read("real.mcap"), sj.read("sim/")
    judged = [sj.detect(frames, "detector.onnx") for frames in (real, sim)]

Every error that simjudge raises on purpose is a `SimjudgeError`. A `UsageError`, which is a `SimjudgeError` too, says
that the request itself makes no sense.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simjudge.core.errors import Losses as Losses
    from simjudge.core.errors import SimjudgeError as SimjudgeError
    from simjudge.core.errors import UsageError as UsageError
    from simjudge.core.frames import FrameSet as FrameSet
    from simjudge.core.frames import Objects as Objects
    from simjudge.core.frames import Predictions as Predictions
    from simjudge.data import sets
    from simjudge.data.conversion import convert as convert
    from simjudge.data.join import join as join
    from simjudge.data.sets import Topics as Topics
    from simjudge.data.splits import Split as Split
    from simjudge.data.splits import split as split
    from simjudge.perception.detection import detect as detect
    from simjudge.perception.detector import Detections as Detections
    from simjudge.perception.detector import Detector as Detector
    from simjudge.perception.loading import load_detector as load_detector
    from simjudge.sensors.camera import filtering

    __version__: str
    read, write, filter = sets.read_set, sets.write_set, filtering.filter_images  # noqa: A001 - the command's name

_HOMES = {
    "Detections": "perception.detector",
    "Detector": "perception.detector",
    "FrameSet": "core.frames",
    "Losses": "core.errors",
    "Objects": "core.frames",
    "Predictions": "core.frames",
    "SimjudgeError": "core.errors",
    "Split": "data.parts",
    "Topics": "data.sets",
    "UsageError": "core.errors",
    "convert": "data.conversion",
    "detect": "perception.detection",
    "filter": "sensors.camera.filtering:filter_images",
    "join": "data.joined",
    "load_detector": "perception.loading",
    "read": "data.sets:read_set",
    "split": "data.parts",
    "write": "data.sets:write_set",
}
"""By the name here, the module below simjudge, and behind a colon the name there where it is another.

A test holds it equal to the imports above, which editors and type checkers read.
"""

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("simjudge.core.version").version()
    if name not in _HOMES:
        raise AttributeError(f"module 'simjudge' has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    value = globals()[name] = getattr(import_module(f"simjudge.{module}"), attribute or name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
