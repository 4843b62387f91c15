"""A check of an engine: a name, a sentence why, and a function. What it finds is one of three words.

A check runs without pytest (`EngineCheck.run`) and as a test of pytest (call it). What is broken raises
`ContractBrokenError`, an AssertionError. What the engine leaves out raises `CannotBeChecked`, which pytest skips.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol
from unittest import SkipTest

from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import Engine, NotOfferedError
from simjudge.sim.scene.model import Scene
from simjudge.sim.vehicle.vehicle import Vehicle

Part = Literal["scene", "light", "rays", "timed rays", "physics", "car"]
OPTIONAL: tuple[Part, ...] = ("timed rays", "physics", "car")
"""Parts of the contract that an engine may leave out by `NotOfferedError`."""
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
        """The name, which pytest shows too."""
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
        """Check an engine and return what was found, whatever it was.

        Returns:
            The result; an engine that raises an error of its own has failed.
        """
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
    """Make a check of a function; its name becomes the check's name.

    Args:
        why: a sentence: what goes wrong where the promise does not hold.
    """

    def make(function: Callable[[EngineBuilder], None]) -> EngineCheck:
        name = getattr(function, "__name__", "check")
        return EngineCheck(name.strip("_").replace("_", " "), why, part, function)

    return make
