"""A check of an engine, the small world that it is made in, and what it expects.

A check has a name, a sentence why, and a function; what it finds is one of three words. It runs without pytest
(`EngineCheck.run`) and as a test of pytest (call it). What is broken raises `ContractBrokenError`, an AssertionError.
What the engine leaves out raises `CannotBeChecked`, which pytest skips.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, Protocol
from unittest import SkipTest

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import UsageError
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import Engine, NotOfferedError, SceneState
from simjudge.sim.scene.model import Collider, Colour, Motion, PointLight, Scene, Surface, Thing
from simjudge.sim.sensors.camera.lens import lens_with_field
from simjudge.sim.vehicle.vehicle import MeshBuilder, Vehicle

Part = Literal["scene", "light", "rays", "timed rays", "physics", "car"]
# Parts of the contract that an engine may leave out by `NotOfferedError`.
OPTIONAL: tuple[Part, ...] = ("timed rays", "physics", "car")
Status = Literal["pass", "fail", "cannot be checked"]


class ContractBrokenError(AssertionError):
    """The engine breaks the contract; the message says where, what was found and what was expected."""


class CannotBeChecked(SkipTest):
    """The engine leaves out what the check is about; the message is the engine's own."""


class EngineBuilder(Protocol):
    """Makes the engine that is checked: its class, or a function that returns one."""

    def __call__(self, scene: Scene, vehicle: Vehicle | None = None, start: Pose | None = None) -> Engine:
        """An engine with a scene and perhaps a car in it; see `simjudge.sim.engines.registry.make_engine`."""


@dataclass(frozen=True)
class EngineCheck:
    """One promise of the contract, and how it is tried.

    Attributes:
        name: what holds, in a few words.
        why: a sentence: what goes wrong where it does not hold.
        function: takes a builder; raises `ContractBrokenError` where the promise is broken.
    """

    name: str
    why: str
    part: Part
    function: Callable[[EngineBuilder], None]

    def __str__(self) -> str:
        return self.name

    def __call__(self, builder: EngineBuilder) -> None:
        """Check an engine, and close every engine made on the way."""
        made: list[Engine] = []

        def build(scene: Scene, vehicle: Vehicle | None = None, start: Pose | None = None) -> Engine:
            made.append(builder(scene, vehicle, start))
            return made[-1]

        try:
            self.function(build)
        except NotOfferedError as error:
            if self.part in OPTIONAL:
                raise CannotBeChecked(str(error)) from error
            raise ContractBrokenError(f"this part may not be left out: {error}") from error
        finally:
            for engine in made:
                engine.close()

    def run(self, builder: EngineBuilder) -> CheckResult:
        """Check an engine and return what was found; an engine that raises an error of its own has failed."""
        try:
            self(builder)
        except CannotBeChecked as missing:
            return CheckResult(self, "cannot be checked", str(missing))
        except ContractBrokenError as broken:
            return CheckResult(self, "fail", str(broken))
        except Exception as error:  # noqa: BLE001 - somebody else's engine may fail in any way
            return CheckResult(self, "fail", f"{type(error).__name__}: {' '.join(str(error).split())}")
        return CheckResult(self, "pass", "")


@dataclass(frozen=True)
class CheckResult:
    """What a check found.

    Attributes:
        status: "pass", "fail" or "cannot be checked".
        reason: what is broken or missing; empty where it passed.
    """

    check: EngineCheck
    status: Status
    reason: str


def engine_check(part: Part, why: str) -> Callable[[Callable[[EngineBuilder], None]], EngineCheck]:
    """Make a check of a function, whose name becomes the check's; `why` says what goes wrong without it."""

    def make(function: Callable[[EngineBuilder], None]) -> EngineCheck:
        name = getattr(function, "__name__", "check")
        return EngineCheck(name.strip("_").replace("_", " "), why, part, function)

    return make


def expect(holds: object, what: str) -> None:
    """Expect that something holds."""
    if not holds:
        raise ContractBrokenError(f"expected: {what}")


def expect_near(
    found: npt.ArrayLike, expected: npt.ArrayLike, what: str, *, absolute: float = 0.0, relative: float = 0.0
) -> None:
    """Expect numbers of one shape that differ by at most absolute + relative x |expected|."""
    given, wanted = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    with np.errstate(invalid="ignore"):  # inf - inf, where both are inf
        same = (given == wanted) | (np.abs(given - wanted) <= absolute + relative * np.abs(wanted))
    if np.all(same):
        return
    worst = np.unravel_index(np.argmin(same), same.shape)
    one, other = np.broadcast_to(given, same.shape)[worst], np.broadcast_to(wanted, same.shape)[worst]
    where = f" at {[*map(int, worst)]}" if worst else ""
    raise ContractBrokenError(f"{what}: found {one:.6g}, expected {other:.6g}{where}")


def poses_differ(pose: Pose, other: Pose, metres: float = 1e-6, radians: float = 1e-6) -> bool:
    """Whether two poses are further apart than a tolerance."""
    x, y, z, w = (pose.inverse() @ other).orientation
    angle = 2 * math.atan2(math.hypot(x, y, z), abs(w))
    return not (math.dist(pose.position, other.position) <= metres and angle <= radians)


def expect_pose(found: Pose, expected: Pose, what: str, metres: float = 1e-6, radians: float = 1e-6) -> None:
    """Expect a pose."""
    if poses_differ(found, expected, metres, radians):
        within = f"within {metres:g} m and {radians:g} rad"
        raise ContractBrokenError(f"pose of {what}: found {found}, expected {expected} {within}")


def expect_refused(call: Callable[[], object], what: str) -> None:
    """Expect that a call is refused by `UsageError`."""
    try:
        call()
    except UsageError:
        return
    except Exception as error:
        refused = f"refused by {type(error).__name__}"
        raise ContractBrokenError(f"{what}: {refused}, expected UsageError ({error})") from error
    raise ContractBrokenError(f"{what}: done, expected UsageError")


RED, GREEN = 1, 2  # Class ids of the cones
RED_CONE, GREEN_CONE = 3, 7  # Instances of the cones
WALL = 4.0  # Metres from the camera to the wall's near face
CAMERA_HEIGHT = 0.4  # Metres
CONE_HEIGHT = 0.3  # Metres
BACKGROUND: Colour = (0.1, 0.2, 0.5)  # Linear RGB of rays that hit nothing
LENS = lens_with_field("pinhole", (96, 64), 80)
CAMERA = Pose((0, 0, CAMERA_HEIGHT)).optical_frame()
AT = SceneState(CAMERA)  # The camera at its place, everything where the scene has it


def contract_scene(brightness: float = 1.0) -> Scene:
    """The wall's near face is at x = WALL; green stands left, red right, the crate behind the camera."""
    things = (
        _floor(),
        _box("wall", (0.2, 6, 1.0), Pose((WALL + 0.1, 0, 0)), (0.5, 0.5, 0.5)),
        _cone("green", (2.0, 0.6), GREEN, GREEN_CONE, (0.03, 0.5, 0.05)),
        _cone("red", (2.0, -0.6), RED, RED_CONE, (0.6, 0.03, 0.03)),
        _box("crate", (0.2, 0.2, 0.2), Pose((-2, 0, 0)), (0.05, 0.05, 0.6), mass=0.5),
    )
    lamp = PointLight((0.5, 0.3, 2.5), (8 * brightness, 8 * brightness, 8 * brightness), 50)
    return Scene("contract", things, (lamp,), (0.02,) * 3, BACKGROUND, {RED: "red cone", GREEN: "green cone"})


def cone_middle(name: str) -> FloatArray:
    """A point inside a cone, halfway up."""
    thing = next(thing for thing in contract_scene().things if thing.name == name)
    return np.add(thing.pose.position, (0, 0, CONE_HEIGHT / 2))


def pixel_of(point: FloatArray) -> tuple[int, int]:
    """Column and row of the pixel in which the camera at its place sees a point (3,) of the world, metres."""
    column, row = np.round(LENS.project(CAMERA.to_body(point))).astype(int)
    return int(column), int(row)


def _box(name: str, size: tuple[float, float, float], pose: Pose, colour: Colour, mass: float = 0.0) -> Thing:
    x, y, z = size
    shape = MeshBuilder(1)
    shape.box((-x / 2, x / 2), (-y / 2, y / 2), (0, z), 0)
    solid = Collider("box", size, (0, 0, z / 2))
    motion: Motion = "free" if mass else "static"
    return Thing(name, shape.mesh(), Surface(colour), pose, motion=motion, mass=mass, collider=solid)


def _cone(name: str, position: tuple[float, float], class_id: int, instance: int, colour: Colour) -> Thing:
    """A frustum on a square foot, its frame in the middle of the foot's underside."""
    shape = MeshBuilder(1)
    foot, wide, narrow = 0.05 * CONE_HEIGHT, 0.4 * CONE_HEIGHT, 0.08 * CONE_HEIGHT
    turn = np.linspace(0, 2 * np.pi, 25)
    rings = [
        np.stack([r * np.cos(turn), r * np.sin(turn), np.full(25, z)], -1)
        for r, z in ((wide, foot), (narrow, CONE_HEIGHT), (0.0, CONE_HEIGHT))
    ]
    for low, high in pairwise(rings):
        shape.sheet(np.stack([low, high], 1), 0)
    shape.box((-wide, wide), (-wide, wide), (0, foot), 0)
    surface, pose = Surface(colour, roughness=0.9), Pose((*position, 0))
    return Thing(name, shape.mesh(), surface, pose, class_id, instance, "free", 0.1, Collider("hull"))


def _floor() -> Thing:
    shape = MeshBuilder(1)
    shape.sheet(np.array([[[-20, -20, 0], [-20, 20, 0]], [[20, -20, 0], [20, 20, 0]]], float), 0)
    return Thing("floor", shape.mesh(), Surface((0.4, 0.4, 0.4), roughness=1.0), collider=Collider("plane"))
