"""The car as data, and as a person writes it down: its figures, how it is driven and moves, and what it looks like.

`config/vehicles/art1.yaml` is the example; it has every field there is, with its unit. All are needed but `name` (the
file's own otherwise), yaw, pitch and roll of a mount (0 otherwise), `places`, which sensor files may name, and
`chrono`: files of Chrono's own, from which the engine `chrono` makes the car (`config/vehicles/hmmwv.yaml`).

Lengths are parts of the wheelbase (along x), of the wheels' radius (up) and of the room between the wheels (across).
The nose falls away so steeply that ART-1's camera, 80 degrees wide and 0.1 rad nose down, sees nothing of the car.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
from pydantic import Field

from simjudge.core.arrays import FloatArray
from simjudge.core.documents import Document, Fields, read_document
from simjudge.core.errors import SimjudgeError
from simjudge.core.field_types import Number, Text, Vector
from simjudge.core.installed import VEHICLE as VEHICLE_FILE
from simjudge.core.installed import find_file
from simjudge.geometry.poses import MountFields, Pose
from simjudge.sim.scene.model import Colour, Mesh, Surface, Thing


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
    path = find_file(given, VEHICLE_FILE)
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


class MeshBuilder:
    """A mesh being put together. Its texture is a row of `colours` equal fields, one for each colour of a palette."""

    def __init__(self, colours: int) -> None:
        self._colours = colours
        self._vertices: list[FloatArray] = []
        self._normals: list[FloatArray] = []
        self._uv: list[FloatArray] = []
        self._faces: list[npt.NDArray[np.int64]] = []
        self._count = 0

    def sheet(self, points: FloatArray, colour: npt.ArrayLike, *, closed: bool = False) -> None:
        """A smooth sheet over points (A, B, 3), metres; from outside, A goes to the right where B goes up."""
        a, b = points.shape[0] - 1, points.shape[1] - 1
        corners = np.stack([points[:-1, :-1], points[1:, :-1], points[1:, 1:], points[:-1, 1:]], axis=2)
        flat = np.cross(corners[:, :, 2] - corners[:, :, 0], corners[:, :, 3] - corners[:, :, 1])
        around = np.zeros((a + 1, b + 1, 3))
        for i, j in ((0, 0), (1, 0), (1, 1), (0, 1)):
            around[i : i + a, j : j + b] += flat
        if closed:
            around[:, 0] = around[:, -1] = around[:, 0] + around[:, -1]
        normals = np.stack([around[:-1, :-1], around[1:, :-1], around[1:, 1:], around[:-1, 1:]], axis=2)
        fields = np.broadcast_to(np.asarray(colour), (a, b))
        self._quads(corners.reshape(-1, 4, 3), normals.reshape(-1, 4, 3), fields.ravel())

    def box(
        self,
        x: tuple[float, float],
        y: tuple[float, float],
        z: tuple[float, float],
        colour: int,
        pose: Pose | None = None,
    ) -> None:
        """A box between two x, y and z, metres, in the frame of `pose`."""
        pose = pose or Pose()
        quads, normals = [], []
        for axis in range(3):
            for side in (0, 1):
                u, v = (axis + 1) % 3, (axis + 2) % 3
                ends = (x, y, z)
                quad = np.zeros((4, 3))
                quad[:, axis] = ends[axis][side]
                quad[:, u] = [ends[u][0], ends[u][1], ends[u][1], ends[u][0]]
                quad[:, v] = [ends[v][0], ends[v][0], ends[v][1], ends[v][1]]
                normal = np.zeros(3)
                normal[axis] = 2 * side - 1
                quads.append(pose.to_world(quad if side else quad[::-1]))
                normals.append(np.tile(pose.rotation_matrix() @ normal, (4, 1)))
        self._quads(np.array(quads), np.array(normals), np.full(6, colour))

    def mesh(self) -> Mesh:
        """All of it as one mesh."""
        vertices, normals, uv = (np.concatenate(part) for part in (self._vertices, self._normals, self._uv))
        return Mesh(vertices, np.concatenate(self._faces), uv, normals)

    def _quads(self, corners: FloatArray, normals: FloatArray, colour: npt.NDArray[np.int64]) -> None:
        """Quads (Q, 4, 3) counter-clockwise from outside; triangles without an area are left out."""
        four = self._count + np.arange(4 * len(corners)).reshape(-1, 4)
        faces = np.concatenate([four[:, [0, 1, 2]], four[:, [0, 2, 3]]])
        triangles = np.concatenate([corners[:, [0, 1, 2]], corners[:, [0, 2, 3]]])
        area = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
        length = np.linalg.norm(normals, axis=-1, keepdims=True)
        u = (np.repeat(colour, 4) + 0.5) / self._colours
        self._faces.append(faces[np.linalg.norm(area, axis=1) > 1e-12])
        self._vertices.append(corners.reshape(-1, 3))
        self._normals.append((normals / np.where(length > 0, length, 1)).reshape(-1, 3))
        self._uv.append(np.stack([u, np.full_like(u, 0.5)], axis=-1))
        self._count += 4 * len(corners)


DEFAULT_CAR = "art1"  # The vehicle where none is named
VEHICLE = "vehicle"
WHEELS = ("front_left", "front_right", "rear_left", "rear_right")
# The car's parts by the names that poses have; "vehicle" is everything but the wheels, its frame is base_link.
PARTS = (VEHICLE, *(f"{VEHICLE}/wheel_{wheel}" for wheel in WHEELS))
BLUE, GLASS, DARK, RUBBER, METAL, WHITE = range(6)  # Rows of the palette
_PALETTE = np.array(
    [
        [0.02, 0.10, 0.42],
        [0.01, 0.012, 0.015],
        [0.02, 0.02, 0.022],
        [0.012, 0.012, 0.012],
        [0.5, 0.5, 0.52],
        [0.75, 0.75, 0.72],
    ],
    np.float32,
)
_TUB = np.array(
    [
        # x / wheelbase, half width / room, bottom and top / radius, and how much narrower it is on top
        [-0.17, 0.45, 0.75, 1.15, 0.80],
        [-0.08, 0.78, 0.55, 1.55, 0.75],
        [0.10, 0.84, 0.50, 2.05, 0.62],
        [0.26, 0.84, 0.50, 2.50, 0.55],
        [0.50, 0.80, 0.50, 2.45, 0.55],
        [0.74, 0.66, 0.50, 1.58, 0.72],
        [0.98, 0.58, 0.50, 1.42, 0.75],
        [1.12, 0.52, 0.50, 1.15, 0.75],
        [1.23, 0.42, 0.50, 0.80, 0.80],
    ]
)
_FLOOR = 0.42  # Height of the body's lowest part / wheels' radius
_TOP = 1.6  # Height up to which the body is solid / wheels' radius
_NOSE = 1.29  # The body's foremost x / wheelbase
_TAIL = -0.2  # The body's rearmost x / wheelbase
_HALF_WIDTH = 0.8  # Half the body's width / room between the wheels


def body_box(car: Vehicle) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Centre and size, metres in base_link, of the box that stands for all but the wheels in collisions."""
    low, high = _FLOOR * car.wheel_radius, _TOP * car.wheel_radius
    x0, x1 = _TAIL * car.wheelbase, _NOSE * car.wheelbase
    return ((x0 + x1) / 2, 0.0, (low + high) / 2), (x1 - x0, 2 * _HALF_WIDTH * _room(car), high - low)


def wheel_poses(car: Vehicle, base: Pose) -> dict[str, Pose]:
    """The wheels of a car that stands still with its wheels straight."""
    return {part: base @ Pose(wheel_centre(car, wheel)) for part, wheel in zip(PARTS[1:], WHEELS, strict=True)}


def wheel_centre(car: Vehicle, wheel: str) -> tuple[float, float, float]:
    """Centre of a wheel in base_link, metres."""
    across = car.track / 2 if wheel.endswith("left") else -car.track / 2
    return car.wheelbase if wheel.startswith("front") else 0.0, across, car.wheel_radius


def car_parts(name: str) -> tuple[str, ...]:
    """The parts of a car by the names that poses have, the body first."""
    return (name, *(f"{name}/wheel_{wheel}" for wheel in WHEELS))


def car_things(
    car: Vehicle, base: Pose | None = None, name: str = VEHICLE, colour: Colour | None = None
) -> tuple[Thing, ...]:
    """A car as things to be seen: the body, then the wheels (their frames at their centres, y along the axle)."""
    base = base or Pose()
    poses = [base, *wheel_poses(car, base).values()]
    meshes = [_body(car), *[_wheel(car)] * len(WHEELS)]
    return tuple(
        Thing(part, mesh, _surface(colour, 0.3 if part == name else 0.7), pose, motion="free", mass=1.0)
        for part, mesh, pose in zip(car_parts(name), meshes, poses, strict=True)
    )


def _surface(colour: Colour | None, roughness: float) -> Surface:
    palette = _PALETTE.copy()
    if colour is not None:
        palette[BLUE] = colour
    texture = np.repeat(np.repeat(palette[None], 8, axis=0), 8, axis=1)
    return Surface((1.0, 1.0, 1.0), texture, roughness, 0.0)


def _room(car: Vehicle) -> float:
    return (car.track - car.wheel_width) / 2


def _body(car: Vehicle) -> Mesh:
    shape = MeshBuilder(len(_PALETTE))
    long, high, wide = car.wheelbase, car.wheel_radius, _room(car)
    _tub(shape, long, high, wide)
    shape.box((-0.18 * long, 1.22 * long), (-0.62 * wide, 0.62 * wide), (_FLOOR * high, 0.52 * high), DARK)
    shape.box((1.2 * long, _NOSE * long), (-0.78 * wide, 0.78 * wide), (_FLOOR * high, 0.72 * high), DARK)
    shape.box((_TAIL * long, -0.14 * long), (-0.7 * wide, 0.7 * wide), (0.5 * high, 0.85 * high), DARK)
    for x in (0.0, long):
        for low in (0.72, 1.12):
            arm = (low * high, (low + 0.12) * high)
            shape.box((x - 0.2 * high, x + 0.2 * high), (-1.05 * wide, 1.05 * wide), arm, DARK)
    shape.box((-0.24 * long, -0.06 * long), (-0.95 * wide, 0.95 * wide), (2.2 * high, 2.27 * high), WHITE)
    for side in (-1, 1):
        across = sorted((side * 0.95 * wide, side * 1.0 * wide))
        shape.box((-0.26 * long, -0.05 * long), (across[0], across[1]), (2.0 * high, 2.45 * high), BLUE)
        strut = sorted((side * 0.3 * wide, side * 0.36 * wide))
        shape.box((-0.14 * long, -0.1 * long), (strut[0], strut[1]), (1.2 * high, 2.2 * high), DARK)
    if "camera" in car.mounts:
        _camera(shape, car.mounts["camera"], 1.2 * high)
    return shape.mesh()


def _camera(shape: MeshBuilder, mount: Pose, deck: float) -> None:
    """A small housing behind the mount's point, and the post that it stands on. Nothing is ahead of the point."""
    size = 0.018
    shape.box((-0.045, -0.012), (-size, size), (-size, size), DARK, mount)
    shape.box((-0.012, -0.006), (-0.009, 0.009), (-0.009, 0.009), METAL, mount)
    x, y, z = mount.to_world([-0.03, 0, -size]).tolist()
    if z > deck:
        shape.box((x - 0.008, x + 0.008), (y - 0.008, y + 0.008), (deck, z), METAL)


def _tub(shape: MeshBuilder, long: float, high: float, wide: float) -> None:
    """The painted body: rounded sections along x, dark glass around its upper part, closed at both ends."""
    rows = _finer(_TUB, 6)
    stations = np.stack([_section(row, long, high, wide) for row in rows])
    lowest, highest = stations[..., 2].min(axis=1), stations[..., 2].max(axis=1)
    up = (stations[0, :, 2] - lowest[0]) / (highest[0] - lowest[0])
    around = (np.minimum(up[:-1], up[1:]) > 0.62) & (np.maximum(up[:-1], up[1:]) < 0.99)
    glass = (highest[:-1] > 1.95 * high)[:, None] & around
    shape.sheet(stations, np.where(glass, GLASS, BLUE), closed=True)
    for end in (stations[0], stations[-1][::-1]):
        centre = np.broadcast_to(end.mean(axis=0), end.shape)
        shape.sheet(np.stack([centre, end]), BLUE, closed=True)


def _finer(rows: FloatArray, times: int) -> FloatArray:
    """More stations between the given ones, along a smooth line."""
    from scipy.interpolate import PchipInterpolator  # noqa: PLC0415 - only for looks

    at = np.linspace(0, len(rows) - 1, (len(rows) - 1) * times + 1)
    finer: FloatArray = PchipInterpolator(np.arange(len(rows)), rows)(at)
    return finer


def _section(row: FloatArray, long: float, high: float, wide: float) -> FloatArray:
    """A closed rounded section (33, 3), from below up on the right side; first and last point are the same."""
    x, half, low, top, narrower = row
    angle = np.linspace(0, 2 * np.pi, 33) - np.pi / 2
    across, up = (np.sign(f) * np.abs(f) ** 0.55 for f in (-np.cos(angle), np.sin(angle)))
    z = (low + (top - low) * (up + 1) / 2) * high
    y = across * half * wide * (1 - (1 - narrower) * np.clip((up + 0.2) / 1.2, 0, 1))
    return np.stack([np.full_like(z, x * long), y, z], axis=-1)


def _wheel(car: Vehicle, sides: int = 40) -> Mesh:
    shape = MeshBuilder(len(_PALETTE))
    r, half = car.wheel_radius, car.wheel_width / 2
    profile = np.array(
        [
            [0.6, -0.8],
            [0.6, -1.0],
            [0.9, -1.0],
            [0.98, -0.85],
            [1.0, -0.6],
            [1.0, 0.6],
            [0.98, 0.85],
            [0.9, 1.0],
            [0.6, 1.0],
            [0.6, 0.8],
        ]
    ) * [r, half]
    tread = np.full((len(profile) - 1, sides), RUBBER)
    tread[3:6, ::2] = DARK
    shape.sheet(_lathe(profile, sides), tread, closed=True)
    spokes = np.where(np.arange(sides) % 8 < 4, METAL, DARK)
    for side in (-1, 1):
        disc = np.array([[0.14 * r, side * 0.85 * half], [0.6 * r, side * 0.75 * half]])
        hub = np.array([[0.0, side * 0.9 * half], [0.14 * r, side * 0.85 * half]])
        for ring, colours in ((disc[::-side], spokes[None]), (hub[::-side], np.full((1, sides), METAL))):
            shape.sheet(_lathe(ring, sides), colours, closed=True)
    return shape.mesh()


def _lathe(profile: FloatArray, sides: int) -> npt.NDArray[np.float64]:
    """A profile of (radius, y) turned about the y axis: (P, sides + 1, 3)."""
    angle = np.linspace(0, 2 * np.pi, sides + 1)
    radius, y = profile[:, :1], profile[:, 1:]
    return np.stack([radius * np.cos(angle), np.broadcast_to(y, (len(profile), sides + 1)), radius * np.sin(angle)], -1)
