"""A car as a person writes it down: masses, wheels, steering, motor and where its sensors sit, in one YAML file.

`config/vehicles/art1.yaml` is the example; it has every field there is, with its unit. All are needed but `name` (the
file's own otherwise), yaw, pitch and roll of a mount (0 otherwise), and `chrono`: files of Chrono's own, from which the
engine `chrono` makes the car (`config/vehicles/hmmwv.yaml`).
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

from simjudge.core.documents import Document, Fields, read_document
from simjudge.core.field_types import Number, Text, Vector
from simjudge.core.installed import VEHICLE, find_file
from simjudge.geometry.mount_fields import MountFields
from simjudge.sim.vehicle.vehicle import ChronoParts, Vehicle

_LARGEST = 1e6
"""No figure of a car is larger, whatever its unit."""
_STEEPEST = 60.0
"""Degrees that the front wheels can turn at most."""

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
