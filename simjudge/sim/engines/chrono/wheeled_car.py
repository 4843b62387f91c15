"""A car of Chrono::Vehicle, also of Chrono's own JSON files: its wheels, and what is measured of one that stands.

Chrono's reference frame is where a vehicle's makers put it; its steering goes from -1 to 1, to either side. Where
base_link (on the ground, below the middle of the rear axle) is in that frame, how far the wheels turn at full steering,
and whether positive steering is to the left, is measured on a car that has come to rest.

Files are looked at before Chrono reads them: what it is given wrong ends the whole process. The keys and templates are
those of `ChVehicleUtilsJSON.cpp` and `WheeledVehicle.cpp` (9.0.1 to 7689fbc0). Comments (`//` and `/* */`) may stand
in them. What is inside of a template's file Chrono alone knows. Its readers check nothing in a release build: a key
that is missing, or a template that this build does not have, ends the process. `python -m
simjudge.sim.engines.chrono.wheeled_car DATA VEHICLE ENGINE TRANSMISSION TIRE` is that process.

Any car will do that has two axles, front steering and tyres of force. Springs, masses, motor, gears and brakes are
those of Chrono's files. Of our vehicle's file it takes steering limit and rate, the ground's friction, the mounts and
the looks; wheelbase, track and wheel radius are compared with what Chrono built, because contexts, drivers and
pictures go by them.
"""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import SimjudgeError
from simjudge.core.files import LARGEST_TEXT, read_bytes
from simjudge.core.processes import python_command, silent_output
from simjudge.core.text import Json
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.chrono.modules import STEP, Modules, find_textures, frame_pose, load_modules, vehicle_data
from simjudge.sim.vehicle.vehicle import ChronoParts, Vehicle

LEFT = 0  # VehicleSide::LEFT (ChSubsysDefs.h)
RIGHT = 1  # VehicleSide::RIGHT (ChSubsysDefs.h)
# Axle and side of the wheels: front left, front right, rear left, rear right.
SPINDLES = ((0, LEFT), (0, RIGHT), (1, LEFT), (1, RIGHT))


def wheel_angles(wheeled: Any) -> tuple[float, float]:
    """Of the front wheels, left and right, radians, left positive, from where their axles point in the chassis."""
    chassis = frame_pose(wheeled.GetChassisBody().GetFrameRefToAbs())
    angles = []
    for side in (LEFT, RIGHT):
        rotation = wheeled.GetSpindleRot(0, side)
        axle = Pose(orientation=(rotation.e1, rotation.e2, rotation.e3, rotation.e0)).rotation_matrix()[:, 1]
        x, y, _ = (chassis.rotation_matrix().T @ axle).tolist()
        angles.append(-math.atan2(x, y))
    return angles[0], angles[1]


def wheel_spins(wheeled: Any) -> FloatArray:
    """(4,) in the car, rad/s about their axles, positive ahead; GetSpindleOmega's shaft points to the right."""
    body = wheeled.GetChassisBody().GetAngVelParent()
    spins = []
    for axle, side in SPINDLES:
        rotation, speed = wheeled.GetSpindleRot(axle, side), wheeled.GetSpindleAngVel(axle, side)
        x, y, z, w = rotation.e1, rotation.e2, rotation.e3, rotation.e0
        left = (2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x))
        spins.append((speed.x - body.x) * left[0] + (speed.y - body.y) * left[1] + (speed.z - body.z) * left[2])
    return np.array(spins)


def bicycle_angle(left: float, right: float) -> float:
    """The angle of a single front wheel in the middle, radians: its cotangent is the mean of theirs."""
    a, b = math.tan(left), math.tan(right)
    return math.atan(2 * a * b / (a + b) if a * b > 0 else (a + b) / 2)


_STEERING_TIME = 0.5  # Seconds in which the wheels reach full steering
_LEAST_TURN = math.radians(5)  # Of the front wheels at full steering: a car that turns them by less cannot be driven

Point = tuple[float, float, float]


class BuiltCar(NamedTuple):
    """A car of Chrono's."""

    mover: Any  # has `Synchronize` and `Advance`, and keeps the rest alive
    wheeled: Any


class CarMaker(Protocol):
    """What makes one kind of car in Chrono."""

    @property
    def name(self) -> str:
        """For people."""

    @property
    def step_parts(self) -> int:
        """Steps of Chrono's in one of ours."""

    @property
    def settle_time(self) -> float:
        """Seconds in which a new car comes to rest on its springs."""

    @property
    def rear(self) -> Point:
        """Middle of the rear axle in Chrono's reference frame, metres."""

    @property
    def drop(self) -> float:
        """Height of the reference frame at which the wheels of a new car touch the ground, metres."""

    def build(self, vehicle: Vehicle | None, reference: Pose) -> BuiltCar:
        """A car at a pose of its reference frame, in a system of its own; by default with Chrono's own figures."""

    def braking(self, vehicle: Vehicle) -> float:
        """Chrono's input of the brakes, 0 to 1, for full braking (vehicle: the figures of the car)."""


class Stance(NamedTuple):
    """A car that stands on the ground."""

    base: Pose
    angle: float  # of the bicycle's front wheel at full steering input, radians, always positive
    sign: int  # 1 where Chrono's positive steering is to the left, -1 where it is to the right


def measure_stance(modules: Modules, maker: CarMaker, step: float = STEP) -> Stance:
    """Let a car settle, then steer it fully: base_link in the reference frame, the bicycle's angle, its sign."""
    vehicles = modules.vehicle
    car = maker.build(None, Pose((0.0, 0.0, maker.drop)))
    ground, inputs = vehicles.FlatTerrain(0.0, 0.8), vehicles.DriverInputs()
    inputs.m_throttle, inputs.m_braking = 0.0, 1.0

    def run(begin: float, seconds: float, steering: float) -> None:
        inputs.m_steering = steering
        for number in range(round(seconds / step)):
            car.mover.Synchronize(begin + number * step, inputs, ground)
            car.mover.Advance(step)

    run(0.0, maker.settle_time, 0.0)
    base = base_in_reference(frame_pose(car.wheeled.GetChassisBody().GetFrameRefToAbs()), maker.rear)
    before = bicycle_angle(*wheel_angles(car.wheeled))
    run(maker.settle_time, _STEERING_TIME, 1.0)
    turned = bicycle_angle(*wheel_angles(car.wheeled)) - before
    if not abs(turned) > _LEAST_TURN:
        raise SimjudgeError(
            f"Chrono's {maker.name} turned its wheels by {math.degrees(turned):.1f} degrees at full steering"
        )
    return Stance(base, abs(turned), 1 if turned > 0 else -1)


def base_in_reference(reference: Pose, rear: Point) -> Pose:
    """Level base_link, on the ground below the middle of the rear axle, in the reference frame of a car on z = 0."""
    x, y, _ = reference.to_world(rear).tolist()
    yaw, _, _ = reference.angles()
    return reference.inverse() @ Pose.from_euler(x, y, 0.0, yaw=yaw)


def steering_input(angle: float, stance: Stance) -> float:
    """Chrono's input, -1 to 1, for an angle of the bicycle's front wheel, radians, left positive."""
    return stance.sign * max(-1.0, min(1.0, angle / stance.angle))


_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
# Tyres that compute their force; rigid ones and those of finite elements touch the ground as bodies do, and the ground
# of a scene here is one that is asked for its height.
_TIRES = ("TMeasyTire", "TMsimpleTire", "FialaTire", "Pac89Tire", "Pac02Tire")
_PARTS = {"vehicle": "Vehicle", "engine": "Engine", "transmission": "Transmission", "tire": "Tire"}


def check_chrono_files(parts: ChronoParts, data: Path) -> tuple[Path, Path, Path, Path]:
    """Find the files of a vehicle, and refuse what this engine cannot drive."""
    found = {part: data / getattr(parts, part) for part in _PARTS}
    content = {part: _read(path, _PARTS[part], data) for part, path in found.items()}
    _check_vehicle(found["vehicle"], content["vehicle"], data)
    template = content["tire"]["Template"]
    if template not in _TIRES:
        raise SimjudgeError(f"{found['tire']}: {template!r}: a tyre of force is needed, one of {', '.join(_TIRES)}")
    return found["vehicle"], found["engine"], found["transmission"], found["tire"]


def _check_vehicle(path: Path, content: Json, data: Path) -> None:
    if content["Template"] != "WheeledVehicle":
        raise SimjudgeError(f'{path}: template {content["Template"]!r}: "WheeledVehicle" is needed')
    axles = content.get("Axles")
    if not isinstance(axles, list) or len(axles) != 2 or not all(isinstance(axle, dict) for axle in axles):
        count = len(axles) if isinstance(axles, list) else "no"
        raise SimjudgeError(f"{path}: {count} axles: two are needed, the front one first")
    if any("Wheel Separation" in axle for axle in axles):
        raise SimjudgeError(f"{path}: twin wheels: one wheel on each side is needed")
    if "Steering Index" not in axles[0] or "Steering Index" in axles[1]:
        raise SimjudgeError(f'{path}: "Steering Index" is needed for the first axle, and for no other')
    needed = ("Suspension", "Left Wheel", "Right Wheel")
    for number, axle in enumerate(axles, 1):
        for key in (f"{part} Input File" for part in needed):
            if not isinstance(axle.get(key), str):
                raise SimjudgeError(f'{path}: axle {number}: "{key}" is missing')
    if not isinstance(content.get("Chassis"), dict) or not isinstance(content["Chassis"].get("Input File"), str):
        raise SimjudgeError(f'{path}: "Chassis" with an "Input File" is needed')
    for named in _named_files(content):
        _read(data / named, None, data, path)


def _named_files(content: Any) -> Iterator[str]:
    """What stands under keys that end with "Input File", at any depth."""
    if isinstance(content, dict):
        for key, value in content.items():
            if key.endswith("Input File") and isinstance(value, str):
                yield value
            else:
                yield from _named_files(value)
    elif isinstance(content, list):
        for entry in content:
            yield from _named_files(entry)


def _read(path: Path, kind: str | None, data: Path, named_by: Path | None = None) -> dict[str, object]:
    """A file's content; it has a type, `kind` where that is known, and a template."""
    try:
        text = read_bytes(path, LARGEST_TEXT).decode("utf-8")
    except UnicodeDecodeError as error:
        raise SimjudgeError(f"{path}: no UTF-8 text") from error
    except (OSError, SimjudgeError) as error:
        by = f", which {named_by.name} names" if named_by is not None else ""
        raise SimjudgeError(
            f"{path}: no such file{by}; Chrono's vehicle data is looked for in {data}: write data: FOLDER under chrono:"
            " in the vehicle's file"
        ) from error
    try:
        content = json.loads(_COMMENT.sub(lambda found: found[1] or " ", text))
    except (ValueError, RecursionError) as error:
        raise SimjudgeError(f"{path}: no JSON: {error}") from error
    if not isinstance(content, dict) or not all(isinstance(content.get(key), str) for key in ("Type", "Template")):
        raise SimjudgeError(f'{path}: no file of Chrono::Vehicle: "Type" and "Template" are needed')
    if kind is not None and content["Type"] != kind:
        raise SimjudgeError(f'{path}: type {content["Type"]!r}: "{kind}" is needed')
    return content


def build_vehicle(
    modules: Modules, files: tuple[Path, Path, Path, Path], data: Path, reference: Pose, step: float
) -> BuiltCar:
    """A vehicle by Chrono's readers, in a system of its own, at a pose of Chrono's reference frame."""
    core, vehicles = modules.core, modules.vehicle
    x, y, z, w = reference.orientation
    with silent_output(), _data_folder(modules, data):
        wheeled = vehicles.WheeledVehicle(str(files[0]), core.ChContactMethod_NSC, False, False)
        wheeled.Initialize(core.ChCoordsysd(core.ChVector3d(*reference.position), core.ChQuaterniond(w, x, y, z)))
        powertrain = vehicles.ChPowertrainAssembly(
            vehicles.ReadEngineJSON(str(files[1])), vehicles.ReadTransmissionJSON(str(files[2]))
        )
        wheeled.InitializePowertrain(powertrain)
        for axle in wheeled.GetAxles():
            for wheel in axle.GetWheels():
                tire = vehicles.ReadTireJSON(str(files[3]))
                tire.SetStepsize(step)
                wheeled.InitializeTire(tire, wheel)
    wheeled.GetSystem().SetCollisionSystemType(core.ChCollisionSystem.Type_BULLET)
    return BuiltCar(wheeled, wheeled)


@contextmanager
def _data_folder(modules: Modules, folder: Path) -> Iterator[None]:
    """Let Chrono's files name each other from a folder; Chrono joins texts, so that it ends with a slash."""
    vehicles = modules.vehicle
    find_textures(modules.core, folder)
    tell = vehicles.SetVehicleDataPath if hasattr(vehicles, "SetVehicleDataPath") else vehicles.SetDataPath
    before = f"{vehicle_data(modules)}/"
    tell(f"{folder}/")
    try:
        yield
    finally:
        tell(before)


_SECONDS = 120.0
_STEPS = 10


def try_vehicle(files: tuple[Path, Path, Path, Path], data: Path) -> None:
    """Build the vehicle, and let it fall for some steps, elsewhere."""
    command = python_command("-m", "simjudge.sim.engines.chrono.wheeled_car", str(data), *map(str, files))
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired as error:
        raise SimjudgeError(f"{files[0]}: Chrono did not build this vehicle in {_SECONDS:g} s") from error
    if done.returncode == 0:
        return
    code, lines = done.returncode, [line.strip() for line in done.stderr.splitlines() if line.strip()]
    why = f"ended with {signal.Signals(-code).name}" if code < 0 else "failed"
    words = f": {lines[-1]}" if lines else ""
    named = ", ".join(path.name for path in files[1:])
    raise SimjudgeError(
        f"{files[0]}: Chrono's reader {why}{words}; a key is missing in it, in {named} or in what they name, or this"
        " build of Chrono lacks a template"
    )


def _build(data: Path, files: tuple[Path, Path, Path, Path]) -> None:
    modules = load_modules()
    car = build_vehicle(modules, files, data, Pose((0.0, 0.0, 2.0)), 1e-3)
    ground, inputs = modules.vehicle.FlatTerrain(0.0, 0.8), modules.vehicle.DriverInputs()
    for step in range(_STEPS):
        car.mover.Synchronize(step * 1e-3, inputs, ground)
        car.mover.Advance(1e-3)
    sys.stderr.flush()
    os._exit(0)


# Relative: hardpoints and the wheelbase that a JSON file states differ by 2.3 % in Chrono's own HMMWV.
_TOLERANCE = 0.03


class JsonCar:
    """Makes cars of Chrono's JSON files; see `CarMaker`.

    Attributes:
        wheelbase, track, wheel_radius: as Chrono builds them, metres; the track is the rear axle's.
    """

    settle_time = 3.0

    def __init__(self, modules: Modules, parts: ChronoParts) -> None:
        self._modules = modules
        self._data = parts.data or vehicle_data(modules)
        self._files = check_chrono_files(parts, self._data)
        try_vehicle(self._files, self._data)
        self.name = self._files[0].stem
        self.step_parts = round(STEP / parts.step)
        car = self.build(None, Pose())
        reference = frame_pose(car.wheeled.GetChassisBody().GetFrameRefToAbs()).inverse()
        hubs = []
        for axle, side in SPINDLES:
            place = car.wheeled.GetSpindlePos(axle, side)
            hubs.append(reference.to_world([place.x, place.y, place.z]))
        front, rear = (hubs[0] + hubs[1]) / 2, (hubs[2] + hubs[3]) / 2
        self.wheelbase, self.track = float(front[0] - rear[0]), float(hubs[2][1] - hubs[3][1])
        self.wheel_radius = float(car.wheeled.GetWheel(0, SPINDLES[0][1]).GetTire().GetRadius())
        x, y, z = rear.tolist()
        self.rear: Point = (x, y, z)
        self.drop = self.wheel_radius - float(min(hub[2] for hub in hubs))

    def braking(self, vehicle: Vehicle) -> float:  # noqa: ARG002 - another maker goes by the file
        """All that Chrono's own brakes can: see `CarMaker.braking`."""
        return 1.0

    def build(self, vehicle: Vehicle | None, reference: Pose) -> BuiltCar:  # noqa: ARG002 - figures are Chrono's
        """A car as Chrono's files have it: see `CarMaker.build`."""
        return build_vehicle(self._modules, self._files, self._data, reference, STEP / self.step_parts)


def json_car(modules: Modules, vehicle: Vehicle, parts: ChronoParts) -> tuple[JsonCar, Stance]:
    """What makes a vehicle of Chrono's files, and how it stands; built and measured once in a process."""
    maker, stance = _measured(modules, parts)
    figures = {
        "wheelbase": (vehicle.wheelbase, maker.wheelbase),
        "track": (vehicle.track, maker.track),
        "wheel radius": (vehicle.wheel_radius, maker.wheel_radius),
    }
    for what, (given, built) in figures.items():
        if abs(given - built) > _TOLERANCE * built:
            raise SimjudgeError(f"{vehicle.name}: {what} {given:.6g}, but {maker.name} has {built:.4g} in Chrono")
    if vehicle.steering_limit > stance.angle * (1 + _TOLERANCE):
        limit, most = math.degrees(vehicle.steering_limit), math.degrees(stance.angle)
        raise SimjudgeError(f"{vehicle.name}: steering limit {limit:.4g}, but {maker.name} turns by {most:.4g} degrees")
    return maker, stance


@cache
def _measured(modules: Modules, parts: ChronoParts) -> tuple[JsonCar, Stance]:
    maker = JsonCar(modules, parts)
    return maker, measure_stance(modules, maker, STEP / maker.step_parts)


if __name__ == "__main__":
    folder, vehicle, engine, transmission, tire = map(Path, sys.argv[1:])
    _build(folder, (vehicle, engine, transmission, tire))
