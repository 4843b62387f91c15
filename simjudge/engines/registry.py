"""The engines by name; each moves and lights a scene behind the interface of `simjudge.engines.contract`."""

from __future__ import annotations

from simjudge.core.errors import UsageError
from simjudge.engines.contract import Engine
from simjudge.geometry.poses import Pose
from simjudge.scene.model import Scene
from simjudge.vehicle.vehicle import Vehicle

ENGINES = ("default", "chrono")
"""Names of the engines there can be."""


def make_engine(name: str, scene: Scene, vehicle: Vehicle | None = None, start: Pose | None = None) -> Engine:
    """The engine of a name, with a scene and perhaps a car in it.

    Args:
        name: one of `ENGINES`.
        scene: the scene.
        vehicle: the car; None for a scene without a car.
        start: pose of the car's base_link; None for the start of the scene's course, or the origin.

    Raises:
        UsageError: no engine has this name.
        SimjudgeError: the engine cannot run here; the message says what is missing and how to get it.
    """
    if name == "default":
        from simjudge.engines.default.default_engine import DefaultEngine

        return DefaultEngine(scene, vehicle, start)
    if name == "chrono":
        from simjudge.engines.chrono.chrono_engine import ChronoEngine

        return ChronoEngine(scene, vehicle, start)
    raise UsageError(f"engine {name!r}: one of {', '.join(ENGINES)} is needed")


def limit_threads(name: str, count: int) -> None:
    """Let an engine use few of the cores, before it is made: others work beside it.

    Args:
        name: one of `ENGINES`.
        count: threads it may use; engines that have no such limit use what they use.
    """
    if name == "default":
        from simjudge.engines.default.variant import limit_threads as limit

        limit(count)
