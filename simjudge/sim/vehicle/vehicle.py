"""The car as data, and as a person writes it down: its figures, what a driver tells it, and how it moves.

`config/vehicles/art1.yaml` is the example; it has every field there is, with its unit. All are needed but `name` (the
file's own otherwise), yaw, pitch and roll of a mount (0 otherwise), `places`, which sensor files may name, and
`chrono`: files of Chrono's own, from which the engine `chrono` makes the car (`config/vehicles/hmmwv.yaml`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import Field

from simjudge.core.documents import Document, Fields, read_document
from simjudge.core.errors import SimjudgeError
from simjudge.core.field_types import Number, Text, Vector
from simjudge.core.installed import VEHICLE, find_file
from simjudge.geometry.poses import MountFields, Pose


@dataclass(frozen=True)
class Command:
    """What a driver does."""

    steering: float = 0.0  # -1 (full right) to 1 (full left)
    throttle: float = 0.0  # 0 to 1
    braking: float = 0.0  # 0 to 1

    def __post_init__(self) -> None:
        for name, low in (("steering", -1.0), ("throttle", 0.0), ("braking", 0.0)):
            value = getattr(self, name)
            if not low <= value <= 1:
                raise SimjudgeError(f"{name} {value}: a number from {low:g} to 1 is needed")


@dataclass(frozen=True)
class VehicleState:
    """How the car moves."""

    time: float  # simulated seconds
    pose: Pose  # of base_link in the world: on the ground below the middle of the rear axle, x ahead, y left, z up
    velocity: tuple[float, float, float]  # x, y, z, m/s, in base_link
    angular_velocity: tuple[float, float, float]  # x, y, z, rad/s, in base_link
    acceleration: tuple[float, float, float]  # x, y, z, m/s^2, in base_link, without gravity
    steering_angle: float  # of the bicycle's front wheel, radians, left positive
    # Front left, front right, rear left, rear right, rad/s, positive forward.
    wheel_speeds: tuple[float, float, float, float]


@dataclass(frozen=True)
class ChronoParts:
    """A wheeled vehicle of Chrono's own JSON files, as the engine `chrono` makes it."""

    # vehicle, engine, transmission, tire: files, below `data`.
    vehicle: str
    engine: str
    transmission: str
    tire: str
    data: Path | None = None  # the folder that the files name each other from; None: that of Chrono's own data
    step: float = 1e-3  # seconds of one step of Chrono's, a whole number of which are 1 ms


@dataclass(frozen=True)
class Vehicle:
    """A car with Ackermann steering and a motor on all four wheels, as its YAML file has it (`read_vehicle`)."""

    name: str  # the file's, unless it has one of its own
    mass: float  # kg, all of it
    # wheelbase, track, wheel_radius, wheel_width: metres.
    wheelbase: float
    track: float
    wheel_radius: float
    wheel_width: float
    steering_limit: float  # of the bicycle's front wheel, radians
    steering_rate: float
    motor_kv: float
    voltage: float
    battery_voltage: float  # V; `voltage` is the part of it that full throttle asks for
    gear_ratio: float
    stall_torque: float  # N m at the motor, at full throttle
    rolling_resistance: float
    brake_torque: float  # N m on each wheel, at full braking
    friction: float  # of tyre and floor, no unit
    slip_stiffness: tuple[float, float]  # of the tyres, along and across: force per load and slip, no unit
    relaxation_length: float  # metres that a tyre rolls until its forces have built up to 63 %
    centre_of_mass: tuple[float, float, float]  # of the body without wheels, x, y, z in base_link, metres
    inertia: tuple[float, float, float]  # of the body without wheels about its centre of mass, x, y, z, kg m^2
    wheel_mass: float  # kg, of one wheel
    wheel_inertia: float  # of one wheel about its axle, kg m^2
    # suspension_stiffness, suspension_damping: of each wheel, N/m and N s/m.
    suspension_stiffness: float
    suspension_damping: float
    suspension_travel: float  # metres up, and down, from where it rests
    # Poses of sensors in base_link by name; "camera" is the camera's body (x ahead), not its optical frame.
    mounts: Mapping[str, Pose]
    # Where the car carries what sensor files put on its roof, hood, bumper: poses in base_link by name.
    places: Mapping[str, Pose] = field(default_factory=dict)
    # What the engine `chrono` makes it from; None: Chrono's ARTcar, told the figures above.
    chrono: ChronoParts | None = None

    @property
    def top_wheel_speed(self) -> float:
        """Rad/s of the wheels at which the motor at full throttle has no torque left."""
        return self.motor_kv * self.voltage * 2 * math.pi / 60 * self.gear_ratio

    @property
    def tightest_radius(self) -> float:
        """Metres from the middle of the rear axle to the point it turns about at full steering."""
        return self.wheelbase / math.tan(self.steering_limit)

    def wheel_angles(self, steering_angle: float) -> tuple[float, float]:
        """Ackermann's angles of the front wheels, left and right, radians, for the bicycle's angle.

        Their axles meet the rear axle's line where the bicycle's does: cot(left) = cot(angle) - track / (2 wheelbase).
        """
        tangent = math.tan(steering_angle)
        half = self.track / (2 * self.wheelbase) * tangent
        return math.atan2(tangent, 1 - half), math.atan2(tangent, 1 + half)


_LARGEST = 1e6  # No figure of a car is larger, whatever its unit
_STEEPEST = 60.0  # Degrees that the front wheels can turn at most

Amount = Annotated[float, Number(largest=_LARGEST)]
Positive = Annotated[float, Number(gt=0, largest=_LARGEST)]
NotNegative = Annotated[float, Number(ge=0, largest=_LARGEST)]
Triple = Annotated[tuple[float, float, float], Vector("x y z", largest=_LARGEST)]


class BodyFields(Fields):
    """All of the car but its wheels."""

    centre_of_mass: Triple
    """x, y, z in base_link, metres."""
    inertia: Triple
    """About the centre of mass, x, y and z, kg m^2."""


class WheelFields(Fields):
    """Each wheel."""

    radius: Positive
    """Metres."""
    width: Positive
    """Metres."""
    mass: Positive
    """Kg."""
    inertia: Positive
    """About the axle, kg m^2."""
    friction: Positive
    """Coefficient of tyre and floor."""
    rolling_resistance: NotNegative
    """Coefficient."""
    slip_stiffness: Annotated[tuple[float, float], Vector("along across", gt=0, largest=_LARGEST)]
    """Force per load and slip, along and across the tyre."""
    relaxation_length: Positive
    """Metres that a tyre rolls until its forces have built up to 63 %."""


class SuspensionFields(Fields):
    """The suspension of each wheel."""

    stiffness: Positive
    """N/m."""
    damping: Positive
    """N s/m."""
    travel: Positive
    """Metres up, and down, from where it rests."""


class SteeringFields(Fields):
    """The steering."""

    limit: Positive
    """Degrees that the bicycle's front wheel turns to either side."""
    rate: Positive
    """Degrees a second."""


class MotorFields(Fields):
    """The motor, which drives all four wheels."""

    kv: Positive
    """Revolutions a minute per volt without load."""
    battery_voltage: Positive
    """V."""
    voltage_ratio: Positive
    """Share of the battery's voltage at full throttle."""
    stall_torque: Positive
    """N m at the motor, at full throttle."""
    gear_ratio: Positive
    """Turns of a wheel per turn of the motor."""


class BrakeFields(Fields):
    """The brakes."""

    torque: NotNegative
    """N m on each wheel, at full braking."""


class ChronoFileFields(Fields):
    """A wheeled vehicle of Chrono's own JSON files, for the engine chrono; other engines take the figures."""

    vehicle: Annotated[str, Text("a file")]
    """With "Type": "Vehicle" and "Template": "WheeledVehicle", below `data`."""
    engine: Annotated[str, Text("a file")]
    """With "Type": "Engine"."""
    transmission: Annotated[str, Text("a file")]
    """With "Type": "Transmission"."""
    tire: Annotated[str, Text("a file")]
    """With "Type": "Tire", for all wheels."""
    data: Annotated[str, Text("a folder")] | None = None
    """The folder that these files name each other from, from this file's own; Chrono's vehicle data, if left out."""
    step: Annotated[float, Number(gt=0, le=1e-3)] = 1e-3
    """Seconds of one step of Chrono's: 0.001, or a whole part of it."""


class VehicleFile(Fields):
    """A car with Ackermann steering; base_link is on the ground below the middle of the rear axle."""

    name: Annotated[str, Text()] | None = None
    """The file's own without its suffix, if left out."""
    mass: Positive
    """Kg, wheels included."""
    wheelbase: Positive
    """Metres between the axles."""
    track: Positive
    """Metres between the middles of the left and the right wheels."""
    body: BodyFields
    """All but the wheels."""
    wheel: WheelFields
    """Each wheel."""
    suspension: SuspensionFields
    """Of each wheel."""
    steering: SteeringFields
    """Of the front wheels."""
    motor: MotorFields
    """Torque = throttle x stall_torque x (1 - speed / no-load speed)."""
    brake: BrakeFields
    """On all wheels."""
    mounts: dict[Annotated[str, Text("a name")], MountFields]
    """Where sensors sit, by name; "camera" is the camera's body, not its optical frame."""
    places: dict[Annotated[str, Text("a name")], MountFields] = Field(default_factory=dict)
    """Where the car carries sensors whose file names a place (roof, hood, bumper): clear of its own body."""
    chrono: ChronoFileFields | None = None
    """Files of Chrono's own from which the engine chrono makes the car; Chrono's ARTcar, if left out."""


def read_vehicle(given: str | Path) -> Vehicle:
    """Read a vehicle's file, or the one of a name that comes with simjudge."""
    path = find_file(given, VEHICLE)
    document = read_document(path, VehicleFile, "vehicle")
    vehicle = _vehicle(path, document.content)
    _check_figures(document, vehicle)
    return vehicle


def _vehicle(path: Path, file: VehicleFile) -> Vehicle:
    wheel, motor, suspension = file.wheel, file.motor, file.suspension
    return Vehicle(
        name=file.name or path.stem,
        mass=file.mass,
        wheelbase=file.wheelbase,
        track=file.track,
        centre_of_mass=file.body.centre_of_mass,
        inertia=file.body.inertia,
        wheel_radius=wheel.radius,
        wheel_width=wheel.width,
        wheel_mass=wheel.mass,
        wheel_inertia=wheel.inertia,
        friction=wheel.friction,
        slip_stiffness=wheel.slip_stiffness,
        relaxation_length=wheel.relaxation_length,
        rolling_resistance=wheel.rolling_resistance,
        suspension_stiffness=suspension.stiffness,
        suspension_damping=suspension.damping,
        suspension_travel=suspension.travel,
        steering_limit=math.radians(file.steering.limit),
        steering_rate=math.radians(file.steering.rate),
        motor_kv=motor.kv,
        voltage=motor.battery_voltage * motor.voltage_ratio,
        battery_voltage=motor.battery_voltage,
        gear_ratio=motor.gear_ratio,
        stall_torque=motor.stall_torque,
        brake_torque=file.brake.torque,
        mounts={name: mount.pose() for name, mount in file.mounts.items()},
        places={name: place.pose() for name, place in file.places.items()},
        chrono=_chrono_parts(path, file.chrono) if file.chrono is not None else None,
    )


def _chrono_parts(path: Path, file: ChronoFileFields) -> ChronoParts:
    data = path.parent / file.data if file.data is not None else None
    return ChronoParts(file.vehicle, file.engine, file.transmission, file.tire, data, file.step)


def _check_figures(document: Document[VehicleFile], car: Vehicle) -> None:
    """Refuse figures that no car has together, though each alone might be one's."""
    if car.chrono is not None and not math.isclose(1e-3 / car.chrono.step, round(1e-3 / car.chrono.step), rel_tol=1e-9):
        raise document.error(("chrono", "step"), "0.001 s, or a half, a quarter, a fifth ... of it, is needed")
    if not car.steering_limit < math.radians(_STEEPEST):
        raise document.error(("steering", "limit"), f"less than {_STEEPEST:g} degrees are needed")
    if not math.tan(car.steering_limit) * car.track / 2 < car.wheelbase:
        message = "the car would turn about a point between its own wheels; lower it, or the track"
        raise document.error(("steering", "limit"), message)
    if not car.mass > 4 * car.wheel_mass:
        raise document.error(("mass",), f"{car.mass:g} kg is not more than that of its four wheels")
    if not car.track > car.wheel_width or not car.wheelbase > 2 * car.wheel_radius:
        message = "wheels of this radius and width would overlap at this wheelbase and track"
        raise document.error(("wheel",), message)
    ahead, left, up = car.centre_of_mass
    if not (0 < ahead < car.wheelbase and abs(left) < car.track / 2 and up > 0):
        message = "it must lie above the ground between the four wheels"
        raise document.error(("body", "centre_of_mass"), message)
    x, y, z = car.inertia
    if not (min(x, y, z) > 0 and x + y >= z and y + z >= x and z + x >= y):
        message = f"no body has {x:g}, {y:g}, {z:g}: each is above 0, at most the sum of the others"
        raise document.error(("body", "inertia"), message)
