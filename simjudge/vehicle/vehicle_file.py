"""A car as a person writes it down: masses, wheels, steering, motor and where its sensors sit, in one YAML file.

`config/vehicles/art1.yaml` is the example; it has every field there is, with its unit. All are needed but `name` (the
file's own otherwise), and yaw, pitch and roll of a mount (0 otherwise).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.installed import roots
from simjudge.geometry.poses import Pose
from simjudge.vehicle.vehicle import Vehicle

_SECTIONS = {
    "body": ("centre_of_mass", "inertia"),
    "wheel": (
        "radius",
        "width",
        "mass",
        "inertia",
        "friction",
        "rolling_resistance",
        "slip_stiffness",
        "relaxation_length",
    ),
    "suspension": ("stiffness", "damping", "travel"),
    "steering": ("limit", "rate"),
    "motor": ("kv", "battery_voltage", "voltage_ratio", "stall_torque", "gear_ratio"),
    "brake": ("torque",),
}
_FIELDS = ("name", "mass", "wheelbase", "track", *_SECTIONS, "mounts")
_MOUNT_FIELDS = ("position", "yaw", "pitch", "roll")
_LARGEST, _STEEPEST = 1e6, 60.0


def shipped_vehicles() -> dict[str, Path]:
    """The vehicles that come with simjudge, by name."""
    found = [path for root in roots() for path in sorted((root / "config" / "vehicles").glob("*.yaml"))]
    return {path.stem: path for path in reversed(found)}


def read_vehicle(given: str | Path) -> Vehicle:
    """Read a vehicle's file, or the shipped vehicle of a name.

    Raises:
        UsageError: there is no such file, nor a vehicle of that name.
        SimjudgeError: the file is no vehicle; the message names file and field.
    """
    path = Path(given)
    if not path.is_file():
        shipped = shipped_vehicles()
        if str(given) not in shipped:
            names = ", ".join(sorted(shipped)) or "none"
            raise UsageError(f"{given}: neither a vehicle's file nor the name of one that is shipped ({names})")
        path = shipped[str(given)]
    entry = _Entry(path, "", _content(path))
    entry.only(_FIELDS)
    name = entry.content.get("name", path.stem)
    if not isinstance(name, str) or not name:
        raise entry.wrong("name", "a text is needed")
    vehicle = _vehicle(name, entry, {section: entry.section(section, known) for section, known in _SECTIONS.items()})
    _check_whole(path, vehicle)
    return vehicle


def _vehicle(name: str, entry: _Entry, of: dict[str, _Entry]) -> Vehicle:
    battery, ratio = of["motor"].positive("battery_voltage"), of["motor"].positive("voltage_ratio")
    return Vehicle(
        name=name,
        mass=entry.positive("mass"),
        wheelbase=entry.positive("wheelbase"),
        track=entry.positive("track"),
        centre_of_mass=of["body"].three("centre_of_mass"),
        inertia=of["body"].three("inertia"),
        wheel_radius=of["wheel"].positive("radius"),
        wheel_width=of["wheel"].positive("width"),
        wheel_mass=of["wheel"].positive("mass"),
        wheel_inertia=of["wheel"].positive("inertia"),
        friction=of["wheel"].positive("friction"),
        slip_stiffness=of["wheel"].two_positive("slip_stiffness"),
        relaxation_length=of["wheel"].positive("relaxation_length"),
        rolling_resistance=of["wheel"].not_negative("rolling_resistance"),
        suspension_stiffness=of["suspension"].positive("stiffness"),
        suspension_damping=of["suspension"].positive("damping"),
        suspension_travel=of["suspension"].positive("travel"),
        steering_limit=math.radians(of["steering"].positive("limit")),
        steering_rate=math.radians(of["steering"].positive("rate")),
        motor_kv=of["motor"].positive("kv"),
        voltage=battery * ratio,
        battery_voltage=battery,
        gear_ratio=of["motor"].positive("gear_ratio"),
        stall_torque=of["motor"].positive("stall_torque"),
        brake_torque=of["brake"].not_negative("torque"),
        mounts=_mounts(entry),
    )


def _mounts(entry: _Entry) -> dict[str, Pose]:
    mounts = {}
    for name in entry.section("mounts", None).content:
        mount = entry.section("mounts", None).section(name, _MOUNT_FIELDS)
        yaw, pitch, roll = (
            math.radians(mount.number(angle)) if angle in mount.content else 0.0 for angle in ("yaw", "pitch", "roll")
        )
        mounts[str(name)] = Pose.from_euler(*mount.three("position"), yaw=yaw, pitch=pitch, roll=roll)
    return mounts


def _check_whole(path: Path, car: Vehicle) -> None:
    """Refuse what no car can be, though each figure alone might be one's."""
    if not car.steering_limit < math.radians(_STEEPEST):
        raise SimjudgeError(f"{path}: steering.limit: less than {_STEEPEST:g} degrees are needed")
    if not math.tan(car.steering_limit) * car.track / 2 < car.wheelbase:
        raise SimjudgeError(f"{path}: steering.limit: the car would turn about a point between its own wheels")
    if not car.mass > 4 * car.wheel_mass:
        raise SimjudgeError(f"{path}: mass: {car.mass:g} kg is not more than that of its four wheels")
    if not car.track > car.wheel_width or not car.wheelbase > 2 * car.wheel_radius:
        raise SimjudgeError(f"{path}: wheel: wheels of this radius and width would overlap at this wheelbase and track")
    ahead, left, up = car.centre_of_mass
    if not (0 < ahead < car.wheelbase and abs(left) < car.track / 2 and up > 0):
        raise SimjudgeError(f"{path}: body.centre_of_mass: it must lie above the ground between the four wheels")
    x, y, z = car.inertia
    if not (min(x, y, z) > 0 and x + y >= z and y + z >= x and z + x >= y):
        raise SimjudgeError(
            f"{path}: body.inertia: no body has {x:g}, {y:g}, {z:g}: each is above 0, at most the sum of the others"
        )


@dataclass(frozen=True)
class _Entry:
    """A part of the file, `before` being how its fields are called in messages."""

    path: Path
    before: str
    content: dict[Any, Any]

    def section(self, field: str, known: tuple[str, ...] | None) -> _Entry:
        """A part of this part; `known` are the fields it may have."""
        given = self.content.get(field)
        if not isinstance(given, dict):
            raise self.wrong(field, "fields are needed" if known is None else f"{', '.join(known)} are needed")
        part = _Entry(self.path, f"{self.before}{field}.", given)
        if known is not None:
            part.only(known)
        return part

    def only(self, known: tuple[str, ...]) -> None:
        """Refuse fields that do not exist."""
        unknown = [key for key in self.content if key not in known]
        if unknown:
            raise SimjudgeError(
                f"{self.path}: {self.before}{unknown[0]}: no such field; there are {', '.join(sorted(known))}"
            )

    def number(self, field: str) -> float:
        value = self.content.get(field)
        if not _is_number(value):
            raise self.wrong(field, "a number is needed")
        return float(value)  # type: ignore[arg-type]

    def positive(self, field: str) -> float:
        value = self.number(field)
        if value <= 0:
            raise self.wrong(field, "a number above 0 is needed")
        return value

    def not_negative(self, field: str) -> float:
        value = self.number(field)
        if value < 0:
            raise self.wrong(field, "0 or more is needed")
        return value

    def two_positive(self, field: str) -> tuple[float, float]:
        value = self.content.get(field)
        if not isinstance(value, list) or len(value) != 2 or not all(_is_number(each) and each > 0 for each in value):
            raise self.wrong(field, "two numbers above 0, [along, across], are needed")
        return float(value[0]), float(value[1])

    def three(self, field: str) -> tuple[float, float, float]:
        value = self.content.get(field)
        if not isinstance(value, list) or len(value) != 3 or not all(_is_number(each) for each in value):
            raise self.wrong(field, "three numbers [x, y, z] are needed")
        return float(value[0]), float(value[1]), float(value[2])

    def wrong(self, field: str, needed: str) -> SimjudgeError:
        value = self.content.get(field)
        shown = "nothing is given" if value is None else f"this is {' '.join(str(value).split())[:60]}"
        return SimjudgeError(f"{self.path}: {self.before}{field}: {needed}; {shown}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LARGEST


def _content(path: Path) -> dict[Any, Any]:
    try:
        entry = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SimjudgeError(f"{path}: cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise SimjudgeError(f"{path}: no YAML: {' '.join(str(error).split())[:200]}") from error
    if not isinstance(entry, dict):
        raise SimjudgeError(f"{path}: no vehicle: fields such as mass, wheelbase and motor are needed")
    return entry
