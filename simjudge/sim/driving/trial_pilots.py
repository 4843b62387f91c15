"""Pilots for many trials, without pictures: by cones with a detector's measured errors, a lidar, learnt weights.

What a detector does is measured once, by distance; a trial then draws from that instead of rendering. Not in it: errors
that last from frame to frame, cones that hide cones, and boxes where no cone stands.
"""

from __future__ import annotations

import json
from collections import deque
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.errors import SimjudgeError
from simjudge.core.files import atomic_file
from simjudge.core.text import Json
from simjudge.detectors.detector import Detections
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.capture import CapturedFrame
from simjudge.sim.capture.sensor_feed import CapturedScan, SensorBatch, SensorEvent
from simjudge.sim.driving.cone_driver import Driver
from simjudge.sim.driving.cones import ConeObservations
from simjudge.sim.driving.course import LaneClasses
from simjudge.sim.driving.pilots import FrameDetector, Pilot, ScanPilot
from simjudge.sim.engines.contract import Engine
from simjudge.sim.sensors.camera.camera import SECOND
from simjudge.sim.sensors.camera.lens import Lens
from simjudge.sim.sensors.lidar.lidar import LidarSpec
from simjudge.sim.vehicle.vehicle import Command, VehicleState

START = (-3.0, -1.0, 0.0, 1.0, 0.5)
"""Weights before training: steer against the gap's middle, near and far, a bias; speed, and less of it in bends."""
_NEAREST = 2
"""Cones of a side that are the near ones; as many again are the far ones."""
_ABSENT = {1.0: 0.1, -1.0: 0.9}
"""Where a cone of a side is taken to be, as a share of the width, while none is seen: at the edge."""


def detection_rows(found: Detections, sides: dict[int, float], size: tuple[int, int]) -> npt.NDArray[np.float32]:
    """Detections of the lane's two classes, largest first: left, top, right, bottom as shares, side, score."""
    kept = np.array([int(number) in sides for number in found.class_id], np.bool_)
    box = found.box[kept] / np.array([*size, *size])
    area = (box[:, 2] - box[:, 0]) * (box[:, 3] - box[:, 1])
    side = np.array([sides[int(number)] for number in found.class_id[kept]])
    rows = np.column_stack([np.clip(box, 0.0, 1.0), side, np.clip(found.score[kept], 0.0, 1.0)])
    return rows[np.argsort(-area, kind="stable")].astype(np.float32).reshape(-1, 6)


@dataclass(frozen=True)
class LearntDriver:
    """Steers for the middle between the nearest boxes of both sides.

    Attributes:
        weights: as START has them.
        episodes: that it was trained for.
    """

    weights: tuple[float, ...] = START
    episodes: int = 0

    def act(self, rows: npt.NDArray[np.float32], speed: float) -> tuple[float, float]:
        """Steering and pedal, -1 to 1, by detections (largest first; rows of 0 do not count) and speed, m/s."""
        near, far = (self._middle(rows, first) for first in (0, _NEAREST))
        a, b, bias, fast, slow = self.weights
        steering = a * near + b * far + bias
        target = max(fast - slow * abs(far) * 4, 0.3)
        return float(np.clip(steering, -1, 1)), float(np.clip(0.5 * target + 0.6 * (target - speed), -1, 1))

    @staticmethod
    def _middle(rows: npt.NDArray[np.float32], first: int) -> float:
        places = []
        for side, absent in _ABSENT.items():
            own = rows[rows[:, 4] == side][first : first + _NEAREST]
            places.append(float((own[:, 0] + own[:, 2]).mean() / 2) if len(own) else absent)
        return sum(places) / 2 - 0.5

    def save(self, path: Path) -> None:
        """Write as JSON."""
        with atomic_file(path) as file:
            file.write_text(json.dumps(vars(self), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> LearntDriver:
        """Read what `save` has written."""
        try:
            held = json.loads(path.read_text(encoding="utf-8"))
            return cls(tuple(map(float, held["weights"])), int(held["episodes"]))
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise SimjudgeError(f"{path}: holds no weights of a driver ({error})") from error


PERIOD = 0.1
"""Seconds between looks at the cones."""
_SPLIT = 0.12
"""Metres between neighbouring returns of a scan from which on they are of two things."""
_WIDEST = 0.14
"""Metres: what is wider is no cone."""
_FARTHEST = 4.0
"""Metres from the lidar within which returns count."""
_RIM = 0.03
"""Metres from the side of a cone that a lidar sees to its middle."""


@dataclass(frozen=True)
class DetectorErrors:
    """How a detector finds cones, by distance.

    Attributes:
        edges: distances between which each row holds, metres, one more than rows.
        found: share of the cones in view that are found.
        along, across: standard deviation of the position along and across the ray, metres.
        shift: mean error along the ray, metres: positive where cones seem farther than they are.
        swapped: share of the found cones that are given the other class.
        cones: how many were looked at, by row.
    """

    edges: tuple[float, ...] = (0.0, 1.5, 2.5, 3.5, 5.5)
    found: tuple[float, ...] = (0.98, 0.97, 0.9, 0.7)
    along: tuple[float, ...] = (0.03, 0.05, 0.12, 0.3)
    across: tuple[float, ...] = (0.015, 0.02, 0.03, 0.05)
    shift: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)
    swapped: float = 0.0
    cones: tuple[int, ...] = (0, 0, 0, 0)

    def save(self, path: Path) -> None:
        """Write as JSON."""
        path.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> DetectorErrors:
        """Read what `save` has written."""
        try:
            held: Json = json.loads(path.read_text(encoding="utf-8"))
            values: Json = {name: tuple(v) if isinstance(v, list) else v for name, v in held.items()}
            return cls(**values)
        except (OSError, ValueError, TypeError) as error:
            raise SimjudgeError(f"{path}: holds no measured errors of a detector ({error})") from error

    def observe(
        self,
        cones: FloatArray,
        class_id: IntArray,
        classes: LaneClasses,
        origin: FloatArray,
        random: np.random.Generator,
    ) -> ConeObservations:
        """What a detector would say of cones in view.

        Args:
            cones: true positions (N, 2), metres.
            class_id: int64 (N,).
            origin: below the camera, (2,).
        """
        away = cones - origin
        distance = np.linalg.norm(away, axis=1)
        row = np.clip(np.digitize(distance, self.edges) - 1, 0, len(self.found) - 1)
        kept = (distance < self.edges[-1]) & (distance > 0) & (random.random(len(cones)) < np.array(self.found)[row])
        away, distance, row = away[kept], distance[kept], row[kept]
        ray = away / distance[:, None]
        axes = np.stack([ray, np.stack([-ray[:, 1], ray[:, 0]], 1)], 2)
        sigma = np.stack([np.array(self.along)[row], np.array(self.across)[row]], 1)
        error = sigma * random.normal(size=sigma.shape)
        error[:, 0] += np.array(self.shift)[row]
        other = np.where(class_id[kept] == classes.left, classes.right, classes.left)
        seen = np.where(random.random(len(row)) < self.swapped, other, class_id[kept])
        spread = sigma[:, None, :] * axes
        return ConeObservations(
            cones[kept] + np.einsum("nij,nj->ni", axes, error),
            spread @ spread.transpose(0, 2, 1),
            seen.astype(np.int64),
            np.full(len(row), 0.9),
        )


class TrueCones:
    """The labelled free things of an engine: where they are now, and which of them a camera has in view."""

    def __init__(self, engine: Engine, classes: LaneClasses) -> None:
        """Take the cones of the lane's two classes."""
        self._engine = engine
        chosen = [thing for thing in engine.scene.labelled() if thing.class_id in classes]
        self._standing = {thing.name: thing.pose for thing in chosen}
        self._names = [thing.name for thing in chosen]
        self.class_id = np.array([thing.class_id for thing in chosen], np.int64)

    def positions(self) -> FloatArray:
        """Where they are now: (N, 2), metres."""
        poses = self._engine.poses()
        places = [(poses[name] if name in poses else self._standing[name]).position[:2] for name in self._names]
        return np.array(places, np.float64).reshape(-1, 2)

    def in_view(self, cones: FloatArray, camera: Pose, lens: Lens) -> IntArray:
        """Which of them stand in the picture."""
        with np.errstate(invalid="ignore"):
            pixels = lens.project(camera.to_body(np.column_stack([cones, np.zeros(len(cones))])))
            shown = np.all((pixels > 0) & (pixels < np.array(lens.size)), axis=1)
        return np.flatnonzero(shown)


class MeasuredConePilot:
    """Drives by true cones, seen with the errors of a detector that was measured."""

    needs_frames = needs_images = ended = False
    name = "cones with measured errors"

    def __init__(self, driver: Driver, cones: TrueCones, lens: Lens, errors: DetectorErrors, seed: int) -> None:
        """Look at once."""
        self._driver, self._cones, self._lens, self._errors = driver, cones, lens, errors
        self._classes = LaneClasses(*driver.classes)
        self._random, self._next = np.random.default_rng(seed), -np.inf

    def update(self, state: VehicleState) -> Command | None:
        """Look and drive where a look is due: see `Pilot.update`."""
        self._driver.update_odometry(state)
        if state.time < self._next:
            return None
        self._next = state.time + PERIOD - 1e-9
        camera, places = self._driver.camera_pose(state.time), self._cones.positions()
        rows = self._cones.in_view(places, camera, self._lens)
        origin = np.array(camera.position[:2])
        seen = self._errors.observe(places[rows], self._cones.class_id[rows], self._classes, origin, self._random)
        return self._driver.drive_by(seen, state.time, state)

    def read(self, batch: SensorBatch, state: VehicleState) -> None:
        """Nothing: it knows the cones."""

    def see(self, frame: CapturedFrame, stamp: int, state: VehicleState) -> tuple[None, None]:  # noqa: ARG002
        """Nothing: it knows the cones."""
        return None, None


@dataclass(frozen=True)
class LidarConePilot(ScanPilot):
    """Drives by the cones that stand out of a scan in one plane; the side of each is that of the line so far."""

    spec: LidarSpec
    driver: Driver

    @property
    def name(self) -> str:
        """The lidar's name."""
        return f"cones by lidar {self.spec.name}"

    def drive(self, scan: SensorEvent, state: VehicleState) -> Command | None:
        """Drive by the cones of a scan."""
        if not isinstance(scan.reading, CapturedScan):
            return None
        stamp = scan.stamp / SECOND
        return self.driver.drive_by(self._cones(scan.reading.scan.points, stamp), stamp, state)

    def _cones(self, points: FloatArray, stamp: float) -> ConeObservations:
        base = self.driver.base_pose(stamp)
        found = scan_cones(points)
        in_car = self.spec.mount.to_world(np.column_stack([found, np.zeros(len(found))]))
        places = base.to_world(in_car)[:, :2]
        right, left = self.driver.classes
        class_id = np.where(self.driver.is_left(places), left, right).astype(np.int64)
        covariance = np.tile(0.03**2 * np.eye(2), (len(places), 1, 1))
        return ConeObservations(places, covariance, class_id, np.full(len(places), 0.9))


def scan_cones(points: FloatArray) -> FloatArray:
    """Middles of the small things in a scan of one plane: (N, 2), metres, in the lidar's frame.

    Args:
        points: (P, 3), in the order in which they were measured.
    """
    flat = points[:, :2]
    flat = flat[np.linalg.norm(flat, axis=1) < _FARTHEST]
    if not len(flat):
        return np.empty((0, 2))
    first = np.flatnonzero(np.linalg.norm(np.diff(flat, axis=0), axis=1) > _SPLIT) + 1
    out = []
    for group in np.split(flat, first):
        if len(group) >= 2 and np.linalg.norm(np.ptp(group, axis=0)) < _WIDEST:
            middle = group.mean(0)
            out.append(middle * (1 + _RIM / max(float(np.linalg.norm(middle)), _RIM)))
    return np.array(out, np.float64).reshape(-1, 2)


@dataclass(frozen=True)
class LearntPilot:
    """Drives by weights that were learnt in `simjudge/ConeCourse-v0`, on the boxes that the environment shows."""

    detector: FrameDetector
    driver: LearntDriver
    sides: dict[int, float]
    size: tuple[int, int]

    needs_frames, ended = True, False

    @property
    def name(self) -> str:
        """What it drives by."""
        return f"learnt, {self.detector.name}"

    @property
    def needs_images(self) -> bool:
        """Whether the detector sees the image."""
        return self.detector.needs_images

    def update(self, state: VehicleState) -> None:
        """Nothing: a command holds until the next frame."""

    def read(self, batch: SensorBatch, state: VehicleState) -> None:
        """Nothing: it drives by boxes."""

    def see(self, frame: CapturedFrame, stamp: int, state: VehicleState) -> tuple[Detections, Command]:  # noqa: ARG002
        """Drive by the boxes: see `Pilot.see`."""
        found = self.detector(frame)
        steering, pedal = self.driver.act(detection_rows(found, self.sides, self.size), state.velocity[0])
        return found, Command(steering, max(pedal, 0.0), max(-pedal, 0.0))


@dataclass
class DelayedPilot:
    """A pilot whose commands reach the car later.

    Attributes:
        lag: simulated seconds.
    """

    pilot: Pilot
    lag: float
    _due: deque[tuple[float, Command]] = field(default_factory=deque)

    @property
    def name(self) -> str:
        """The pilot's."""
        return self.pilot.name

    @property
    def ended(self) -> bool:
        """The pilot's."""
        return self.pilot.ended

    @property
    def needs_frames(self) -> bool:
        """The pilot's."""
        return self.pilot.needs_frames

    @property
    def needs_images(self) -> bool:
        """The pilot's."""
        return self.pilot.needs_images

    def update(self, state: VehicleState) -> Command | None:
        """What is due: see `Pilot.update`."""
        self._wait(self.pilot.update(state), state.time)
        command = None
        while self._due and self._due[0][0] <= state.time:
            command = self._due.popleft()[1]
        return command

    def read(self, batch: SensorBatch, state: VehicleState) -> None:
        """Let the pilot read; its command waits."""
        self._wait(self.pilot.read(batch, state), state.time)

    def see(self, frame: CapturedFrame, stamp: int, state: VehicleState) -> tuple[Detections | None, None]:
        """Let the pilot see; its command waits."""
        found, command = self.pilot.see(frame, stamp, state)
        self._wait(command, state.time)
        return found, None

    def _wait(self, command: Command | None, time: float) -> None:
        if command is not None:
            self._due.append((time + self.lag - 1e-9, command))
