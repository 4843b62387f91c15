"""The closed loop: what the camera sees, the detector finds; by that the driver drives; that moves the camera.

Simulated time stands still while anybody thinks: the same scene, seed and detector give the same drive on any machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from simjudge.capture.eye import Eye, Seen
from simjudge.capture.lock_step import LockStep, Moved, Taken
from simjudge.driving.driver import Driver
from simjudge.driving.finders import Finder
from simjudge.driving.lane import course_of
from simjudge.driving.progress import Progress
from simjudge.engines.contract import Engine
from simjudge.perception.detector import Detections
from simjudge.sensors.camera.camera import Camera
from simjudge.sensors.camera.shutter import SECOND
from simjudge.vehicle.vehicle import Command, Vehicle, VehicleState


@dataclass(frozen=True)
class Rules:
    """When a drive ends.

    Attributes:
        beside: metres that the car may be beside the course's line.
        still: seconds that it may stand.
        limit: simulated seconds that it may take.
    """

    beside: float = 1.2
    still: float = 6.0
    limit: float = 180.0


@dataclass(frozen=True)
class Driven:
    """A frame, and what the car did about it.

    Attributes:
        taken: its times, and where everything was.
        seen: picture and labels.
        found: what the detector found, with the scene's class ids.
        state: how the car moved when the frame was handed over.
        command: what the driver does from then on.
    """

    taken: Taken
    seen: Seen
    found: Detections
    state: VehicleState
    command: Command


@dataclass(frozen=True)
class Outcome:
    """How a drive went.

    Attributes:
        finished: whether the front axle passed the end of the course.
        why: why it ended, in a few words.
        touched: names of the cones that the car touched.
        seconds: simulated, from start to end.
        way, length: metres driven along the course's line, and its length.
        mean_beside, most_beside: metres between base_link and the course's line: mean and largest magnitude.
        frames: how many were handed over.
    """

    finished: bool
    why: str
    touched: tuple[str, ...]
    seconds: float
    way: float
    length: float
    mean_beside: float
    most_beside: float
    frames: int

    @property
    def clean(self) -> bool:
        """Whether it finished without touching a cone."""
        return self.finished and not self.touched


@dataclass
class ClosedLoop:
    """A drive along a scene's course.

    Attributes:
        engine: with the car at the start.
        vehicle: the car's figures.
        camera: at the vehicle's mount "camera".
        eye: makes pictures and labels.
        finder: finds the cones.
        driver: drives.
        rules: when it ends.
        pictures: whether pictures are made; a finder that is told needs none.
    """

    engine: Engine
    vehicle: Vehicle
    camera: Camera
    eye: Eye
    finder: Finder
    driver: Driver
    rules: Rules = field(default_factory=Rules)
    pictures: bool = True
    _referee: Referee | None = field(default=None, init=False)

    def run(self) -> Iterator[Moved | Driven]:
        """Drive: samples of the motion and frames in order of time, until the drive ends."""
        lock = LockStep(self.engine, self.camera, self.vehicle.mounts["camera"])
        referee = self._referee = Referee(self.engine, self.vehicle, self.rules)
        now = self.engine.vehicle_state()
        for event in lock.events():
            if isinstance(event, Moved):
                now = event.state
                self.driver.moved(now)
                referee.look(event)
                yield event
                if referee.over:
                    return
                continue
            seen = self.eye.look(event, picture=self.pictures)
            found = self.finder(seen)
            command = self.driver.drive(found, event.stamp / SECOND, now)
            self.engine.drive(command)
            referee.frames += 1
            yield Driven(event, seen, found, now, command)

    @property
    def progress(self) -> Progress | None:
        """Where the car is along the course; None before the start."""
        return None if self._referee is None else self._referee.progress

    def outcome(self) -> Outcome:
        """How it went so far; what stopped it before its end is "stopped"."""
        referee = self._referee or Referee(self.engine, self.vehicle, self.rules)
        return referee.outcome()


class Referee:
    """Watches a drive.

    Attributes:
        progress: where the car is along the course.
        over: why the drive has ended; empty while it has not.
        frames: how many were handed over.
    """

    def __init__(self, engine: Engine, vehicle: Vehicle, rules: Rules) -> None:
        """Watch from the start.

        Raises:
            SimjudgeError: the scene has no course.
        """
        self._engine, self._rules = engine, rules
        self._start = self._moving = engine.time
        self.progress = Progress(course_of(engine.scene))
        # The front axle passes the end.
        self._end = self.progress.length - vehicle.wheelbase
        self._beside: list[float] = []
        self.over, self.frames = "", 0

    def look(self, moved: Moved) -> None:
        """See how the car has moved."""
        time, state, rules = moved.time / SECOND, moved.state, self._rules
        self.progress.at(*state.pose.position[:2])
        self._beside.append(abs(self.progress.beside))
        if np.hypot(*state.velocity[:2]) > 0.02:
            self._moving = time
        if self.progress.way >= self._end:
            self.over = "finished"
        elif abs(self.progress.beside) > rules.beside:
            self.over = f"{abs(self.progress.beside):.1f} m beside the course"
        elif time - self._moving > rules.still:
            self.over = f"stood still for {rules.still:g} s"
        elif time - self._start > rules.limit:
            self.over = f"took longer than {rules.limit:g} s"

    def outcome(self) -> Outcome:
        """How the drive went so far."""
        beside = np.array(self._beside or [0.0])
        return Outcome(
            self.over == "finished",
            self.over or "stopped",
            tuple(sorted(self._engine.touched_things())),
            self._engine.time - self._start,
            self.progress.way,
            self.progress.length,
            float(beside.mean()),
            float(beside.max()),
            self.frames,
        )
